"""A recorded web: the content of a crawl, archive or dump, as a world.

Opened from the folder that `spoor web import` writes (`spoor.worlds.store`). It opens in well under
a second and parses no HTML: a page is one look-up and one decompression, and the anchors of its
links are read only on demand.
"""

from __future__ import annotations

import json
import mmap
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from spoor.errors import InputError, taking_in
from spoor.files import plain, read_json
from spoor.protocols import Judge
from spoor.types import Failed, Fetch, Fetched, Link, Page, Redirected, Reply, WebGraph
from spoor.web.text import NO_ARRAYS
from spoor.worlds.graph import compressed
from spoor.worlds.store import (
    FAILURE,
    KEYWORDS_SINCE,
    READABLE,
    REDIRECT,
    ROW,
    TABLES,
    first_of_places,
    place_of,
)
from spoor.worlds.store_rows import Anchors, restored, unpack_words
from spoor.worlds.targets import target_pages

Mask = NDArray[np.bool_]


class RecordedLinks(Sequence[Link]):
    """The links of a recorded page that lead into the world; each is made when asked for."""

    __slots__ = ("_anchors", "_places", "_row", "_world", "urls")
    stored = True

    def __init__(self, world: RecordedWorld, row: int, urls: list[str]) -> None:
        self.urls = urls
        """URL of each link."""
        self._world = world
        self._row = row
        self._anchors: Anchors | None = None
        self._places: Sequence[int] | None = None

    def __len__(self) -> int:
        return len(self.urls)

    @overload
    def __getitem__(self, index: int, /) -> Link: ...
    @overload
    def __getitem__(self, index: slice, /) -> Sequence[Link]: ...
    def __getitem__(self, index: int | slice, /) -> Link | Sequence[Link]:
        if self._anchors is None:
            self._anchors, self._places = self._world._anchors_of(self._row)
        assert self._places is not None
        if isinstance(index, slice):
            return [
                self._anchors.link(place, url)
                for place, url in zip(self._places[index], self.urls[index], strict=True)
            ]
        return self._anchors.link(self._places[index], self.urls[index])

    def __iter__(self) -> Iterator[Link]:
        return iter(self[:])

    @property
    def absent(self) -> int:
        """Links of the page as it was recorded that lead to nothing recorded."""
        return self._world._absent_of(self._row)


