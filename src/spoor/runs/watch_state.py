"""A watch at its last checkpoint: what it knows of a URL, why it has not told of it, and where it
looks next. The state is loaded into a fleet of this process; the run is not touched."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from spoor.foragers.crew import Foresees
from spoor.runs.assemble_fleet import make_fleet_to_look_at
from spoor.runs.recovery import telling
from spoor.runs.rows import is_moment
from spoor.runs.snapshot import Checkpoint, settings_of
from spoor.watching.urls import NEVER

LONG = 60.0
"""Seconds: of a host that is not asked for so long that is said."""


@dataclass(frozen=True, slots=True)
class NextLook:
    """Where a watch looks next, and why."""

    url: str
    at: float | None
    """Unix seconds; a moment that is over: as soon as its host may be asked. None: nothing says."""
    why: str


@dataclass(frozen=True, slots=True)
class WatchedUrl:
    """What a watch knows of a URL. Moments are Unix seconds."""

    url: str
    found_on: str
    """URL of the page on which it was seen first; empty for a start."""
    appeared: float | None
    """When its link appeared on a page that was known; None where it stood there before."""
    date: float | None
    """When what it says was published, as far as that is known."""
    looked: float | None
    """When it was had last."""
    contents: int
    """How many different ones it had."""
    untold: str
    """Why it is not told as new; empty where nothing speaks against it."""
    next: NextLook


class WatchState:
    """Raises InputError where a state cannot be read. Costs what opening the watch costs."""

    def __init__(self, last: Checkpoint) -> None:
        self._path = path = last.path
        self._settings = settings_of(path)
        self._fleet = make_fleet_to_look_at(self._settings)
        with telling(path):
            self._fleet.load(last.state["fleet"])
            self._now = float(last.state["clock"])

    @property
    def time(self) -> float:
        """Of the checkpoint, Unix seconds."""
        return self._fleet.known.dated(self._now)

    def find(self, url: str) -> WatchedUrl | None:
        """What is known of a canonical URL; None where it is not known."""
        with telling(self._path):
            number = self._fleet.known.find(url)
            return None if number is None else self._watched(number)

    def refuses(self, url: str) -> bool:
        """Whether no link to a URL is followed, by the settings."""
        return not self._fleet.known.admits(url)

    def upcoming(self, most: int) -> list[NextLook]:
        """Where it looks next, hosts by turns. O(URLs) for each."""
        with telling(self._path):
            crew, known = self._fleet.crew, self._fleet.known
            if not isinstance(crew, Foresees):
                return []
            urls, hosts = crew.upcoming(self._now), known.hosts
            of_hosts = Counter[str]()
            places = []
            for place, url in enumerate(urls):
                places.append((of_hosts[hosts[url]], place))
                of_hosts[hosts[url]] += 1
            return [self._next(urls[place]) for _, place in sorted(places)[:most]]

    def _watched(self, url: int) -> WatchedUrl:
        known = self._fleet.known
        parent = known.parent[url]
        found_on = known.urls[parent] if parent not in (-1, url) else ""
        born = float(known.born(np.array([url]))[0])
        looked = known.looked[url]
        return WatchedUrl(
            known.urls[url],
            found_on,
            _moment(born),
            _moment(known.date[url]),
            _moment(known.dated(looked)),
            known.version[url],
            self._untold(url),
            self._next(url),
        )

    def _next(self, url: int) -> NextLook:
        known, crew = self._fleet.known, self._fleet.crew
        if not isinstance(crew, Foresees):
            why = f"fleet {self._settings.fleet} does not say where it looks next"
            return NextLook(known.urls[url], None, why)
        found = crew.outlook(url, self._now)
        at = None if found.at is None else known.dated(found.at)
        name, wait = known.hosts[url], self._fleet.frontier.free_at(known.hosts[url], self._now)
        why = found.why
        if wait is not None and wait > self._now + LONG:
            at = max(at or 0.0, known.dated(wait))
            why = f"{why}; {name} is not asked before, by its budget or delay"
        return NextLook(known.urls[url], None if at is None else _moment(at), why)

    def _untold(self, url: int) -> str:
        """The first thing that speaks against telling a URL as new, as `Looks.fresh` sees it."""
        known, watching = self._fleet.known, self._fleet.known.watching
        assert watching is not None
        if (end := known.redirects.end(url)) != url:
            return f"it leads to {known.urls[end]}"
        if url in known.hubs or url in known.sitemaps:
            return "it is a feed or sitemap: what it names is told"
        if not known.digests[url]:
            if known.fetched[url] == NEVER:
                return "it was never asked for"
            return "it could not be had"
        if url not in watching.wanted:
            return "it is not relevant"
        if (whole := known.part_of(url)) >= 0:
            return f"it is a further part of {known.urls[whole]}, whose change it is"
        if (original := watching.copy_of.get(url)) is not None:
            shows = known.urls[original] if original >= 0 else "a page that was left"
            return f"it says what {shows} says"
        if known.is_view(url):
            return "it is another view of a document"
        if url in known.told_before:
            return "it was told before, or a view of it was; it is not new again"
        if self._fleet.agent.found(url):
            return ""
        if url in known.boxes.held:
            return "only a box shows it, and whether that is a box of what is new is not known yet"
        if known.date[url] == NEVER:
            return "it stood there at the first look, and nothing says that it is new"
        if not known.fresh(url, self._now, self._settings.new_for):
            return "it was older than --new-for when it was seen"
        return ""


def _moment(seconds: float) -> float | None:
    """None for what is none, as `NEVER`, or lies after the year 9999."""
    return float(seconds) if is_moment(seconds) else None
