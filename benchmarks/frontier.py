"""The frontier of a large crawl: memory, time of a choice, time to open it again.

    .venv/bin/python benchmarks/frontier.py [--links 1000000] [--hosts 10000] [--choices 20000]
        [--store disk|memory] [--policy NAME]

Enters so many links on so many hosts, found 100 a page (a fifth of them the same on each) with the
words that links have, and saves every thousand pages. Then it makes choices as a crawl does:
`offer`, a uniform draw, `take`, `settle` a moment later, and a page of 20 links entered. A second
process opens the file again, of which nothing is left in the machine's cache, and goes on with the
same choices. Times are of the clock unless they say CPU: on a machine that is busy with other
things the former say little, so choices are told also without the time for which the process was
ready and had no core. With `--policy` a policy observes the links and chooses. Prints one JSON
object; memory is above that of the process before its first link, in MB (10⁶ bytes), where `peak`
includes what opening and saving take for a moment.

Goals (on disk): ≤ 300 MB for a million links on 10,000 hosts, ≤ 600 MB for ten million; choice
p99 ≤ 5 ms; open again ≤ 10 s.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from spoor import registry
from spoor.frontier.memory import MemoryFrontier
from spoor.frontier.sqlite import SqliteFrontier
from spoor.learn.state import pack, unpack
from spoor.policies.random import Random
from spoor.protocols import Frontier, Policy
from spoor.types import (
    NO_PARENT,
    Anchor,
    Failed,
    InLinks,
    Link,
    LinkId,
    Outcome,
    State,
    Task,
    Topic,
)

IN_FLIGHT = 16
SAVED = 1000
"""Pages between two checkpoints: those that a crawl of 50 a second makes meanwhile."""
WORDS = "clay kiln glaze ledger harbour engine orchard census violin granite ferry stone".split()


def link(number: int, hosts: int) -> Link:
    """A link of a web that is never written down."""
    host, page = number % hosts, number // hosts
    one, two = WORDS[number % 12], WORDS[number // 12 % 12]
    url = f"http://www.site{host}.example/{one}/{page % 97}/article-{page}-{two}.html"
    path = "html/body.page/div#content.main/ul.links/li.item/a"
    anchor = Anchor(f"{one} {two} {number}", f"see also {two}", one, (two,), path, number % 100)
    return Link(url, anchor)


def pages(links: int, hosts: int) -> Iterator[list[Link]]:
    """Pages of 100 links, 80 of them new, 20 those of the first page."""
    for first in range(0, links, 80):
        found = [link(number, hosts) for number in range(first, min(first + 80, links))]
        yield found + [link(number, hosts) for number in range(20)]


def megabytes(kind: str = "VmRSS") -> float:
    """Of this process, now (VmRSS) or at most so far (VmHWM)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(kind):
            return int(line.split()[1]) * 1024 / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def make(store: str, file: Path) -> MemoryFrontier:
    politeness: dict[str, Any] = {"delay": 1.0, "per_host": 1}
    return SqliteFrontier(file, **politeness) if store == "disk" else MemoryFrontier(**politeness)


class Chooser:
    """A crawl without its pages: choices, and what they cost."""

    def __init__(self, frontier: Frontier, policy: Policy | None, hosts: int) -> None:
        self.frontier = frontier
        self.policy = policy or Random(Task(np.random.default_rng(1)))
        self.hosts = hosts
        self.now = 0.0
        self.flying: deque[tuple[LinkId, Any]] = deque()
        self.choices: list[float] = []
        self.alone: list[float] = []
        self.cpu: list[float] = []
        try:
            self._schedule = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
        except OSError:  # not on Linux
            self._schedule = -1
        self.steps: list[float] = []

    def run(self, choices: int, first: int) -> list[LinkId]:
        chosen = []
        for at in range(choices):
            waited = self._waited()
            began, cpu = time.perf_counter(), time.thread_time()
            choice = self.policy.choose(self.frontier.offer(self.now))
            self.frontier.take(choice.link, self.now)
            cpu, clock = time.thread_time() - cpu, time.perf_counter() - began
            self.choices.append(clock)
            self.alone.append(max(cpu, clock - (self._waited() - waited)))
            self.cpu.append(cpu)
            chosen.append(choice.link)
            self.flying.append((choice.link, choice))
            self.now += 0.01
            if len(self.flying) == IN_FLIGHT:
                parent, done = self.flying.popleft()
                self.frontier.settle(parent, self.now)
                start = first + 20 * at
                found = [link(number, self.hosts) for number in range(start, start + 20)]
                seen = self.frontier.add(found, parent, 0.5, self.frontier.depth(parent) + 1)
                self.policy.observe(seen)
                self.policy.learn(Outcome(done, Failed(0, "absent"), None, 0.0))
            self.steps.append(time.perf_counter() - began)
        return chosen

    def _waited(self) -> float:
        """Seconds that this thread was ready and had no core."""
        if self._schedule < 0:
            return 0.0
        return int(os.pread(self._schedule, 80, 0).split()[1]) / 1e9

    def told(self) -> dict[str, float]:
        return {
            "choice p50 ms": quantile(self.choices, 50),
            "choice p99 ms": quantile(self.choices, 99),
            "choice worst ms": quantile(self.choices, 100),
            "choice p99 ms, waiting for a core left out": quantile(self.alone, 99),
            "choice p99 ms of CPU": quantile(self.cpu, 99),
            "choice and page p99 ms": quantile(self.steps, 99),
        }


