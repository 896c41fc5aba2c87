"""Requests of pages in a browser, by the rules of every other request of the crawl."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from contextlib import AsyncExitStack
from itertools import count

from spoor.http.client import Client
from spoor.http.host_queues import HostQueues
from spoor.http.robots import RobotsFetcher
from spoor.http.subrequest_queues import PartLines, is_own
from spoor.link_filter.scope import Scope
from spoor.politeness.robots import REDIRECTS
from spoor.protocols import Politeness
from spoor.rendering.visit import HeldBackError
from spoor.settings import Settings
from spoor.types import NO_PARENT, Choice, Fetch
from spoor.web.actions import PROOF, action
from spoor.web.exchange import Exchange
from spoor.web.robots import FORBIDDEN
from spoor.web.urls import canonical, host, origin, site

KEPT = 32 << 20
"""Bytes of replies that are kept for the next page: pages of one host have the same scripts."""
_LARGEST = 4 << 20
_HOPS = 5
_SCRIPTS_LAST = 3_600.0
"""Seconds that a watch keeps a script."""


_Key = tuple[str, str, str]
"""URL, origin that reads it (of data), and origin whose user it is for."""


class Subrequests:
    """Scripts and data for pages that are rendered.

    Each goes through `client`, so through the address guard and its limits; waits for its host's
    turn and delay in `queues`; and obeys robots.txt (`robots`: None for none). `in_scope` says
    which (URL, kind) may be asked for at all, `owns` which URLs are for this process to ask for:
    others do not wait in its queues. Redirects are followed so too. `spend` counts a request to a
    host, which a page of its own site asks for or not, and says whether it may be sent. What pages
    of other sites ask for waits in lines of its own where the host has a delay. Replies are kept
    for the next page; in a watch, which looks for what is new, scripts for an hour and data not at
    all.

    A page asks by the user's name (cookies, passwords) at its own origin; of another one of its
    site only for data, and only once a reply to nobody in particular says that it may (CORS), since
    what such a request does would be done before. It reads data of another origin only where that
    says so, also behind a redirect. The browser cannot see to that, since it knows neither the user
    nor the redirects.
    """

    def __init__(
        self,
        client: Client,
        queues: HostQueues,
        robots: RobotsFetcher | None,
        hosts: Politeness,
        spend: Callable[[str, bool], bool],
        in_scope: Callable[[str, str], bool],
        wall: Callable[[], float],
        *,
        watched: bool = False,
        owns: Callable[[str], bool] = lambda url: True,
    ) -> None:
        self._client = client
        self._queues = queues
        self._robots = robots
        self._hosts = hosts
        self._spend = spend
        self._in_scope = in_scope
        self._owns = owns
        self._watched = watched
        self._wall = wall
        self._tickets = count(-2, -1)  # those of the crawl are positive
        self._kept: OrderedDict[_Key, Exchange] = OrderedDict()
        self._size = 0
        self._lines = PartLines()
        self.sent = 0
        """Requests so far."""
        self.left_out = False
        """Whether a page lacks something that another shard asks for."""

    async def load(self, url: str, kind: str, page: str) -> Exchange:
        """The reply to a request of the page at `page`. Raises HeldBackError, and as `Client.get`
        does."""
        first = canonical(url)
        asker = "" if kind == "script" else origin(page)
        widest = origin if kind == "script" else site
        key = first, asker, origin(page) if self._is_users(first, page, widest) else ""
        known = self._kept.get(key)
        if known is not None and (not self._watched or self._wall() < known.began + _SCRIPTS_LAST):
            self._kept.move_to_end(key)
            return known
        reply, by_user = await self._followed(first, kind, page, asker, origin, page)
        if asker not in ("", origin(reply.url)):
            users_too = _is_open(reply, asker, by_user=True)
            if by_user and not users_too:
                reply, by_user = await self._followed(first, kind, "", asker, origin, page)
            elif key[2] and users_too and not by_user:
                reply, by_user = await self._followed(first, kind, page, asker, site, page)
                users_too = _is_open(reply, asker, by_user=True)
            if not (users_too if by_user else _is_open(reply, asker)):
                raise HeldBackError(f"{host(reply.url)} does not let other origins read it")
        lasts = kind == "script" or not self._watched
        if reply.status == 200 and not reply.truncated and lasts:
            self._keep((first, asker, origin(page) if by_user else key[2]), reply)
        return reply

    async def _followed(
        self, url: str, kind: str, user: str, asker: str, part: Callable[[str], str], page: str
    ) -> tuple[Exchange, bool]:
        """The reply behind redirects to a request of `page`, and whether any of it was asked for by
        the user's name: what is of the same `part` of the web as the page `user`."""
        by_user = False
        for _ in range(_HOPS):
            as_user = self._is_users(url, user, part)
            by_user = by_user or as_user
            reply = await self._get(url, kind, page, as_user, asker)
            if reply.status not in REDIRECTS or "Location" not in reply.headers:
                break
            url = canonical(reply.header("Location"), url)
        return reply, by_user

    def _is_users(self, url: str, page: str, part: Callable[[str], str]) -> bool:
        """Whether a URL is of the same `part` of the web as a page, and the user known there."""
        return bool(page) and part(url) == part(page) and self._client.knows_user(url)

    async def _get(self, url: str, kind: str, page: str, as_user: bool, asker: str) -> Exchange:
        if not self._in_scope(url, kind):
            raise HeldBackError(f"{host(url)} is out of scope")
        if not self._owns(url):
            self.left_out = True
            raise HeldBackError(f"{host(url)} is asked by another shard")
        fetch = Fetch(next(self._tickets), url, host(url), Choice(NO_PARENT))
        if self._robots is not None:
            _, allowed = await self._robots.ask(fetch)
            if not allowed:
                raise HeldBackError(FORBIDDEN)
        async with AsyncExitStack() as turns:
            if delay := self._hosts.delay(fetch.host):
                await turns.enter_async_context(self._lines.turn(page, fetch.host))
            if not self._spend(fetch.host, is_own(page, fetch.host)):
                raise HeldBackError("the requests of today are spent")
            await turns.enter_async_context(self._queues.turn(fetch.ticket, fetch.host, delay))
            self.sent += 1
            headers = (("Origin", asker),) if asker not in ("", origin(url)) else ()
            try:
                return await self._client.get(
                    url, self._wall(), headers=headers, as_user=as_user, ticket=fetch.ticket
                )
            finally:  # what the browser gets of it has a bound of its own
                self._client.room.leave(fetch.ticket)

    def _keep(self, key: _Key, reply: Exchange) -> None:
        if _weight(reply) > _LARGEST or "no-store" in reply.header("Cache-Control").lower():
            return
        before = self._kept.pop(key, None)
        self._size += _weight(reply) - (0 if before is None else _weight(before))
        self._kept[key] = reply
        while self._size > KEPT:
            _, oldest = self._kept.popitem(last=False)
            self._size -= _weight(oldest)


