"""How fast a replay is, and what a page costs with a million open links.

    .venv/bin/python benchmarks/replay.py [--pages 30000] [--web FOLDER]

1. Breadth-first over a recorded web of `--pages` pages (generated, then imported; or FOLDER), in
   pages a second of one core, world, judge and frontier included. Goal: 5,000.
   With FOLDER: CPU a page of the other policies beyond that, topic "course faculty". Goal: 1 ms.
2. CPU a page at 10,000 and at 1,000,000 open links, by policy, on a web of links that is made up
   as it is asked for: 30 new links a page. Goal: not above 1.5 times.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
import time
from pathlib import Path

import numpy as np

from spoor import registry
from spoor.crawl import Crawl
from spoor.drivers.replay import Replay
from spoor.judges.facts import Function
from spoor.lab.record import record
from spoor.stores.memory import MemoryFrontier
from spoor.types import Anchor, Fetch, Fetched, Link, Page, Task, Topic
from spoor.worlds.generated import GeneratedSettings, GeneratedWorld
from spoor.worlds.recorded import RecordedWorld

WORDS = (
    "clay kiln glaze form wheel fire ash salt slip stone river garden travel music bread".split()
)
FAN = 30
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
    pages = sum(1 for _ in Replay(crawl, world))
    return pages, time.process_time() - began


def growth(policy: str) -> tuple[float, float]:
    """CPU milliseconds a page around 10,000 and around 1,000,000 open links."""
    task = Task(np.random.default_rng(0), Topic(name="glaze kiln"))
    judge = Function(lambda page: page.url.endswith("7.html"))
    crawl = Crawl(registry.build("policies", policy, task), judge, MemoryFrontier())
    crawl.seed(["http://h0.example/"])
    steps = iter(Replay(crawl, Endless()))
    costs = []
    for goal in (10_000, 1_000_000):
        while crawl.frontier.open_count < goal:
            next(steps)
        began = time.process_time()
        for _ in range(1_000):
            next(steps)
        costs.append(time.process_time() - began)
    return costs[0], costs[1]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=30_000)
    parser.add_argument("--web", type=Path)
    parser.add_argument("--policies", nargs="+", default=["breadth-first", "best-first", "trail"])
    told = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        world = RecordedWorld(told.web) if told.web else recorded(told.pages, Path(place))
        for _ in range(3):
            pages, seconds = replayed(world, world.roots()[0])
            print(f"breadth-first: {pages:,} pages, {pages / seconds:,.0f} a CPU second")
        for policy in told.policies if told.web else ():
            fetched, spent = replayed(world, world.roots()[0], policy)
            cost = 1000 * (spent / fetched - seconds / pages)
            print(f"{policy}: {cost:.3f} ms a page beyond breadth-first")
    for policy in told.policies:
        small, large = growth(policy)
        print(
            f"{policy}: {small:.3f} ms a page at 10,000 open links, {large:.3f} at 1,000,000: "
            f"{large / small:.2f} times"
        )


if __name__ == "__main__":
    main()
