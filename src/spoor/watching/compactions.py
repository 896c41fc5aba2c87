"""When a watch leaves what is at rest (`spoor.watching.compaction`): once a day, and where too much
of a domain is known."""

from __future__ import annotations

from collections.abc import Callable

from spoor.durations import DAY
from spoor.types import State
from spoor.watching.known_urls import Known

COMPACTED = DAY
"""Seconds between two compactions of a watch …"""
SLICED = 0.25
"""… and between two slices of one, none of which takes long."""

KEPT_FOR = 30 * DAY
"""Seconds for which a watch keeps all it knows of a URL about which nothing is new any more."""


class Compactions:
    """Those of one watch."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self.kept_for = KEPT_FOR
        self.at = 0.0
        """When URLs are left next; 0 before it begins."""
        self._next = 0.0
        """When the compaction after the one under way begins."""

    def due(self, now: float) -> bool:
        """Whether there is something to do by now."""
        return now >= self.at or self._known.may_be_crowded

    def slice(self, now: float, held: Callable[[], set[int]]) -> list[int]:
        """Begin one, or go on with it: URLs that are to leave now, none of which is `held`."""
        known = self._known
        if known.compacts:
            left = known.compact(held())
            self.at = now + SLICED if known.compacts else self._next
            return left
        if now < self.at:
            if known.relieve(now):
                self._next, self.at = self.at, now + SLICED
            return []
        begins, self.at = not self.at, now + COMPACTED
        if begins:
            return []
        if not any(at >= now - self.kept_for / 2 for at in reversed(known.fetched)):
            # It slept, or was not run: what it could not look at is not at rest.
            self.at = now + self.kept_for
        elif known.begin_compaction(now - self.kept_for, now):
            self._next, self.at = self.at, now + SLICED
        return []

    def save(self) -> State:
        """Times of both."""
        return {"compacts_at": self.at, "next_compaction": self._next}

    def load(self, state: State) -> None:
        self.at = state["compacts_at"]
        self._next = state["next_compaction"]
