"""What one page in the browser asks for, and what it gets: every request is intercepted. The page
itself is answered with the reply that the crawl has, its scripts and data with what the given
`Load` returns, style sheets with nothing; all others are refused."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from spoor.web.exchange import Exchange, Requisite
from spoor.web.urls import MAX_LENGTH, canonical

if TYPE_CHECKING:
    from playwright.async_api import Request, Route

MOST_REQUESTS = 60
"""Of one page."""
MOST_HELD_BACK = 120
"""After so many requests of a page that were held back, all are: each may need a robots.txt."""
MOST_ASKED = 2_000
"""Requests of one page, images and styles too; the browser does not answer itself, so each further
one waits until its page is ended."""
MOST_BYTES = 32 << 20
"""That these bring, and as many where they are asked for again."""
_LOADED = frozenset({"script", "xhr", "fetch"})
"""Kinds of requests that are sent."""
_METHODS = frozenset({"GET", "HEAD"})
_SHOWN = frozenset({"image", "font", "manifest"})
_LEFT_OUT = _SHOWN | {"media", "texttrack"}
"""Kinds that a page is complete without, and those of them that it needs to be shown."""
MOST_NOTED = 1_000
"""URLs of what one page asked for that are noted, …"""
MOST_LETTERS = 1 << 18
"""… and their letters; …"""
MOST_OF_A_PATH = 10
"""… and of those for which scripts ask, those that differ in their query alone: a page that asks
how things stand does so again and again."""
MOST_LINKS = 2_000
"""Links of one page that clicks bring."""
_HEADERS = frozenset(
    "content-type access-control-allow-origin access-control-allow-credentials "
    "access-control-expose-headers x-total-count link etag last-modified".split()
)
"""Headers of replies that scripts may see; cookies are not among them."""
_SANDBOX = "sandbox " + " ".join(
    f"allow-{what}" for what in "forms modals popups same-origin scripts top-navigation".split()
)
"""What a page and its frames may do; not to download: what it makes itself would fill the disk of
temporary files, of which some stay for good; nor to start another program."""


class HeldBackError(Exception):
    """A request that the rules of the crawl forbid."""


Load = Callable[[str, str, str], Awaitable[Exchange]]
"""(URL, kind, page that asks) → the reply, by the rules of the crawl. Raises HeldBackError, and
what a request raises."""


@dataclass(slots=True)
class ClickedLinks:
    """The links of one page that clicks brought."""

    links: dict[str, str] = field(default_factory=dict)
    """URL → words of what was clicked, or of the link that came by it."""
    clicking: str = ""
    """Words of what is being clicked."""
    clicks: int = 0
    is_leaving: bool = False
    """Whether items are clicked: what the pages behind them need is not asked for."""

    def begin(self, words: str) -> None:
        """What has these words is clicked now."""
        self.clicking = words
        self.clicks += 1

    def led_to(self, url: str, words: str = "") -> None:
        """A click led to a URL, or would have."""
        if len(url) <= MAX_LENGTH and url.startswith("http") and len(self.links) < MOST_LINKS:
            self.links.setdefault(url, words or self.clicking)


@dataclass(slots=True)
class Visit:
    """One page in the browser, and what it asked for."""

    exchange: Exchange
    load: Load
    most: int
    end: Callable[[str], None] = lambda why: None
    """End it at once, and say why."""
    ended: str = ""
    opened: bool = False
    asked: int = 0
    requests: int = 0
    received: int = 0
    held_back: int = 0
    windows: int = 0
    answers: set[asyncio.Task[None]] = field(default_factory=set)
    """Requests that are being answered."""
    leads_to: list[str] = field(default_factory=list)
    """Where its scripts wanted to go."""
    letters: int = 0
    """Of what it asked for to be shown, so far."""
    needs: dict[str, Requisite] = field(default_factory=dict)
    """URL → what it asked for to be shown."""
    clicked: ClickedLinks = field(default_factory=ClickedLinks)
    data: dict[str, Exchange] = field(default_factory=dict)
    """URL → the reply to what its scripts asked for, for when they ask again; …"""
    again: int = 0
    """… and the bytes that they got so."""
    html: str | None = None
    """Its document, once it is complete; clicks may end the page afterwards."""
    by_path: Counter[str] = field(default_factory=Counter)
    """URL without its query → how much of that scripts asked for."""

    def note(self, url: str, *, style: bool = False, by_script: bool = False) -> None:
        """It needs a URL to be shown. One that is too long to be asked for takes no other's place,
        nor does one that is asked for again and again, be it with another query each time."""
        if not url.startswith("http") or len(url) > MAX_LENGTH:
            return
        with contextlib.suppress(ValueError):
            name = canonical(url)
            if name in self.needs or len(self.needs) >= MOST_NOTED:
                return
            if by_script:
                path = name.partition("?")[0]
                if self.by_path[path] >= MOST_OF_A_PATH:
                    return
                self.by_path[path] += 1
            self.letters += len(name)
            if self.letters <= MOST_LETTERS:
                self.needs[name] = Requisite(name, style, by_script)


async def answer(route: Route, visit: Visit) -> None:
    request = route.request
    url, kind = request.url, request.resource_type
    if request.is_navigation_request():
        if not visit.opened and url.partition("#")[0] == visit.exchange.url.partition("#")[0]:
            visit.opened = True
            await _fulfil(route, visit.exchange, {"content-security-policy": _SANDBOX})
            return
        # A frame is a link, and so is where a script or a click wants to go.
        if visit.clicked.clicking:
            visit.clicked.led_to(url)
        elif len(visit.leads_to) < 4 and request.frame.parent_frame is None:
            visit.leads_to.append(url)
        await route.abort("aborted")
        return
    if kind == "stylesheet":
        visit.note(url, style=True)
        await route.fulfill(status=200, content_type="text/css", body="")
        return
    if kind in _LEFT_OUT:
        if kind in _SHOWN:
            visit.note(url)
        await route.abort("blockedbyclient")
        return
    if _is_ahead(request) or (visit.clicked.is_leaving and kind != "script"):
        # Of the pages behind items no more is asked for than the scripts that lead there; the page
        # itself may need again what it had.
        known = visit.data.get(url)
        visit.again += 0 if known is None else len(known.body)
        if known is not None and visit.again <= MOST_BYTES:
            await _fulfil(route, known)
        else:
            await route.abort("blockedbyclient")
        return
    over = (
        visit.requests >= MOST_REQUESTS
        or visit.held_back >= MOST_HELD_BACK
        or visit.received > MOST_BYTES
    )
    if kind not in _LOADED or request.method not in _METHODS or over:
        visit.held_back += 1
        await route.abort("blockedbyclient")
        return
    visit.requests += 1
    try:
        reply = await visit.load(url, kind, visit.exchange.url)
    except HeldBackError:
        visit.requests -= 1
        visit.held_back += 1
        await route.abort("blockedbyclient")
        return
    if reply.status < 400:
        visit.note(url, by_script=True)
    visit.received += len(reply.body)
    if visit.received - len(reply.body) > MOST_BYTES:  # others came meanwhile
        visit.held_back += 1
        await route.abort("blockedbyclient")
        return
    if kind != "script":
        visit.data[url] = reply
    await _fulfil(route, reply)


def _is_ahead(request: Request) -> bool:
    """Whether a request says that it is for a page that may be visited next (`Sec-Purpose:
    prefetch` and the like); the page that it comes from may have the word in its address."""
    return any(
        "prefetch" in (f"{name} {value}" if "purpose" in name else name)
        for name, value in request.headers.items()
    )


async def _fulfil(
    route: Route, reply: Exchange, more: Mapping[str, str] = MappingProxyType({})
) -> None:
    headers = {
        name.lower(): value for name, value in reply.headers.items() if name.lower() in _HEADERS
    }
    await route.fulfill(status=reply.status, headers={**headers, **more}, body=reply.body)
