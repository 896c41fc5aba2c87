"""Asks for what pages need to be shown, beside the requests of their crawl.

Pages come first. While hosts of a domain have links that wait, they are asked for one requisite
after each `PAGES_EACH` pages; one of pictures alone is asked as its delay allows.
The rest is asked for once the crawl is over, unless somebody ended it. A requisite is no page: no
policy chooses it, no judge sees it, and what it names are requisites, never links.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import islice
from typing import NamedTuple, Protocol, TypeVar

from spoor.display import in_time, shown
from spoor.link_filter.scope import Scope
from spoor.live.requisite_hosts import CrawlHosts, HostAnswers
from spoor.live.requisite_reader import NONE, Named, RequisiteReader
from spoor.live.waits import Wait
from spoor.protocols import Politeness
from spoor.runs.requisite_queue import DuePage, Ended, RequisiteQueue, Waiting
from spoor.runs.requisites import RequisiteRow
from spoor.runs.writer import RunWriter
from spoor.settings import Settings
from spoor.types import (
    NO_PARENT,
    Choice,
    Failed,
    Fetch,
    Fetched,
    LiveReply,
    NotModified,
    Redirected,
)
from spoor.web.actions import PROOF, action
from spoor.web.exchange import Exchange, Requisite
from spoor.web.media_types import media_of
from spoor.web.urls import MAX_LENGTH, host, registrable_domain
from spoor.web.validators import Validators

T = TypeVar("T")

PAGES_EACH = 4
"""Pages of a host for each requisite that it is asked for while it has more."""
TURN = 0.2
"""Seconds between two turns while the crawl goes on, and …"""
GATHER = 0.025
"""… once it is over: replies that come meanwhile share a commit."""
LONGEST_PAUSE = 60.0
"""Seconds that the end of a crawl is put off for a host that asks to be left alone. What waits for
it longer is asked for when the run goes on."""
_READ_AHEAD = 50
"""Pages that are looked up at once to be read."""
_LOOKED_AT = 1_000
"""Hosts that one turn looks at, and requisites of each: the others have the next turns."""
READING_COUNTS = 10.0
"""Seconds of waiting as which a second counts that what a page needs is read: all pages share what
reads."""
ATTEMPTS = 3
"""Requests for one, where the failures before are transient."""
COMMIT = 1.0
"""Seconds after which they have a commit of their own, where the crawl has none meanwhile."""
_TICKETS = -(1 << 40)
"""Those of the crawl are positive, those of parts of rendered pages small."""


class Requests(Protocol):
    """What makes the requests (`spoor.live.page_requests.PageRequests`)."""

    async def requisite(
        self, fetch: Fetch, headers: tuple[tuple[str, str], ...], *, as_user: bool
    ) -> tuple[LiveReply, Exchange | None, float]: ...
    def received(self, ticket: int) -> None: ...


class Apart(Protocol):
    """Calls a function between two turns of the crawl (`HttpDriver.apart`)."""

    async def __call__(self, call: Callable[[], T], /) -> T: ...


See = Callable[[Fetch, LiveReply, bool], None]
"""Takes (fetch, reply, whether only other sites named it) for the host's pace."""


@dataclass(slots=True)
class _Host:
    """What is known of a host that has requisites."""

    waiting: deque[int] = field(default_factory=deque)
    later: list[tuple[float, int]] = field(default_factory=list)
    """A heap of (when, number) of those that are asked for once more."""
    flying: int = 0
    free_at: float = -math.inf


class _Chosen(NamedTuple):
    """What is asked for next."""

    row: RequisiteRow
    fetch: Fetch
    wait: float
    """Seconds until then."""


@dataclass(frozen=True, slots=True)
class _Reply:
    """What came of a request."""

    row: RequisiteRow
    fetch: Fetch
    reply: LiveReply
    exchange: Exchange | None
    seconds: float
    """For which its host was waited for, its delay left out."""
    named: Named


class Fetching(Wait):
    """The pages of a crawl are done, and requisites are asked for."""

    def words(self, now: float) -> str:
        return self.why


def allowed_by(settings: Settings) -> Callable[[str], bool]:
    """Which requisites may be asked for: those of any host, but what the user excludes, what does
    something (`--actions`), URLs that are too long, and ports to which no browser sends a request.
    """
    scope = Scope.of((), "anywhere", exclude=settings.exclude)

    def allows(url: str) -> bool:
        is_one = len(url) <= MAX_LENGTH and url in scope
        return is_one and (settings.actions or action(url) in ("", PROOF))

    return allows


