"""What one domain links or redirects to takes no turns of another's own links."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spoor import registry
from spoor.crawl import Crawl
from spoor.crawl.skip_turns import SkipTurns
from spoor.foragers.fleet import Fleet
from spoor.foragers.fleets import FleetTask
from spoor.foragers.states import NoStates
from spoor.frontier.memory import MemoryFrontier
from spoor.frontier.sqlite import SqliteFrontier
from spoor.judges.keywords import Keywords
from spoor.learn.state import pack, unpack
from spoor.link_filter.link_filter import CrawlFilter
from spoor.link_filter.scope import Scope
from spoor.live.driver import HttpDriver
from spoor.live.refusing_hosts import RefusingHosts
from spoor.live.reply_turns import Arrived, ReplyTurns
from spoor.policies.breadth_first import BreadthFirst
from spoor.politeness.request_slots import RequestSlots
from spoor.protocols import Frontier
from spoor.settings import Settings
from spoor.types import (
    Choice,
    Failed,
    Fetch,
    Fetched,
    Finished,
    Link,
    Page,
    Redirected,
    Sleep,
    Task,
)
from spoor.watching.hosts import Hosts
from spoor.watching.watching import Watching
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
    for ticket in range(1_000, 1_000 + slots.places * 3 // 4):
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
    """Skips what one domain lists once it is chosen, as what is held back later is."""

    def skip(self, link: int, url: str, *linked_by: Any) -> str:
        listed = url != EVIL and host(url).endswith("evil.example")
        return "held back" if listed else super().skip(link, url, *linked_by)


@pytest.mark.parametrize(("names", "many"), [(1, 0), (1, 5_000), (50, 100), (2_000, 3)])
def test_links_that_are_skipped_take_no_turns_of_others(names: int, many: int) -> None:
    """Each takes .6 ms, and they stand before all others, under one name of a domain or many. A
    host with a delay of 50 ms gives nine pages in ten beside them."""
    links = {
        EVIL: [Link(f"{EVIL}x{n}") for n in range(many)],
        GOOD: [Link(f"{GOOD}{n}") for n in range(1_000)],
    }
    if names > 1:
        links[EVIL] = [
            Link(f"http://x{name}.evil.example/{n}") for n in range(many) for name in range(names)
        ]
    policy, frontier = BreadthFirst(Task(np.random.default_rng(0))), MemoryFrontier(delay=0.05)
    chosen = Skipping(Scope.of([EVIL, GOOD], "domain"))
    crawl = Crawl(policy, Keywords(["kiln"]), frontier, pages=10_000, link_filter=chosen)
    crawl.seed([EVIL, GOOD])
    good, now, longest = 0, 0.0, 0.0
    while now < 2.5:
        before = crawl.counts.skipped
        step = crawl.next(now)
        longest = max(longest, took := 0.0006 * (crawl.counts.skipped - before))
        now += took
        if isinstance(step, Fetch):
            good += step.url.startswith(GOOD)
            page = Page(step.url, text="kiln", links=tuple(links.get(step.url, ())))
            crawl.receive(Fetched(step.ticket, page), now)
            if not crawl.counts.requests % 16:
                crawl.load(unpack(pack(crawl.save())))
        elif isinstance(step, Sleep):
            now = max(now, step.until)
    assert good >= 45
    assert longest < 0.05


class Counted(MemoryFrontier):
    """Counts the hosts that are looked at."""

    looked_at = rested = 0

    def rest(self, host: str, until: float) -> float:
        self.rested += 1
        return super().rest(host, until)

    def hosts(self) -> Sequence[tuple[str, int, int, float]]:
        self.looked_at += len(self._hosts)
        return super().hosts()

    def open_of(self, host: str) -> int:
        self.looked_at += 1
        return super().open_of(host)


def test_hosts_that_rest_without_end_are_not_looked_at_at_each_turn() -> None:
    """Whether no other host has an open link is asked for whenever the only other host waits for
    its delay: with 50,000 hosts at rest that took .04 s, two times for each page."""
    frontier, seconds, names = Counted(delay=0.05), 4.0, 8_000
    listed = tuple(Link(f"http://x{name}.evil.example/") for name in range(names))
    policy = BreadthFirst(Task(np.random.default_rng(0)))
    chosen = Skipping(Scope.of([EVIL, GOOD], "domain"))
    crawl = Crawl(policy, Keywords(["kiln"]), frontier, link_filter=chosen)
    crawl.seed([EVIL])
    good, now = 0, 0.0
    while now < seconds:
        step = crawl.next(now)
        if isinstance(step, Fetch):
            own = tuple(Link(f"{GOOD}{n}") for n in range(200)) * (step.url == GOOD)
            page = Page(step.url, links=listed if step.url == EVIL else own)
            crawl.receive(Fetched(step.ticket, page), now)
            crawl.seed([GOOD])
            good += step.url.startswith(GOOD)
        else:
            assert isinstance(step, Sleep)
            now = max(now, step.until)
    assert good >= 78
    assert frontier.looked_at <= 125_000 * seconds + 2 * names


@pytest.mark.parametrize("seeds", [[EVIL], [EVIL, GOOD]])
def test_hosts_of_one_domain_rest_once_where_nobody_else_is_asked(seeds: list[str]) -> None:
    """A rest that is ended leaves its place in the frontier's queue: one for each skip and host
    would be millions."""
    frontier, names, many = Counted(), 1_000, 5
    urls = [f"http://x{name}.evil.example/{n}" for n in range(many) for name in range(names)]
    policy = BreadthFirst(Task(np.random.default_rng(0)))
    chosen = Skipping(Scope.of([EVIL, GOOD], "domain"))
    crawl = Crawl(policy, Keywords(["kiln"]), frontier, link_filter=chosen)
    crawl.seed(seeds)
    now = 0.0
    while not isinstance(step := crawl.next(now), Finished):
        if isinstance(step, Fetch):
            links = tuple(map(Link, urls)) * (step.url == EVIL)
            crawl.receive(Fetched(step.ticket, Page(step.url, links=links)), now)
        else:
            assert isinstance(step, Sleep)
            now = max(now, step.until)
    assert crawl.counts.skipped == names * many
    assert now < 5.0
    assert frontier.rested <= names * many + 3 * names


def test_links_that_are_skipped_take_no_time_where_nobody_else_is_asked() -> None:
    links = [Link(f"{EVIL}x{n}") for n in range(1_000)]
    policy = BreadthFirst(Task(np.random.default_rng(0)))
    chosen = Skipping(Scope.of([EVIL], "domain"))
    crawl = Crawl(policy, Keywords(["kiln"]), MemoryFrontier(), link_filter=chosen)
    crawl.seed([EVIL])
    while not isinstance(step := crawl.next(0.0), Finished):
        if isinstance(step, Fetch):
            crawl.receive(Fetched(step.ticket, Page(step.url, links=tuple(links))), 0.0)
        else:
            assert isinstance(step, Sleep)
            assert step.until == 0.0
    assert crawl.counts.skipped == 1_000


@pytest.mark.parametrize("delay", [0.0, 1.0])
def test_hosts_do_not_rest_for_one_another_once_no_other_is_asked(delay: float) -> None:
    """Of a hundred sites each has had its page, and lists fifty more: these are skipped at once, and
    the last site that still gives pages is asked in its turn until then."""
    seeds = [f"http://site{n}.example/" for n in range(100)]
    crawl = many_sites(seeds, delay)
    crawl.seed([*seeds, GOOD])
    now, good = 0.0, []
    while not isinstance(step := crawl.next(now), Finished):
        if isinstance(step, Fetch):
            count = 40 if step.url == GOOD else 50
            links = [Link(f"{step.url}x{n}") for n in range(count)] * (step.url in {*seeds, GOOD})
            good += [now] * step.url.startswith(GOOD)
            crawl.receive(Fetched(step.ticket, Page(step.url, links=tuple(links))), now)
            if not crawl.counts.requests % 20:  # a resume in the midst of it
                state, crawl = unpack(pack(crawl.save())), many_sites(seeds, delay)
                crawl.load(state)
        else:
            assert isinstance(step, Sleep)
            now = max(now, step.until)
    assert crawl.counts.skipped == 5_000
    assert len(good) == 41
    assert good[-1] <= 40 * delay + 1.0
    assert now <= good[-1] + 1.0


def many_sites(seeds: Sequence[str], delay: float) -> Crawl:
    """Each of the seeds gives a page."""
    return Crawl(
        BreadthFirst(Task(np.random.default_rng(0))),
        Keywords(["kiln"]),
        MemoryFrontier(delay=delay),
        link_filter=OneOfEach(Scope.of([*seeds, GOOD], "domain")),
    )


class OneOfEach(CrawlFilter):
    """Skips the links of the many sites once they are chosen, as `--pages-per-host 1` does."""

    def skip(self, link: int, url: str, *linked_by: Any) -> str:
        if host(url).startswith("site") and "/x" in url:
            return "its site has had its page"
        return super().skip(link, url, *linked_by)


def test_skips_of_many_domains_share_the_time() -> None:
    """However many domains there are, one rests until the others had as many."""
    turns, rests = SkipTurns(), dict[str, float]()
    skipped = 0
    for step in range(1_000):
        now = step / 100
        for name in range(200):
            url = f"http://n{name}.example/"
            if rests.get(url, 0.0) <= now:
                rests[url] = turns.skip(url, now)
                skipped += 1
        if not step % 100:
            saved = unpack(pack(turns.save()))
            turns = SkipTurns()
            turns.load(saved)
    assert 500 <= skipped <= 64 * 10 + 16 * 20
    assert turns.skip("http://new.example/", 1_000.0) == 1_000.0, "all are even by then"


def arrived(ticket: int, site: str, links: int, body: str = "") -> Arrived:
    url = f"http://{site}/{ticket}"
    page = Page(url, text=body, links=tuple(Link(f"{url}/{n}") for n in range(links)))
    fetch = Fetch(ticket, url, site, Choice(ticket, None, ()))
    return fetch, Fetched(ticket, page), None


def test_pages_of_thousands_of_links_leave_others_their_rate() -> None:
    """A good host asks again 85 ms after each reply was taken in; three domains have always another
    page of 5,000 links, which takes .2 s."""
    alone, beside = list[str](), list[str]()
    for many, taken in ((0, alone), (3, beside)):
        turns, now, ticket = ReplyTurns(16), 0.0, 0
        due, waiting = 0.0, dict[str, int]()
        while now < 120.0:
            for n in range(many):
                if waiting.setdefault(site := f"lists{n}.example", 0) == 0:
                    ticket, waiting[site] = ticket + 1, 1
                    turns.add(arrived(ticket, site, 5_000), now)
            if due <= now:
                ticket, due = ticket + 1, math.inf
                turns.add(arrived(ticket, "good.example", 10), now)
            one = turns.next(now)
            if one is None:
                now = min(due, turns.long_at(now))
                continue
            is_long = one[0].host != "good.example"
            now += (seconds := 0.2 if is_long else 0.002)
            turns.took(one, seconds, now)
            waiting[one[0].host] = 0
            taken.append(one[0].host)
            due = due if is_long else now + 0.083
    counts = Counter(beside)
    assert counts["good.example"] >= 0.9 * len(alone)
    lists = [counts[f"lists{n}.example"] for n in range(3)]
    assert sum(lists) >= 20
    assert max(lists) - min(lists) <= 1, "they take turns"


def test_long_pages_wait_for_nobody_where_nobody_else_is_asked() -> None:
    turns, found = ReplyTurns(16), list[int]()
    for ticket in range(8):
        turns.add(arrived(ticket, "lists.example", 5_000), 1.0)
    turns.add(arrived(8, "www.lists.example", 10), 1.0)
    while (one := turns.next(1.0)) is not None:
        turns.took(one, 0.2, 1.0)
        found.append(one[0].ticket)
    assert found == [8, *range(8)]
    turns.add(arrived(9, "good.example", 10), 2.0)
    turns.add(arrived(10, "lists.example", 5_000), 2.0)
    assert turns.next(2.0)
    assert turns.next(2.0) is None, "somebody else was asked"
    assert turns.next(2.0, hurry=True), "and nobody is any more"


def test_a_domain_whose_pages_take_long_without_links_waits_like_others() -> None:
    """As pages of a watch with a thousand sentences."""
    turns = ReplyTurns(16)

    def come(ticket: int, site: str, now: float) -> None:
        turns.add(arrived(ticket, site, 4), now)

    come(0, "good.example", 0.0)
    come(1, "n0.texts.example", 0.0)
    come(2, "n1.texts.example", 0.0)
    for seconds in (0.002, 0.3, 0.3):
        one = turns.next(0.0)
        assert one, "one that took long may have been none of the domain's doing"
        turns.took(one, seconds, 0.0)
    come(3, "n2.texts.example", 1.0)
    come(4, "good.example", 1.0)
    one = turns.next(1.0)
    assert one
    assert one[0].ticket == 4
    assert turns.next(1.0) is None, "the others have their time first"
    one = turns.next(12.0)
    assert one
    turns.took(one, 0.01, 12.0)
    come(5, "n3.texts.example", 13.0)
    assert turns.ready, "it takes long no more"


def test_what_a_crawl_does_of_itself_says_nothing_about_links() -> None:
    turns = ReplyTurns(16)
    for ticket in range(20):
        turns.took(arrived(ticket, f"n{ticket}.example", 10), 1.0, 0.0)
    turns.add(arrived(20, "good.example", 1_000), 0.0)
    assert turns.ready


def test_nobody_else_can_answer_while_a_long_page_is_taken_in() -> None:
    turns = ReplyTurns(16)
    turns.add(arrived(0, "good.example", 10), 5.0)
    assert turns.next(5.0)
    for ticket in (1, 2):
        turns.add(arrived(ticket, "lists.example", 5_000), 5.0)
    one = turns.next(5.0)
    assert one
    turns.took(one, 20.0, 25.0)
    assert turns.next(26.0) is None, "somebody else was asked just before"
    assert turns.next(30.0)


def test_others_are_asked_between_two_long_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each reply takes a second of the processor."""
    crawl = Crawl(BreadthFirst(Task(np.random.default_rng(0))), Keywords(["x"]), MemoryFrontier())
    crawl.seed([f"http://n{n}.example/" for n in range(4)])
    driver = HttpDriver(crawl, Settings(), clock=lambda: 0.0)
    fetches = [one.fetch for one in driver._turn(2)[0]]
    monkeypatch.setattr("spoor.live.driver.time.thread_time", count().__next__)
    for fetch in fetches:
        driver._arrived.append((fetch, Fetched(fetch.ticket, Page(fetch.url)), None))
    assert len(driver._turn(2)[0]) == 1, "the other one still holds its place"
    assert crawl.counts.pages == 1
    assert len(driver._turn(1)[0]) == 1
    assert crawl.counts.pages == 2


