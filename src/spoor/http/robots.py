"""Fetches robots.txt when `spoor.politeness` asks for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

import aiohttp

from spoor.bounded import BoundedDict
from spoor.http.address_guard import BlockedAddressError
from spoor.http.client import Client, LimitError
from spoor.http.failures import failure
from spoor.http.host_queues import HostQueues
from spoor.politeness.robots import REDIRECTS, RobotsCache, RobotsFetch, origin_of
from spoor.protocols import Politeness
from spoor.types import UNREACHED, Fetch
from spoor.web.robots import LIMIT, Rules
from spoor.web.urls import domain_of, host, plain, registrable_domain

_LONG = 8 << 10
"""Bytes of a robots.txt from which on it is parsed in a thread."""
_AT_A_TIME = 2
"""Of these, which take some 20 MB each meanwhile."""
MOST_FOR_OTHERS = 8
"""Origins of a domain whose robots.txt may redirect to a host of another one. Who has names without
end would else take its turns; all is forbidden at the others, as where none can be had."""
MOST_FOR_SHARDS = 1
"""The same where another shard asks that host, by a clock of its own; and there it may be so for
`MOST_FOR_OTHERS` domains."""
_PAIRS = 50_000
"""Domains and hosts to which they lead of which this is known."""
_MANY = 200
"""Lines of one from which on it is asked in a thread."""


async def is_allowed(rules: Rules, url: str) -> bool:
    """As `rules.allowed`, beside the loop where it takes long."""
    url = plain(url)
    if rules.size > _MANY:
        return await asyncio.to_thread(rules.allowed, url)
    return rules.allowed(url)


class RobotsFetcher:
    """Keeps `cache` up to date for a crawl, whose politeness is `hosts`, by requests that are as
    polite as those for pages. `owns`: which URLs are for this process to ask for."""

    def __init__(
        self,
        cache: RobotsCache,
        hosts: Politeness,
        client: Client,
        queues: HostQueues,
        *,
        agent: str,
        clock: Callable[[], float],
        owns: Callable[[str], bool] = lambda url: True,
    ) -> None:
        self.requests = 0
        self._cache = cache
        self._hosts = hosts
        self._client = client
        self._queues = queues
        self._agent = agent
        self._clock = clock
        self._owns = owns
        self._locks: dict[str, asyncio.Lock] = {}
        self._turns = asyncio.Semaphore(_AT_A_TIME)
        self._leading = BoundedDict[tuple[str, str], set[str]](_PAIRS)
        """(domain, host of another one) → origins of it whose robots.txt leads there; under no
        domain: the domains."""

    async def ask(self, fetch: Fetch) -> tuple[Rules, bool]:
        """What the rules of the URL's origin say beside their patterns, and whether they allow the
        URL: fetched once, by whoever needs them first. Whoever waits holds no rules, which may be
        long.

        With one request a host at a time nobody else can need them meanwhile; with more, each
        waits for the same answer. The host's delay passes before the page itself is asked for, if
        it may be.
        """
        origin, now = origin_of(fetch.url), self._clock()
        if (known := self._cache.rules(origin, now)) is not None:
            return known.head, await is_allowed(known, fetch.url)
        async with self._alone(origin):
            if (known := self._cache.rules(origin, now)) is not None:
                return known.head, await is_allowed(known, fetch.url)
            async with AsyncExitStack() as turn:
                fetched = await self._fetch(origin, fetch.ticket, turn)
                assert fetched.rules is not None
                known = self._cache.store(
                    origin, fetched.rules, self._clock(), fetched.reason, fetched.kind
                )
                told = known.head, await is_allowed(known, fetch.url)
                del known, fetched
        hosts = self._hosts
        crawl_delay = self._cache.crawl_delay(told[0])
        if crawl_delay is not None:
            hosts.pace(fetch.host, max(crawl_delay, hosts.delay(fetch.host)))
        if told[1] and (delay := hosts.delay(fetch.host)):
            await asyncio.sleep(delay)
        return told

    @asynccontextmanager
    async def _alone(self, origin: str) -> AsyncIterator[None]:
        """One after the other; whoever has waited finds what the first one stored."""
        try:
            async with self._locks.setdefault(origin, asyncio.Lock()):
                yield
        finally:
            self._locks.pop(origin, None)

    def _may_lead(self, origin: str, url: str) -> bool:
        """Whether the robots.txt of an origin may be one at this URL. One that was may be again."""
        name, domain = host(url), domain_of(origin)
        if registrable_domain(name) == domain:
            return True
        owned = self._owns(url)
        rooms = [((domain, name), origin, MOST_FOR_OTHERS if owned else MOST_FOR_SHARDS)]
        if not owned:
            rooms.append((("", name), domain, MOST_FOR_OTHERS))
        for key, one, most in rooms:
            leading = self._leading.get(key) or set()
            if one not in leading and len(leading) >= most:
                return False
            self._leading[key] = leading | {one}
        return True

    async def _fetch(self, origin: str, ticket: int, turn: AsyncExitStack) -> RobotsFetch:
        """One that is long is parsed once it has its `turn`. Raises BlockedAddressError: what may
        not be connected to has no rules to wait for."""
        fetch = RobotsFetch(origin, self._agent)
        while fetch.rules is None:
            name = host(fetch.url)
            if not self._may_lead(origin, fetch.url):
                fetch.fail(f"it leads to {name}, as those of others do")
                break
            self.requests += 1
            try:
                async with self._queues.turn(ticket, name, self._hosts.delay(name)):
                    # One byte more, so that a file that was cut is known to be.
                    exchange = await self._client.get(fetch.url, self._clock(), limit=LIMIT + 1)
            except BlockedAddressError:
                raise
            except (aiohttp.ClientError, TimeoutError, OSError, LimitError, ValueError) as error:
                failed = failure(0, error)
                unreached = failed.kind in UNREACHED
                fetch.fail(failed.reason, failed.kind if unreached else "robots")
            else:
                reply = partial(
                    fetch.reply,
                    exchange.status,
                    exchange.body,
                    location=exchange.header("Location"),
                    broken=exchange.truncated not in ("", "length"),
                )
                if len(exchange.body) > _LONG and exchange.status not in REDIRECTS:
                    await turn.enter_async_context(self._turns)
                    await asyncio.to_thread(reply)
                else:
                    reply()
        return fetch
