"""What a site without end costs the others that are watched: delay, lines and memory.

    .venv/bin/python benchmarks/endless.py [--documents 100000] [--minutes 60] [--delay 0.008]

Four quiet sites publish a document every five minutes each, and are asked once a second at most.
Beside them one site publishes so many documents in so many minutes, evenly, and shows the newest
fifty; it is asked as often as `--delay` allows, and nothing has a budget of requests a day. The
clock is simulated, a reply takes 5 ms, and what the watch computes takes as long as it takes: the
clock goes on by its CPU seconds (pages come parsed). Everything is on topic. Printed are, without
that site and with it: the documents of the quiet sites that were told and after how many seconds;
documents of the endless site that were published and read, and the lines about them; and the memory
of the process over time. Goal: the quiet sites' delay is as without, the endless site has
`MOST_TOLD` lines and one that says so, and memory does not grow faster than what has to be known of
each URL.
"""

from __future__ import annotations

import argparse
import heapq
import resource
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from noisy_news import article
from spoor.foragers.fleet import Fleet
from spoor.foragers.fleets import FleetTask, change_rate
from spoor.foragers.states import NoStates
from spoor.live.changes import ChangeTracker, Line
from spoor.types import Deferred, Failed, Fetch, Fetched, Link, Page, Sleep
from spoor.watching.hosts import Hosts
from spoor.watching.watching import Watching
from spoor.web.urls import host as host_of

START = 1_600_000_000.0
LATENCY = 0.005
SHOWN = 50
"""Documents on a front page, the newest."""
BETWEEN = 300.0
"""Seconds between two documents of a quiet site."""
LOUD = "http://endless.example/"
QUIET = [f"http://quiet{number}.example/" for number in range(4)]


class Sites:
    """Front pages, and documents by their number."""

    def __init__(self, between: float) -> None:
        self.between = {LOUD: between} | dict.fromkeys(QUIET, BETWEEN)

    def published(self, site: str, number: int) -> float:
        """Quiet sites publish at odd moments, so that none publish together."""
        offset = 0.0 if site == LOUD else 37.0 * (1 + QUIET.index(site))
        return START + offset + self.between[site] * number

    def count(self, site: str, now: float) -> int:
        return max(0, int((now - self.published(site, 0)) // self.between[site]) + 1)

    def answer(self, fetch: Fetch, now: float) -> Fetched | Failed:
        site, _, name = fetch.url.rpartition("/")
        site += "/"
        if name and not (name.isdigit() and int(name) < self.count(site, now)):
            return Failed(fetch.ticket, "absent", status=404)
        if name:
            text = f"Report {name} of {site} is out. {' '.join(article(int(name), 3))}"
            page = Page(fetch.url, title=f"Report {name}", text=text)
        else:
            newest = self.count(site, now) - 1
            shown = range(newest, max(-1, newest - SHOWN), -1)
            links = [Link(f"{site}{number}") for number in shown]
            page = Page(fetch.url, title="Front", text=f"Front of {newest}", links=links)
        return Fetched(fetch.ticket, page, LATENCY, 1_000)


def megabytes() -> float:
    """Resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def watch(
    fleet: Fleet, sites: Sites, end: float
) -> tuple[list[Line], dict[str, set[str]], list[float], float]:
    """Lines; documents read by host; megabytes each twelfth of the time; CPU seconds."""
    tracker, lines, memory = ChangeTracker(fleet), list[Line](), [megabytes()]
    flights: list[tuple[float, int, Fetch]] = []
    read: dict[str, set[str]] = defaultdict(set)
    now, cpu, began = START, time.process_time(), time.process_time()
    while now < end:
        step = fleet.next(now)
        if isinstance(step, Fetch):
            heapq.heappush(flights, (now + LATENCY, step.ticket, step))
        else:
            until = step.until if isinstance(step, Sleep) else np.inf
            now = min(until, flights[0][0]) if flights else until
        now, cpu = now + time.process_time() - cpu, time.process_time()
        while flights and flights[0][0] <= now:
            _, _, fetch = heapq.heappop(flights)
            reply = sites.answer(fetch, now)
            outcome = fleet.receive(reply, now)
            assert not isinstance(outcome, Deferred)
            lines += [{**line, "at": now} for line in tracker.lines(outcome, now)]
            if isinstance(reply, Fetched) and not fetch.url.endswith("/"):
                read[fetch.host].add(fetch.url)
            now, cpu = now + time.process_time() - cpu, time.process_time()
        if now - START > len(memory) * (end - START) / 12:
            memory.append(megabytes())
    return lines, read, memory, time.process_time() - began


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--documents", type=int, default=100_000)
    options.add_argument("--minutes", type=float, default=60.0)
    options.add_argument("--delay", type=float, default=0.008)
    told = options.parse_args()
    end = START + 60.0 * told.minutes
    sites = Sites((end - START) / told.documents)
    for beside in (False, True):
        hosts = Hosts(delay=told.delay, per_host=1)
        for site in QUIET:
            hosts.pace(host_of(site), 1.0)
        seeds = [LOUD, *QUIET] if beside else QUIET
        watching = Watching()
        task = FleetTask(
            seeds, NoStates(), np.random.default_rng(0), hosts=hosts, watching=watching
        )
        fleet = change_rate(task)
        lines, read, memory, cpu = watch(fleet, sites, end)
        asked = {
            f"{site}{number}": sites.published(site, number)
            for site in QUIET
            for number in range(sites.count(site, end - 60.0))
        }
        found = {line["url"]: line["at"] for line in reversed(lines) if line["kind"] == "new"}
        late = [found[url] - at for url, at in asked.items() if url in found]
        loud = [line for line in lines if line["url"].startswith(LOUD)]
        kinds = Counter(line["kind"] for line in loud)
        print(
            f"{'beside it' if beside else 'alone'}: {len(late)} of {len(asked)} documents of quiet "
            f"sites told, median {np.median(late):.2f} s, at most {max(late):.2f} s"
        )
        if beside:
            print(
                f"endless site: {sites.count(LOUD, end):,} published, "
                f"{len(read[host_of(LOUD)]):,} read, lines {dict(kinds)}"
            )
        print(
            f"{fleet.counts.requests:,} requests, {cpu:.0f} s of CPU; MB each twelfth: "
            f"{' '.join(f'{one:.0f}' for one in memory)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
