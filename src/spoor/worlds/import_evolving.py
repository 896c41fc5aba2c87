"""Evolving webs from recordings: archives with several captures of a URL, news front pages, the
history of a wiki."""

from __future__ import annotations

import io
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import translate
from pathlib import Path
from typing import Any

import numpy as np

from spoor.bounded_json import json_of_line
from spoor.compression import windows_up_to, zstd
from spoor.durations import DAY
from spoor.errors import InputError
from spoor.files import files_below
from spoor.formats.reading_costs import recordings
from spoor.formats.source_file import MAX_WINDOW, MEMORY, PER_BYTE
from spoor.formats.sources import open_source
from spoor.types import Failed, Fetched, Recording, Redirected
from spoor.web.urls import canonical
from spoor.worlds.evolving import FILE, MOST_LINE, EvolvingWorld, Version, rewired
from spoor.worlds.newsweb import news_web, settings_of

SKEW = 120.0
"""Seconds between the clocks of two who write one history."""


def rows(file: Path, needed: Sequence[str]) -> Iterator[Any]:
    """Rows of JSON lines in a zstandard frame, each an object with the keys `needed`.

    Where `t`, a time, is one of them, the rows are in its order. One that is earlier than the row
    before it, by a minute or two of another writer's clock (`SKEW`), gets that row's time.

    Raises InputError, which names the line, where it is not so, and where the file cannot be read.
    """
    before = -math.inf
    try:
        with file.open("rb") as opened:
            window = min(MAX_WINDOW, MEMORY + PER_BYTE * file.stat().st_size)
            stream = zstd.ZstdFile(opened, options=windows_up_to(window))
            text = io.TextIOWrapper(stream, "utf-8")
            for number, line in enumerate(iter(lambda: text.readline(MOST_LINE), ""), start=1):
                row = json_of_line(line.encode())
                missing = [key for key in needed if not isinstance(row, dict) or key not in row]
                if missing:
                    raise InputError(f"{file}, line {number}: no {missing[0]!r}")
                if "t" in needed:
                    if not isinstance(row["t"], int | float) or not math.isfinite(row["t"]):
                        raise InputError(f"{file}, line {number}: 't' is no time: {row['t']!r}")
                    if row["t"] < before - SKEW:
                        raise InputError(
                            f"{file}, line {number}: its time, {row['t']:.0f}, is before that of "
                            f"the line above, {before:.0f}; sort the lines by 't'"
                        )
                    before = row["t"] = max(before, row["t"])
                yield row
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from error
    except (ValueError, EOFError, RecursionError, zstd.ZstdError) as error:
        raise InputError(f"{file}: damaged ({error})") from error


# ---------------------------------------------------------------- (b) any archive


def from_archives(sources: Sequence[Path], **settings: Any) -> EvolvingWorld:
    """The web that archives hold (JSON lines, WARC, a folder of WARC files as that of a run), each
    capture a version. A capture that shows what the one before it showed changes nothing.

    Raises InputError for captures without a time.
    """
    files = [
        file
        for source in sources
        for file in [one for one in files_below(source) if one.name.endswith(".warc.gz")]
        or [source]
    ]
    return EvolvingWorld(captures(recordings([open_source(file) for file in files])), **settings)


def captures(recordings: Iterable[Recording]) -> list[Version]:
    """Captures as versions, in the order of their times. A redirect or a transient failure shows
    nothing of its URL; any other failure is its end."""
    versions: list[Version] = []
    last: dict[str, Version] = {}
    timed: list[tuple[float, Recording]] = []
    for recording in recordings:
        if recording.time is None:
            raise InputError(
                f"{recording.where}: no time of capture (fetched_at); an evolving web needs one"
            )
        timed.append((recording.time, recording))
    for time, recording in sorted(timed, key=lambda item: item[0]):
        reply = recording.reply
        if isinstance(reply, Redirected) or (isinstance(reply, Failed) and reply.transient):
            continue
        version = Version(time, recording.url, gone=True)
        if isinstance(reply, Fetched):
            page = reply.page
            links = tuple(dict.fromkeys(link.url for link in page.links))
            version = Version(time, recording.url, page.title, page.text, links)
        before = last.get(recording.url)
        if before is None and version.gone:
            continue
        if before is None or before._replace(time=time) != version:
            last[recording.url] = version
            versions.append(version)
    return versions


# ---------------------------------------------------------------- (a) a news front page


_LISTED = 30
"""Stories that the page of a section lists."""
_RELATED = 8
"""Earlier stories of its section that a story links to."""


