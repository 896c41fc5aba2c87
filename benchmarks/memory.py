"""Bytes of memory that a crawl keeps: for a page, for an open link, and for a link that failed.

    .venv/bin/python benchmarks/memory.py [--pages 3000] [--policy trail] [--disk]

A crawl as the command makes it (default judge, guard against traps) goes over a web that is made up
as it is asked for: pages of 300 words on 40 hosts. Three crawls, each under tracemalloc, each
counted from a third of it on, when most tables of a fixed size are there:

- *pages*: each page links to two new pages, and to 28 that are known. What is kept for each are a
  page with its link, which is no longer open, and an open link.
- *open links*: each page links to 30 new pages.
- *failures*: so many seeds for each page of the others, all of which are missing.

Prints a Markdown table: bytes by the part of the program that asked for them. A URL, or a word,
belongs to the part that made the text that is kept, here the web itself (`texts of pages`); what
several keep is counted once. What libraries in C ask for by themselves (SQLite) is not seen, nor
what the heap loses between its blocks: `--disk` puts the frontier on disk, as a crawl does from
1,000 open links on.
"""

from __future__ import annotations

import argparse
import gc
import random
import tempfile
import tracemalloc
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from spoor.crawl import Crawl
from spoor.frontier.sqlite import SqliteFrontier
from spoor.runs.assemble import make_crawl
from spoor.settings import Settings
from spoor.simulation.replay import Replay
from spoor.types import Anchor, Failed, Fetch, Fetched, Link, Page, Reply

PARTS = {
    "frontier": ("frontier",),
    "policy": ("policies", "learn", "wrappers"),
    "judge": ("judges",),
    "guard against traps": ("web",),
    "the rest": ("crawl", "politeness", "simulation", ""),
}
"""Part → folders of `src/spoor`."""
TEXTS = "texts of pages"
LINKS = 30
WORDS = 300
WARM = 1 / 3
"""Share of the pages before the count begins."""
PAGES, OPEN, FAILED = "pages", "open", "failed"


class Endless:
    """A web in which each page has `new` links to pages that nobody has seen, and else links to
    pages that are known."""

    def __init__(self, new: int) -> None:
        self._new = new
        self._rng = random.Random(0)
        self._vocabulary = [f"word{number}" for number in range(20_000)] + ["glaze", "kiln"] * 40
        self._urls = ["http://h0.example/0.html"]
        self._made = 0

    def _words(self, count: int) -> str:
        # Few words are frequent, many are rare.
        size = len(self._vocabulary)
        return " ".join(self._vocabulary[int(size * self._rng.random() ** 3)] for _ in range(count))

    def new_url(self, form: str) -> str:
        self._made += 1
        section = self._rng.choice("abcdefgh")
        return f"http://h{self._made % 40}.example/{section}/{self._made}.{form}"

    def answer(self, fetch: Fetch) -> Reply:
        if fetch.url.endswith("gone"):
            return Failed(fetch.ticket, "http", "", 404)
        links = []
        for place in range(LINKS):
            if place < self._new:
                url = self.new_url("html")
                self._urls.append(url)
            else:
                url = self._rng.choice(self._urls[-1000:])
            anchor = Anchor(self._words(3), self._words(5), tag_path="html/body/ul/li/a")
            links.append(Link(url, anchor))
        new = "".join(self._rng.choices("abcdefghijklmnopqrstuvwxyz", k=27))
        text = f"{self._words(WORDS)} {new[:9]} {new[9:18]} {new[18:]}"
        return Fetched(fetch.ticket, Page(fetch.url, title=text[:40], text=text, links=links))


def kept(settings: Settings, web: Endless, pages: int, disk: Path | None) -> Counter[str]:
    """Part → bytes that came after the first pages, of all; also how many pages and open links."""
    crawl = _crawl(settings, disk)
    crawl.seed(settings.seeds)
    steps = iter(Replay(crawl, web))

    def go(to: int) -> Counter[str]:
        while crawl.counts.pages < to:
            next(steps)
        return Counter({**_by_part(), PAGES: crawl.counts.pages, OPEN: crawl.frontier.open_count})

    tracemalloc.start()
    before, after = go(int(WARM * pages)), go(pages)
    _end(crawl)
    after.subtract(before)
    return after


def kept_of_failures(settings: Settings, links: int, disk: Path | None) -> Counter[str]:
    """The same of seeds that are missing."""
    crawl, web = _crawl(settings, disk), Endless(0)

    def go(count: int) -> Counter[str]:
        for _ in range(0, count, LINKS):
            crawl.seed([web.new_url("gone") for _ in range(LINKS)])
            for _ in Replay(crawl, web):
                pass
        return Counter({**_by_part(), FAILED: crawl.counts.failed + crawl.counts.skipped})

    tracemalloc.start()
    before, after = go(int(WARM * links)), go(links)
    _end(crawl)
    after.subtract(before)
    return after


def _crawl(settings: Settings, disk: Path | None) -> Crawl:
    crawl = make_crawl(settings)
    if disk is not None:
        crawl.frontier = SqliteFrontier(disk, delay=0.0, per_host=0)
    return crawl


def _end(crawl: Crawl) -> None:
    tracemalloc.stop()
    if isinstance(crawl.frontier, SqliteFrontier):
        crawl.frontier.close()


def _by_part() -> dict[str, int]:
    gc.collect()
    found = dict.fromkeys([*PARTS, TEXTS], 0)
    for row in tracemalloc.take_snapshot().statistics("filename"):
        name = row.traceback[0].filename
        _, inside, below = name.rpartition("/spoor/")
        folder = below.partition("/")[0] if "/" in below else ""
        part = next((part for part, folders in PARTS.items() if folder in folders), "the rest")
        found[part if inside else TEXTS if name == __file__ else "the rest"] += row.size
    return found


def columns(policy: str, pages: int, *, disk: bool) -> dict[str, dict[str, float]]:
    """Kind → part → bytes."""
    settings = Settings(
        seeds=("http://h0.example/0.html",),
        topic="glaze kiln",
        policy=policy,
        scope="anywhere",
        delay=0.0,
        pages=10**9,
    )
    with tempfile.TemporaryDirectory() as place:
        at = [Path(place) / f"{number}.db" if disk else None for number in range(3)]
        few = kept(settings, Endless(2), pages, at[0])
        many = kept(settings, Endless(LINKS), pages, at[1])
        failed = kept_of_failures(settings, LINKS * pages, at[2])
    parts = [*PARTS, TEXTS]
    sizes = [[one[PAGES], one[OPEN]] for one in (few, many)]
    solved = {part: np.linalg.solve(sizes, [few[part], many[part]]) for part in parts}
    return {
        "a page": {part: float(solved[part][0]) for part in parts},
        "an open link": {part: float(solved[part][1]) for part in parts},
        "a link that failed": {part: failed[part] / failed[FAILED] for part in parts},
    }


def table(told: Mapping[str, Mapping[str, float]]) -> str:
    """Bytes by part, in Markdown."""

    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(cells) + " |"

    rows = [line(["bytes that are kept for", *told]), line(["---", *["--:"] * len(told)])]
    rows += [
        line([part, *(f"{max(0.0, one[part]):,.0f}" for one in told.values())])
        for part in [*PARTS, TEXTS]
    ]
    rows.append(line(["**all**", *(f"**{sum(one.values()):,.0f}**" for one in told.values())]))
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=3000)
    parser.add_argument("--policy", default="trail")
    parser.add_argument("--disk", action="store_true")
    told = parser.parse_args()
    print(table(columns(told.policy, told.pages, disk=told.disk)))


if __name__ == "__main__":
    main()
