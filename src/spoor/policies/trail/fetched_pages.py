"""The rows of fetched pages, for later credit, in arrays."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from spoor.policies.trail.columns import COLUMNS, DENSE
from spoor.policies.trail.rows import doubled
from spoor.types import LinkId, State

Slots = NDArray[np.int32]
Floats = NDArray[np.float32]


class FetchedPages:
    """Rows and worth of the `limit` latest fetched pages, in the order of their coming: 290 bytes a
    row and 120 a page. A checkpoint takes the arrays as they are, so that most of them is the same
    the next time."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.clear()

    def clear(self) -> None:
        """Forget all."""
        self._number: dict[LinkId, int] = {}
        """Link → how many pages came before it."""
        self._gone = 0
        """Pages that stand in the arrays no more."""
        self._links, self._worth = array("q"), array("d")
        self._ends = array("q", [0])
        """Where the rows of each page end, after where those of the first begin."""
        self._slots: Slots = np.zeros((64, COLUMNS), np.int32)
        self._dense: Floats = np.zeros((64, len(DENSE)), np.float32)

    def __len__(self) -> int:
        return len(self._number)

    def __contains__(self, link: LinkId) -> bool:
        return link in self._number

    def __iter__(self) -> Iterator[LinkId]:
        return iter(self._number)

    def put(self, link: LinkId, slots: Slots, dense: Floats, worth: float) -> None:
        """Keep the rows of a page, which comes once: of one that is kept nothing changes. O(rows),
        now and then O(all)."""
        if link in self._number:
            return
        begin = self._ends[-1]
        end = begin + len(slots)
        while end > len(self._slots):
            self._slots, self._dense = doubled(self._slots), doubled(self._dense)
        self._slots[begin:end], self._dense[begin:end] = slots, dense
        self._number[link] = self._gone + len(self._links)
        self._links.append(link)
        self._worth.append(worth)
        self._ends.append(end)
        if len(self._number) > self._limit:
            del self._number[next(iter(self._number))]
            if 4 * (len(self._links) - self._limit) > self._limit:
                self._take(len(self._links) - self._limit)

    def _take(self, gone: int) -> None:
        """Give up the room of the first pages. The arrays are new: a state has the old ones."""
        begin = self._ends[gone]
        self._slots, self._dense = self._slots[begin:].copy(), self._dense[begin:].copy()
        del self._links[:gone], self._worth[:gone], self._ends[:gone]
        self._ends = array("q", (np.array(self._ends) - begin).tobytes())
        self._gone += gone

    def rows(self, link: LinkId) -> tuple[Slots, Floats]:
        """The rows of a page that is kept."""
        at = self._number[link] - self._gone
        here = slice(self._ends[at], self._ends[at + 1])
        return self._slots[here], self._dense[here]

    def worth(self, link: LinkId) -> float | None:
        """What a page is worth; None for one that is not kept."""
        number = self._number.get(link)
        return None if number is None else self._worth[number - self._gone]

    def set_worth(self, link: LinkId, worth: float) -> None:
        """Say what a page that is kept is worth."""
        self._worth[self._number[link] - self._gone] = worth

    def save(self) -> State:
        end = self._ends[-1]
        return {
            "gone": len(self._links) - len(self._number),
            "links": np.array(self._links, np.int64),
            "worth": np.array(self._worth, np.float64),
            "slots": self._slots[:end].ravel(),
            "dense": self._dense[:end].ravel(),
            "counts": np.diff(np.array(self._ends)).astype(np.int32),
        }

    def load(self, state: State) -> None:
        """Go on from a state of `save`."""
        self.clear()
        links, ends = state["links"].tolist(), np.append(0, state["counts"].cumsum())
        slots, dense = state["slots"].reshape(-1, COLUMNS), state["dense"].reshape(-1, len(DENSE))
        if not len(links) == len(state["worth"]) == len(ends) - 1 or (ends[1:] < ends[:-1]).any():
            raise ValueError("columns of fetched pages are of several lengths")
        if not len(slots) == len(dense) == ends[-1]:
            raise ValueError("fetched pages have other rows than are there")
        gone = int(state["gone"])
        self._number = {link: number for number, link in enumerate(links) if number >= gone}
        if not 0 <= gone <= len(links) or len(self._number) < len(links) - gone:
            raise ValueError("two fetched pages have one link")
        self._links = array("q", links)
        self._worth = array("d", state["worth"].tolist())
        self._ends = array("q", ends.astype(np.int64).tobytes())
        if len(slots):
            self._slots, self._dense = slots.astype(np.int32), dense.astype(np.float32)
