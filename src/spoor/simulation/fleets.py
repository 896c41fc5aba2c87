"""Runs a fleet over an evolving web, with the measures of Palotai, Farkas & Lőrincz (2005):
Tables 1 and 2 and Figures 2 and 3."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, field
from typing import Any

import numpy as np

from spoor.durations import DAY, HOUR
from spoor.foragers.fleet import Fleet
from spoor.types import Deferred, Fetch, Finished, Outcome, Sleep, Starved
from spoor.watching.visits import digest
from spoor.worlds.evolving import EvolvingWorld

WINDOW = 3 * HOUR
"""Length of the intervals of Figures 2 and 3."""


@dataclass(frozen=True, slots=True)
class Window:
    """The state at the end of one interval of a run; counts are of the interval alone."""

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


def simulate_fleet(
    fleet: Fleet,
    world: EvolvingWorld,
    *,
    end: float | None = None,
    progress: Callable[[int, int], None] = lambda downloaded, relevant: None,
    on_step: Callable[[Outcome | Deferred, float], None] | None = None,
) -> Run:
    """Run a fleet on one computer, one download after the other, from the current time of the world
    to its end. The world answers for the time at which a request begins; the fleet receives the
    reply when the download time has passed. `progress` is called with (documents downloaded,
    relevant ones found) after each window."""
    run = Run()
    cpu_start = time.process_time()
    now, last = world.now, world.end if end is None else min(end, world.end)
    start, closes = now, now + WINDOW
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
            closes += WINDOW
            progress(fleet.counts.pages, counts.relevant)
    run.seconds = time.process_time() - cpu_start
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
    downloaded, sent, relevant = (b - a for a, b in zip(before, after, strict=True))
    foragers = getattr(fleet.crew, "foragers", None)
    count = 1 if foragers is None else len(foragers)
    stored = freshness(fleet, world, now, contents)
    return Window(since, downloaded, sent, relevant, count, *stored)


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
    for discovery in reversed(fleet.agent.discoveries):
        if discovery.at < oldest:
            break
        url = known.urls[discovery.url]
        page = world.page(url)
        live = 0
        if page is not None:
            key = id(page)  # the world keeps its pages, so that no other can have this number
            live = contents.get(key) or contents.setdefault(key, digest(page))
        changed = world.last_change(url)
        current = live == known.digests[discovery.url]
        ages.append(0.0 if current or changed is None else (now - changed) / HOUR)
    if not ages:
        return 0, None, None
    fresh = sum(age == 0.0 for age in ages) / len(ages)
    return len(ages), fresh, sum(ages) / len(ages)


def figures(
    fleet: Fleet, world: EvolvingWorld, run: Run, params: Mapping[str, Any]
) -> dict[str, Any]:
    """The figures of a run."""
    counts, sent, relevant = fleet.counts, fleet.agent.counts.sent, fleet.agent.counts.relevant
    downloaded, found_urls = counts.pages, len(fleet.known.urls)
    available = new_documents(world, run.now)
    delays = [discovery.at - discovery.date for discovery in fleet.agent.discoveries]
    crew = fleet.crew
    learns = {one.number: one.learns for one in getattr(crew, "foragers", ())}
    by_learners = sum(learns.get(discovery.by, False) for discovery in fleet.agent.discoveries)
    return {
        "params": dict(params),
        "fleet": params.get("fleet"),
        "seed": params.get("seed", 0),
        "days": round((run.now - world.start) / DAY, 3),
        "downloaded": downloaded,
        "failed": counts.failed,
        "sent": sent,
        "relevant": relevant,
        **({"relevant_of_learners": by_learners} if len(set(learns.values())) == 2 else {}),
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
        "windows": [list(astuple(window)) for window in run.windows],
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
