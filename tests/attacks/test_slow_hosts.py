"""Hosts that never answer, or drip, or whose names nobody looks up: the others keep their rate."""

from __future__ import annotations

import asyncio
import gc
import heapq
import math
import socket
import threading
import weakref
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from protego import Protego

from document_makers import json_text
from loopback import ADDRESS, MISSING, Asked, Loopback, page, reply
from spoor.crawl import Crawl
from spoor.frontier import slow_hosts
from spoor.frontier.memory import WOKEN, MemoryFrontier
from spoor.frontier.sqlite import SqliteFrontier
from spoor.http.address_guard import MOST_ADDRESSES, AddressGuard
from spoor.http.names import Names
from spoor.isolate import helper_pool, parsing
from spoor.isolate.parsing import TakesLongError
from spoor.judges.keywords import Keywords
from spoor.learn.state import pack, unpack
from spoor.live.driver import HttpDriver
from spoor.live.helper_turns import (
    MOST_WAITING,
    HelperTurns,
    RiskyError,
)
from spoor.live.live_crawl import LiveCrawl
from spoor.live.loop_watch import LoopWatch
from spoor.policies.breadth_first import BreadthFirst
from spoor.politeness import request_slots, robots
from spoor.politeness.request_slots import UNREAD, RequestSlots, slow_places
from spoor.process_memory import few_collections
from spoor.runs import assemble
from spoor.runs.assemble import make_crawl
from spoor.runs.writer import RunWriter
from spoor.settings import Settings
from spoor.turns import LATELY, MOST_SITES, UNKNOWN, CrowdedError, SiteTimes
from spoor.types import (
    NO_PARENT,
    Deferred,
    Failed,
    Fetch,
    Fetched,
    Finished,
    Judgement,
    Link,
    Outcome,
    Page,
    Sleep,
    Task,
)
from spoor.watching.hosts import Hosts
from spoor.web.urls import host

GOOD, BAD = 8, "bad"
SECONDS = 60.0
IN_FLIGHT = 16


def pages_of_good_hosts(
    bad: int,
    *,
    first: bool,
    answer: float = 30.0,
    per_host: int = 1,
    slots: int = IN_FLIGHT,
    slow_page: str = "",
    mixed: bool = False,
) -> int:
    """Pages that good hosts, which answer in .3 s, give in a minute beside so many that take
    `answer` seconds, all of whose links are known. `first`: theirs were found first; `mixed`: the
    first link of each good host among theirs. `slow_page`: a URL of a good host that takes as long;
    pages of this host count then."""
    frontier = MemoryFrontier(delay=1.0, per_host=per_host)
    frontier.bound_slow_hosts(slow_places(slots))
    crawl = Crawl(BreadthFirst(Task(np.random.default_rng(0))), Keywords(["k"]), frontier)
    good = [f"http://good{host}.example/{n}" for n in range(200) for host in range(GOOD)]
    others = [f"http://{BAD}{host}.example/{n}" for n in range(3) for host in range(bad)]
    if mixed:
        some = [*others, *good[:GOOD]]
        crawl.seed([some[at] for at in np.random.default_rng(0).permutation(len(some))])
    crawl.seed([*others, *good] if first else [*good, *others])
    limits = RequestSlots(slots)
    counted = host(slow_page) if slow_page else "good"
    ends: list[tuple[float, int, Fetch]] = []
    given_up: set[int] = set()
    number, now, pages = count(), 0.0, 0

    def end(fetch: Fetch, *, answered: bool) -> None:
        nonlocal pages
        limits.receive(fetch.ticket, now)
        rest = limits.end(fetch.ticket, answered=answered)
        if rest:
            frontier.hold(fetch.host, now + rest)
        if answered:
            crawl.receive(Fetched(fetch.ticket, Page(fetch.url)), now)
        else:
            crawl.receive(Failed(fetch.ticket, "timeout", transient=True), now)
        pages += fetch.host.startswith(counted)

    while now < SECONDS:
        for ticket in limits.overdue(now):
            given_up.add(ticket)
            end(next(fetch for _, _, fetch in ends if fetch.ticket == ticket), answered=False)
            ends = [entry for entry in ends if entry[2].ticket != ticket]
            heapq.heapify(ends)
        until = None
        while limits.free(now) > 0:
            step = crawl.next(now)
            if not isinstance(step, Fetch):
                until = step.until if isinstance(step, Sleep) else None
                break
            late, share = frontier.times_late(step.host), frontier.share_of_time(step.choice.link)
            most = 30.0 * share if share < 1.0 else math.inf
            limits.begin(step.ticket, late, now, most=most)
            limits.send(step.ticket, now)
            slow = step.host.startswith(BAD) or step.url == slow_page
            heapq.heappush(ends, (now + (answer if slow else 0.3), next(number), step))
        assert len(ends) <= slots + slow_places(slots)
        times = [time for time in (until, limits.next_change(now)) if time is not None]
        times += [ends[0][0]] if ends else []
        now = max(now + 1e-6, min(times))
        while ends and ends[0][0] <= now:
            fetch = heapq.heappop(ends)[2]
            silent = fetch.host.startswith(BAD) or fetch.url == slow_page
            end(fetch, answered=answer < 30.0 or not silent)
    return pages


