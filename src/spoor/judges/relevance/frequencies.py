"""How many pages of a crawl have each term, link or part of a place, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count, filterfalse, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spoor.types import State

Floats = NDArray[np.float64]

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
