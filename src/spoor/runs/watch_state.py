"""A watch at its last checkpoint: what it knows of a URL, why it has not told of it, and where it
looks next. The state is loaded into a fleet of this process; the run is not touched."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from spoor.durations import DAY, is_moment
from spoor.foragers.crew import Steady, Weighs
from spoor.runs.assemble_fleet import make_fleet_to_look_at
from spoor.runs.recovery import telling
from spoor.runs.snapshot import Checkpoint, settings_of
from spoor.types import Fetch, NotModified, Sleep
from spoor.watching.urls import NEVER
from spoor.web.urls import forms

MOST_REQUESTS = 5_000
MOST_CPU = 1.0
MOST_AHEAD = 30 * DAY
"""Requests, seconds of processor time and seconds for which it is looked ahead."""

ANSWERED_AFTER = 0.1
"""Seconds that a request takes there."""


@dataclass(frozen=True, slots=True)
class NextLook:
    """A request that a watch makes where nothing changes meanwhile. Moments are Unix seconds."""

    url: str
    at: float | None
    """About; None where it is not asked for by then, or where a pass of `--once` asks for it, which
    may begin at any time."""
    place: int | None
    """Requests before it; None where it is not among these."""
    until: float
    """How far it was looked ahead."""
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
    """It looks ahead once. Raises InputError where a state cannot be read. Costs what opening the
    watch costs, and `MOST_CPU`."""

    def __init__(self, last: Checkpoint) -> None:
        self._path = last.path
        self._settings = settings_of(last.path)
        self._fleet = make_fleet_to_look_at(self._settings)
        with telling(self._path):
            self._fleet.load(last.state["fleet"])
            self._now = float(last.state["clock"])

    def find(self, url: str, *, relevant: bool) -> WatchedUrl | None:
        """What is known of a canonical URL; None where it is not known. `relevant`: by the newest
        verdict, or by a label since the checkpoint."""
        known, watching = self._fleet.known, self._fleet.known.watching
        with telling(self._path):
            number = known.find(url)
            if number is None or watching is None:
                return None
            (watching.wanted.add if relevant else watching.wanted.discard)(number)
            return self._watched(number)

    def named(self, url: str) -> str:
        """The URL that it knows of the forms of a canonical one; itself where it knows none."""
        return next((one for one in forms(url) if self._fleet.known.find(one) is not None), url)

    def refuses(self, url: str) -> bool:
        """Whether no link to a URL is followed, by the settings."""
        return not self._fleet.known.admits(url)

    def upcoming(self, most: int) -> list[NextLook]:
        """What it asks for next."""
        with telling(self._path):
            whys = [(url, at, self._why(url)) for url, at in islice(self._ahead(), most)]
            return [self._look(url, at, place, why) for place, (url, at, why) in enumerate(whys)]

    def _watched(self, url: int) -> WatchedUrl:
        known = self._fleet.known
        parent = known.parent[url]
        found = (
            known.urls[url],
            known.urls[parent] if parent not in (-1, url) else "",
            _moment(known.born(np.array([url]))[0]),
            _moment(known.date[url]),
            _moment(known.dated(known.looked[url])),
            known.version[url],
            self._untold(url),
        )
        return WatchedUrl(*found, self._next(url))

    # -- ahead

    def _next(self, url: int) -> NextLook:
        why, at = self._why(url), self._now
        for place, (asked, at) in enumerate(self._ahead()):
            if asked == url:
                return self._look(url, at, place, why)
        return NextLook(self._fleet.known.urls[url], None, None, self._fleet.known.dated(at), why)

    def _look(self, url: int, at: float, place: int, why: str) -> NextLook:
        known = self._fleet.known
        moment = None if self._settings.once else _moment(known.dated(at))
        return NextLook(known.urls[url], moment, place, known.dated(at), why)

    def _why(self, url: int) -> str:
        crew = self._fleet.crew
        return crew.why(url, self._now) if isinstance(crew, Weighs) else "pages come in turn"

    def _ahead(self) -> Iterator[tuple[int, float]]:
        """(URL, moment) of each request to come, if all is as it was; of `--once` those of a pass
        that begins now."""
        fleet, crew, now = self._fleet, self._fleet.crew, self._now
        began, end = time.process_time(), now + MOST_AHEAD
        fleet.reissue(now)
        if isinstance(crew, Steady) and self._settings.once:
            crew.began = now
        made = 0
        while made < MOST_REQUESTS and now < end and time.process_time() - began < MOST_CPU:
            if isinstance(crew, Steady) and crew.only_due and not crew.due(now):
                return
            step = fleet.next(now)
            if isinstance(step, Fetch):
                yield step.choice.link, now
                now, made = now + ANSWERED_AFTER, made + 1
                fleet.receive(NotModified(step.ticket), now)
            elif isinstance(step, Sleep):
                now = max(step.until, now + 0.01)
            else:
                return

    # -- why not

    def _untold(self, url: int) -> str:
        """The first thing that speaks against telling a URL as new, as `Looks.fresh` sees it."""
        known, watching = self._fleet.known, self._fleet.known.watching
        assert watching is not None
        if (end := known.redirects.end(url)) != url:
            return f"it leads to {known.urls[end]}"
        if url in known.hubs or url in known.sitemaps:
            return "it is a feed or sitemap: what it names is told"
        if not known.digests[url]:
            asked = known.fetched[url] > NEVER
            return "it could not be had" if asked else "it was never asked for"
        if url not in watching.wanted:
            return "it is not relevant"
        if (whole := known.part_of(url)) >= 0:
            return f"it is a further part of {known.urls[whole]}, whose change it is"
        if (original := watching.copy_of.get(url)) is not None:
            shows = known.urls[original] if original >= 0 else "a page that was left"
            return f"it says what {shows} says"
        if known.is_view(url):
            return "it is another view of a document"
        if known.lists_tags(url):
            return "it lists the tags or categories of its site: what they lead to is told"
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
