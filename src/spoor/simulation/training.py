"""Training of a policy on known webs: what `spoor train` does."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spoor import registry
from spoor.errors import InputError
from spoor.judges.spec import judge_of, words_of
from spoor.protocols import KnownWorld
from spoor.types import KnownWeb, Page, State, Task, Topic
from spoor.worlds.folders import open_web

Progress = Callable[[int, int], None]
"""Called with (steps done, steps in all)."""


def known_webs(
    paths: Sequence[Path],
    targets: Sequence[str],
    *,
    only: Collection[str] = (),
    without: Collection[str] = (),
) -> list[KnownWeb]:
    """Each site of each recorded web as one KnownWeb, in the order of the webs.

    `only` and `without` choose sites by name. Raises InputError for a site that no web has, and
    where nothing is left.
    """
    judge = judge_of(targets)
    webs: list[KnownWeb] = []
    sites_seen: list[str] = []
    for path in paths:
        sites: list[str | None] = list(open_web(path).sites()) or [None]
        sites_seen += [site or path.name for site in sites]
        for site in sites:
            name = site or path.name
            if (only and name not in only) or name in without:
                continue
            world = open_web(path, site=site if len(sites) > 1 else None)
            graph = world.graph(judge)
            index = graph.index()
            roots = dict.fromkeys(index[world.page(root).url] for root in world.roots())
            reader = _reader(world, graph.urls)
            webs.append(KnownWeb(name, graph, next(iter(roots)), reader, tuple(roots)))
    for name in [*only, *without]:
        if name not in sites_seen:
            near = registry.nearest(name, sites_seen)
            names = ", ".join(sites_seen)
            raise InputError(f"no web has a site {name!r}{near}; there are: {names}")
    if not webs:
        raise InputError("no site is left to train on")
    return webs


def _reader(world: KnownWorld, urls: Sequence[str]) -> Callable[[int], Page]:
    return lambda number: world.page(urls[number])


def train(
    policy: str,
    webs: Sequence[KnownWeb],
    targets: Sequence[str],
    *,
    topic: Topic | None = None,
    params: Mapping[str, Any] | None = None,
    seed: int = 0,
    vectors: object | None = None,
    progress: Progress = lambda done, total: None,
) -> State:
    """The model of a policy, from `webs`; the same seed gives the same model.

    Raises InputError for a policy without a training, for an unknown parameter, and where no web
    has a target.
    """
    if not any(web.graph.targets.any() for web in webs):
        raise InputError(
            f"no page of {', '.join(web.name for web in webs)} is a target ({' or '.join(targets)})"
        )
    task = Task(
        np.random.default_rng(seed), topic or Topic(name=words_of(targets)), vectors=vectors
    )
    model: State = registry.build("trainers", policy, task, webs, progress, settings=params)
    return model
