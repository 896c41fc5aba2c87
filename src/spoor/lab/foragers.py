"""Fleets on evolving webs: the measures of Palotai, Farkas & Lőrincz (2005), Tables 1 and 2 and
Figures 1 to 3."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spoor import registry
from spoor.errors import InputError
from spoor.foragers.fleet import Fleet
from spoor.foragers.fleets import FleetTask
from spoor.foragers.known import digest
from spoor.foragers.settings import DAY
from spoor.foragers.states import CLUSTERS, Describe, PrTFIDF, words
from spoor.lab.experiment import data_folder
from spoor.types import Deferred, Fetch, Finished, Outcome, Page, Sleep, Starved, State
from spoor.worlds.describe import measures
from spoor.worlds.evolving import EvolvingWorld
from spoor.worlds.import_evolving import make

HOUR = 3600.0
WINDOW = 3 * HOUR
"""Length of the intervals of Figures 2 and 3."""

BACKGROUND = 3_000
"""Pages of a web, as it stands at its start, from which clusters are made."""

Tell = Callable[[int, int], None]
"""(documents downloaded, relevant ones found)."""


@dataclass(frozen=True, slots=True)
class Window:
    """One interval of a run, as it stood at its end; counts are of the interval alone."""

    time: float
    """Seconds since the start of the run."""
    downloaded: int
    sent: int
    relevant: int
    foragers: int
    stored: int
    """Documents taken as relevant in the last 24 hours."""
    fresh: float | None
    """Share of them whose stored content is that of the live page; None where there are none."""
    age_hours: float | None
    """Mean over them of the hours since the live page changed, 0 where the copy is current."""


@dataclass(slots=True)
class Run:
    """What a run measured."""

    windows: list[Window] = field(default_factory=list)
    seconds: float = 0.0
    """CPU time of the process."""
    now: float = 0.0
    """Simulated time at the end."""


def simulate(
    fleet: Fleet,
    world: EvolvingWorld,
    *,
    end: float | None = None,
    window: float = WINDOW,
    tell: Tell = lambda downloaded, relevant: None,
    on_step: Callable[[Outcome | Deferred, float], None] | None = None,
) -> Run:
    """Run a fleet on one computer, one download after the other, from where the world's clock
    stands to its end. The world is asked as a request begins, and the reply is there when its
    download time has passed."""
    run = Run()
    began = time.process_time()
    now, last = world.now, world.end if end is None else min(end, world.end)
    start, closes = now, now + window
    pages: dict[int, int] = {}
    before = (0, 0, 0)
    while now < last:
        step = fleet.next(now)
        if isinstance(step, Fetch):
            reply = world.answer(step)
            now += reply.seconds
            world.advance(now)
            outcome = fleet.receive(reply, now)
            if on_step is not None:
                on_step(outcome, now)
        elif isinstance(step, Sleep):
            now = step.until
            world.advance(now)
        else:
            assert isinstance(step, Finished | Starved)
            break
        while now >= closes:
            counts = fleet.agent.counts
            after = (fleet.counts.pages, counts.sent, counts.relevant)
            run.windows.append(_window(fleet, world, closes - start, now, before, after, pages))
            before = after
            closes += window
            tell(fleet.counts.pages, counts.relevant)
    run.seconds = time.process_time() - began
    run.now = now
    return run


def _window(
    fleet: Fleet,
    world: EvolvingWorld,
    since: float,
    now: float,
    before: tuple[int, int, int],
    after: tuple[int, int, int],
    contents: dict[int, int],
) -> Window:
    stored, fresh, age = freshness(fleet, world, now, contents)
    downloaded, sent, relevant = (b - a for a, b in zip(before, after, strict=True))
    foragers = getattr(fleet.crew, "foragers", None)
    return Window(
        since,
        downloaded,
        sent,
        relevant,
        1 if foragers is None else len(foragers),
        stored,
        fresh,
        age,
    )


def freshness(
    fleet: Fleet, world: EvolvingWorld, now: float, contents: dict[int, int]
) -> tuple[int, float | None, float | None]:
    """(documents, freshness, mean age in hours) of what was taken as relevant in the last 24 hours.

    The stored content is what the fleet downloaded last. Age is the paper's: the time since the
    live page changed (or vanished) last, 0 where the copy is current. `contents` keeps digests of
    live pages between calls.
    """
    known, oldest = fleet.known, now - DAY
    ages: list[float] = []
    for found in reversed(fleet.agent.found):
        if found.at < oldest:
            break
        url = known.urls[found.url]
        page = world.page(url)
        live = 0
        if page is not None:
            key = id(page)  # the world keeps its pages, so that no other can have this number
            live = contents.get(key) or contents.setdefault(key, digest(page))
        changed = world.last_change(url)
        current = live == known.digests[found.url]
        ages.append(0.0 if current or changed is None else (now - changed) / HOUR)
    if not ages:
        return 0, None, None
    fresh = sum(age == 0.0 for age in ages) / len(ages)
    return len(ages), fresh, sum(ages) / len(ages)


# ---------------------------------------------------------------- states


class Remembered:
    """A classifier that has seen the pages of a world: each is described once in a process."""

    settled = True

    def __init__(self, describe: Describe) -> None:
        self._describe = describe
        self._states: dict[int, tuple[Page, NDArray[np.float32]]] = {}

    @property
    def size(self) -> int:
        return self._describe.size

    def __call__(self, page: Page) -> NDArray[np.float32]:
        kept = self._states.get(id(page))
        if kept is None:
            # The page is kept too, so that no other can have its number.
            kept = self._states[id(page)] = (page, self._describe(page))
        return kept[1]

    def save(self) -> State:
        return self._describe.save()

    def load(self, state: State) -> None:
        self._describe.load(state)
        self._states = {}


def background(world: EvolvingWorld, *, clusters: int = CLUSTERS) -> PrTFIDF:
    """A classifier over clusters of the pages that stand in a world now, at most 3,000 of them,
    evenly spread; every fifth stands for general text."""
    standing = [page for page in map(world.page, world.urls) if page is not None]
    step = max(1, -(-len(standing) // BACKGROUND))
    return PrTFIDF.fit([words(page) for page in standing[::step]], clusters=clusters)


@lru_cache(maxsize=2)
def _ground(spec: str) -> tuple[EvolvingWorld, Remembered]:
    world = make(json.loads(spec), data_folder())
    return world, Remembered(background(world))


# ---------------------------------------------------------------- one cell


def cell(params: Mapping[str, Any], *, tell: Tell = lambda done, found: None) -> dict[str, Any]:
    """One run of a fleet; its figures, ready for JSON.

    `params`: `web` (a table for `spoor.worlds.import_evolving.make`), `fleet`, and perhaps `seed`
    (0), `days` (all of the web), `settings` (of the fleet). Figures are those of Table 1, averaged
    over the 3-hour windows where the paper does so; `share_found` and `delay_hours` are ours: of
    the documents that were new at some time of the run, the share found, and the median time from
    the date of a document to its submission.
    """
    known = {"web", "fleet", "seed", "days", "settings", "name"}
    for key in params:
        if key not in known:
            raise InputError(f"a fleet's cell has no {key!r}{registry.nearest(key, list(known))}")
    world, describe = _ground(json.dumps(params["web"], sort_keys=True))
    world.rewind()
    seed = int(params.get("seed", 0))
    task = FleetTask(world.roots(), describe, np.random.default_rng(seed))
    fleet: Fleet = registry.build(
        "fleets", params["fleet"], task, settings=params.get("settings", {})
    )
    end = world.end
    if "days" in params:
        end = min(end, world.start + float(params["days"]) * DAY)
    run = simulate(fleet, world, end=end, tell=tell)
    return figures(fleet, world, run, params)


def figures(
    fleet: Fleet, world: EvolvingWorld, run: Run, params: Mapping[str, Any]
) -> dict[str, Any]:
    """The figures of a run."""
    counts, sent, relevant = fleet.counts, fleet.agent.counts.sent, fleet.agent.counts.relevant
    downloaded, found_urls = counts.pages, len(fleet.known.urls)
    available = new_documents(world, run.now)
    delays = [found.at - found.date for found in fleet.agent.found]
    crew = fleet.crew
    return {
        "params": dict(params),
        "fleet": params.get("fleet"),
        "seed": params.get("seed", 0),
        "days": round((run.now - world.start) / DAY, 3),
        "downloaded": downloaded,
        "failed": counts.failed,
        "sent": sent,
        "relevant": relevant,
        "found_urls": found_urls,
        "download_efficiency": relevant / max(1, downloaded),
        "sent_efficiency": relevant / sent if sent else None,
        "relative_found_url": found_urls / max(1, downloaded),
        "freshness": _mean([window.fresh for window in run.windows]),
        "age_hours": _mean([window.age_hours for window in run.windows]),
        "available": available,
        "share_found": relevant / available if available else None,
        "delay_hours": float(np.median(delays)) / HOUR if delays else None,
        "foragers": run.windows[-1].foragers if run.windows else None,
        "multiplied": getattr(crew, "multiplied", 0),
        "deleted": getattr(crew, "deleted", 0),
        "windows": [[getattr(window, name) for name in Window.__slots__] for window in run.windows],
        "seconds": round(run.seconds, 3),
        "downloads_per_second": round(downloaded / max(run.seconds, 1e-9), 1),
    }


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def new_documents(world: EvolvingWorld, now: float) -> int:
    """URLs that were not older than 24 hours at some time between the start of a world and now."""
    since = world.start - DAY
    return len({v.url for v in world.versions if since <= v.time <= now and not v.gone})


# ---------------------------------------------------------------- the graph (Fig. 1)


def graph_figures(web: Mapping[str, Any], *, sources: int = 256) -> dict[str, Any]:
    """Degree exponents, clustering and mean shortest path of a web's links over the whole time."""
    world, _ = _ground(json.dumps(web, sort_keys=True))
    return measures(*world.arcs(), np.random.default_rng(0), sources=sources)
