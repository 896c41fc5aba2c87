"""A web computed from a seed: endless, deterministic, without storage.

A page is a number; all its content follows from hashes of the seed and that number, so a web of
a billion pages costs no memory, and a page costs the same in a small web and a large one (after
BUbiNG's synthetic host names: Boldi, Marino, Santini and Vigna 2018).

Pages stand in *sections* of 16 with one topic each; the first page of a section is its list. Links
of a page: navigation; its children in a tree that keeps everything within reach of the first
host's front page; on a list, the pages of its section; and a number of others drawn from a power
law, of which a share (`locality`) leads to the page's own topic. How often a page is drawn falls as
a power of its place on its host, which gives in-degrees a power law too.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import tomli_w

from spoor.errors import InputError, cannot_write
from spoor.files import read_toml, write_whole
from spoor.protocols import Judge
from spoor.registry import nearest
from spoor.types import Failed, Fetch, Fetched, Page, Reply, WebGraph
from spoor.web.page import parse
from spoor.web.urls import Joiner
from spoor.worlds.targets import target_pages
from spoor.worlds.vocabulary import COMMON, TOPICS, TREES, VAGUE

FILE = "web.toml"
SECTION = 16
CHILDREN = 8
CYCLE = 50
"""The topics of a host repeat after so many sections."""
KEPT = 1_000
"""Pages that are made once: some 15 MB, and a third of the time of all crawls of a web but the
first."""
GRAPH_LIMIT = 300_000
MOST_PAGES = 1_000_000_000
_MOST_WORDS, _MOST_LINKS = 100_000, 10_000
"""Of a page."""

TRAPS = ("calendar", "session", "facets")


@dataclass(frozen=True, slots=True)
class GeneratedSettings:
    """What a generated web is computed from."""

    pages: int = 5_000
    hosts: int = 12
    seed: int = 0
    topics: int = len(TOPICS)
    target_share: float = 0.06
    """Share of the sections that have the first topic; the others share the rest evenly."""
    locality: float = 0.7
    """Share of the drawn links that lead to the page's own topic."""
    same_host: float = 0.7
    """Share of the drawn links that stay on the host."""
    out_exponent: float = 2.3
    in_exponent: float = 2.1
    least_links: int = 3
    """Fewest drawn links of a page."""
    most_links: int = 120
    anchor_noise: float = 0.3
    """Share of the anchors without a word about their target."""
    words: int = 120
    """Words of running text on a page."""
    traps: tuple[str, ...] = ()
    """Of `calendar`, `session`, `facets`: endless pages, one entrance a host."""


