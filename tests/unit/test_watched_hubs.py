"""What a start gets of the looks at known pages: less where it brings nothing and others do."""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np

from noisy_news import article
from spoor.foragers.fleets import FleetTask, change_rate
from spoor.foragers.states import NoStates
from spoor.judges.facts import TextPattern
from spoor.live.changes import ChangeTracker
from spoor.types import Fetch, Reply
from spoor.watching.hosts import Hosts
from spoor.watching.watching import Watching
from spoor.worlds.evolving import EvolvingWorld, Version
from stepping import run

SITE = "http://wiki.example/"
BEGIN, HOUR = 1e9, 3_600.0
SECTIONS = 8
LIT = "The kiln is lit."


def version(at: float, name: str, text: list[str], *links: str) -> Version:
    targets = tuple(f"{SITE}{link}" for link in links)
    return Version(BEGIN + at, f"{SITE}{name}", name.title(), " ".join(text), targets)


@cache
def looks(*, front_from: int) -> list[Counter[str]]:
    """Looks at each known page in each of six days. Each of eight sections links to something on
    topic every sixteen hours; from a day on the front page does so each four hours."""
    sections = [f"section{number}" for number in range(SECTIONS)]
    versions = [version(-5, "", ["Front."], *sections)]
    shown: dict[str, list[str]] = {name: [] for name in ["", *sections]}
    versions += [version(-5, name, ["Nothing yet."]) for name in sections]
    for hour in range(1, 144, 2):
        on = [sections[hour // 2 % SECTIONS]]
        on += [""] if hour >= 24 * front_from and hour % 4 == 1 else []
        for name in on:
            shown[name].append(f"{name}/{hour}")
            links = [*([] if name else sections), *shown[name]]
            versions.append(version(hour * HOUR, name, [f"{name} {hour}."], *links))
            number = 2 * hour + (not name)
            versions.append(version(hour * HOUR, shown[name][-1], [*article(number), LIT]))
    world = EvolvingWorld(versions, roots=[SITE], start=BEGIN, end=BEGIN + 144 * HOUR)
    days, answer = [Counter[str]() for _ in range(6)], world.answer

    def noted(fetch: Fetch) -> Reply:
        name = fetch.url.removeprefix(SITE)
        if name in shown:
            days[min(5, int((world.now - BEGIN) / (24 * HOUR)))][name] += 1
        return answer(fetch)

    world.answer = noted  # type: ignore[method-assign]
    hosts = Hosts(delay=1.0, per_host=1, per_day=200)
    watching = Watching(TextPattern("kiln is lit"))
    task = FleetTask([SITE], NoStates(), np.random.default_rng(0), hosts=hosts, watching=watching)
    fleet = change_rate(task)
    run(fleet, world, world.end, ChangeTracker(fleet))
    return days


def test_a_start_that_brings_nothing_leaves_its_looks_to_lists_that_do() -> None:
    days = looks(front_from=99)
    shares = [day[""] / day.total() for day in days]
    assert shares[5] < 0.15, shares
    assert days[5][""] >= 4, days[5]  # it does not starve


def test_a_start_that_begins_to_bring_something_gets_them_back() -> None:
    barren, paying = looks(front_from=99), looks(front_from=3)
    assert paying[5][""] > 2 * barren[5][""], (barren[5], paying[5])
