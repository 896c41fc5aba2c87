"""The requests of one crawl over HTTP: each from its turn to its reply."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from spoor.bounded import REMEMBERED, BoundedDict, remember
from spoor.documents.kinds import Types, tell
from spoor.http.address_guard import AddressGuard
from spoor.http.client import Client
from spoor.http.failures import failure
from spoor.http.host_queues import NAMES_FIRST, HostQueues, PutOffError
from spoor.http.robots import RobotsFetcher
from spoor.http.subrequests import Subrequests, scope_of_parts
from spoor.live.broken_bodies import BrokenBodies
from spoor.live.queued_politeness import QueuedPoliteness
from spoor.live.renders import Renders
from spoor.politeness.request_limits import RequestLimits
from spoor.politeness.request_slots import RequestSlots
from spoor.politeness.robots import RobotsCache, origin_of
from spoor.settings import Settings
from spoor.types import UNREACHED, Failed, Fetch, Fetched, LiveReply, Page, Redirected
from spoor.web import search_answers, search_forms, search_index_readers, search_indexes, sitemaps
from spoor.web.encoding import encoding_of
from spoor.web.exchange import Exchange
from spoor.web.robots import ALLOW_ALL, DISALLOW_ALL, FORBIDDEN, Rules
from spoor.web.urls import canonical, host

if TYPE_CHECKING:
    from spoor.http.reservations import ReservationFetcher
    from spoor.live.reply_reader import ReplyReader


_SEARCHED = 1_000
"""Answers of searches of which it is known what was asked for."""
_READER = "spoor.live.reply_reader"
_NAMES_WAIT = 2.0
"""Seconds until a host comes again that was given up before its name was looked up."""


def loop_time() -> float:
    """Seconds by the clock of the event loop."""
    return asyncio.get_running_loop().time()


class PageRequests:
    """Makes the requests that a crawl chose, and those that go with them: for addresses,
    robots.txt, tdmrep.json, redirects of robots.txt, and parts of rendered pages.

    Made in the event loop. `hosts`, `slots`, `robots`, `broken`, `clock`, `wall`, `kept_cookies`,
    `renders` and `owns` are the driver's. `allows`: whether parts of rendered pages may be
    requested from a URL; `count` is called with the size of each body; `queries`: what the search
    of a site is asked for, none where it is asked for nothing.
    """

    def __init__(
        self,
        settings: Settings,
        hosts: QueuedPoliteness,
        slots: RequestSlots,
        robots: RobotsCache,
        broken: BrokenBodies,
        *,
        clock: Callable[[], float],
        wall: Callable[[], float],
        kept_cookies: Path | None,
        renders: Renders | None,
        owns: Callable[[str], bool],
        allows: Callable[[str], bool],
        count: Callable[[int], None],
        queries: Sequence[str] = (),
    ) -> None:
        self.settings = settings
        self._queries = queries
        self._hosts = hosts
        self._slots = slots
        self._robots = robots
        self._broken = broken
        self._clock = clock
        self._wall = wall
        self._renders = renders
        self._types = Types.of(settings)
        self._any_scheme = frozenset(settings.any_scheme)
        self._either = {host(url) for url in self._any_scheme}
        """Hosts of these of which https has brought nothing yet."""
        self._announced = BoundedDict[str, None](REMEMBERED)
        """Origins whose sitemaps the crawl knows."""
        self._listing = BoundedDict[str, None](REMEMBERED)
        """Hosts of which it knows a search index, or a search of their own."""
        self._searched: OrderedDict[int, str] = OrderedDict()
        """Ticket → what the search of a site was asked for, wherever it led then."""
        self._address_guard = AddressGuard(settings)
        self._client = Client(settings, self._address_guard, kept_cookies, count)
        self._made_reader: ReplyReader | None = None
        self._preparing: asyncio.Future[object] | None = None
        limits = RequestLimits(
            per_host=settings.per_host,
            per_domain=settings.per_domain,
            per_address=settings.per_address,
        )
        self._queues = HostQueues(limits, self._address_guard.addresses_of, slots)
        fetcher = RobotsFetcher(
            robots,
            hosts,
            self._client,
            self._queues,
            agent=settings.user_agent,
            clock=clock,
            owns=owns,
        )
        self._fetcher = fetcher if settings.robots else None
        self._reservations: ReservationFetcher | None = None
        if settings.noai:
            from spoor.http.reservations import ReservationFetcher

            self._reservations = ReservationFetcher(self._client, hosts, self._queues, clock)
        self._parts: Subrequests | None = None
        if renders is not None:
            scope = scope_of_parts(settings)
            self._parts = Subrequests(
                self._client,
                self._queues,
                self._fetcher,
                hosts,
                lambda host, own: hosts.spend(host, clock(), own=own),
                lambda url, kind: allows(url) and scope(url, kind),
                wall,
                watched=settings.command == "watch",
                owns=owns,
            )
            # A button of a site that knows its user may do something in their name.
            clicks = settings.actions or not self._client.names_user
            renders.open(self._parts.load, clicks=clicks)

    @property
    def _reader(self) -> ReplyReader:
        """What reads the replies: imported when there is one."""
        if self._made_reader is None:
            from spoor.live.reply_reader import ReplyReader

            self._made_reader = ReplyReader(self.settings.ratio_limit, self._wall, loop_time)
        return self._made_reader

    def _prepare_to_read(self) -> None:
        """Import what reads the replies while the first is waited for, in a thread."""
        if self._preparing is None:
            loop = asyncio.get_running_loop()
            self._preparing = loop.run_in_executor(None, import_module, _READER)

    @property
    def robots_requests(self) -> int:
        """Requests for robots.txt so far."""
        return 0 if self._fetcher is None else self._fetcher.requests

    @property
    def left_out_parts(self) -> bool:
        """Whether a rendered page lacks something that another shard asks for."""
        return self._parts is not None and self._parts.left_out

    def give_up(self) -> None:
        """End the requests that had their time, where others want their places."""
        self._queues.give_up()

    def received(self, ticket: int) -> None:
        """The body of this ticket's reply is no longer held in memory."""
        self._client.room.leave(ticket)

    async def close(self) -> None:
        """Close the connections, and the browser."""
        if self._made_reader is not None:
            self._made_reader.close()
        if self._renders is not None:
            await self._renders.close()
        await self._client.close()
        await self._address_guard.close()

    async def make(
        self, fetch: Fetch, headers: tuple[tuple[str, str], ...]
    ) -> tuple[LiveReply, Exchange | None]:
        """Make one request, with `headers` that may make it conditional. Returns the reply, and the
        exchange that is to be archived, if any."""
        reply: LiveReply
        exchange: Exchange | None = None
        try:
            await self._look_up(fetch)
            async with self._queues.visit(fetch.host, self._hosts.delay(fetch.host)) as visit:
                asked = await self._ask(fetch, headers)
            if visit.rest:
                self._hosts.hold(fetch.host, self._clock() + visit.rest)
            if isinstance(asked, Failed):
                reply = asked
            else:
                from spoor.http.replies import without_refusal

                exchange = asked
                with self._slots.reading(fetch.ticket, exchange.size):
                    reply = await self._reader.read(fetch, exchange)
                refusals, renders = self.settings.refusals, self._renders is not None
                if not refusals:
                    reply = without_refusal(reply, exchange, rendering=renders)
                if renders and isinstance(reply, Fetched):
                    exchange, reply = await self._rendered(fetch, exchange, reply)
                    reply = reply if refusals else without_refusal(reply, exchange)
                reserved = self._reservations
                if reserved and isinstance(reply, Fetched) and reserved.in_page(reply.page):
                    # It is not archived either: others learn from archives.
                    exchange = None
                    reply = Failed(fetch.ticket, "robots", "it asks not to be learned from (noai)")
        except PutOffError as error:
            # The link waits no longer than its host: what was not asked is not judged.
            self._hosts.hold(fetch.host, self._clock() + error.wait)
            reply = _later(fetch.ticket, error, 0.0)
        except Exception as error:
            reply = failure(fetch.ticket, error)
        if self._either:
            reply = self._by_any_scheme(fetch, reply, answered=exchange is not None)
        if exchange is not None and self._broken.asks_anew(exchange, reply):
            reason = "its body broke off, and what came before may be whole"
            status, exchange = exchange.status, None
            reply = Failed(fetch.ticket, "connection", reason, status, transient=True)
        if exchange is not None and isinstance(reply, Failed):
            reply = replace(reply, size=exchange.size)
        if exchange is not None and exchange.sitemaps and not isinstance(reply, Failed):
            self._announced[origin_of(exchange.url)] = None
        if exchange is not None and isinstance(reply, Fetched) and self._names_list(exchange):
            barred = self.settings.nofollow and "nofollow" in reply.page.flags
            if not barred:
                self._listing[host(exchange.url)] = None
        if self._renders is not None and (exchange is None or exchange.rendered is None):
            self._renders.forget(fetch)
        answered = not (isinstance(reply, Failed) and reply.unanswered)
        rest = self._slots.end(fetch.ticket, answered=answered)
        if rest:
            self._hosts.hold(fetch.host, self._clock() + rest)
        return reply, exchange

    def _by_any_scheme(self, fetch: Fetch, reply: LiveReply, *, answered: bool) -> LiveReply:
        """Where https brings nothing of a seed without a scheme, however often it is asked, and
        brought nothing of its host before, http is asked; nothing that its user is known by goes
        there (`spoor.http.credentials`). Where http leads back, https is what cannot be had."""
        scheme, _, rest = fetch.url.partition("://")
        secure = f"https://{rest}"
        if secure not in self._any_scheme or host(secure) not in self._either:
            return reply
        if scheme == "https" and answered:
            self._either.discard(host(secure))
        elif scheme == "https" and isinstance(reply, Failed) and reply.kind in UNREACHED:
            # A robots.txt that https does not bring makes nothing wait that http is asked for.
            return replace(reply, instead=f"http://{rest}", retry_after=None)
        elif scheme == "http" and isinstance(reply, Redirected) and reply.location == secure:
            reason = "https cannot be had, and http leads there"
            return Failed(fetch.ticket, "connection", reason, reply.status)
        return reply

    async def requisite(
        self, fetch: Fetch, headers: tuple[tuple[str, str], ...], *, as_user: bool
    ) -> tuple[LiveReply, Exchange | None, float]:
        """Request what a page needs to be shown, whatever its kind, by the rules of every page. As
        `make`, and the seconds for which its host was waited for, its delay left out where it
        answered; the page of its reply is empty. It holds no slot. `as_user`: by what the user is
        known by; else no cookie of its reply is kept either."""
        ticket, delay = fetch.ticket, self._hosts.delay(fetch.host)
        exchange: Exchange | None = None
        reply: LiveReply
        began, beside = loop_time(), 0.0
        try:
            async with self._queues.visit(fetch.host, delay) as visit:
                rules = await self._rules(fetch)
                beside = loop_time() - began - self._hosts.delay(fetch.host)
                if isinstance(rules, Failed):
                    return rules, None, max(0.0, beside)
                async with self._queues.turn(ticket, fetch.host, self._hosts.delay(fetch.host)):
                    exchange = await self._client.get(
                        fetch.url,
                        self._wall(),
                        headers=headers,
                        as_user=as_user,
                        takes_cookies=as_user,
                        ticket=ticket,
                    )
            if visit.rest:
                self._hosts.hold(fetch.host, self._clock() + visit.rest)
            if 200 <= exchange.status < 300 and not exchange.truncated:  # it may be empty
                page = Page(fetch.url, exchange.status)
                reply = Fetched(ticket, page, exchange.seconds, len(exchange.body))
            else:
                reply = self._reader.bare(ticket, exchange)
        except PutOffError as error:
            reply = _later(ticket, error, error.wait)
        except Exception as error:
            reply = failure(ticket, error)
        if exchange is None:
            return reply, None, loop_time() - began
        return reply, exchange, max(0.0, beside) + exchange.seconds

    async def _rendered(
        self, fetch: Fetch, exchange: Exchange, plain: Fetched
    ) -> tuple[Exchange, LiveReply]:
        """The exchange and reply of a page after rendering, where rendering pays."""
        assert self._renders is not None
        renders, reply = self._renders, plain
        exchange = await renders.rendered(fetch, exchange, plain.page)
        rendered = exchange.rendered
        if exchange.document is not exchange.body and rendered is not None:
            with self._slots.reading(fetch.ticket, exchange.size):
                made = await self._reader.read(fetch, exchange)
            if isinstance(made, Fetched) and renders.keeps(plain.page, made.page):
                return exchange, made
            why = made.reason if isinstance(made, Failed) else "it brings nothing"
            rendered = replace(rendered, html=b"", failed=why)
            exchange = replace(exchange, rendered=rendered)
        if renders.needs(plain.page.url):
            why = "there is no browser" if rendered is None else rendered.failed
            return exchange, Failed(fetch.ticket, "limit", f"it cannot be rendered: {why}", 200)
        return exchange, reply

    async def _look_up(self, fetch: Fetch) -> None:
        """Look up the host's address; as that may take long, the request holds no slot then."""
        if not self._address_guard.knows(fetch.host):
            try:
                async with self._queues.look_up(fetch.ticket, self.settings.connect_timeout):
                    await self._address_guard.look_up(fetch.host)
            except TimeoutError:
                if not self._address_guard.waits(fetch.host):
                    raise
                raise PutOffError(NAMES_FIRST, _NAMES_WAIT) from None

    async def _ask(self, fetch: Fetch, headers: tuple[tuple[str, str], ...]) -> Failed | Exchange:
        """Request a page; returns the exchange, or why it was not requested."""
        rules = await self._rules(fetch)
        return rules if isinstance(rules, Failed) else await self._get(fetch, rules, headers)

    async def _rules(self, fetch: Fetch) -> Failed | Rules:
        """The rules of a URL's origin; or why it may not be requested."""
        rules, allowed = ALLOW_ALL, True
        if self._fetcher is not None:
            rules, allowed = await self._fetcher.ask(fetch)
            self._prepare_to_read()
            if rules is not DISALLOW_ALL and self._either and fetch.url.startswith("https:"):
                self._either.discard(host(fetch.url))
        if rules is DISALLOW_ALL:
            origin = origin_of(fetch.url)
            kind, reason = self._robots.failure(origin)
            why = f"robots.txt could not be had ({reason}), so all is forbidden"
            return Failed(
                fetch.ticket,
                kind,
                f"{reason}, when asked for robots.txt" if kind in UNREACHED else why,
                transient=True,
                retry_after=self._robots.wait(origin, self._clock()),
            )
        if not allowed:
            return Failed(fetch.ticket, "robots", FORBIDDEN)
        if reason := self._robots.too_slow(rules):
            return Failed(fetch.ticket, "robots", f"{reason} (--max-crawl-delay)")
        if self._reservations is not None and await self._reservations.reserve(fetch):
            return Failed(fetch.ticket, "robots", "its site reserves it in tdmrep.json (--noai)")
        return rules

    async def _get(
        self, fetch: Fetch, rules: Rules, headers: tuple[tuple[str, str], ...]
    ) -> Failed | Exchange:
        """Request a page, or a list of pages. The exchange of an origin's first page that can be
        read also names the origin's sitemaps, and that of a host's first page that has a search
        index, or a search, names that."""
        is_sitemap = fetch.choice.why == sitemaps.WHY
        is_index = fetch.choice.why == search_indexes.WHY
        is_search = fetch.choice.why == search_answers.WHY
        watched, again = self.settings.command == "watch", bool(self.settings.refresh)
        if is_search and fetch.attempt == 1:  # later ones of another process may be redirects
            remember(self._searched, fetch.ticket, fetch.url, _SEARCHED)
        types = None if is_sitemap or is_index else self._types
        async with self._queues.turn(fetch.ticket, fetch.host, self._hosts.delay(fetch.host)):
            exchange = await self._client.get(
                fetch.url,
                self._wall(),
                types=types,
                headers=headers,
                progress=partial(self._slots.bring, fetch.ticket),
                ticket=fetch.ticket,
                watched=watched or (again and is_sitemap),
            )
        if is_sitemap or (is_index and search_index_readers.is_index(exchange.body)):
            return replace(exchange, sitemap=True)
        read = 200 <= exchange.status < 300
        if is_search and read:
            first = self._searched.get(fetch.ticket, "")
            answers = search_answers.asked_for(exchange.url, self._queries, first)
            if exchange.url == first and not search_answers.asked_for(first, self._queries):
                answers = next(iter(self._queries), "")  # an answer led to it by itself
            return replace(exchange, answers=answers)
        if is_index and read and not self._is_page(exchange):
            return Failed(fetch.ticket, "unreadable", "it is no search index", exchange.status)
        lists = list[str]()
        origin = origin_of(exchange.url)
        there = read or exchange.status == 304
        wanted = self.settings.sitemaps or watched or again
        if there and origin not in self._announced:
            if wanted or self.settings.search_index:
                lists += [canonical(url) for url in rules.sitemaps[: sitemaps.MAX_SITEMAPS]]
            if wanted and not lists:
                lists.append(f"{origin}/sitemap.xml")
        searches = list[str]()
        if there and not (watched or again or host(exchange.url) in self._listing):
            index = self._search_index(exchange)
            lists += index
            searches += [] if index else self._searches(exchange)
        if lists or searches:
            exchange = replace(exchange, sitemaps=tuple(lists), searches=tuple(searches))
        return exchange

    def _is_page(self, exchange: Exchange) -> bool:
        """Whether what came in place of a search index is a page, to which it redirects: else a
        server could have one read that is out of scope."""
        told = tell(exchange.body, exchange.media_type, exchange.url)
        return told.kind == "html" and search_indexes.kind_of(exchange.url) != "index"

    def _search_index(self, exchange: Exchange) -> list[str]:
        """That which a page names, where it is of its host."""
        if not self.settings.search_index:
            return []
        index = search_indexes.named_in(exchange.document, exchange.url)
        return [index] if index and host(index) == host(exchange.url) else []

    def _searches(self, exchange: Exchange) -> list[str]:
        """What the site's search answers, where a page of HTML in UTF-8 has a form for it."""
        document, url = exchange.document, exchange.url
        searches = search_forms.searches_in(document, url, self._queries)
        if searches and self.settings.nofollow and search_forms.is_not_followed(document):
            return []
        if not searches or encoding_of(document, exchange.media_type) != "utf-8":
            return []
        return searches if tell(document, exchange.media_type, url).kind == "html" else []

    @staticmethod
    def _names_list(exchange: Exchange) -> bool:
        kinds = map(search_indexes.kind_of, exchange.sitemaps)
        return bool(exchange.searches) or "index" in kinds


def _later(ticket: int, error: PutOffError, wait: float) -> Failed:
    """A request that other requests put off."""
    return Failed(ticket, "later", str(error), transient=True, retry_after=wait)
