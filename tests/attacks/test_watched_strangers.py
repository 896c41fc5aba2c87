"""A watched site does not keep another one's news from being told."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from noisy_news import article
from spoor.foragers.fleets import FleetTask, change_rate
from spoor.foragers.states import NoStates
from spoor.live import changes
from spoor.live.changes import ChangeTracker
from spoor.types import Fetch, Link, Outcome, Page, Redirected, Reply
from spoor.watching.hosts import Hosts
from spoor.watching.urls import NEVER
from spoor.watching.watching import Watching
from spoor.worlds.evolving import EvolvingWorld, Version
from stepping import run

SITE, STRANGER = "http://victim.example/", "http://evil.test/"
BEGIN = 1e9


def words(number: int) -> str:
    return " ".join(article(number))


@dataclass(frozen=True)
class Told:
    own: int
    """Documents of the site itself that are told as new."""
    chosen: int
    """Those to which the stranger alone links."""
    floods: tuple[str, ...]


def watched(versions: Sequence[Version], own: Sequence[str], hours: float) -> Told:
    begin = [Version(BEGIN - 5, url, "Front", "Front.", ()) for url in (SITE, STRANGER)]
    world = EvolvingWorld(
        sorted([*begin, *versions], key=lambda version: version.time),
        roots=[SITE, STRANGER],
        start=BEGIN,
        end=BEGIN + 86_400,
    )
    hosts, rng = Hosts(delay=2.0, per_host=1), np.random.default_rng(0)
    task = FleetTask([SITE, STRANGER], NoStates(), rng, hosts=hosts, watching=Watching())
    fleet = change_rate(task)
    lines = run(fleet, world, BEGIN + 3_600 * hours, ChangeTracker(fleet))
    new = {line["url"] for line in lines if line["kind"] == "new"}
    floods = tuple(line["title"] for line in lines if line["kind"] == "flood")
    return Told(len(new & set(own)), sum("search" in url for url in new), floods)


def test_pages_that_a_stranger_chooses_take_no_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each minute it links to six more searches at the site, which answers each with a page."""
    monkeypatch.setattr(changes, "MOST_TOLD", 20)
    versions, own = list[Version](), [f"{SITE}news/{number}" for number in range(15)]
    for minute in range(60):
        urls = tuple(f"{SITE}search?q=w{minute}x{at}" for at in range(6))
        for at, url in enumerate(urls):
            text = words(10_000 + 6 * minute + at)[:60]
            versions.append(Version(BEGIN - 1, url, f"Results for {url[-6:]}", text, ()))
        versions.append(Version(BEGIN + 60 * minute, STRANGER, "Front", f"At {minute}.", urls))
    for number, url in enumerate(own):
        when = BEGIN + 240 * number + 100
        versions.append(Version(when - 10, url, f"News {number}", words(number), ()))
        versions.append(Version(when, SITE, "Front", f"Number {number}.", tuple(own[: number + 1])))
    told = watched(versions, own, 1.2)
    assert told.own == len(own)
    assert told.chosen <= 40  # in each of two hours
    assert {title.partition(" to which ")[2] for title in told.floods} == {"only evil.test linked"}


def test_who_links_first_keeps_nothing_from_being_told() -> None:
    """New pages of the stranger link to each document of the site before its front page does."""
    versions, own = list[Version](), [f"{SITE}news/{number}" for number in range(6)]
    for number, url in enumerate(own):
        at = BEGIN + 600 * number + 300
        versions.append(Version(at - 120, url, f"News {number}", words(number), ()))
        versions.append(Version(at, SITE, "Front", f"Number {number}.", tuple(own[: number + 1])))
        for post in range(6):
            when = at - 100 + 10 * post
            page = f"{STRANGER}p{number}x{post}"
            text = words(9_000 + 6 * number + post)
            versions.append(Version(when, page, f"Post {number} {post}", text, (url,)))
            front = f"At {number} {post}."
            versions.append(Version(when + 0.1, STRANGER, "Front", front, (page,)))
    assert watched(versions, own, 1.1).own == len(own)


def test_redirects_of_a_stranger_do_not_choose_the_address_of_news(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its pages lead to each news as it comes, by a parameter that the site does not look at."""
    own = [f"{SITE}news/{number}" for number in range(12)]
    versions = list[Version]()
    for number, url in enumerate(own):
        when = BEGIN + 600 + 240 * number
        for address in (url, f"{url}?via=evil"):
            versions.append(Version(when - 10, address, f"News {number}", words(number), (SITE,)))
        links = tuple(f"{STRANGER}to/{one}" for one in range(number + 1))
        versions.append(Version(when - 5, STRANGER, "Front", f"It has {number}.", links))
        versions.append(Version(when, SITE, "Front", f"Number {number}.", tuple(own[: number + 1])))
    read = EvolvingWorld.answer

    def answer(world: EvolvingWorld, fetch: Fetch) -> Reply:
        if fetch.url.startswith(f"{STRANGER}to/"):
            number = fetch.url.rpartition("/")[2]
            return Redirected(fetch.ticket, f"{SITE}news/{number}?via=evil", 302)
        return read(world, fetch)

    monkeypatch.setattr(EvolvingWorld, "answer", answer)
    told = watched(versions, own, 1.5)
    assert told.own == len(own)


def test_a_redirect_of_a_stranger_is_not_followed_at_once() -> None:
    """What it leads to has a turn of its own, so that no look at another site costs a site one."""
    begin = [Version(BEGIN - 5, url, "Front", "Front.", ()) for url in (SITE, STRANGER)]
    world = EvolvingWorld(begin, roots=[SITE, STRANGER], start=BEGIN, end=BEGIN + 9)
    hosts, rng = Hosts(delay=2.0, per_host=1), np.random.default_rng(0)
    task = FleetTask(world.roots(), NoStates(), rng, hosts=hosts, watching=Watching())
    fleet = change_rate(task)
    steps = [fleet.next(BEGIN), fleet.next(BEGIN)]
    (step,) = (one for one in steps if isinstance(one, Fetch) and one.url == STRANGER)
    done = fleet.receive(Redirected(step.ticket, f"{SITE}a", 302), BEGIN + 1)
    assert isinstance(done, Outcome)
    assert fleet.known.find(f"{SITE}a") is not None


@pytest.mark.parametrize("too_early", [False, True])
def test_what_a_site_links_to_stands_for_copies_that_others_chose(*, too_early: bool) -> None:
    """The stranger's address was asked for first, and may have been before anything was there."""
    task = FleetTask([SITE, STRANGER], NoStates(), np.random.default_rng(0), watching=Watching())
    known, now = change_rate(task).known, BEGIN

    def read(url: str, text: str, *links: str) -> int:
        nonlocal now
        now += 10.0
        number = known.find(url)
        assert number is not None
        page = Page(url, title=text[:5], text=text, links=[Link(link) for link in links])
        known.see(number, page, now)
        known.links(number, page, now)
        return number

    chosen, own = f"{SITE}a?via=evil", f"{SITE}a"
    for url in (SITE, STRANGER):
        read(url, "Front.")
    known.number(chosen, NEVER, known.find(STRANGER) or 0, now)
    first = known.find(chosen)
    assert first is not None
    if too_early:
        known.tried(first, now + 1)
        known.absent(first, now + 1)
    read(chosen, words(1))
    read(SITE, "Front now.", own)
    number = read(own, words(1))
    assert known.fresh(number, now, 86_400.0)
    assert not known.fresh(first, now, 86_400.0)
