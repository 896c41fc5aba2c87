"""What shards share of their learning: the same of one comes once, and its own to nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from spoor.types import State

T = TypeVar("T")


def distinct(own: T, others: Iterable[T], same: Callable[[T, T], bool]) -> list[T]:
    """What others share, in their order, without what is `own` and without repetitions."""
    known = [own]
    for other in others:
        if not any(same(other, one) for one in known):
            known.append(other)
    return known[1:]


def same_counts(one: State, other: State) -> bool:
    """Whether two shared states are of the same examples."""
    equal: bool = one["counts"] == other["counts"]
    return equal
