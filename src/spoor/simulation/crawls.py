"""The crawl of one policy over one known web, measured against breadth-first and the oracle."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from spoor import registry
from spoor.crawl import Crawl
from spoor.errors import InputError
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.spec import judge_of, words_of
from spoor.link_filter.link_filter import CrawlFilter
from spoor.link_filter.scope import Scope
from spoor.process_memory import few_collections
from spoor.protocols import KnownWorld, LookAhead
from spoor.simulation.metrics import area, breadth_first_order, curve, gap_closed, requests_to
from spoor.simulation.replay import Replay
from spoor.types import LinkId, State, Task, Topic, WebGraph
from spoor.web.text import Vectors
from spoor.worlds.folders import check_labels, open_scope

ORACLE_LIMIT = 200_000
"""Reachable pages up to which the oracle is run beside a policy."""

Progress = Callable[[int, int], None]
"""Called with (pages fetched, targets found) after each page."""


@dataclass(frozen=True, slots=True)
class CrawlSetup:
    """The crawl to simulate: plain values, so that it can be sent to another process."""

    web: str
    """Folder of the web."""
    targets: tuple[str, ...]
    policy: str
    root: str | None = None
    """None: the web's own, where it has one."""
    topic: Topic | None = None
    """None: the words of the targets."""
    params: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    pages: int | None = None
    in_flight: int = 1
    delay: float = 0.0
    """Simulated seconds between two requests to a host."""
    scope: str = "site"
    """`site`: the pages recorded with the root's site; `web`: all."""
    absent: bool = False
    """Ask for linked pages that are not recorded, too."""
    vectors: str | None = None
    found_per_host: int | None = None
    """Leave a host once so many targets were found there, as `spoor crawl` does."""
    free_look_ahead: bool = False
    """Count the pages that a policy expands, not those that it only looked at, as Grigoriadis and
    Paliouras (2004) do. The same for every policy that does not look ahead."""


@dataclass(slots=True)
class PreparedWeb:
    """A web with what every policy on it is measured against."""

    world: KnownWorld
    graph: WebGraph
    root: str
    order: list[int]
    """Reachable pages in breadth-first order."""

    @property
    def reachable(self) -> int:
        return len(self.order)

    @property
    def links_reachable(self) -> int:
        """Links on the reachable pages, each pair of pages once."""
        return int(np.diff(self.graph.indptr)[self.order].sum())

    @property
    def targets_reachable(self) -> int:
        return int(self.graph.targets[self.order].sum())

    def budget(self, pages: int | None, share: float | None = None) -> int:
        """The smallest of the limits: pages, a share of the reachable pages, and all of these."""
        limits = [self.reachable]
        limits += [] if pages is None else [pages]
        limits += [max(1, round(share * self.reachable))] if share else []
        return min(limits)


def prepare(setup: CrawlSetup) -> PreparedWeb:
    """Open the web of a setup and find its targets; InputError for a root that is not in it, and
    for a label that no page of it carries."""
    folder = Path(setup.web)
    world, root = open_scope(folder, setup.root, setup.scope, absent=setup.absent)
    check_labels(folder, setup.targets)
    graph = world.graph(judge_of(setup.targets))
    number = graph.index().get(root)
    if number is None:
        raise InputError(f"{root} is not a page of {setup.web}; `spoor web info` lists its roots")
    return PreparedWeb(world, graph, root, breadth_first_order(graph, number))


