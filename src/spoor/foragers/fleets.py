"""The fleets by name, as the registry makes them: `factory(task, **settings)`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from spoor.errors import InputError
from spoor.foragers.colony import Colony
from spoor.foragers.crew import Crew
from spoor.foragers.fleet import Fleet
from spoor.foragers.revisit import ChangeRate
from spoor.foragers.round_robin import RoundRobin
from spoor.foragers.scouts import Scouts
from spoor.foragers.settings import FleetSettings
from spoor.foragers.states import NoStates
from spoor.watching.hosts import Hosts
from spoor.watching.known_urls import Known
from spoor.watching.page_states import Describe
from spoor.watching.visits import Admit
from spoor.watching.watching import Watching

_PAPER = FleetSettings()
_NEW_HOURS = _PAPER.new_for / 3600.0


@dataclass(frozen=True, slots=True)
class FleetTask:
    """The task that a fleet is made for."""

    seeds: Sequence[str]
    """Canonical URLs."""
    describe: Describe
    rng: np.random.Generator
    admit: Admit | None = None
    """Which links of a page count; None: all."""
    hosts: Hosts = field(default_factory=Hosts)
    watching: Watching | None = None
    """What is wanted and what counts as a change; None: everything, as in the paper."""


def _begin(task: FleetTask, *, states: bool = True) -> tuple[Known, list[int]]:
    if not task.seeds:
        raise InputError("a fleet needs a URL to begin at")
    known = Known(task.describe if states else NoStates(), task.admit, task.watching)
    return known, [known.number(url) for url in task.seeds]


def _foraging(task: FleetTask, known: Known, colony: Colony) -> Fleet:
    """In a watch the foragers say which way to explore; elsewhere they do all."""
    crew: Crew = colony if task.watching is None else Scouts(colony, known)
    return Fleet(known, crew, task.hosts)


def _foragers(doc: str, *, weblog: bool = True, learns: bool = True) -> Callable[..., Fleet]:
    """The factory of one kind of foraging fleet: all take the same settings."""

    def make(
        task: FleetTask,
        *,
        identity: str = _PAPER.identity,
        new_hours: float = _NEW_HOURS,
        slice_seconds: float = _PAPER.slice_seconds,
        min_foragers: int = _PAPER.min_foragers,
        max_foragers: int = _PAPER.max_foragers,
        max_step: int = _PAPER.max_step,
        recheck: float = _PAPER.recheck,
        start: str = _PAPER.start,
    ) -> Fleet:
        known, seeds = _begin(task)
        settings = FleetSettings(
            weblog=weblog,
            learns=learns,
            identity=identity,
            new_for=new_hours * 3600.0,
            slice_seconds=slice_seconds,
            min_foragers=min_foragers,
            max_foragers=max_foragers,
            max_step=max_step,
            recheck=recheck,
            start=start,
        )
        return _foraging(task, known, Colony(seeds, known, settings, task.rng))

    make.__doc__ = doc
    return make


wl = _foragers(
    "Weblog update; each forager keeps the random weights it was made with.", learns=False
)
rl = _foragers(
    "Temporal-difference learning of the weights; starting URLs are the first ten visited.",
    weblog=False,
)
wlrl = _foragers("Both: weblog update and learned weights.")


def mixed(
    task: FleetTask,
    *,
    identity: str = _PAPER.identity,
    new_hours: float = _NEW_HOURS,
    slice_seconds: float = _PAPER.slice_seconds,
    each: int = 8,
    first: str = "WLRL",
    max_step: int = _PAPER.max_step,
    recheck: float = _PAPER.recheck,
    start: str = _PAPER.start,
) -> Fleet:
    """As in the paper's Web experiment: `each` WLRL foragers and as many WL ones, in turns of all
    of one kind and then all of the other, none multiplied and none deleted."""
    if each < 1:
        raise InputError("each is 1 or more")
    if first not in ("WLRL", "WL"):
        raise InputError(f"first is 'WLRL' or 'WL', not {first!r}")
    known, seeds = _begin(task)
    settings = FleetSettings(
        identity=identity,
        new_for=new_hours * 3600.0,
        slice_seconds=slice_seconds,
        min_foragers=2 * each,
        max_foragers=2 * each,
        max_step=max_step,
        recheck=recheck,
        start=start,
    )
    learns = [first == "WLRL"] * each + [first != "WLRL"] * each
    return _foraging(task, known, Colony(seeds, known, settings, task.rng, learns))


def round_robin(
    task: FleetTask,
    *,
    identity: str = _PAPER.identity,
    new_hours: float = _NEW_HOURS,
    abreast: int = 1,
) -> Fleet:
    """No foragers: every known page in turn."""
    known, _ = _begin(task, states=False)
    settings = _revisits(identity, new_hours, abreast)
    return Fleet(known, RoundRobin(known, settings, abreast=abreast), task.hosts)


def change_rate(
    task: FleetTask,
    *,
    identity: str = _PAPER.identity,
    new_hours: float = _NEW_HOURS,
    batch: int = 100,
    abreast: int = 1,
) -> Fleet:
    """No foragers: pages by their estimated rates of change."""
    known, _ = _begin(task, states=False)
    settings = _revisits(identity, new_hours, abreast)
    if batch < 2:
        raise InputError("a batch has at least 2 visits")
    return Fleet(known, ChangeRate(known, settings, batch=batch, abreast=abreast), task.hosts)


def _revisits(identity: str, new_hours: float, abreast: int) -> FleetSettings:
    if abreast < 1:
        raise InputError("abreast is 1 or more")
    return FleetSettings(identity=identity, new_for=new_hours * 3600.0)