class RecordedWorld:
    """Answers each fetch as it was recorded.

    `site` leaves nothing but the pages recorded with that site. Links to what the world does not
    hold are left out of its pages; `absent` leaves them in, and a fetch of one fails as absent
    (as does any URL that is not recorded). `seconds` is what each download takes.

    Raises InputError for a folder that is no web or is damaged, and for an unknown site.
    """

    marker = "web.json"

    def __init__(
        self,
        path: str | Path,
        *,
        site: str | None = None,
        absent: bool = False,
        seconds: float = 0.0,
    ) -> None:
        self.path = Path(path)
        self._seconds = seconds
        with self._telling():
            header = _header(self.path)
            self._has_keywords = header["format"] >= KEYWORDS_SINCE
            self._tables: dict[str, list[Any]] = {name: header[name] for name in TABLES}
            self._tables["flags"] = [frozenset(flags) for flags in header["flags"]]
            self._rows: NDArray[np.void] = _array(self.path / "rows.npy")
            self._targets: NDArray[np.int32] = _array(self.path / "links.npy")
            self._label_ids: NDArray[np.int32] = _array(self.path / "labels.npy")
            self._words = _bytes(self.path / "words.bin")
            self._anchors = _bytes(self.path / "anchors.bin")
            self._extra = _bytes(self.path / "extra.bin")
            self._urls = _lines(self.path / "urls.txt")
            self._outside_count: int = header["outside"]
            self._check(header)
            self._pages: int = header["pages"]
            self._row_of = dict(zip(self._urls, range(len(self._urls)), strict=True))
            self._others: dict[str, int] | None = None
            self._label_sets: dict[bytes, frozenset[str]] = {}
            self._ends = self._redirects_end(header)
        self.site = site
        self._keep = self._scope(site, absent)
        inside = np.frombuffer(self._keep, dtype=np.uint8, count=self._pages)
        self._inside: NDArray[np.int64] = np.flatnonzero(inside)  # rows of the pages of the world
        if absent:
            self._urls = self._urls + self._outside()

    def _telling(self) -> AbstractContextManager[None]:
        """Within it, whatever goes wrong is due to the files, which may be a stranger's."""
        return taking_in(str(self.path), "it is damaged; import again")

    def _check(self, header: dict[str, Any]) -> None:
        """The files must fit one another: what does not is reported now, not in mid-crawl. O(rows
        and links)."""
        count = header["pages"] + header["redirects"] + header["failures"]
        names = [name for name in TABLES if name != "flags"]
        fits = (
            self._rows.dtype == ROW
            and self._rows.shape == (count,)
            and len(self._urls) == count
            and min(header["pages"], header["redirects"], header["failures"]) >= 0
            and 0 <= self._outside_count <= (self.path / "outside.txt").stat().st_size
            and len(self._targets) == header["links"]
            and len(self._words) == header["words"]
            and len(self._anchors) == header["anchors"]
            and len(self._extra) == header["extra"]
            and all(isinstance(text, str) for name in names for text in header[name])
            and all(url.count("/") >= 2 for url in self._urls)
            and self._places_fit(count)
        )
        if not fits:
            raise self._damaged()

    def _places_fit(self, count: int) -> bool:
        """Whether all that rows and links name is there."""
        rows, fits = self._rows, []
        for name in ("words", "anchors", "extra"):
            starts, sizes = rows[f"{name}_at"], rows[name].astype(np.int64)
            end = len(getattr(self, f"_{name}"))
            fits.append((starts >= 0) & (sizes >= 0) & (sizes <= end) & (starts <= end - sizes))
        for name, listed in (("links", self._targets), ("labels", self._label_ids)):
            sizes = rows[name].astype(np.int64)
            ends = np.cumsum(sizes)
            fits += [sizes >= 0, rows[f"{name}_at"] == ends - sizes]
            fits.append(np.array(listed.shape == (int(ends[-1]) if count else 0,)))
        for column in ("site", "type", "language", "encoding", "flags"):
            most = len(self._tables[column if column == "flags" else f"{column}s"])
            fits.append((rows[column] >= 0) & (rows[column] < most))
        for listed, most in (
            (self._targets, count + self._outside_count),
            (self._label_ids, len(self._tables["labels"])),
        ):
            fits.append((listed >= 0) & (listed < most))
        fits.append((rows["kind"] != REDIRECT) | (rows["links"] > 0))
        return all(bool(np.all(one)) for one in fits)

    def _redirects_end(self, header: dict[str, Any]) -> NDArray[np.int32]:
        """Number of a URL → row of the page that it leads to by way of redirects, or -1."""
        rows = len(self._urls)
        ends = np.full(rows + self._outside_count, -1, dtype=np.int32)
        ends[: self._pages] = np.arange(self._pages)
        starts = self._rows["links_at"]
        for row in range(self._pages, self._pages + header["redirects"]):
            end, hops = row, 0
            while self._pages <= end < rows and self._rows["kind"][end] == REDIRECT and hops < 20:
                end, hops = int(self._targets[starts[end]]), hops + 1
            if end < self._pages:
                ends[row] = end
        return ends

    def _scope(self, site: str | None, absent: bool) -> bytes:
        """For each number, whether links to it are part of the world."""
        rows = len(self._urls)
        keep = np.ones(rows + self._outside_count, dtype=np.uint8)
        redirect = self._rows["kind"] == REDIRECT
        inside = np.ones(self._pages, dtype=bool)
        if site is not None:
            inside = self._in_site(site)
            hosts = {self._host(row) for row in np.flatnonzero(inside).tolist()}
        keep[: self._pages] = inside
        if not absent:
            ends = self._ends[:rows]
            keep[:rows][redirect] = (ends[redirect] >= 0) & inside[ends[redirect]]
            keep[rows:] = 0
        elif site is not None:
            for number, url in enumerate(self._outside(), rows):
                keep[number] = _host(url) in hosts
        if site is not None:
            for row in np.flatnonzero(self._rows["kind"] == FAILURE).tolist():
                keep[row] = self._host(row) in hosts
        return keep.tobytes()

    def _host(self, row: int) -> str:
        return _host(self._urls[row])

    def _in_site(self, site: str) -> Mask:
        sites = self._tables["sites"]
        if site not in sites:
            known = ", ".join(sorted(name for name in sites if name)[:20]) or "none"
            raise InputError(f"{self.path}: no site {site!r}; there are: {known}")
        inside: Mask = self._rows["site"][: self._pages] == sites.index(site)
        return inside

    # -- the world

    def answer(self, fetch: Fetch) -> Reply:
        """The recorded reply. Another form of a recorded URL is redirected to it; what is not
        recorded fails as absent, with status 404."""
        ticket = fetch.ticket
        row = self._row_of.get(fetch.url)
        if row is None:
            row = self._other(fetch.url)
            if row is None or not self._keep[row]:
                return Failed(ticket, "absent", "not recorded", 404, seconds=self._seconds)
            return Redirected(ticket, self._urls[row], 301, self._seconds)
        if not self._keep[row]:
            return Failed(ticket, "absent", "not recorded", 404, seconds=self._seconds)
        record = self._rows[row].item()
        if row < self._pages:
            return Fetched(ticket, self._page(row, record), self._seconds, record[16])
        if record[18] == REDIRECT:
            location = self._any_url(int(self._targets[record[6]]))
            return Redirected(ticket, location, record[15], self._seconds)
        try:
            kind, reason = unpack_words(self._read(self._words, record[0], record[1]))
        except ValueError as error:
            raise self._damaged() from error
        return Failed(ticket, kind, reason, record[15], seconds=self._seconds)

    def _page(self, row: int, record: tuple[Any, ...] | None = None) -> Page:
        """The page of a row, its text and links as they were parsed."""
        if record is None:
            record = self._rows[row].item()
        words_offset, words, _, _, _, _, links_offset, links, labels_offset, labels, *rest = record
        site, media, language, encoding, flags, status, _, fetched_at, _, _ = rest
        try:
            title, description, canonical, *said = unpack_words(
                restored(self._words[words_offset : words_offset + words])
            )
            keywords, text, *headings = said if self._has_keywords else ("", *said)
        except ValueError as error:
            raise self._damaged() from error
        tables, table, keep = self._tables, self._urls, self._keep
        targets = self._targets[links_offset : links_offset + links].tolist()
        return Page(
            self._urls[row],
            status,
            tables["types"][media],
            title,
            tuple(headings),
            text,
            RecordedLinks(self, row, [table[target] for target in targets if keep[target]]),
            description,
            canonical or None,
            tables["languages"][language],
            tables["encodings"][encoding],
            tables["flags"][flags],
            self._labels(labels_offset, labels),
            tables["sites"][site],
            None if fetched_at != fetched_at else fetched_at,
            keywords=tuple(keywords.split("\n")) if keywords else (),
        )

    def _read(self, blob: mmap.mmap | bytes, offset: int, length: int) -> bytes:
        return restored(blob[offset : offset + length])

    def _labels(self, offset: int, count: int) -> frozenset[str]:
        numbers = self._label_ids[offset : offset + count]
        key = numbers.tobytes()
        labels = self._label_sets.get(key)
        if labels is None:
            names = self._tables["labels"]
            labels = self._label_sets[key] = frozenset([names[number] for number in numbers])
        return labels

    def _anchors_of(self, row: int) -> tuple[Anchors, Sequence[int]]:
        """The anchors of a page's links, and which of the links are part of the world."""
        record = self._rows[row]
        offset, count = int(record["anchors_at"]), int(record["links"])
        try:
            anchors = Anchors(self._read(self._anchors, offset, int(record["anchors"])), count)
        except ValueError as error:
            raise self._damaged() from error
        start, keep = int(record["links_at"]), self._keep
        targets = self._targets[start : start + count].tolist()
        places = [place for place, target in enumerate(targets) if keep[target]]
        return anchors, places

    def _absent_of(self, row: int) -> int:
        record = self._rows[row]
        start = int(record["links_at"])
        targets = self._targets[start : start + int(record["links"])]
        return int(np.count_nonzero(targets >= len(self._rows)))

    def _any_url(self, number: int) -> str:
        if number >= len(self._urls):
            self._urls = self._urls + self._outside()
        return self._urls[number]

    def _outside(self) -> list[str]:
        """The URLs that are linked and not recorded."""
        urls = _lines(self.path / "outside.txt")
        if len(urls) != self._outside_count or not all(url.count("/") >= 2 for url in urls):
            raise self._damaged()
        return urls

    def _damaged(self) -> InputError:
        return InputError(f"{self.path}: damaged (its files do not fit together); import again")

    def _other(self, url: str) -> int | None:
        """Row of the page that has this URL as another of its own."""
        if self._others is None:
            self._others = first_of_places(self._urls[: len(self._rows)])
            with self._telling():
                for line in _lines(self.path / "aliases.txt"):
                    alias, _, place = line.partition("\t")
                    self._others[alias] = range(len(self._rows))[int(place)]
        return self._others.get(url, self._others.get(place_of(url)))

    # -- looking

    def __len__(self) -> int:
        """Pages in the world."""
        return len(self._inside)

    def pages(self) -> Iterator[Page]:
        """Every page, in the order of recording."""
        return (self._page(row) for row in self._inside.tolist())

    def urls(self) -> list[str]:
        """URL of every page, in the order of recording."""
        return [self._urls[row] for row in self._inside.tolist()]

    def page(self, url: str) -> Page:
        """The page under this URL or another form of it, redirects followed. Raises InputError
        where none is recorded."""
        return self._page(self._find(url))

    def extra(self, url: str) -> dict[str, Any]:
        """Further fields of the source for this page. Raises InputError where none is recorded."""
        record = self._rows[self._find(url)]
        with self._telling():
            data = self._read(self._extra, int(record["extra_at"]), int(record["extra"]))
            extra: dict[str, Any] = json.loads(data) if data else {}
        return extra

    def _find(self, url: str) -> int:
        number = self._row_of.get(url)
        if number is None:
            number = self._other(url)
        row = -1 if number is None else int(self._ends[number])
        if row < 0 or not self._keep[row]:
            raise InputError(f"{self.path}: no page {url} is recorded")
        return row

    def sites(self) -> dict[str, int]:
        """Site → its pages, in the order of recording; nothing where none was recorded."""
        counts = np.bincount(self._rows["site"][self._inside])
        return {
            self._tables["sites"][number]: int(count)
            for number, count in enumerate(counts)
            if count and self._tables["sites"][number]
        }

    def counts(self) -> dict[str, Any]:
        """How much there is of everything."""
        rows = self._rows[self._inside]
        links = self._targets[_spans(rows["links_at"], rows["links"])]
        recorded = int(np.count_nonzero(self._ends[links] >= 0))
        return {
            "pages": len(rows),
            "documents": int(self.documents().sum()),
            "redirects": int((self._rows["kind"] == REDIRECT).sum()),
            "failures": int((self._rows["kind"] == FAILURE).sum()),
            "links": len(links),
            "links_to_recorded_pages": recorded,
            "resolved": recorded / max(1, len(links)),
            "absent": len(np.unique(links[links >= len(self._rows)])),
        }

    def documents(self) -> Mask:
        """Which pages of `graph` are documents: no HTML and no text, or none that was recorded."""
        flagged = [
            index for index, flags in enumerate(self._tables["flags"]) if "not-html" in flags
        ]
        return np.isin(self._rows["flags"][self._inside], flagged)

    def page_sites(self) -> NDArray[np.int64]:
        """Number of the site of each page of `graph`."""
        return self._rows["site"][self._inside].astype(np.int64)

    def labels(self, among: Mask | None = None) -> dict[str, int]:
        """Label → pages that carry it, the most frequent first; `among` masks the pages of
        `graph` to count."""
        rows = self._rows[self._inside if among is None else self._inside[among]]
        places = _spans(rows["labels_at"], rows["labels"])
        counts = np.bincount(self._label_ids[places]).tolist()
        order = sorted(range(len(counts)), key=lambda number: -counts[number])
        names = self._tables["labels"]
        return {names[number]: counts[number] for number in order if counts[number]}

    def roots(self) -> list[str]:
        """Where crawls of this world begin: the pages that the source calls roots; for a site (or
        a world without sites) that has none, the front page of the host with the most pages, or
        else, of the pages with links that most pages lead to (half of the most at least), the
        highest."""
        numbers = self._inside
        sites = self._rows["site"][numbers]
        marked = self._rows["root"][numbers]
        rows: list[int] = []
        for site in dict.fromkeys(sites.tolist()):
            mine = numbers[sites == site]
            roots = numbers[(sites == site) & marked].tolist()
            rows += roots or [self._likely_root(mine)]
        return [self._urls[row] for row in rows]

    def _likely_root(self, rows: NDArray[np.int64]) -> int:
        hosts = Counter(self._host(row) for row in rows.tolist())
        for scheme in ("https", "http"):
            front = f"{scheme}://{hosts.most_common(1)[0][0]}/"
            row = self._row_of.get(front, self._other(front))
            if row is not None and row in rows and self._rows["links"][row]:
                return row
        linked = self._linking_pages[rows]
        linked[self._rows["links"][rows] == 0] = 0
        # Many pages lead to each page of a menu; the front page is the highest of these.
        often = np.flatnonzero(2 * linked >= linked.max())
        _, _, best = min(
            (place_of(self._urls[rows[at]]).count("/"), -int(linked[at]), int(at)) for at in often
        )
        return int(rows[best])

    @cached_property
    def _linking_pages(self) -> NDArray[np.int64]:
        """How many pages of the world link to each page."""
        pages = np.zeros(self._pages, dtype=np.int64)
        pages[self._inside] = np.bincount(self.arcs()[1], minlength=len(self._inside))
        return pages

    # -- the graph

    def _relevant(self, judge: Judge) -> Mask:
        """Which pages of `graph` this judge calls relevant."""
        return target_pages(judge, self.pages(), len(self), self._labelled)

    def _labelled(self, label: str) -> Mask:
        """Which pages of `graph` carry a label."""
        names = self._tables["labels"]
        rows = self._rows[self._inside]
        number = names.index(label) if label in names else -1
        mask = np.zeros(len(rows), dtype=bool)
        places = _spans(rows["labels_at"], rows["labels"])
        of = np.repeat(np.arange(len(rows)), rows["labels"])
        mask[of[self._label_ids[places] == number]] = True
        return mask

    def graph(self, targets: Judge | Mask | None = None) -> WebGraph:
        """The pages of the world and their links among themselves, each target of a page once and
        in page order, redirects followed, links to oneself left out.

        `targets` is a judge, or a mask over `urls()`; None means no targets. O(links log links).
        """
        numbers = self._inside
        mask = np.zeros(len(numbers), dtype=bool)
        if isinstance(targets, np.ndarray):
            mask = targets.astype(bool)
        elif targets is not None:
            mask = self._relevant(targets)
        indptr, indices = self.arcs()
        return WebGraph(self.urls(), indptr, indices, mask)

    def arcs(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The graph's compressed sparse rows alone."""
        numbers = self._inside
        place = np.full(self._pages + 1, -1, dtype=np.int64)
        place[numbers] = np.arange(len(numbers))
        counts = self._rows["links"][: self._pages]
        source = place[np.repeat(np.arange(self._pages), counts)]
        target = place[self._ends[self._targets[: int(counts.sum())]]]
        good = (source >= 0) & (target >= 0) & (source != target)
        key = source[good] * len(numbers) + target[good]
        first = np.sort(np.unique(key, return_index=True)[1])
        return compressed(source[good][first], target[good][first], len(numbers))


# ---------------------------------------------------------------- reading the folder


def _spans(starts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """All places of some spans, one after the other."""
    lengths = counts.astype(np.int64)
    shift: NDArray[np.int64] = np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
    return np.arange(len(shift)) + shift


def _header(path: Path) -> dict[str, Any]:
    file = path / RecordedWorld.marker
    if not file.exists():
        raise InputError(
            f"{path}: no recorded web (there is no web.json); `spoor web import SRC... {path}` "
            "makes one"
        )
    try:
        header: dict[str, Any] = read_json(file)
        number = header["format"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{file}: damaged; import again") from error
    if number not in READABLE:
        known = " and ".join(map(str, READABLE))
        raise InputError(f"{path}: format {number}; this Spoor reads {known}; import again")
    return header


def _array(file: Path) -> NDArray[Any]:
    try:
        array: NDArray[Any] = np.load(
            plain(file), mmap_mode="r" if file.stat().st_size > 4096 else None
        )
    except (OSError, *NO_ARRAYS) as error:
        raise InputError(f"{file}: damaged or missing; import again") from error
    return np.asarray(array)


def _bytes(file: Path) -> mmap.mmap | bytes:
    try:
        with plain(file).open("rb") as opened:
            if not file.stat().st_size:
                return b""
            return mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise InputError(f"{file}: damaged or missing; import again") from error


def _lines(file: Path) -> list[str]:
    try:
        return plain(file).read_text("utf-8").split("\n")[:-1]
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: damaged or missing; import again") from error


def _host(url: str) -> str:
    return url.split("/", 3)[2]
