"""A crawl in shards, simulated in one process: what splitting costs in harvest, and what learning
together gives back.

The shards run the same lines as a live crawl in shards: crawl, outbox, worker and coordinator,
without the network, the disk and the processes. Time is counted in rounds; in each round every
shard fetches one page.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spoor import registry
from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.spec import judge_of
from spoor.protocols import Frontier, Judge, Mergeable, Policy, World
from spoor.sharding import commands
from spoor.sharding.coordinator import Coordinator, Report
from spoor.sharding.outbox import Outbox
from spoor.sharding.worker import Worker
from spoor.simulation.crawls import CrawlSetup, PreparedWeb, prepare
from spoor.simulation.metrics import area
from spoor.types import Fetch, Outcome, Task, Topic
from spoor.web.urls import divided, registrable_domain

Make = Callable[[Outbox], Crawl]


class LocalShard:
    """One shard in this process; its replies are immediate."""

    def __init__(self, outbox: Outbox, make: Make, world: World) -> None:
        self.crawl = make(outbox)
        self.worker = Worker(self.crawl, self.crawl, self._call)
        self.merge_seconds = 0.0
        self._world = world
        self._verdicts: list[bool] = []

    def _call(self, name: str, now: float, *arguments: object, body: bytes = b"") -> None:
        start = time.process_time()
        commands.apply(self.crawl, name, now, arguments, body)
        if name == "merge":
            self.merge_seconds += time.process_time() - start

    def step(self, now: float) -> Outcome | None:
        """Fetch the next link; its outcome, or None where there is no link or no outcome yet."""
        fetch = self.worker.next(now)
        if not isinstance(fetch, Fetch):
            return None
        outcome = self.worker.receive(self._world.answer(fetch), now)
        if not isinstance(outcome, Outcome):
            return None
        if outcome.judgement is not None:
            self._verdicts.append(outcome.judgement.relevant)
        return outcome

    def report(self, order: dict[str, Any] | None) -> Report:
        verdicts, self._verdicts = self._verdicts, []
        self.worker.outbox.seal()
        return self.worker.report(order, verdicts)


@dataclass
class LocalCrawl:
    """Shards and their coordinator; `on_page` is called with each judged page."""

    shards: Sequence[LocalShard]
    coordinator: Coordinator
    every: int = 1
    """Rounds between two exchanges."""
    on_page: Callable[[int, Outcome], None] = lambda shard, outcome: None
    now: float = field(default=0.0, init=False)

    def run(self) -> str:
        """Run to the end; returns the reason. It exchanges until the coordinator ends the crawl,
        since links may still be on their way after an exchange without news."""
        for number, shard in enumerate(self.shards):
            self.coordinator.joined(number, shard.report(None), self.now)
        while self.coordinator.reason is None:
            self.exchange()
            for _ in range(self.every):
                for number, shard in enumerate(self.shards):
                    outcome = shard.step(self.now)
                    if outcome is not None and outcome.judgement is not None:
                        self.on_page(number, outcome)
                self.now += 1.0
        return self.coordinator.reason

    def exchange(self) -> None:
        """An order to each shard, and its report."""
        for number, shard in enumerate(self.shards):
            order = self.coordinator.order(number)
            shard.worker.execute(order, self.now)
            self.coordinator.report(number, shard.report(order), self.now)


def simulate_shards(
    setup: CrawlSetup,
    shards: int,
    *,
    merge_pages: int = 0,
    every: int = 4,
    web: PreparedWeb | None = None,
    seeds: Sequence[str] | None = None,
    by: str = "domain",
    draw: int = 0,
) -> dict[str, Any]:
    """Simulate a crawl in so many shards; its figures, ready for JSON. `seeds` replace its root.

    `merge_pages`: pages of all shards between two merges of what they learned; 0 for never.
    `every`: rounds between two exchanges. `by` and `draw`: which division of the hosts.
    """
    web = prepare(setup) if web is None else web
    pages = setup.pages or web.reachable
    roots = [web.root] if seeds is None else seeds
    owner = division(by, draw)

    def make(outbox: Outbox) -> Crawl:
        rng = np.random.default_rng([setup.seed, outbox.number])
        task = Task(rng, setup.topic or Topic(), graph=None)
        policy: Policy = registry.build("policies", setup.policy, task, settings=dict(setup.params))
        judge = judge_of(setup.targets)  # each shard has one of its own, as processes do
        return split_crawl(policy, judge, MemoryFrontier(delay=setup.delay), outbox, roots)

    start = time.process_time()
    outboxes = [Outbox(number, shards, owner=owner) for number in range(shards)]
    members = [LocalShard(outbox, make, web.world) for outbox in outboxes]
    coordinator = Coordinator(shards, pages, merge_pages=merge_pages)
    hits: list[bool] = []

    def note(shard: int, outcome: Outcome) -> None:
        assert outcome.judgement is not None
        hits.append(outcome.judgement.relevant)

    crawl = LocalCrawl(members, coordinator, every, note)
    reason = crawl.run()
    seconds = time.process_time() - start
    each = [shard.crawl.counts.pages for shard in members]
    traffic, fetched = coordinator.traffic, max(1, len(hits))
    merging = sum(shard.merge_seconds for shard in members)
    return {
        "policy": setup.policy,
        "shards": shards,
        "merges": traffic.merges,
        "mergeable": isinstance(members[0].crawl.policy, Mergeable),
        "reason": reason,
        "fetched": len(hits),
        "found": sum(hits),
        "reachable": web.reachable,
        "targets_reachable": web.targets_reachable,
        "auc": area(hits, web.targets_reachable, pages),
        "rounds": int(crawl.now),
        "busiest": max(each) / fetched,
        "idle": sum(not pages for pages in each),
        "turns_per_page": traffic.orders / fetched,
        "links_per_page": traffic.links / fetched,
        "bytes_per_page": traffic.bytes / fetched,
        "model_bytes_per_page": traffic.model_bytes / fetched,
        "merge_ms_per_page": 1000 * merging / fetched,
        "cpu_seconds": round(seconds, 3),
    }


BY = ("domain", "host")


def division(by: str = "domain", draw: int = 0) -> Callable[[str, int], int]:
    """Which of so many shards owns a host. Draw 0 `by` domain is the division of a live crawl;
    others are as good, and by `host` every host is taken for a domain of its own."""

    def owner(name: str, shards: int) -> int:
        unit = name if by == "host" else registrable_domain(name)
        return divided(f"{draw} {unit}" if draw else unit, shards)

    return owner


def split_crawl(
    policy: Policy, judge: Judge, frontier: Frontier, outbox: Outbox, seeds: Sequence[str]
) -> Crawl:
    """A crawl that is one shard, with its share of the seeds and no pages lent to it yet."""
    crawl = Crawl(policy, judge, frontier, pages=0, outbox=outbox)
    crawl.seed(seeds)
    return crawl
