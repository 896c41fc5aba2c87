"""Pseudo-relevance feedback: what the surest pages have in common.

A page is kept as a short vector: its rarest terms and links, and its place: the folders of its URL
and the words of its name. From the surest pages a centroid is made (Rocchio 1971, with tf-idf
weights, each of them left out when it is judged itself); pages are ranked by it and by the words of
the wish; then again from the new surest pages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count, filterfalse, islice
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from spoor.hashing import hash64, url_hash64
from spoor.judges.repeated import TEXTS, InText
from spoor.judges.repeated import as_arrays as texts_as_arrays
from spoor.judges.repeated import from_arrays as texts_from_arrays
from spoor.types import State
from spoor.web.urls import registrable_domain

Floats = NDArray[np.float64]

EVIDENCE = 0.3
"""Weight of the evidence beside likeness to the surest pages, which has 1."""
MOST_TERMS = 160
"""Terms of a page that are kept."""
MOST_LINKS = 32
"""Links of a page that are kept."""
LINKS = 0.5
"""Weight of the links of a page; its terms have 1."""
PLACES = 0.4
"""Weight of the place of a page …"""
PLACES_DOUBT = 60.0
"""… of which one that comes after so many pages has half: of its neighbours few are known."""
STRETCH = 2.0
"""Weights of what the likely pages alone have count so many times as much at most, for pages that
come: the others on them are not stretched."""
KEPT = 3_000
"""Pages that are kept at most: the best, and the rest as a uniform sample."""
BEST = 0.99
"""Least score of the best pages: their order is for people, and changes little for a crawl."""
VOCABULARY = 150_000
"""Terms, links and parts of places whose number of pages is known at most."""


class Slots(dict[int, int]):
    """Number of a term, link or part of a place → where its count stands."""

    def __missing__(self, number: int) -> int:
        slot = self[number] = len(self)
        return slot

    def of(self, numbers: Iterable[int]) -> list[int]:
        """That of each; in half of the time where many are new."""
        numbers = [*numbers]
        new = dict.fromkeys(filterfalse(self.__contains__, numbers))
        if new:
            self.update(zip(new, count(len(self)), strict=False))
        return [*map(self.__getitem__, numbers)]


class Frequencies:
    """How many pages have each term or link (by its number), with a bounded memory."""

    def __init__(self) -> None:
        self.pages = 0
        self.slots = Slots()
        """Of each number; a page is counted by them (`add`). They change where `forgot` does."""
        self.forgot = 0
        """How often rare ones were forgotten."""
        self._counts = np.zeros(1, np.int64)
        """Of each slot; the last belongs to none."""
        self._numbers = np.zeros(1, np.uint32)
        self._known = 0
        """Slots that a page was counted with."""
        self._numbered = 0
        """Slots whose numbers stand in the array."""
        self._unordered()

    def add(self, slots: NDArray[np.int64]) -> tuple[Floats, NDArray[np.uint32]]:
        """Count one page, by the slots of what it has: how many pages have each now, and its
        number."""
        self.pages += 1
        size = len(self.slots)
        if size >= len(self._counts):
            more = np.zeros(2 * size + 1 - len(self._counts), np.int64)
            self._counts = np.concatenate([self._counts, more])
            self._numbers = np.concatenate([self._numbers, more.astype(np.uint32)])
        if new := size - self._numbered:
            self._numbers[self._numbered : size] = [*islice(reversed(self.slots), new)][::-1]
            self._numbered = size
        found = self._counts.take(slots)
        found += 1
        numbers = self._numbers.take(slots)
        self._counts[slots] = found
        self._known += int(np.count_nonzero(found == 1))
        if self._known > VOCABULARY or size > 4 * VOCABULARY:
            self._forget()
        return found.astype(np.float64), numbers

    def _forget(self) -> None:
        """Forget what no page has, and, where there is too much, what few have."""
        numbers, rare = self._numbers[: len(self.slots)], 0
        counts = self._counts[: len(numbers)]
        kept = counts > 0
        if self._known > VOCABULARY:
            while np.count_nonzero(kept) > 0.6 * VOCABULARY:
                rare += 1
                kept = counts > rare
        self._take(numbers[kept], counts[kept])
        self.forgot += 1

    def _take(self, numbers: NDArray[np.uint32], counts: NDArray[np.int64]) -> None:
        self.slots.clear()
        self.slots.update(zip(numbers.tolist(), range(len(numbers)), strict=True))
        self._counts = np.append(counts.astype(np.int64), 0)
        self._numbers = np.append(numbers.astype(np.uint32), np.uint32(0))
        self._known = self._numbered = len(numbers)
        self._unordered()

    def _unordered(self) -> None:
        self._ordered = np.zeros(0, np.uint32)
        """Numbers in order, of which a feedback needs some thousand at once …"""
        self._slot = np.zeros(0, np.int32)
        """… and their slots."""

    def of(self, ids: NDArray[np.uint32]) -> Floats:
        """How many pages have each of these; 1 where that is not known."""
        if len(self._ordered) < self._numbered:
            self._order()
        if not len(self._ordered):
            return np.ones(len(ids))
        place = self._ordered.searchsorted(ids)
        known = self._ordered.take(place, mode="clip") == ids
        counts = self._counts[self._slot.take(place, mode="clip")]
        return np.where(known, np.maximum(counts, 1), 1).astype(np.float64)

    def _order(self) -> None:
        """Put the new numbers among those in order: one is looked for in a fifth of the time that a
        dictionary of so many takes."""
        first = len(self._ordered)
        new = self._numbers[first : self._numbered]
        order = np.argsort(new, kind="stable")
        places = self._ordered.searchsorted(new[order]) + np.arange(len(new))
        old = np.ones(self._numbered, np.bool_)
        old[places] = False
        ordered, slot = np.empty(self._numbered, np.uint32), np.empty(self._numbered, np.int32)
        ordered[places], slot[places] = new[order], first + order
        ordered[old], slot[old] = self._ordered, self._slot
        self._ordered, self._slot = ordered, slot

    def idf(self, counts: Floats, *, alone: bool = False) -> Floats:
        """ln((1 + pages) / (1 + pages with it)) of what so many pages have; 0 for what only one
        page has, unless `alone`."""
        weights = np.log((1 + self.pages) / (1 + counts))
        return np.maximum(weights, 0.0) if alone else np.where(counts < 2, 0.0, weights)

    def idf_of_rest(
        self, ids: NDArray[np.uint32], without: NDArray[Any], pages: float
    ) -> tuple[Floats, Floats]:
        """The same of all pages, and of those that are left: `without` is how many of the pages
        with each do not count, of so many `pages` that do not."""
        found = self.of(ids)
        rest = np.maximum(found - without, 0.0)
        weights = np.log((1 + max(0.0, self.pages - pages)) / (1 + rest))
        return self.idf(found), np.where(found < 2, 0.0, np.maximum(weights, 0.0))

    def save(self) -> State:
        numbers = np.fromiter(self.slots, np.uint32, len(self.slots))
        counts = self._counts[: len(numbers)]
        counted = np.flatnonzero(counts)
        counted = counted[np.argsort(numbers[counted], kind="stable")]
        return {
            "pages": self.pages,
            "ids": numbers[counted],
            "counts": counts[counted].astype(np.uint32),
        }

    def load(self, state: State) -> None:
        self.pages = int(state["pages"])
        self._take(state["ids"], state["counts"])
        self.forgot += 1


def number_of_url(url: str) -> int:
    """The number of a link, and of the page that it leads to, in [0, 2^63): by it pages speak for
    one another, so that no stranger may find a URL with the number of another."""
    return hash64(url) >> 1


def site_of(url: str) -> int:
    """The number of a page's site, which is its registrable domain."""
    return _site(url.partition("://")[2].partition("/")[0])


