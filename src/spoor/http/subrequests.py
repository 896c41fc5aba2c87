"""Requests of pages in a browser, by the rules of every other request of the crawl."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from itertools import count

from spoor.http.client import Client
from spoor.http.host_queues import HostQueues
from spoor.http.robots import RobotsFetcher, is_allowed
from spoor.politeness import REDIRECTS
from spoor.protocols import Politeness
from spoor.rendering.browser import HeldBackError
from spoor.types import NO_PARENT, Choice, Fetch
from spoor.web.exchange import Exchange
from spoor.web.urls import canonical, host

KEPT = 32 << 20
"""Bytes of replies that are kept for the next page: pages of one host have the same scripts."""
_LARGEST = 4 << 20
_HOPS = 5
_SCRIPTS_LAST = 3_600.0
"""Seconds that a watch keeps a script."""


class Subrequests:
    """Scripts and data for pages that are rendered.

    Each goes through `client`, so through the address guard and its limits; waits for its host's
    turn and delay in `queues`; and obeys robots.txt (`robots`: None for none). `in_scope` says
    which (URL, kind) may be asked for at all. Redirects are followed so too. `spend` counts a
    request to a host, and says whether it may be sent. Replies are kept for the next page;
    in a watch, which looks for what is new, scripts for an hour and data not at all.
    """

    def __init__(
        self,
        client: Client,
        queues: HostQueues,
        robots: RobotsFetcher | None,
        hosts: Politeness,
        spend: Callable[[str], bool],
        in_scope: Callable[[str, str], bool],
        wall: Callable[[], float],
        *,
        watched: bool = False,
    ) -> None:
        self._client = client
        self._queues = queues
        self._robots = robots
        self._hosts = hosts
        self._spend = spend
        self._in_scope = in_scope
        self._watched = watched
        self._wall = wall
        self._tickets = count(-2, -1)  # those of the crawl are positive
        self._kept: OrderedDict[str, Exchange] = OrderedDict()
        self._size = 0
        self.sent = 0
        """Requests so far."""

    async def load(self, url: str, kind: str) -> Exchange:
        """The reply to a request of a page. Raises HeldBackError, and as `Client.get` does."""
        first = url = canonical(url)
        known = self._kept.get(first)
        if known is not None and (not self._watched or self._wall() < known.began + _SCRIPTS_LAST):
            self._kept.move_to_end(first)
            return known
        for _ in range(_HOPS):
            reply = await self._get(url, kind)
            if reply.status not in REDIRECTS or "Location" not in reply.headers:
                break
            url = canonical(reply.header("Location"), url)
        lasts = kind == "script" or not self._watched
        if reply.status == 200 and not reply.truncated and lasts:
            self._keep(first, reply)
        return reply

    async def _get(self, url: str, kind: str) -> Exchange:
        if not self._in_scope(url, kind):
            raise HeldBackError(f"{host(url)} is out of scope")
        fetch = Fetch(next(self._tickets), url, host(url), Choice(NO_PARENT))
        if self._robots is not None:
            rules = await self._robots.rules(fetch)
            if not await is_allowed(rules, url):
                raise HeldBackError("robots.txt forbids it")
        if not self._spend(fetch.host):
            raise HeldBackError("the requests of today are spent")
        async with self._queues.turn(fetch.ticket, fetch.host, self._hosts.delay(fetch.host)):
            self.sent += 1
            return await self._client.get(url, self._wall())

    def _keep(self, url: str, reply: Exchange) -> None:
        if _weight(reply) > _LARGEST or "no-store" in reply.header("Cache-Control").lower():
            return
        before = self._kept.pop(url, None)
        self._size += _weight(reply) - (0 if before is None else _weight(before))
        self._kept[url] = reply
        while self._size > KEPT:
            _, oldest = self._kept.popitem(last=False)
            self._size -= _weight(oldest)


def _weight(reply: Exchange) -> int:
    """Bytes that a reply holds, about: its headers may have more than its body."""
    headers = sum(len(name) + len(value) for name, value in reply.headers.items())
    packed = 0 if reply.raw is reply.body else len(reply.raw)
    return 2_000 + len(reply.url) + len(reply.body) + packed + 2 * headers
