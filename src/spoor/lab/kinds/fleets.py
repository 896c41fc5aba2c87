"""Fleets of foragers on evolving webs: every fleet, on every web, by every seed.

In the file of an experiment: `kind = "fleets"`, `seeds`, and under `settings` the `webs` (name →
table for `spoor.worlds.import_evolving.make`), the `fleets` (names, or tables), perhaps `days`. A
table has the `fleet`, perhaps its `settings`, `seeds` for fewer than the experiment's, `weights` (a
number, for another draw of all that is random in it), `states = "shares"` (outputs of the
classifier that are not z-scored) and `starts` (at how many of the web's roots it begins). Webs that
are generated or rewired are drawn anew for each seed, so that fleets are compared over webs;
`graphs = true` measures the links of each of these, and not of the first alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spoor import registry
from spoor.durations import DAY
from spoor.errors import InputError
from spoor.foragers.fleet import Fleet
from spoor.foragers.fleets import FleetTask
from spoor.foragers.states import CLUSTERS, PrTFIDF, words
from spoor.lab.cells import Kind, Row
from spoor.lab.experiment import MOST_SEEDS, Experiment, data_folder
from spoor.lab.results import RUN
from spoor.lab.tables import check_keys, whole_number
from spoor.simulation.fleets import figures, simulate_fleet
from spoor.types import Page, State
from spoor.watching.page_states import Describe
from spoor.worlds.describe import measures
from spoor.worlds.evolving import EvolvingWorld
from spoor.worlds.graph import degrees
from spoor.worlds.import_evolving import make

BACKGROUND = 3_000
"""Pages of a web, as it is at its start, from which clusters are made."""

SETTINGS = ("webs", "fleets", "days", "graphs")
PARAMS = ("web", "fleet", "seed", *RUN, "days", "settings", "name")


@dataclass(frozen=True, slots=True)
class FleetCell:
    """One run of a fleet."""

    params: Mapping[str, Any]
    """For `run_fleet`."""

    @property
    def name(self) -> str:
        seed = self.params.get("seed", 0)
        return f"{self.params['name']}, {self.params['fleet']}, seed {seed}"

    @property
    def group(self) -> str:
        """Cells of a group share the web."""
        return json.dumps(self.params["web"])

    def identity(self) -> object:
        return self.params


def plan(experiment: Experiment, out: Path) -> list[FleetCell]:
    """All cells of an experiment."""
    settings = experiment.settings
    check_keys(settings, SETTINGS, experiment.name, "setting")
    webs, fleets = settings.get("webs"), settings.get("fleets")
    if not webs or not fleets:
        raise InputError(f"{experiment.name}: settings name webs and fleets")
    days = {"days": settings["days"]} if "days" in settings else {}
    cells: list[FleetCell] = []
    for name, web in webs.items():
        for fleet in fleets:
            params: dict[str, Any] = {"fleet": fleet} if isinstance(fleet, str) else dict(fleet)
            registry.find("fleets", params["fleet"])
            own = params.pop("seeds", experiment.seeds)
            seeds = range(whole_number(own, f"{experiment.name}: seeds", MOST_SEEDS))
            cells += [
                FleetCell({"name": name, "web": drawn(web, seed), "seed": seed, **params, **days})
                for seed in seeds
            ]
    return cells


def drawn(web: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """The table of a web, what is random in it drawn by this seed."""
    table = dict(web)
    if "news" in table:
        table["news"] = {**table["news"], "seed": seed}
    if "rewired" in table:
        table["rewired"] += seed
    return table


def run(cells: Sequence[FleetCell], out: Path) -> Iterator[Row]:
    """Run cells of one group."""
    for cell in cells:
        web = cell.params["web"]
        one = "news" in web or "rewired" in web
        yield {
            "web": cell.params["name"],
            "drawn": cell.params["seed"] if one else 0,
            **run_fleet(cell.params),
        }


def run_fleet(params: Mapping[str, Any]) -> Row:
    """One run of a fleet; its figures, ready for JSON.

    `params`: `web` (a table for `spoor.worlds.import_evolving.make`), `fleet`, and perhaps `seed`
    (0), those of `RUN`, `days` (all of the web), `settings` (of the fleet). Figures are those of
    Table 1, averaged over the 3-hour windows where the paper does so; `share_found` and
    `delay_hours` are ours: of the documents that were new at some time of the run, the share found,
    and the median time from the date of a document to its submission.
    """
    check_keys(params, PARAMS, "a fleet's cell", "key")
    states = params.get("states", "")
    if states not in ("", "shares"):
        raise InputError(f'states is "shares" or left out, not {states!r}')
    world, describe = _web(json.dumps(params["web"], sort_keys=True), states)
    world.rewind()
    seed = int(params.get("seed", 0))
    rng = np.random.default_rng([seed, params["weights"]] if "weights" in params else seed)
    task = FleetTask(world.roots()[: params.get("starts")], describe, rng)
    fleet: Fleet = registry.build(
        "fleets", params["fleet"], task, settings=params.get("settings", {})
    )
    end = world.end
    if "days" in params:
        end = min(end, world.start + float(params["days"]) * DAY)
    return figures(fleet, world, simulate_fleet(fleet, world, end=end), params)


# ---------------------------------------------------------------- states


class Remembered:
    """A classifier that describes each page of a world once in a process."""

    settled = True

    def __init__(self, describe: Describe) -> None:
        self._describe = describe
        self._states: dict[int, tuple[Page, NDArray[np.float32]]] = {}

    @property
    def size(self) -> int:
        return self._describe.size

    def __call__(self, page: Page) -> NDArray[np.float32]:
        known = self._states.get(id(page))
        if known is None:
            # The page is stored too, so that no other can have its id.
            known = self._states[id(page)] = (page, self._describe(page))
        return known[1]

    def save(self) -> State:
        return self._describe.save()

    def load(self, state: State) -> None:
        self._describe.load(state)
        self._states = {}


def background(world: EvolvingWorld) -> PrTFIDF:
    """A classifier over clusters of the pages that a world has now, at most 3,000 of them, evenly
    spread; every fifth represents general text."""
    pages = [page for page in map(world.page, world.urls) if page is not None]
    step = max(1, -(-len(pages) // BACKGROUND))
    return PrTFIDF.fit([words(page) for page in pages[::step]], clusters=CLUSTERS)


@lru_cache(maxsize=2)
def _world(spec: str) -> tuple[EvolvingWorld, PrTFIDF]:
    world = make(json.loads(spec), data_folder())
    return world, background(world)


@lru_cache(maxsize=3)
def _web(spec: str, states: str = "") -> tuple[EvolvingWorld, Remembered]:
    world, classifier = _world(spec)
    if states == "shares":
        plain = classifier.save()
        classifier = PrTFIDF(plain["vocabulary"], plain["given_word"])
    return world, Remembered(classifier)


# ---------------------------------------------------------------- the graphs of the webs (Fig. 1)


def graphs(experiment: Experiment) -> dict[str, dict[str, Any]]:
    """Name → measures of section 4.1 of a web (degree exponents, clustering, mean shortest path of
    its links over the entire time), and how many of its pages have at least so many links
    (`cumulative`: [log10 links, log10 pages])."""
    series = {}
    for name, spec in experiment.settings["webs"].items():
        world, _ = _web(json.dumps(spec, sort_keys=True))
        arcs = world.arcs()
        figures = _measured(world)
        cumulative = {}
        for direction, degree in zip(("links out", "links in"), degrees(*arcs), strict=True):
            pages = np.bincount(degree)[1:][::-1].cumsum()[::-1]
            some = np.flatnonzero(np.bincount(degree)[1:])
            cumulative[direction] = np.column_stack(
                [np.log10(some + 1.0), np.log10(pages[some])]
            ).tolist()
        series[name] = {**figures, "cumulative": cumulative}
    return series


def _measured(world: EvolvingWorld) -> dict[str, Any]:
    return measures(*world.arcs(), np.random.default_rng(0), sources=128)


def facts(experiment: Experiment) -> dict[str, Any]:
    """The graphs of the webs; with `graphs` in the settings, `drawn` has those of each seed's."""
    told: dict[str, Any] = {"graphs": graphs(experiment)}
    if experiment.settings.get("graphs"):
        webs = experiment.settings["webs"].items()
        told["drawn"] = {
            name: [
                _measured(make(drawn(spec, seed), data_folder()))
                for seed in range(experiment.seeds)
            ]
            for name, spec in webs
        }
    return told


KIND = Kind("fleets", plan, run, facts=facts)
