"""How well `spoor lab whatif` estimates: against the truth, on webs that are known whole.

    .venv/bin/python benchmarks/whatif.py [WEB ROOT TARGET]

A logging policy crawls a third of each web; what another policy would have found in as many pages
is estimated from that run alone, and compared with what it does find. Without arguments: eight
generated webs of 1,200 pages, on one host each; with them: eight runs on the recorded web WEB.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from spoor import registry
from spoor.crawl import Crawl
from spoor.drivers.replay import Replay
from spoor.judges.spec import judge_of, words_of
from spoor.lab.webs import LabWorld, open_scope
from spoor.lab.whatif import Log, Taken, estimate
from spoor.protocols import Judge
from spoor.stores.memory import MemoryFrontier
from spoor.types import Task, Topic
from spoor.worlds.generated import GeneratedSettings, GeneratedWorld

SHARE = 1 / 3
LOGGERS: tuple[tuple[str, dict[str, float]], ...] = (
    ("random", {}),
    ("sarsa", {"epsilon": 0.3}),
    ("sarsa", {"epsilon": 0.1}),
)
POLICIES = ("random", "breadth-first", "depth-first", "best-first", "trail")


def crawl(
    world: LabWorld,
    root: str,
    judge: Judge,
    topic: Topic,
    name: str,
    seed: int,
    pages: int,
    params: dict[str, float] | None = None,
) -> list[Taken]:
    """What a policy takes, with the probabilities it notes."""
    task = Task(np.random.default_rng(seed), topic)
    policy = registry.build("policies", name, task, settings=params or {})
    done = Crawl(policy, judge, MemoryFrontier(), pages=pages)
    done.seed([root])
    return [
        Taken(outcome.page, outcome.judgement, outcome.choice.probability)
        for outcome in Replay(done, world)
        if outcome.page is not None and outcome.judgement is not None
    ]


def webs() -> Iterator[tuple[LabWorld, str, str, int]]:
    """(web, root, target, seed) of each trial."""
    if len(sys.argv) == 4:
        world, root = open_scope(Path(sys.argv[1]), sys.argv[2], "site")
        for seed in range(8):
            yield world, root, sys.argv[3], seed
        return
    for seed in range(8):
        made = GeneratedWorld(GeneratedSettings(pages=1200, hosts=1, seed=seed))
        yield made, made.roots()[0], "label:pottery", seed


def main() -> None:
    rows = defaultdict(list)
    for world, root, target, seed in webs():
        judge, topic = judge_of([target]), Topic(name=words_of([target]))
        pages = round(SHARE * len(crawl(world, root, judge, topic, "breadth-first", 0, 10**6)))
        truth = {
            name: sum(
                t.judgement.relevant for t in crawl(world, root, judge, topic, name, 7, pages)
            )
            for name in POLICIES
        }
        for logger, params in LOGGERS:
            taken = crawl(world, root, judge, topic, logger, seed, pages, params)
            log = Log([root], taken, topic, policy=logger)
            said = " ".join([logger, *(f"{key}={value}" for key, value in params.items())])
            for name in POLICIES:
                rows[said, name].append((estimate(log, name), truth[name]))
    print("| run by | estimated | truth | the run | estimate | mean error | inside 95 % | n eff. |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    inside = trials = 0
    for (said, name), found in rows.items():
        hits = sum(told.low <= real <= told.high for told, real in found)
        inside, trials = inside + hits, trials + len(found)
        means = [
            np.mean([real for _, real in found]),
            np.mean([told.run_found for told, _ in found]),
            np.mean([told.found for told, _ in found]),
            np.mean([abs(told.found - real) for told, real in found]),
        ]
        shown = " | ".join(f"{mean:.0f}" for mean in means)
        effective = np.mean([told.effective for told, _ in found])
        print(f"| {said} | {name} | {shown} | {hits} of {len(found)} | {effective:.0f} |")
    print(f"\n{inside} of {trials} intervals hold the truth.")


if __name__ == "__main__":
    main()
