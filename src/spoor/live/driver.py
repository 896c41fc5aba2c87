"""The live driver: one task, a crawl and as many requests in flight as wanted.

As thin as the core allows: the crawl says what to ask for and when; this module asks, under the
rules of robots.txt, and turns what comes back into replies.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import itertools
import signal
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

import aiohttp

from spoor.errors import PausedError
from spoor.garbage import few_collections
from spoor.http.address_guard import AddressGuard, BlockedAddressError
from spoor.http.client import Client, LimitError
from spoor.http.host_queues import HostQueues
from spoor.protocols import Engine
from spoor.settings import HttpSettings
from spoor.types import (
    Deferred,
    Failed,
    Fetch,
    Fetched,
    Finished,
    Outcome,
    Redirected,
    Reply,
    Sleep,
)
from spoor.web import sitemaps
from spoor.web.dates import last_modified
from spoor.web.exchange import Exchange, Source
from spoor.web.robots import ALLOW_ALL, DISALLOW_ALL, LIMIT, Rules, from_reply
from spoor.web.urls import Joiner, canonical, host

Clock = Callable[[], float]

REDIRECTS = frozenset({301, 302, 303, 307, 308})
ROBOTS_HOPS = 5
ROBOTS_AGAIN = 5.0
"""Seconds after which a robots.txt that could not be had is asked for again; each time twice as
long, up to a day (RFC 9309, 2.4)."""
LONGEST_WAIT = 300.0
"""Seconds that a crawl with nothing else to do waits for such hosts."""
DAY = 24 * 3600.0
GRACE = 7.0
"""Seconds that a stopped crawl waits for what is in flight."""


@dataclass(slots=True)
class _Robots:
    rules: Rules
    expires: float
    failed: int = 0
    """Times in a row that the file could not be had."""


class HttpDriver:
    """Runs one crawl, or one fleet, over HTTP.

    `record` sees each exchange before the crawl does, so that it can be archived first; `on_step`
    sees what came of each reply. `commit` is called after replies were taken in and fetches chosen,
    before any of these is asked for; two such turns lie `gather` seconds apart as long as anything
    is in flight, so that replies share a commit. `clock` gives seconds and must go on across
    restarts of a run.
    """

    def __init__(
        self,
        crawl: Engine,
        settings: HttpSettings,
        *,
        clock: Clock = time.time,
        record: Callable[[Fetch, Exchange], object] | None = None,
        on_step: Callable[[Fetch, Outcome | Deferred], None] | None = None,
        commit: Callable[[], None] = lambda: None,
        gather: float = 0.0,
    ) -> None:
        self.crawl = crawl
        self.settings = settings
        self.robots_requests = 0
        self._clock = clock
        self._record = record
        self._on_step = on_step
        self._commit = commit
        self._gather = gather
        self._turn_at = 0.0
        """When the loop may take its next turn, by its own time."""
        self._called_at = -1.0
        self._robots: dict[str, _Robots] = {}
        self._lost: dict[str, str] = {}
        """Why the robots.txt of an origin could not be had, where it could not."""
        self._announced: set[str] = set()
        """Origins whose sitemaps the crawl was told of."""
        self._locks: dict[str, asyncio.Lock] = {}
        self._joiner = Joiner()
        self._tasks: set[asyncio.Task[None]] = set()
        self._arrived: deque[tuple[Fetch, Reply, Exchange | None]] = deque()
        self._wake = asyncio.Event()
        self._stopped: str | None = None
        self._patience = 0.0
        self._fault: BaseException | None = None

    def stop(self, reason: str) -> None:
        """Ask for nothing new; what is in flight comes in, or is asked for again when the run goes
        on: after `GRACE` seconds it is waited for no more."""
        self._end(reason, GRACE)

    def abort(self, reason: str) -> None:
        """End at once; what is in flight is asked for again when the run goes on."""
        self._end(reason, 0.0)

    def wake(self) -> None:
        """There may be more to ask for."""
        self._wake.set()

    def fail(self, fault: BaseException) -> None:
        """End with a fault of whoever drives this."""
        self._fault = fault
        self._wake.set()

    def _end(self, reason: str, grace: float) -> None:
        # The crawl itself is not stopped: what waits for another attempt goes on with the run.
        self._stopped = reason
        self._patience = self._clock() + grace
        self._wake.set()

    async def run(self) -> Finished:
        """Crawl to the end. Raises PluginError and CallerError as the crawl does."""
        address_guard, settings = AddressGuard(self.settings), self.settings
        self._client = Client(settings, address_guard)
        self._queues = HostQueues(
            address_guard.address_of,
            per_host=settings.per_host,
            per_domain=settings.per_domain,
            per_address=settings.per_address,
        )
        try:
            with few_collections():
                return await self._loop()
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self._client.close()
            await address_guard.close()

    async def _loop(self) -> Finished:
        while True:
            while self._arrived:
                self._take_in(*self._arrived.popleft())
            until = None if self._stopped is None else self._patience
            over, chosen = self._over(), list[Fetch]()
            room = 0 if self._stopped is not None else self.settings.in_flight - len(self._tasks)
            while len(chosen) < room:
                answer = self.crawl.next(self._clock())
                if isinstance(answer, Finished):
                    over = answer
                    break
                if isinstance(answer, Fetch):
                    chosen.append(answer)
                    continue
                until = answer.until if isinstance(answer, Sleep) else None
                over = over or self._in_vain(until)
                break
            self._commit()
            if self._fault is not None:
                raise self._fault
            if over:
                return over
            self._turn_at = asyncio.get_running_loop().time() + self._gather
            for fetch in chosen:
                task = asyncio.create_task(self._exchange(fetch))
                self._tasks.add(task)
                task.add_done_callback(self._landed)
            await self._rest(until)

    def _over(self) -> Finished | None:
        if self._stopped is None:
            return None
        waiting = self._tasks and self._clock() < self._patience
        return None if waiting else Finished(self._stopped)

    def _in_vain(self, until: float | None) -> Finished | None:
        """An end where all that is left waits for hosts whose robots.txt could not be had."""
        if self._tasks or self._arrived or until is None or until < self._clock() + LONGEST_WAIT:
            return None
        gone = [origin for origin, known in self._robots.items() if known.rules is DISALLOW_ALL]
        if not gone:
            return None
        others = f" and of {len(gone) - 1} others" if gone[1:] else ""
        return Finished(
            f"only hosts are left that cannot be reached: robots.txt of {gone[-1]}{others}"
        )

    async def _rest(self, until: float | None) -> None:
        """Until a reply comes in, or a host becomes free."""
        self._wake.clear()
        if self._arrived:
            self._call()
        if until is None:
            await self._wake.wait()
            return
        wait = max(0.0, until - self._clock()) + 0.001
        if self._tasks:
            wait = max(wait, self._turn_at - asyncio.get_running_loop().time())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait):
                await self._wake.wait()

    def _call(self) -> None:
        """Let the loop go on, now or when its turn has come."""
        loop = asyncio.get_running_loop()
        waits = self._tasks and self._fault is None and self._stopped is None
        if not waits or self._turn_at <= loop.time():
            self._wake.set()
        elif self._called_at != self._turn_at:
            self._called_at = self._turn_at
            loop.call_at(self._turn_at, self._wake.set)

    def _landed(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            self._fault = fault
        self._call()

    def _take_in(self, fetch: Fetch, reply: Reply, exchange: Exchange | None) -> None:
        if exchange is not None and self._record is not None:
            self._record(fetch, exchange)
        if isinstance(reply, Failed) and reply.retry_after is not None:
            self.crawl.frontier.hold(fetch.host, self._clock() + reply.retry_after)
        step = self.crawl.receive(reply, self._clock())
        if self._on_step is not None:
            self._on_step(fetch, step)

    # -- one request

    async def _exchange(self, fetch: Fetch) -> None:
        reply: Reply
        exchange: Exchange | None = None
        try:
            rules = await self._rules(fetch) if self.settings.robots else ALLOW_ALL
            if rules is DISALLOW_ALL:
                why = self._lost.get(_origin(fetch.url), "no reply")
                reply = Failed(
                    fetch.ticket,
                    "robots",
                    f"robots.txt could not be had ({why}), so all is forbidden",
                    transient=True,
                    retry_after=max(0.0, self._robots[_origin(fetch.url)].expires - self._clock()),
                )
            elif not rules.allowed(fetch.url):
                reply = Failed(fetch.ticket, "robots", "robots.txt forbids it")
            else:
                listing = fetch.choice.why == sitemaps.WHY
                accept = ("*",) if listing else self.settings.accept
                async with self._queues.through(fetch.host, self._delay(fetch.host)):
                    exchange = await self._client.get(fetch.url, self._clock(), accept=accept)
                if self.settings.sitemaps:
                    exchange = self._with_sitemaps(exchange, listing, rules)
                reply = self._reply(fetch, exchange)
                if self.settings.noai and isinstance(reply, Fetched) and "noai" in reply.page.flags:
                    # Not kept either: an archive is what others learn from.
                    exchange = None
                    reply = Failed(fetch.ticket, "robots", "it asks not to be learned from (noai)")
        except Exception as error:
            reply = failure(fetch.ticket, error)
        self._arrived.append((fetch, reply, exchange))

    def _with_sitemaps(self, exchange: Exchange, listing: bool, rules: Rules) -> Exchange:
        """What a page is made of, its host's sitemaps included if it is the first from there."""
        origin = _origin(exchange.url)
        if listing or origin in self._announced or not 200 <= exchange.status < 300:
            return replace(exchange, sitemap=listing)
        self._announced.add(origin)
        told = [canonical(url) for url in rules.sitemaps[: sitemaps.MAX_SITEMAPS]]
        return replace(exchange, sitemaps=tuple(told) or (f"{origin}/sitemap.xml",))

    def _reply(self, fetch: Fetch, exchange: Exchange) -> Reply:
        ticket, status, seconds = fetch.ticket, exchange.status, exchange.seconds
        if status in REDIRECTS:
            target = self._joiner.join(exchange.headers.get("Location", ""), fetch.url)
            if target is None or "Location" not in exchange.headers:
                return Failed(ticket, "redirect", "to no fetchable URL", status, seconds=seconds)
            return Redirected(ticket, target, status, seconds)
        if not 200 <= status < 300:
            busy = status in (429, 503)
            return Failed(
                ticket,
                "absent" if status in (404, 410) else "http",
                f"{status} {exchange.reason}".strip(),
                status,
                transient=busy or status >= 500 or status == 408,
                retry_after=self._retry_after(exchange) if busy else None,
                seconds=seconds,
            )
        if exchange.truncated == "ratio":
            why = f"a decompression bomb: it grows more than {self.settings.ratio_limit:g}-fold"
            return Failed(ticket, "limit", why, status, seconds=seconds)
        if exchange.truncated in ("time", "disconnect") and not exchange.body:
            kind = "timeout" if exchange.truncated == "time" else "connection"
            return Failed(ticket, kind, "the body broke off", status, transient=True)
        page = Source.of(exchange, last_modified(exchange)).page(self._joiner)
        return Fetched(ticket, page, seconds, len(exchange.body))

    def _retry_after(self, exchange: Exchange) -> float | None:
        value = exchange.headers.get("Retry-After", "").strip()
        if value.isdigit():
            return min(float(int(value[:9])), DAY)
        until = _http_date(value)
        return None if until is None else max(0.0, until - self._clock())

    def _delay(self, name: str) -> float:
        return self.crawl.frontier.delay(name)

    # -- robots.txt

    async def _rules(self, fetch: Fetch) -> Rules:
        """The rules of the URL's origin: fetched once, by whoever needs them first.

        With one request a host at a time nobody else can need them meanwhile; with more, each
        waits for the same answer. The host's delay passes before the page itself is asked for.
        """
        origin = _origin(fetch.url)
        known = self._robots.get(origin)
        now = self._clock()
        if known is not None and known.expires > now:
            return known.rules
        lock = self._locks.setdefault(origin, asyncio.Lock())
        async with lock:
            known = self._robots.get(origin)
            if known is not None and known.expires > now:
                return known.rules
            rules = await self._fetch_rules(f"{origin}/robots.txt")
            failed, age = 0, self.settings.robots_max_age
            if rules is DISALLOW_ALL:
                failed = 1 if known is None else known.failed + 1
                age = min(ROBOTS_AGAIN * 2.0 ** min(failed - 1, 16), DAY)
                # What it said before still holds where it said something.
                rules = rules if known is None else known.rules
            self._robots[origin] = _Robots(rules, self._clock() + age, failed)
        self._locks.pop(origin, None)
        delay = self._delay(fetch.host)
        if rules.crawl_delay is not None:
            delay = max(delay, min(rules.crawl_delay, self.settings.max_crawl_delay))
            self.crawl.frontier.pace(fetch.host, delay)
        if delay:
            await asyncio.sleep(delay)
        return rules

    async def _fetch_rules(self, url: str) -> Rules:
        """DISALLOW_ALL where it cannot be had; `_lost` then says why."""
        origin = _origin(url)
        for _ in range(ROBOTS_HOPS + 1):
            self.robots_requests += 1
            try:
                # One byte more, so that a file that was cut is known to be.
                name = host(url)
                async with self._queues.through(name, self._delay(name)):
                    exchange = await self._client.get(url, self._clock(), limit=LIMIT + 1)
            except BlockedAddressError:
                raise
            except (aiohttp.ClientError, TimeoutError, OSError, LimitError, ValueError) as error:
                self._lost[origin] = failure(0, error).reason
                return DISALLOW_ALL
            if exchange.status in REDIRECTS:
                try:
                    url = canonical(exchange.headers.get("Location", ""), url)
                except ValueError:
                    return ALLOW_ALL
                continue
            self._lost[origin] = f"status {exchange.status}"
            if exchange.truncated not in ("", "length"):
                self._lost[origin] = "it broke off"
                return DISALLOW_ALL  # nobody knows what the rest forbids
            return from_reply(exchange.status, exchange.body, self.settings.user_agent, url=url)
        return ALLOW_ALL


