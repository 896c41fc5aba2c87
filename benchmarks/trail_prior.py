"""The prior that `trail` ships: how much each kind of evidence tells before a site is known.

    .venv/bin/python benchmarks/trail_prior.py --webs CACHE --tasks TASKS.toml ... --out prior.json
        [--without WEB ...] [--pages 150]

`CACHE` holds `webs/NAME` (`spoor web import`) and `truth/NAME.TASK.topic`, whose `example_urls` are
the targets; a file of tasks names web, start, and the words of each topic. Each task is crawled by
`trail` from its prior by hand, with a judge that tells the truth and four requests in flight, and
the links that it reads are kept with whether they lead to a target: a sample of what the first
requests choose among.

Then a logistic regression for each task, with words and groups as random effects, and above all
tasks a Gaussian of the weight of each plain number (Gelman and Hill 2007, chapter 12). Its means
and variances are found by expectation and maximisation with a Laplace approximation. The prior by
hand counts as three tasks more, so that a number that few tasks tell of stays near it, and no
variance is below LEAST: a site that is none of these differs more than these do. The numbers in
HELD keep the prior by hand, and the others are learned without them.

`--without` leaves webs out, so that a prior can be tested on them.
"""

from __future__ import annotations

import argparse
import json
import tomllib
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit

from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.facts import Function
from spoor.judges.topic import topic_of
from spoor.policies.trail import Trail
from spoor.policies.trail.columns import BY_HAND, DENSE, VERSION, Prior, variances
from spoor.policies.trail.learners import Learner
from spoor.simulation.replay import Replay
from spoor.types import InLinks, Task, Topic
from spoor.worlds.folders import open_scope

ROUNDS = 10
TASKS_BY_HAND = 3
"""Tasks that the prior by hand counts as."""
LEAST = 0.25
"""Least variance of a number."""
HELD = ("mentions of the topic", "pages that link to it")
"""Numbers that keep the prior by hand. Likenesses to the topic tell the same as the first, and
where all were learned together crawls found less; the second grows after a link was read."""
IS_HELD = [number.name in HELD for number in DENSE]
LINKS = 1500
"""Links of a task, at most; drawn at random where there are more."""
IN_FLIGHT = 4

Floats = NDArray[np.float64]


class Recorder(Trail):
    """A trail that keeps what it reads of links."""

    def __init__(self, topic: Topic) -> None:
        super().__init__(Task(np.random.default_rng(0), topic), shipped=False)
        assert isinstance(self._model, Learner)
        self._model.a[IS_HELD] = self._model.b[IS_HELD] = self._guard.prior[IS_HELD] = 0.0
        self.urls: list[str] = []
        self.slots: list[NDArray[np.int32]] = []
        self.dense: list[NDArray[np.float32]] = []

    def observe(self, seen: InLinks) -> None:
        known = self._rows.known(seen.links)
        new = [index for index, count in enumerate(known) if count < self._in_links]
        if new and seen.page is not None:
            slots, dense = self._features.rows(
                [(seen.urls[index], seen.hosts[index], seen.anchor(index)) for index in new],
                seen.page,
                seen.parent,
                seen.parent_score,
                seen.depth,
            )
            self.urls += [seen.urls[index] for index in new]
            self.slots.append(slots)
            self.dense.append(dense)
        super().observe(seen)


@dataclass(frozen=True)
class TaskLinks:
    """The links of one task."""

    design: Any
    """Plain numbers, then words and groups, by link: sparse."""
    precision: Floats
    """Prior precision of the words and groups."""
    target: Floats


