"""From the settings of a watch to its fleet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spoor import registry
from spoor.crawl.plugin_calls import call_plugin, check_judgement, judge_page
from spoor.foragers.fleet import Fleet
from spoor.foragers.fleets import FleetTask
from spoor.foragers.hosts import Hosts
from spoor.foragers.settings import steps_of_a_path
from spoor.foragers.states import SelfTaught
from spoor.foragers.watching import Watching
from spoor.protocols import Judge
from spoor.runs.assemble import judge_and_topic, scope_of
from spoor.settings import Settings
from spoor.types import Judgement, Page
from spoor.web.link_filter import CrawlFilter
from spoor.wrapping import Wrapper


class CheckedJudge(Wrapper):
    """A judge whose faults are told as those of a plug-in."""

    kind = Judge

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.hold(judge)

    def judge(self, page: Page) -> Judgement:
        return judge_page(self._judge, page)

    def pass_revise(self) -> Sequence[tuple[str, Judgement]]:
        """As the judge's `revise`."""
        judge: Any = self._judge
        revised: Sequence[tuple[str, Judgement]] = call_plugin(judge, "revise", judge.revise)
        for url, judgement in revised:
            check_judgement(judge, "revise", url, judgement)
        return revised


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
        CrawlFilter(scope_of(begun), actions=settings.actions).admit,
        hosts or Hosts(),
        Watching(None if judge is None else CheckedJudge(judge)),
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
