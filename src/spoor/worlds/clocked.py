"""An evolving web whose clock follows another clock, faster: served for a live watch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from spoor.types import Fetch, Fetched, Reply
from spoor.worlds.evolving import EvolvingWorld


class Clocked:
    """Answers with the current state of the web. From the first request on, its time passes `speed`
    times as fast as `clock`. The server of this world sets the `seconds` of downloads and the dates
    of pages.
    """

    def __init__(self, world: EvolvingWorld, clock: Callable[[], float], *, speed: float) -> None:
        self.world = world
        self._clock = clock
        self._speed = speed
        self._began: float | None = None

    def now(self) -> float:
        """The web's own time; it stops at the end."""
        if self._began is None:
            self._began = self._clock()
        passed = (self._clock() - self._began) * self._speed
        return min(self.world.end, self.world.start + passed)

    def answer(self, fetch: Fetch) -> Reply:
        self.world.advance(max(self.world.now, self.now()))
        reply = self.world.answer(fetch)
        if isinstance(reply, Fetched):
            return replace(reply, page=replace(reply.page, modified=None), seconds=0.0)
        return replace(reply, seconds=0.0)

    def roots(self) -> list[str]:
        return self.world.roots()
