"""Vectors of kept pages by tf-idf, alone and as the rows of a sparse matrix."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from spoor.judges.relevance.frequencies import Floats, Frequencies
from spoor.judges.relevance.kept_pages import KeptPage

LINKS = 0.5
"""Weight of the links of a page; its terms have 1."""
PLACES = 0.4
"""Weight of the place of a page …"""
PLACES_DOUBT = 60.0
"""… of which one that comes after so many pages has half: of its neighbours few are known."""
STRETCH = 2.0
"""Weights of what the likely pages alone have count so many times as much at most, for pages that
come: the others on them are not stretched."""


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
