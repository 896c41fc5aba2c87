"""Fetches what a site reserves, for whoever wants to know it (`--noai`)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import aiohttp

from spoor.http.client import Client, LimitError
from spoor.http.host_queues import HostQueues
from spoor.politeness.robots import origin_of
from spoor.process_memory import without_frames
from spoor.protocols import Politeness
from spoor.types import Fetch, Page
from spoor.web.page import RESERVED
from spoor.web.tdmrep import LIMIT, PATH, Reservations, parse
from spoor.web.urls import host

MOST_MEMORY = 32 << 20
"""Bytes of what all origins reserve, about."""
BESIDE = 200
"""Bytes that an origin takes beside."""


class ReservationFetcher:
    """The reservations of each origin, asked for once in a process, as politely as pages are. A
    file that cannot be had reserves nothing. A domain has names without end, each with a file of
    its own: beyond `MOST_MEMORY` those that were asked for first are forgotten, and asked for again
    where they are needed."""

    def __init__(
        self, client: Client, hosts: Politeness, queues: HostQueues, clock: Callable[[], float]
    ) -> None:
        self._client = client
        self._hosts = hosts
        self._queues = queues
        self._clock = clock
        self._known: dict[str, Reservations] = {}
        self._memory = 0
        """Of all that is known."""
        self._locks: dict[str, asyncio.Lock] = {}

    def in_page(self, page: Page) -> bool:
        """Whether a page itself asks not to be learned from."""
        return "noai" in page.flags or RESERVED in page.flags

    async def reserve(self, fetch: Fetch) -> bool:
        """Whether the URL of a fetch is reserved."""
        origin = origin_of(fetch.url)
        if (known := self._known.get(origin)) is None:
            async with self._locks.setdefault(origin, asyncio.Lock()):
                try:
                    if (known := self._known.get(origin)) is None:
                        known = await self._fetch(f"{origin}{PATH}", fetch)
                        self._keep(origin, known)
                finally:
                    self._locks.pop(origin, None)
        return known.reserve(fetch.url)

    def _keep(self, origin: str, reservations: Reservations) -> None:
        self._known[origin] = reservations
        self._memory += reservations.memory + BESIDE
        while self._memory > MOST_MEMORY:
            oldest = next(iter(self._known))
            self._memory -= self._known.pop(oldest).memory + BESIDE

    async def _fetch(self, url: str, fetch: Fetch) -> Reservations:
        name = host(url)
        try:
            async with self._queues.turn(fetch.ticket, name, self._hosts.delay(name)):
                exchange = await self._client.get(url, self._clock(), limit=LIMIT + 1)
        except (aiohttp.ClientError, TimeoutError, OSError, LimitError, ValueError) as error:
            without_frames(error)
            return Reservations()
        if delay := self._hosts.delay(fetch.host):
            await asyncio.sleep(delay)
        return parse(exchange.body) if exchange.status == 200 else Reservations()