class GeneratedWorld:
    """The web that the settings describe. Raises InputError for settings that describe none."""

    marker = FILE

    def __init__(self, settings: GeneratedSettings | None = None, *, seconds: float = 0.0) -> None:
        self.settings = settings or GeneratedSettings()
        self._check()
        self._seconds = seconds
        self._joiner = Joiner()
        names = list(TOPICS)[: self.settings.topics]
        self.topics = names
        self._vocabulary = [TOPICS[name].split() for name in names]
        rng = np.random.default_rng(self.settings.seed)
        relevant = max(1, round(CYCLE * self.settings.target_share))
        others = [1 + index % (len(names) - 1) for index in range(CYCLE - relevant)]
        self._cycle = rng.permutation([0] * relevant + others).tolist()
        self._places = [
            [position for position, of in enumerate(self._cycle) if of == topic]
            for topic in range(len(names))
        ]
        self._skew = 1.0 / (1.0 - 1.0 / (self.settings.in_exponent - 1.0))
        self._hosts = {self.host_name(host): host for host in range(self.settings.hosts)}
        self._made: dict[str, tuple[Page, int]] = {}
        """URL → its page and the characters of its HTML: as many as are `KEPT`."""

    def _check(self) -> None:
        settings = self.settings
        wrong = (
            (not 1 <= settings.hosts <= settings.pages <= MOST_PAGES, "1 ≤ hosts ≤ pages ≤ 10⁹"),
            (not 2 <= settings.topics <= len(TOPICS), f"2 ≤ topics ≤ {len(TOPICS)}"),
            # The other way round, NaN would pass.
            (
                not (settings.out_exponent > 1 and settings.in_exponent > 2),
                "out_exponent > 1, in_exponent > 2",
            ),
            (not 1 <= settings.least_links <= settings.most_links, "1 ≤ least_links ≤ most_links"),
        )
        for bad, rule in wrong:
            if bad:
                raise InputError(f"no web can be generated: it must hold that {rule}")
        for name in ("target_share", "locality", "same_host", "anchor_noise"):
            if not 0.0 <= getattr(settings, name) <= 1.0:
                raise InputError(f"no web can be generated: {name} lies in [0, 1]")
        check_numbers(settings, words=_MOST_WORDS, most_links=_MOST_LINKS)
        for trap in settings.traps:
            if trap not in TRAPS:
                offer = nearest(trap, list(TRAPS))
                raise InputError(f"unknown trap {trap!r}{offer}; there are: {', '.join(TRAPS)}")

    # -- numbers

    def _draws(self, page: int, purpose: int) -> np.random.Generator:
        """The random numbers of one page for one purpose."""
        return np.random.Generator(
            np.random.PCG64(np.random.SeedSequence((self.settings.seed, page, purpose)))
        )

    def host_name(self, host: int) -> str:
        """`alder.example`, …, `yew.example`, `alder2.example`, …"""
        round_, index = divmod(host, len(TREES))
        return f"{TREES[index]}{round_ + 1 if round_ else ''}.example"

    def host_of(self, page: int) -> int:
        return page % self.settings.hosts

    def _size(self, host: int) -> int:
        """Pages of a host."""
        return (self.settings.pages - host + self.settings.hosts - 1) // self.settings.hosts

    def _offset(self, host: int) -> int:
        return (host * 7 + self.settings.seed) % CYCLE

    def topic_of(self, page: int) -> int:
        """Number of the page's topic; 0 is the target topic."""
        host = self.host_of(page)
        section = page // self.settings.hosts // SECTION
        return int(self._cycle[(section + self._offset(host)) % CYCLE])

    def is_list(self, page: int) -> bool:
        """Whether it is the list of its section; a front page is."""
        return page // self.settings.hosts % SECTION == 0

    def label_of(self, page: int) -> str:
        """Its topic, or `list`."""
        return "list" if self.is_list(page) else self.topics[self.topic_of(page)]

    def url_of(self, page: int) -> str:
        """The URL contains the page's number, so the way back needs no table."""
        host, place = self.host_of(page), page // self.settings.hosts
        if place == 0:
            return f"http://{self.host_name(host)}/"
        topic = self.topics[self.topic_of(page)]
        name = "list" if self.is_list(page) else self._words_of(page)[0]
        return f"http://{self.host_name(host)}/{topic}/{name}-{place}.html"

    def number_of(self, url: str) -> int | None:
        """The page of a URL; None for one that this web does not have."""
        parts = url.split("/", 3)
        if len(parts) < 4 or parts[0] not in ("http:", "https:"):
            return None
        host = self._hosts.get(parts[2].partition(":")[0])
        if host is None:
            return None
        if not parts[3]:
            return host
        place = parts[3].removesuffix(".html").rpartition("-")[2]
        if not (place.isascii() and place.isdigit()) or int(place) >= self._size(host):
            return None
        page = int(place) * self.settings.hosts + host
        return page if self.url_of(page).partition("://")[2].partition("/")[2] == parts[3] else None

    def _words_of(self, page: int) -> list[str]:
        """Two words of its topic that it is called by."""
        vocabulary = self._vocabulary[self.topic_of(page)]
        size = len(vocabulary)
        pair = (page * 2_654_435_761 + self.settings.seed) % (size * (size - 1))
        first, second = divmod(pair, size - 1)
        return [vocabulary[first], vocabulary[(first + 1 + second) % size]]

    # -- links

    def links_of(self, page: int) -> dict[str, list[int]]:
        """Block of the page → numbers of the pages that it links to."""
        hosts = self.settings.hosts
        host, place = self.host_of(page), page // hosts
        size = self._size(host)
        blocks: dict[str, list[int]] = {"nav": [host]}
        sections = list(range(SECTION, size, SECTION)[:5])
        blocks["nav"] += [section * hosts + host for section in sections]
        children = [
            child * hosts + host
            for child in range(place * CHILDREN + 1, (place + 1) * CHILDREN + 1)
            if child < size
        ]
        if place == 0:
            friends = range(host * CHILDREN + 1, (host + 1) * CHILDREN + 1)
            blocks["friends"] = [friend for friend in friends if friend < hosts]
        blocks["children"] = children
        if self.is_list(page):
            end = min(place + SECTION, size)
            blocks["list"] = [item * hosts + host for item in range(place + 1, end)]
        blocks["text"] = self._drawn(page)
        return blocks

    def _drawn(self, page: int) -> list[int]:
        settings = self.settings
        draws = self._draws(page, 1)
        u = 1.0 - draws.random()
        count = min(
            settings.most_links,
            int(settings.least_links * u ** (-1.0 / (settings.out_exponent - 1))),
        )
        uniform = draws.random((count, 4))
        drawn: list[int] = []
        for local, stay, where, which in uniform.tolist():
            host = self.host_of(page)
            if stay >= settings.same_host:
                host = int(where * settings.hosts)
            size = self._size(host)
            place = int(size * which**self._skew)
            if local < settings.locality:
                place = self._same_topic(place, host, self.topic_of(page), size)
            other = place * settings.hosts + host
            if other != page:
                drawn.append(other)
        return list(dict.fromkeys(drawn))

    def _same_topic(self, place: int, host: int, topic: int, size: int) -> int:
        """The place nearest to `place`, forwards and round, in a section of this topic."""
        section, within = divmod(place, SECTION)
        phase = (section + self._offset(host)) % CYCLE
        steps = min((position - phase) % CYCLE for position in self._places[topic])
        moved = (section + steps) * SECTION + within
        if moved >= size:
            steps = min((phase - position) % CYCLE for position in self._places[topic])
            moved = (section - steps) * SECTION + within
        return moved if 0 <= moved < size else place

    # -- documents

    def html_of(self, page: int) -> str:
        """The page as HTML."""
        draws = self._draws(page, 2)
        blocks = self.links_of(page)
        topic = self.topics[self.topic_of(page)]
        if page // self.settings.hosts == 0:
            title = f"Welcome to {self.host_name(self.host_of(page)).partition('.')[0]}"
        elif self.is_list(page):
            title = f"All about {topic}"
        else:
            title = f"{' '.join(self._words_of(page))} – {topic}"
        out = [
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>',
            "</head><body><header><nav><ul class=menu>",
            *(
                self._item(target, "Home" if not target // self.settings.hosts else "")
                for target in blocks["nav"]
            ),
            f"</ul></nav></header><main><h1>{title}</h1>",
        ]
        for name, heading in (("list", f"All {topic} pages"), ("friends", "Our friends")):
            if blocks.get(name):
                out.append(f"<section class={name}><h2>{heading}</h2><ul>")
                out += [self._item(target) for target in blocks[name]]
                out.append("</ul></section>")
        out += self._paragraphs(page, blocks["text"], draws)
        out.append("</main><footer><ul class=contents>")
        out += [self._item(target) for target in blocks["children"]]
        if page // self.settings.hosts == 0:
            out += [f'<li><a href="/{trap}/1">{trap}</a></li>' for trap in self.settings.traps]
        out.append("</ul></footer></body></html>")
        return "\n".join(out)

    def _item(self, page: int, text: str = "") -> str:
        return f'<li><a href="{self.url_of(page)}">{text or self._anchor(page)}</a></li>'

    def _anchor(self, page: int) -> str:
        if self.is_list(page):
            return self.topics[self.topic_of(page)]
        return " ".join(self._words_of(page))

    def _paragraphs(self, page: int, links: list[int], draws: np.random.Generator) -> list[str]:
        vocabulary = self._vocabulary[self.topic_of(page)]
        noise = draws.random(len(links))
        vague = draws.integers(len(VAGUE), size=len(links))
        each = max(4, self.settings.words // max(1, len(links)))
        out = []
        for index, other in enumerate(links or [-1]):
            kinds = draws.random(each)
            picks = draws.integers(1 << 30, size=each).tolist()
            words = [
                vocabulary[pick % len(vocabulary)] if kind < 0.35 else COMMON[pick % len(COMMON)]
                for kind, pick in zip(kinds.tolist(), picks, strict=True)
            ]
            text = " ".join(words)
            if other < 0:
                out.append(f"<p>{text}</p>")
                continue
            anchor = self._anchor(other)
            if noise[index] < self.settings.anchor_noise:
                anchor = VAGUE[vague[index]]
            half = text.rfind(" ", 0, len(text) // 2 + 1)
            link = f'<a href="{html.escape(self.url_of(other))}">{anchor}</a>'
            out.append(f"<p>{text[:half]} {link} {text[half:]}</p>")
        return out

    def _trap(self, url: str) -> str | None:
        """A page of a trap; None where the URL is of none."""
        parts = url.split("/", 3)
        if len(parts) < 4 or parts[2].partition(":")[0] not in self._hosts:
            return None
        path, _, query = parts[3].partition("?")
        name, _, rest = path.partition("/")
        if name not in self.settings.traps:
            return None
        step = int(rest) if rest.isascii() and rest.isdigit() and len(rest) < 12 else 1
        if name == "calendar":
            following = [f"/calendar/{step + 1}", f"/calendar/{step + 12}"]
        elif name == "session":
            following = [f"/session/{n}?sid={(step * 31 + n) % 99_991}" for n in (1, step + 1)]
        else:
            following = [f"/facets/{step}?{query}&f{facet}={step % 7}" for facet in range(3)]
            following.append(f"/facets/{step + 1}")
        items = "".join(
            f'<li><a href="{html.escape(target)}">next</a></li>' for target in following
        )
        return f"<!doctype html><title>{name} {step}</title><h1>{name} {step}</h1><ul>{items}</ul>"

    def document(self, url: str) -> tuple[int, str] | None:
        """(page number, HTML) of a URL; the number is −1 for a trap; None where nothing is."""
        page = self.number_of(url)
        if page is not None:
            return page, self.html_of(page)
        trap = self._trap(url)
        return None if trap is None else (-1, trap)

    def answer(self, fetch: Fetch) -> Reply:
        made = self._page(fetch.url)
        if made is None:
            return Failed(fetch.ticket, "absent", status=404, seconds=self._seconds)
        page, size = made
        return Fetched(fetch.ticket, page, self._seconds, size)

    def _page(self, url: str) -> tuple[Page, int] | None:
        """The page of a URL, and how long its HTML is; None where nothing is."""
        made = self._made.get(url)
        if made is None and (document := self.document(url)) is not None:
            number, source = document
            page = parse(
                source.encode(),
                url,
                content_type="text/html; charset=utf-8",
                labels=frozenset({self.label_of(number)} if number >= 0 else {"trap"}),
                joiner=self._joiner,
            )
            made = page, len(source)
            if len(self._made) < KEPT:
                self._made[url] = made
        return made

    # -- the entire web, where it is small enough

    def __len__(self) -> int:
        return self.settings.pages

    def roots(self) -> list[str]:
        """The front page of the first host, from which everything can be reached."""
        return [self.url_of(0)]

    def sites(self) -> dict[str, int]:
        return {"": self.settings.pages}

    def page(self, url: str) -> Page:
        """Raises InputError for a URL that this web does not have."""
        made = self._page(url)
        if made is None:
            raise InputError(f"{url} is not a page of this web; its root is {self.url_of(0)}")
        return made[0]

    def pages(self) -> Iterator[Page]:
        return (self.page(self.url_of(page)) for page in range(self.settings.pages))

    @cached_property
    def _arcs(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        rows = [
            list(
                dict.fromkeys(
                    other
                    for block in ("nav", "list", "friends", "text", "children")
                    for other in blocks.get(block, ())
                    if other != page
                )
            )
            for page in range(self.settings.pages)
            for blocks in (self.links_of(page),)
        ]
        indptr = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in rows], out=indptr[1:])
        return indptr, np.array([other for row in rows for other in row], dtype=np.int32)

    def graph(self, targets: Judge | None = None) -> WebGraph:
        """All pages and links, traps left out. Raises InputError above 300,000 pages."""
        if self.settings.pages > GRAPH_LIMIT:
            raise InputError(
                f"a web of {self.settings.pages:,} pages is too large to be enumerated; "
                f"generate one of at most {GRAPH_LIMIT:,} pages for that"
            )
        mask = np.zeros(self.settings.pages, dtype=bool)
        if targets is not None:
            numbers = range(self.settings.pages)
            mask = target_pages(
                targets,
                self.pages(),
                self.settings.pages,
                lambda label: (label == self.label_of(page) for page in numbers),
            )
        urls = [self.url_of(page) for page in range(self.settings.pages)]
        return WebGraph(urls, *self._arcs, mask)

    # -- its file

    def save(self, folder: Path) -> None:
        """Write the settings, which are all there is. Raises InputError where that fails."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            data = {key: value for key, value in asdict(self.settings).items() if value != ()}
            write_whole(folder / FILE, tomli_w.dumps({"generated": data}))
        except OSError as error:
            raise cannot_write(folder, error) from error

    @classmethod
    def open(cls, folder: Path) -> GeneratedWorld:
        """The web that `save` wrote. Raises InputError naming file and key."""
        path = folder / FILE
        try:
            data = read_toml(path)["generated"]
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}") from error
        except (ValueError, KeyError) as error:
            raise InputError(f"{path} is no generated web: {error}") from error
        return cls(settings_of(data, str(path)))


def settings_of(given: Mapping[str, Any], where: str) -> GeneratedSettings:
    """Settings from a TOML table. Raises InputError as `checked_settings` does."""
    return checked_settings(GeneratedSettings, given, where)


Settings = TypeVar("Settings")


def check_numbers(settings: Any, **most: int) -> None:
    """Raises InputError where a number of a dataclass is none, below 0, or above the `most` that is
    given for it: a stranger may have written it."""
    for name in settings.__dataclass_fields__:
        value, bound = getattr(settings, name), most.get(name, math.inf)
        if isinstance(value, int | float) and not (0 <= value <= bound and value < math.inf):
            upto = f"to {bound:,}" if name in most else "on"
            raise InputError(f"no web can be generated: {name} is a number from 0 {upto}")


def checked_settings(kind: type[Settings], given: Mapping[str, Any], where: str) -> Settings:
    """Settings of a dataclass from a table. Raises InputError for an unknown key and for a value of
    another type than the default, naming `where`."""
    if not isinstance(given, Mapping):
        raise InputError(f"{where}: the settings of a generated web are a table, not {given!r}")
    defaults = {field.name: field.default for field in fields(kind)}  # type: ignore[arg-type]
    checked: dict[str, Any] = {}
    for key, value in given.items():
        if key not in defaults:
            raise InputError(f"{where}: unknown key {key!r}{nearest(key, defaults)}")
        default = defaults[key]
        if isinstance(default, tuple):
            if not isinstance(value, list | tuple):
                raise InputError(f"{where}: {key} are a list, not {value!r}")
        elif isinstance(default, bool):
            if not isinstance(value, bool):
                raise InputError(f"{where}: {key} is true or false, not {value!r}")
        elif isinstance(value, bool) or not isinstance(
            value, (int, float) if isinstance(default, float) else int
        ):
            number = "a number" if isinstance(default, float) else "a whole number"
            raise InputError(f"{where}: {key} is {number}, not {value!r}")
        checked[key] = tuple(value) if isinstance(default, tuple) else value
    return kind(**checked)
