"""The scheduler: Scrapy's three methods around a crawl's two calls.

Scrapy fetches, the spiders of the project parse and select the links to follow, and the crawl
chooses the next of them. The life of a ticket:

1. `enqueue_request` gets a request of a spider, marked with the page on which its link is.
2. When the callback of that page has ended, its requests enter the frontier as the links of the
   page, with their anchors there, and the policy learns; of thousands the others enter by and by.
3. `next_request` calls the crawl, and returns the request of the URL that it chose.
4. A redirect or a retry returns through `enqueue_request` with its ticket, waits for its host, and
   is requested again under the same ticket.
5. The page is judged before the spider gets it (`PageMiddleware`), and the crawl receives it when
   its callback has ended. Every other end of a request (a failure, an errback, a middleware that
   drops it) is a failure of its ticket.

Requests that their URL does not identify bypass the crawl, at once and in Scrapy's order: those
with a body or another method than GET, and those with `dont_filter` for a known URL. What a page or
a server chose, links and redirects, keeps to the scope on this way, too, and is a page's URL.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import logging
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

from scrapy import signals
from scrapy.core.scheduler import BaseScheduler
from scrapy.dupefilters import RFPDupeFilter
from scrapy.exceptions import CloseSpider, UsageError
from scrapy.utils.asyncio import call_later, is_asyncio_available
from scrapy.utils.job import job_dir
from scrapy.utils.misc import build_from_crawler, load_object

from spoor.errors import InputError, PluginError
from spoor.integrations.scrapy.components import ComponentsOwner, read_settings
from spoor.integrations.scrapy.concurrent_requests import ConcurrentRequests
from spoor.integrations.scrapy.job import (
    forget_unsaved,
    read_job,
    taking_in_job,
    write_job,
)
from spoor.integrations.scrapy.visits import (
    FOUND_ON,
    LATER,
    VISIT,
    Flight,
    Visit,
    failure_of,
    header_of,
    page_of,
    refusal_of,
    unread,
)
from spoor.isolate.parsing import helper_of
from spoor.live.helper_turns import MOST_WAITING, Helpers
from spoor.orderer import Orderer, Parts
from spoor.turns import CrowdedError
from spoor.types import (
    Failed,
    Fetch,
    Finished,
    Outcome,
    Page,
    Redirected,
    Reply,
    Sleep,
)
from spoor.web.urls import Joiner, canonical, host, registrable_domain

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.core.engine import ExecutionEngine
    from scrapy.crawler import Crawler
    from scrapy.dupefilters import BaseDupeFilter
    from scrapy.http import Request, Response
    from scrapy.utils.asyncio import CallLaterResult
    from twisted.internet.defer import Deferred

logger = logging.getLogger(__name__)

_NOWHERE = "http://invalid/"
"""Base for absolute URLs, so that the cache of `Joiner` can be used for them."""

SAVE_SECONDS = 10.0
SAVE_SHARE = 0.05
"""A job is written every `SAVE_SECONDS`, with at most `SAVE_SHARE` of the time for writing."""

_NO_PAGE = "no URL of a page"

ENDLESS = 1 << 30
"""No limit here: Scrapy's own settings limit retries and redirects."""