@pytest.mark.parametrize(
    ("bad", "answer", "per_host"), [(10, 30.0, 1), (200, 25.0, 1), (200, 30.0, 4), (1000, 30.0, 1)]
)
def test_slow_hosts_leave_the_others_their_rate(bad: int, answer: float, per_host: int) -> None:
    alone = pages_of_good_hosts(0, first=False, per_host=per_host)
    beside = pages_of_good_hosts(bad, first=False, answer=answer, per_host=per_host)
    assert beside >= 0.9 * alone


def test_many_mute_hosts_cost_little_from_the_start() -> None:
    """Also where good hosts are found among a thousand of them, each of which has to be tried."""
    alone = pages_of_good_hosts(0, first=False)
    assert pages_of_good_hosts(1000, first=False, mixed=True) >= 0.9 * alone


def test_hosts_that_were_late_keep_no_other_from_being_asked_once() -> None:
    """Three thousand were asked again and again, and good ones that came after them never."""
    assert pages_of_good_hosts(3000, first=True) >= 0.85 * pages_of_good_hosts(0, first=False)


@pytest.mark.parametrize("number", [2, 10])
@pytest.mark.parametrize("bad", [0, 1000])
def test_one_slow_page_which_anybody_may_link_does_not_silence_its_host(
    bad: int, number: int
) -> None:
    """It kept its host from all others for 30 seconds, three times."""
    slow_page = f"http://good0.example/{number}"
    alone = pages_of_good_hosts(0, first=False) / GOOD
    assert pages_of_good_hosts(bad, first=False, slow_page=slow_page) >= 0.7 * alone


def test_a_request_that_gives_way_does_so_only_where_little_comes() -> None:
    slots = RequestSlots(4)
    for ticket in range(3):
        slots.begin(ticket, None, 0.0, most=math.inf if ticket == 2 else 4.0)
        slots.send(ticket, 1.0)
    assert slots.next_change(3.0) == 3.0
    slots.bring(1, 1 << 20)
    slots.free(3.0)
    assert slots.next_change(3.0) == 5.0
    assert slots.overdue(4.9) == []
    assert slots.overdue(60.0) == [0]
    assert slots.overdue(300.0) == [0, 1], "a megabyte in four minutes is little"


