"""Fetches robots.txt when `spoor.politeness` asks for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import aiohttp

from spoor.http.address_guard import BlockedAddressError
from spoor.http.client import Client, LimitError
from spoor.http.failures import failure
from spoor.http.host_queues import HostQueues
from spoor.politeness import RobotsCache, RobotsFetch, origin_of
from spoor.protocols import Engine
from spoor.types import Fetch
from spoor.web.robots import LIMIT, Rules
from spoor.web.urls import host


class RobotsFetcher:
    """Keeps `cache` up to date for a crawl, by requests that are as polite as those for pages."""

    def __init__(
        self,
        cache: RobotsCache,
        crawl: Engine,
        client: Client,
        queues: HostQueues,
        *,
        agent: str,
        clock: Callable[[], float],
    ) -> None:
        self.requests = 0
        self._cache = cache
        self._crawl = crawl
        self._client = client
        self._queues = queues
        self._agent = agent
        self._clock = clock
        self._locks: dict[str, asyncio.Lock] = {}

    async def rules(self, fetch: Fetch) -> Rules:
        """The rules of the URL's origin: fetched once, by whoever needs them first.

        With one request a host at a time nobody else can need them meanwhile; with more, each
        waits for the same answer. The host's delay passes before the page itself is asked for.
        """
        origin, now = origin_of(fetch.url), self._clock()
        known = self._cache.rules(origin, now)
        if known is not None:
            return known
        async with self._locks.setdefault(origin, asyncio.Lock()):
            known = self._cache.rules(origin, now)
            if known is not None:
                return known
            fetched = await self._fetch(origin, fetch.ticket)
            assert fetched.rules is not None
            rules = self._cache.store(origin, fetched.rules, self._clock(), fetched.reason)
        self._locks.pop(origin, None)
        hosts = self._crawl.frontier
        crawl_delay = self._cache.crawl_delay(rules)
        if crawl_delay is not None:
            hosts.pace(fetch.host, max(crawl_delay, hosts.delay(fetch.host)))
        if delay := hosts.delay(fetch.host):
            await asyncio.sleep(delay)
        return rules

    async def _fetch(self, origin: str, ticket: int) -> RobotsFetch:
        """Raises BlockedAddressError: what may not be connected to has no rules to wait for."""
        fetch = RobotsFetch(origin, self._agent)
        while fetch.rules is None:
            self.requests += 1
            name = host(fetch.url)
            try:
                async with self._queues.turn(ticket, name, self._crawl.frontier.delay(name)):
                    # One byte more, so that a file that was cut is known to be.
                    exchange = await self._client.get(fetch.url, self._clock(), limit=LIMIT + 1)
            except BlockedAddressError:
                raise
            except (aiohttp.ClientError, TimeoutError, OSError, LimitError, ValueError) as error:
                fetch.fail(failure(0, error).reason)
            else:
                fetch.reply(
                    exchange.status,
                    exchange.body,
                    location=exchange.header("Location"),
                    broken=exchange.truncated not in ("", "length"),
                )
        return fetch