def quantile(seconds: list[float], percent: int) -> float:
    return round(1000 * float(np.percentile(seconds, percent)), 3)


def policy_of(name: str) -> Policy | None:
    if not name:
        return None
    task = Task(np.random.default_rng(0), Topic(name="pottery", keywords=("kiln", "glaze")))
    policy: Policy = registry.build("policies", name, task)
    return policy


def fill(told: argparse.Namespace, file: Path) -> dict[str, Any]:
    frontier, policy = make(told.store, file), policy_of(told.policy)
    base, began, parent = megabytes(), time.perf_counter(), NO_PARENT
    slowest = 0.0
    for number, found in enumerate(pages(told.links, told.hosts)):
        if number % SAVED == SAVED - 1:
            frontier.save()
        at = time.perf_counter()
        seen: InLinks = frontier.add(found, parent, 0.5, 1)
        slowest = max(slowest, time.perf_counter() - at)
        if policy is not None:
            policy.observe(seen)
    filled = time.perf_counter() - began
    cpu = time.process_time()
    row: dict[str, Any] = {
        "links": frontier.open_count,
        "us a link": round(1e6 * filled / told.links, 1),
        "us of CPU a link": round(1e6 * cpu / told.links, 1),
        "slowest page s": round(slowest, 2),
        "MB": round(megabytes() - base),
    }
    began = time.perf_counter()
    state = frontier.save()
    row["first save s"] = round(time.perf_counter() - began, 2)
    chooser = Chooser(frontier, policy, told.hosts)
    chooser.run(told.choices, told.links)
    row |= chooser.told()
    began = time.perf_counter()
    state = frontier.save()
    row["save s"] = round(time.perf_counter() - began, 2)
    row["MB after choices"] = round(megabytes() - base)
    row["peak MB"] = round(megabytes("VmHWM") - base)
    if told.store == "disk":
        file.with_suffix(".state").write_bytes(pack(state))
        row["bytes on disk a link"] = round(file.stat().st_size / told.links)
    else:
        row["MB of its state"] = round(len(pack(state)) / 1e6)
    if policy is not None:
        began = time.perf_counter()
        row["MB of the policy's state"] = round(len(pack(policy.save())) / 1e6)
        row["policy's save s"] = round(time.perf_counter() - began, 2)
    else:
        again = Chooser(frontier, None, told.hosts)
        again.now = chooser.now + 100.0
        row["next"] = again.run(100, told.links)
    return row


def reopen(told: argparse.Namespace, file: Path) -> dict[str, Any]:
    for name in (file, file.with_name(file.name + "-wal")):
        if name.exists():
            with name.open("rb") as opened:
                os.fsync(opened.fileno())
                os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    state: State = unpack(file.with_suffix(".state").read_bytes())
    np.sort(np.arange(10))
    base, began, cpu = megabytes(), time.perf_counter(), time.process_time()
    frontier = make("disk", file)
    frontier.load(state)
    row: dict[str, Any] = {
        "open again s": round(time.perf_counter() - began, 2),
        "open again s of CPU": round(time.process_time() - cpu, 2),
        "MB": round(megabytes() - base),
    }
    chooser = Chooser(frontier, None, told.hosts)
    chooser.now = told.choices * 0.01 + 100.0
    row["next"] = chooser.run(100, told.links)
    chooser.run(told.choices, told.links + 2000)
    row |= chooser.told()
    row["peak MB"] = round(megabytes("VmHWM") - base)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--links", type=int, default=1_000_000)
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--choices", type=int, default=20_000)
    parser.add_argument("--store", choices=("disk", "memory"), default="disk")
    parser.add_argument("--policy", default="")
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--phase", choices=("fill", "reopen"), help=argparse.SUPPRESS)
    told = parser.parse_args()
    if told.phase:
        work = fill if told.phase == "fill" else reopen
        print(json.dumps(work(told, told.file)))
        return
    with tempfile.TemporaryDirectory() as place:
        rows = {}
        wanted = ("fill", "reopen") if told.store == "disk" and not told.policy else ("fill",)
        for phase in wanted:
            more = ["--phase", phase, "--file", str(Path(place) / "frontier.db")]
            command = [sys.executable, __file__, *sys.argv[1:], *more]
            done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
            rows[phase] = json.loads(done.stdout)
    following = [row.pop("next", None) for row in rows.values()]
    if len(following) == 2:
        rows["reopen"]["the same choices"] = following[0] == following[1]
    about = {"store": told.store, "hosts": told.hosts, "policy": told.policy or "random"}
    print(json.dumps({**about, **rows, "load": round(os.getloadavg()[0], 1)}, indent=1))


if __name__ == "__main__":
    main()
