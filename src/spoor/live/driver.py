"""Runs a crawl over HTTP, with many requests in flight.

As thin as the core allows: the crawl says what to fetch and when; the driver fetches it, as
`spoor.politeness` allows, and hands the reply back.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from spoor.documents.kinds import Types
from spoor.garbage import few_collections
from spoor.http.address_guard import AddressGuard
from spoor.http.client import Client
from spoor.http.failures import failure
from spoor.http.host_queues import ClockSharedError, HostQueues
from spoor.http.replies import without_refusal
from spoor.http.reservations import ReservationFetcher, is_reserved
from spoor.http.robots import RobotsFetcher
from spoor.http.subrequests import Subrequests, scope_of_parts
from spoor.live.broken_bodies import BrokenBodies
from spoor.live.clock import CrawlClock
from spoor.live.ends import end_of_waiting
from spoor.live.queued_politeness import QueuedPoliteness
from spoor.live.refusing_hosts import KnowsWhoLinks, RefusingHosts
from spoor.live.renders import Renders
from spoor.live.reply_reader import ReplyReader
from spoor.live.waits import Request
from spoor.politeness.hosts import share_of_time, times_late
from spoor.politeness.request_limits import RequestLimits
from spoor.politeness.request_slots import RequestSlots
from spoor.politeness.robots import RobotsCache, origin_of
from spoor.protocols import Engine
from spoor.settings import Settings
from spoor.types import (
    Deferred,
    Failed,
    Fetch,
    Fetched,
    Finished,
    LiveReply,
    NextStep,
    NotModified,
    Outcome,
    Sleep,
)
from spoor.web import sitemaps
from spoor.web.exchange import Exchange
from spoor.web.robots import ALLOW_ALL, DISALLOW_ALL, FORBIDDEN, Rules
from spoor.web.urls import canonical
from spoor.web.validators import Validators

Clock = Callable[[], float]
T = TypeVar("T")

GRACE = 7.0
"""Seconds that a stopped crawl waits for what is in flight."""


class HttpDriver:
    """Runs one crawl, or one fleet, over HTTP.

    The crawl's turns (receive replies, choose fetches, commit) run in one thread of their own, so
    that the event loop reads and sends meanwhile; `on_step`, `record`, `commit`, `validators` and
    `whole` are called in that thread. Other code that touches the crawl meanwhile uses `apart`.

    - `record` archives each exchange before the crawl sees it, and returns whether it brought a
      page unchanged since an earlier visit.
    - `on_step` gets what the crawl made of each reply.
    - `commit` is called after replies were received and fetches chosen, before these are requested.
      Two turns are `gather` seconds apart while anything is in flight, so that replies share a
      commit.
    - `clock` gives seconds, never goes back, and goes on across restarts of a run. `wall` dates
      what is recorded; None: `clock`.
    - `validators` gives the validators of a page that was fetched before (`spoor.web.validators`),
      by which it is requested conditionally.
    - `whole` says which pages are known whole from an earlier visit: a partial body does not
      replace one.
    - `kept_cookies` is the file of the cookies that sites set.
    - `renders` renders pages in a browser, whose requests are as polite as the crawl's.
    - `owns` says which URLs this process may request; another shard requests the others.
    - `admits` says whether a reply may be received now; while one waits, nothing new is fetched.
    """

    def __init__(
        self,
        crawl: Engine,
        settings: Settings,
        *,
        clock: Clock | None = None,
        wall: Clock | None = None,
        record: Callable[[Fetch, Exchange], bool] | None = None,
        on_step: Callable[[Fetch, Outcome | Deferred], None] | None = None,
        commit: Callable[[], None] = lambda: None,
        gather: float = 0.0,
        validators: Callable[[str], Validators | None] = lambda url: None,
        kept_cookies: Path | None = None,
        whole: Callable[[str], bool] = lambda url: False,
        renders: Renders | None = None,
        owns: Callable[[str], bool] = lambda url: True,
        admits: Callable[[LiveReply], bool] = lambda reply: True,
    ) -> None:
        self.crawl = crawl
        self.settings = settings
        self._clock = CrawlClock() if clock is None else clock
        self._wall = self._clock if wall is None else wall
        self._record = record
        self._on_step = on_step
        self._commit = commit
        self._gather = gather
        self._validators = validators
        self._kept_cookies = kept_cookies
        self._renders = renders
        self._owns = owns
        self._admits = admits
        self._conditions: dict[int, tuple[tuple[str, str], ...]] = {}
        """Ticket of a fetch that was chosen → headers that make it conditional."""
        self._turn_at = 0.0
        """When the next turn may begin, by the time of the event loop."""
        self._scheduled = -1.0
        self._robots = RobotsCache(
            max_age=settings.robots_max_age, max_crawl_delay=settings.max_crawl_delay
        )
        self._fetcher: RobotsFetcher | None = None
        self._reservations: ReservationFetcher | None = None
        self._parts: Subrequests | None = None
        revisits = settings.command == "watch" or bool(settings.refresh)
        self._broken = BrokenBodies(revisits=revisits, whole=whole)
        self._announced: set[str] = set()
        """Origins whose sitemaps the crawl knows."""
        self._types = Types.of(settings)
        self._tasks: dict[asyncio.Task[None], Fetch] = {}
        self._slots = RequestSlots(settings.in_flight)
        self._hosts = QueuedPoliteness(crawl)
        self._refusing = RefusingHosts(crawl.frontier, known=revisits)
        self._in_turn: threading.Thread | None = None
        self._turning = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, "crawl")
        self._ended = False
        self._arrived: deque[tuple[Fetch, LiveReply, Exchange | None]] = deque()
        self._taken_in: deque[int] = deque()
        """Tickets whose bodies are no longer held in memory."""
        self._wake = asyncio.Event()
        self._stopped: str | None = None
        self._deadline = 0.0
        self._fault: BaseException | None = None
        self.received = 0
        """Bytes of all bodies so far, failures included."""
        self.allows: Callable[[str], bool] = lambda url: True
        """Whether rendered pages may request parts from a URL, where the settings allow it."""

    def _count(self, size: int) -> None:
        self.received += size

    @staticmethod
    def _time() -> float:
        """Seconds by the clock of the event loop."""
        return asyncio.get_running_loop().time()

    def stop(self, reason: str) -> None:
        """Request nothing new, and wait at most `GRACE` seconds for what is in flight; the rest is
        requested again when the run goes on. May be called from the loop's thread or a turn's."""
        self._end(reason, GRACE)

    def abort(self, reason: str) -> None:
        """End at once; what is in flight is requested again when the run goes on."""
        self._end(reason, 0.0)

    def wake(self) -> None:
        """There may be more to fetch."""
        self._wake.set()

    def fail(self, fault: BaseException) -> None:
        """End with an error of the caller."""
        self._fault = fault
        self._wake.set()

    def _end(self, reason: str, grace: float) -> None:
        # The crawl itself is not stopped: what waits for another attempt goes on with the run.
        self._stopped = reason
        self._deadline = self._clock() + grace
        # A turn that stops the crawl is not in the loop's thread; the loop looks after the turn.
        if self._in_turn is not threading.current_thread():
            self._wake.set()

    @property
    def _ended_at_once(self) -> bool:
        """Whether replies are no longer received: they are requested again when the run goes on."""
        return self._stopped is not None and self._deadline <= self._clock()

    @property
    def ended(self) -> bool:
        """Whether there will be no more turns."""
        return self._ended

    @property
    def robots_requests(self) -> int:
        """Requests for robots.txt so far."""
        return 0 if self._fetcher is None else self._fetcher.requests

    @property
    def left_out_parts(self) -> bool:
        """Whether a rendered page lacks something that another shard asks for."""
        return self._parts is not None and self._parts.left_out

    def requests(self) -> list[Request]:
        """The requests in flight, with times of the crawl's clock. Call it in the loop's thread."""
        ahead = self._clock() - self._time()
        sent = [(fetch.host, self._slots.sent(fetch.ticket)) for fetch in self._tasks.values()]
        return [Request(host, None if since is None else since + ahead) for host, since in sent]

    async def run(self) -> Finished:
        """Crawl to the end. Raises PluginError and CallerError as the crawl does."""
        address_guard, settings = AddressGuard(self.settings), self.settings
        self._client = Client(settings, address_guard, self._kept_cookies, self._count)
        limits = RequestLimits(
            per_host=settings.per_host,
            per_domain=settings.per_domain,
            per_address=settings.per_address,
        )
        self._address_guard = address_guard
        self._reader = ReplyReader(settings.ratio_limit, self._wall, self._time)
        self._queues = HostQueues(limits, address_guard.addresses_of, self._slots)
        fetcher = RobotsFetcher(
            self._robots,
            self._hosts,
            self._client,
            self._queues,
            agent=settings.user_agent,
            clock=self._clock,
            owns=self._owns,
        )
        self._fetcher = fetcher if settings.robots else None
        if settings.noai:
            told = self._client, self._hosts, self._queues, self._clock
            self._reservations = ReservationFetcher(*told)
        if self._renders is not None:
            scope = scope_of_parts(settings)
            self._parts = Subrequests(
                self._client,
                self._queues,
                self._fetcher,
                self._hosts,
                lambda host, own: self._hosts.spend(host, self._clock(), own=own),
                lambda url, kind: self.allows(url) and scope(url, kind),
                self._wall,
                watched=settings.command == "watch",
                owns=self._owns,
            )
            self._renders.open(self._parts.load)
        try:
            with few_collections():
                return await self._loop()
        finally:
            # A turn that has begun is finished, even if this task is cancelled.
            self._ended = True
            self._thread.shutdown()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            self._reader.close()
            if self._renders is not None:
                await self._renders.close()
            await self._client.close()
            await address_guard.close()

    async def apart(self, call: Callable[[], T]) -> T:
        """Call a function between two turns, in their thread; in this one after the last turn."""
        async with self._turning:
            if self._ended:
                return call()
            return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    async def _loop(self) -> Finished:
        while True:
            # A request that ends after this is seen by this turn, or wakes the next one.
            self._wake.clear()
            # A request gives up its place only if another one wants it.
            self._queues.give_up()
            free = self._slots.free(self._time())
            chosen, answer = await self.apart(lambda free=free: self._turn(free))  # type: ignore[misc]
            while self._taken_in:
                self._client.room.leave(self._taken_in.popleft())
            if self._fault is not None:
                raise self._fault
            until = None if self._stopped is None else self._deadline
            over = self._over()
            if isinstance(answer, Finished):
                over = answer
            elif answer is not None:
                until = answer.until if isinstance(answer, Sleep) else None
                if not (over or chosen or self._tasks or self._arrived or until is None):
                    over = self._end_of_waiting(until)
            if over:
                return over
            self._turn_at = self._time() + self._gather
            for fetch, late, most in chosen:
                self._slots.begin(fetch.ticket, late, self._time(), most=most)
                task = asyncio.create_task(self._exchange(fetch))
                self._tasks[task] = fetch
                task.add_done_callback(self._request_ended)
            if answer is None and self._slots.free(self._time()) > 0:
                self._next_turn()  # some of the chosen hold no slot
            await self._rest(until)

    def _turn(self, free: int) -> tuple[list[tuple[Fetch, int | None, float]], NextStep | None]:
        """Receive the replies that arrived, choose at most `free` fetches, and commit.

        Returns the fetches, each with how often its host was late and the seconds after which it
        gives way to others; and the crawl's other answer, if that is why there are fewer."""
        self._in_turn = threading.current_thread()
        self._hosts.apply()
        while self._arrived and not self._ended_at_once:
            if not self._admits(self._arrived[0][1]):
                free = 0
                break
            self._receive(*self._arrived.popleft())
        chosen: list[tuple[Fetch, int | None, float]] = []
        hosts = self.crawl.frontier
        other: NextStep | None = None
        while len(chosen) < free and self._stopped is None:
            answer = self.crawl.next(self._clock())
            if not isinstance(answer, Fetch):
                other = answer
                break
            share = share_of_time(hosts, answer.choice.link)
            most = share * self.settings.timeout if share < 1.0 else math.inf
            chosen.append((answer, times_late(hosts, answer.host), most))
            self._broken.chosen(answer.url)
            if (known := self._validators(answer.url)) is not None:
                self._conditions[answer.ticket] = known.request_headers
        self._commit()
        return chosen, other

    def _over(self) -> Finished | None:
        if self._stopped is None:
            return None
        waiting = (self._tasks or self._arrived) and self._clock() < self._deadline
        return None if waiting else Finished(self._stopped)

    def _end_of_waiting(self, until: float) -> Finished | None:
        delay = self._hosts.delay
        return end_of_waiting(self.crawl, self._robots, delay, self.settings, until, self._clock())

    async def _rest(self, until: float | None) -> None:
        """Wait for a reply, or until a host becomes free."""
        if self._arrived or self._wake.is_set():
            # A request ended during the turn, which did not know of the free place.
            self._wake.clear()
            self._next_turn()
        change = self._slots.next_change(self._time())
        if until is None and change is None:
            await self._wake.wait()
            return
        waits = [] if until is None else [until - self._clock()]
        if change is not None:
            waits.append(change - self._time())
        wait = max(0.0, min(waits)) + 0.001
        if self._tasks:
            wait = max(wait, self._turn_at - self._time())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait):
                await self._wake.wait()

    def _next_turn(self) -> None:
        """Wake the loop, now or when its next turn may begin."""
        loop = asyncio.get_running_loop()
        waits = self._tasks and self._fault is None and self._stopped is None
        if not waits or self._turn_at <= loop.time():
            self._wake.set()
        elif self._scheduled != self._turn_at:
            self._scheduled = self._turn_at
            loop.call_at(self._turn_at, self._wake.set)

    def _request_ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled() and (fault := task.exception()) is not None:
            self._fault = fault
        self._next_turn()

    def _receive(self, fetch: Fetch, reply: LiveReply, exchange: Exchange | None) -> None:
        self._taken_in.append(fetch.ticket)
        asks = isinstance(reply, Failed) and (
            reply.kind == "refused" or reply.retry_after is not None
        )
        knows = self.crawl if asks and isinstance(self.crawl, KnowsWhoLinks) else None
        foreign = knows is not None and knows.foreign(fetch.ticket)
        if not (isinstance(reply, Failed) and reply.kind == "later"):
            now = self._clock()
            self._refusing.see(fetch.host, reply, now, url=fetch.url, foreign=foreign)
        if exchange is not None and self._record is not None and self._record(fetch, exchange):
            reply = NotModified(fetch.ticket, exchange.seconds)
        if exchange is None or exchange.rendered is None:
            step = self.crawl.receive(reply, self._clock())
        else:
            assert self._renders is not None
            page = reply.page if isinstance(reply, Fetched) else None
            receive = partial(self.crawl.receive, reply, self._clock())
            step = self._renders.receive(fetch, exchange.rendered, page, receive)
        if self._on_step is not None:
            self._on_step(fetch, step)

    # -- one request

    async def _rendered(
        self, fetch: Fetch, exchange: Exchange, plain: Fetched
    ) -> tuple[Exchange, LiveReply]:
        """The exchange and reply of a page after rendering, where rendering pays."""
        assert self._renders is not None
        renders, reply = self._renders, plain
        exchange = await renders.rendered(fetch, exchange, plain.page)
        rendered = exchange.rendered
        if exchange.document is not exchange.body and rendered is not None:
            made = await self._reader.read(fetch, exchange)
            if isinstance(made, Fetched) and renders.keeps(plain.page, made.page):
                return exchange, made
            why = made.reason if isinstance(made, Failed) else "it brings nothing"
            rendered = replace(rendered, html=b"", failed=why)
            exchange = replace(exchange, rendered=rendered)
        if renders.needs(plain.page.url):
            why = "there is no browser" if rendered is None else rendered.failed
            return exchange, Failed(fetch.ticket, "limit", f"it cannot be rendered: {why}", 200)
        return exchange, reply

    async def _look_up(self, fetch: Fetch) -> None:
        """Look up the host's address; as that may take long, the request holds no slot then."""
        if not self._address_guard.knows(fetch.host):
            async with self._queues.look_up(fetch.ticket, self.settings.connect_timeout):
                await self._address_guard.look_up(fetch.host)

    async def _ask(self, fetch: Fetch, headers: tuple[tuple[str, str], ...]) -> Failed | Exchange:
        """Request a page; returns the exchange, or why it was not requested."""
        rules, allowed = ALLOW_ALL, True
        if self._fetcher is not None:
            rules, allowed = await self._fetcher.ask(fetch)
        if rules is DISALLOW_ALL:
            origin = origin_of(fetch.url)
            reason = self._robots.reason(origin)
            return Failed(
                fetch.ticket,
                "robots",
                f"robots.txt could not be had ({reason}), so all is forbidden",
                transient=True,
                retry_after=self._robots.wait(origin, self._clock()),
            )
        if not allowed:
            return Failed(fetch.ticket, "robots", FORBIDDEN)
        if reason := self._robots.too_slow(rules):
            return Failed(fetch.ticket, "robots", f"{reason} (--max-crawl-delay)")
        if self._reservations is not None and await self._reservations.reserve(fetch):
            return Failed(fetch.ticket, "robots", "its site reserves it in tdmrep.json (--noai)")
        return await self._get(fetch, rules, headers)

    async def _exchange(self, fetch: Fetch) -> None:
        reply: LiveReply
        exchange: Exchange | None = None
        headers = self._conditions.pop(fetch.ticket, ())
        try:
            await self._look_up(fetch)
            async with self._queues.visit(fetch.host, self._hosts.delay(fetch.host)) as visit:
                asked = await self._ask(fetch, headers)
            if visit.rest:
                self._hosts.hold(fetch.host, self._clock() + visit.rest)
            if isinstance(asked, Failed):
                reply = asked
            else:
                exchange = asked
                reply = await self._reader.read(fetch, exchange)
                refusals, renders = self.settings.refusals, self._renders is not None
                if not refusals:
                    reply = without_refusal(reply, exchange, rendering=renders)
                if renders and isinstance(reply, Fetched):
                    exchange, reply = await self._rendered(fetch, exchange, reply)
                    reply = reply if refusals else without_refusal(reply, exchange)
                if self.settings.noai and isinstance(reply, Fetched) and is_reserved(reply.page):
                    # It is not archived either: others learn from archives.
                    exchange = None
                    reply = Failed(fetch.ticket, "robots", "it asks not to be learned from (noai)")
        except ClockSharedError as error:
            self._hosts.hold(fetch.host, self._clock() + error.wait)
            reply = Failed(
                fetch.ticket, "later", str(error), transient=True, retry_after=error.wait
            )
        except Exception as error:
            reply = failure(fetch.ticket, error)
        if exchange is not None and self._broken.asks_anew(exchange, reply):
            reason = "its body broke off, and what came before may be whole"
            status, exchange = exchange.status, None
            reply = Failed(fetch.ticket, "connection", reason, status, transient=True)
        if self._renders is not None and (exchange is None or exchange.rendered is None):
            self._renders.forget(fetch)
        answered = not (isinstance(reply, Failed) and reply.unanswered)
        rest = self._slots.end(fetch.ticket, answered=answered)
        if rest:
            self._hosts.hold(fetch.host, self._clock() + rest)
        self._arrived.append((fetch, reply, exchange))

    async def _get(
        self, fetch: Fetch, rules: Rules, headers: tuple[tuple[str, str], ...]
    ) -> Exchange:
        """Request a page or a sitemap. The exchange of an origin's first page also names the
        origin's sitemaps."""
        is_sitemap = fetch.choice.why == sitemaps.WHY
        watched, again = self.settings.command == "watch", bool(self.settings.refresh)
        types = None if is_sitemap else self._types
        async with self._queues.turn(fetch.ticket, fetch.host, self._hosts.delay(fetch.host)):
            exchange = await self._client.get(
                fetch.url,
                self._wall(),
                types=types,
                headers=headers,
                progress=partial(self._slots.bring, fetch.ticket),
                ticket=fetch.ticket,
            )
        if watched or (again and is_sitemap):
            exchange = replace(exchange, watched=True)
        if not (self.settings.sitemaps or watched or again):
            return exchange
        origin = origin_of(exchange.url)
        there = 200 <= exchange.status < 300 or exchange.status == 304
        if is_sitemap or origin in self._announced or not there:
            return replace(exchange, sitemap=True) if is_sitemap else exchange
        self._announced.add(origin)
        named = [canonical(url) for url in rules.sitemaps[: sitemaps.MAX_SITEMAPS]]
        return replace(exchange, sitemaps=tuple(named) or (f"{origin}/sitemap.xml",))
