"""One request and its reply, and the page that is made of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from http.client import responses
from typing import Any, NamedTuple

from multidict import CIMultiDictProxy

from spoor.types import Anchor, Link, Page
from spoor.web import search_answers, search_index_readers, search_indexes, sitemaps
from spoor.web.media_types import media_of
from spoor.web.urls import Joiner

MIB = 1 << 20

RENDERED_TYPE = "text/html; charset=utf-8"
"""Of a rendered document."""


class Requisite(NamedTuple):
    """What a page needs to be shown."""

    url: str
    style: bool = False
    """It is a style sheet."""
    by_script: bool = False
    """A script is it, or asked for it as data: so, of another origin, it is asked for by nobody's
    name."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """What a browser made of a page."""

    html: bytes
    """Its document after its scripts ran, as UTF-8; empty where that failed."""
    seconds: float
    requests: int = 0
    """Sent for its scripts and data."""
    received: int = 0
    """Bytes of their bodies."""
    held_back: int = 0
    """Requests of the page that the rules of the crawl forbid."""
    failed: str = ""
    """Why there is no document."""
    why: str = ""
    """Why it was rendered."""
    asked: tuple[Requisite, ...] = ()
    """What it asked for to be shown, what its scripts asked for included."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """What went over the wire for one request; what an archive records."""

    url: str
    status: int
    reason: str
    request_headers: tuple[tuple[str, str], ...]
    headers: CIMultiDictProxy[str]
    raw: bytes
    """Body as received, chunking undone."""
    body: bytes
    """Body decompressed; empty where the crawl does not read its media type."""
    began: float
    """By the driver's clock."""
    seconds: float
    truncated: str = ""
    """Why it was cut: `length`, `ratio`, `time`, `encoding`, `disconnect`; empty if complete."""
    skipped: bool = False
    """The body was not requested."""
    sitemap: bool = False
    """The request was for a sitemap."""
    sitemaps: tuple[str, ...] = ()
    """Sitemaps of its host, where this is the first page fetched from it, and a search index that
    it is the first to name."""
    searches: tuple[str, ...] = ()
    """Answers of its site's search to what is wanted, where it is the first page that has one."""
    answers: str = ""
    """What the site's search was asked for, of an answer."""
    watched: bool = False
    """A watch asked: the main text is read too, and the dates of entries."""
    rendered: Rendered | None = None
    """None where no browser was asked."""
    plain: bool = True
    """Whether `raw` gives `body` whoever undoes its encoding, and in whatever pieces."""

    @property
    def document(self) -> bytes:
        """What the page is made of: the rendered document, where there is one, or the body."""
        return self.body if self.rendered is None or not self.rendered.html else self.rendered.html

    @property
    def size(self) -> int:
        """Bytes of its bodies: as received, decompressed, and rendered."""
        bodies = {id(one): len(one) for one in (self.raw, self.body, self.document)}
        return sum(bodies.values())

    @property
    def header_size(self) -> int:
        """Characters of its reply's headers."""
        return sum(len(name) + len(value) for name, value in self.headers.items())

    @property
    def media_type(self) -> str:
        """The Content-Type of `document`."""
        return self.header("Content-Type") if self.document is self.body else RENDERED_TYPE

    def header(self, name: str) -> str:
        """The values of a header as text, joined by commas; empty where there is none."""
        return _text(",".join(self.headers.getall(name, ())))

    @property
    def status_line(self) -> str:
        """The status and what the standard calls it. The server's own words, which may be anything,
        stand in the archive alone."""
        return f"{self.status} {responses.get(self.status, '')}".strip()


def _text(received: str) -> str:
    """Text of a response head. Bytes that are no UTF-8 are surrogates in it, which neither files
    nor databases accept; they are replaced."""
    return received.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


_LONG_JSON = 1 << 16
"""Bytes of JSON that take a millisecond."""

