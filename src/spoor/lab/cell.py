"""One cell of an experiment: a policy replayed on a web, measured against what could be done."""

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
from spoor.garbage import few_collections
from spoor.judges.spec import judge_of, words_of
from spoor.lab.figures import area, breadth_first_order, curve, gap_closed, requests_to
from spoor.lab.webs import LabWorld, check_labels, open_scope
from spoor.protocols import LookAhead
from spoor.replay_driver import Replay
from spoor.types import LinkId, State, Task, Topic, WebGraph

ORACLE_LIMIT = 200_000
"""Reachable pages up to which the oracle is run beside a policy."""

Tell = Callable[[int, int], None]
"""(pages fetched, targets found)."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What is replayed."""

    web: str
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
    scope: str = "site"
    """`site`: the pages recorded with the root's site; `web`: all."""
    absent: bool = False
    """Ask for linked pages that are not recorded, too."""
    vectors: str | None = None
    free_look_ahead: bool = False
    """Count the pages that a policy expands, not those that it only looked at, as Grigoriadis and
    Paliouras (2004) do. The same for every policy that does not look ahead."""


@dataclass(slots=True)
class Ground:
    """A web made ready: what every policy on it is measured against."""

    world: LabWorld
    graph: WebGraph
    root: str
    order: list[int]
    """Reachable pages in breadth-first order."""

    @property
    def reachable(self) -> int:
        return len(self.order)

    @property
    def targets_reachable(self) -> int:
        return int(self.graph.targets[self.order].sum())


def prepare(cell: Cell) -> Ground:
    """Open the web of a cell and find its targets; InputError for a root that is not in it, and for
    a label that no page of it carries."""
    world, root = open_scope(Path(cell.web), cell.root, cell.scope, absent=cell.absent)
    check_labels(Path(cell.web), cell.targets)
    graph = world.graph(judge_of(cell.targets))
    number = graph.index().get(root)
    if number is None:
        raise InputError(f"{root} is not a page of {cell.web}; `spoor web info` lists its roots")
    return Ground(world, graph, root, breadth_first_order(graph, number))


def replay_cell(
    cell: Cell,
    *,
    ground: Ground | None = None,
    model: State | None = None,
    compare: bool = True,
    tell: Tell = lambda fetched, found: None,
) -> dict[str, Any]:
    """Replay one cell; its figures, ready for JSON (keys in docs/guides/lab.md).

    With `compare` the oracle runs too, for `gap_closed`; None stands where it is too large for it.
    """
    ground = ground or prepare(cell)
    began, cpu = time.perf_counter(), time.process_time()
    found, crawl = _run(cell, ground, model, tell)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    targets, reachable = ground.targets_reachable, ground.reachable
    # Under a budget the others have the same: what comes after it is nobody's.
    fetches = reachable if cell.pages is None else min(cell.pages, reachable)
    own = area(found, targets, fetches)
    plain = area(ground.graph.targets[ground.order].tolist(), targets, fetches)
    best = None
    if compare and reachable <= ORACLE_LIMIT and targets:
        if cell.policy == "oracle":
            best = own
        else:
            known = Cell(
                cell.web,
                cell.targets,
                "oracle",
                root=ground.root,
                scope=cell.scope,
                pages=cell.pages,
            )
            best = area(_run(known, ground, None)[0], targets, fetches)
    # Of a policy that measures likeness: by which word vectors, or by none.
    measured = getattr(crawl.policy, "measured_by", None)
    return {
        "web": cell.web,
        "root": ground.root,
        "target": list(cell.targets),
        "policy": cell.policy,
        "params": dict(cell.params),
        "seed": cell.seed,
        "fetched": len(found),
        "downloads": crawl.counts.pages,
        "requests": crawl.counts.requests,
        "reachable": reachable,
        "targets": int(ground.graph.targets.sum()),
        "targets_reachable": targets,
        "found": sum(found),
        "absent": crawl.counts.failed,
        "requests_to": requests_to(found, targets, reachable),
        "auc": own,
        "auc_breadth_first": plain,
        "auc_oracle": best,
        "gap_closed": gap_closed(own, plain, best),
        "seconds": round(seconds, 4),
        "cpu_seconds": round(cpu, 4),
        "pages_per_second": round(len(found) / max(seconds, 1e-9), 1),
        "peak_rss_mb": round(peak_rss_mb(), 1),
        "curve": curve(found),
        **({"measured_by": measured} if measured else {}),
    }


def _run(
    cell: Cell, ground: Ground, model: State | None, tell: Tell = lambda fetched, found: None
) -> tuple[list[bool], Crawl]:
    task = Task(
        np.random.default_rng(cell.seed),
        cell.topic or Topic(name=words_of(cell.targets)),
        model=model,
        graph=ground.graph if cell.policy in registry.LAB_ONLY else None,
        vectors=_vectors(cell.vectors),
    )
    policy = registry.build("policies", cell.policy, task, settings=cell.params)
    per_host = 1 if cell.delay else 0
    frontier = MemoryFrontier(delay=cell.delay, per_host=per_host)
    # A web with traps has no end, and what comes after `reachable` pages enters no figure.
    budget = ground.reachable if cell.pages is None else min(cell.pages, ground.reachable)
    free = cell.free_look_ahead and isinstance(policy, LookAhead) and policy.look_ahead
    expanded: list[LinkId] = []
    if free:
        policy.expand = _written_down(policy.expand, expanded)
        # One more than there is, so that what was looked at last is expanded, too.
        budget = ground.reachable + 1
    crawl = Crawl(policy, judge_of(cell.targets), frontier, pages=budget)
    crawl.seed([ground.root])
    wanted = {url for url, is_target in _rows(ground.graph) if is_target}
    found: list[bool] = []
    hit_of: dict[LinkId, bool] = {}
    hits = 0
    with few_collections():
        for outcome in Replay(crawl, ground.world, in_flight=cell.in_flight):
            page = outcome.page
            if page is not None:
                hit = page.url in wanted
                hits += hit
                found.append(hit)
                tell(len(found), hits)
                if free:
                    hit_of[outcome.choice.link] = hit
            if free and cell.pages is not None and len(expanded) >= cell.pages:
                break
    if free:
        found = [hit_of[link] for link in expanded][: cell.pages]
    return found, crawl


def _written_down(
    expand: Callable[[Sequence[LinkId]], LinkId], expanded: list[LinkId]
) -> Callable[[Sequence[LinkId]], LinkId]:
    def expand_and_write(fetched: Sequence[LinkId]) -> LinkId:
        expanded.append(expand(fetched))
        return expanded[-1]

    return expand_and_write


def _rows(graph: WebGraph) -> zip[tuple[str, bool]]:
    return zip(graph.urls, graph.targets.tolist(), strict=True)


def _vectors(path: str | None) -> object | None:
    if path is None:
        return None
    from spoor.web.text import Vectors

    return Vectors.read(path)


def peak_rss_mb() -> float:
    """Largest resident set of this process so far, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)
