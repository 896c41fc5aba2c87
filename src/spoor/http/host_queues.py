"""Limits beyond the host: many hosts may be one domain's, or one machine's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from spoor.web.urls import registrable_domain

_MANY = 1_024
"""HostQueues, beyond which those that nobody uses are forgotten."""


@dataclass(slots=True)
class _HostQueue:
    room: asyncio.Semaphore
    users: int = 0
    """Requests in it or waiting for it."""
    free_at: float = 0.0


class HostQueues:
    """At most so many requests at a time to a host, to all hosts of a registrable domain, and to
    all at one address (0: no limit); where the limit is 1, the host's delay passes between two.

    A crawl keeps its own hosts apart: the limit by host is for what it does not see, a robots.txt
    that stands elsewhere. `address_of` says where a host is. A request that waits here is in flight
    for its crawl.
    """

    def __init__(
        self,
        address_of: Callable[[str], Awaitable[str]],
        *,
        per_host: int = 0,
        per_domain: int = 0,
        per_address: int = 0,
    ) -> None:
        self._address_of = address_of
        self._per_host = per_host
        self._per_domain = per_domain
        self._per_address = per_address
        self._queues: dict[str, _HostQueue] = {}

    @asynccontextmanager
    async def through(self, host: str, delay: float) -> AsyncIterator[None]:
        """One request to a host (with its port, if it has one), whose delay is so many seconds."""
        async with AsyncExitStack() as stack:
            # Always in this order: two requests never wait for each other.
            if self._per_host:
                queue = f"host {host}"
                await stack.enter_async_context(self._lane(queue, self._per_host, delay))
            if self._per_domain:
                queue = f"domain {registrable_domain(host)}"
                await stack.enter_async_context(self._lane(queue, self._per_domain, delay))
            if self._per_address:
                queue = f"address {await self._address_of(host)}"
                await stack.enter_async_context(self._lane(queue, self._per_address, delay))
            yield

    @asynccontextmanager
    async def _lane(self, name: str, most: int, delay: float) -> AsyncIterator[None]:
        clock = asyncio.get_running_loop().time
        if len(self._queues) >= _MANY and name not in self._queues:
            kept = {key: it for key, it in self._queues.items() if it.users or it.free_at > clock()}
            self._queues = kept
        queue = self._queues.setdefault(name, _HostQueue(asyncio.Semaphore(most)))
        queue.users += 1
        try:
            async with queue.room:
                if most == 1 and queue.free_at > clock():
                    await asyncio.sleep(queue.free_at - clock())
                try:
                    yield
                finally:
                    queue.free_at = max(queue.free_at, clock() + delay)
        finally:
            queue.users -= 1