class Requisites:
    """The requisites of one run. `hosts` gives the frontier; `commit` makes durable what was done;
    `clock` and `wall` are the driver's. `on_bytes` is called with the size of each body.

    All of it but the requests runs in the crawl's turns (`HttpDriver.apart`)."""

    def __init__(
        self,
        folder: RunWriter,
        queue: RequisiteQueue,
        *,
        hosts: Callable[[], Politeness],
        clock: Callable[[], float],
        wall: Callable[[], float],
        commit: Callable[[], None],
        report: Callable[[str], None],
        on_bytes: Callable[[int], None],
    ) -> None:
        self._folder, self._queue, self._settings = folder, queue, folder.settings
        self._frontier, self._clock, self._wall = hosts, clock, wall
        self._commit, self._report, self._on_bytes = commit, report, on_bytes
        self._hosts: dict[str, _Host] = {}
        """Those that are asked, or wait; those that waited longest stand first."""
        self._answers = HostAnswers()
        self._crawls = CrawlHosts(clock)
        self._pages = Counter[str]()
        """Domain → pages that came from it since it was asked for a requisite."""
        self._tries: Counter[int] = Counter()
        self._ticket = _TICKETS
        self._tasks: set[asyncio.Task[None]] = set()
        self._arrived = deque[_Reply]()
        self._read = deque[tuple[DuePage, Named]]()
        self._due: deque[DuePage] = deque()
        self._after = 0
        """Number of the page up to which all were looked up."""
        self._wake = asyncio.Event()
        self._fault: BaseException | None = None
        self._over = False
        self.after: float | None = None
        """When the pages were done, by `time.monotonic`; None before."""
        self._until: float | None = None
        """When what is in flight is given up; None while nobody ended it."""
        self._changed = False
        self._committed = 0.0
        self._done = self._left = 0
        self._allows: Callable[[str], bool] = lambda url: False

    # -- called in the crawl's turns

    def came(self, name: str) -> None:
        """A page of a host came."""
        self._pages[registrable_domain(name)] += 1

    def look_again(self) -> None:
        """Pages may be relevant that were not."""
        self._after = 0

    # -- called in the event loop

    @property
    def words(self) -> Wait | None:
        """What a person is told while the crawl is over but for these."""
        if not self._over:
            return None
        why = f"the pages are done; requisites: {self._done:,} asked for, {self._left:,} wait"
        delay = self._frontier().delay
        hosts = [*islice(self._hosts.items(), _LOOKED_AT)]
        rests = ((len(one.waiting) * delay(name), name) for name, one in hosts)
        seconds, slowest = max(rests, default=(0.0, ""))
        if seconds > LONGEST_PAUSE:
            why += f", those of {shown(slowest)} about {in_time(seconds)}"
        return Fetching("", why, math.inf)

    def end(self, grace: float) -> None:
        """Ask for nothing new; what is in flight has `grace` seconds. From any thread."""
        until = self._clock() + grace
        self._until = until if self._until is None else min(self._until, until)

    async def run(
        self,
        requests: Requests,
        apart: Apart,
        see: See,
        fail: Callable[[BaseException], None],
        allows: Callable[[str], bool],
    ) -> None:
        """Ask for them until `finish` was called and nothing is left, or `end`."""
        own = allowed_by(self._settings)
        self._requests, self._see = requests, see
        self._allows = lambda url: own(url) and allows(url)
        reader = RequisiteReader(self._folder.path, self._allows, self._report)
        reading: asyncio.Task[None] | None = None
        try:
            await apart(self._open)
            while self._fault is None:
                self._wake.clear()
                chosen = await apart(self._turn)
                for one in chosen:
                    task = asyncio.create_task(self._get(one, reader))
                    self._tasks.add(task)
                    task.add_done_callback(self._ended)
                if self._due and (reading is None or reading.done()):
                    reading = asyncio.create_task(self._read_pages(reader))
                    reading.add_done_callback(self._ended)
                busy = bool(self._tasks or self._arrived or self._read)
                reads = reading is not None and not reading.done()
                if self._until is not None and (not busy or self._until <= self._clock()):
                    break
                if self._over and not (busy or reads or self._due or self._left):
                    break
                await self._rest()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            if self._fault is None:
                await apart(self._last_turn)
        except Exception as error:
            self._fault = self._fault or error
        finally:
            if reading is not None:
                reading.cancel()
            reader.close()
            if self._fault is not None:
                fail(self._fault)

    def finish(self) -> None:
        """The crawl is over: nothing else waits for hosts."""
        self._over, self.after = True, time.monotonic()
        self._after = 0  # pages that were read may have been rendered since
        self._crawls.look_again()
        self._wake.set()

    async def _rest(self) -> None:
        await asyncio.sleep(GATHER if self._over else TURN)
        if self._over and self._until is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(TURN):
                    await self._wake.wait()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            self._fault = fault
        self._wake.set()

    async def _get(self, chosen: _Chosen, reader: RequisiteReader) -> None:
        row, fetch = chosen.row, chosen.fetch
        await asyncio.sleep(chosen.wait)
        known = Validators.checked(row.etag, row.last_modified) if row.place else None
        headers = () if known is None else known.request_headers
        asked = await self._requests.requisite(fetch, headers, as_user=row.own)
        reply, exchange, seconds = asked
        named = NONE
        if isinstance(reply, Fetched) and exchange is not None and _is_style(row, exchange):
            named = await reader.of_style(exchange.body, row.url, exchange.header("Content-Type"))
        self._arrived.append(_Reply(row, fetch, reply, exchange, seconds, named))

    async def _read_pages(self, reader: RequisiteReader) -> None:
        while self._due and self._until is None:
            page = self._due.popleft()
            if (named := await reader.of_page(page)) is not None:
                self._read.append((page, named))

    # -- turns

    def _open(self) -> None:
        self._wait_for(self._queue.waiting())

    def _turn(self) -> list[_Chosen]:
        self._take_in()
        if not self._due and not self._read and self._until is None:
            last = self._queue.last()
            if last > self._after:
                self._due.extend(self._queue.due(self._after, _READ_AHEAD))
                more = len(self._due) == _READ_AHEAD
                self._after = self._due[-1].seq if more else last
        chosen = [] if self._until is not None else self._choose()
        if self._changed and (self._over or self._clock() >= self._committed + COMMIT):
            self._changed, self._committed = False, self._clock()
            self._commit()
        return chosen

    def _last_turn(self) -> None:
        self._take_in()
        self._commit()

    def _take_in(self) -> None:
        while self._read:
            page, named = self._read.popleft()
            seconds = READING_COUNTS * named.seconds
            self._wait_for(self._queue.add_of_page(page, named.found, named.left, seconds))
            self._changed = True
        while self._arrived:
            one = self._arrived.popleft()
            self._receive(one)
            self._requests.received(one.fetch.ticket)
            self._changed = True

    def _wait_for(self, new: Iterable[Waiting]) -> None:
        for number, url in new:
            self._hosts.setdefault(host(url), _Host()).waiting.append(number)
            self._left += 1

    def _goes_first(self, new: Iterable[Waiting]) -> None:
        """What style sheets name, which pages share, comes before the pictures of one page, whose
        bounds it would lie beyond."""
        for number, url in reversed([*new]):
            self._hosts.setdefault(host(url), _Host()).waiting.appendleft(number)
            self._left += 1

    def _choose(self) -> list[_Chosen]:
        """Those that may be asked for now."""
        most = self._settings.in_flight if self._over else max(1, self._settings.in_flight // 4)
        free = most - len(self._tasks)
        if free <= 0 or not self._left:
            return []
        now = self._clock()
        self._crawls.look(self._frontier(), over=self._over)
        chosen: list[_Chosen] = []
        for name in [*islice(self._hosts, _LOOKED_AT)]:
            if len(chosen) >= free:
                break
            one = self._hosts.pop(name)
            self._choose_of(name, one, now, free, chosen)
            if one.waiting or one.later or one.flying or one.free_at > now:
                self._hosts[name] = one  # others come first the next time
        return chosen

    def _choose_of(
        self, name: str, one: _Host, now: float, free: int, chosen: list[_Chosen]
    ) -> None:
        """Choose those of a host, as long as there is room for them."""
        frontier, clocks = self._frontier(), self._crawls.clocks
        domain, delay = registrable_domain(name), frontier.delay(name)
        # Its own delay is waited for in a queue; a longer one means that it is left alone.
        queued = delay if self._settings.per_host == 1 or domain in self._crawls.busy else 0.0
        free_at = max(one.free_at, clocks.get(name, -math.inf) - queued)
        while one.later and one.later[0][0] <= now:
            one.waiting.append(heappop(one.later)[1])
        if self._over:
            rests = max(one.free_at - delay, clocks.get(name, -math.inf) - queued)
            self._leave_for_next_run(one, now + LONGEST_PAUSE, rests)
        for _ in range(min(len(one.waiting), _LOOKED_AT)):
            if len(chosen) >= free or free_at > now:
                break
            waits = domain in self._crawls.busy and self._pages[domain] < PAGES_EACH
            if waits or one.flying >= (1 if delay else self._settings.per_host):
                break
            self._left -= 1
            row = self._queue.row(one.waiting.popleft())
            if row is None or self._is_left_out(row, name):
                continue
            one.flying += 1
            self._pages.pop(domain, None)
            self._ticket -= 1
            attempt = 1 + self._tries[row.number]
            fetch = Fetch(self._ticket, row.url, name, Choice(NO_PARENT), attempt)
            wait = 0.0
            if self._settings.per_host > 1 and delay and domain in self._crawls.busy:
                # Its queue lets two through without a delay: this one takes the next time.
                wait = max(0.0, clocks.get(name, now) - now)
                frontier.hold(name, now + wait + delay)
                clocks[name] = now + wait + delay
            chosen.append(_Chosen(row, fetch, wait))

    def _leave_for_next_run(self, one: _Host, until: float, rests: float) -> None:
        """Do not wait for what the end of a crawl is not put off for: a host that rests longer than
        `until`, its own delay left out, or requisites that may be asked for later."""
        before = len(one.waiting) + len(one.later)
        one.later = sorted(again for again in one.later if again[0] <= until)
        if rests > until:
            one.waiting.clear()
            one.later.clear()
        self._left -= before - len(one.waiting) - len(one.later)

    def _is_left_out(self, row: RequisiteRow, name: str) -> bool:
        if why := self._queue.spent(row, quick=self._answers.is_quick(name)):
            self._queue.leave_out(row, why, self._wall())
        elif self._answers.is_silent(name):
            silent = Failed(0, "connection", "its host does not answer, or refuses")
            self._queue.end(row, Ended(self._wall(), silent))
        else:
            return False
        self._changed = True
        return True

    def _receive(self, one: _Reply) -> None:
        row, reply, exchange, now = one.row, one.reply, one.exchange, self._wall()
        known = self._hosts[one.fetch.host]
        known.flying -= 1
        if self._settings.per_host > 1:
            delay = self._frontier().delay(one.fetch.host)
            known.free_at = max(known.free_at, self._clock() + delay)
        failed = reply if isinstance(reply, Failed) else None
        self._answers.see(one.fetch.host, failed, one.seconds)
        if failed is None or failed.kind != "later":
            self._see(one.fetch, reply, not row.own)
        # What was received may stand for less than it takes in the archive, or for nothing.
        size = 0 if exchange is None else max(len(exchange.raw), len(exchange.body))
        headers = 0 if exchange is None else exchange.header_size
        self._queue.took(row, size + headers, one.seconds + READING_COUNTS * one.named.seconds)
        if size:
            self._on_bytes(size)
        ended = Ended(now, reply, exchange)
        if exchange is not None:
            ended = self._archived(row, ended, exchange)
        if failed is not None and failed.transient and self._again(row, failed, known):
            return
        self._done += 1
        self._tries.pop(row.number, None)
        self._queue.end(row, ended)
        if ended.unchanged:
            self._goes_first(self._queue.again(row))
        elif isinstance(reply, Redirected):
            found = [Requisite(reply.location, row.style)] if self._allows(reply.location) else []
            self._goes_first(self._queue.add_of(row, found, letter="R"))
        elif one.named.found or one.named.left:
            self._goes_first(self._queue.add_of(row, one.named.found, one.named.left))

    def _archived(self, row: RequisiteRow, ended: Ended, exchange: Exchange) -> Ended:
        said: dict[str, object] = {"requisite": row.path, "found_on": row.found_on}
        if isinstance(ended.reply, Failed):
            said["failed"] = ended.reply.kind
        revisit = self._queue.revisit(row, exchange)
        place = self._folder.archive(exchange, json.dumps(said), revisit)
        unchanged = revisit is not None or isinstance(ended.reply, NotModified)
        return replace(ended, place=None if unchanged else place, unchanged=unchanged)

    def _again(self, row: RequisiteRow, failed: Failed, of: _Host) -> bool:
        """Ask once more later, if it may be asked for so often."""
        tries = self._tries[row.number] = self._tries[row.number] + (failed.kind != "later")
        if tries >= ATTEMPTS:
            return False
        wait = self._settings.backoff * 2.0 ** max(0, tries - 1)
        if failed.retry_after is not None:
            wait = failed.retry_after
        heappush(of.later, (self._clock() + wait, row.number))
        self._left += 1
        return True


def _is_style(row: RequisiteRow, exchange: Exchange) -> bool:
    media = media_of(exchange.header("Content-Type"))
    return media == "text/css" or (row.style and not media)
