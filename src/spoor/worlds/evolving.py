"""A web that changes: pages and links appear, change and vanish, each at its time, by one clock.

It is made of versions; each is the content of one URL from its time on. Versions come from a
recording with several captures of a URL, or from a generator (`spoor.worlds.newsweb`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spoor.bounded_json import json_of_line
from spoor.compression import zstd
from spoor.durations import is_moment
from spoor.errors import CallerError, InputError, cannot_write, in_one_line
from spoor.files import hidden_folder, plain, read_json, sync_folder, sync_tree
from spoor.formats.source_file import MAX_BYTES, MAX_RATIO
from spoor.types import Anchor, Failed, Fetch, Fetched, Link, Page, Reply
from spoor.worlds.graph import Arcs, Offsets, compressed

FILE = "evolving.json"
VERSIONS = "versions.jsonl.zst"
FORMAT = 1

MOST_LINE = 1 << 26
"""Most characters of a version: a small compressed file may unpack to a large one."""


class Version(NamedTuple):
    """What a URL shows from `time` on."""

    time: float
    """Unix seconds."""
    url: str
    """Canonical."""
    title: str = ""
    text: str = ""
    links: tuple[str, ...] = ()
    """Canonical URLs in page order, each once."""
    gone: bool = False
    """It vanishes."""


class EvolvingWorld:
    """A changing web at one moment; `advance` moves its clock forwards, `rewind` back to `start`.

    A download takes `seconds`. Versions older than `start` make up the web at its start.
    Raises InputError where no version is ever visible.
    """

    def __init__(
        self,
        versions: Iterable[Version],
        *,
        roots: Sequence[str] = (),
        start: float | None = None,
        end: float | None = None,
        seconds: float = 2.5,
    ) -> None:
        # Equal times keep their order.
        ordered = sorted(versions, key=lambda version: version.time)
        if not ordered:
            raise InputError("an evolving web needs at least one version of a page")
        self.start = ordered[0].time if start is None else start
        self.end = ordered[-1].time if end is None else end
        if self.end <= self.start:
            raise InputError("an evolving web ends after it starts")
        self.seconds = seconds
        self.versions = [version for version in ordered if version.time <= self.end]
        self.urls: list[str] = []
        self._numbers: dict[str, int] = {}
        self._of = [self._number(version.url) for version in self.versions]
        self._roots = list(roots) or [self.versions[0].url]
        for root in self._roots:
            if root not in self._numbers:
                raise InputError(f"{root} is not a page of this evolving web")
        self._pages: dict[int, Page] = {}
        self._made: dict[str, Link] = {}
        self.rewind()

    def _number(self, url: str) -> int:
        number = self._numbers.get(url)
        if number is None:
            number = self._numbers[url] = len(self.urls)
            self.urls.append(url)
        return number

    # -- the clock

    def rewind(self) -> None:
        """Back to the start."""
        self.now = -np.inf
        self._current = [-1] * len(self.urls)
        self._next = 0
        self.advance(self.start)

    def advance(self, now: float) -> None:
        """Move the clock to `now`. Raises CallerError if that is in the past."""
        if now < self.now:
            raise CallerError(f"the clock of an evolving web goes forwards, from {self.now}")
        self.now = now
        index, versions = self._next, self.versions
        while index < len(versions) and versions[index].time <= now:
            self._current[self._of[index]] = index
            index += 1
        self._next = index

    # -- the pages of this moment

    def last_change(self, url: str) -> float | None:
        """When a URL changed or vanished last; None for one that was never there."""
        number = self._numbers.get(url)
        index = -1 if number is None else self._current[number]
        return None if index < 0 else self.versions[index].time

    def page(self, url: str) -> Page | None:
        """The page of a URL now; None where it shows nothing."""
        number = self._numbers.get(url)
        index = -1 if number is None else self._current[number]
        if index < 0 or self.versions[index].gone:
            return None
        page = self._pages.get(index)
        return self._page(index) if page is None else page

    def _page(self, index: int) -> Page:
        version = self.versions[index]
        links = [self._link(url) for url in version.links]
        page = self._pages[index] = Page(
            version.url,
            title=version.title,
            text=version.text,
            links=links,
            modified=version.time,
        )
        return page

    def _link(self, url: str) -> Link:
        link = self._made.get(url)
        if link is None:
            link = self._made[url] = Link(url, Anchor())
        return link

    def answer(self, fetch: Fetch) -> Reply:
        page = self.page(fetch.url)
        if page is None:
            return Failed(fetch.ticket, "absent", status=404, seconds=self.seconds)
        return Fetched(fetch.ticket, page, self.seconds, len(page.text))

    def roots(self) -> list[str]:
        """Where crawls of it begin."""
        return list(self._roots)

    def __len__(self) -> int:
        return len(self.urls)

    # -- the graph

    def arcs(self) -> tuple[Offsets, Arcs]:
        """All links among its pages, of all versions visible between start and end, each pair
        once, loops left out: rows by the order of `urls`."""
        count = len(self.urls)
        source: list[int] = []
        target: list[int] = []
        numbers = self._numbers
        for index in self._in_window():
            own = self._of[index]
            for url in self.versions[index].links:
                other = numbers.get(url, own)
                if other != own:
                    source.append(own)
                    target.append(other)
        keys = np.unique(np.array(source, dtype=np.int64) * count + np.array(target, np.int64))
        return compressed(keys // count, keys % count, count)

    def _in_window(self) -> Iterator[int]:
        """Indices of the versions that are visible at some time between start and end."""
        first: dict[int, int] = {}
        for index, version in enumerate(self.versions):
            if version.time <= self.start:
                first[self._of[index]] = index
        early = set(first.values())
        for index, version in enumerate(self.versions):
            if version.time > self.start or index in early:
                yield index

    def counts(self) -> dict[str, int]:
        """Pages, versions and vanishings between start and end, and pages there at the start."""
        shown = list(self._in_window())
        versions = [self.versions[index] for index in shown]
        return {
            "pages": len({self._of[index] for index in shown}),
            "versions": len(versions),
            "at_start": sum(not v.gone for v in versions if v.time <= self.start),
            "vanished": sum(v.gone for v in versions if v.time > self.start),
        }

    def cut(self, start: float, end: float) -> EvolvingWorld:
        """The same web between two times."""
        return EvolvingWorld(
            self.versions, roots=self._roots, start=start, end=end, seconds=self.seconds
        )

    # -- its folder

    def save(self, folder: Path) -> None:
        """Write it; one that lies there is replaced once all is on the disk. Raises InputError
        where that fails."""
        head = {
            "format": FORMAT,
            "start": self.start,
            "end": self.end,
            "seconds": self.seconds,
            "roots": self._roots,
        }
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with hidden_folder(folder / FILE) as part:
                with zstd.open(part / VERSIONS, "wt", encoding="utf-8") as file:
                    for version in self.versions:
                        row = {**version._asdict(), "links": list(version.links)}
                        file.write(json.dumps(row, ensure_ascii=False) + "\n")
                (part / FILE).write_text(json.dumps(head), encoding="utf-8")
                sync_tree(part)
                for name in (VERSIONS, FILE):
                    (part / name).replace(folder / name)
                sync_folder(folder)
        except OSError as error:
            raise cannot_write(folder, error) from error

    @classmethod
    def open(cls, folder: Path) -> EvolvingWorld:
        """The web in a folder. Raises InputError that names what is missing or damaged, and for a
        file that unpacks to `MAX_BYTES` characters and `MAX_RATIO` times its size, so that the
        number of versions is bounded."""
        head = _read_head(folder / FILE)
        path = folder / VERSIONS
        versions: list[Version] = []
        left = 0
        try:
            left = MAX_BYTES + MAX_RATIO * path.stat().st_size
            with zstd.open(plain(path), "rt", encoding="utf-8") as file:
                while line := file.readline(MOST_LINE):
                    left -= len(line)
                    if left < 0:
                        raise InputError(
                            f"{path}: unpacks to over {MAX_RATIO} times its size; refused"
                        )
                    versions.append(_version_of(json_of_line(line.encode())))
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}") from error
        except (ValueError, KeyError, TypeError, EOFError, RecursionError, zstd.ZstdError) as error:
            where = f"{path}, line {len(versions) + 1}"
            raise InputError(f"{where}: damaged; make it again ({in_one_line(error)})") from error
        return cls(versions, **head)


def _version_of(row: Mapping[str, Any]) -> Version:
    """Raises ValueError and what a stranger's row raises."""
    version = Version(**{**row, "links": tuple(row["links"])})
    texts = (version.title, version.text, version.url, *version.links)
    if not (
        is_moment(version.time)
        and isinstance(version.gone, bool)
        and all(isinstance(text, str) for text in texts)
        and all(url.count("/") >= 2 for url in texts[2:])
    ):
        raise ValueError("a value is of another kind")
    return version


