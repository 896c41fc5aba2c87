"""Merging what shards share of their learning: without repetitions and without one's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from spoor.types import State

T = TypeVar("T")


def distinct(own: T, others: Iterable[T], same: Callable[[T, T], bool]) -> list[T]:
    """The states of `others`, in their order, without `own` and without repetitions."""
    known = [own]
    for other in others:
        if not any(same(other, item) for item in known):
            known.append(other)
    return known[1:]


def same_counts(left: State, right: State) -> bool:
    """Whether two shared states are of the same examples."""
    equal: bool = left["counts"] == right["counts"]
    return equal
