"""A URL that leads to another one takes no more requests of a watch than one that cannot be had."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import numpy as np
import pytest

from noisy_news import article
from spoor import registry
from spoor.durations import DAY
from spoor.foragers.crew import Steady
from spoor.foragers.fleet import Fleet
from spoor.foragers.fleets import FleetTask
from spoor.foragers.states import NoStates
from spoor.judges.facts import TextPattern
from spoor.types import Failed, Fetch, Fetched, Link, LiveReply, Page, Redirected, Sleep
from spoor.watching.hosts import Hosts
from spoor.watching.watching import Watching
from spoor.web.urls import host

SITE = "http://news.example/"
BEGIN = 1e9


def fleet_of(name: str, seed: str) -> Fleet:
    def admit(page: Page, depth: int) -> list[Link]:
        return [link for link in page.links if host(link.url) == "news.example"]

    task = FleetTask(
        [seed],
        NoStates(),
        np.random.default_rng(0),
        admit,
        Hosts(delay=1.0, per_host=1),
        Watching(TextPattern("kiln is lit")),
    )
    fleet: Fleet = registry.build("fleets", name, task)
    assert isinstance(fleet.crew, Steady)
    return fleet


def answer(fetch: Fetch, moved: Collection[str]) -> LiveReply:
    path = fetch.url.removeprefix(SITE)
    targets = {"start": SITE, "away": "http://other.example/", "self": f"{SITE}self"}
    targets |= {"ring": f"{SITE}round", "round": f"{SITE}ring", "other": f"{SITE}page"}
    targets |= {one: f"{SITE}new-{one}" for one in moved}
    if path in targets:
        return Redirected(fetch.ticket, targets[path])
    path = path.removeprefix("new-")
    if path not in ("", "page", "old"):
        return Failed(fetch.ticket, "absent", status=404)
    names = ("away", "self", "ring", "other", "page", "old") if not path else ()
    links = [Link(f"{SITE}{name}") for name in names]
    text = " ".join([*article(len(path)), "The kiln is lit."])
    return Fetched(fetch.ticket, Page(fetch.url, title=path, text=text, links=links))


def looks(
    fleet: Fleet, begin: float, seconds: float, moved: Collection[str] = (), *, once: bool
) -> Counter[str]:
    """How often each URL is asked for from then on."""
    crew, now, asked = fleet.crew, begin + 1.0, Counter[str]()
    assert isinstance(crew, Steady)
    crew.only_due, crew.began = once, begin
    while now < begin + seconds and (not once or crew.due(now)):
        step = fleet.next(now)
        if isinstance(step, Sleep):
            now = max(step.until, now + 0.01)
            continue
        assert isinstance(step, Fetch)
        asked[step.url] += 1
        fleet.receive(answer(step, moved), now)
    return asked


@pytest.mark.parametrize("name", registry.names("fleets"))
@pytest.mark.parametrize("seed", ["", "start"])
def test_in_a_pass_each_is_asked_for_once(name: str, seed: str) -> None:
    fleet = fleet_of(name, f"{SITE}{seed}")
    for begin, moved in ((BEGIN, ()), (BEGIN + DAY, ()), (BEGIN + 2 * DAY, ("old",))):
        asked = looks(fleet, begin, 3_600.0, moved, once=True)
        # What stands at the end of a redirect may have its own turn as well, and a ring goes round.
        once = ("start", "away", "self", "old", "other")
        assert all(asked[f"{SITE}{one}"] <= 1 for one in once), asked
        assert asked.total() <= 30, asked


def test_a_watch_that_goes_on_hardly_asks_for_them() -> None:
    """A page that was there, and led elsewhere after two days, and what never was one."""
    fleet = fleet_of("change-rate", f"{SITE}start")
    looks(fleet, BEGIN, 1_800.0, once=False)
    looks(fleet, BEGIN + 2 * DAY, 900.0, ("old",), once=False)
    asked = looks(fleet, BEGIN + 3 * DAY, 900.0, ("old",), once=False)
    assert asked[SITE] > 0.3 * asked.total()
    for one in ("away", "self", "old", "other"):
        assert asked[f"{SITE}{one}"] < 0.05 * asked.total(), asked