def news_front_page(folder: Path, *, start: float, days: float) -> EvolvingWorld:
    """A recorded front page and its stories (`docs.jsonl.zst`, `snapshots.jsonl.zst`).

    Recorded: which stories were on the front page and when, their titles, sections and summaries.
    Not recorded, and made by rule: a page for each section that lists the newest `_LISTED` stories
    of it that the front page has shown, and links of a story to the front page, its section and
    the `_RELATED` stories before it in its section. A story is dated by its first snapshot; its
    text does not change.
    """
    docs = {row["id"]: row for row in rows(folder / "docs.jsonl.zst", ("id", "url", "title"))}
    paper = _Paper(docs)
    versions: list[Version] = []
    fronts: list[Version] = []
    for time, shown in rows_of_snapshots(folder / "snapshots.jsonl.zst"):
        if time > start + days * DAY:
            break
        if time > start and not versions:
            versions = [*paper.stories, *fronts[-1:], *map(paper.section, paper.sections)]
        changed = paper.apply(time, shown)
        if paper.front_changed:
            fronts.append(paper.front())
        if versions:
            versions += paper.stories
            versions += map(paper.section, changed)
            versions += fronts[-1:] if paper.front_changed else []
            paper.stories = []
    if not versions:
        raise InputError(f"{folder} holds nothing between these times")
    return EvolvingWorld(versions, roots=[paper.base], start=start, end=start + days * DAY)


class _Paper:
    """The state of a news site while the snapshots of its front page are read."""

    def __init__(self, docs: dict[int, dict[str, Any]]) -> None:
        hosts = Counter("/".join(doc["url"].split("/", 3)[:3]) for doc in docs.values())
        self.base = hosts.most_common(1)[0][0] + "/"
        self.sections: dict[str, list[int]] = {}
        """Section → its stories so far, oldest first."""
        self.stories: list[Version] = []
        self.front_changed = False
        self._docs = docs
        self._times: dict[str, float] = {}
        self._known: set[int] = set()
        self._shown: list[int] = []
        self._time = 0.0

    def apply(self, time: float, shown: list[int]) -> list[str]:
        """Take in a snapshot; returns the sections that changed."""
        self._time = time
        self.front_changed = shown != self._shown
        self._shown = shown
        changed = []
        for number in reversed(shown):
            if number in self._known:
                continue
            self._known.add(number)
            name = self._docs[number].get("section", "")
            earlier = self.sections.setdefault(name, []) if name else []
            self.stories.append(self._story(number, earlier[: -_RELATED - 1 : -1]))
            if name:
                earlier.append(number)
                self._times[name] = time
                changed.append(name)
        return list(dict.fromkeys(changed))

    def _story(self, number: int, earlier: list[int]) -> Version:
        doc = self._docs[number]
        name, url = doc.get("section", ""), doc["url"]
        links = [self.base, *([self._url(name)] if name else [])]
        links += [self._docs[index]["url"] for index in earlier]
        unique = tuple(link for link in dict.fromkeys(links) if link != url)
        return Version(self._time, url, doc["title"], f"{name} {doc.get('summary', '')}", unique)

    def _url(self, name: str) -> str:
        return f"{self.base}section/{re.sub('[^a-z0-9]+', '-', name.lower()).strip('-')}"

    def section(self, name: str) -> Version:
        """The current page of a section."""
        newest = self.sections[name][: -_LISTED - 1 : -1]
        return self._list(self._times[name], self._url(name), name, [self.base], newest)

    def front(self) -> Version:
        """The current front page."""
        nav = [self._url(name) for name in sorted(self.sections)]
        return self._list(self._time, self.base, "Front page", nav, self._shown)

    def _list(
        self, time: float, url: str, title: str, nav: Sequence[str], stories: Sequence[int]
    ) -> Version:
        docs = [self._docs[number] for number in stories]
        links = dict.fromkeys([*nav, *(doc["url"] for doc in docs)])
        text = " ".join(doc["title"] for doc in docs)
        return Version(time, url, title, text, tuple(link for link in links if link != url))


def rows_of_snapshots(file: Path) -> Iterator[tuple[float, list[int]]]:
    """(time, story numbers) of each snapshot."""
    for number, row in enumerate(rows(file, ()), start=1):
        try:
            time, shown = row
            yield float(time), list(shown)
        except (TypeError, ValueError) as error:
            raise InputError(f"{file}, line {number}: no [time, [story, …]]") from error


# ---------------------------------------------------------------- (a) the history of a wiki


