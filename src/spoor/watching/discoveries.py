"""The documents that a fleet found, in 28 bytes each."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from spoor.types import State
from spoor.watching.compact_tables import filled


class Discovery(NamedTuple):
    """A document that the agent took as relevant."""

    url: int
    version: int
    """Of the URL's contents, from 1."""
    date: float
    """Time of its publication, Unix seconds."""
    at: float
    """Time of its submission."""
    by: int
    """Number of the forager that submitted it."""


_KINDS = {"url": "i", "version": "i", "date": "d", "at": "d", "by": "i"}


class Discoveries(Sequence[Discovery]):
    """All of them, in the order of their submission."""

    def __init__(self, entries: Iterable[Discovery] = ()) -> None:
        self._columns: dict[str, array[Any]] = {name: array(kind) for name, kind in _KINDS.items()}
        for entry in entries:
            self.append(entry)

    def append(self, entry: Discovery) -> None:
        """A document is new."""
        for column, value in zip(self._columns.values(), entry, strict=True):
            column.append(value)

    def __len__(self) -> int:
        return len(self._columns["url"])

    @overload
    def __getitem__(self, at: int) -> Discovery: ...
    @overload
    def __getitem__(self, at: slice) -> list[Discovery]: ...
    def __getitem__(self, at: int | slice) -> Discovery | list[Discovery]:
        its: list[Any] = [column[at] for column in self._columns.values()]
        return list(map(Discovery, *its)) if isinstance(at, slice) else Discovery(*its)

    def __iter__(self) -> Iterator[Discovery]:
        return map(Discovery, *self._columns.values())

    def told(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The URL of each, and when it was submitted."""
        urls, moments = self._columns["url"], self._columns["at"]
        return np.array(urls, dtype=np.int64), np.array(moments, dtype=np.float64)

    def without(self, left: Collection[int]) -> Discoveries:
        """Those of other URLs."""
        stay = ~np.isin(np.array(self._columns["url"]), list(left))
        return self.revived({name: np.array(its)[stay] for name, its in self._columns.items()})

    def save(self) -> State:
        """As arrays."""
        return {
            name: np.array(column, dtype=np.int64 if _KINDS[name] == "i" else np.float64)
            for name, column in self._columns.items()
        }

    @classmethod
    def revived(cls, state: State) -> Discoveries:
        """Those that `save` was asked of."""
        made = cls()
        made._columns = {name: filled(kind, state[name]) for name, kind in _KINDS.items()}
        return made
