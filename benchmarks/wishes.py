"""Wishes in plain words, replayed: how soon right pages are found, and how well the judge tells.

    .venv/bin/python benchmarks/duel_truth.py --dataset benchmarks/wishes --cache build/duel
    .venv/bin/python benchmarks/wishes.py [--policy trail] [--truth] [--pages 120] [TASK…]

On the development sites of `wishes/tasks.toml`; the first command makes their truths (`qrels.txt`,
which is kept) anew from Debian packages, in two minutes. Each site is recorded once in CACHE/webs.
A wish is crawled for with one fetch in flight, its site's links alone, failures counted; the judge
is the default one, or with `--truth` the truth. Prints a row a task: recall at 12, 30 and 100
requests, and F1 of the verdicts at arrival and at the end, and after so many rounds of `--answers`
to the pages that the last lines of a crawl ask about; then the means of tasks with several right
pages, and of those with one. A minute of CPU for ten tasks.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

from spoor import registry
from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.advice import Advisor
from spoor.judges.no_results import REASONS, Verdict
from spoor.judges.relevance import Relevance
from spoor.judges.topic import judge_of_topic, topic_of_phrase
from spoor.lab.duel.dataset import Dataset, Task, page_key, read
from spoor.lab.duel.score import Request, score
from spoor.lab.duel.sites import site_folder
from spoor.link_filter.link_filter import CrawlFilter
from spoor.link_filter.scope import Scope
from spoor.protocols import Judge
from spoor.simulation.replay import Replay
from spoor.types import Judgement, Page
from spoor.types import Task as PolicyTask
from spoor.worlds.folders import open_scope

HERE = Path(__file__).resolve().parent
BUDGETS = (12, 30, 100)


class Truth:
    """Says what the rule of a task says."""

    def __init__(self, right: frozenset[str]) -> None:
        self._right = right

    def judge(self, page: Page) -> Judgement:
        right = page_key(page.url) in self._right
        return Judgement(float(right), right, float(right))


def recorded(task: Task, dataset: Dataset, cache: Path) -> Path:
    """The site of a task as a recorded web, made in `cache` where it is missing."""
    site = dataset.sites[task.sites[0]]
    web = cache / "webs" / site.name
    if not web.exists():
        web.parent.mkdir(parents=True, exist_ok=True)
        part = web.with_name(f"{web.name}.part")
        command = [sys.executable, "-m", "spoor", "web", "import", "--keep-going", "--replace"]
        command += ["--jobs", "1", "--base-url", site.base]
        folder = site_folder(site, HERE / "wishes", cache)
        subprocess.run([*command, f"{folder}/", str(part)], check=True, stdout=subprocess.DEVNULL)
        part.rename(web)
    return web


def crawled(task: Task, web: Path, judge: Judge, policy: str, pages: int) -> Iterator[Request]:
    """Each request in its order, with what the judge said at arrival; no URL for a failure."""
    world, root = open_scope(web, task.start, "site", absent=True)
    about = PolicyTask(np.random.default_rng(0), topic_of_phrase(task.wish).topic)
    of_site = CrawlFilter(Scope("host", nofollow=False), actions=True)
    crawl = Crawl(
        registry.build("policies", policy, about),
        judge,
        MemoryFrontier(),
        pages=pages,
        link_filter=of_site,
    )
    crawl.seed([root])
    for outcome in Replay(crawl, world):
        if outcome.page is None:
            yield Request("", status=404)
        else:
            relevant = outcome.judgement is not None and outcome.judgement.relevant
            yield Request(outcome.page.url, relevant=relevant)


def f1(task: Task, told: dict[str, bool]) -> float:
    """F1 of what is told of pages: URL → whether it is relevant."""
    right = {url for url in told if page_key(url) in task.targets}
    hits = sum(told[url] for url in right)
    return 2 * hits / max(1, sum(told.values()) + len(right))


def answered(task: Task, pages: list[Page], rounds: int) -> Iterator[float]:
    """F1 of the verdicts at the end, and after each round of answers to what a crawl asks."""
    judge = judge_of_topic(topic_of_phrase(task.wish))
    assert isinstance(judge, Relevance)
    said = {page.url: judge.judge(page) for page in pages}
    said.update(judge.revise())
    yield f1(task, {url: its.relevant for url, its in said.items()})
    for _ in range(rounds):
        settled = {url for url, its in said.items() if any(why in REASONS for why, _ in its.why)}
        verdicts = (
            Verdict(url, "", its.score, its.relevant, url in settled) for url, its in said.items()
        )
        for asked in Advisor(None).advice(verdicts).near:
            judge.label(asked.url, page_key(asked.url) in task.targets)
        said.update(judge.revise())
        yield f1(task, {url: its.relevant for url, its in said.items()})


def measure(
    task: Task, web: Path, policy: str, pages: int, *, truth: bool, answers: int = 0
) -> list[float]:
    """Recall at each budget, then F1 at arrival, at the end, and after each round of answers."""
    judge = Truth(task.targets) if truth else judge_of_topic(topic_of_phrase(task.wish))
    order = list(crawled(task, web, judge, policy, pages))
    told = {request.url: bool(request.relevant) for request in order if request.url}
    row = [*score(task, order, BUDGETS).recall.values(), f1(task, told)]
    if not truth:
        world, _ = open_scope(web, task.start, "site", absent=True)
        fetched = [world.page(url) for url in told]
        return [*row, *answered(task, fetched, answers)]
    return [*row, f1(task, told)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tasks", nargs="*", help="as octave.files or octave.*; all without any")
    parser.add_argument("--policy", default="trail")
    parser.add_argument("--truth", action="store_true", help="the judge tells the truth")
    parser.add_argument("--pages", type=int, default=120)
    parser.add_argument("--answers", type=int, default=0, help="rounds of answers")
    parser.add_argument("--cache", type=Path, default=Path("build/duel"))
    given = parser.parse_args()
    dataset = read(HERE / "wishes")
    rows: dict[str, list[float]] = {}
    for task in dataset.tasks:
        if len(task.sites) > 1:
            continue  # a live crawl over many hosts, as in the duel
        if given.tasks and not any(fnmatchcase(task.name, one) for one in given.tasks):
            continue
        web = recorded(task, dataset, given.cache)
        rows[task.name] = measure(
            *(task, web, given.policy, given.pages), truth=given.truth, answers=given.answers
        )
        print(f"{task.name:24}", *(f"{value:.3f}" for value in rows[task.name]), flush=True)
    for kind in ("ordinary", "gold"):
        some = [
            rows[task.name]
            for task in dataset.tasks
            if task.name in rows and (task.kind == "gold") == (kind == "gold")
        ]
        if some:
            means = np.mean(np.array(some), axis=0)
            print(f"{kind}, {len(some)} tasks".ljust(24), *(f"{value:.3f}" for value in means))


if __name__ == "__main__":
    main()
