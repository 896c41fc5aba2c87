"""What a response means to the crawl: exchange → Reply."""

from __future__ import annotations

from collections.abc import Callable

from spoor.documents.errors import UnreadableError
from spoor.documents.kinds import tell
from spoor.durations import DAY
from spoor.isolate.parsing import helper_of, parse_page
from spoor.politeness.retry_after import retry_after
from spoor.politeness.robots import REDIRECTS
from spoor.setting import WITH_TEXT
from spoor.types import Failed, Fetched, LiveReply, NotModified, Page, Redirected
from spoor.web.dates import last_modified
from spoor.web.exchange import Exchange, Source, is_long_json
from spoor.web.freshness import fresh_for
from spoor.web.refusals import JAVASCRIPT, refusal, refusal_of_error
from spoor.web.urls import Joiner
from spoor.web.validators import is_conditional

LARGE = 64 << 10
"""Bytes of a body from which on its parsing takes 10 ms and more."""


def helper_for(exchange: Exchange) -> str:
    """Which helper process `reply_of` asks, as `spoor.isolate.parsing.helper_of` says."""
    if not 200 <= exchange.status < 300:
        return ""
    if exchange.sitemap:
        return "documents" if is_long_json(exchange.document, watched=exchange.watched) else ""
    of = (exchange.document, exchange.media_type, exchange.url)
    return helper_of(*of, main=exchange.watched)


def may_take_long(exchange: Exchange) -> bool:
    """Whether `reply_of`, though it asks no helper, may take longer than other requests should wait
    for it."""
    if not exchange.document and not 200 <= exchange.status < 300:
        return False
    return exchange.sitemap or exchange.watched or len(exchange.document) > LARGE


def reply_of(
    ticket: int,
    exchange: Exchange,
    ratio_limit: float,
    joiner: Joiner,
    now: float,
    parse: Callable[..., Page] = parse_page,
) -> LiveReply:
    """The reply that an exchange is. `now`: Unix seconds, for a Retry-After that is a date.
    `parse`: `spoor.documents.page.page_of` where it is known that it does not take long."""
    status, seconds = exchange.status, exchange.seconds
    if status in REDIRECTS:
        target = joiner.join(exchange.header("Location"), exchange.url)
        if target is None or "Location" not in exchange.headers:
            return Failed(ticket, "redirect", "to no fetchable URL", status, seconds=seconds)
        # As a browser does, which keeps the fragment.
        _, mark, route = exchange.url.partition("#")
        return Redirected(ticket, f"{target}{mark}{route}", status, seconds)
    if status == 304 and is_conditional(exchange.request_headers):
        return NotModified(ticket, seconds, _fresh_for(exchange))
    if not 200 <= status < 300:
        busy, reason = status in (429, 503), exchange.status_line
        if (why := refusal_of_error(status, exchange.headers, exchange.body)) is not None:
            return Failed(ticket, why.kind, f"{reason}: {why.reason}", status, seconds=seconds)
        wait = retry_after(exchange.header("Retry-After"), now) if busy else None
        if exchange.sitemap:  # no link of a page is broken
            reason = f"{reason} (a sitemap)"
        if wait == DAY:
            reason = f"{reason} (Retry-After names a day or more; asked again after a day)"
        return Failed(
            ticket,
            "absent" if status in (404, 410) else "http",
            reason,
            status,
            transient=busy or status >= 500 or status == 408,
            retry_after=wait,
            seconds=seconds,
        )
    if exchange.truncated == "ratio":
        reason = f"a decompression bomb: it grows more than {ratio_limit:g}-fold"
        return Failed(ticket, "limit", reason, status, seconds=seconds)
    if exchange.truncated == "encoding" and not exchange.body:
        encoding = exchange.header("Content-Encoding")[:80]
        reason = f"its Content-Encoding {encoding!r} cannot be undone"
        return Failed(ticket, "http", reason, status, seconds=seconds)
    if exchange.truncated in ("time", "disconnect") and not exchange.body:
        kind = "timeout" if exchange.truncated == "time" else "connection"
        return Failed(ticket, kind, "the body broke off", status, transient=True)
    if not exchange.body.strip() and not exchange.skipped:
        kind = tell(b"", exchange.header("Content-Type")).kind
        if kind in WITH_TEXT and kind != "html":
            return UnreadableError("it is empty").failed(ticket, status, seconds)
    try:
        page = Source.of(exchange, last_modified(exchange)).page(joiner, parse)
    except UnreadableError as error:
        return error.failed(ticket, status, seconds)
    return Fetched(ticket, page, seconds, len(exchange.document), _fresh_for(exchange))


def _fresh_for(exchange: Exchange) -> float:
    return fresh_for(exchange.headers) if exchange.watched else 0.0


def without_refusal(reply: LiveReply, exchange: Exchange, *, rendering: bool = False) -> LiveReply:
    """The reply; where its page was sent in place of a document (`spoor.web.refusals`), a failure
    that says so. `rendering`: a page without words until its scripts have run may still get them.
    """
    if not isinstance(reply, Fetched) or exchange.status != 200 or exchange.sitemap:
        return reply
    if "not-html" in reply.page.flags:
        return reply
    why = refusal(reply.page, exchange.headers, exchange.document)
    if why is None or (rendering and why is JAVASCRIPT):
        return reply
    return Failed(reply.ticket, why.kind, why.reason, 200, why.again, seconds=reply.seconds)