class Scheduler(BaseScheduler):
    """Runs one `spoor.crawl.Crawl` for a Scrapy crawler."""

    def __init__(self, crawler: Crawler, components: Parts, dupefilter: BaseDupeFilter) -> None:
        settings = crawler.settings
        self._crawler = crawler
        self._dupefilter = dupefilter
        self._orderer = Orderer.of(
            components,
            delay=settings.getfloat("DOWNLOAD_DELAY"),
            per_host=settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN"),
            attempts=ENDLESS,
            max_hops=ENDLESS,
            link_filter=components.link_filter,
        )
        self.crawl = self._orderer.crawl
        self._filter = components.link_filter
        self._name = components.name
        self._refusals = read_settings(settings).refusals
        self._joiner = Joiner()
        self._folder = job_dir(settings)
        self.concurrent = ConcurrentRequests(
            crawler, lambda: self.crawl.frontier, self._now, self._wake
        )
        self.concurrent.bound()
        self._flights: dict[int, Flight] = {}
        self._read = WeakKeyDictionary["Response", Page]()
        """Responses that were parsed before the spider's middlewares got them."""
        self._helpers: Helpers | None = None
        self._beside = Counter[str]()
        """What is done beside the places of CONCURRENT_REQUESTS: kind → how many."""
        self._known: set[str] = set()
        # Requests of open links by canonical URL; of redirects and retries by ticket.
        self._requests: dict[str, Request] = {}
        self._repeats: dict[int, Request] = {}
        self._direct: list[tuple[int, int, Request]] = []
        self._order = count()
        self._finished = False
        self._closing: asyncio.Task[None] | None = None
        self._timer: CallLaterResult | None = None
        self._entering: CallLaterResult | None = None
        self._saved = time.monotonic()
        self._cost = 0.0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Scheduler:
        owner = crawler.get_addon(ComponentsOwner)
        if owner is None:
            raise UsageError(
                'this scheduler comes with ADDONS = {"spoor.integrations.scrapy.Addon": 500}'
            )
        folder = job_dir(crawler.settings)
        if folder is not None:
            forget_unsaved(Path(folder))
        dupefilter = build_from_crawler(load_object(crawler.settings["DUPEFILTER_CLASS"]), crawler)
        return cls(crawler, owner.components, dupefilter)

    # -- Scrapy's calls

    def open(self, spider: Spider) -> Deferred[None] | None:
        try:
            if not is_asyncio_available():
                raise InputError("needs asyncio: leave TWISTED_REACTOR as Scrapy sets it")
            if self._folder is not None:
                self._load(Path(self._folder), spider)
                self._save(Path(self._folder), spider)
        except InputError as error:
            logger.error("spoor: %s", error)
            # A job that cannot be read must not be overwritten.
            self._folder = None
            # The engine closes cleanly once everything is open.
            self._crawler.signals.connect(self._refuse, signal=signals.spider_opened)
        return self._dupefilter.open()

    def close(self, reason: str) -> Deferred[None] | None:
        if self._helpers is not None:
            self._helpers.close()
        self.concurrent.close()
        self._receive_ended()
        self._guard(self.crawl.revise)
        self._count()
        for timer in (self._timer, self._entering):
            if timer is not None:
                timer.cancel()
        if self._folder is not None and self._crawler.spider is not None:
            self._save(Path(self._folder), self._crawler.spider, last=True)
        return self._dupefilter.close(reason)

    def has_pending_requests(self) -> bool:
        return bool(self._direct) or not self._finished or self._orderer.has_more

    def enqueue_request(self, request: Request) -> bool:
        """Enqueue a request of the spider, or a redirect or retry with its ticket.

        Returns False, as Scrapy's scheduler does, for a request that will not be made.
        """
        self._finished = False
        flight = self._flight_of(request)
        if flight is not None and FOUND_ON not in request.meta and not self._is_scraped(flight):
            return self._requeue(flight, request)
        before = request.meta.pop(VISIT, None)
        from_page = FOUND_ON in request.meta
        parent = self._flights.get(request.meta.pop(FOUND_ON, None))
        url = self._url_of(request)
        past = "" if from_page or not isinstance(before, Visit) else before.past
        if why := self._why_not(request, url, from_page=from_page, past=past):
            self._inc(f"left_out/{why}")
            return self._drop(request)
        if parent is not None and url is not None:
            parent.links.setdefault(url, str(request.meta.get("link_text", "")))
        if not request.dont_filter and self._dupefilter.request_seen(request):
            return self._drop(request)
        if url is None or (url in self._known and request.dont_filter):
            return self._enqueue_direct(request)
        if url in self._known:
            return self._drop(request)
        self._known.add(url)
        self._requests[url] = request
        if parent is None:
            self._guard(self.crawl.seed, [url])
        self._inc("enqueued")
        return True

    def next_request(self) -> Request | None:
        """The request that the crawl chooses, or None while it waits; the engine is woken then."""
        self._receive_ended()
        if self._closing is not None:
            return None
        since = time.monotonic() - self._saved
        if self._folder is not None and since > max(SAVE_SECONDS, self._cost / SAVE_SHARE):
            spider = self._crawler.spider
            if spider is not None:
                self._save(Path(self._folder), spider)
        if self._direct:
            request = heapq.heappop(self._direct)[2]
            request.meta[VISIT] = Visit(None, past=request.url)
            return request
        while True:
            answer = self._guard(self.crawl.next, self._now())
            self._finished = answer is None or isinstance(answer, Finished)
            if isinstance(answer, Fetch):
                chosen = self._take(answer)
                if chosen is not None:
                    return chosen
                continue
            if isinstance(answer, Sleep):
                self._wake_at(answer.until)
            elif isinstance(answer, Finished):
                budget = self.crawl.pages
                if budget is not None and self.crawl.counts.pages >= budget:
                    self._close("spoor_pages")
            return None

    # -- calls of the middlewares

    async def read_ahead(self, request: Request, response: Response) -> None:
        """Parse a response beside the event loop, where a helper is asked. Documents of sites whose
        documents take long wait for those of others, and are not read where too many wait."""
        if not isinstance(request.meta.get(VISIT), Visit):
            return
        try:
            url = canonical(response.url)
        except ValueError:
            return
        helper = helper_of(response.body, header_of(response, "Content-Type"), url)
        if not helper:
            return
        if self._helpers is None:
            self._helpers = Helpers(asyncio.get_running_loop().time)
        now = time.time()
        read = partial(page_of, response, url, now, Joiner())
        site = registrable_domain(host(url))
        with self.place_of_its_own("reading"):
            try:
                page = await self._helpers.read(helper, site, read)
            except CrowdedError:
                self._crawler.stats.inc_value("spoor/unread")
                page = unread(response, url, now)
        self._read[response] = page

    @contextlib.contextmanager
    def place_of_its_own(self, kind: str, most: int = MOST_WAITING) -> Iterator[bool]:
        """While a document is read, or a robots.txt awaited, its request takes no place of those
        that are downloaded, unless that is so of `most` others of its kind: Scrapy counts it among
        CONCURRENT_REQUESTS until its middlewares have ended. Whether it takes none."""
        downloader = self._crawler.engine.downloader
        if not getattr(downloader, "total_concurrency", 0):
            yield True  # no limit
            return
        if self._beside[kind] >= most:
            yield False
            return
        self._beside[kind] += 1
        downloader.total_concurrency += 1
        self._wake()
        try:
            yield True
        finally:
            downloader.total_concurrency -= 1
            self._beside[kind] -= 1

    def page_arrived(self, response: Response) -> None:
        """Parse and judge a response, once, before the spider gets it."""
        request = response.request
        visit = request.meta.get(VISIT) if request is not None else None
        if request is None or not isinstance(visit, Visit) or visit.page is not None:
            return
        flight = self._flight_of(request)
        if flight is None and visit.ticket is not None:
            return
        try:
            url = canonical(response.url)
        except ValueError:
            return
        page = self._read.pop(response, None)
        if page is None:
            page = page_of(response, url, time.time(), self._joiner)
        refused = None if self._refusals else refusal_of(response, page)
        there = 200 <= response.status < 300 and refused is None
        judgement = self._guard(self._orderer.judge, page) if there else None
        visit = replace(visit, page=page, judgement=judgement, refused=refused)
        request.meta[VISIT] = visit
        if flight is not None:
            flight.visit = visit
            flight.size = len(response.body)

    def download_failed(self, request: Request, exception: Exception) -> None:
        """Note that a download failed and no middleware retries it."""
        flight = self._flight_of(request)
        if flight is not None and flight.request is request:
            flight.failure = exception

    # -- tickets

    def _take(self, fetch: Fetch) -> Request | None:
        request = self._repeats.pop(fetch.ticket, None) or self._requests.pop(fetch.url, None)
        if request is None:
            # Its callback could not be saved when the job was paused.
            self._receive(Failed(fetch.ticket, "cancelled", "its request was not saved"))
            return None
        request.meta[VISIT] = Visit(fetch.ticket, fetch.choice)
        hops = request.meta.get("redirect_times", 0)
        self._flights[fetch.ticket] = Flight(fetch.ticket, fetch.url, request, self._now(), hops)
        self._inc("dequeued")
        return request

    def _requeue(self, flight: Flight, request: Request) -> bool:
        """A redirect or a retry, from a downloader middleware."""
        del self._flights[flight.ticket]
        url = self._url_of(request)
        if url is None:
            reason = "to what its URL does not name"
            self._receive(Failed(flight.ticket, "redirect", reason))
            if why := self._why_not(request, None, from_page=False, past=flight.url):
                self._inc(f"left_out/{why}")
                return self._drop(request)
            return self._enqueue_direct(request)
        reply: Reply
        hops = request.meta.get("redirect_times", 0)
        redirected = url != flight.url or hops > flight.hops
        later = request.meta.pop(LATER, None)
        if later is not None:
            wait, kind, why = later
            reply = Failed(flight.ticket, kind, why, transient=True, retry_after=wait)
        elif redirected and not request.dont_filter and self._dupefilter.request_seen(request):
            reply = Failed(flight.ticket, "duplicate", f"redirects to {url}, known already")
        elif url != flight.url:
            reply = Redirected(flight.ticket, url)
        else:
            # A redirect to the same URL, with a cookie perhaps, or a retry after a failure.
            at_once = 0.0 if redirected else None
            reason = "asked for again"
            reply = Failed(flight.ticket, "http", reason, transient=True, retry_after=at_once)
        if isinstance(self._receive(reply), Outcome):
            return self._drop(request)
        # This ticket also answers an open link to the same URL.
        self._known.add(url)
        self._requests.pop(url, None)
        self._repeats[flight.ticket] = request
        return True

    def _enqueue_direct(self, request: Request) -> bool:
        heapq.heappush(self._direct, (-request.priority, next(self._order), request))
        return True

    def _flight_of(self, request: Request) -> Flight | None:
        visit = request.meta.get(VISIT)
        if not isinstance(visit, Visit) or visit.ticket is None:
            return None
        return self._flights.get(visit.ticket)

    def _receive_ended(self) -> None:
        """Pass to the crawl the flights whose request, callback and callback results have ended."""
        in_progress = _in_progress(self._crawler.engine)
        ended = [flight for flight in self._flights.values() if flight.request not in in_progress]
        for flight in ended:
            del self._flights[flight.ticket]
            visit, seconds = flight.visit, self._now() - flight.began
            if visit is None or visit.page is None or visit.judgement is None:
                self._receive(failure_of(flight, seconds))
                # The crawl has no page for these links.
                if flight.links:
                    self._orderer.add_later(flight.links)
                continue
            now, size = self._now(), flight.size
            deliver = partial(self._orderer.deliver, now=now, seconds=seconds, size=size)
            deliver = partial(deliver, followed=flight.links)
            self._guard(deliver, flight.ticket, visit.page, visit.judgement)
            self._count()
        self._enter_soon()

    def _enter_soon(self) -> None:
        """Enter what waits of the links of pages, a slice in each turn of the loop."""
        if self._orderer.has_more and self._entering is None:
            self._entering = call_later(0.0, self._enter_some)

    def _enter_some(self) -> None:
        self._entering = None
        if self._guard(self._orderer.enter_some):
            self._finished = False
            self._enter_soon()
            self._wake()

    def _enter_all(self) -> None:
        while self._guard(self._orderer.enter_some):
            pass

    def _receive(self, reply: Reply) -> object:
        answer = self._guard(self.crawl.receive, reply, self._now())
        self._count()
        return answer

    def _count(self) -> None:
        counts, stats = self.crawl.counts, self._crawler.stats
        stats.set_value("spoor/pages", counts.pages)
        stats.set_value("spoor/relevant", counts.relevant)
        stats.set_value("spoor/failed", counts.failed)
        if self.crawl.revisions:
            stats.set_value("spoor/judged_anew", self.crawl.revisions)

    def _url_of(self, request: Request) -> str | None:
        """The canonical URL of a request that its URL identifies; None for any other."""
        return None if _does_more(request) else self._joiner.join(request.url, _NOWHERE)

    def _why_not(self, request: Request, url: str | None, *, from_page: bool, past: str) -> str:
        """The rule that leaves out what a page or a server chose; empty for none, and for what the
        spider begins with. `url`: of a request that its URL identifies; `past`: URL of a request
        that bypassed the crawl, of which this is a redirect or a retry."""
        if from_page and url is not None:
            return self._filter.left_out_by(url)
        if not from_page and past in ("", request.url):
            return ""
        place = self._joiner.join(request.url, _NOWHERE)
        if place is None:  # a file of this machine, a URL without end
            return _NO_PAGE
        if from_page and request.dont_filter:
            return ""  # a form that the spider sends wherever it leads
        return self._filter.scope.why_not(place)

    def _is_scraped(self, flight: Flight) -> bool:
        """Whether the spider has the response: a later request is then a new one, not a retry."""
        slot = self._crawler.engine.scraper.slot
        return slot is not None and flight.request in slot.active

    def _drop(self, request: Request) -> bool:
        spider = self._crawler.spider
        if spider is not None:
            self._dupefilter.log(request, spider)
        return False

    # -- the engine

    def _now(self) -> float:
        """Seconds that never go back, not even across the pauses of a job."""
        return self._orderer.now()

    def _wake_at(self, until: float) -> None:
        """Wake the engine at `until`; by itself it calls an idle scheduler only every 5 s."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = call_later(max(0.0, until - self._now()) + 0.001, self._wake)

    def _wake(self) -> None:
        slot = self._crawler.engine._slot
        if slot is not None:
            slot.nextcall.schedule()

    def _close(self, reason: str) -> None:
        if self._closing is None:
            closing = self._crawler.engine.close_spider_async(reason=reason)
            self._closing = asyncio.ensure_future(closing)

    def _refuse(self) -> None:
        raise CloseSpider("spoor_input")

    def _guard(self, method: Any, *arguments: object) -> Any:
        """Call a method; a failure of a plug-in ends the crawl with one line, and returns None."""
        try:
            return method(*arguments)
        except PluginError as error:
            logger.error("spoor: %s", error)
            self._finished = True
            self._close("spoor_fault")
            return None

    def _inc(self, name: str) -> None:
        # Extensions that watch the queue (LogStats, MemoryDebugger) use these names.
        self._crawler.stats.inc_value(f"scheduler/{name}")
        self._crawler.stats.inc_value(f"scheduler/{name}/memory")

    # -- JOBDIR

    def _save(self, folder: Path, spider: Spider, *, last: bool = False) -> None:
        """Save the crawl, the waiting requests and those in flight.

        A job that was killed continues from there: later requests are made again.
        """
        began = time.monotonic()
        self._enter_all()
        waiting = (
            *(("open", url, request) for url, request in self._requests.items()),
            *(("again", ticket, request) for ticket, request in self._repeats.items()),
            *(("again", flight.ticket, flight.request) for flight in self._flights.values()),
            *(("past", None, request) for _, _, request in sorted(self._direct)),
        )
        # Scrapy writes requests.seen through a buffer; what is cut off later is measured on disk.
        if isinstance(self._dupefilter, RFPDupeFilter) and self._dupefilter.file is not None:
            self._dupefilter.file.flush()
        state, now = self.crawl.save(), self._now()
        lost = write_job(folder, self._name, state, now, self._known, waiting, spider)
        if lost and last:
            logger.warning("spoor: %d requests cannot be saved and are lost", lost)
        self._saved = time.monotonic()
        self._cost = self._saved - began

    def _load(self, folder: Path, spider: Spider) -> None:
        job = read_job(folder, self._name, spider)
        if job is None:
            return
        state, last, self._known, requests = job
        with taking_in_job(folder):
            self._orderer.restore(state, last)
            self.concurrent.bound()
            self._requests = dict(requests["open"])
            self._repeats = dict(requests["again"])
        for _, request in requests["past"]:
            self._enqueue_direct(request)


def scheduler_of(crawler: Crawler) -> Scheduler | None:
    """The scheduler of the crawler; None if the project set another."""
    scheduler = crawler.engine.scheduler
    # `isinstance` accepts any class with the three methods of a scheduler.
    ours = Scheduler in type(scheduler).__mro__
    return cast("Scheduler", scheduler) if ours else None


def _does_more(request: Request) -> bool:
    """Whether a request is more than to look at a URL."""
    return request.method != "GET" or bool(request.body)


def _in_progress(engine: ExecutionEngine) -> set[Request]:
    """Requests that the engine has taken and whose callbacks have not all ended.

    Scrapy has no signal for the end of a callback, so this looks at the engine's own list.
    """
    slot = engine._slot
    return set() if slot is None else slot.inprogress
