"""How fast a replay is, and what a page costs with a million open links.

    .venv/bin/python benchmarks/replay.py [--pages 30000] [--web FOLDER] [--most 1000000]

1. Breadth-first over a recorded web of `--pages` pages (generated, then imported; or FOLDER), in
   pages a second of one core, world, judge and frontier included. Goal: 5,000.
   The other policies too, and their CPU a page beyond that, topic "course faculty". Goals: 30,000
   pages for best-first, 1 ms for any.
2. CPU a page beyond breadth-first at 10,000, 100,000 and (`--most`) 1,000,000 open links, by
   policy, on a web of links that is made up as it is asked for: 30 new links a page, on 97 hosts.
   The least and the median of 20 windows of 50 pages, breadth-first in turn with the policy, so
   that a busy machine slows both. Goals: 1 ms at 100,000, and not above 1.5 times from the first
   to the last.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np

from spoor import registry
from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.facts import Function
from spoor.process_memory import few_collections
from spoor.simulation.replay import Replay
from spoor.types import Anchor, Fetch, Fetched, Link, Page, Task, Topic
from spoor.worlds.generated import GeneratedSettings, GeneratedWorld
from spoor.worlds.import_web import record
from spoor.worlds.recorded import RecordedWorld

WORDS = (
    "clay kiln glaze form wheel fire ash salt slip stone river garden travel music bread".split()
)
FAN = 30
WINDOW = 50
"""Pages whose cost is taken together."""
WANTED = frozenset({"pottery", "course", "faculty"})
"""Labels of what is relevant."""


class Endless:
    """Every page shows 30 links that nobody has seen."""

    def __init__(self) -> None:
        self._made = 0

    def answer(self, fetch: Fetch) -> Fetched:
        links = []
        for _ in range(FAN):
            self._made += 1
            number = self._made
            host = f"h{number % 97}.example"
            words = f"{WORDS[number % 15]} {WORDS[number // 15 % 15]}"
            anchor = Anchor(
                words, "see the", "of old", tag_path="html/body/ul/li/a", position=number
            )
            links.append(Link(f"http://{host}/{WORDS[number % 7]}/{number}.html", anchor))
        return Fetched(fetch.ticket, Page(fetch.url, title="A page", links=links))


def recorded(pages: int, folder: Path) -> RecordedWorld:
    """A generated web, written as JSON lines and imported."""
    world = GeneratedWorld(GeneratedSettings(pages=pages))
    lines = folder / "pages.jsonl.gz"
    with gzip.open(lines, "wt", encoding="utf-8", compresslevel=1) as file:
        for page in world.pages():
            links = [{"url": link.url, "anchor": link.anchor.text} for link in page.links]
            row = {"url": page.url, "title": page.title, "text": page.text, "links": links}
            file.write(json.dumps({**row, "label": sorted(page.labels)}) + "\n")
    record([lines], folder / "web")
    return RecordedWorld(folder / "web")


def replayed(world: RecordedWorld, root: str, policy: str = "breadth-first") -> tuple[int, float]:
    """Pages and CPU seconds."""
    task = Task(np.random.default_rng(0), Topic(name="course faculty"))
    crawl = Crawl(
        registry.build("policies", policy, task),
        Function(lambda page: not page.labels.isdisjoint(WANTED)),
        MemoryFrontier(),
    )
    crawl.seed([root])
    began = time.process_time()
    with few_collections():
        pages = sum(1 for _ in Replay(crawl, world))
    return pages, time.process_time() - began


class Growing:
    """A crawl of the endless web, and what its pages cost."""

    def __init__(self, policy: str) -> None:
        task = Task(np.random.default_rng(0), Topic(name="glaze kiln"))
        judge = Function(lambda page: page.url.endswith("7.html"))
        self._crawl = Crawl(registry.build("policies", policy, task), judge, MemoryFrontier())
        self._crawl.seed(["http://h0.example/"])
        self._steps = iter(Replay(self._crawl, Endless()))

    def grow(self, goal: int) -> None:
        while self._crawl.frontier.open_count < goal:
            next(self._steps)

    def window(self) -> float:
        """CPU milliseconds a page of the next ones."""
        began = time.process_time()
        for _ in range(WINDOW):
            next(self._steps)
        return 1000 * (time.process_time() - began) / WINDOW


def growth(policy: str, goals: Sequence[int]) -> None:
    plain, learner = Growing("breadth-first"), Growing(policy)
    first = 0.0
    for goal in goals:
        plain.grow(goal)
        learner.grow(goal)
        with few_collections():
            pairs = [(plain.window(), learner.window()) for _ in range(20)]
        costs = [[pair[side] for pair in pairs] for side in (0, 1)]
        least = min(costs[1]) - min(costs[0])
        first = first or least
        print(
            f"{policy}: {least:.2f} ms a page beyond breadth-first at {goal:,} open links (median"
            f" {median(costs[1]) - median(costs[0]):.2f}), {least / first:.2f} times the first;"
            f" breadth-first {min(costs[0]):.2f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=30_000)
    parser.add_argument("--web", type=Path)
    parser.add_argument("--most", type=int, default=1_000_000, help="open links")
    parser.add_argument("--policies", nargs="+", default=["breadth-first", "best-first", "trail"])
    told = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        world = RecordedWorld(told.web) if told.web else recorded(told.pages, Path(place))
        for _ in range(3):
            pages, seconds = replayed(world, world.roots()[0])
            print(f"breadth-first: {pages:,} pages, {pages / seconds:,.0f} a CPU second")
        for policy in told.policies:
            if policy == "breadth-first":
                continue
            fetched, spent = replayed(world, world.roots()[0], policy)
            cost = 1000 * (spent / fetched - seconds / pages)
            rate = f"{fetched / spent:,.0f} pages a CPU second"
            print(f"{policy}: {rate}, {cost:.3f} ms a page beyond breadth-first", flush=True)
    for policy in told.policies:
        if policy != "breadth-first":
            growth(policy, [goal for goal in (10_000, 100_000, 1_000_000) if goal <= told.most])


if __name__ == "__main__":
    main()