@lru_cache(maxsize=65_536)
def _site(host: str) -> int:
    return hash64(registrable_domain(host))


def numbers_of_links(urls: Sequence[str]) -> list[int]:
    """`number_of_url` of each link of a page."""
    return [number >> 1 for number in map(url_hash64, urls)]


def as_id(number: int) -> int:
    """The 32 bits of a number of a link or place by which it is a column of the model."""
    return number & 0xFFFFFFFF


def as_ids(numbers: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """The same of each."""
    return (numbers & np.uint64(0xFFFFFFFF)).astype(np.uint32)


@dataclass(slots=True)
class KeptPage:
    """One page as it is kept."""

    url: str
    ids: NDArray[np.uint32]
    """Terms, then links, then parts of its place."""
    often: NDArray[np.uint8]
    terms: int
    """How many of the ids are terms."""
    evidence: Floats
    """What its words say: (leaves, 2), with what is only like them and without."""
    near: float = 0.0
    """How near to one another the words of the wish stand, in [0, 1]."""
    tongue: float = 1.0
    """Probability that it is in a language that is wanted."""
    label: int = 0
    """1 if a person or the examples say that it is wanted, −1 if not."""
    told: tuple[float, bool] = (0.0, False)
    """Score and relevance as last told."""
    rank: float = 0.0
    """Its value when it was last judged, by which pages are kept."""
    places: int = 0
    """How many of the ids are parts of its place."""
    links: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64))
    """The whole numbers of the ids that are links."""
    together: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    """Of each part of the wish that names several words or alternatives: whether they stand
    together in its title, its URL or an anchor to it."""
    named: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    """Of each leaf of the wish, whether it stands in its title, its URL or an anchor to it."""
    content: int = 0
    """64 bits of its title and text, the same for copies; 0 for a page without words."""
    number: int = -1
    """`number_of_url` of it, and …"""
    site: int = -1
    """… `site_of` it; found by itself where it is not given."""
    script: int = 0
    """Which kind of script most of its text is in."""
    in_text: InText | None = None
    """What it says by its text, until its site is known."""
    is_early: bool = False
    """Whether it may have terms and links of a menu that was not known yet."""

    def __post_init__(self) -> None:
        if self.number < 0:
            self.number, self.site = number_of_url(self.url), site_of(self.url)


