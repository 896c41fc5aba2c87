"""A driver that answers in random order, some replies very late."""

from __future__ import annotations

import numpy as np

from spoor.crawl import Crawl
from spoor.protocols import World
from spoor.types import Choice, Fetch, Finished, Outcome, Reply, Sleep

_LATE = 5
"""One ticket in so many is answered only when nothing else can be."""


class Shuffled:
    """Runs a crawl over a world, `in_flight` fetches at a time, in an order drawn from `rng`.

    `crawl` may be replaced between two steps by one that was loaded from its state.
    """

    def __init__(
        self, crawl: Crawl, world: World, rng: np.random.Generator, in_flight: int = 1
    ) -> None:
        self.crawl = crawl
        self.now = 0.0
        self.choices: list[Choice] = []
        """Of first requests, in the order in which they were made."""
        self.asked: list[str] = []
        """Every URL asked for, retries and redirects included."""
        self.outcomes: list[Outcome] = []
        self._world = world
        self._rng = rng
        self._in_flight = in_flight
        self._flying: list[Reply] = []

    def step(self) -> bool:
        """Ask for as much as may be in flight, then take in one reply or wait; False at the end."""
        wake: float | None = None
        while len(self._flying) < self._in_flight:
            answer = self.crawl.next(self.now)
            if isinstance(answer, Finished):
                return False
            if not isinstance(answer, Fetch):
                wake = answer.until if isinstance(answer, Sleep) else None
                break
            if answer.attempt == 1:
                self.choices.append(answer.choice)
            self.asked.append(answer.url)
            self._flying.append(self._world.answer(answer))
        prompt = [at for at, reply in enumerate(self._flying) if reply.ticket % _LATE != 3]
        if wake is not None and (not prompt or self._rng.random() < 0.3):
            self.now = max(self.now, wake)
            return True
        assert self._flying, "nothing is in flight, and there is nothing to wait for"
        at = int(self._rng.choice(prompt or len(self._flying)))
        self.now += float(self._rng.random())
        outcome = self.crawl.receive(self._flying.pop(at), self.now)
        if isinstance(outcome, Outcome):
            self.outcomes.append(outcome)
        return True

    def run(self, most: int = 100_000) -> None:
        """To the end. Raises AssertionError if that takes more than `most` steps."""
        for _ in range(most):
            if not self.step():
                return
        raise AssertionError(f"the crawl does not end within {most:,} steps")
