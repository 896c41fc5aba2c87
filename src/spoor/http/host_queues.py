"""Requests that wait for their turn where many hosts are one domain's, or one machine's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from spoor.http.shared_clocks import SharedClocks, clocks_of
from spoor.politeness.request_limits import RequestLimits, Turn
from spoor.politeness.request_slots import RequestSlots


@dataclass(slots=True)
class Visit:
    """A visit of a host."""

    rest: float = 0.0
    """Once it has ended: seconds for which its host is left alone, so that others at its clock get
    their turn."""


OTHERS_FIRST = "others of its domain at its address are asked first"
NAMES_FIRST = "names of others are looked up first"
"""Why a request waits that no failure put off."""


class PutOffError(Exception):
    """A host is not asked yet, since others come first; `wait`: seconds until it comes again."""

    def __init__(self, reason: str, wait: float) -> None:
        super().__init__(reason)
        self.wait = wait


class HostQueues:
    """Holds requests back as `limits` say, and gives up those that `slots` wants back.

    A crawl keeps its own hosts apart: the limit per host is for what it does not see, a robots.txt
    that is redirected to another host, and for hosts of one domain at one address. `addresses_of`
    gives the addresses of a host. A request that waits here is in flight for its crawl.
    """

    def __init__(
        self,
        limits: RequestLimits,
        addresses_of: Callable[[str], Awaitable[tuple[str, ...]]],
        slots: RequestSlots,
    ) -> None:
        self._limits = limits
        self._slots = slots
        self._waits: dict[int, asyncio.Timeout] = {}
        """Ticket → its wait for its host."""
        self._addresses_of = addresses_of
        self._clocks = SharedClocks()
        self._begin: dict[Turn, asyncio.Future[None]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()

    def turn(self, ticket: int, host: str, delay: float) -> _InTurn:
        """One request to a host (with its port, if it has one), whose delay is so many seconds: a
        context. Raises TimeoutError where it is given up."""
        return _InTurn(self, ticket, host, delay)

    async def _begin_turn(self, ticket: int, host: str, delay: float) -> Turn:
        addresses = await self._addresses_of(host) if self._limits.per_address or delay > 0 else ()
        clocks = clocks_of(host, addresses) if delay > 0 else ()
        turn = self._limits.ask(host, delay, self._loop.time(), (*addresses, "")[0], clocks)
        self._begin[turn] = begin = self._loop.create_future()
        try:
            self._admit()
            await begin
        except BaseException:
            self._end_turn(ticket, turn)
            raise
        self._slots.send(ticket, self._loop.time())
        return turn

    def _end_turn(self, ticket: int, turn: Turn) -> None:
        self._slots.receive(ticket, self._loop.time())
        self._begin.pop(turn, None)
        self._limits.end(turn, self._loop.time())
        self._admit()

    @asynccontextmanager
    async def look_up(self, ticket: int, most: float) -> AsyncIterator[None]:
        """The address of a request's host is looked up, for `most` seconds. Raises TimeoutError."""
        self._slots.look_up(ticket, self._loop.time())
        try:
            async with asyncio.timeout(most), self._wait(ticket):
                yield
        except BaseException:
            self._slots.receive(ticket, self._loop.time())
            raise
        self._slots.found(ticket, self._loop.time())

    @asynccontextmanager
    async def _wait(self, ticket: int) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(None) as self._waits[ticket]:
                yield
        finally:
            del self._waits[ticket]

    def visit(self, host: str, delay: float) -> _Visiting:
        """A visit of a host, by one or more requests: a context. Raises PutOffError where it
        is to come again later."""
        return _Visiting(self, host, delay)

    def give_up(self) -> None:
        """End the requests that had their time, where others want their places."""
        now = self._loop.time()
        for ticket in self._slots.overdue(now):
            wait = self._waits[ticket]
            if not wait.expired():
                wait.reschedule(now)

    def _admit(self) -> None:
        turns, again = self._limits.admit(self._loop.time())
        for turn in turns:
            begin = self._begin.pop(turn)
            if not begin.done():  # given up
                begin.set_result(None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if again is not None:
            self._timer = self._loop.call_at(again, self._admit)


class _Visiting:
    """The context of `HostQueues.visit`, as a class, too."""

    __slots__ = ("_delay", "_host", "_names", "_queues", "_visit")

    def __init__(self, queues: HostQueues, host: str, delay: float) -> None:
        self._queues, self._host, self._delay = queues, host, delay
        self._names: tuple[str, ...] = ()
        """Of the clocks that it shares; none where there is no delay."""
        self._visit = Visit()

    async def __aenter__(self) -> Visit:
        if self._delay > 0:
            queues = self._queues
            self._names = clocks_of(self._host, await queues._addresses_of(self._host))
            until = queues._clocks.enter(self._names, self._delay, queues._loop.time())
            if until is not None:
                raise PutOffError(OTHERS_FIRST, until - queues._loop.time())
        return self._visit

    async def __aexit__(self, *raised: object) -> None:
        if self._names:
            queues = self._queues
            now = queues._loop.time()
            until = queues._clocks.leave(self._names, self._delay, now)
            self._visit.rest = 0.0 if until is None else until - now


class _InTurn:
    """The context of `HostQueues.turn`; a class, which costs a fifth of a generator."""

    __slots__ = ("_asked", "_queues", "_timeout", "_turn")

    def __init__(self, queues: HostQueues, ticket: int, host: str, delay: float) -> None:
        self._queues = queues
        self._asked = ticket, host, delay

    async def __aenter__(self) -> None:
        queues, ticket = self._queues, self._asked[0]
        self._turn = await queues._begin_turn(*self._asked)
        self._timeout = queues._waits[ticket] = asyncio.timeout(None)
        await self._timeout.__aenter__()

    async def __aexit__(self, *raised: Any) -> None:
        queues, ticket = self._queues, self._asked[0]
        try:
            await self._timeout.__aexit__(*raised)
        finally:
            del queues._waits[ticket]
            queues._end_turn(ticket, self._turn)
