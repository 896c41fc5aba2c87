"""Names of one domain that lead to the server of another site do not multiply what it is asked."""

from __future__ import annotations

import gc
import time
from pathlib import Path

import numpy as np

import spoor
from loopback import ADDRESS, Asked, Loopback, beside, page, reply
from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.http.shared_clocks import AT_ONCE, SharedClocks, clocks_of
from spoor.judges.keywords import Keywords
from spoor.learn.state import pack, unpack
from spoor.policies.breadth_first import BreadthFirst
from spoor.politeness.request_limits import RequestLimits, Turn
from spoor.types import Deferred, Failed, Fetch, Fetched, Page, Task

NAMES = [f"n{number}.evil.example" for number in range(40)]


def test_names_at_one_address_share_a_clock() -> None:
    limits = RequestLimits(per_host=1)
    hosts = [*NAMES, "other.example"]
    asked = {
        limits.ask(host, 2.0, 0.0, clocks=clocks_of(host, ["192.0.2.1", "192.0.2.2"])): host
        for host in hosts
    }
    began: list[tuple[float, str]] = []
    now = 0.0
    again: float | None = 0.0
    turns: list[Turn]
    while again is not None and now < 20.0:
        now = again
        turns, again = limits.admit(now)
        for turn in turns:
            began.append((now, asked[turn]))
            limits.end(turn, now)
        again = limits.admit(now)[1] if again is None else again
    assert [at for at, host in began if host in NAMES] == [2.0 * n for n in range(11)]
    assert (0.0, "other.example") in began, "another domain there has a clock of its own"


def test_a_name_of_many_addresses_has_the_clock_of_each() -> None:
    """Whoever has the domain chooses which addresses stand beside the one that is meant."""
    limits = RequestLimits(per_host=1)
    for number, host in enumerate(NAMES):
        limits.ask(host, 2.0, 0.0, clocks=clocks_of(host, ["192.0.2.1", f"198.51.100.{number}"]))
    assert len(limits.admit(0.0)[0]) == 1


def test_hosts_in_flight_cost_the_same_each_however_many_they_are() -> None:
    """Beyond a thousand, as many as never answer beside 300 in flight, each looked at all others."""
    limits, clocks = RequestLimits(per_host=1), SharedClocks()

    def seconds(hosts: range) -> float:
        began = time.process_time()
        for number in hosts:
            names = [f"clock of {number}"]
            assert clocks.enter(names, 1.0, 0.0) is None
            limits.ask(f"{number}.example", 1.0, 0.0, clocks=names)
        return time.process_time() - began

    gc.disable()  # it looks at what all other tests left
    try:
        few, many = seconds(range(500)), seconds(range(500, 4_000))
    finally:
        gc.enable()
    assert many < 30 * few


def test_few_names_are_visited_at_a_time_and_the_others_come_by_turns() -> None:
    clocks = SharedClocks()
    told = [clocks.enter(clocks_of(name, ["192.0.2.1"]), 1.0, 0.0) for name in NAMES]
    assert told[:AT_ONCE] == [None] * AT_ONCE
    assert told[AT_ONCE:] == [float(n) for n in range(1, len(NAMES) - AT_ONCE + 1)]
    names = clocks_of(NAMES[0], ["192.0.2.1"])
    # One that was visited comes after those that were not.
    assert clocks.leave(names, 1.0, 0.0) == 37.0
    assert clocks.enter(names, 1.0, 0.0) is None, "a place is free"
    assert clocks.leave(names, 1.0, 100.0) is None, "nobody waits any more"
    assert clocks.enter(clocks_of("a.example", ["192.0.2.1"]), 1.0, 0.0) is None


def test_a_page_that_was_not_asked_for_yet_has_all_its_attempts() -> None:
    crawl = Crawl(BreadthFirst(Task(np.random.default_rng(0))), Keywords(["k"]), MemoryFrontier())
    crawl.seed(["http://a.evil.example/"])
    for number in range(10):
        fetch = crawl.next(float(number))
        assert isinstance(fetch, Fetch)
        later = Failed(fetch.ticket, "later", transient=True, retry_after=1.0)
        assert isinstance(crawl.receive(later, float(number)), Deferred)
        crawl.load(unpack(pack(crawl.save())))
    fetch = crawl.next(10.0)
    assert isinstance(fetch, Fetch)
    crawl.receive(Fetched(fetch.ticket, Page(fetch.url)), 10.0)
    assert crawl.counts.pages == 1


def test_a_crawl_asks_a_server_of_many_names_no_faster(tmp_path: Path) -> None:
    server, delay = Loopback(lambda asked: answer(asked)), 0.1
    times: list[float] = []

    def answer(asked: Asked) -> bytes:
        if asked.host != "evil.example":
            times.append(time.monotonic())
        if asked.path == "/robots.txt":
            return reply("")
        links = [f"http://{name}/" for name in NAMES] if asked.host == "evil.example" else ()
        return page(*links, text=f"clay {asked.host}")

    with beside(server.serving):
        run = spoor.run(
            "http://evil.example/",
            "clay",
            out=tmp_path / "run",
            progress=False,
            delay=delay,
            pages=15,
            connect_to=f"{ADDRESS}:{server.port}",
        )
    assert len(list(run.pages())) == 15
    assert len(times) >= 28, "a robots.txt and a page of each"
    assert times[-1] - times[0] >= 0.9 * delay * (len(times) - 1)