def _is_open(reply: Exchange, asker: str, *, by_user: bool = False) -> bool:
    """Whether a reply says that pages of another origin may read it."""
    allowed = reply.header("Access-Control-Allow-Origin").strip()
    if by_user:
        told = reply.header("Access-Control-Allow-Credentials").strip()
        return allowed == asker and told == "true"
    return allowed in ("*", asker)


def _weight(reply: Exchange) -> int:
    """Bytes that a reply holds, about: its headers may have more than its body."""
    packed = 0 if reply.raw is reply.body else len(reply.raw)
    return 2_000 + len(reply.url) + len(reply.body) + packed + 2 * reply.header_size


def scope_of_parts(settings: Settings) -> Callable[[str, str], bool]:
    """Whether a part of a rendered page may be asked for, by its URL and kind: a script may come
    from any host, data from the scope only. A page may be alone in scope, but its parts lie beside
    it. What the user excludes is asked for in no case, and what does something (`--actions`) no
    more than its links: a script needs no click."""
    wider = {"page": "host", "directory": "host", "list": "anywhere"}
    scope = wider.get(settings.scope, settings.scope)
    known = Scope.of(settings.seeds, scope, exclude=settings.exclude)

    def allows(url: str, kind: str) -> bool:
        does = action(url) not in ("", PROOF)
        if known.excludes(url) or (does and not settings.actions):
            return False
        return kind == "script" or url in known

    return allows