def wiki_history(folder: Path, *, start: float, days: float) -> EvolvingWorld:
    """A recorded wiki with every version of every page (`versions.jsonl.zst`).

    All of it is recorded: texts, links, comments (which change their page), deletions, and the
    lists that pages hold by pattern (news, forum, bugs …), which are laid out as the wiki does:
    matching pages, newest first.
    """
    end = start + days * DAY
    wiki = _Wiki("http://wiki.example/")
    versions: list[Version] = []
    for row in rows(folder / "versions.jsonl.zst", ("t", "page", "kind")):
        if row["t"] > end:
            break
        if not versions and row["t"] > start:
            versions += wiki.current()
        for page in wiki.apply(row):
            if row["t"] > start:
                versions.append(wiki.version(page, float(row["t"])))
    return EvolvingWorld(versions, roots=[wiki.url("index")], start=start, end=end)


class _Wiki:
    """The state of the wiki while its history is read."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._rows: dict[str, dict[str, Any]] = {}
        self._comments: dict[str, list[str]] = {}
        self._created: dict[str, float] = {}
        self._changed: dict[str, float] = {}
        self._lists: dict[str, list[tuple[Callable[[str], bool], int]]] = {}
        self._listed: dict[str, list[str]] = {}
        """Page with lists → pages that it lists now, newest first."""
        self._urls: dict[str, str] = {}

    def url(self, page: str) -> str:
        url = self._urls.get(page)
        if url is None:
            path = "" if page == "index" else page.replace(" ", "_") + "/"
            url = self._urls[page] = canonical(self._base + path)
        return url

    def current(self) -> list[Version]:
        """Every page that exists now, dated by its last change."""
        return [self.version(page, self._changed[page]) for page in self._rows]

    def apply(self, row: dict[str, Any]) -> list[str]:
        """Take in a row of the history. Returns the pages that it changes: its own, and those
        whose lists it enters or leaves."""
        page, time, kind = row["page"], float(row["t"]), row["kind"]
        changed = [page]
        if kind == "comment":
            self._comments.setdefault(page, []).append(row.get("text", ""))
            if page not in self._rows:
                return []
        else:
            self._rows.pop(page, None)
            self._lists.pop(page, None)
            self._listed.pop(page, None)
            if kind == "del":
                self._comments.pop(page, None)
            else:
                self._rows[page] = row
                self._created.setdefault(page, time)
                if row.get("inline"):
                    self._lists[page] = [
                        (self._matcher(spec, page), show)
                        for spec, show in row["inline"]
                        if show is None or show >= 0  # below 0 it is a feed alone
                    ]
                    self._listed[page] = self._all(page)
            changed += [holder for holder in self._lists if self._relist(holder, page)]
        for name in changed:
            self._changed[name] = time
        return changed

    def _matcher(self, spec: str, page: str) -> Callable[[str], bool]:
        """A pattern with a slip, as authors make them, lists nothing until it is mended: the wiki
        shows an error there."""
        try:
            return matcher(spec, page, self._links_to)
        except InputError:
            return lambda other: False

    def _links_to(self, page: str, target: str) -> bool:
        """Whether a page links to another, by the name as written or as the wiki resolved it."""
        row = self._rows.get(page)
        return row is not None and any(
            link[0] == "w" and target in (link[1], *link[3:4]) for link in row.get("links", ())
        )

    def _relist(self, holder: str, page: str) -> bool:
        """Whether a page enters or leaves the list of another."""
        if holder == page:
            return False
        listed = self._listed[holder]
        here = page in self._rows and self._matches(holder, page)
        stood = page in listed
        if here and not stood:
            listed.append(page)
            listed.sort(key=lambda other: -self._created[other])
        elif stood and not here:
            listed.remove(page)
        return here != stood

    def _matches(self, holder: str, page: str) -> bool:
        return any(match(page) for match, _ in self._lists[holder])

    def _all(self, holder: str) -> list[str]:
        matching = [page for page in self._rows if page != holder and self._matches(holder, page)]
        matching.sort(key=lambda page: -self._created[page])
        return matching

    def version(self, page: str, time: float) -> Version:
        """What a page shows now."""
        url, row = self.url(page), self._rows.get(page)
        if row is None:
            return Version(time, url, gone=True)
        links = [
            self.url(link[3]) for link in row.get("links", ()) if link[0] == "w" and len(link) > 3
        ]
        text = " ".join([row.get("text", ""), *self._comments.get(page, ())])
        if page in self._lists:
            # A list that says nothing of its length shows all that match.
            shown = max(((show or len(self._rows)) for _, show in self._lists[page]), default=0)
            listed = self._listed[page][:shown]
            links += [self.url(other) for other in listed]
            text += " " + " ".join(listed)
        # Every page of the wiki has a bar that leads home and up.
        above = page.rpartition("/")[0]
        bar = [self.url("index"), *([self.url(above)] if above in self._rows else [])]
        unique = tuple(link for link in dict.fromkeys([*bar, *links]) if link != url)
        title = row.get("title") or page.rpartition("/")[2].replace("_", " ")
        return Version(time, url, title, text, unique)


_PART = re.compile(r"\s*(\(|\)|!|and\b|or\b|[^\s()!]+(?:\([^)]*\))?)")


_MOST_OF_A_PATTERN, _MOST_WITHIN = 5_000, 100
"""Characters of a page pattern, and its brackets and `!`, which may be within one another."""


def matcher(spec: str, page: str, links_to: Callable[[str, str], bool]) -> Callable[[str], bool]:
    """A page pattern of the wiki: globs, `link(PAGE)`, `!`, `and`, `or`, brackets. `page(GLOB)` is
    the glob: nothing but pages is recorded. `./` is the folder of the page that contains the
    pattern. Any other function matches nothing.

    Raises InputError where it cannot be read.
    """
    if len(spec) > _MOST_OF_A_PATTERN or spec.count("(") + spec.count("!") > _MOST_WITHIN:
        raise InputError(f"page pattern {spec[:80]!r} … is too long")
    parts = _PART.findall(spec)
    position = 0

    def peek() -> str:
        return parts[position] if position < len(parts) else ""

    def take() -> str:
        nonlocal position
        position += 1
        return str(parts[position - 1]) if position <= len(parts) else ""

    def any_of() -> Callable[[str], bool]:
        terms = [all_of()]
        while peek() == "or":
            take()
            terms.append(all_of())
        return lambda other: any(term(other) for term in terms)

    def all_of() -> Callable[[str], bool]:
        terms = [single()]
        while peek() == "and":
            take()
            terms.append(single())
        return lambda other: all(term(other) for term in terms)

    def single() -> Callable[[str], bool]:
        part = take()
        if part == "!":
            inner = single()
            return lambda other: not inner(other)
        if part == "(":
            inner = any_of()
            if take() != ")":
                raise InputError(f"page pattern {spec!r}: a bracket is not closed")
            return inner
        if not part or part in (")", "and", "or"):
            raise InputError(f"page pattern {spec!r} ends too soon")
        if part.startswith("link("):
            target = _place(part[5:-1], page)
            return lambda other: links_to(other, target)
        if part.startswith("page("):
            part = part[5:-1]
        if "(" in part:
            return lambda other: False
        pattern = re.compile(translate(_place(part, page)))
        return lambda other: pattern.match(other) is not None

    return any_of()


def _place(name: str, page: str) -> str:
    if not name.startswith("./"):
        return name
    above = page.rpartition("/")[0]
    return f"{above}/{name[2:]}" if above else name[2:]


# ---------------------------------------------------------------- by name


def open_evolving(path: Path) -> EvolvingWorld:
    """The evolving web in a folder, or in a run's folder or archive of captures."""
    if (path / FILE).exists():
        return EvolvingWorld.open(path)
    return from_archives([path])