def simulate_crawl(
    setup: CrawlSetup,
    *,
    web: PreparedWeb | None = None,
    model: State | None = None,
    compare: bool = True,
    progress: Progress = lambda fetched, relevant: None,
) -> dict[str, Any]:
    """Simulate one crawl. Returns its figures, ready for JSON (keys in docs/guides/lab.md).

    `web`: the prepared web of this setup, where several setups share it. With `compare` the oracle
    runs too, for `gap_closed`; that is None where the web is too large for it.
    """
    web = web or prepare(setup)
    start, cpu_start = time.perf_counter(), time.process_time()
    hits, crawl = _run(setup, web, model, progress)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu_start
    targets, reachable = web.targets_reachable, web.reachable
    # Breadth-first and the oracle get the same budget.
    fetches = web.budget(setup.pages)
    own = area(hits, targets, fetches)
    breadth_first = area(web.graph.targets[web.order].tolist(), targets, fetches)
    oracle = None
    if compare and reachable <= ORACLE_LIMIT and targets:
        oracle = own
        if setup.policy != "oracle":
            informed = CrawlSetup(
                setup.web,
                setup.targets,
                "oracle",
                root=web.root,
                scope=setup.scope,
                pages=setup.pages,
                found_per_host=setup.found_per_host,
            )
            oracle = area(_run(informed, web, None)[0], targets, fetches)
    # A policy that measures similarity names its word vectors, if it has any.
    measured_by = getattr(crawl.policy, "measured_by", None)
    return {
        "web": setup.web,
        "root": web.root,
        "target": list(setup.targets),
        "policy": setup.policy,
        "params": dict(setup.params),
        "seed": setup.seed,
        "fetched": len(hits),
        "downloads": crawl.counts.pages,
        "requests": crawl.counts.requests,
        "reachable": reachable,
        "targets": int(web.graph.targets.sum()),
        "targets_reachable": targets,
        "links_reachable": web.links_reachable,
        "found": sum(hits),
        "absent": crawl.counts.failed,
        "requests_to": requests_to(hits, targets, reachable),
        "auc": own,
        "auc_breadth_first": breadth_first,
        "auc_oracle": oracle,
        "gap_closed": gap_closed(own, breadth_first, oracle),
        "seconds": round(seconds, 4),
        "cpu_seconds": round(cpu, 4),
        "pages_per_second": round(len(hits) / max(seconds, 1e-9), 1),
        "peak_rss_mb": round(peak_rss_mb(), 1),
        "curve": curve(hits),
        **({"measured_by": measured_by} if measured_by else {}),
    }


def _run(
    setup: CrawlSetup,
    web: PreparedWeb,
    model: State | None,
    progress: Progress = lambda fetched, relevant: None,
) -> tuple[list[bool], Crawl]:
    """(whether each counted page is a target, in the order of the crawl; the crawl at its end)."""
    task = Task(
        np.random.default_rng(setup.seed),
        setup.topic or Topic(name=words_of(setup.targets)),
        model=model,
        graph=web.graph if setup.policy in registry.LAB_ONLY else None,
        vectors=Vectors.read(setup.vectors) if setup.vectors is not None else None,
    )
    policy = registry.build("policies", setup.policy, task, settings=setup.params)
    frontier = MemoryFrontier(delay=setup.delay, per_host=1 if setup.delay else 0)
    # A web with traps has no end, and pages after the reachable ones enter no figure.
    budget = web.budget(setup.pages)
    free = setup.free_look_ahead and isinstance(policy, LookAhead) and policy.look_ahead
    expanded: list[LinkId] = []
    if free:
        policy.expand = _recording(policy.expand, expanded)
        # One more than there is, so that the page looked at last is expanded, too.
        budget = web.reachable + 1
    judge, most = judge_of(setup.targets), setup.found_per_host
    scope = Scope("anywhere", nofollow=False)
    hosts = CrawlFilter(scope, actions=True, found_per_host=most) if most else None
    crawl = Crawl(policy, judge, frontier, pages=budget, link_filter=hosts)
    crawl.seed([web.root])
    urls = zip(web.graph.urls, web.graph.targets.tolist(), strict=True)
    targets = {url for url, is_target in urls if is_target}
    hits: list[bool] = []
    hit_of: dict[LinkId, bool] = {}
    relevant = 0
    with few_collections():
        for outcome in Replay(crawl, web.world, in_flight=setup.in_flight):
            page = outcome.page
            if page is not None:
                hit = page.url in targets
                relevant += hit
                hits.append(hit)
                progress(len(hits), relevant)
                if free:
                    hit_of[outcome.choice.link] = hit
            if free and setup.pages is not None and len(expanded) >= setup.pages:
                break
    if free:
        hits = [hit_of[link] for link in expanded][: setup.pages]
    return hits, crawl


def _recording(
    expand: Callable[[Sequence[LinkId]], LinkId], expanded: list[LinkId]
) -> Callable[[Sequence[LinkId]], LinkId]:
    def expand_and_record(fetched: Sequence[LinkId]) -> LinkId:
        expanded.append(expand(fetched))
        return expanded[-1]

    return expand_and_record


def peak_rss_mb() -> float:
    """Largest resident set of this process so far, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)
