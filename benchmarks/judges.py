"""The default judge of words beside the one before it: CPU a page, and what crawls by it tell.

**cost**. Goal: at most .5 ms a page more. Each judge reads the same pages of a recorded web, by
their URLs, five times from the beginning; the median counts. No network, policy or archive; the
words of a page, which a crawl reads once for judge and policy, each judge reads here.

**crawls**. Tasks of `spoor lab run judges --out OUT` are crawled in replay by `trail`, each judge
for itself, 300 pages or half of the web: share of the true targets that were fetched, share that is
told as relevant at the end, and precision of what is told.

    python benchmarks/judges.py cost FOLDER "WORDS" [PAGES]
    python benchmarks/judges.py crawls OUT WEB...
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from spoor import registry
from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.relevance import Relevance
from spoor.judges.spec import judge_of
from spoor.judges.topic import topic_of_phrase
from spoor.judges.wish import parse
from spoor.lab.experiment import find
from spoor.lab.kinds.judges import old_default
from spoor.lab.webs import web_folder
from spoor.protocols import Judge, Rejudges
from spoor.replay_driver import Replay
from spoor.types import Judgement, Page, Task
from spoor.worlds.folders import open_web

ROUNDS = 5
PAGES = 300
JUDGES: dict[str, Callable[[str], Judge]] = {
    "before": old_default,
    "default": lambda words: Relevance(parse(words)),
}


def cost(make: Callable[[str], Judge], words: str, pages: Sequence[Page]) -> float:
    """Milliseconds of CPU a page, with what it says anew at the end."""
    spent = []
    for _ in range(ROUNDS):
        judge, began = make(words), time.process_time()
        for page in pages:
            judge.judge(page)
        if isinstance(judge, Rejudges):
            judge.revise()
        spent.append(1000 * (time.process_time() - began) / len(pages))
    return statistics.median(spent)


def compare_cost(folder: str, words: str, most: str = "1000") -> None:
    world = open_web(Path(folder))
    pages = [world.page(url) for url in sorted(world.graph().urls)[: int(most)]]
    pages = [page for page in pages if page.text]
    before, default = (cost(make, words, pages) for make in JUDGES.values())
    print(
        f"{len(pages)} pages: default {default:.2f} ms, before {before:.2f} ms, "
        f"{default - before:+.2f} ms"
    )


class Noted:
    """A judge whose newest verdicts are noted."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.relevant: dict[str, bool] = {}

    def judge(self, page: Page) -> Judgement:
        said = self._judge.judge(page)
        self.relevant[page.url] = said.relevant
        return said

    def revise(self) -> Sequence[tuple[str, Judgement]]:
        revised = self._judge.revise() if isinstance(self._judge, Rejudges) else []
        self.relevant |= {url: said.relevant for url, said in revised}
        return revised


def crawl(folder: Path, words: str, want: Sequence[str], judge: Judge) -> list[float]:
    """Shares of the true targets fetched and told, and precision of what is told."""
    world = open_web(folder)
    graph = world.graph(judge_of(want))
    true = {url for url, yes in zip(graph.urls, graph.targets.tolist(), strict=True) if yes}
    task = Task(np.random.default_rng(0), topic_of_phrase(words).topic)
    policy = registry.build("policies", "trail", task)
    most = min(PAGES, len(graph.urls) // 2)
    noted = Noted(judge)
    crawl = Crawl(policy, noted, MemoryFrontier(), pages=most)
    crawl.seed(world.roots()[:1])
    fetched = {out.page.url for out in Replay(crawl, world, in_flight=1) if out.page is not None}
    noted.revise()
    told = {url for url, relevant in noted.relevant.items() if relevant}
    return [
        len(fetched & true) / len(true),
        len(told & true) / len(true),
        len(told & true) / max(1, len(told)),
    ]


def compare_crawls(out: str, *webs: str) -> None:
    experiment = find("judges")[0]
    rows = []
    for web in experiment.webs:
        for target in experiment.targets_of(web) if web.name in webs else ():
            folder = web_folder(web, Path(out))
            row = [
                crawl(folder, target.topic, target.want, make(target.topic))
                for make in JUDGES.values()
            ]
            rows.append(row)
            print(web.name, target.topic, np.round(row, 2).tolist(), flush=True)
    for name, means in zip(JUDGES, np.mean(rows, axis=0).round(3).tolist(), strict=True):
        print(f"{len(rows)} tasks, {name}: fetched {means[0]}, told {means[1]}, right {means[2]}")


if __name__ == "__main__":
    if sys.argv[1] == "cost":
        compare_cost(*sys.argv[2:])
    else:
        compare_crawls(*sys.argv[2:])
