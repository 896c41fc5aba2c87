"""The links of pages as places in arrays: most links of a page are on the page before, too, so that
one look-up by its URL finds all that is known of one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spoor.judges.relevance.frequencies import Slots
from spoor.judges.relevance.url_numbers import as_id, numbers_of_links

Numbers = NDArray[np.int64]

MOST = 16_384
"""Links that are known at most between two pages."""


class LinkNumbers(dict[str, int]):
    """URL → where its number and its slot stand in arrays."""

    def __init__(self, slots: Slots) -> None:
        super().__init__()
        self._slots = slots
        self._new: list[str] = []
        """Without a number yet."""
        self.forget()

    def forget(self) -> None:
        """Forget all."""
        self.clear()
        self._number = np.zeros(0, np.int64)
        """Of each, its `number_of_url` …"""
        self._slot = np.zeros(0, np.int64)
        """… and the slot by which pages with it are counted."""
        self._first = np.zeros(0, np.int64)

    def trim(self) -> None:
        """Between two pages: forget all links where there are too many."""
        if len(self) > MOST:
            self.forget()

    def __missing__(self, url: str) -> int:
        self._new.append(url)
        place = self[url] = len(self)
        return place

    def of(self, urls: Sequence[str]) -> tuple[Numbers, Numbers, Numbers]:
        """The numbers and the slots of links, and which of them are the first to their URL.
        O(links)."""
        places = np.fromiter(map(self.__getitem__, urls), np.int64, len(urls))
        if self._new:
            self._add()
        at, first = np.arange(len(urls)), self._first
        first[places[::-1]] = at[::-1]  # the last one that is written stays
        once = (first.take(places) == at).nonzero()[0]
        return self._number.take(places), self._slot.take(places), once

    def _add(self) -> None:
        """Find the numbers of the new ones: on most pages two or three."""
        new, self._new = self._new, []
        if len(self) > len(self._number):
            more = np.zeros(2 * len(self) - len(self._number), np.int64)
            self._number, self._slot, self._first = (
                np.concatenate([its, more]) for its in (self._number, self._slot, self._first)
            )
        for place, number in enumerate(numbers_of_links(new), len(self) - len(new)):
            self._number[place] = number
            self._slot[place] = self._slots[as_id(number)]
