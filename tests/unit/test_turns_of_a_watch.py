"""On what a watch of few requests spends them: known pages that bring what is new come first."""

from __future__ import annotations

from collections import Counter

import pytest

from kiln_watch import LIT, fleet_of
from noisy_news import article
from spoor.durations import DAY
from spoor.foragers.revisit import ChangeRate
from spoor.learn.state import pack, unpack
from spoor.types import Fetch, Page, Sleep
from spoor.watching.urls import NEVER
from spoor.worlds.evolving import EvolvingWorld, Version

SITE = "http://news.example/"
BEGIN = 1e9
OLD, LISTED, DAYS = 400, 60, 4


def site() -> EvolvingWorld:
    """A front page that stays; a list, one link from it, of which a document on topic comes each
    six hours; and many old pages, of which a quarter is on topic and edited each second day."""
    old = [f"{SITE}old{number}" for number in range(OLD)]
    versions = [Version(BEGIN - DAY, SITE, "Front", "Front.", (f"{SITE}list", *old))]
    for number, url in enumerate(old):
        wanted = number % 4 == 0
        text = [*article(number), *([LIT] if wanted else [])]
        versions.append(Version(BEGIN - 90 * DAY, url, url, " ".join(text)))
        if wanted:
            for day in range(DAYS // 2):
                text = [*text, f"It was seen again by the people of town {day}."]
                at = BEGIN + (2 * day + number / OLD) * DAY
                versions.append(Version(at, url, url, " ".join(text)))
    stories = [f"{SITE}story{number}" for number in range(LISTED + 4 * DAYS)]
    for number, url in enumerate(stories):
        at = BEGIN - DAY if number < LISTED else BEGIN + (number - LISTED + 0.5) * DAY / 4
        versions.append(Version(at, url, url, " ".join([*article(1_000 + number), LIT])))
        if number >= LISTED - 1:
            shown = tuple(stories[: number + 1])
            versions.append(Version(at, f"{SITE}list", "List", "List.", shown))
    return EvolvingWorld(versions, roots=[SITE], start=BEGIN, end=BEGIN + DAYS * DAY)


def test_a_watch_of_few_requests_has_them_for_pages_that_bring_what_is_new() -> None:
    """Of 60 requests a day half went to what stood there at the first look, and of the rest most
    to pages on topic that are edited now and then."""
    world, fleet, now, asked = site(), fleet_of(SITE, 60), BEGIN, Counter[str]()
    while now < world.end:
        step = fleet.next(now)
        if isinstance(step, Sleep):
            now = step.until
            world.advance(min(now, world.end))
            continue
        assert isinstance(step, Fetch)
        known = fleet.known
        number = known.number(step.url)
        if now > BEGIN + DAY:
            if known.fetched[number] > NEVER:
                asked[step.url.removeprefix(SITE)[:3]] += 1
            else:
                asked["new" if known.came(number) else "explored"] += 1
        now += 0.5
        fleet.receive(world.answer(step), now)
        if fleet.counts.requests % 50 == 0:
            before, fleet = fleet, fleet_of(SITE, 60)
            fleet.load(unpack(pack(before.save())))  # it goes on as it was
    assert asked["new"] >= 4 * (DAYS - 1) - 1
    assert 0.1 <= asked["explored"] / asked.total() <= 0.22
    assert asked["lis"] > asked["old"] / 2


def test_an_edit_of_a_known_page_pays_a_quarter_of_a_new_document() -> None:
    fleet = fleet_of(SITE, 60)
    crew, known = fleet.crew, fleet.known
    assert isinstance(crew, ChangeRate)
    watching = known.watching
    assert watching is not None
    numbers = [known.number(f"{SITE}{name}", NEVER, 0) for name in ("list", "text")]
    rates = crew.pages
    for number in numbers:
        watching.take(number, "news.example", Page(known.urls[number], text=LIT), first=True)
        known.version[number] = 1
        rates.catch_up()
        rates.shown(number, BEGIN, fetched=True)
        rates.asked(number, BEGIN, fetched=True)
    nothing = rates.pay(BEGIN)[numbers]
    assert nothing[0] == pytest.approx(nothing[1])
    rates.changes[numbers[0]] += 1  # a document was new to which it led
    known.version[numbers[1]] = 2
    for number in numbers:
        rates.asked(number, BEGIN, fetched=True)
    more = rates.pay(BEGIN)[numbers] - nothing
    assert more[0] == pytest.approx(4 * more[1], rel=0.02)  # it says a little of others, too
