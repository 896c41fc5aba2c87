"""Whoever has a domain has names without end: what is kept by host is small once a host is done
with, or has a bound. `benchmarks/known_hosts.py` measures the same of many hosts."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Collection

import numpy as np
import pytest

from spoor.frontier.memory import MemoryFrontier
from spoor.learn.priority_queue import PriorityQueue
from spoor.live import refusing_hosts
from spoor.live.refusing_hosts import RefusingHosts
from spoor.types import Failed, Fetched, Link, LinkId, Page

HOSTS = 5_000
NAMES = [f"name-{number}.farm.example" for number in range(HOSTS)]
FREE = dict.fromkeys(NAMES).keys()


class Everything:
    """An offer of all links."""

    def __contains__(self, one: object) -> bool:
        return True

    def __len__(self) -> int:
        return HOSTS

    def hosts(self) -> Collection[str]:
        return FREE

    def draw(self, rng: np.random.Generator, k: int) -> list[LinkId]:
        raise NotImplementedError


def test_a_queue_keeps_little_of_hosts_without_links() -> None:
    gc.collect()
    tracemalloc.start()
    try:
        queue = PriorityQueue()
        for link, name in enumerate(NAMES):
            queue.push(link, f" {name}"[1:], 1.0 / (1 + link))
        offer = Everything()
        while queue:
            queue.pop(offer)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] < 100 * HOSTS
    finally:
        tracemalloc.stop()


def test_hosts_that_gave_a_page_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the latest it is kept; one before them rests as long as it asks, as one that never gave
    any."""
    monkeypatch.setattr(refusing_hosts, "MOST_HOSTS", 100)
    frontier = MemoryFrontier(delay=1.0)
    refusing, busy = RefusingHosts(frontier), Failed(0, "http", "", 503, retry_after=86_400.0)
    gc.collect()
    tracemalloc.start()
    try:
        for name in NAMES:
            refusing.see(name, Fetched(0, Page(f"http://{name}/")), 0.0, url=f"http://{name}/")
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] < 20 * HOSTS
    finally:
        tracemalloc.stop()
    rests = []
    for name in (NAMES[-1], NAMES[0]):
        refusing.see(name, busy, 0.0, url=f"http://{name}/")
        frontier.add([Link(f"http://{name}/")], -1, 0.0, 0)
        rests.append({host: free for host, *_, free in frontier.hosts()}[name])
    assert rests == [3_600.0, 86_400.0]