def without(page: KeptPage, ids: NDArray[np.uint32]) -> None:
    """Take these terms and links from a page."""
    is_own = np.isin(page.ids, ids, invert=True)
    is_own[len(page.ids) - page.places :] = True
    page.links = page.links[is_own[page.terms : len(page.ids) - page.places]]
    page.terms = int(is_own[: page.terms].sum())
    page.ids, page.often = page.ids[is_own], page.often[is_own]


def copies(pages: Sequence[KeptPage]) -> tuple[NDArray[np.bool_], Floats]:
    """Of pages with labels first, whether each is the first with its title and text, and which
    share of these it is: one page under many URLs counts as one."""
    contents = np.array([page.content for page in pages], np.uint64)
    order = np.argsort([page.label == 0 for page in pages], kind="stable")
    _, at, inverse, counts = np.unique(
        contents[order], return_index=True, return_inverse=True, return_counts=True
    )
    first, shares = contents == 0, np.ones(len(pages))
    first[order[at]] = True
    shares[order] = 1.0 / counts[inverse]
    shares[contents == 0] = 1.0
    return first, shares


@dataclass(frozen=True, slots=True)
class Topic:
    """What the surest pages of a topic have in common."""

    weights: Mapping[int, float]
    """Term or link → weight."""
    scale: float
    """What the surest pages reach, each left out of the centroid in its turn."""
    name: str = ""
    """As typed, of one of several."""


NOTHING = Topic({}, 1.0)
"""Where no page is sure."""


