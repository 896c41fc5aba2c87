"""Rows for hashed slots: of a million slots a crawl learns of some ten thousand.

An array of what is known by slot has all of its pages of memory written soon, since the slots that
are known lie anywhere in it. By row these stand side by side, and several arrays can go by the same
rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Slots = NDArray[np.int32]
    Rows = NDArray[np.uint16 | np.int32]

NOTHING, EMPTY = 0, 1
"""The row of all slots that have none, and that of slot 0, which is empty."""
_SHORT = 1 << 16
"""Rows whose numbers take two bytes: a crawl of some thousand pages has fewer."""


class SlotRows:
    """Slot → row, for 2^bits slots; rows are given in the order in which `enter` sees the slots.

    Memory 2 · 2^bits bytes up to 65,535 rows, then 4 · 2^bits, and 4 a row; a look-up of 50 slots
    takes 2 µs.
    """

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self._clear()

    def _clear(self) -> None:
        self._rows: Rows = np.zeros(1 << self._bits, dtype=np.uint16)
        self._rows[0] = EMPTY
        self._slots: Slots = np.zeros(1024, dtype=np.int32)
        self._count = EMPTY + 1

    @property
    def room(self) -> int:
        """Rows that an array by rows must have; it doubles when it grows."""
        return len(self._slots)

    def of(self, slots: NDArray[np.integer]) -> Rows:
        """The row of each; `NOTHING` for those that have none."""
        return self._rows.take(slots)

    def enter(self, slots: NDArray[np.integer]) -> Rows:
        """The row of each; those that have none get one."""
        rows = self._rows.take(slots)
        if rows.all():
            return rows
        new = list(dict.fromkeys(slots[rows == NOTHING].tolist()))
        end = self._count + len(new)
        while end > len(self._slots):
            self._slots = np.concatenate([self._slots, np.zeros_like(self._slots)])
        if end > _SHORT and self._rows.dtype == np.uint16:
            self._rows = self._rows.astype(np.int32)
        self._slots[self._count : end] = new
        self._rows[new] = np.arange(self._count, end, dtype=np.int32)
        self._count = end
        return self._rows.take(slots)

    def slots(self, rows: NDArray[np.integer]) -> Slots:
        """The slots of some rows."""
        return self._slots.take(rows)

    def save(self) -> Slots:
        """The slots in the order of their rows: what comes later only adds to it."""
        slots: Slots = self._slots[EMPTY + 1 : self._count].copy()
        return slots

    def load(self, slots: NDArray[np.integer]) -> None:
        """Give rows to these and no others. What goes by the rows is to be loaded after them."""
        self._clear()
        self.enter(slots)
