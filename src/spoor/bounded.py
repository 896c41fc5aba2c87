"""Tables with a bounded number of keys: the latest ones, and caches."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Collection
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")

LATEST = 5_000
"""Pages for which it is remembered what was learned from them, in case a person changes their
judgement."""


REMEMBERED = 50_000
"""Entries of a table of `remember`."""


def remember(table: OrderedDict[K, V], key: K, value: V, most: int = REMEMBERED) -> K | None:
    """Make an entry of a table its newest one. Returns the key that was forgotten for it, if
    any."""
    table[key] = value
    table.move_to_end(key)
    return table.popitem(last=False)[0] if len(table) > most else None


def forget(keys: Collection[K], *tables: dict[K, Any]) -> None:
    """Remove the entries that tables have of these keys."""
    for table in tables:
        for key in keys:
            table.pop(key, None)


class BoundedDict(dict[K, V]):
    """Keeps the `limit` latest keys; beyond, the oldest is removed."""

    def __init__(self, limit: int = LATEST) -> None:
        super().__init__()
        self._limit = limit

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        if len(self) > self._limit:
            del self[next(iter(self))]


class Cache(dict[K, V]):
    """`cache[key]` is `make(key)`, computed once; it is emptied when it has `limit` keys."""

    def __init__(self, make: Callable[[Any], V], limit: int = sys.maxsize) -> None:
        super().__init__()
        self._make = make
        self._limit = limit

    def __missing__(self, key: K) -> V:
        if len(self) >= self._limit:
            self.clear()
        value = self[key] = self._make(key)
        return value