@dataclass(slots=True)
class Model:
    """What was learned from the surest pages."""

    topics: Sequence[Topic] = (NOTHING,)
    """Of a wish that names several, each; else one."""
    cut: float = 0.0
    """Least value of a relevant page …"""
    cut_of_new: float = 0.0
    """… and of one that comes."""
    top: float = 1.0
    """Value of the best pages."""
    best_words: float = 0.0
    """The most that the words of the wish reached on a page."""
    again: float = 0.0
    """Weight of what the words say, beside likeness and the rest."""
    best_evidence: float = 0.0
    """The same with what the pages say that it is linked with."""
    seed_words: float = 0.0
    """What they reached on the least of the surest pages, with the linked ones."""
    sure: float = 0.0
    """Pages that were sure by their words, or by a person, before any likeness."""
    evidence_weight: float = 0.0
    """Weight of what a page says, and the pages that it is linked with, in its value."""
    pages: int = 0
    """Pages seen when it was made; 0: there is none."""
    many_sites: bool = False
    """Whether these are of many sites, …"""
    frames: Mapping[int, float] = field(default_factory=dict)
    """… of each site what its pages say as a rule, …"""
    mention: Floats | None = None
    """… what each word of the wish counts where no title, URL or anchor has it, …"""
    read: frozenset[int] = frozenset()
    """… and sites of which enough pages were read to know their frames."""

    def save(self) -> State:
        numbers = [
            *(self.topics[0].scale, self.cut, self.cut_of_new, self.top),
            *(self.best_words, self.again, self.best_evidence, self.seed_words, self.sure),
            self.evidence_weight,
        ]
        ids = [number for topic in self.topics for number in topic.weights]
        weights = [weight for topic in self.topics for weight in topic.weights.values()]
        state: dict[str, Any] = {
            "ids": np.array(ids, np.uint32),
            "weights": np.array(weights, np.float64),
            "numbers": np.array(numbers),
            "pages": self.pages,
        }
        if self.many_sites:
            state["sites"] = np.array([*self.frames], np.uint64)
            state["frames"] = np.array([*self.frames.values()], np.float64)
            if self.mention is not None:
                state["mention"] = self.mention.copy()
                state["read"] = np.array(sorted(self.read), np.uint64)
        if len(self.topics) > 1:
            state["sizes"] = np.array([len(topic.weights) for topic in self.topics], np.uint32)
            state["scales"] = np.array([topic.scale for topic in self.topics])
            state["names"] = [topic.name for topic in self.topics]
        return state

    @classmethod
    def load(cls, state: State) -> Model:
        pairs = iter(zip(state["ids"].tolist(), state["weights"].tolist(), strict=True))
        numbers = state["numbers"].tolist()
        if len(numbers) < 10:  # a version before this had one weight for all crawls
            numbers.append(EVIDENCE / numbers[6] if numbers[6] else 0.0)
        scale, cut, new, top, best, again, evidence, seed, sure, weight = numbers
        sizes, scales = [len(state["ids"])], [scale]
        if "sizes" in state:
            sizes, scales = state["sizes"].tolist(), state["scales"].tolist()
        names = state.get("names", [""] * len(sizes))  # a version before this had none
        topics = [
            Topic(dict(islice(pairs, size)), its, str(name))
            for size, its, name in zip(sizes, scales, names, strict=True)
        ]
        pages, frames = int(state["pages"]), {}
        if many_sites := "frames" in state:
            frames = dict(zip(state["sites"].tolist(), state["frames"].tolist(), strict=True))
        return cls(
            *(topics, cut, new, top, best, again, evidence, seed, sure, weight, pages),
            many_sites,
            frames,
            state.get("mention"),  # a version before this had none
            frozenset(state["read"].tolist() if "read" in state else ()),
        )


def vector(page: KeptPage, frequencies: Frequencies, counts: Floats) -> Floats:
    """Weight of each id of a page that comes: tf-idf, terms, links and place each of length 1
    before their weights. `counts`: how many pages have each."""
    weights = SHORT_LOGS.take(page.often) * frequencies.idf(counts)
    squares = weights * weights
    place = PLACES * frequencies.pages / (frequencies.pages + PLACES_DOUBT)
    begin = 0
    for end, share in (
        (page.terms, 1.0),
        (len(page.ids) - page.places, LINKS),
        (len(page.ids), place),
    ):
        if norm := math.sqrt(np.add.reduce(squares[begin:end])):
            weights[begin:end] *= share / norm
        begin = end
    return weights


@dataclass(frozen=True, slots=True)
class TermMatrix:
    """Vectors of pages as the rows of a sparse matrix, one after the other."""

    ends: NDArray[np.int64]
    """Where the entries of each row end, after a 0."""
    column: NDArray[np.int32]
    """Of each entry."""
    weight: Floats
    ids: NDArray[np.uint32]
    """The term or link of each column."""
    stretch: Floats
    """Of each column: how much more it weighs than for a page that comes (see `vector`)."""

    @property
    def pages(self) -> int:
        return len(self.ends) - 1

    def parts(self) -> Iterator[tuple[slice, slice]]:
        """Some rows at a time, so that what is computed of their entries is small: these rows, and
        their entries."""
        for first in range(0, self.pages, _ROWS):
            rows = slice(first, min(first + _ROWS, self.pages))
            yield rows, slice(self.ends[rows.start], self.ends[rows.stop])

    def _sizes(self, rows: slice) -> NDArray[np.int64]:
        return np.diff(self.ends[rows.start : rows.stop + 1])

    def sum_of_rows(self, shares: Floats) -> Floats:
        """Of each column, over all rows: weight times the row's share, (pages,)."""
        total = np.zeros(len(self.ids))
        for rows, part in self.parts():
            its = np.repeat(shares[rows], self._sizes(rows))
            np.add.at(total, self.column[part], self.weight[part] * its)
        return total

    def times(self, weights: Floats) -> Floats:
        """The product with a vector of columns: a number for each page."""
        return self._row_sums(lambda part: self.weight[part] * weights.take(self.column[part]))

    def squares(self, chosen: NDArray[np.bool_]) -> Floats:
        """Of each page the sum of the squares of its weights in chosen columns."""
        return self._row_sums(lambda part: self.weight[part] ** 2 * chosen.take(self.column[part]))

    def _row_sums(self, values: Callable[[slice], Floats]) -> Floats:
        sums = np.zeros(self.pages)
        for rows, part in self.parts():
            row = np.repeat(np.arange(rows.stop - rows.start), self._sizes(rows))
            sums[rows] = np.bincount(row, values(part), rows.stop - rows.start)
        return sums

    def often(self) -> NDArray[np.int64]:
        """How many of the pages have a weight in each column."""
        return np.bincount(self.column[self.weight > 0], minlength=len(self.ids))

    def those(self, pages: Sequence[int]) -> TermMatrix:
        """Some of the rows, of the same columns."""
        parts = [slice(self.ends[page], self.ends[page + 1]) for page in pages]
        return TermMatrix(
            np.cumsum([0, *(part.stop - part.start for part in parts)]),
            np.concatenate([self.column[part] for part in parts]),
            np.concatenate([self.weight[part] for part in parts]),
            self.ids,
            self.stretch,
        )


