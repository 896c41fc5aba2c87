"""Numbers that are kept for each URL, by its number, as arrays that grow at their end."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spoor.learn.saved_attributes import Saved

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_MORE = 1_024
"""Numbers for which there is room beyond a quarter more than are known."""


class Columns(Saved):
    """The arrays that `SAVED` names, all of one length; a URL that is new has zeros."""

    def __len__(self) -> int:
        return min(len(getattr(self, name)) for name in self.SAVED)

    def grow(self, count: int) -> None:
        """Have a number for each of so many URLs. O(those that are new) on average."""
        for name in self.SAVED:
            now: NDArray[Any] = getattr(self, name)
            room: Any = now if now.base is None else now.base
            if count > len(room):
                room = np.zeros(count + count // 4 + _MORE, dtype=now.dtype)
                room[: len(now)] = now
            setattr(self, name, room[:count])

    def clear(self, urls: list[int]) -> None:
        """Numbers are those of other URLs from now on."""
        for name in self.SAVED:
            getattr(self, name)[urls] = 0
