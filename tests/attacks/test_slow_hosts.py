"""Hosts that never answer, or drip, or whose names nobody looks up: the others keep their rate."""

from __future__ import annotations

import heapq
from itertools import count

import numpy as np
import pytest

from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.keywords import Keywords
from spoor.policies.breadth_first import BreadthFirst
from spoor.politeness import RequestSlots
from spoor.types import Failed, Fetch, Fetched, Page, Sleep, Task

GOOD, BAD = 8, "bad"
SECONDS = 120.0
IN_FLIGHT = 16


def pages_of_good_hosts(
    bad: int, *, first: bool, answer: float = 30.0, per_host: int = 1, slots: int = IN_FLIGHT
) -> int:
    """Pages that good hosts, which answer in .3 s, give in two minutes beside so many that take
    `answer` seconds, all of whose links are known. `first`: theirs were found first."""
    frontier = MemoryFrontier(delay=1.0, per_host=per_host)
    frontier.bound_slow_hosts(slots)
    crawl = Crawl(BreadthFirst(Task(np.random.default_rng(0))), Keywords(["k"]), frontier)
    good = [f"http://good{host}.example/{n}" for n in range(200) for host in range(GOOD)]
    others = [f"http://{BAD}{host}.example/{n}" for n in range(3) for host in range(bad)]
    crawl.seed([*others, *good] if first else [*good, *others])
    limits = RequestSlots(slots)
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
        pages += fetch.host.startswith("good")

    while now < SECONDS:
        for ticket in limits.overdue(now):
            given_up.add(ticket)
            end(next(fetch for _, _, fetch in ends if fetch.ticket == ticket), answered=False)
            ends = [entry for entry in ends if entry[2].ticket != ticket]
            heapq.heapify(ends)
        free, until = limits.free(now), None
        while free > 0:
            step = crawl.next(now)
            if not isinstance(step, Fetch):
                until = step.until if isinstance(step, Sleep) else None
                break
            free -= 1
            limits.begin(step.ticket, step.host, now)
            limits.send(step.ticket, now)
            slow = step.host.startswith(BAD)
            heapq.heappush(ends, (now + (answer if slow else 0.3), next(number), step))
        assert len(ends) <= 2 * slots
        times = [time for time in (until, limits.next_change(now)) if time is not None]
        times += [ends[0][0]] if ends else []
        now = max(now + 1e-6, min(times))
        while ends and ends[0][0] <= now:
            fetch = heapq.heappop(ends)[2]
            end(fetch, answered=answer < 30.0 or not fetch.host.startswith(BAD))
    return pages


@pytest.mark.parametrize("answer", [30.0, 25.0])
@pytest.mark.parametrize("bad", [10, 200, 1000])
def test_slow_hosts_leave_the_others_their_rate(bad: int, answer: float) -> None:
    alone = pages_of_good_hosts(0, first=False)
    beside = pages_of_good_hosts(bad, first=False, answer=answer)
    assert beside >= 0.9 * alone
