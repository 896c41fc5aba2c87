"""What a host costs in memory once it is known, kind by kind.

    .venv/bin/python benchmarks/known_hosts.py [--hosts 100000]

enters so many names of one domain, each with one link, into what a live crawl keeps by host, and
prints one JSON object: kind → bytes of a host whose link is open, and of one that was asked, gave
a page and has no link left. Whoever has a domain has names without end, so the second must be
small. What a link costs beside its host is in it: each host has one.
"""

from __future__ import annotations

import argparse
import gc
import json
import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from spoor.frontier.memory import MemoryFrontier
from spoor.frontier.sqlite import SqliteFrontier
from spoor.learn.priority_queue import PriorityQueue
from spoor.live.refusing_hosts import RefusingHosts
from spoor.politeness.robots import RobotsCache, origin_of
from spoor.types import NO_PARENT, Fetched, Link, Page
from spoor.web.robots import from_reply
from spoor.web.urls import host

AT_ONCE = 100
"""Links of a page."""


def urls(hosts: int) -> list[list[str]]:
    """Of so many names, by page."""
    every = [f"http://name-{number:06}.farm.example/" for number in range(hosts)]
    return [every[at : at + AT_ONCE] for at in range(0, hosts, AT_ONCE)]


def of_frontier(frontier: MemoryFrontier, hosts: int) -> tuple[Callable[[], None], ...]:
    frontier.configure(delay=1.0, per_host=1)
    frontier.bound_slow_hosts(16)

    def enter() -> None:
        for page in urls(hosts):
            frontier.add([Link(url) for url in page], NO_PARENT, 0.0, 1)

    def ask() -> None:
        now = 0.0
        for link in range(hosts):
            frontier.take(link, now)
            frontier.settle(link, now)
            frontier.offer(now)
            now += 0.01
        frontier.offer(now + 60.0)

    return enter, ask


def of_queue(hosts: int) -> tuple[Callable[[], None], ...]:
    queue, names = PriorityQueue(), MemoryFrontier()

    def enter() -> None:
        values = np.random.default_rng(0).random(AT_ONCE)
        for at, page in enumerate(urls(hosts)):
            links = range(at * AT_ONCE, at * AT_ONCE + len(page))
            queue.push_all(links, [host(url) for url in page], values[: len(page)])

    def ask() -> None:
        class Everything:
            def hosts(self) -> Any:
                return self

            def __contains__(self, one: object) -> bool:
                return True

        while queue:
            queue.pop(Everything())  # type: ignore[arg-type]

    del names
    return enter, ask


def of_robots(hosts: int) -> tuple[Callable[[], None], ...]:
    cache = RobotsCache()

    def ask() -> None:
        for number, url in enumerate(url for page in urls(hosts) for url in page):
            rules = from_reply(404, b"", "spoor", url=url)
            cache.store(origin_of(url), rules, 0.01 * number, "status 404")

    return lambda: None, ask


def of_refusals(hosts: int) -> tuple[Callable[[], None], ...]:
    refusing = RefusingHosts(MemoryFrontier())
    names = [host(url) for page in urls(hosts) for url in page]  # the frontier has them, too

    def ask() -> None:
        for number, name in enumerate(names):
            url = f"http://{name}/"
            refusing.see(name, Fetched(number, Page(url)), 0.01 * number, url=url)

    return lambda: None, ask


def measured(steps: tuple[Callable[[], None], ...], hosts: int) -> list[float]:
    gc.collect()
    tracemalloc.start()
    told = []
    for step in steps:
        step()
        gc.collect()
        told.append(round(tracemalloc.get_traced_memory()[0] / hosts, 1))
    tracemalloc.stop()
    return told


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--hosts", type=int, default=100_000)
    hosts = parser.parse_args().hosts
    with tempfile.TemporaryDirectory() as place:
        on_disk = SqliteFrontier(Path(place) / "frontier.db")
        kinds = {
            "frontier in memory": of_frontier(MemoryFrontier(), hosts),
            "frontier on disk": of_frontier(on_disk, hosts),
            "queue of a policy": of_queue(hosts),
            "robots.txt": of_robots(hosts),
            "refusals": of_refusals(hosts),
        }
        told = {kind: measured(steps, hosts) for kind, steps in kinds.items()}
        on_disk.close()
    print(json.dumps({"open, asked: bytes a host": told, "hosts": hosts}, indent=1))


if __name__ == "__main__":
    main()