def test_long_pages_that_wait_hold_half_of_the_places() -> None:
    turns = ReplyTurns(16)
    turns.add(arrived(0, "good.example", 10), 0.0)
    turns.took(arrived(1, "lists.example", 5_000), 1.0, 0.0)
    for ticket in range(2, 2 + 8 + 3):
        site = "other.example" if ticket == 2 else f"n{ticket}.lists.example"
        turns.add(arrived(ticket, site, 5_000), 0.0)
    replies = []
    while (one := turns.next(0.0)) is not None:
        replies.append(one)
    later = [(one[0].ticket, one[1]) for one in replies if isinstance(one[1], Failed)]
    assert [ticket for ticket, _ in later] == [10, 11, 12]
    assert {(reply.kind, reply.transient, reply.retry_after) for _, reply in later} == {
        ("later", True, 60.0)
    }
    assert len(turns) == 8


def test_a_long_page_that_holds_the_only_place_waits_for_nobody() -> None:
    turns = ReplyTurns(1)
    turns.add(arrived(0, "good.example", 10), 0.0)
    turns.took(arrived(1, "lists.example", 5_000), 1.0, 0.0)
    turns.add(arrived(2, "lists.example", 5_000), 0.0)
    assert turns.next(0.0)
    assert turns.next(0.0)
