"""A watched domain of many hosts takes no other's share of the requests of the day."""

from __future__ import annotations

import pytest

from spoor.durations import DAY
from spoor.learn.state import pack, unpack
from spoor.watching.hosts import Hosts

VICTIM = "victim.example"


def longest_wait(names: int, *, own: float = 900.0, total: int = 1_200) -> tuple[float, int]:
    """Seconds that the victim, which is asked each `own` seconds, waits for the budget at most
    within a day, and requests to all hosts of the other domain, which are asked whenever it has
    one. Saved and loaded now and then."""
    hosts = Hosts(total_per_day=total)
    others = [f"n{number}.evil.example" for number in range(names)]
    longest, due, sent = 0.0, own, 0
    for now in range(0, int(DAY), 10):
        for name in others:
            if hosts.free(name, float(now)):
                hosts.take(name, float(now))
                hosts.settle(name, float(now))
                sent += 1
        while due <= now and hosts.free(VICTIM, float(now)):
            hosts.take(VICTIM, float(now))
            hosts.settle(VICTIM, float(now))
            longest, due = max(longest, now - due), due + own
        if now % 7_200 == 0:
            state = unpack(pack(hosts.save()))
            hosts = Hosts(total_per_day=total)
            hosts.load(state)
    return max(longest, DAY - due - own), sent


@pytest.mark.parametrize("names", [1, 20])
def test_many_hosts_of_one_domain_take_no_others_share(names: int) -> None:
    wait, sent = longest_wait(names)
    assert wait <= 160.0, "a request of the budget comes each 80 seconds"
    assert sent >= 950, "what the victim leaves"


def test_a_domain_alone_has_the_whole_budget() -> None:
    hosts, sent = Hosts(total_per_day=1_200), 0
    for now in range(0, int(DAY), 10):
        if hosts.free(VICTIM, float(now)):
            hosts.take(VICTIM, float(now))
            hosts.settle(VICTIM, float(now))
            sent += 1
    assert 1_190 <= sent <= 1_200