def recorded(web: Path, start: str, topic: Topic, targets: Set[str], pages: int) -> TaskLinks:
    """The links that a crawl of one task reads."""
    world, root = open_scope(web, start, "site")
    policy = Recorder(topic)
    crawl = Crawl(policy, Function(lambda page: page.url in targets), MemoryFrontier(), pages=pages)
    crawl.seed([root])
    for _ in Replay(crawl, world, in_flight=IN_FLIGHT):
        pass
    slots, dense = np.concatenate(policy.slots), np.concatenate(policy.dense)
    dense[:, IS_HELD] = 0.0
    target = np.array([url in targets for url in policy.urls], dtype=np.float64)
    if len(slots) > LINKS:
        chosen = np.sort(np.random.default_rng(0).choice(len(slots), LINKS, replace=False))
        slots, dense, target = slots[chosen], dense[chosen], target[chosen]
    row, column = np.nonzero(slots)
    names, first, effect = np.unique(
        slots[row, column].astype(np.int64), return_index=True, return_inverse=True
    )
    effects = sparse.csr_array((np.ones(len(row)), (row, effect)), shape=(len(slots), len(names)))
    return TaskLinks(
        sparse.hstack([sparse.csr_array(dense.astype(np.float64)), effects], format="csr"),
        1.0 / variances()[column[first]].astype(np.float64),
        target,
    )


def posterior(task: TaskLinks, prior: Prior, start: Floats | None) -> tuple[Floats, Floats]:
    """Mode of a task's weights, and variances of the plain numbers, which are first."""
    design, target, size = task.design, task.target, len(DENSE)
    turned = design.T.tocsr()
    centre = np.concatenate([prior.mean, np.zeros(len(task.precision))])
    precision = np.concatenate([1.0 / prior.variance, task.precision])

    def loss(x: Floats) -> tuple[float, Floats]:
        odds, apart = design @ x, x - centre
        value = float((np.logaddexp(0.0, odds) - target * odds).sum())
        value += 0.5 * float((precision * apart * apart).sum())
        return value, turned @ (expit(odds) - target) + precision * apart

    found = minimize(
        loss,
        centre if start is None else start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 60, "maxcor": 15},
    )
    odds = design @ found.x
    squared = turned.multiply(turned) @ (expit(odds) * expit(-odds))
    return found.x, 1.0 / (precision + squared)[:size]


def learned(tasks: list[TaskLinks]) -> Prior:
    """The prior that these tasks have in common."""
    prior, size = BY_HAND, len(DENSE)
    modes: list[Floats | None] = [None] * len(tasks)
    of_all = len(tasks) + TASKS_BY_HAND
    for _ in range(ROUNDS):
        found = [posterior(task, prior, mode) for task, mode in zip(tasks, modes, strict=True)]
        modes = [mode for mode, _ in found]
        means = np.array([mode[:size] for mode, _ in found])
        mean = (means.sum(axis=0) + TASKS_BY_HAND * BY_HAND.mean) / of_all
        apart = ((means - mean) ** 2 + np.array([variance for _, variance in found])).sum(axis=0)
        variance = (apart + TASKS_BY_HAND * BY_HAND.variance) / of_all
        prior = Prior(mean.astype(np.float32), variance.astype(np.float32))
    return prior._replace(variance=np.maximum(prior.variance, np.float32(LEAST)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--webs", type=Path, required=True)
    parser.add_argument("--tasks", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--without", nargs="*", default=[])
    parser.add_argument("--pages", type=int, default=150)
    told = parser.parse_args()
    tasks, names = [], []
    for data in (tomllib.loads(file.read_text()) for file in told.tasks):
        for task in data["task"]:
            web, name = data["web"][task["web"]], f"{task['web']}.{task['name']}"
            if task["web"] in told.without:
                continue
            truth = tomllib.loads((told.webs / "truth" / f"{name}.topic").read_text())
            tasks.append(
                recorded(
                    told.webs / "webs" / task["web"],
                    web["base"] + web["start"],
                    topic_of(task["topic"]).topic,
                    set(truth["example_urls"]),
                    told.pages,
                )
            )
            names.append(name)
            print(name, len(tasks[-1].target), int(tasks[-1].target.sum()), flush=True)
    prior = learned(tasks)
    numbers = zip(DENSE, prior.mean.tolist(), prior.variance.tolist(), strict=True)
    data = {
        "features": VERSION,
        "tasks": names,
        "numbers": {
            number.name: {"mean": round(mean, 2), "variance": round(variance, 2)}
            for number, mean, variance in numbers
        },
    }
    told.out.write_text(json.dumps(data, indent=1) + "\n")
    print(json.dumps(data["numbers"], indent=1))


if __name__ == "__main__":
    main()