def matrix(pages: Sequence[KeptPage], frequencies: Frequencies, wanted: Floats) -> TermMatrix:
    """The vectors of pages as rows. O(entries). `wanted`: how probably each is wanted; what is
    frequent among these alone is no commonplace of the site."""
    sizes = [len(page.ids) for page in pages]
    ids, column = numbered(np.concatenate([np.zeros(0, np.uint32), *(page.ids for page in pages)]))
    ends = np.cumsum([0, *sizes])
    without = np.bincount(column, np.repeat(wanted, sizes), len(ids))
    of_all, idf = frequencies.idf_of_rest(ids, without, float(wanted.sum()))
    stretch = np.minimum(np.divide(idf, of_all, out=np.ones(len(ids)), where=of_all > 0), STRETCH)
    made = TermMatrix(ends, column, np.empty(len(column)), ids, stretch)
    for rows, part in made.parts():
        some = pages[rows]
        often = np.concatenate([page.often for page in some])
        weights = _LOGS.take(often) * idf.take(column[part])
        # Terms, links and parts of its place, of each page.
        blocks = [
            size
            for page in some
            for size in (page.terms, len(page.ids) - page.terms - page.places, page.places)
        ]
        block = np.repeat(np.arange(len(blocks)), blocks)
        norms = np.sqrt(np.bincount(block, weights**2, minlength=len(blocks)))
        norms[norms == 0] = 1.0
        made.weight[part] = weights * (np.tile(_BLOCKS, len(some)) / norms).take(block)
    return made


_ROWS = 256
_BLOCKS = np.array([1.0, LINKS, PLACES])
_COUNTS = np.maximum(np.arange(256), 1)
_LOGS: Floats = 1.0 + np.log(_COUNTS)
"""Of how often a term stands on a page: 1 + its logarithm."""
SHORT_LOGS = 1.0 + np.log(_COUNTS.astype(np.uint8))
"""The same in 16 bits, as NumPy has it for bytes: where a page comes alone."""


Number = TypeVar("Number", np.uint32, np.uint64)


