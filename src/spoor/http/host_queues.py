"""Requests that wait for their turn where many hosts are one domain's, or one machine's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from spoor.politeness import RequestLimits, Turn


class HostQueues:
    """Holds requests back as `limits` say.

    A crawl keeps its own hosts apart: the limit per host is for what it does not see, a robots.txt
    that is redirected to another host. `address_of` gives the address of a host. A request that
    waits here is in flight for its crawl.
    """

    def __init__(self, limits: RequestLimits, address_of: Callable[[str], Awaitable[str]]) -> None:
        self._limits = limits
        self._address_of = address_of
        self._begin: dict[Turn, asyncio.Future[None]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()

    @asynccontextmanager
    async def turn(self, host: str, delay: float) -> AsyncIterator[None]:
        """One request to a host (with its port, if it has one), whose delay is so many seconds."""
        address = await self._address_of(host) if self._limits.per_address else ""
        turn = self._limits.ask(host, delay, self._loop.time(), address)
        self._begin[turn] = begin = self._loop.create_future()
        self._admit()
        try:
            await begin
            yield
        finally:
            self._begin.pop(turn, None)
            self._limits.end(turn, self._loop.time())
            self._admit()

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
