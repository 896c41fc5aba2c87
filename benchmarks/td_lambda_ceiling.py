"""What td-lambda's `inherit` could reach, were nothing lost by learning on other sites.

    .venv/bin/python benchmarks/td_lambda_ceiling.py WEB --target SPEC [--target SPEC] [--site SITE]

Each site of WEB, a folder that `spoor web import` wrote, is crawled by the exact values of its own
pages (γ = 0.9; walks end at a target, or go through) in the order of `inherit`: a link has the mean
value of the pages that show it. Prints the mean area under the curve of breadth-first and of both.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from spoor.learn.priority_queue import PriorityQueue
from spoor.learn.temporal_difference import exact_values
from spoor.learn.training_crawl import crawl_known
from spoor.protocols import Offer
from spoor.simulation.metrics import area, breadth_first_order
from spoor.simulation.training import known_webs
from spoor.types import Choice, InLinks, KnownWeb, LinkId, Outcome, State

GAMMA = 0.9


class Inherit:
    """Best-first by the mean value of the pages that show a link."""

    def __init__(self, values: Mapping[str, float]) -> None:
        self._values = values
        self._queue = PriorityQueue()
        self._parents: dict[LinkId, tuple[float, int]] = {}

    def observe(self, seen: InLinks) -> None:
        value = 0.0 if seen.page is None else self._values[seen.page.url]
        for link, host in dict(zip(seen.links, seen.hosts, strict=True)).items():
            total, count = self._parents.get(link, (0.0, 0))
            self._parents[link] = total + value, count + 1
            self._queue.push(link, host, (total + value) / (count + 1))

    def choose(self, offer: Offer) -> Choice:
        return Choice(self._queue.pop(offer)[0], 1.0)

    def learn(self, outcome: Outcome) -> None:
        pass

    def save(self) -> State:
        return {}

    def load(self, state: State) -> None:
        pass


def areas(web: KnownWeb) -> list[float] | None:
    """Of breadth-first, `inherit` by exact values, and the same through targets; None where no
    target can be reached."""
    graph = web.graph
    order = breadth_first_order(graph, web.root)
    reachable, targets = len(order), int(graph.targets[order].sum())
    found = [area(graph.targets[order].tolist(), targets, reachable)]
    for through in (False, True):
        exact = exact_values(graph, GAMMA, through=through).tolist()
        policy = Inherit(dict(zip(graph.urls, exact, strict=True)))
        found.append(area(crawl_known(web, policy, reachable), targets, reachable))
    known = [value for value in found if value is not None]
    return known if len(known) == len(found) else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("web", type=Path)
    parser.add_argument("--target", action="append", required=True)
    parser.add_argument("--site", action="append", default=[])
    told = parser.parse_args()
    print("| target | sites | breadth-first | inherit, exact values | through targets |")
    print("| --- " * 5 + "|")
    for target in told.target:
        rows = [areas(web) for web in known_webs([told.web], [target], only=told.site)]
        some = [row for row in rows if row is not None]
        shown = " | ".join(f"{value:.3f}" for value in np.mean(some, axis=0))
        print(f"| {target} | {len(some)} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
