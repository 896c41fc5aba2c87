"""From the settings of a watch to its fleet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spoor import registry
from spoor.foragers.crew import Steady
from spoor.foragers.fleet import Fleet
from spoor.foragers.fleets import FleetTask
from spoor.foragers.settings import steps_of_a_path
from spoor.foragers.states import SelfTaught
from spoor.link_filter.link_filter import CrawlFilter
from spoor.protocols import Judge
from spoor.runs.assemble import NoJudge, judge_and_topic, scope_of
from spoor.settings import Settings
from spoor.watching.hosts import Hosts
from spoor.watching.watching import Watching


def make_fleet(settings: Settings, seeds: Sequence[str], hosts: Hosts | None = None) -> Fleet:
    """The fleet of a watch, with the judge of its topic, if it has one; without a background corpus
    it makes its states from its first 200 pages. Raises InputError as the registry does."""
    return _fleet(settings, seeds, judge_and_topic(settings)[0] if settings.wants else None, hosts)


def make_fleet_to_look_at(settings: Settings) -> Fleet:
    """That of a watch, to load its state into. It has no judge, as the crawl of
    `make_crawl_to_look_at`. Raises InputError as the registry does."""
    fleet = _fleet(settings, settings.seeds, NoJudge() if settings.wants else None)
    if isinstance(fleet.crew, Steady):
        fleet.crew.only_due = settings.once
    return fleet


def _fleet(
    settings: Settings, seeds: Sequence[str], judge: Judge | None, hosts: Hosts | None = None
) -> Fleet:
    begun = replace(settings, seeds=tuple(seeds))
    task = FleetTask(
        seeds,
        SelfTaught(),
        np.random.default_rng(settings.seed),
        CrawlFilter(scope_of(begun), actions=settings.actions, repeats=False).admit,
        hosts or Hosts(),
        Watching(judge),
    )
    known = registry.parameters(registry.find("fleets", settings.fleet))
    offered = {
        "new_hours": settings.new_for / 3600.0,
        "abreast": settings.in_flight,
        "max_step": steps_of_a_path(settings.requests_per_day),
    }
    params: dict[str, Any] = {name: value for name, value in offered.items() if name in known}
    fleet: Fleet = registry.build(
        "fleets", settings.fleet, task, settings={**params, **settings.params}
    )
    return fleet
