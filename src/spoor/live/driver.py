"""Runs a crawl over HTTP, with many requests in flight.

As thin as the core allows: the crawl says what to fetch and when; the driver fetches it, as
`spoor.politeness` allows, and hands the reply back.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from spoor.clock import CrawlClock
from spoor.live.broken_bodies import BrokenBodies
from spoor.live.end_of_waiting import end_of_waiting
from spoor.live.page_requests import PageRequests, loop_time
from spoor.live.queued_politeness import QueuedPoliteness
from spoor.live.refusing_hosts import KnowsWhoLinks, RefusingHosts
from spoor.live.renders import Renders
from spoor.live.reply_turns import LONG, Arrived, ReplyTurns
from spoor.live.slow_start import SlowStart
from spoor.live.waits import Request
from spoor.politeness.hosts import share_of_time, times_late
from spoor.politeness.request_slots import RequestSlots
from spoor.politeness.robots import RobotsCache
from spoor.process_memory import few_collections
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
from spoor.web.exchange import Exchange
from spoor.web.validators import Validators

if TYPE_CHECKING:
    from spoor.live.requisites import Requisites

Clock = Callable[[], float]
T = TypeVar("T")

GRACE = 7.0
"""Seconds that a stopped crawl waits for what is in flight."""


AT_ONCE = 32
"""Requests that begin by one turn at most: each takes a millisecond of the loop."""


class Chosen(NamedTuple):
    """A fetch that may begin."""

    fetch: Fetch
    times_late: int | None
    """Of its host (`spoor.politeness.hosts.times_late`)."""
    most: float
    """Seconds after which it gives way to others."""
    held_back: bool
    """Whether others wait for it at the crawl's slow start."""


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
    - `queries`: what the search of a site is asked for.
    - `slow_start` says how many links may be requested at once while little is known; None: as many
      as ever.
    - `requisites` asks for what pages need to be shown, beside the crawl and once it is over.
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
        slow_start: SlowStart | None = None,
        queries: Sequence[str] = (),
        requisites: Requisites | None = None,
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
        self._queries = queries
        self._requisites = requisites
        self._conditions: dict[int, tuple[tuple[str, str], ...]] = {}
        """Ticket of a fetch that was chosen → headers that make it conditional."""
        self._turn_at = 0.0
        """When the next turn may begin, by the time of the event loop."""
        self._scheduled = -1.0
        self._robots = RobotsCache(
            max_age=settings.robots_max_age, max_crawl_delay=settings.max_crawl_delay
        )
        self._requests: PageRequests | None = None
        revisits = settings.command == "watch" or bool(settings.refresh)
        self._broken = BrokenBodies(revisits=revisits, whole=whole)
        self._tasks: dict[asyncio.Task[None], Fetch] = {}
        self._slots = RequestSlots(settings.in_flight)
        self._slow_start = slow_start or SlowStart(1, lambda link: 0)  # which is over
        self._hosts = QueuedPoliteness(crawl)
        self._refusing = RefusingHosts(crawl.frontier, known=revisits)
        self._in_turn: threading.Thread | None = None
        self._turning = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, "crawl")
        self._ended = False
        self._arrived: deque[Arrived] = deque()
        """Replies that no turn has seen."""
        self._replies = ReplyTurns(settings.in_flight)
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

    def stop(self, reason: str, grace: float = GRACE, *, pages_only: bool = False) -> None:
        """Request nothing new, and wait at most `grace` seconds for what is in flight; the rest is
        requested again when the run goes on. `pages_only`: what the pages need to be shown is still
        asked for. May be called from the loop's thread or a turn's."""
        self._end(reason, grace)
        if self._requisites is not None and not pages_only:
            self._requisites.end(grace)

    def abort(self, reason: str) -> None:
        """End at once; what is in flight is requested again when the run goes on."""
        self._end(reason, 0.0)
        if self._requisites is not None:
            self._requisites.end(0.0)

    def hold(self, host: str, seconds: float) -> None:
        """Ask nothing of a host, with its port if it has one, for so many seconds. From the loop's
        thread."""
        self._hosts.hold(host, self._clock() + seconds)

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
        return 0 if self._requests is None else self._requests.robots_requests

    @property
    def left_out_parts(self) -> bool:
        """Whether a rendered page lacks something that another shard asks for."""
        return self._requests is not None and self._requests.left_out_parts

    def requests(self) -> list[Request]:
        """The requests in flight, with times of the crawl's clock. Call it in the loop's thread."""
        ahead = self._clock() - loop_time()
        sent = [(fetch.host, self._slots.sent(fetch.ticket)) for fetch in self._tasks.values()]
        return [Request(host, None if since is None else since + ahead) for host, since in sent]

    async def run(self) -> Finished:
        """Crawl to the end. Raises PluginError and CallerError as the crawl does."""
        self._requests = PageRequests(
            self.settings,
            self._hosts,
            self._slots,
            self._robots,
            self._broken,
            clock=self._clock,
            wall=self._wall,
            kept_cookies=self._kept_cookies,
            renders=self._renders,
            owns=self._owns,
            allows=lambda url: self.allows(url),
            count=self._count,
            queries=self._queries,
        )
        try:
            with few_collections():
                if self._requisites is None:
                    return await self._loop(self._requests)
                return await self._with_requisites(self._requisites, self._requests)
        finally:
            # A turn that has begun is finished, even if this task is cancelled.
            self._ended = True
            self._thread.shutdown()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self._requests.close()

    async def _with_requisites(self, requisites: Requisites, requests: PageRequests) -> Finished:
        """Crawl to the end, and beside it and then ask for what the pages need."""

        async def apart(call: Callable[[], T]) -> T:
            return await self.apart(lambda: self._politely(call))

        def see(fetch: Fetch, reply: LiveReply, foreign: bool) -> None:
            now = self._clock()
            self._refusing.see(fetch.host, reply, now, url=fetch.url, foreign=foreign)

        going_on = requisites.run(requests, apart, see, self.fail, lambda url: self.allows(url))
        task = asyncio.create_task(going_on)
        try:
            finished = await self._loop(requests)
            before = self._stopped
            requisites.finish()
            await task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        if self._fault is not None:
            raise self._fault
        ended = self._stopped if self._stopped != before else None
        return finished if ended is None else Finished(ended)

    def _politely(self, call: Callable[[], T]) -> T:
        """Call a function once what requests changed of the hosts is known."""
        self._hosts.apply()
        return call()

    async def apart(self, call: Callable[[], T]) -> T:
        """Call a function between two turns, in their thread; in this one after the last turn."""
        async with self._turning:
            if self._ended:
                return call()
            return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    async def _loop(self, requests: PageRequests) -> Finished:
        while True:
            # A request that ends after this is seen by this turn, or wakes the next one.
            self._wake.clear()
            # A request gives up its place only if another one wants it.
            requests.give_up()
            now = loop_time()
            turn = partial(self._turn, self._slots.free(now), self._slow_start.free(now))
            chosen, answer = await self.apart(turn)
            while self._taken_in:
                requests.received(self._taken_in.popleft())
            if self._fault is not None:
                raise self._fault
            until = None if self._stopped is None else self._deadline
            over = self._over()
            if isinstance(answer, Finished):
                over = answer
            elif answer is not None:
                until = answer.until if isinstance(answer, Sleep) else None
                if not (over or chosen or self._busy or until is None):
                    over = self._end_of_waiting(until)
            if over:
                return over
            self._turn_at = loop_time() + self._gather
            for fetch, late, most, held_back in chosen:
                self._slots.begin(fetch.ticket, late, loop_time(), most=most)
                if held_back:
                    self._slow_start.begin(fetch.ticket, loop_time())
                task = asyncio.create_task(self._exchange(fetch))
                self._tasks[task] = fetch
                task.add_done_callback(self._request_ended)
            if answer is None and self._free(loop_time()) > 0:
                self._next_turn()  # some of the chosen hold no slot
            await self._rest(until)

    def _free(self, now: float) -> int:
        """How many requests may begin. What waits to be taken in holds places, too."""
        free = self._slots.free(now) - len(self._arrived) - len(self._replies)
        return free if self._slow_start.free(now) else 0

    def _turn(self, free: int, start: float = math.inf) -> tuple[list[Chosen], NextStep | None]:
        """Receive the replies that arrived, choose fetches for those of `free` places that no reply
        holds, `start` of them such as the slow start holds back, and commit.

        Returns the fetches, and the crawl's other answer, if that is why there are fewer."""
        self._in_turn = threading.current_thread()
        self._hosts.apply()
        while self._arrived:
            self._replies.add(self._arrived.popleft(), self._clock())
        long, began = False, time.thread_time()
        while not (long or self._ended_at_once):
            arrived = self._replies.next(self._clock(), hurry=self._stopped is not None)
            if arrived is None:
                break
            if not self._admits(arrived[1]):
                self._replies.put_back(arrived)
                free = 0
                break
            self._receive(*arrived)
            began, before = time.thread_time(), began
            self._replies.took(arrived, began - before, self._clock())
            long = began - before >= LONG  # others are asked before the next one
        chosen: list[Chosen] = []
        free = min(free - len(self._replies), AT_ONCE)
        hosts = self.crawl.frontier
        other: NextStep | None = None
        while len(chosen) < free and start > 0 and self._stopped is None:
            answer = self.crawl.next(self._clock())
            if not isinstance(answer, Fetch):
                other = answer
                break
            link = answer.choice.link
            share = share_of_time(hosts, link)
            most = share * self.settings.timeout if share < 1.0 else math.inf
            held_back = self._slow_start.concerns(link)
            start -= held_back
            chosen.append(Chosen(answer, times_late(hosts, answer.host), most, held_back))
            self._broken.chosen(answer.url)
            if (known := self._validators(answer.url)) is not None:
                self._conditions[answer.ticket] = known.request_headers
        self._commit()
        return chosen, other

    @property
    def _busy(self) -> bool:
        """Whether a request is in flight, or a reply waits."""
        return bool(self._tasks or self._arrived or self._replies)

    def _over(self) -> Finished | None:
        if self._stopped is None:
            return None
        waiting = self._busy and self._clock() < self._deadline
        return None if waiting else Finished(self._stopped)

    def _end_of_waiting(self, until: float) -> Finished | None:
        delay = self._hosts.delay
        return end_of_waiting(self.crawl, self._robots, delay, self.settings, until, self._clock())

    async def _rest(self, until: float | None) -> None:
        """Wait for a reply, or until a host becomes free."""
        if self._arrived or self._replies.ready or self._wake.is_set():
            # A request ended during the turn, which did not know of the free place.
            self._wake.clear()
            self._next_turn()
        change = self._slots.next_change(loop_time())
        now = self._clock()
        waits = [math.inf if until is None else until - now, self._replies.long_at(now) - now]
        waits.append(math.inf if change is None else change - loop_time())
        waits.append(self._slow_start.next_change() - loop_time())
        if min(waits) == math.inf:
            await self._wake.wait()
            return
        wait = max(0.0, min(waits)) + 0.001
        if self._tasks:
            wait = max(wait, self._turn_at - loop_time())
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
        if (fetch := self._tasks.pop(task, None)) is not None:
            self._slow_start.end(fetch.ticket)
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

    async def _exchange(self, fetch: Fetch) -> None:
        assert self._requests is not None
        headers = self._conditions.pop(fetch.ticket, ())
        self._arrived.append((fetch, *await self._requests.make(fetch, headers)))
