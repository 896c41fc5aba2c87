"""Replay: a crawl over a world, on a simulated clock, with as many fetches in flight as wanted.

Deterministic: replies that arrive at the same time come in the order of their tickets.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from spoor.errors import PluginError
from spoor.protocols import Changing, Engine, World
from spoor.types import Deferred, Fetch, Finished, Outcome, Reply, Sleep


class Replay:
    """Iterates over the outcomes of a crawl or a fleet. `now` is the simulated time in seconds; a
    world that changes follows it.

    The loop can be left at any time: the crawl can be saved, and another Replay continues it, given
    the replies that had not arrived (`flying`).
    """

    def __init__(
        self,
        crawl: Engine,
        world: World,
        *,
        in_flight: int = 1,
        start: float = 0.0,
        flying: list[tuple[float, int, Reply]] | None = None,
    ) -> None:
        self.crawl = crawl
        self.world = world
        self.now = start
        self.finished: Finished | None = None
        self.flying: list[tuple[float, int, Reply]] = [] if flying is None else list(flying)
        self._in_flight = in_flight
        self._changing = world if isinstance(world, Changing) else None

    def __iter__(self) -> Iterator[Outcome]:
        while self.finished is None:
            outcome = self._step()
            if outcome is not None:
                yield outcome

    def _step(self) -> Outcome | None:
        wake: float | None = None
        while len(self.flying) < self._in_flight:
            answer = self.crawl.next(self.now)
            if isinstance(answer, Fetch):
                if self._changing is not None:
                    self._changing.advance(self.now)
                reply = self.world.answer(answer)
                arrival = self.now + reply.seconds
                heapq.heappush(self.flying, (arrival, reply.ticket, reply))
                continue
            if isinstance(answer, Finished):
                self.finished = answer
            elif isinstance(answer, Sleep):
                wake = answer.until
            break
        if not self.flying:
            if self.finished is None:
                if wake is None:
                    raise PluginError(
                        self.crawl.frontier, "next_ready", "is None with nothing in flight"
                    )
                self.now = wake
            return None
        if wake is not None and wake < self.flying[0][0]:
            self.now = wake
            return None
        arrival, _, reply = heapq.heappop(self.flying)
        self.now = max(self.now, arrival)
        outcome = self.crawl.receive(reply, self.now)
        return None if isinstance(outcome, Deferred) else outcome
