"""Every setting of a crawl or a watch, each in one place: its name, type, default, range and help.

From the fields of `Settings` come the options of the command line, a run's `spoor.toml`, the
keywords of `spoor.run`, the `SPOOR_*` settings of Scrapy, the messages to shards and the page
`docs/reference/settings.md`: a field added there is in all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Self, get_args, get_origin, get_type_hints

from spoor.display import few
from spoor.distribution import VERSION
from spoor.errors import InputError
from spoor.registry import DEFAULT_POLICY, nearest
from spoor.setting import (
    BUDGET,
    CRAWL,
    ENDPOINT,
    EVERYWHERE,
    GROUPS,
    HEADER,
    HOST,
    HTTPS,
    LIMITS,
    LINE,
    LIVE,
    MIB,
    MOST_OF_A_BODY,
    MOST_WANTED,
    POLITENESS,
    PREFERENCE,
    PROCESS,
    PROXY,
    SCOPES,
    SCRAPY,
    TYPE_LIMIT,
    TYPES,
    URL_PATTERN,
    WITH_TEXT,
    Setting,
    beta_of,
    setting,
)

Spell = Callable[[str], str]
"""The name of a setting → its spelling elsewhere: `--per-host`, `SPOOR_PER_HOST`."""


def user_agent(contact: str = "") -> str:
    """`Spoor/VERSION (+CONTACT)`: an operator must be able to reach whoever crawls."""
    name = f"Spoor/{VERSION}"
    return f"{name} (+{contact})" if contact else name


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The checked settings of a run. The order of the fields is that of the options.

    Raises InputError, in one line that names the setting, the value and what is allowed.
    """

    command: str = setting(
        "crawl",
        CRAWL,
        "A crawl, a watch, or a crawl inside Scrapy.",
        choices=EVERYWHERE,
        commands=EVERYWHERE,
        inner=True,
    )
    seeds: tuple[str, ...] = setting(
        (), CRAWL, "Canonical URLs where it begins.", commands=LIVE, inner=True
    )
    any_scheme: tuple[str, ...] = setting(
        (),
        POLITENESS,
        "Seeds that were given without a scheme: where https cannot be had, http is asked.",
        inner=True,
    )
    refresh: str = setting(
        "",
        CRAWL,
        "Visit the pages of the run in this folder again, and write the new state to a new run.",
        reaches=True,
    )
    hints: bool = setting(
        True,
        CRAWL,
        "With --refresh, leave out pages that sitemaps or Cache-Control call unchanged, but for a "
        "sample that checks them.",
    )
    may_miss: float = setting(
        0.01,
        CRAWL,
        "With --refresh, leave out the other pages of a host, too, once a sample says that at most "
        "this share of them changed (95 %); each is asked for once in 100 refreshes at least; 0: "
        "ask for all.",
        ge=0,
        le=0.5,
    )
    topic: str = setting("", CRAWL, "The topic: words, or a .topic file.", commands=EVERYWHERE)
    topic_file: str = setting("", CRAWL, "The topic: a TOML file.", path=True, commands=EVERYWHERE)
    want: tuple[str, ...] = setting(
        (),
        CRAWL,
        "url:REGEX, match:REGEX, type:GLOB, text:WORDS, query:WORDS or topic:FILE; "
        "several are or-ed.",
        most=MOST_WANTED,
        commands=EVERYWHERE,
    )
    prefer: str = setting(
        "",
        CRAWL,
        "What counts more where the topic is in words: precision, recall, balanced, or a number "
        "(beta of F-beta); as its topic file says, if empty.",
        form=PREFERENCE,
        commands=EVERYWHERE,
    )
    whole_site: bool = setting(
        False,
        CRAWL,
        "Archive the whole site: up to 100,000 pages, breadth-first, each of which counts where "
        "there is no topic; with copies, documents of every kind, what sitemaps name, and what "
        "pages need to be shown. Each of these settings can be given beside it.",
    )
    list_pages: bool = setting(
        False,
        CRAWL,
        "List pages may be relevant, too: those made of headings that lead to documents, and their "
        "dates, as a blog's front page and the page of a tag.",
        commands=EVERYWHERE,
    )
    second_opinion: str = setting(
        "",
        CRAWL,
        "Encoder folder or module:function that is asked about pages near the threshold.",
        commands=EVERYWHERE,
        reaches=True,
    )
    second_asks: int = setting(
        200, CRAWL, "Most questions of --second-opinion.", ge=0, commands=EVERYWHERE
    )
    second_seconds: float = setting(
        600.0, CRAWL, "Most seconds that its answers take in all.", ge=0, commands=EVERYWHERE
    )
    policy: str = setting(DEFAULT_POLICY, CRAWL, "See `spoor policies`.", commands=SCRAPY)
    fleet: str = setting(
        "change-rate",
        CRAWL,
        "change-rate, round-robin; foragers: WL, RL, WLRL, mixed.",
        commands=("watch",),
    )
    params: Mapping[str, Any] = setting(
        None, CRAWL, "A parameter of the policy: name=value.", option="--param", commands=EVERYWHERE
    )
    model: str = setting("", CRAWL, "What `spoor train` wrote.", path=True, commands=SCRAPY)
    worse_model: str = setting(
        "tell",
        CRAWL,
        "Where a model orders links worse than breadth-first would: tell, let trail go on instead, "
        "or off (nothing is compared).",
        choices=("tell", "trail", "off"),
        commands=SCRAPY,
    )
    vectors: str = setting("", CRAWL, "Word vectors (GloVe, word2vec).", path=True, commands=SCRAPY)
    changes: str = setting(
        "found",
        CRAWL,
        "Changes that are reported: of found documents, of all pages on topic, or none.",
        choices=("found", "all", "none"),
        commands=("watch",),
    )
    new_for: float = setting(
        86_400.0, CRAWL, "How long a document is new.", time="24h", commands=("watch",)
    )
    once: bool = setting(
        False, PROCESS, "End when no page is worth a visit now, as for cron.", commands=("watch",)
    )
    on_new: str = setting(
        "",
        PROCESS,
        "Command that gets each line as JSON on its standard input; no shell.",
        commands=("watch",),
        reaches=True,
    )
    webhook: tuple[str, ...] = setting(
        (),
        PROCESS,
        "URL that each line is sent to as JSON, until it is taken.",
        commands=("watch",),
        reaches=True,
        secret=True,
    )
    pages: int | None = setting(
        1000, BUDGET, "Budget of pages.", ge=1, none=0, commands=SCRAPY, in_scrapy=None
    )
    max_time: float = setting(
        0.0, BUDGET, "End after so long, earlier parts of the run counted; 0: no limit.", time="0s"
    )
    max_bytes: int = setting(
        0, BUDGET, "End after so many bytes of documents, decompressed; 0: no limit.", ge=0
    )
    found: int | None = setting(
        None, BUDGET, "End once so many relevant pages are found.", ge=1, none=0
    )
    floor: float = setting(
        0.0, BUDGET, "End when the last pages' harvest rate falls below it.", ge=0, le=1
    )
    window: int = setting(200, BUDGET, "Pages that --floor looks at.", ge=1)
    saturation: float = setting(
        0.0, BUDGET, "End when, by estimate, less than this share is left.", ge=0, le=1
    )
    least: float = setting(
        0.0, BUDGET, "End when the next 100 pages will find fewer.", ge=0, option="--yield"
    )
    delay: float = setting(1.0, POLITENESS, "Seconds between two requests to a host.", ge=0)
    requests_per_day: int = setting(
        5_000,
        POLITENESS,
        "Requests to a host in 24 hours, 2 or more, robots.txt included; 0: no limit.",
        ge=0,
        commands=("watch",),
    )
    total_requests_per_day: int = setting(
        0,
        POLITENESS,
        "Requests in 24 hours to all hosts together; 0: no limit.",
        ge=0,
        commands=("watch",),
    )
    per_host: int = setting(1, POLITENESS, "Requests to a host at a time.", ge=1)
    per_domain: int = setting(
        0, POLITENESS, "Requests to a domain at a time; 0: no limit.", ge=0, commands=("crawl",)
    )
    per_address: int = setting(
        0, POLITENESS, "Requests to an address at a time; 0: no limit.", ge=0, commands=("crawl",)
    )
    in_flight: int = setting(
        16,
        POLITENESS,
        "Requests in flight, few at first; 8 times as many may wait for hosts that do not answer.",
        ge=1,
    )
    frontier: str = setting(
        "auto",
        PROCESS,
        "memory, disk, or auto: on disk from 1,000 open links on.",
        choices=("auto", "memory", "disk"),
        plugins="frontiers",
    )
    scope: str = setting(
        "domain",
        CRAWL,
        f"{'; '.join(f'{name}: {holds}' for name, holds in SCOPES.items())}.",
        choices=tuple(SCOPES),
        commands=EVERYWHERE,
        in_scrapy="anywhere",
    )
    follow_seeds: bool = setting(
        False,
        CRAWL,
        "Where a seed redirects out of --scope, what it leads to is a seed as well.",
    )
    include: tuple[str, ...] = setting(
        (),
        CRAWL,
        "Only URLs that fit: a glob (*/docs/*, /docs/*, *.pdf) or re:REGEX; several are or-ed.",
        form=URL_PATTERN,
        commands=EVERYWHERE,
    )
    exclude: tuple[str, ...] = setting(
        (), CRAWL, "No URLs that fit, as --include.", form=URL_PATTERN, commands=EVERYWHERE
    )
    actions: bool = setting(
        False,
        CRAWL,
        "Follow links that do something, too: log out, edit, delete, add to a basket.",
        commands=EVERYWHERE,
    )
    nofollow: bool = setting(True, CRAWL, "Obey nofollow of pages and links.", commands=LIVE)
    max_depth: int | None = setting(
        None, CRAWL, "Follow links at most this far from a seed.", ge=0, none=-1
    )
    pages_per_host: int | None = setting(
        None,
        CRAWL,
        "Most pages of one host, and most links of it that come to nothing; a run may go on with "
        "another number.",
        ge=1,
        none=0,
        another=True,
    )
    pages_per_domain: int | None = setting(
        None,
        CRAWL,
        "Most pages of one registrable domain; a run may go on with another number.",
        ge=1,
        none=0,
        another=True,
    )
    found_per_host: int | None = setting(
        None,
        CRAWL,
        "Leave a host once so many were found there; a run may go on with another number.",
        ge=1,
        none=0,
        another=True,
    )
    traps: bool = setting(
        False, CRAWL, "Follow links that are held back, too: copies, endless calendars."
    )
    sitemaps: bool = setting(False, CRAWL, "Take links from sitemaps; each counts as a page.")
    search_index: bool = setting(
        True,
        CRAWL,
        "Take links and titles from the search index of a site of documentation, and, where there "
        "is no other link, from the sitemaps that robots.txt names; each counts as a page.",
    )
    site_search: bool = setting(
        True,
        CRAWL,
        "Ask the search of a site for the topic, three times at most; each counts as a page.",
    )
    seed: int = setting(0, CRAWL, "Seed of everything random.", ge=0, commands=EVERYWHERE)
    allow_private: tuple[str, ...] = setting(
        (),
        POLITENESS,
        "A host whose loopback or private address may be connected to.",
        form=HOST,
        reaches=True,
    )
    connect_to: str = setting(
        "",
        POLITENESS,
        "ADDRESS:PORT that every host stands for (a served web).",
        form=ENDPOINT,
        reaches=True,
    )
    contact: str = setting(
        "", POLITENESS, "URL or mail address of who runs it.", commands=EVERYWHERE, form=LINE
    )
    robots: bool = setting(True, POLITENESS, "Obey robots.txt.")
    render: str = setting(
        "auto",
        PROCESS,
        "Render pages in Chromium (extra `render`): always, never, or auto: where that pays.",
        choices=("auto", "always", "never"),
        commands=LIVE,
    )
    chromium: str = setting(
        "",
        PROCESS,
        "The Chromium that renders; one on PATH by default.",
        commands=LIVE,
        reaches=True,
    )
    noai: bool = setting(
        False, POLITENESS, "Leave out pages that ask for it (noai, TDMRep).", commands=("crawl",)
    )
    agent: str = setting(
        "",
        POLITENESS,
        "The user agent, in place of Spoor/VERSION (+CONTACT).",
        option="--user-agent",
        form=LINE,
    )
    header: tuple[str, ...] = setting(
        (),
        POLITENESS,
        "'Name: value', for the seeds' hosts alone, or 'HOST|Name: value'.",
        form=HEADER,
        secret=True,
    )
    cookies: str = setting(
        "", POLITENESS, "A browser's cookies.txt (Netscape); each goes to its host.", path=True
    )
    keep_cookies: bool = setting(True, POLITENESS, "Take and send back cookies that sites set.")
    netrc: str = setting("", POLITENESS, "A netrc: users and passwords by host.", path=True)
    proxy: str = setting(
        "",
        POLITENESS,
        "URL of a proxy; direct: none. Without it HTTP_PROXY, HTTPS_PROXY, NO_PROXY.",
        form=PROXY,
        reaches=True,
    )
    sign_key: str = setting(
        "", POLITENESS, "Sign requests (Web Bot Auth) by this Ed25519 key.", path=True
    )
    sign_agent: str = setting(
        "", POLITENESS, "URL where others find the key, for Signature-Agent.", form=HTTPS
    )
    warc: bool = setting(True, PROCESS, "Archive the pages as WARC.", commands=LIVE)
    requisites: str = setting(
        "none",
        PROCESS,
        "Archive what a browser needs to show pages, too (pictures, styles, scripts, fonts): none, "
        "relevant (of pages that are), or all.",
        choices=("none", "relevant", "all"),
    )
    save_files: bool = setting(
        False, PROCESS, "Save the relevant documents as they came, too, under files/."
    )
    metrics: str = setting(
        "", PROCESS, "Serve Prometheus metrics at this ADDRESS:PORT while it runs.", reaches=True
    )
    otel: bool = setting(
        False, PROCESS, "Send OpenTelemetry traces and metrics (OTEL_… say where).", reaches=True
    )
    shards: int = setting(0, PROCESS, "Crawl in so many processes, on Ray; 0: in this one.", ge=0)
    cluster: str = setting(
        "", PROCESS, "Address of the Ray cluster that they run on.", reaches=True
    )
    backoff: float = setting(
        5.0,
        CRAWL,
        "Seconds before a request is tried again; twice as long each time.",
        ge=0,
        commands=SCRAPY,
        advanced=True,
    )
    robots_max_age: float = setting(
        86_400.0,
        POLITENESS,
        "Seconds that a robots.txt is kept.",
        ge=0,
        commands=EVERYWHERE,
        advanced=True,
    )
    max_crawl_delay: float = setting(
        60.0,
        POLITENESS,
        "Leave a host whose Crawl-delay is longer (seconds).",
        ge=0,
        commands=EVERYWHERE,
        advanced=True,
    )
    timeout: float = setting(30.0, LIMITS, "Seconds of a whole exchange.", ge=0.01)
    render_timeout: float = setting(30.0, LIMITS, "Seconds to render one page.", ge=0.1)
    connect_timeout: float = setting(10.0, LIMITS, "Seconds to connect.", ge=0.01)
    body_limit: int = setting(
        10 * MIB,
        LIMITS,
        "Bytes of a body, decompressed; the rest is cut off, and the page says so.",
        ge=1,
        le=MOST_OF_A_BODY,
    )
    ratio_limit: float = setting(
        200.0, LIMITS, "Decompressed bytes for each one received, beyond the first MiB.", ge=1
    )
    header_limit: int = setting(
        256 * 1024, LIMITS, "Bytes of a reply's headers.", ge=1, le=16 * MIB
    )
    types: tuple[str, ...] = setting(
        WITH_TEXT,
        LIMITS,
        "Kinds of documents that are downloaded, or media types (image/*); those that --want asks "
        "for are, too. Of others the headers are enough, and of pictures, sounds, films and "
        "archives, by their names, the first three below a folder.",
        form=TYPES,
    )
    type_limits: tuple[str, ...] = setting(
        (),
        LIMITS,
        "Bytes of a body of one kind: pdf=50000000.",
        option="--type-limit",
        form=TYPE_LIMIT,
    )
    refusals: bool = setting(
        False,
        LIMITS,
        "Treat as documents, too, what is sent in their place: challenges, log-ins, walls of "
        "consent, 'not found' with status 200.",
        commands=EVERYWHERE,
    )
    verify_tls: bool = setting(True, LIMITS, "Verify certificates.")
    files: Mapping[str, str] = setting(
        None, CRAWL, "Fingerprints of the files that the settings name.", inner=True
    )
    folder: str = setting(
        "", PROCESS, "Working folder to which names of files are relative.", inner=True
    )
    said: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    """No setting: names of those that were given, also by their defaults (`of`)."""

    def __post_init__(self) -> None:
        for name, known in described(type(self)).items():
            object.__setattr__(self, name, known.checked(getattr(self, name), name))
        refuse_two(self.topic, self.topic_file)
        if self.connect_to and self.proxy not in ("", "direct"):
            raise InputError("give either proxy or connect_to: the latter is where all hosts are")

    @property
    def beta(self) -> float | None:
        """`prefer` as a number; None if it is empty."""
        return beta_of(self.prefer) if self.prefer else None

    @classmethod
    def of(cls, values: Mapping[str, Any], command: str = "crawl", spell: Spell = str) -> Self:
        """The settings of a command from values by name; an error spells each name by `spell`.

        Raises InputError for an unknown name (it offers the nearest) and as `Setting.checked`.
        """
        known = cls.of_command(command)
        checked: dict[str, Any] = {"command": command}
        if command == "scrapy":
            checked |= {
                name: one.in_scrapy for name, one in known.items() if one.in_scrapy is not ...
            }
        for name, value in values.items():
            if ("crawl", name) in WITHOUT_EFFECT:
                raise InputError(f"{spell(name)}: {WITHOUT_EFFECT['crawl', name]}")
            if name not in known:
                have = [spell(name) for name, one in known.items() if not one.inner]
                raise InputError(
                    f"unknown setting {spell(name)}{nearest(spell(name), have)}; "
                    f"there are: {', '.join(have)}"
                )
            checked[name] = known[name].checked(value, spell(name))
        refuse_two(checked.get("topic"), checked.get("topic_file"), spell)
        if checked.pop("whole_site", False):
            about = {"want"} if checked.get("topic") or checked.get("topic_file") else set()
            checked = {n: value for n, value in WHOLE_SITE.items() if n not in about} | checked
        return cls(**checked, said=frozenset(checked))

    @classmethod
    def of_command(cls, command: str) -> dict[str, Setting]:
        """The settings that apply to `crawl`, `watch` or `scrapy`, by name."""
        return {n: one for n, one in described(cls).items() if command in one.commands}

    def to_dict(self, *, fixed: bool = True, secret: bool = False) -> dict[str, dict[str, Any]]:
        """Group → name → plain value, as TOML, JSON and messages can hold it. Without `fixed`: only
        settings that may change when a run goes on. `secret`: also those that no file holds."""
        tables: dict[str, dict[str, Any]] = {group.name: {} for group in GROUPS}
        for name, one in self.of_command(self.command).items():
            if one.secret and not secret:
                continue
            value = getattr(self, name)
            value = one.none if value is None else list(value) if one.kind is tuple else value
            if fixed or not one.fixed or name == "command":
                tables[one.group.name][name] = value
        return tables

    @classmethod
    def from_dict(cls, tables: Mapping[str, Any], source: str = "") -> Self:
        """The settings that `to_dict` gave; missing ones have their defaults. Raises InputError,
        which names the `source`, the key, the value and what is allowed."""
        where = f"{source}: " if source else ""
        if not isinstance(tables, Mapping):
            raise InputError(f"{where}{tables!r} is not a table of settings")
        values: dict[str, Any] = {}
        for table, content in tables.items():
            if not isinstance(content, Mapping):
                raise InputError(f"{where}{table} {content!r} is not a table of settings")
            for name, value in content.items():
                one = described(cls).get(name)
                if (table, name) in WITHOUT_EFFECT:
                    continue
                if one is None or one.group.name != table:
                    close = nearest(name, list(described(cls)))
                    raise InputError(f"{where}unknown setting {table}.{name} = {value!r}{close}")
                values[name] = None if one.none is not None and value == one.none else value
        command = values.pop("command", "crawl")
        known = described(cls)
        try:
            known["command"].checked(command, "crawl.command")
            return cls.of(values, command, lambda name: f"{known[name].group.name}.{name}")
        except InputError as error:
            raise InputError(f"{where}{error}") from None

    def changed(self, begun: Settings) -> Iterator[tuple[str, Any, Any]]:
        """(name, value then, value now) of each setting that changed and may not."""
        for name, one in described(type(self)).items():
            then, now = getattr(begun, name), getattr(self, name)
            # What had no bound was not counted.
            unbounded = one.another and None in (then, now)
            if (one.fixed or unbounded) and then != now:
                yield name, then, now

    def with_fixed_of(self, begun: Self) -> Self:
        """These settings, with the values of `begun` for all that may not change."""
        return replace(self, **{name: then for name, then, _ in self.changed(begun)})

    def refuse_change(self, begun: Settings, file: Path) -> None:
        """Raises InputError if a setting changed that may not; `begun` was read from `file`."""
        for name, then, now in self.changed(begun):
            if name == "seeds" and self.command == "crawl" and set(then) <= set(now):
                continue  # further seeds are entered
            if name == "files" and then:
                names = ", ".join(file for file in then if then[file] != now.get(file))
                raise InputError(
                    f"{names} changed since {file.parent} was begun; put it back as it was or use "
                    "another --out"
                )
            if name == "seeds" and self.command == "crawl":
                left = tuple(seed for seed in then if seed not in now)
                raise InputError(
                    f"{file}: the run was begun with {_brief(left)} among its seeds; seeds may be "
                    "added but not taken away: name it again, or use another --out"
                )
            raise InputError(
                f"{file}: the run was begun with {name} = {_brief(then)}, not {_brief(now)}; "
                "use the same settings or another --out"
            )

    @property
    def wants(self) -> bool:
        """Whether it is said what is wanted: by a topic, or by targets."""
        return bool(self.topic or self.topic_file or self.want)

    @property
    def user_agent(self) -> str:
        """The User-Agent header."""
        return self.agent or user_agent(self.contact)


