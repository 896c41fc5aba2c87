"""What is left of documents that a watch looks at no more: 64 bits of each URL and of each content,
so that none is told as new again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spoor.durations import DAY
from spoor.types import State

MOST_REMEMBERED = 2_000_000
"""Keys that are kept, 11 bytes each; those that came longest ago leave."""


class Remembered(NamedTuple):
    """Of one key."""

    at: float
    """When it came, to the day, Unix seconds."""
    told: bool


class Memory:
    """A table of 64-bit keys, which is added to in slices once a day and asked all the time. A
    look-up takes 3 µs, adding O(keys): 10 ms where there are two million."""

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self._most = most
        self._keys: NDArray[np.uint64] = np.zeros(0, dtype=np.uint64)
        """In their order."""
        self._days: NDArray[np.uint16] = np.zeros(0, dtype=np.uint16)
        self._told: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)

    def __len__(self) -> int:
        return len(self._keys)

    def find(self, key: int) -> Remembered | None:
        """What is known of a key."""
        if not len(self._keys):
            return None
        wanted = np.uint64(key)
        index = int(np.searchsorted(self._keys, wanted))
        if index == len(self._keys) or self._keys[index] != wanted:
            return None
        return Remembered(float(self._days[index]) * DAY, bool(self._told[index]))

    def add(self, keys: Iterable[int], told: Iterable[bool], now: float) -> None:
        """Take in keys; one that is there already is renewed, and what was told stays told."""
        day = min(max(0, int(now // DAY)), 0xFFFF)
        # Of equal ones the last, which is told.
        added = dict(sorted(zip(keys, told, strict=True)))
        keys_, said = np.array(list(added), np.uint64), np.array(list(added.values()), np.bool_)
        at = np.searchsorted(self._keys, keys_)
        here = at < len(self._keys)
        here[here] = self._keys[at[here]] == keys_[here]
        self._days[at[here]] = np.maximum(self._days[at[here]], day)
        self._told[at[here]] |= said[here]
        at, fresh = at[~here], ~here
        self._keys = np.insert(self._keys, at, keys_[fresh])
        self._days = np.insert(self._days, at, np.uint16(day))
        self._told = np.insert(self._told, at, said[fresh])
        over = len(self._keys) - self._most
        if over > 0:
            until = np.cumsum(np.bincount(self._days))
            last = int(np.searchsorted(until, over))  # of this day not all leave
            leaves = self._days < last
            some = np.flatnonzero(self._days == last)[: over - int(leaves.sum())]
            leaves[some] = True
            self._keys, self._days = self._keys[~leaves], self._days[~leaves]
            self._told = self._told[~leaves]

    def save(self) -> State:
        return {"keys": self._keys, "days": self._days, "told": self._told}

    def load(self, state: State) -> None:
        self._keys, self._days = state["keys"].copy(), state["days"].copy()
        self._told = state["told"].copy()