def _read_head(file: Path) -> Mapping[str, Any]:
    """What an EvolvingWorld is made of beside its versions."""
    names = ("start", "end", "seconds")
    try:
        head: dict[str, Any] = read_json(file)
        known, roots = head["format"], head["roots"]
        found = {"roots": roots, **{name: head[name] for name in names}}
        fits = isinstance(roots, list) and all(isinstance(root, str) for root in roots)
        if known == FORMAT and not (fits and all(is_moment(found[name]) for name in names)):
            raise ValueError
    except OSError as error:
        raise InputError(f"{file.parent}: no evolving web (there is no {FILE})") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{file}: damaged; make it again") from error
    if known != FORMAT:
        raise InputError(f"{file}: format {known!r}; this Spoor reads {FORMAT}; make it again")
    return found


# ---------------------------------------------------------------- rewiring


_WINDOW = 6 * 3600.0
_SWAPS = 3


def rewired(world: EvolvingWorld, rng: np.random.Generator) -> EvolvingWorld:
    """The same pages at the same times, their links exchanged at random; all degrees stay the same.

    A link is on its page for a span of versions. Two links that began within `_WINDOW` seconds of
    each other (all links of the start count as one time) exchange their targets, `_SWAPS` times as
    often as there are links, unless a page would link to itself, twice to one page, or to one that
    does not exist yet (Maslov & Sneppen 2002, with time). So every page has as many links as before
    at each moment, and as many in-links over the entire time. O(links).
    """
    origin, begin, end, slots = _link_spans(world)
    count = len(origin)
    if count < 2:
        return world
    numbers = {url: index for index, url in enumerate(world.urls)}
    born = np.full(len(world.urls), np.inf)
    for version in reversed(world.versions):
        if not version.gone:
            born[numbers[version.url]] = max(version.time, world.start)
    order = np.argsort(begin, kind="stable")
    starts = begin[order]
    low = np.searchsorted(starts, starts - _WINDOW, side="left")
    high = np.searchsorted(starts, starts + _WINDOW, side="right")
    ends = end.tolist()
    origins, begins, births = origin.tolist(), begin.tolist(), born.tolist()
    pairs = set(zip(origins, ends, strict=True))
    places = order.tolist()
    for _ in range(_SWAPS):
        other = (low + (rng.random(count) * (high - low)).astype(np.int64)).tolist()
        for index in rng.permutation(count).tolist():
            i, j = places[index], places[other[index]]
            a, b, x, y = origins[i], origins[j], ends[i], ends[j]
            if x == y or a in (b, y) or b == x:
                continue
            if births[y] > begins[i] or births[x] > begins[j]:
                continue
            if (a, y) in pairs or (b, x) in pairs:
                continue
            ends[i], ends[j] = y, x
            pairs -= {(a, x), (b, y)}
            pairs |= {(a, y), (b, x)}
    urls = world.urls
    versions = [
        version._replace(
            links=tuple(
                urls[ends[slot]] if isinstance(slot, int) else slot for slot in slots[index]
            )
        )
        for index, version in enumerate(world.versions)
    ]
    return EvolvingWorld(
        versions, roots=world.roots(), start=world.start, end=world.end, seconds=world.seconds
    )


def _link_spans(
    world: EvolvingWorld,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64], list[list[int | str]]]:
    """(origin, time it began, end) of each link span, and for each version the span of each
    of its links. Links that leave the world, and a page's links to itself, stay as URLs.

    A link that reappears on its page later is the same span: a page never links twice to another.
    """
    numbers = {url: index for index, url in enumerate(world.urls)}
    origin: list[int] = []
    begin: list[float] = []
    end: list[int] = []
    known: dict[tuple[int, int], int] = {}
    slots: list[list[int | str]] = []
    for version in world.versions:
        own = numbers[version.url]
        row: list[int | str] = []
        for url in version.links:
            target = numbers.get(url, own)
            if target == own:
                row.append(url)
                continue
            span = known.get((own, target))
            if span is None:
                span = known[own, target] = len(origin)
                origin.append(own)
                begin.append(max(version.time, world.start))
                end.append(target)
            row.append(span)
        slots.append(row)
    return np.array(origin, np.int64), np.array(begin), np.array(end, np.int64), slots
