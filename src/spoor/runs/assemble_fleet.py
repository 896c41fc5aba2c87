"""From the settings of a watch to its fleet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spoor import registry
from spoor.foragers.fleet import Fleet
from spoor.foragers.fleets import FleetTask
from spoor.foragers.settings import steps_of_a_path
from spoor.foragers.states import SelfTaught
from spoor.link_filter.link_filter import CrawlFilter
from spoor.runs.assemble import judge_and_topic, scope_of
from spoor.settings import Settings
from spoor.watching.hosts import Hosts
from spoor.watching.watching import Watching


def make_fleet(settings: Settings, seeds: Sequence[str], hosts: Hosts | None = None) -> Fleet:
    """The fleet of a watch, with the judge of its topic, if it has one; without a background corpus
    it makes its states from its first 200 pages. Raises InputError as the registry does."""
    wants = settings.topic or settings.topic_file or settings.want
    judge = judge_and_topic(settings)[0] if wants else None
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