def from_recordings(
    sources: Sequence[Path], *, start: float | None, days: float | None
) -> EvolvingWorld:
    """The evolving web of archives with several captures of a URL, or of one recorded news front
    page or wiki history, which need `start` (Unix seconds) and `days`."""
    first = sources[0]
    recorded: Callable[..., EvolvingWorld] | None = None
    if (first / "snapshots.jsonl.zst").exists():
        recorded = news_front_page
    elif (first / "versions.jsonl.zst").exists() and not (first / FILE).exists():
        recorded = wiki_history
    if recorded is not None:
        if len(sources) > 1 or start is None or days is None:
            raise InputError(f"{first} is one recording: give --start and --days, and DEST")
        return recorded(first, start=start, days=days)
    world = from_archives(sources, start=start)
    if days is None:
        return world
    return world.cut(world.start, min(world.end, world.start + days * DAY))


def make(spec: dict[str, Any], data: Path) -> EvolvingWorld:
    """The evolving web that an experiment names.

    `spec` holds one of `news` (settings of a generated news web), `front_page` or `wiki` (a folder
    under `data`, with `start` in Unix seconds and `days`) and `path` (a folder); `rewired` (a
    seed) exchanges its links at random.
    """
    kinds = [kind for kind in ("news", "front_page", "wiki", "path") if kind in spec]
    if len(kinds) != 1:
        raise InputError("an evolving web is one of news, front_page, wiki and path")
    if "news" in spec:
        world = news_web(settings_of(spec["news"], "news web"))
    elif "path" in spec:
        world = open_evolving(Path(spec["path"]))
    else:
        recorded = news_front_page if "front_page" in spec else wiki_history
        folder = data / spec[kinds[0]]
        if not folder.exists():
            raise InputError(f"{folder} is missing; SPOOR_DATA names the folder of recorded webs")
        world = recorded(folder, start=float(spec["start"]), days=float(spec["days"]))
    if "rewired" in spec:
        world = rewired(world, np.random.default_rng(spec["rewired"]))
    return world
