"""Any world over real HTTP on loopback, hosts by name (the Host header)."""

from __future__ import annotations

import asyncio
import hashlib
import html
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol

from aiohttp import web

from spoor.errors import InputError
from spoor.http.listening import listening
from spoor.protocols import World
from spoor.types import NO_PARENT, Choice, Failed, Fetch, Page, Redirected, Reply

FAULTS = ("404", "500", "429", "slow", "reset")

Source = Callable[[str], str | None]
"""URL → HTML, for a world that has its own; None where it has nothing."""


@dataclass(frozen=True, slots=True)
class Faults:
    """Share of the URLs that answer with a fault, by kind; which they are follows from a hash."""

    shares: Mapping[str, float] = field(default_factory=dict)
    slow_seconds: float = 5.0

    @classmethod
    def parse(cls, text: str) -> Faults:
        """`500=0.05,slow=0.01`. Raises InputError for another kind or a share outside [0, 1]."""
        shares: dict[str, float] = {}
        for part in filter(None, (part.strip() for part in text.split(","))):
            kind, _, share = part.partition("=")
            try:
                value = float(share)
            except ValueError:
                value = -1.0
            if kind not in FAULTS or not 0.0 <= value <= 1.0:
                have = ", ".join(FAULTS)
                raise InputError(f"fault {part!r} is not KIND=SHARE with KIND of {have}")
            shares[kind] = value
        return cls(shares)

    def of(self, url: str) -> str:
        """The fault of a URL; empty for none."""
        at = int.from_bytes(hashlib.blake2b(url.encode(), digest_size=8).digest(), "big") / 2**64
        for kind, share in self.shares.items():
            if at < share:
                return kind
            at -= share
        return ""


class Server:
    """Answers for every host of a world on one address and port.

    It speaks plain HTTP: pages recorded under https are served under http, their links too.
    """

    def __init__(
        self,
        world: World,
        *,
        source: Source | None = None,
        roots: Iterable[str] = (),
        robots: str = "",
        latency: float = 0.0,
        faults: Faults | None = None,
    ) -> None:
        self._world = world
        self._source = source
        self._roots = [plain(root) for root in roots]
        self._robots = robots
        self._latency = latency
        self._faults = faults or Faults()
        self.requests = 0
        self.port = 0

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """One request."""
        self.requests += 1
        if self._latency:
            await asyncio.sleep(self._latency)
        host, own = self._host(request.host)
        url = f"http://{host}{request.path_qs}"
        if request.path == "/robots.txt":
            status = 200 if self._robots else 404
            return web.Response(text=self._robots, status=status)
        if own and request.path == "/":
            return self._index()
        fault = self._faults.of(url)
        if fault == "slow":
            await asyncio.sleep(self._faults.slow_seconds)
        elif fault == "reset":
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=500)
        elif fault:
            headers = {"Retry-After": "1"} if fault == "429" else {}
            return web.Response(status=int(fault), text=fault, headers=headers)
        return self._document(url)

    def _host(self, name: str) -> tuple[str, bool]:
        """The host that is meant, and whether it is the server itself.

        A host named with our own port stands for the same host without it: links of recorded
        pages carry no port.
        """
        bare = name.removesuffix(f":{self.port}")
        own = bare in ("127.0.0.1", "localhost", "[::1]")
        return bare, own

    def _index(self) -> web.Response:
        items = "".join(
            f'<li><a href="{html.escape(root)}">{html.escape(root)}</a></li>'
            for root in self._roots
        )
        page = f"<!doctype html><title>Served web</title><h1>Roots of this web</h1><ul>{items}</ul>"
        return web.Response(text=page, content_type="text/html")

    def _document(self, url: str) -> web.Response:
        if self._source is not None:
            text = self._source(url)
            if text is None:
                return web.Response(status=404, text="not here")
            return web.Response(text=text, content_type="text/html", charset="utf-8")
        reply = self._answer(url)
        if isinstance(reply, Redirected) and plain(reply.location) == url:
            reply = self._answer(reply.location)
        if isinstance(reply, Redirected):
            return web.Response(status=reply.status, headers={"Location": plain(reply.location)})
        if isinstance(reply, Failed):
            return web.Response(status=reply.status or 404, text=reply.kind)
        page = reply.page
        if page.url.startswith("https:"):
            links = tuple(link._replace(url=plain(link.url)) for link in page.links)
            page = replace(page, links=links)
        kind = page.content_type.partition(";")[0].strip() or "text/html"
        if "html" not in kind:
            blank = _BLANK_PDF if kind == "application/pdf" else b""
            return web.Response(body=page.text.encode() or blank, content_type=kind)
        return web.Response(text=rebuild(page), content_type="text/html", charset="utf-8")

    def _answer(self, url: str) -> Reply:
        return self._world.answer(Fetch(0, url, "", Choice(NO_PARENT)))


def plain(url: str) -> str:
    """The same URL under http."""
    return f"http:{url.removeprefix('https:')}" if url.startswith("https:") else url


_BLANK_PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
    b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj\n"
    b"trailer<</Root 1 0 R/Size 4>>\n%%EOF"
)
"""For a PDF whose recording has no words: an empty body is no PDF."""


def rebuild(page: Page) -> str:
    """HTML that holds a recorded page's title, headings, text, and links with their words.

    The recording keeps no HTML: this page parses to the same links in the same order, each with
    its anchor and the words around it; the layout is not the original's.
    """
    escape = html.escape
    out = [
        f"<!doctype html><html><head><meta charset=utf-8><title>{escape(page.title)}</title>",
        f'<meta name=description content="{escape(page.description)}"></head><body>',
        *(f"<h1>{escape(heading)}</h1>" for heading in page.headings[:1]),
        f"<p>{escape(page.text)}</p>",
    ]
    above: tuple[str, ...] = page.headings[:1]
    for link in page.links:
        anchor = link.anchor
        if anchor.headings and anchor.headings != above:
            above = anchor.headings
            level = min(6, 1 + len(above))
            out.append(f"<h{level}>{escape(above[-1])}</h{level}>")
        rel = " rel=nofollow" if anchor.nofollow else ""
        out.append(
            f"<p>{escape(anchor.before)} "
            f'<a href="{escape(link.url)}"{rel}>{escape(anchor.text)}</a> '
            f"{escape(anchor.after)}</p>"
        )
    out.append("</body></html>")
    return "\n".join(out)


class Handler(Protocol):
    """Answers requests; `serving` sets its port."""

    port: int

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse: ...


@asynccontextmanager
async def serving(
    server: Handler, *, address: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[int]:
    """The server at work; yields its port. Only loopback addresses may be bound."""
    if address not in ("127.0.0.1", "::1", "localhost"):
        raise InputError(f"{address} is not a loopback address; pages are served on 127.0.0.1 only")
    async with listening(server.handle, address, port) as bound:
        server.port = bound
        yield bound
