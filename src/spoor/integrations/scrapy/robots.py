"""robots.txt inside Scrapy, by `spoor.web.robots`: no request passes before the rules are known.

Scrapy's own middleware (2.14 to 2.19) allows all but one of the requests that wait for the same
robots.txt: they wait on one Deferred, and the callback of the first returns None to the next.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy import signals
from scrapy.exceptions import IgnoreRequest, NotConfigured, StopDownload
from scrapy.http import Request
from scrapy.http.request import NO_CALLBACK

from spoor.bounded import BoundedDict
from spoor.integrations.scrapy.components import read_settings
from spoor.integrations.scrapy.scheduler import Scheduler, scheduler_of
from spoor.integrations.scrapy.visits import LATER, ROBOTS, VISIT, RobotsForbiddenError, Visit
from spoor.politeness.robots import RobotsCache, origin_of
from spoor.web.robots import ALLOW_ALL, DISALLOW_ALL, LIMIT, Rules, from_reply
from spoor.web.urls import canonical

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

UNREACHABLE_AGE = 1800.0
"""Seconds after which a robots.txt that could not be fetched is requested again."""

PRIORITY = 1000

MOST_AWAITED = 64
"""Requests that wait for a robots.txt, or for one, beside CONCURRENT_REQUESTS."""

MOST_LATE = 5_000
"""Origins whose robots.txt did not come in time that are known."""

PATIENCE, TRIES = 2.0, 4
"""Seconds that any other waits for it; then its link is chosen again later, and waits twice as
long. It is given up with the last try."""

MOST_LATER = 300.0
"""Seconds until the link is chosen again, at most: else so many that all origins whose robots.txt
did not come in time take one place together."""

MOST_UNPACKED = 16 * LIMIT
"""Bytes of a robots.txt without its content encoding; of what comes in `LIMIT` are read."""


class RobotsMiddleware:
    """Obeys robots.txt where ROBOTSTXT_OBEY is set (RFC 9309).

    The first request to an origin fetches its file; all others wait for the same answer, where many
    wait only for a while before they are made later. Unlike in
    Scrapy's middleware, a file that cannot be fetched forbids everything for half an hour, and
    Crawl-delay is respected. `meta["dont_obey_robotstxt"]` is honoured.
    """

    def __init__(self, crawler: Crawler) -> None:
        if not crawler.settings.getbool("ROBOTSTXT_OBEY"):
            raise NotConfigured
        self._crawler = crawler
        self._agent: str = crawler.settings["USER_AGENT"] or ""
        self._product: str | None = crawler.settings["ROBOTSTXT_USER_AGENT"]
        politeness = read_settings(crawler.settings)
        self._cache = RobotsCache(
            max_age=politeness.robots_max_age,
            max_crawl_delay=politeness.max_crawl_delay,
            retry=UNREACHABLE_AGE,
            max_retry=UNREACHABLE_AGE,
        )
        self._fetches: dict[str, asyncio.Task[Rules | None]] = {}
        self._late = BoundedDict[str, int](MOST_LATE)
        """Origin → how often its robots.txt did not come in time."""
        self._came = WeakKeyDictionary[Request, int]()
        """Bytes of each file so far."""
        crawler.signals.connect(self._receive, signal=signals.bytes_received)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RobotsMiddleware:
        return cls(crawler)

    async def process_request(self, request: Request) -> Request | None:
        """Raises RobotsForbiddenError, an IgnoreRequest, for what the rules forbid. Gives a request
        back that is to be made later."""
        if request.meta.get("dont_obey_robotstxt"):
            return None
        try:
            url = canonical(request.url)
        except ValueError:
            return None
        origin, agent = origin_of(url), self._agent_of(request)
        rules = self._known(origin, agent)
        if rules is None:
            visit = request.meta.get(VISIT)
            chosen = isinstance(visit, Visit) and visit.ticket is not None
            rules = await self._rules(origin, agent, waits=not chosen)
            if rules is None:
                later = 2 * len(self._late) * self._patience(origin)
                request.meta[LATER] = min(later, MOST_LATER), "robots", "its robots.txt is awaited"
                return request
        if not rules.allowed(url):
            self._crawler.stats.inc_value("robotstxt/forbidden")
            raise RobotsForbiddenError("Forbidden by robots.txt")
        if reason := self._cache.too_slow(rules):
            self._crawler.stats.inc_value("robotstxt/too_slow")
            raise RobotsForbiddenError(f"{reason} (SPOOR_MAX_CRAWL_DELAY)")
        return None

    def _agent_of(self, request: Request) -> str:
        if self._product:
            return self._product
        own = request.headers.get("User-Agent")
        return own.decode("latin-1") if own else self._agent

    def _known(self, origin: str, agent: str) -> Rules | None:
        return self._cache.rules(f"{origin} {agent}", time.monotonic())

    def _patience(self, origin: str) -> float:
        """Seconds that a robots.txt may take which has no place of its own."""
        return float(PATIENCE * 2.0 ** min(self._late.get(origin, 0), TRIES - 1))

    @contextmanager
    def _awaited(self, scheduler: Scheduler, origin: str) -> Iterator[float | None]:
        """Seconds that a robots.txt may take within it; None, without end, for one that has a place
        of its own."""
        with scheduler.place_of_its_own("robots", MOST_AWAITED) as beside:
            yield None if beside else self._patience(origin)

    def _was_late(self, origin: str, patience: float) -> None:
        """It took longer than so many seconds, as perhaps several that waited know."""
        if patience == self._patience(origin):
            self._late[origin] = self._late.get(origin, 0) + 1

    async def _rules(self, origin: str, agent: str, *, waits: bool) -> Rules | None:
        """The rules of an origin; None where they did not come in time, unless it `waits`."""
        key = f"{origin} {agent}"
        fetch = self._fetches.get(key)
        if fetch is None:
            fetch = self._fetches[key] = asyncio.ensure_future(self._fetch(key, origin, agent))
            fetch.add_done_callback(lambda _: self._fetches.pop(key))
        scheduler = scheduler_of(self._crawler)
        if scheduler is None or waits:
            # A cancelled request must not cancel the fetch for the others.
            rules = await asyncio.shield(fetch)
            if rules is None:
                rules = await self._rules(origin, agent, waits=waits)
            return rules
        with self._awaited(scheduler, origin) as patience:
            done, _ = await asyncio.wait([fetch], timeout=patience)
        if done:
            return fetch.result()
        assert patience is not None
        self._was_late(origin, patience)
        return None

    async def _fetch(self, key: str, origin: str, agent: str) -> Rules | None:
        """None where it did not come in time."""
        scheduler = scheduler_of(self._crawler)
        if scheduler is None:
            return await self._download(key, origin, agent, None)
        with self._awaited(scheduler, origin) as patience:
            return await self._download(key, origin, agent, patience)

    async def _download(
        self, key: str, origin: str, agent: str, patience: float | None
    ) -> Rules | None:
        stats = self._crawler.stats
        stats.inc_value("robotstxt/request_count")
        request = Request(
            f"{origin}/robots.txt",
            priority=PRIORITY,
            meta={"dont_obey_robotstxt": True, "download_maxsize": MOST_UNPACKED, ROBOTS: True},
            callback=NO_CALLBACK,
        )
        if patience is not None:
            request.meta.update(download_timeout=patience, dont_retry=True)
        began = time.monotonic()
        try:
            response = await self._crawler.engine.download_async(request)
        except IgnoreRequest:
            # Too many redirects, or a middleware rejects the request: as if there were no file.
            rules = ALLOW_ALL
        except Exception as error:
            if patience is not None and time.monotonic() - began >= patience:
                self._was_late(origin, patience)
                if self._late[origin] < TRIES:
                    return None
            logger.warning("%s could not be had, so nothing is allowed: %s", request.url, error)
            stats.inc_value(f"robotstxt/exception_count/{type(error).__name__}")
            rules = DISALLOW_ALL
        else:
            stats.inc_value("robotstxt/response_count")
            stats.inc_value(f"robotstxt/response_status_count/{response.status}")
            rules = from_reply(response.status, response.body, agent, url=request.url)
        delay = self._cache.crawl_delay(rules)
        if delay:
            self._pace(origin, delay)
        self._late.pop(origin, None)
        return self._cache.store(key, rules, time.monotonic())

    def _receive(self, data: bytes, request: Request) -> None:
        """Stop the download of a file after its first `LIMIT` bytes, which count."""
        if ROBOTS in request.meta:
            self._came[request] = came = self._came.get(request, 0) + len(data)
            if came > LIMIT:
                raise StopDownload(fail=False)

    def _pace(self, origin: str, delay: float) -> None:
        """Set a Crawl-delay for the next choices of the crawl, and for the downloader."""
        host = origin.split("/")[2]
        scheduler = scheduler_of(self._crawler)
        if scheduler is not None:
            scheduler.crawl.frontier.pace(host, delay)
        for name in (host, host.rpartition(":")[0]):
            slot = self._crawler.engine.downloader.slots.get(name)
            if slot is not None:
                slot.delay = max(slot.delay, delay)
