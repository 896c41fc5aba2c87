"""What is left of documents that a watch looks at no more: 64 bits of each URL and of each content,
so that none is told as new again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from spoor.types import State

Value = TypeVar("Value")

DAY = 86_400.0

MOST_REMEMBERED = 2_000_000
"""Keys that are kept, 11 bytes each; those that came longest ago leave."""


class Remembered(NamedTuple):
    """Of one key."""

    at: float
    """When it came, to the day, Unix seconds."""
    told: bool


class Memory:
    """A table of 64-bit keys, which is added to once a day and asked all the time. A look-up takes
    3 µs, adding O(keys)."""

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
        new = np.array(list(keys), dtype=np.uint64)
        day = min(max(0, int(now // DAY)), 0xFFFF)
        both = np.concatenate([self._keys, new])
        days = np.concatenate([self._days, np.full(len(new), day, dtype=np.uint16)])
        said = np.concatenate([self._told, np.array(list(told), dtype=np.bool_)])
        order = np.argsort(both, kind="stable")
        both, days, said = both[order], days[order], said[order]
        begins = np.flatnonzero(np.r_[True, both[1:] != both[:-1]][: len(both)])
        if len(begins):
            days = np.maximum.reduceat(days, begins)
            said = np.logical_or.reduceat(said, begins)
            both = both[begins]
        if len(both) > self._most:
            newest = np.sort(np.argsort(-days.astype(np.int64), kind="stable")[: self._most])
            both, days, said = both[newest], days[newest], said[newest]
        self._keys, self._days, self._told = both, days, said

    def save(self) -> State:
        return {"keys": self._keys, "days": self._days, "told": self._told}

    def load(self, state: State) -> None:
        """Go on from `save`."""
        self._keys, self._days = state["keys"].copy(), state["days"].copy()
        self._told = state["told"].copy()


class Moves:
    """The new number of each URL after a compaction, and which have none any more."""

    def __init__(self, keep: NDArray[np.bool_]) -> None:
        self.kept: list[int] = np.flatnonzero(keep).tolist()
        """Old numbers, in their order, which stays."""
        self.left: list[int] = np.flatnonzero(~keep).tolist()
        numbers = np.cumsum(keep) - 1
        numbers[~keep] = -1
        self._numbers: list[int] = numbers.tolist()

    def __getitem__(self, old: int) -> int:
        """The new number; −1 where it has none."""
        return self._numbers[old]

    def of(self, numbers: Iterable[int]) -> list[int]:
        """The new numbers of those that have one."""
        here = self._numbers
        return [here[number] for number in numbers if here[number] >= 0]

    def keys(self, values: dict[int, Value]) -> dict[int, Value]:
        """A dict by number, with those that have a new one."""
        here = self._numbers
        return {here[key]: value for key, value in values.items() if here[key] >= 0}

    def column(self, values: list[Value]) -> list[Value]:
        """A list with a value for each number."""
        return [values[number] for number in self.kept]
