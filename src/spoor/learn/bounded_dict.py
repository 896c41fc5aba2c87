"""Dicts with a bounded number of keys: the latest ones, and caches."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")

LATEST = 5_000
"""Pages for which it is remembered what was learned from them, in case a person changes their
judgement."""


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
