"""What was learned from the pages fetched last, for a judgement that a person changes."""

from __future__ import annotations

from typing import TypeVar

from spoor.types import LinkId

T = TypeVar("T")

MOST = 5_000


def keep(done: dict[LinkId, T], link: LinkId, what: T, most: int = MOST) -> None:
    """Add to `done`, which holds the `most` latest."""
    done[link] = what
    if len(done) > most:
        del done[next(iter(done))]
