"""Places of CONCURRENT_REQUESTS: a request to a slow host holds none, as in a live crawl.

Which is slow says `spoor.politeness.request_slots`, by what the frontier knows of its host. Scrapy
is given a place more for each, and so has all of its own for the others. It gives no download up
once it has begun: so one that begins while many are slow gets its time then.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.utils.asyncio import call_later

from spoor.integrations.scrapy.visits import LATER, ROBOTS, VISIT, Visit
from spoor.politeness.hosts import times_late
from spoor.politeness.request_slots import RequestSlots
from spoor.protocols import BoundsSlowHosts, Frontier
from spoor.web.urls import canonical, host

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Request
    from scrapy.utils.asyncio import CallLaterResult

TRIES = 4
"""Times that a request gets as little time as that; then it has failed."""

_TRIED = "spoor_tried"
"""Key in the meta of a request: how often it was not answered in the time that it had."""


@dataclass(slots=True)
class _Download:
    number: int
    host: str
    began: float
    chance: float
    """Seconds that it has."""
    before: Any
    """The timeout that it would have had."""


class ConcurrentRequests:
    """The downloads of a crawler, but those of robots.txt, which have places of their own.

    `frontier` is what knows the hosts; `now` gives the seconds of its clock; `wake` has Scrapy ask
    for the next request.
    """

    def __init__(
        self,
        crawler: Crawler,
        frontier: Callable[[], Frontier],
        now: Callable[[], float],
        wake: Callable[[], None],
    ) -> None:
        self._crawler = crawler
        self._frontier = frontier
        self._now = now
        self._wake = wake
        limit = crawler.settings.getint("CONCURRENT_REQUESTS")
        self._slots = RequestSlots(limit) if limit else None
        self._numbers = count()
        self._downloads: dict[Request, _Download] = {}
        self._late: dict[Request, float] = {}
        """Requests that had less time than usual and were not answered in it: seconds for which
        they are left alone."""
        self._more = 0
        """Places that Scrapy has beyond its own."""
        self._timer: CallLaterResult | None = None
        if self._slots is not None:
            connect = crawler.signals.connect
            connect(self._begin, signal=signals.request_reached_downloader)
            connect(self._end, signal=signals.request_left_downloader)

    def bound(self) -> None:
        """Have the frontier offer hosts that may not answer only as long as there is room."""
        frontier = self._frontier()
        if self._slots is not None and isinstance(frontier, BoundsSlowHosts):
            frontier.bound_slow_hosts(self._slots.places)

    def close(self) -> None:
        """Nothing is looked after any more."""
        if self._timer is not None:
            self._timer.cancel()

    def again(self, request: Request) -> Request | None:
        """The request, to be made later, where its host did not answer in the little time that it
        had; None where it has failed."""
        wait = self._late.pop(request, None)
        visit = request.meta.get(VISIT)
        if wait is None or not isinstance(visit, Visit) or visit.ticket is None:
            return None
        tried = request.meta[_TRIED] = request.meta.get(_TRIED, 0) + 1
        if tried >= TRIES:
            return None
        request.meta[LATER] = wait, "timeout", "others waited for its place"
        return request

    def _begin(self, request: Request) -> None:
        assert self._slots is not None
        if ROBOTS in request.meta:
            return
        visit, name = request.meta.get(VISIT), ""
        late = None
        if isinstance(visit, Visit) and visit.ticket is not None:
            name = host(canonical(request.url))
            late = times_late(self._frontier(), name)
        number, now = next(self._numbers), time.monotonic()
        self._slots.begin(number, late, now)
        self._slots.send(number, now)
        chance, before = self._slots.chance(number), request.meta.get("download_timeout")
        if chance < (before or chance + 1.0):
            request.meta["download_timeout"] = chance
        else:
            chance = float("inf")
        self._downloads[request] = _Download(number, name, now, chance, before)
        self._look()

    def _end(self, request: Request) -> None:
        assert self._slots is not None
        download = self._downloads.pop(request, None)
        if download is None:
            return
        now = time.monotonic()
        answered = now - download.began < download.chance
        self._slots.receive(download.number, now)
        rest = self._slots.end(download.number, answered=answered)
        if download.chance < float("inf"):
            request.meta["download_timeout"] = download.before
            if not answered:
                self._late[request] = max(rest, 2.0 * download.chance)
        if rest and download.host:
            self._frontier().hold(download.host, self._now() + rest)
        self._look()

    def _look(self) -> None:
        """Give Scrapy as many places as it is to have now, and look again once that changes."""
        assert self._slots is not None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = time.monotonic()
        self._slots.free(now)
        change, self._more = self._slots.slow - self._more, self._slots.slow
        self._crawler.engine.downloader.total_concurrency += change
        if change > 0:
            self._wake()
        again = self._slots.next_slow()
        if again is not None:
            self._timer = call_later(max(0.0, again - now) + 0.001, self._look)
