"""Lists that show what another list showed before get few looks, and looks at two that show the
same serve both."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from noisy_news import article
from spoor.durations import DAY, HOUR
from spoor.foragers.fleet import Fleet
from spoor.foragers.fleets import FleetTask, change_rate
from spoor.foragers.revisit import ChangeRate
from spoor.foragers.states import NoStates
from spoor.judges.facts import TextPattern
from spoor.learn.state import pack, unpack
from spoor.live.changes import ChangeTracker
from spoor.types import Fetch, Link, Page
from spoor.watching.hosts import Hosts
from spoor.watching.known_urls import Known
from spoor.watching.watching import Watching
from spoor.worlds.evolving import EvolvingWorld, Version
from stepping import take

SITE = "http://news.example/"
BEGIN = 1e9
PER_DAY = 150
DAYS = 3


def site(*, same: bool, later: float = 1.0) -> EvolvingWorld:
    """A front page with a story an hour, and a section. It shows the `same` stories, `later`; or
    every second story stands in the section alone."""
    old = [f"{SITE}old{number}" for number in range(20)]
    versions = [
        Version(BEGIN - DAY, one, "Old", " ".join(article(at))) for at, one in enumerate(old)
    ]
    shown: dict[str, list[str]] = {"front": [], "section": []}

    def show(at: float, name: str, url: str = "") -> None:
        mine = shown[name]
        mine += [url] if url else []
        text = f"The kiln is lit, and {len(mine)} stories say so."
        if name == "front":
            versions.append(Version(at, SITE, "Front", text, (f"{SITE}section", *mine[-20:])))
        else:
            versions.append(Version(at, f"{SITE}section", "Section", text, (*old, *mine[-20:])))

    show(BEGIN - DAY, "front")
    show(BEGIN - DAY, "section")
    for number in range(24 * DAYS):
        at, url = BEGIN + HOUR * (number + 0.5), f"{SITE}story{number}"
        text = " ".join([*article(500 + number), "The kiln is lit."])
        versions.append(Version(at, url, f"Story {number}", text))
        if same or number % 2:
            show(at, "front", url)
        if same or not number % 2:
            show(at + later, "section", url)
    return EvolvingWorld(versions, roots=[SITE], start=BEGIN, end=BEGIN + DAYS * DAY)


def fleet_of(seeds: Iterable[str] = (SITE,)) -> Fleet:
    hosts = Hosts(delay=1.0, per_host=1, per_day=PER_DAY)
    watching = Watching(TextPattern("kiln is lit"))
    rng = np.random.default_rng(0)
    return change_rate(FleetTask(list(seeds), NoStates(), rng, hosts=hosts, watching=watching))


def watch(
    fleet: Fleet, world: EvolvingWorld, until: float, now: float = BEGIN
) -> tuple[list[tuple[float, str]], set[str], float]:
    """What is asked for and when, the new documents that are told, and the time at the end."""
    tracker, asked, told = ChangeTracker(fleet), list[tuple[float, str]](), set[str]()
    world.advance(now)
    while now < until:
        step = fleet.next(now)
        if isinstance(step, Fetch):
            asked.append((now, step.url.removeprefix(SITE)))
        now, lines = take(step, fleet, world, now, tracker)
        told |= {line["url"].removeprefix(SITE) for line in lines if line["kind"] == "new"}
    return asked, told, now


def looks(asked: list[tuple[float, str]], name: str) -> list[float]:
    """When a list was looked at, the first day left out."""
    return [at for at, url in asked if url == name and at > BEGIN + DAY]


def test_a_list_that_shows_what_another_shows_gets_few_looks_and_all_is_told() -> None:
    asked, told, _ = watch(fleet_of(), site(same=True), BEGIN + DAYS * DAY)
    alike, front = looks(asked, "section"), looks(asked, "")
    assert 0 < len(alike) < len(front) / 4
    assert told >= {f"story{number}" for number in range(24 * DAYS - 2)}
    # A section with stories of its own has its looks, and they are told.
    asked, told, _ = watch(fleet_of(), site(same=False), BEGIN + DAYS * DAY)
    assert len(looks(asked, "section")) > max(3 * len(alike), len(looks(asked, "")) / 3)
    assert told >= {f"story{number}" for number in range(24 * DAYS - 2)}


@pytest.mark.parametrize("same", [True, False])
def test_the_budget_of_a_day_holds(same: bool) -> None:
    asked, _, _ = watch(fleet_of(), site(same=same), BEGIN + DAYS * DAY)
    times = np.array([at for at, _ in asked])
    most = max(np.searchsorted(times, times + DAY) - np.arange(len(times)))
    assert PER_DAY - 10 <= most <= PER_DAY


def crew_of(pages: int) -> tuple[ChangeRate, Any]:
    """Pages that were looked at an hour ago, of which each showed 20 URLs."""
    fleet = fleet_of()
    crew, known = fleet.crew, fleet.known
    assert isinstance(crew, ChangeRate)
    for number in range(1, pages):
        known.number(f"{SITE}{number}", BEGIN, 0, BEGIN)
    crew.pages.catch_up()
    crew.pages.last[:] = BEGIN
    crew.pages.appeared[:] = 20
    return crew, np.ones(pages)


def test_a_list_that_shows_all_later_takes_no_look_from_the_one_that_shows_it_first() -> None:
    crew, rates = crew_of(3)
    now = BEGIN + HOUR
    crew.pages.same.again[1], crew.pages.appeared[1] = 20, 0
    for _ in range(20):
        crew.pages.same.in_common(1, 0)
    crew.pages.last[1] = now  # the later one was just looked at
    expected, worth = crew.pages.waiting(rates, now)
    assert expected[[0, 2]] == pytest.approx(HOUR)
    assert worth[[0, 2]] == pytest.approx(HOUR**2)
    crew.pages.last[:2] = now, BEGIN  # the first one was
    expected, worth = crew.pages.waiting(rates, now)
    assert expected[1] == pytest.approx(HOUR / 21)
    assert worth[1] == pytest.approx(HOUR**2 / 21)
    assert expected[2] == pytest.approx(HOUR)
    # Once, by chance, it was first: that says little.
    crew.pages.last[:2] = BEGIN, now
    crew.pages.same.again[0] = 1
    crew.pages.same.in_common(0, 1)
    assert crew.pages.waiting(rates, now)[0][0] == pytest.approx(HOUR * (1 - 2 / 22))


def test_looks_at_two_that_each_show_what_the_other_shows_later_serve_both() -> None:
    crew, rates = crew_of(3)
    now = BEGIN + HOUR
    crew.pages.appeared[:2] = crew.pages.same.again[:2] = 10
    for _ in range(10):
        crew.pages.same.in_common(0, 1)
        crew.pages.same.in_common(1, 0)
    assert crew.pages.waiting(rates, now)[0] == pytest.approx(HOUR)
    for looked_at, other in ((0, 1), (1, 0)):
        crew.pages.last[[looked_at, other]] = now, BEGIN
        expected, worth = crew.pages.waiting(rates, now)
        assert expected[[looked_at, other, 2]] == pytest.approx([0.0, HOUR / 21, HOUR])
        assert worth[[looked_at, other, 2]] == pytest.approx([0.0, HOUR**2 / 21, HOUR**2])


def test_what_is_in_common_with_many_is_in_common_with_none() -> None:
    crew, rates = crew_of(5)
    for other in (1, 2, 3, 4, 1, 2, 3, 4):
        crew.pages.same.in_common(0, other)
    assert crew.pages.same.common[0] == 0
    crew.pages.last[1:] = BEGIN + HOUR
    assert crew.pages.waiting(rates, BEGIN + HOUR)[0][0] == pytest.approx(HOUR)


def test_a_page_that_leaves_is_beside_none() -> None:
    crew, rates = crew_of(3)
    crew.pages.same.in_common(1, 2)
    crew.pages.same.again[1] = 1
    crew.leave([2])
    assert crew.pages.same.common.tolist() == [0, 0, 0]
    assert crew.pages.same.again.tolist() == [0, 1, 0]
    crew.pages.last[2] = BEGIN + HOUR  # its number is another page's
    assert crew.pages.waiting(rates, BEGIN + HOUR)[0][1] == pytest.approx(HOUR)


def test_what_appears_on_a_second_list_is_told_from_what_it_shows_first() -> None:
    known = Known(NoStates(), watching=Watching(None))

    def look(url: int, at: float, *names: str) -> list[str]:
        links = [Link(f"{SITE}{name}") for name in names]
        page = Page(known.urls[url], text=f"Look at {at}.", links=links)
        known.see(url, page, at)
        known.links(url, page, at)
        return [known.urls[one].removeprefix(SITE) for one in known.shown_again]

    front, section = known.number(SITE), known.number(f"{SITE}section")
    assert look(front, 1.0, "old") == []
    assert look(section, 1.0, "old", "older") == []
    assert look(front, 2.0, "old", "a", "b") == []
    assert look(section, 3.0, "old", "a", "c") == ["a"]
    assert look(section, 4.0, "old", "a", "c") == []  # it stands there still
    assert look(front, 5.0, "old", "older", "c") == ["c"]  # what is old is no news
    assert look(front, 6.0, "old", "a", "c") == []  # it came back to where it was first


def test_a_watch_that_was_loaded_goes_on_the_same() -> None:
    world, half = site(same=True), BEGIN + 1.5 * DAY
    seeds = [SITE, f"{SITE}section"]
    fleet = fleet_of(seeds)
    _, _, now = watch(fleet, world, half)
    state = unpack(pack(fleet.save()))
    assert state["crew"]["common"].max() > 3
    assert len(state["crew"]["common"]) == len(state["crew"]["beside"]) == len(fleet.known.urls)
    again = fleet_of(seeds)
    again.load(state)
    first, _, _ = watch(fleet, world, BEGIN + DAYS * DAY, now)
    world.rewind()
    second, _, _ = watch(again, world, BEGIN + DAYS * DAY, now)
    assert first == second
    assert pack(fleet.save()) == pack(again.save())
