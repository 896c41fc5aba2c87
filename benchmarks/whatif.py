"""How well `spoor lab whatif` estimates: against the truth, on webs that are known whole.

    .venv/bin/python benchmarks/whatif.py [WEB ROOT TARGET]

A logging policy crawls a third of each web; what another policy would have found in as many pages
is estimated from that run alone, and compared with what it does find. Without arguments: six
generated webs of 1,200 pages, on one host each; with them: six runs on the recorded web WEB.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from spoor import registry
from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.spec import judge_of, words_of
from spoor.lab.whatif.estimate import estimate
from spoor.lab.whatif.run_log import LoggedPage, RunLog
from spoor.protocols import Judge, KnownWorld
from spoor.simulation.replay import Replay
from spoor.types import Task, Topic
from spoor.worlds.folders import open_scope
from spoor.worlds.generated import GeneratedSettings, GeneratedWorld

SHARE = 1 / 3
LOGGERS: tuple[tuple[str, dict[str, float]], ...] = (
    ("random", {}),
    ("sarsa", {"epsilon": 0.3}),
)
POLICIES = ("random", "breadth-first", "best-first", "trail")
TRIALS = 6


def crawl(
    world: KnownWorld,
    root: str,
    judge: Judge,
    topic: Topic,
    name: str,
    seed: int,
    pages: int,
    params: dict[str, float] | None = None,
) -> list[LoggedPage]:
    """What a policy takes, with the probabilities it notes."""
    task = Task(np.random.default_rng(seed), topic)
    policy = registry.build("policies", name, task, settings=params or {})
    done = Crawl(policy, judge, MemoryFrontier(), pages=pages)
    done.seed([root])
    return [
        LoggedPage(outcome.page, outcome.judgement, outcome.choice.probability)
        for outcome in Replay(done, world)
        if outcome.page is not None and outcome.judgement is not None
    ]


def webs() -> Iterator[tuple[KnownWorld, str, str, int]]:
    """(web, root, target, seed) of each trial."""
    if len(sys.argv) == 4:
        world, root = open_scope(Path(sys.argv[1]), sys.argv[2], "site")
        for seed in range(TRIALS):
            yield world, root, sys.argv[3], seed
        return
    for seed in range(TRIALS):
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
            log = RunLog([root], taken, topic, policy=logger)
            said = " ".join([logger, *(f"{key}={value}" for key, value in params.items())])
            for name in POLICIES:
                rows[said, name].append((estimate(log, name), truth[name]))
                print(seed, said, name, truth[name], rows[said, name][-1][0], file=sys.stderr)
    print(
        "| run by | estimated | truth | the run | by weights | mean error | inside 95 % |"
        " doubly robust | mean error | inside 95 % | unseen | worst … best |"
    )
    print("|" + " --- |" * 12)
    totals = np.zeros(6)
    for (said, name), found in rows.items():
        real = np.array([truth for _, truth in found])
        told = {
            key: np.array([getattr(one, key) for one, _ in found])
            for key in (
                "run_found weighted weighted_low weighted_high found low high unseen worst best"
            ).split()
        }
        gaps = [np.abs(told[key] - real) for key in ("weighted", "found")]
        inside = [
            int(((told[low] <= real) & (real <= told[high])).sum())
            for low, high in (("weighted_low", "weighted_high"), ("low", "high"), ("worst", "best"))
        ]
        totals += [*(gap.sum() for gap in gaps), *inside, len(found)]
        cells = [
            f"{real.mean():.0f}",
            f"{told['run_found'].mean():.0f}",
            *(
                f"{told[key].mean():.0f} | {gap.mean():.0f} | {hits} of {len(found)}"
                for key, gap, hits in zip(("weighted", "found"), gaps, inside, strict=False)
            ),
            f"{told['unseen'].mean():.0f}",
            f"{told['worst'].mean():.0f} … {told['best'].mean():.0f}",
        ]
        print(f"| {said} | {name} | {' | '.join(cells)} |")
    of = int(totals[5])
    print(
        f"\nMean error {totals[0] / of:.1f} by weights, {totals[1] / of:.1f} doubly robust; "
        f"the truth is in {totals[2]:.0f} and {totals[3]:.0f} of {of} intervals, and between worst "
        f"and best in {totals[4]:.0f}."
    )


if __name__ == "__main__":
    main()
