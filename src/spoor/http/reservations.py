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


class ReservationFetcher:
    """The reservations of each origin, asked for once in a process, as politely as pages are. A
    file that cannot be had reserves nothing."""

    def __init__(
        self, client: Client, hosts: Politeness, queues: HostQueues, clock: Callable[[], float]
    ) -> None:
        self._client = client
        self._hosts = hosts
        self._queues = queues
        self._clock = clock
        self._known: dict[str, Reservations] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    def in_page(self, page: Page) -> bool:
        """Whether a page itself asks not to be learned from."""
        return "noai" in page.flags or RESERVED in page.flags

    async def reserve(self, fetch: Fetch) -> bool:
        """Whether the URL of a fetch is reserved."""
        origin = origin_of(fetch.url)
        async with self._locks.setdefault(origin, asyncio.Lock()):
            if origin not in self._known:
                self._known[origin] = await self._fetch(f"{origin}{PATH}", fetch)
        return self._known[origin].reserve(fetch.url)

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
