"""Dicts that hold no more than so many keys: memories of the latest, and caches."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")

LATEST = 5_000
"""Pages for which what was learned of them is remembered, for a judgement that a person changes."""


class BoundedDict(dict[K, V]):
    """The `limit` latest keys: beyond them the oldest leaves."""

    def __init__(self, limit: int = LATEST) -> None:
        super().__init__()
        self._limit = limit

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        if len(self) > self._limit:
            del self[next(iter(self))]


class Cache(dict[K, V]):
    """`cache[key]` is `make(key)`, computed once; it is emptied when it holds `limit` keys."""

    def __init__(self, make: Callable[[Any], V], limit: int = sys.maxsize) -> None:
        super().__init__()
        self._make = make
        self._limit = limit

    def __missing__(self, key: K) -> V:
        if len(self) >= self._limit:
            self.clear()
        value = self[key] = self._make(key)
        return value
