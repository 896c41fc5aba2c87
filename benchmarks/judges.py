"""The default judge of words beside the one before it: CPU a page, and what crawls by it tell.

**cost**. Goal: at most .5 ms a page more. Each judge reads the same pages of a recorded web, by
their URLs, five times from the beginning; the median counts. No network, policy or archive; the
words of a page, which a crawl reads once for judge and policy, each judge reads here.

**crawls**. Tasks of `spoor lab run judges --out OUT` are crawled in replay by `trail`, each judge
for itself, 300 pages or half of the web: share of the true targets that were fetched, share that is
told as relevant at the end, and precision of what is told.

**live**. The same tasks and figures, by the command itself: `spoor crawl` over HTTP on loopback,
everything on, the default judge beside a topic file for the one before it; what `spoor show` has
as relevant counts as told. Only webs of the half for development.

    python benchmarks/judges.py cost FOLDER "WORDS" [PAGES]
    python benchmarks/judges.py crawls OUT WEB...
    python benchmarks/judges.py live OUT WEB...
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence, Set
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import tomli_w

from spoor import registry
from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.http.world_server import Server, plain, serving
from spoor.judges.relevance import Relevance
from spoor.judges.spec import judge_of
from spoor.judges.topic import topic_of_phrase
from spoor.judges.wish import parse
from spoor.lab.experiment import find
from spoor.lab.kinds.judges import old_default
from spoor.lab.webs import web_folder
from spoor.protocols import Judge, Rejudges, World
from spoor.runs.reader import Run
from spoor.simulation.replay import Replay
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
    return _shares(fetched, told, true)


def crawl_live(folder: Path, words: str, want: Sequence[str], judge: str) -> list[float]:
    """As `crawl`, by the command `spoor crawl`."""
    world = open_web(folder)
    graph = world.graph(judge_of(want))
    true = {plain(url) for url, yes in zip(graph.urls, graph.targets.tolist(), strict=True) if yes}
    most = min(PAGES, len(graph.urls) // 2)
    with TemporaryDirectory() as at:
        topic = words
        if judge == "before":
            topic = f"{at}/before.topic"
            parts = [part.strip() for part in words.split(",") if part.strip()]
            file = {"name": words, "relevant": {"method": "keywords"}}
            file |= {"keywords": parts} if len(parts) > 1 else {}
            Path(topic).write_text(tomli_w.dumps(file))
        command = ["crawl", plain(world.roots()[0]), "--topic", topic, "--out", f"{at}/run"]
        command += ["--scope", "anywhere", "--delay", "0", "--pages", str(most)]
        asyncio.run(_served(world, [sys.executable, "-m", "spoor", *command]))
        pages = [*Run(Path(at, "run")).pages()]
    fetched = {page.url for page in pages}
    told = {page.url for page in pages if page.relevant}
    return _shares(fetched, told, true)


async def _served(world: World, command: Sequence[str]) -> None:
    """Run a crawl of a world that is served meanwhile."""
    async with serving(Server(world)) as port:
        address = f"127.0.0.1:{port}"
        ran = await asyncio.create_subprocess_exec(
            *command, "--connect-to", address, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        _, said = await ran.communicate()
        if ran.returncode:
            raise SystemExit(said.decode())


def _shares(fetched: Set[str], told: Set[str], true: Set[str]) -> list[float]:
    right = len(told & true)
    return [len(fetched & true) / len(true), right / len(true), right / max(1, len(told))]


def compare_crawls(mode: str, out: str, *webs: str) -> None:
    experiment = find("judges")[0]
    half = experiment.settings["half"]
    rows = []
    for web in experiment.webs:
        chosen = web.name in webs and (mode == "crawls" or half[web.name] == "development")
        for target in experiment.targets_of(web) if chosen else ():
            folder = web_folder(web, Path(out))
            row = [
                crawl_live(folder, target.topic, target.want, name)
                if mode == "live"
                else crawl(folder, target.topic, target.want, make(target.topic))
                for name, make in JUDGES.items()
            ]
            rows.append(row)
            print(web.name, target.topic, np.round(row, 2).tolist(), flush=True)
    for name, means in zip(JUDGES, np.mean(rows, axis=0).round(3).tolist(), strict=True):
        print(f"{len(rows)} tasks, {name}: fetched {means[0]}, told {means[1]}, right {means[2]}")


if __name__ == "__main__":
    if sys.argv[1] == "cost":
        compare_cost(*sys.argv[2:])
    else:
        compare_crawls(*sys.argv[1:])
