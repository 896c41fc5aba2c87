"""Trained models on webs that they were not trained for: what `worse_model` tells and is worth.

    BENCH_CACHE=… .venv/bin/python benchmarks/worse_model.py [PAGES]

Naive Bayes, trained for a task of one documentation web, crawls for a task of another one; and, as
the other extreme, one trained on the very web and task. Webs and tasks are those of the development
webs under `BENCH_CACHE`. A line: pages wanted that were found by breadth-first, by the model alone,
with `tell` and with `trail`, and after how many pages it was told, if at all.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

from spoor import registry
from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.spec import judge_of
from spoor.judges.topic import topic_of
from spoor.protocols import Policy
from spoor.simulation.replay import Replay
from spoor.simulation.training import known_webs, train
from spoor.types import State, Task
from spoor.worlds.folders import open_scope
from spoor.wrappers.compared import Compared

TASKS = ("apache.ssl", "postgresql.json", "python.threads", "sqlite.wal")


def main() -> None:
    cache = Path(os.environ["BENCH_CACHE"])
    pages = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    models = {name: _model(cache, name) for name in TASKS}
    print("trained for       crawls for         breadth-first  model  tell  trail  told after")
    for used in TASKS:
        web, want = _task(cache, used)
        for name, model in models.items():
            figures = [_found(web, want, how, model, pages) for how in ("", "off", "tell", "trail")]
            found = "  ".join(f"{number:5}" for number, _ in figures)
            print(f"{name:<17} {used:<17} {found}  {figures[2][1] or 'never'}", flush=True)


def _task(cache: Path, name: str) -> tuple[Path, tuple[str, ...]]:
    web = cache / "webs" / name.partition(".")[0]
    return web, (f"topic:{cache / 'truth' / name}.topic",)


def _model(cache: Path, name: str) -> State:
    web, want = _task(cache, name)
    return train("naive-bayes", known_webs([web], want), want)


def _found(
    web: Path, want: tuple[str, ...], how: str, model: State, pages: int
) -> tuple[int, int | None]:
    """Pages wanted among so many, and the page at which the model was told of."""
    world, root = open_scope(web, None, "web")
    topic = topic_of(want[0].removeprefix("topic:")).topic
    rng = np.random.default_rng(0)
    policy: Policy = registry.build("policies", "breadth-first", Task(rng))
    if how:
        policy = registry.build("policies", "naive-bayes", Task(rng, topic, model))
    if how in ("tell", "trail"):
        plain = Task(np.random.default_rng(0), topic)
        take_over = lambda: registry.build("policies", "trail", plain)  # noqa: E731
        policy = Compared(policy, "naive-bayes", take_over if how == "trail" else None)
    crawl = Crawl(policy, judge_of(want), MemoryFrontier(), pages=pages)
    told: list[int] = []
    if isinstance(policy, Compared):
        policy.report_fault(lambda line: told.append(crawl.counts.pages))
    crawl.seed([root])
    for _ in Replay(crawl, world):
        pass
    return crawl.counts.relevant, told[0] if told else None


if __name__ == "__main__":
    main()
