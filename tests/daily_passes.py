"""Passes of `spoor watch --once` over a made site that changes, by a simulated clock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from noisy_news import article
from spoor.durations import DAY
from spoor.foragers.fleet import Fleet
from spoor.foragers.fleets import FleetTask, change_rate
from spoor.foragers.revisit import ChangeRate
from spoor.foragers.states import NoStates
from spoor.judges.facts import TextPattern
from spoor.learn.state import pack, unpack
from spoor.live.changes import ChangeTracker, Line
from spoor.types import Fetch, Reply
from spoor.watching.hosts import Hosts
from spoor.watching.watching import Watching
from spoor.worlds.evolving import EvolvingWorld, Version
from stepping import take

SITE = "http://news.example/"
BEGIN = 1e9
LIT = "The kiln is lit."


def version(at: float, name: str, text: list[str], *links: str, gone: bool = False) -> Version:
    targets = tuple(f"{SITE}{link}" for link in links)
    return Version(BEGIN + at, f"{SITE}{name}", name.title(), " ".join(text), targets, gone)


def fleet_of(world: EvolvingWorld, *, once: bool = False, delay: float = 1.0) -> Fleet:
    hosts = Hosts(delay=delay, per_host=1)
    watching = Watching(TextPattern("kiln is lit"))
    rng = np.random.default_rng(0)
    fleet = change_rate(FleetTask([SITE], NoStates(), rng, hosts=hosts, watching=watching))
    fleet.crew.only_due = once  # type: ignore[attr-defined]
    return fleet


def a_pass(fleet: Fleet, world: EvolvingWorld, at: float, tracker: ChangeTracker) -> list[Line]:
    """A pass of `--once` that begins then: until nothing is due."""
    crew, now, lines = fleet.crew, BEGIN + at, list[Line]()
    assert isinstance(crew, ChangeRate)
    crew.began = now
    world.advance(now)
    while crew.due(now):
        now, told = take(fleet.next(now), fleet, world, now, tracker)
        lines += told
        assert now < BEGIN + at + 3_600
    return lines


def days_of(world: EvolvingWorld, days: int, *, delay: float) -> Iterator[list[Line]]:
    """What each of so many daily passes tells, of which each goes on from its saved state."""
    fleet = fleet_of(world, once=True, delay=delay)
    tracker = ChangeTracker(fleet)
    for day in range(days):
        yield a_pass(fleet, world, day * DAY, tracker)
        saved, told = unpack(pack(fleet.save())), unpack(pack(tracker.save()))
        fleet = fleet_of(world, once=True, delay=delay)
        fleet.load(saved)
        tracker = ChangeTracker(fleet)
        tracker.load(told)


def passes(world: EvolvingWorld, days: int, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The names that each of so many daily passes asks for; each goes on from its saved state."""
    answer, asked = EvolvingWorld.answer, list[list[str]]()

    def note(world: EvolvingWorld, fetch: Fetch) -> Reply:
        asked[-1].append(fetch.url.removeprefix(SITE))
        return answer(world, fetch)

    monkeypatch.setattr(EvolvingWorld, "answer", note)
    told = days_of(world, days, delay=0.0)
    for _ in range(days):
        asked.append([])
        next(told)
    return asked


STORY = [*article(1), LIT]
OLD = [f"old{number}" for number in range(100)]
FEW = OLD[:30]
OLD_PAGES = {name: version(-90 * DAY, name, article(100 + at)) for at, name in enumerate(OLD)}


def site(
    *more: Version, links: tuple[str, ...] = ("a",), old: Sequence[str] = OLD
) -> EvolvingWorld:
    """Old pages, and a story that appears after half a day."""
    return EvolvingWorld(
        [
            version(-90 * DAY, "", ["Front."], *old),
            *(OLD_PAGES[name] for name in old),
            version(DAY / 2, "", ["Front."], *links, *old),
            *more,
        ],
        roots=[SITE],
        start=BEGIN,
        end=BEGIN + 100 * DAY,
    )


def told(world: EvolvingWorld, days: int) -> list[Line]:
    """What daily passes tell; each goes on from its saved state."""
    return [line for lines in days_of(world, days, delay=0.0) for line in lines]


def watched(world: EvolvingWorld, days: int) -> list[tuple[str, str]]:
    """The same, as kinds and names."""
    return [(line["kind"], line["url"].removeprefix(SITE)) for line in told(world, days)]