READ_OF_ENDLESS = 1 << 18
"""Bytes that are read of a body of more than a MiB that was cut: who sends without end shall not
cost a crawl more than others do."""


def _robots(exchange: Exchange) -> str:
    said = exchange.header("X-Robots-Tag")
    if exchange.headers.get("TDM-Reservation", "").strip() == "1":
        return f"{said},tdm-reserved" if said else "tdm-reserved"
    return said


_PACKED = (b"%PDF-", b"PK")
"""What a PDF and a zip file begin with; a part of them is as costly to read as the whole, or cannot
be read."""


def is_long_json(body: bytes, *, watched: bool) -> bool:
    """Whether a sitemap or feed is read in a helper: JSON, of which the dates are taken. Python
    reads a text of JSON in one piece, also in a thread, so that nobody else goes on meanwhile."""
    return watched and len(body) > _LONG_JSON and sitemaps.is_json(body)


@dataclass(frozen=True, slots=True)
class Source:
    """All that a page is made of: the same source gives the same page."""

    url: str
    body: bytes
    content_type: str
    status: int
    fetched_at: float
    truncated: bool
    robots: str
    """X-Robots-Tag; with it, where TDMRep reserves the page, the word for that."""
    modified: float | None
    sitemap: bool = False
    sitemaps: Sequence[str] = ()
    searches: Sequence[str] = ()
    answers: str = ""
    watched: bool = False
    rendered: bool = False
    """A browser made it."""

    @classmethod
    def of(cls, exchange: Exchange, modified: float | None) -> Source:
        return cls(*cls.values(exchange, modified))

    @staticmethod
    def values(exchange: Exchange, modified: float | None) -> list[Any]:
        """Of its fields, in their order."""
        return [
            exchange.url,
            exchange.document,
            exchange.media_type,
            exchange.status,
            exchange.began,
            bool(exchange.truncated),
            _robots(exchange),
            modified,
            exchange.sitemap,
            exchange.sitemaps,
            exchange.searches,
            exchange.answers,
            exchange.watched,
            exchange.document is not exchange.body,
        ]

    def page(self, joiner: Joiner, parse: Callable[..., Page]) -> Page:
        """The page; `parse` is `spoor.web.page.parse`, or does the same under limits
        (`spoor.isolate.parsing.parse_page`, which a sitemap and a feed need)."""
        if self.sitemap:
            dated: tuple[tuple[str, float], ...] = ()
            if search_index_readers.is_index(self.body):
                links = search_index_readers.links_of(self.body, self.url)
            elif is_long_json(self.body, watched=self.watched):
                links = sitemaps.links_of(self.body, self.url)
                dated = parse(self.body, self.url, dates=True).dated
            elif self.watched:
                links, dated = sitemaps.links_and_dates_of(self.body, self.url)
            else:
                links = sitemaps.links_of(self.body, self.url)
            return Page(
                self.url,
                self.status,
                media_of(self.content_type),
                links=links,
                flags=frozenset({"sitemap", "not-html"}),
                fetched_at=self.fetched_at,
                dated=dated,
            )
        packed = self.body.startswith(_PACKED)
        endless = self.truncated and len(self.body) > MIB and not packed
        page = parse(
            self.body[:READ_OF_ENDLESS] if endless else self.body,
            self.url,
            content_type=self.content_type,
            status=self.status,
            fetched_at=self.fetched_at,
            modified=self.modified,
            truncated=self.truncated,
            robots=self.robots,
            joiner=joiner,
            **({"main": True} if self.watched else {}),
            **({"routes": True} if self.rendered else {}),
        )
        if self.answers:
            return search_answers.answer_of(page, self.answers)
        lists = [(url, search_indexes.kind_of(url)) for url in self.sitemaps]
        lists += [(url, search_answers.KIND) for url in self.searches]
        if lists:
            page = replace(page, links=[*page.links, *(Link(to, Anchor(), of) for to, of in lists)])
        return page