WHOLE_SITE = {
    "want": ("url:.",),
    "policy": "breadth-first",
    "pages": 100_000,
    "types": ("*/*",),
    "traps": True,
    "sitemaps": True,
    "requisites": "all",
}
"""What `whole_site` stands for, but for what is given beside it; where there is a topic, nothing
else is wanted. A run keeps these settings, and not that they were called so."""

_NO_RECHECK = (
    "no fleet of Spoor's asks a linked page again because of its age, so this did nothing and is "
    "gone; leave it out, or give a fleet of others that takes it --param recheck=SECONDS"
)
WITHOUT_EFFECT = {("crawl", "recheck"): _NO_RECHECK}
"""(Group, name) of settings that earlier versions had → what to do instead. The file of an older
run may hold them."""


def _brief(value: Any) -> str:
    """A value of a setting; of a long list how many there are, and the first."""
    return few([*map(repr, value)]) if isinstance(value, tuple) and value else repr(value)


def described(settings: type[Settings]) -> dict[str, Setting]:
    """Name → setting, in the order of the fields of a class of settings."""
    of: Any = settings
    return _described(of)


@cache
def _described(settings: Any) -> dict[str, Setting]:
    hints = get_type_hints(settings)
    return {
        one.name: replace(
            one.metadata["setting"],
            name=one.name,
            kind=_kind(hints[one.name]),
            default=one.default,
        )
        for one in fields(settings)
        if "setting" in one.metadata
    }


def _kind(hint: Any) -> type:
    """bool, int, float, str, tuple or dict; of `int | None`, int."""
    origin = get_origin(hint)
    if origin is UnionType:
        return _kind(next(part for part in get_args(hint) if part is not NoneType))
    kind: type = dict if origin is Mapping else origin or hint
    return kind


def refuse_two(topic: object, topic_file: object, spell: Spell = str) -> None:
    """Raises InputError if both give a topic."""
    if topic and topic_file:
        raise InputError(f"give {spell('topic')} or {spell('topic_file')}, not both")