@pytest.mark.parametrize("came", [UNREAD // 8, 1_000], ids=["plain", "packed"])
def test_replies_that_wait_to_be_read_hold_no_slot_but_have_a_bound(came: int) -> None:
    """On one core 350 pages of 250 kB waited for their parser with 64 requests in flight; and hosts
    that are new were given up as if others were mute. However few bytes came, what these stand for
    is held, too."""
    slots, tickets, now = RequestSlots(4), count(), 0.0
    with ExitStack() as unread:
        for more in (4, 4, 0):
            for _ in range(slots.free(now)):
                ticket = next(tickets)
                slots.begin(ticket, 0, now)
                slots.send(ticket, now)
                slots.bring(ticket, came)
                slots.receive(ticket, now)
                unread.enter_context(slots.reading(ticket, UNREAD // 8))
            assert slots.chance(ticket) == math.inf
            assert slots.free(now) == 0
            now += 10.0
            assert slots.free(now) == more
        assert slots.slow == 8
        slots.end(0, answered=True)
        assert (slots.free(now), slots.slow) == (1, 8)
    assert slots.slow == 11, "what waits for more than a reader is slow like any other"
    for ticket in range(1, 12):
        slots.end(ticket, answered=True)
    assert (slots.free(now), slots.slow) == (4, 0)


def test_hosts_that_come_after_slow_ones_have_their_turn() -> None:
    assert pages_of_good_hosts(200, first=True) > 0


# ---------------------------------------------------------------- the frontier


def play(frontier: MemoryFrontier, seed: int, steps: int) -> list[Any]:
    """Random requests of a frontier, some of which are answered late or not at all."""
    rng = np.random.default_rng(seed)
    seen: list[Any] = []
    taken: list[int] = []
    now = 0.0
    for step in range(steps):
        now += float(rng.exponential(0.7))
        link = frontier.due(now)
        if link is None and len(offer := frontier.offer(now)):
            link = min(offer.draw(np.random.default_rng(step), 1))
            assert link in offer
            assert frontier._hosts_of[link].name in offer.hosts()
        if link is not None and rng.random() < 0.8:
            frontier.take(link, now)
            taken.append(link)
        elif taken:
            done = taken.pop(int(rng.integers(len(taken))))
            if rng.random() < 0.3:
                frontier.no_answer(done, now)
            frontier.settle(done, now, now + 5.0 if rng.random() < 0.4 else None)
        risky = len(frontier._slow._risky)
        seen.append((link, len(frontier.offer(now)), sorted(frontier.offer(now).hosts()), risky))
        seen.append((frontier.next_ready(now), frontier.next_due(now)))
    return seen


@pytest.mark.parametrize("seed", range(4))
def test_both_frontiers_bound_slow_hosts_alike_and_go_on_alike(tmp_path: Path, seed: int) -> None:
    links = [Link(f"http://h{n % 9}.example/{n}") for n in range(120)]

    def made(frontier: MemoryFrontier) -> MemoryFrontier:
        frontier.bound_slow_hosts(3)
        frontier.add(links, -1, 0.0, 0)
        return frontier

    memory = made(MemoryFrontier(delay=1.0, per_host=2))
    disk = SqliteFrontier(tmp_path / "a", delay=1.0, per_host=2)
    made(disk)
    played = play(memory, seed, 80)
    assert play(disk, seed, 80) == played
    again = MemoryFrontier(delay=1.0, per_host=2)
    again.load(memory.save())
    moved = SqliteFrontier(tmp_path / "b", delay=1.0, per_host=2)
    moved.load(memory.save())
    state = disk.save()
    disk.close()
    reopened = SqliteFrontier(tmp_path / "a", delay=1.0, per_host=2)
    reopened.load(state)
    assert again.save().keys() == memory.save().keys()
    for frontier in (again, moved, reopened):
        # What is in flight comes back in the new process, which blames nobody for it.
        for link in [link for link, state in enumerate(frontier._state) if state == 1]:
            frontier.settle(link, 100.0, 100.0)
    expected = play(again, seed + 100, 80)
    for disk in (moved, reopened):
        assert play(disk, seed + 100, 80) == expected
        disk.close()


@pytest.mark.parametrize("disk", [False, True])
def test_while_new_hosts_wait_late_ones_have_a_quarter_of_the_places(
    disk: bool, tmp_path: Path
) -> None:
    frontier = SqliteFrontier(tmp_path / "a") if disk else MemoryFrontier()
    frontier.bound_slow_hosts(8)
    late = [Link(f"http://late{n}.example/{page}") for page in range(2) for n in range(8)]
    frontier.add(late, -1, 0.0, 0)
    frontier.offer(0.0)
    for link in range(8):
        frontier.take(link, 0.0)
        frontier.settle(link, 10.0, 20.0)
    frontier.add([Link(f"http://new{n}.example/") for n in range(6)], -1, 0.0, 0)
    taken = list[int]()
    for _ in range(8):
        due = frontier.due(20.0)
        offered = frontier.offer(20.0).draw(np.random.default_rng(0), 100)
        taken.append(min(offered) if due is None else due)
        frontier.take(taken[-1], 20.0)
    assert taken == [0, 1, 16, 17, 18, 19, 20, 21]
    if disk:
        frontier.load(frontier.save())
    frontier.settle(16, 20.1)
    assert frontier.due(21.0) == 2, "no other waits"


def test_a_host_that_was_late_is_not_proven_by_one_answer() -> None:
    frontier = MemoryFrontier()
    frontier.bound_slow_hosts(1)
    frontier.add([Link(f"http://a.example/{n}") for n in range(40)], -1, 0.0, 0)
    late = [True, *[False] * 7, True]
    proven = []
    for link, is_late in enumerate([*late, *[False] * 17]):
        frontier.take(link, 10.0 * link)
        frontier.settle(link, 10.0 * link + (slow_hosts.PATIENCE + 1.0 if is_late else 0.1))
        proven.append(frontier._hosts["a.example"].trust > 0)
    assert proven.index(True) == 9 + 15


def test_what_a_driver_runs_knows_how_its_hosts_answer(tmp_path: Path) -> None:
    frontier = MemoryFrontier()
    frontier.bound_slow_hosts(1)
    hosts = Hosts()
    frontier.add([Link(f"http://a.example/{n}") for n in range(5)], -1, 0.0, 0)
    known = []
    for link, answered in enumerate([False, False, True, True, False]):
        known.append((frontier.times_late("a.example"), hosts.times_late("a.example")))
        frontier.take(link, 10.0 * link)
        if not answered:
            frontier.no_answer(link, 10.0 * link + 0.1)
        frontier.settle(link, 10.0 * link + 0.1)
        hosts.settle("a.example", 0.0, answered=answered)
    # To a frontier, one that was late twice has to answer in time 16 times.
    assert known == [(0, 0), (1, 1), (2, 2), (2, None), (2, None)]
    assert (frontier.times_late("a.example"), hosts.times_late("a.example")) == (3, 1)
    settings = Settings(seeds=("http://a.example/",), topic="clay")
    with closing(RunWriter(tmp_path / "run", settings)) as folder:
        journal = LiveCrawl(folder, make_crawl(settings)).journal
        times_late = getattr(journal.frontier, "times_late", None)
        assert times_late is not None
        assert times_late("a.example") == 0


# ---------------------------------------------------------------- live


def crawled(server: Loopback, seeds: list[str], enough: int, **settings: Any) -> list[str]:
    """URLs of pages of a crawl that ends after so many."""
    got: list[str] = []

    def step(fetch: Fetch, done: Outcome | Deferred) -> None:
        if isinstance(done, Outcome) and isinstance(done.reply, Fetched):
            got.append(fetch.url)
            if len(got) == enough:
                driver.abort("enough")

    frontier = MemoryFrontier(delay=0.0, per_host=1)
    one = Settings(delay=0.0, in_flight=4, timeout=300.0, **settings)
    frontier.bound_slow_hosts(slow_places(one.in_flight))
    engine = Crawl(BreadthFirst(Task(np.random.default_rng(0))), Keywords(["k"]), frontier)
    engine.seed(seeds)
    driver = HttpDriver(engine, one, on_step=step)

    async def go() -> None:
        async with asyncio.timeout(60.0):
            await driver.run()

    asyncio.run(go())
    return got


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_slots, "PATIENCE", 0.2)
    monkeypatch.setattr(request_slots, "FIRST_PATIENCE", 0.2)
    monkeypatch.setattr(request_slots, "FIRST_CHANCE", 0.3)
    monkeypatch.setattr(slow_hosts, "PATIENCE", 0.2)


@pytest.mark.server
@pytest.mark.parametrize("hosts", [80, 160])
def test_good_pages_come_in_beside_hosts_that_never_answer(impatient: None, hosts: int) -> None:
    """Four slots; so many hosts, which come first, hold each request for ever. Eighty are more than
    half of the places of slow ones, and less than three quarters."""

    over = asyncio.Event()

    async def forever() -> Any:
        await over.wait()
        yield b""

    def answer(asked: Asked) -> Any:
        if asked.host.startswith(BAD):
            return forever()
        if asked.path == "/robots.txt":
            return reply("", media="text/plain")
        return page(*[f"/{n}" for n in range(30)])

    server = Loopback(answer)

    async def served() -> list[str]:
        async with server.serving():
            seeds = [f"http://{BAD}{n}.example/" for n in range(hosts)] + ["http://good.example/"]
            got = await asyncio.to_thread(
                crawled, server, seeds, 25, connect_to=f"{ADDRESS}:{server.port}"
            )
            over.set()
            held = asyncio.all_tasks() - {asyncio.current_task()}
            await asyncio.gather(*held, return_exceptions=True)
            return got

    got = asyncio.run(served())
    assert len(got) == 25
    assert all(url.startswith("http://good.example/") for url in got)


@pytest.mark.server
def test_a_page_that_its_host_never_answers_gives_way_to_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a time-out of five minutes, an eighth of which is a third of a second here."""
    monkeypatch.setattr(slow_hosts, "_FIRST_SHARE", 0.001)
    over = asyncio.Event()

    async def forever() -> Any:
        await over.wait()
        yield b""

    server = Loopback(
        lambda asked: forever() if asked.path == "/2" else page(*[f"/{n}" for n in range(30)])
    )

    async def served() -> list[str]:
        async with server.serving():
            there = f"{ADDRESS}:{server.port}"
            got = await asyncio.to_thread(
                crawled, server, ["http://a.example/"], 25, connect_to=there, robots=False
            )
            over.set()
            held = asyncio.all_tasks() - {asyncio.current_task()}
            await asyncio.gather(*held, return_exceptions=True)
            return got

    assert len(asyncio.run(served())) == 25


@pytest.mark.server
def test_hosts_that_never_answer_do_not_hold_up_the_end_of_a_crawl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four of them have four places of a budget of twenty. The run ends with its budget used, and
    goes on later with a larger one, which asks them again."""
    monkeypatch.setattr(assemble, "LATE_AFTER", 0.3)
    over = asyncio.Event()

    async def forever() -> Any:
        await over.wait()
        yield b""

    mute = True

    def answer(asked: Asked) -> Any:
        bad = asked.host.startswith(BAD)
        return forever() if bad and mute else page(*([] if bad else [f"/{n}" for n in range(30)]))

    server = Loopback(answer)
    settings = Settings(
        seeds=(*(f"http://{BAD}{n}.example/" for n in range(4)), "http://good.example/"),
        topic="kiln",
        policy="breadth-first",
        scope="anywhere",
        delay=0.0,
        in_flight=8,
        timeout=300.0,
        robots=False,
        traps=True,
    )

    def went(pages: int, there: str) -> tuple[str, set[str]]:
        one = replace(settings, pages=pages, connect_to=there)
        with closing(RunWriter(tmp_path / "run", one)) as folder:
            run = LiveCrawl(folder, make_crawl(folder.settings))
            reason = run.run()
            assert run.crawl.in_flight == 0
            return reason, {url for url, *_ in folder.judged()}

    async def served() -> None:
        nonlocal mute
        async with server.serving(), asyncio.timeout(60.0):
            there = f"{ADDRESS}:{server.port}"
            reason, got = await asyncio.to_thread(went, 20, there)
            assert reason == "budget of 20 pages reached"
            assert all(url.startswith("http://good.example/") for url in got)
            over.set()
            mute = False
            reason, got = await asyncio.to_thread(went, 35, there)
            held = asyncio.all_tasks() - {asyncio.current_task()}
            await asyncio.gather(*held, return_exceptions=True)
            assert {f"http://{BAD}{n}.example/" for n in range(4)} < got
            assert len(got) == 35

    asyncio.run(served())


def bad_names_wait(monkeypatch: pytest.MonkeyPatch, until: threading.Event) -> None:
    """Names of bad hosts are looked up in vain, and not before an event; others at once."""

    def getaddrinfo(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        if host.startswith(BAD):
            until.wait()
            raise socket.gaierror(socket.EAI_AGAIN, "gone")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ADDRESS, port))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


@pytest.mark.server
def test_names_that_nobody_looks_up_hold_nothing(
    impatient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    never = threading.Event()

    bad_names_wait(monkeypatch, never)
    server = Loopback(lambda asked: page(*[f"/{n}" for n in range(30)]))

    async def served() -> list[str]:
        async with server.serving():
            seeds = [f"http://{BAD}{n}.example/" for n in range(20)]
            seeds.append(f"http://good.example:{server.port}/")
            names = ("good.example", *[f"{BAD}{n}.example" for n in range(20)])
            return await asyncio.to_thread(
                crawled, server, seeds, 25, allow_private=names, robots=False
            )

    try:
        assert len(asyncio.run(served())) == 25
    finally:
        never.set()


def test_of_a_name_with_thousands_of_addresses_few_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An answer of 64 kB has some 4,000: they took 1.4 MB for each name, of which 50,000 are kept,
    and each connection looked at all of them."""

    def getaddrinfo(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        addresses = (f"8.8.{n >> 8}.{n & 255}" for n in range(4_000))
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)

    async def go() -> tuple[int, int]:
        guard = AddressGuard(Settings(), Names())
        used = await guard.resolve("many.example", 80)
        return len(used), len(await Names().resolve("many.example", 80))

    used, kept = asyncio.run(go())
    assert used == MOST_ADDRESSES
    assert MOST_ADDRESSES <= kept <= 100


def test_look_ups_have_a_bound_and_old_addresses_serve_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    going = threading.Event()
    going.set()

    def getaddrinfo(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        asked.append(host)
        going.wait()
        if host == "none":
            raise socket.gaierror(socket.EAI_NONAME, "none")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ADDRESS, port))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)

    async def go() -> None:
        names = Names(look_ups=2, keep=0.0)
        first, second = await asyncio.gather(names.resolve("a", 80), names.resolve("a", 81))
        assert [first[0]["port"], second[0]["port"], asked] == [80, 81, ["a"]]
        for _ in range(2):
            with pytest.raises(OSError, match="none"):
                await names.resolve("none")
        assert asked == ["a", "none"], "that there is none is known for a while"
        going.clear()
        monkeypatch.setattr("spoor.http.names._FRESH", 0.01)
        assert (await names.resolve("a"))[0]["host"] == ADDRESS, "the old one"
        waiting = [asyncio.create_task(names.resolve(name)) for name in ("b", "c", "d")]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        waiting[1].cancel()
        waiting[2].cancel()
        await asyncio.sleep(0)
        assert [name for name in "abcd" if names.waits(name)] == ["c", "d"], "its place is kept"
        going.set()
        assert (await waiting[0])[0]["host"] == ADDRESS
        assert (await names.resolve("d"))[0]["host"] == ADDRESS
        assert {"c", "d"} <= set(asked)
        await names.close()

    asyncio.run(go())


def test_names_whose_look_up_was_late_leave_threads_to_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They held all threads for ten seconds at a time, and no new name was looked up meanwhile."""
    going = threading.Event()
    going.set()

    bad_names_wait(monkeypatch, going)
    monkeypatch.setattr("spoor.http.names._FRESH", -1.0)  # each is late that brings nothing
    monkeypatch.setattr("spoor.http.names._KEEP_FAILURE", -1.0)

    async def go() -> None:
        names = Names(look_ups=4)
        bad = [f"{BAD}{n}" for n in range(8)]
        await asyncio.gather(*map(names.resolve, bad), return_exceptions=True)
        going.clear()
        waiting = [asyncio.create_task(names.resolve(name)) for name in bad]
        await asyncio.sleep(0)
        assert sum(map(names.waits, bad)) == 7, "one of four threads is theirs"
        for name in ("good", "better"):
            async with asyncio.timeout(5.0):
                assert (await names.resolve(name))[0]["host"] == ADDRESS
        going.set()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert not any(map(names.waits, bad))

    asyncio.run(go())


@pytest.mark.server
def test_a_host_whose_name_waits_for_others_is_not_judged_by_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It counted as late, and as a failure of its page."""
    going = threading.Event()
    seen: list[tuple[str, bool]] = []

    def failed(self: Crawl, reply: Failed, *rest: Any) -> Outcome | Deferred:
        done = plainly(self, reply, *rest)
        if not getattr(done, "url", BAD).startswith(f"http://{BAD}"):
            known = self.frontier._hosts[host(done.url)]  # type: ignore[union-attr, attr-defined]
            seen.append((reply.kind, bool(known.trust or known.misses)))
            going.set()
        return done

    plainly = Crawl._failed
    monkeypatch.setattr(Crawl, "_failed", failed)
    bad_names_wait(monkeypatch, going)
    monkeypatch.setattr("spoor.http.names._most_look_ups", lambda: 1)
    monkeypatch.setattr("spoor.live.page_requests._NAMES_WAIT", 0.05)
    server = Loopback(lambda asked: page())

    async def served() -> list[str]:
        async with server.serving():
            hosts = f"{BAD}.example", "good.example"
            seeds = [f"http://{one}:{server.port}/" for one in hosts]
            more = {"allow_private": hosts, "robots": False, "connect_timeout": 0.1}
            return await asyncio.to_thread(crawled, server, seeds, 1, **more)

    assert asyncio.run(served()) == [f"http://good.example:{server.port}/"]
    assert set(seen) == {("later", False)}


# ---------------------------------------------------------------- the loop


@pytest.mark.server
def test_no_collection_of_garbage_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a crawl makes a million objects, the young ones are collected in small numbers, and what
    was there before is not visited: all threads wait meanwhile."""
    before: list[list[int]] = [[] for _ in range(200_000)]
    visited: list[int] = []

    def look(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            counts = [
                len(gc.get_objects(generation)) for generation in range(info["generation"] + 1)
            ]
            visited.append(sum(counts))

    with few_collections():
        gc.callbacks.append(look)
        kept: list[list[int]] = [[] for _ in range(300_000)]
        gc.callbacks.remove(look)
    assert len(before) + len(kept) == 500_000
    assert 10 < len(visited) < 100
    assert max(visited) <= 150_000


def test_a_turn_of_the_crawl_does_not_hold_the_loop() -> None:
    """A judge that takes its time: the loop beats on, and its watch tells a hold where there is
    one."""
    judging = threading.Event()

    class Slow(Keywords):
        def judge(self, page: Page) -> Judgement:
            # Comes back only once the loop has gone on meanwhile.
            assert threading.current_thread() is not threading.main_thread()
            assert judging.wait(30.0)
            return super().judge(page)

    server = Loopback(lambda asked: page())

    async def go() -> float:
        async with server.serving():
            engine = Crawl(
                BreadthFirst(Task(np.random.default_rng(0))), Slow(["k"]), MemoryFrontier()
            )
            engine.seed(["http://a.example/"])
            settings = Settings(connect_to=f"{ADDRESS}:{server.port}", robots=False)
            asyncio.get_running_loop().call_later(0.05, judging.set)
            watch = LoopWatch()
            watch.start()
            await HttpDriver(engine, settings).run()
            watch.stop()
            assert engine.counts.pages == 1
            watch = LoopWatch()
            watch.start()
            await asyncio.sleep(0)
            threading.Event().wait(0.2)
            await asyncio.sleep(0.02)
            watch.stop()
            return watch.longest

    assert asyncio.run(go()) > 0.15


@pytest.mark.server
def test_a_reply_that_comes_while_a_turn_begins_wakes_the_next_turn() -> None:
    """One slot, taken when the turn counts what is free; its reply is there when the turn takes in
    what has come. Nothing else is in flight then, and nothing else would wake the crawl."""
    asked, turning, arrived = threading.Event(), threading.Event(), threading.Event()

    async def later() -> Any:
        asked.set()
        await asyncio.to_thread(turning.wait, 60.0)
        yield reply("<p>a page")

    class Arrivals(deque[Any]):
        def append(self, item: Any) -> None:
            super().append(item)
            arrived.set()

    class Waiting(ThreadPoolExecutor):
        def submit(self, call: Any, /, *arguments: Any, **more: Any) -> Any:
            def turn() -> Any:
                if asked.is_set() and not turning.is_set():
                    turning.set()
                    assert arrived.wait(60.0)
                return call(*arguments, **more)

            return super().submit(turn)

    server = Loopback(lambda asked: later() if asked.path == "/a" else MISSING)

    async def go() -> int:
        async with server.serving():
            one = Settings(
                per_host=1, in_flight=1, robots=False, connect_to=f"{ADDRESS}:{server.port}"
            )
            frontier = MemoryFrontier(delay=0.0, per_host=1)
            engine = Crawl(BreadthFirst(Task(np.random.default_rng(0))), Keywords(["k"]), frontier)
            engine.seed(["http://h.example/a", "http://h.example/b"])
            driver = HttpDriver(engine, one)
            driver._arrived, driver._thread = Arrivals(), Waiting(1)
            async with asyncio.timeout(60.0):
                running = asyncio.create_task(driver.run())
                await asyncio.to_thread(asked.wait, 60.0)
                driver.wake()
                await running
            return engine.counts.requests

    assert asyncio.run(go()) == 2


# ---------------------------------------------------------------- documents that take long


def turns_of(sites: list[str], times: SiteTimes) -> list[str]:
    """Whose documents a helper reads in turn, where all wait for a first one; those that are given
    up stand at the end, with a mark."""
    read, given_up, first = list[str](), list[str](), threading.Event()

    async def ask(turns: HelperTurns, site: str) -> None:
        try:
            await turns.read(site, lambda: read.append(site))
        except CrowdedError:
            given_up.append(f"-{site}")

    async def go() -> None:
        turns = HelperTurns(times)
        begun = asyncio.create_task(turns.read("first", lambda: first.wait(60)))
        await asyncio.sleep(0)
        asked = [asyncio.create_task(ask(turns, site)) for site in sites]
        cancelled = asyncio.create_task(ask(turns, "cancelled"))
        await asyncio.sleep(0)
        cancelled.cancel()
        first.set()
        await asyncio.gather(begun, *asked)
        turns.close()

    asyncio.run(go())
    return read + given_up


def test_documents_that_take_long_wait_for_those_that_do_not() -> None:
    times = SiteTimes(lambda: 0.0)
    times.took("good.example", 0.05)
    times.took("bad.example", 8.0, long=True)
    sites = ["bad.example", "new.example", "other.example", "good.example"]
    assert turns_of(sites, times) == [
        *("good.example", "new.example", "other.example", "bad.example")
    ]
    assert times.is_slow("bad.example")
    assert not times.is_slow("good.example")
    assert not times.is_slow("never-asked.example")
    risky = [name for name in ("good", "bad", "never-asked") if times.is_risky(f"{name}.example")]
    assert risky == ["never-asked"]


def test_new_sites_are_sent_elsewhere_once_a_document_took_long() -> None:
    times, begin = SiteTimes(lambda: 0.0), threading.Event()
    times.took("good.example", 0.05)
    done: list[str] = []

    def long() -> None:
        begin.wait(60)
        raise TakesLongError

    async def ask(turns: HelperTurns, site: str, call: Callable[[], Any]) -> None:
        try:
            await turns.read(site, call)
            done.append(site)
        except (RiskyError, TakesLongError) as error:
            done.append(f"{site}: {type(error).__name__}")

    async def go() -> None:
        turns = HelperTurns(times, careful=True)
        calls: dict[str, Callable[[], Any]] = {"bad": long, "new": list, "good": list}
        asked = [
            asyncio.create_task(ask(turns, f"{name}.example", call)) for name, call in calls.items()
        ]
        await asyncio.sleep(0)
        begin.set()
        await asyncio.gather(*asked)
        await ask(turns, "newer.example", list)
        turns.close()

    asyncio.run(go())
    assert sorted(done) == [
        "bad.example: TakesLongError",
        "good.example",
        "new.example: RiskyError",
        "newer.example: RiskyError",
    ]


def test_documents_of_a_site_that_takes_long_crowd_out_no_other() -> None:
    times = SiteTimes(lambda: 0.0)
    times.took("bad.example", 8.0, long=True)
    sites = ["bad.example"] * MOST_WAITING + ["good.example"] * 5
    done = turns_of(sites, times)
    assert done[:5] == ["good.example"] * 5
    assert done.count("-bad.example") == 6, (
        "as many as came beyond the bound, the cancelled one too"
    )
    assert len(done) == len(sites)


def test_what_a_site_took_is_forgotten() -> None:
    now = 0.0
    times = SiteTimes(lambda: now)
    times.took("bad.example", 8.0)
    now = LATELY
    assert times.lately("bad.example") == 4.0
    for number in range(MOST_SITES):
        times.took(f"{number}.example", 0.1)
    assert times.lately("bad.example") == UNKNOWN


def read_of_one_document(text: bytes = json_text("kiln")) -> Outcome | Deferred:
    """What came of a crawl of one page, which is a document that a helper reads."""
    helper_pool.close()
    server = Loopback(lambda asked: reply(text, media="application/json"))
    ended: list[Outcome | Deferred] = []

    async def go() -> None:
        async with server.serving():
            crawl = Crawl(
                BreadthFirst(Task(np.random.default_rng(0))),
                Keywords(["kiln"]),
                MemoryFrontier(),
                pages=1,
            )
            crawl.seed(["http://a.example/"])
            settings = Settings(connect_to=f"{ADDRESS}:{server.port}", robots=False)
            on_step = lambda fetch, step: ended.append(step)  # noqa: E731
            await HttpDriver(crawl, settings, on_step=on_step).run()

    asyncio.run(go())
    return ended[0]


def test_a_site_whose_documents_take_long_has_a_helper_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SiteTimes, "is_slow", lambda times, site: True)
    ended = read_of_one_document()
    assert isinstance(ended, Outcome)
    assert isinstance(ended.reply, Fetched)
    assert helper_pool._documents.helper is None
    assert helper_pool._slow.helper is not None
    helper_pool.close()


def test_a_document_that_takes_long_is_read_apart_though_its_site_is_new(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Twelve new sites with one document of eight seconds each left good hosts a fifth of their
    rate."""
    monkeypatch.setattr(parsing, "BRIEF", 0.001)
    ended = read_of_one_document(json_text("kiln " * 100_000))
    assert isinstance(ended, Outcome)
    assert isinstance(ended.reply, Fetched)
    assert helper_pool._documents.helper is not None
    assert not helper_pool._documents.helper.alive
    assert helper_pool._slow.helper is not None
    helper_pool.close()


# ---------------------------------------------------------------- hosts that ask to be left alone


def test_hosts_that_ask_to_be_left_alone_take_no_page_of_the_budget() -> None:
    policy = BreadthFirst(Task(np.random.default_rng(0)))
    learned: list[Outcome] = []
    policy.learn = learned.append  # type: ignore[assignment, method-assign]
    crawl = Crawl(policy, Keywords(["k"]), MemoryFrontier(), pages=5)
    crawl.seed([f"http://{BAD}{n}.example/" for n in range(5)])
    crawl.seed([f"http://good.example/{n}" for n in range(9)])
    now, got = 0.0, list[str]()
    while not isinstance(step := crawl.next(now), Finished):
        if isinstance(step, Sleep):
            now = step.until
            continue
        assert isinstance(step, Fetch)
        if step.host.startswith(BAD):
            crawl.receive(Failed(step.ticket, "http", transient=True, retry_after=86_400.0), now)
        else:
            crawl.receive(Fetched(step.ticket, Page(step.url)), now)
            got.append(step.url)
        state = crawl.save()
        crawl.load(state)
    assert (len(got), now < 100.0) == (5, True)
    assert sorted(one.reply.ticket for one in learned) == [*range(10)], "each was learned from once"


@pytest.mark.server
def test_a_crawl_does_not_wait_a_day_for_a_host_that_asks_to_be_left_alone() -> None:
    server = Loopback(lambda asked: reply("", 503, Retry_After="86400"))

    async def go() -> Finished:
        async with server.serving(), asyncio.timeout(60.0):
            policy = BreadthFirst(Task(np.random.default_rng(0)))
            engine = Crawl(policy, Keywords(["k"]), MemoryFrontier(delay=1.0, per_host=1))
            engine.seed(["http://a.example/", "http://a.example/b"])
            one = Settings(connect_to=f"{ADDRESS}:{server.port}", robots=False)
            return await HttpDriver(engine, one).run()

    assert asyncio.run(go()).reason == (
        "only hosts are left that ask to be left alone, a.example for 24 hours; give the same "
        "command to go on then"
    )
    assert server.pages == ["/"]


@pytest.mark.server
def test_a_host_that_asks_to_be_left_alone_ends_no_crawl_of_others() -> None:
    """Also where these have one request at a time, which the crawl is about to send."""

    def answer(asked: Asked) -> bytes:
        if asked.host.startswith(BAD):
            return reply("", 503, Retry_After="86400")
        return page(*[f"/{n}" for n in range(9)])

    server = Loopback(answer)

    async def go() -> Finished:
        async with server.serving(), asyncio.timeout(60.0):
            policy = BreadthFirst(Task(np.random.default_rng(0)))
            engine = Crawl(policy, Keywords(["k"]), MemoryFrontier(delay=0.01, per_host=1))
            engine.seed([f"http://{BAD}.example/", "http://good.example/"])
            one = Settings(connect_to=f"{ADDRESS}:{server.port}", robots=False)
            return await HttpDriver(engine, one).run()

    assert f"{BAD}.example" in asyncio.run(go()).reason
    assert len(server.pages) == 11


@pytest.mark.server
def test_no_delay_passes_before_a_page_that_may_not_be_asked_for() -> None:
    """Each host that did not answer held its place for the time of its robots.txt and a delay."""
    server = Loopback(lambda asked: reply("User-agent: *\nDisallow: /", media="text/plain"))

    async def go() -> Finished:
        async with server.serving(), asyncio.timeout(30.0):
            policy = BreadthFirst(Task(np.random.default_rng(0)))
            engine = Crawl(policy, Keywords(["k"]), MemoryFrontier(delay=60.0))
            engine.seed(["http://a.example/"])
            one = Settings(connect_to=f"{ADDRESS}:{server.port}")
            return await HttpDriver(engine, one).run()

    asyncio.run(go())
    assert server.pages == []


# ---------------------------------------------------------------- long robots.txt


@pytest.mark.server
def test_whoever_waits_holds_no_long_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 24 hosts at once; each held 7 MB until its page had come."""
    rules = "User-agent: *\n" + "".join(f"Disallow: /{n}\n" for n in range(9_000))
    kept, most = weakref.WeakSet[object](), list[int]()
    parse = Protego.parse

    def parsed(text: str) -> object:
        kept.add(found := parse(text))
        return found

    monkeypatch.setattr(Protego, "parse", parsed)
    monkeypatch.setattr(robots, "MOST_MEMORY", 1 << 20)

    def answer(asked: Asked) -> bytes:
        if asked.path == "/robots.txt":
            return reply(rules, media="text/plain")
        most.append(len(kept))
        return page()

    hosts = [f"http://h{n}.example/" for n in range(24)]
    server = Loopback(answer)

    async def go() -> None:
        async with server.serving(), asyncio.timeout(60.0):
            policy = BreadthFirst(Task(np.random.default_rng(0)))
            engine = Crawl(policy, Keywords(["k"]), MemoryFrontier())
            engine.seed(hosts)
            one = Settings(connect_to=f"{ADDRESS}:{server.port}", in_flight=24)
            await HttpDriver(engine, one).run()

    asyncio.run(go())
    assert len(most) == len(hosts)
    assert max(most) <= 4, "those of two turns, and what the cache keeps"


def test_who_can_give_up_nothing_later_gives_little_time_once_half_of_the_places_are_taken() -> (
    None
):
    slots = RequestSlots(2)
    half = slow_places(2) // 2
    for ticket in range(half + 1):
        slots.begin(ticket, 0, 0.0)
        assert slots.chance(ticket) == math.inf
    assert (slots.slow, slots.next_slow()) == (0, 0.25)
    slots.free(1.0)
    assert (slots.slow, slots.next_slow()) == (half + 1, None)
    for ticket, times_late, chance in ((90, 0, 0.6), (91, 2, 2.4), (92, 9, 16.0), (93, None, 16.0)):
        slots.begin(ticket, times_late, 1.0)
        assert slots.chance(ticket) == chance


@pytest.mark.parametrize("disk", [False, True])
def test_many_hosts_that_are_free_again_at_once_come_in_parts(disk: bool, tmp_path: Path) -> None:
    store: MemoryFrontier = MemoryFrontier(delay=1.0)
    if disk:
        store = SqliteFrontier(tmp_path / "frontier.db", delay=1.0)
    known = WOKEN + 10
    store.add([Link(f"http://h{at:05}.example/") for at in range(known)], NO_PARENT, 0.0, 0)
    for at in range(known):
        store.hold(f"h{at:05}.example", 1.0 + at / known)
    assert store.next_ready(0.0) == 1.0
    assert [len(store.offer(5.0).hosts()) for _ in range(2)] == [WOKEN, known]
    assert store.next_ready(5.0) == 5.0


def test_a_flood_of_new_hosts_holds_no_host_back_that_is_free_again() -> None:
    store = MemoryFrontier(delay=1.0)
    store.add([Link(f"http://kilns.example/{at}") for at in range(9)], NO_PARENT, 0.0, 0)
    asked = []
    for now in range(6):
        flood = [f"http://h{now}-{at:04}.example/" for at in range(WOKEN + 500)]
        offer = store.offer(float(now))
        if "kilns.example" in offer.hosts():
            link = next(
                link for link in store.open() if store.url(link).endswith(f"s.example/{now}")
            )
            asked.append(store.take(link, float(now)))
        store.add([Link(url) for url in flood], NO_PARENT, 0.0, 0)
        if now == 3:
            state = unpack(pack(store.save()))
            store = MemoryFrontier(delay=1.0)
            store.load(state)
    assert len(asked) == 6
    assert len(store.offer(6.0).hosts()) == 6 * WOKEN + 1, "and of the flood a part comes each time"
