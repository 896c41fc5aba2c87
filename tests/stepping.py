"""A watch in simulated time, a request after the other: what tests of watching share."""

from __future__ import annotations

from spoor.foragers.fleet import Fleet
from spoor.live.changes import ChangeTracker, Line
from spoor.types import Fetch, NextStep, Sleep
from spoor.worlds.evolving import EvolvingWorld


def run(fleet: Fleet, world: EvolvingWorld, until: float, tracker: ChangeTracker) -> list[Line]:
    """What is told until then."""
    now, lines = world.now, list[Line]()
    while now < until:
        now, told = take(fleet.next(now), fleet, world, now, tracker)
        lines += told
    return lines


def take(
    step: NextStep, fleet: Fleet, world: EvolvingWorld, now: float, tracker: ChangeTracker
) -> tuple[float, list[Line]]:
    """The time after a step, and what is told of it."""
    lines = list[Line]()
    if isinstance(step, Fetch):
        reply = world.answer(step)
        now += 0.1
        lines += tracker.lines(fleet.receive(reply, now), now)
    else:
        assert isinstance(step, Sleep)
        now = max(step.until, now + 0.01)
    world.advance(min(now, world.end))
    return now, lines