def numbered(ids: NDArray[Number]) -> tuple[NDArray[Number], NDArray[np.int32]]:
    """The different ones in order, and the place of each among them: as `numpy.unique`. What a
    judge takes at most is taken here, so nothing is kept longer than it is needed."""
    ordered, order = _in_order(ids)
    first = np.ones(len(ids), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    different = ordered[first]
    del ordered
    number = np.cumsum(first, dtype=np.int32)
    number -= 1
    place = np.empty(len(ids), np.int32)
    place[order] = number
    return different, place


def _in_order(ids: NDArray[Number]) -> tuple[NDArray[Number], NDArray[np.int32]]:
    """Numbers in order, and where each of them stood. Those of 32 bits are sorted together with
    their places, which NumPy does by vectors on any machine that has them; others 16 bits at a
    time, in O(n)."""
    if ids.itemsize == 4:
        both = ids.astype(np.uint64)
        both <<= np.uint64(32)
        both += np.arange(len(ids), dtype=np.uint32)
        both.sort()
        order = both.astype(np.uint32).view(np.int32)
        both >>= np.uint64(32)
        return both.astype(ids.dtype), order
    order = np.argsort(ids.astype(np.uint16), kind="stable").astype(np.int32)
    for begin in range(16, 8 * ids.itemsize, 16):
        bits = (ids >> ids.dtype.type(begin)).astype(np.uint16).take(order)
        order = order.take(np.argsort(bits, kind="stable"))
        del bits
    return ids.take(order), order


class Among:
    """The scores of the best pages beside one another, once all are known: those whose value is
    the mean of the ten best or more. Else all of them would have 1, and the whole manual and the
    list of its pages, which a crawl sees first, would lead."""

    def __init__(self, values: Sequence[float], words: Sequence[float]) -> None:
        self._most = max(values, default=0.0) or 1.0
        self._best = float(max(words, default=0.0)) or 1.0

    def score(self, value: float, words: float) -> float:
        """Of one of the best, by its value and, as much, by what it says itself."""
        said = 0.5 * (min(1.0, value / self._most) + words / self._best)
        return round(BEST + (1.0 - BEST) * said, 4)


def as_arrays(pages: Sequence[KeptPage], leaves: int) -> Mapping[str, Any]:
    """Kept pages as JSON values and arrays, to save them."""
    in_text = [page.in_text for page in pages]
    return {
        "urls": [page.url for page in pages],
        "sizes": np.array([len(page.ids) for page in pages], np.uint32),
        "terms": np.array([page.terms for page in pages], np.uint32),
        "ids": np.concatenate([np.zeros(0, np.uint32), *(page.ids for page in pages)]),
        "links": np.concatenate([np.zeros(0, np.uint64), *(page.links for page in pages)]),
        "often": np.concatenate([np.zeros(0, np.uint8), *(page.often for page in pages)]),
        "evidence": np.array([page.evidence for page in pages], float).reshape(
            len(pages), leaves, 2
        ),
        "numbers": np.array(
            [(page.near, page.tongue, page.told[0], page.rank) for page in pages], float
        ).reshape(-1, 4),
        "labels": np.array([page.label for page in pages], np.int8),
        "relevant": np.array([page.told[1] for page in pages], np.uint8),
        "places": np.array([page.places for page in pages], np.uint16),
        "together": np.array([page.together for page in pages], np.uint8),
        "named": np.array([page.named for page in pages], np.uint8),
        "contents": np.array([page.content for page in pages], np.uint64),
        "scripts": np.array([page.script for page in pages], np.uint8),
        "early": np.array([page.is_early for page in pages], np.uint8),
        **{f"text_{name}": its for name, its in texts_as_arrays(in_text, leaves).items()},
    }


def from_arrays(state: State) -> list[KeptPage]:
    """The pages that `as_arrays` saved."""
    ends = np.cumsum(state["sizes"].astype(int)).tolist()
    links = state["sizes"].astype(int) - state["terms"] - state["places"]
    links_end = np.cumsum(links).tolist()
    contents, scripts = state.get("contents"), state.get("scripts")  # versions before had none
    named = state.get("named", np.ones(state["evidence"].shape[:2]))  # nor that
    early = state.get("early", np.zeros(len(state["urls"])))
    texts: Mapping[int, InText] = {}
    if "text_of" in state:  # nor these
        texts = texts_from_arrays(
            {name: state[f"text_{name}"] for name in TEXTS}, len(state["urls"])
        )
        if state["text_misses"].shape[1] != state["evidence"].shape[1]:
            raise ValueError("texts of another wish")
    pages = []
    for at, url in enumerate(state["urls"]):
        part = slice(ends[at - 1] if at else 0, ends[at])
        near, tongue, score, rank = state["numbers"][at].tolist()
        pages.append(
            KeptPage(
                url,
                state["ids"][part].copy(),
                state["often"][part].copy(),
                int(state["terms"][at]),
                state["evidence"][at].copy(),
                near,
                tongue,
                int(state["labels"][at]),
                (score, bool(state["relevant"][at])),
                rank,
                int(state["places"][at]),
                state["links"][links_end[at] - links[at] : links_end[at]].copy(),
                state["together"][at].astype(np.bool_),
                named[at].astype(np.bool_),
                0 if contents is None else int(contents[at]),
                script=0 if scripts is None else int(scripts[at]),
                in_text=texts.get(at),
                is_early=bool(early[at]),
            )
        )
    return pages