def _origin(url: str) -> str:
    """Scheme, host and port."""
    return "/".join(url.split("/", 3)[:3])


def _http_date(value: str) -> float | None:
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(value).timestamp()
    except (ValueError, OverflowError):
        return None


def failure(ticket: int, error: Exception) -> Failed:
    """What an exception of one request means to the crawl. Raises it again if it is our own, and
    PausedError where this machine is to blame."""
    _pause_if_ours(error)
    if isinstance(error, BlockedAddressError):
        return Failed(ticket, "blocked", str(error))
    if isinstance(error, LimitError):
        return Failed(ticket, "limit", str(error))
    if isinstance(error, TimeoutError):
        return Failed(ticket, "timeout", "no reply in time", transient=True)
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return Failed(ticket, "connection", "the host's name has no address", transient=True)
    if isinstance(error, ssl.SSLError | aiohttp.ClientSSLError):
        return Failed(ticket, "connection", "TLS could not be verified")
    if isinstance(error, aiohttp.ClientConnectionError | OSError):
        return Failed(ticket, "connection", type(error).__name__, transient=True)
    if isinstance(error, aiohttp.ClientError | ValueError):
        return Failed(ticket, "http", f"not understood: {type(error).__name__}")
    raise error


def _pause_if_ours(error: Exception) -> None:
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        raise PausedError(
            "paused: too many open files; raise `ulimit -n` or lower --in-flight, and give the "
            "same command to go on"
        ) from error


def stop_on_signals(live: HttpDriver, told: Callable[[], None]) -> None:
    """Let the first SIGINT or SIGTERM stop a run, which `told` hears of, and the second end it at
    once. Call it in the loop that runs it; outside the main thread signals are not ours."""
    if threading.current_thread() is not threading.main_thread():
        return
    calls = itertools.count()

    def interrupt() -> None:
        if next(calls) == 0:
            live.stop("interrupted")
            told()
        else:
            live.abort("aborted")

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, interrupt)
