"""What a crawl makes of each exchange: read here, in a thread, or by a helper in turns of sites."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from spoor.documents.page import page_of
from spoor.http.replies import helper_for, may_take_long, reply_of
from spoor.live.helper_turns import AGAIN, Helpers, HelperTurns, Parse
from spoor.turns import CrowdedError, SiteTimes
from spoor.types import Failed, Fetch, LiveReply, Page
from spoor.web.exchange import Exchange
from spoor.web.urls import Joiner, registrable_domain


class ReplyReader:
    """Reads replies beside the event loop in which it is made. `ratio_limit`: bytes that a byte of
    a body may unpack to. `wall` gives what is now, `time` the seconds by which sites are measured.
    """

    def __init__(
        self, ratio_limit: float, wall: Callable[[], float], time: Callable[[], float]
    ) -> None:
        self._ratio_limit = ratio_limit
        self._wall = wall
        self._joiner = Joiner()
        self._helpers = Helpers(time)
        self._here = HelperTurns(SiteTimes(time))
        """Of what takes long and needs no helper: threads compete for the interpreter, so one reads
        at a time."""

    async def read(self, fetch: Fetch, exchange: Exchange) -> LiveReply:
        """The reply that an exchange is. What takes long waits for its site's turn."""
        limit, now = self._ratio_limit, self._wall()
        helper = helper_for(exchange)
        if not (helper or may_take_long(exchange)):
            return reply_of(fetch.ticket, exchange, limit, self._joiner, now, page_of)
        # Others go on meanwhile; a joiner of its own, since this one is not for two threads.
        reply = partial(reply_of, fetch.ticket, exchange, limit, Joiner(), now)
        site = registrable_domain(fetch.host)

        def read(parse: Parse) -> LiveReply:
            return reply(parse=parse)

        try:
            if helper:
                return await self._helpers.read(helper, site, read)
            return await self._here.read(site, reply)
        except CrowdedError:
            reason = "the documents of its site take long, and others wait"
            status = exchange.status
            return Failed(fetch.ticket, "limit", reason, status, True, retry_after=AGAIN)

    def bare(self, ticket: int, exchange: Exchange) -> LiveReply:
        """The reply that an exchange is, whose document is not read."""

        def empty(body: bytes, url: str, **facts: object) -> Page:
            return Page(url)

        now = self._wall()
        return reply_of(ticket, exchange, self._ratio_limit, self._joiner, now, empty)

    def close(self) -> None:
        """End all turns."""
        self._helpers.close()
        self._here.close()
