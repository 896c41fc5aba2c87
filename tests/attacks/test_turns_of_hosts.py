"""What one domain links or redirects to takes no turns of another's own links."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spoor import registry
from spoor.crawl import Crawl
from spoor.foragers.fleet import Fleet
from spoor.foragers.fleets import FleetTask
from spoor.foragers.hosts import Hosts
from spoor.foragers.states import NoStates
from spoor.foragers.watching import Watching
from spoor.frontier.memory import MemoryFrontier
from spoor.frontier.sqlite import SqliteFrontier
from spoor.judges.keywords import Keywords
from spoor.learn.state import pack, unpack
from spoor.live.refusing_hosts import RefusingHosts
from spoor.policies.breadth_first import BreadthFirst
from spoor.politeness.request_slots import RequestSlots
from spoor.protocols import Frontier
from spoor.types import Failed, Fetch, Fetched, Finished, Link, Page, Redirected, Sleep, Task
from spoor.web.link_filter import CrawlFilter
from spoor.web.scope import Scope
from spoor.web.urls import host

GOOD, EVIL = "http://good.example/", "http://start.evil.example/"


def frontier_of(folder: Path | None) -> Frontier:
    if folder is None:
        return MemoryFrontier(delay=1.0, per_host=1)
    return SqliteFrontier(folder / "frontier.db", delay=1.0, per_host=1)


def asked_of_good(
    names: int, seconds: float, *, own: int = 200, folder: Path | None = None, pages: int = 10_000
) -> list[str]:
    """Paths that are asked of a host with so many links of its own, in order, where each of so many
    names of another domain redirects to it; a reply takes .1 s. Saved and loaded now
    and then."""
    links = {
        GOOD: [Link(f"{GOOD}own/{n}") for n in range(own)],
        EVIL: [
            Link(f"http://n{n}.evil.example/{page}") for page in range(20) for n in range(names)
        ],
    }
    policy = BreadthFirst(Task(np.random.default_rng(0)))
    crawl = Crawl(policy, Keywords(["kiln"]), frontier_of(folder), pages=pages)
    crawl.seed([GOOD, EVIL])
    asked, flying = list[str](), list[tuple[float, Fetch]]()
    now = 0.0
    while now < seconds:
        step = crawl.next(now)
        if isinstance(step, Fetch):
            flying.append((now + 0.1, step))
            if step.host == "good.example":
                asked.append(step.url.removeprefix(GOOD))
            continue
        if isinstance(step, Finished):
            break
        now = min([at for at, _ in flying] + ([step.until] if isinstance(step, Sleep) else []))
        if flying and flying[0][0] <= now:
            fetch = flying.pop(0)[1]
            if fetch.url != EVIL and fetch.host.endswith("evil.example"):
                location = f"{GOOD}zz/{host(fetch.url)}/{fetch.url.rpartition('/')[2]}"
                crawl.receive(Redirected(fetch.ticket, location, 302), now)
            else:
                page = Page(fetch.url, links=tuple(links.get(fetch.url, ())))
                crawl.receive(Fetched(fetch.ticket, page), now)
            if not crawl.counts.requests % 16:
                crawl.load(unpack(pack(crawl.save())))
    return asked


@pytest.mark.parametrize("on_disk", [False, True])
def test_redirects_of_another_domain_leave_a_host_nine_turns_in_ten(
    tmp_path: Path, on_disk: bool
) -> None:
    folder = tmp_path if on_disk else None
    asked = Counter(path.split("/")[0] for path in asked_of_good(20, 60.0, folder=folder))
    alone = asked_of_good(0, 60.0)
    assert asked["own"] >= 0.88 * len(alone)
    assert asked["zz"] >= 4, "they get a turn, too"


def test_redirects_of_another_domain_have_all_turns_that_nobody_else_wants() -> None:
    asked = asked_of_good(5, 200.0, own=3)
    assert len([path for path in asked if path.startswith("zz")]) == 100, "all, a second each"


def test_redirects_that_wait_hold_no_page_of_the_budget() -> None:
    """Before its end the crawl has as many pages as it may, and then nobody waits any more."""
    asked = asked_of_good(20, 1_000.0, pages=52)
    assert len(asked) == 51
    assert sum(path.startswith("own") for path in asked) >= 45


def test_a_slow_page_does_not_silence_a_host_that_answers_in_time() -> None:
    """Anybody may link it, while hosts that never answer take the places of slow requests."""
    frontier, slots = MemoryFrontier(), RequestSlots(4)
    frontier.bound_slow_hosts(4)
    frontier.add([Link(f"{GOOD}{n}") for n in range(12)], -1, 0.0, 0)
    for ticket in range(1_000, 1_024):
        slots.begin(ticket, 0, 0.0)
        slots.send(ticket, 0.0)
    late, known, rests = {2, 3, 5}, list[int | None](), list[float]()
    for link in range(12):
        now = 100.0 * link
        known.append(frontier.times_late("good.example"))
        slots.begin(link, known[-1], now)
        slots.send(link, now)
        frontier.take(link, now)
        slots.free(now + 3.0)
        now += 3.0 if link in late else 0.1
        slots.receive(link, now)
        if link in late:
            frontier.no_answer(link, now)
        frontier.settle(link, now)
        rests.append(slots.end(link, answered=link not in late))
    # One answer in time makes up for the first; the second in a row costs 16, and a rest.
    assert known == [0, None, None, 1, 2, 2, 3, 3, 3, 3, 3, 3]
    assert [link for link, rest in enumerate(rests) if rest] == [3, 5]


def test_a_late_host_is_proven_again_sooner_where_it_was_before() -> None:
    frontier = MemoryFrontier()
    frontier.bound_slow_hosts(1)
    frontier.add([Link(f"{GOOD}{n}") for n in range(12)], -1, 0.0, 0)
    late, known = {1, 3, 6}, list[int | None]()
    for link in range(12):
        known.append(frontier.times_late("good.example"))
        frontier.take(link, 10.0 * link)
        frontier.settle(link, 10.0 * link + (5.0 if link in late else 0.1))
    assert known == [0, None, 1, None, 2, 2, None, 3, 3, 3, 3, None]


def test_refusals_of_what_others_link_do_not_slow_a_host_that_gives_pages() -> None:
    """Anybody may link what a firewall refuses. A refusal of a link of its own slows the host, and
    so does any where it never gave a page."""
    frontier = MemoryFrontier(delay=1.0)
    refusing, held = RefusingHosts(frontier), list[float]()
    page, refused = Fetched(0, Page(GOOD)), Failed(0, "refused")
    replies: list[tuple[Fetched | Failed, bool]]
    replies = [(refused, True), (page, False), (page, False), (refused, True)]
    for reply, foreign in replies:
        refusing.see("good.example", reply, 0.0, url=GOOD, foreign=foreign)
        frontier.add([Link(GOOD)], -1, 0.0, 0)
        held.append(frontier.next_ready(0.0) or 0.0)
    assert held[0] == held[-1] == 2.0, "the first one, and no other"
    for foreign in (True, False, True):
        refusing.see("good.example", refused, 100.0, url=GOOD, foreign=foreign)
        held.append((frontier.next_ready(100.0) or 0.0) - 100.0)
    assert held[-3:] == [0.0, 2.0, 4.0]


def test_what_others_link_asks_for_no_rest_of_a_host_that_gives_pages() -> None:
    """Anybody may link what is busy for a day."""
    frontier = MemoryFrontier(delay=1.0)
    refusing, rests = RefusingHosts(frontier), list[float]()
    page, busy = Fetched(0, Page(GOOD)), Failed(0, "http", "", 503, True, retry_after=86_400.0)
    said: list[tuple[Fetched | Failed, bool]]
    said = [(busy, True), (page, False), (busy, True), (busy, False), (busy, True)]
    frontier.add([Link(GOOD)], -1, 0.0, 0)
    for number, (reply, foreign) in enumerate(said):
        now = 1_000_000.0 * number
        refusing.see("good.example", reply, now, url=GOOD, foreign=foreign)
        rests.append((frontier.next_ready(now) or now) - now)
    assert rests == [60.0, 0.0, 0.0, 3_600.0, 60.0]


def test_one_page_asks_for_no_long_rest_of_a_host_that_gives_others() -> None:
    """A page of the host may list what a stranger wrote. Pages that ask for it one after the other
    speak for their host, and so does any where the host never gave a page."""
    page, busy = Fetched(0, Page(GOOD)), Failed(0, "http", "", 503, True, retry_after=86_400.0)
    again = ["a", "a", "b", "c", "d", "e", "f", "g", "h"]

    def rests(known: bool, pages: list[str]) -> list[float]:
        frontier = MemoryFrontier(delay=1.0)
        refusing, found = RefusingHosts(frontier, known=known), list[float]()
        frontier.add([Link(GOOD)], -1, 0.0, 0)
        for number, name in enumerate(pages):
            now = 1_000_000.0 * number
            refusing.see("good.example", page if name == "" else busy, now, url=GOOD + name)
            found.append((frontier.next_ready(now) or now) - now)
        return found

    longer = [3_600.0, 3_600.0, 14_400.0, 57_600.0, *[86_400.0] * 5]
    assert rests(True, again) == longer
    assert rests(False, ["", *again]) == [0.0, *longer]
    assert rests(False, ["", "a", "b", "", "c"]) == [0.0, 3_600.0, 14_400.0, 0.0, 3_600.0]
    assert rests(False, ["a", "", "a"]) == [86_400.0, 0.0, 3_600.0]


@pytest.mark.parametrize("linked_by", ["own", "stranger"])
def test_one_page_does_not_silence_a_watched_site(linked_by: str) -> None:
    """It is asked for once a day, and the others as before."""
    begin, other = 1e9, "http://evil.example/"
    bad = f"{GOOD}busy"
    links = {GOOD: [f"{GOOD}a"], other: []}
    links[GOOD if linked_by == "own" else other].append(bad)
    hosts = Hosts(delay=600.0, per_host=1)
    task = FleetTask(
        [GOOD, other], NoStates(), np.random.default_rng(0), hosts=hosts, watching=Watching()
    )
    fleet: Fleet = registry.build("fleets", "change-rate", task)
    refusing, now, asked = RefusingHosts(hosts, known=True), begin, list[str]()
    while now < begin + 3 * 86_400.0:
        step = fleet.next(now)
        if not isinstance(step, Fetch):
            now = max(now + 1.0, step.until if isinstance(step, Sleep) else now)
            continue
        asked.append(step.url)
        reply: Fetched | Failed = Failed(step.ticket, "http", "", 503, True, retry_after=86_400.0)
        if step.url != bad:
            found = [Link(url) for url in links.get(step.url, ())]
            reply = Fetched(step.ticket, Page(step.url, text=f"Text {now}.", links=found))
        foreign = isinstance(reply, Failed) and fleet.foreign(step.ticket)
        refusing.see(step.host, reply, now, url=step.url, foreign=foreign)
        fleet.receive(reply, now)
        if not len(asked) % 16:
            fleet.load(unpack(pack(fleet.save())))
        now += 1.0
    counts = Counter(asked)
    assert 1 <= counts[bad] <= 3
    assert counts[GOOD] + counts[f"{GOOD}a"] > 400, "each ten minutes"


def test_a_crawl_knows_what_only_other_domains_linked() -> None:
    crawl = Crawl(BreadthFirst(Task(np.random.default_rng(0))), Keywords(["k"]), MemoryFrontier())
    crawl.seed([GOOD, EVIL])
    own, strange, both = f"{GOOD}own", f"{GOOD}waf", f"{GOOD}both"
    moved = "http://n1.evil.example/moved"
    found = {GOOD: [own, both], EVIL: [strange, both, moved]}
    told = dict[str, bool]()
    while isinstance(step := crawl.next(0.0), Fetch):
        told[step.url] = crawl.foreign(step.ticket)
        if step.url == moved:
            crawl.receive(Redirected(step.ticket, f"{GOOD}to", 302), 0.0)
            continue
        links = tuple(Link(url) for url in found.get(step.url, ()))
        crawl.receive(Fetched(step.ticket, Page(step.url, links=links)), 0.0)
    expected = dict.fromkeys([GOOD, EVIL, own, both, moved], False)
    assert told == expected | {strange: True, f"{GOOD}to": True}


class Skipping(CrawlFilter):
    """Skips what one host lists once it is chosen, as what is held back later is."""

    def skip(self, link: int, url: str, *linked_by: Any) -> str:
        return "held back" if url.startswith(f"{EVIL}x") else super().skip(link, url, *linked_by)


@pytest.mark.parametrize("many", [0, 20_000])
def test_links_that_are_skipped_take_no_turns_of_others(many: int) -> None:
    """Each takes .6 ms, and they stand before all others. A host with a delay of 50 ms gives as
    many pages beside them, but for one in five."""
    links = {
        EVIL: [Link(f"{EVIL}x{n}") for n in range(many)],
        GOOD: [Link(f"{GOOD}{n}") for n in range(1_000)],
    }
    policy, frontier = BreadthFirst(Task(np.random.default_rng(0))), MemoryFrontier(delay=0.05)
    chosen = Skipping(Scope.of([EVIL, GOOD], "domain"))
    crawl = Crawl(policy, Keywords(["kiln"]), frontier, pages=10_000, link_filter=chosen)
    crawl.seed([EVIL, GOOD])
    good, now, longest = 0, 0.0, 0.0
    while now < 5.0:
        before = crawl.counts.skipped
        step = crawl.next(now)
        longest = max(longest, took := 0.0006 * (crawl.counts.skipped - before))
        now += took
        if isinstance(step, Fetch):
            good += step.url.startswith(GOOD)
            page = Page(step.url, text="kiln", links=tuple(links.get(step.url, ())))
            crawl.receive(Fetched(step.ticket, page), now)
        elif isinstance(step, Sleep):
            now = max(now, step.until)
    assert good >= 80
    assert longest < 0.05
