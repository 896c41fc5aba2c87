"""Sets and maps of the numbers of URLs, and what is found by a key, in a few bytes a URL.

Python's own take 50 to 130 bytes an entry; a watch knows 10⁵ URLs of a site. Numbers are given from
0 on without gaps, so that a number is a place here.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, MutableSet
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spoor.watching.columns import Floats

NOTHING = -1


class NumberSet(MutableSet[int]):
    """Numbers, a byte for each up to the largest."""

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        self._has = bytearray()
        self._count = 0
        for number in numbers:
            self.add(number)

    def __contains__(self, number: object) -> bool:
        return isinstance(number, int) and 0 <= number < len(self._has) and self._has[number] == 1

    def __iter__(self) -> Iterator[int]:
        """In their order."""
        return iter(self.numbers().tolist())

    def __len__(self) -> int:
        return self._count

    def add(self, number: int) -> None:
        """Have a number."""
        reach(self._has, number, 0)
        self._count += not self._has[number]
        self._has[number] = 1

    def discard(self, number: int) -> None:
        """Have a number no more."""
        if number in self:
            self._has[number] = 0
            self._count -= 1

    def difference_update(self, numbers: Iterable[int]) -> None:
        """Have none of these any more."""
        for number in numbers:
            self.discard(number)

    def numbers(self) -> NDArray[np.int64]:
        """All of them, in their order."""
        return np.flatnonzero(np.array(self._has, dtype=np.uint8))


class ByteRows:
    """A row of bytes for each number up to the largest; nothing for one that has none."""

    def __init__(self) -> None:
        self._rows: list[bytes] = []
        self.size = 0
        """Bytes of all."""

    def __getitem__(self, number: int) -> bytes:
        return self._rows[number] if number < len(self._rows) else b""

    def __setitem__(self, number: int, row: bytes) -> None:
        if row and number >= len(self._rows):
            self._rows += [b""] * (number + 1 - len(self._rows))
        if number < len(self._rows):
            self.size += len(row) - len(self._rows[number])
            self._rows[number] = row

    def sizes(self, count: int) -> Floats:
        """Bytes of those of the first so many numbers."""
        found: Floats = np.zeros(count)
        found[: len(self._rows)] = list(map(len, self._rows))
        return found

    def __iter__(self) -> Iterator[bytes]:
        """All of them by their numbers, the empty ones too."""
        return iter(self._rows)


class NumberMap:
    """Number → number from 0 on, four bytes for each up to the largest."""

    def __init__(self, pairs: Iterable[tuple[int, int]] = ()) -> None:
        self._of = array("i")
        self.update(pairs)

    def __contains__(self, number: object) -> bool:
        return self.get(number) is not None  # type: ignore[arg-type]

    def __getitem__(self, number: int) -> int:
        value = self.get(number)
        if value is None:
            raise KeyError(number)
        return value

    def __setitem__(self, number: int, value: int) -> None:
        reach(self._of, number, NOTHING)
        self._of[number] = value

    def get(self, number: int) -> int | None:
        """None where there is none."""
        if not 0 <= number < len(self._of):
            return None
        value = self._of[number]
        return None if value < 0 else value

    def pop(self, number: int) -> None:
        """There is none any more."""
        if number in self:
            self._of[number] = NOTHING

    def update(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Have these."""
        for number, value in pairs:
            self[number] = value

    def among(self, numbers: Collection[int]) -> list[int]:
        """Those of these that are here, in their order."""
        its = np.sort(np.fromiter(numbers, np.int64, len(numbers)))
        its = its[its < len(self._of)]
        here: list[int] = its[np.array(self._of)[its] >= 0].tolist()
        return here

    def pairs(self) -> NDArray[np.int64]:
        """(number, value), by number."""
        values = np.array(self._of, dtype=np.int64)
        numbers = np.flatnonzero(values >= 0)
        return np.column_stack([numbers, values[numbers]])


class KeyIndex:
    """Which number has a key of 64 bits, where `keys` has the key of each number, and no two have
    the same. Takes 6 to 24 bytes an entry; O(1) on average."""

    def __init__(self, keys: array[int]) -> None:
        self._keys = keys
        self._slots = array("i", [_FREE] * _LEAST)
        self._taken = self._count = 0
        """Slots that were ever taken, and those that are."""

    def __len__(self) -> int:
        return self._count

    def find(self, key: int) -> int:
        """The number; `NOTHING` where none has it."""
        slot = self._slot(key)
        return NOTHING if slot < 0 else self._slots[slot]

    def add(self, number: int) -> None:
        """A number has a key that no other one has."""
        if 3 * (self._taken + 1) > 2 * len(self._slots):
            self._make_anew()
        self._enter(number)
        self._count += 1

    def remove(self, key: int) -> None:
        """No number has a key any more; the one that had it still has it in `keys`."""
        slot = self._slot(key)
        if slot >= 0:
            self._slots[slot] = _LEFT
            self._count -= 1

    def _slot(self, key: int) -> int:
        slots, keys = self._slots, self._keys
        mask = len(slots) - 1
        at = _spread(key) & mask
        while (number := slots[at]) != _FREE:
            if number >= 0 and keys[number] == key:
                return at
            at = at + 1 & mask
        return NOTHING

    def _enter(self, number: int) -> None:
        slots = self._slots
        mask = len(slots) - 1
        at = _spread(self._keys[number]) & mask
        while slots[at] != _FREE:
            at = at + 1 & mask
        slots[at] = number
        self._taken += 1

    def _make_anew(self) -> None:
        """With room for as many again."""
        numbers, size = [number for number in self._slots if number >= 0], _LEAST
        while 3 * (2 * len(numbers) + 1) > 2 * size:
            size *= 2
        self._slots, self._taken = array("i", [_FREE]) * size, 0
        for number in numbers:
            self._enter(number)


_FREE, _LEFT = -1, -2
_LEAST = 16


def _spread(key: int) -> int:
    return (key * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF) >> 20


def reach(column: bytearray | array[int], number: int, nothing: int) -> None:
    """Have a place for a number, and `nothing` in those that are new."""
    if number < 0:
        raise IndexError(number)
    more = number + 1 - len(column)
    if more > 0:
        more += number // 8
        if isinstance(column, bytearray):
            column.extend(bytes(more))
        else:
            column.extend(array(column.typecode, [nothing]) * more)


def filled(kind: str, values: Any) -> array[Any]:
    """A column of numbers with the values of an array or a list."""
    made: array[Any] = array(kind)
    made.frombytes(np.ascontiguousarray(values, dtype=np.dtype(kind)).tobytes())
    return made
