"""A document of any kind as the page that a crawl judges and follows."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

from spoor.documents.document import Document, Limits, Unreadable
from spoor.documents.errors import UnreadableError
from spoor.documents.extract import extract
from spoor.documents.kinds import as_html, tell
from spoor.setting import WITH_TEXT
from spoor.types import Link, Page
from spoor.web.page import MAX_LINKS, MAX_TEXT, Facts, parse, robots_flags
from spoor.web.sitemaps import date_in, dates_of
from spoor.web.urls import Joiner

LIMITS = Limits(characters=MAX_TEXT, links=MAX_LINKS)
MOST_TITLE = 2_000
"""Characters of a title, and of a description."""
_FEEDS = ("feed", "xml", "json")


def page_of(
    body: bytes,
    url: str,
    *,
    content_type: str = "",
    truncated: bool = False,
    robots: str = "",
    joiner: Joiner | None = None,
    main: bool = False,
    routes: bool = False,
    **facts: Unpack[Facts],
) -> Page:
    """As `spoor.web.page.parse`, for any kind of document. One without a body, or of a kind without
    text, is a page without words. `main`: with the main text, which takes some 10 ms more for HTML,
    and the dates that a feed gives its entries.

    Raises UnreadableError for one that cannot be read.
    """
    told = tell(body, content_type, url)
    if told.kind == "html" and body:
        page = parse(
            body,
            url,
            content_type=as_html(body, content_type),
            truncated=truncated,
            robots=robots,
            joiner=joiner,
            routes=routes,
            **facts,
        )
        return _with_main_text(page, body, content_type) if main else page
    document = Document(url, told.kind, told.media_type)
    if body and told.kind in WITH_TEXT:
        read = extract(content_type, url, body, LIMITS)
        if isinstance(read, Unreadable):
            more = "; it was cut off: see --type-limit" if truncated else ""
            raise UnreadableError(read.reason + more)
        document = read
    flags = {"not-html"} | robots_flags(robots)
    if truncated or any("cut" in note or "left out" in note for note in document.notes):
        flags.add("truncated")
    if told.kind == "feed" and document.links:
        flags.add("list")  # as any page that leads to documents and says a little of each
    dated = dates_of(body, url) if main and told.kind in _FEEDS else ()
    if main and (told.kind == "feed" or dated):
        flags.add("feed")
    elif main:
        dated = _published(document, url)
    return Page(
        url=url,
        content_type=document.media_type,
        title=document.title[:MOST_TITLE],
        headings=document.headings[:1_000],
        text=" ".join(document.text.split()),
        links=_followed(document, "nofollow" in flags),
        description=document.description[:MOST_TITLE],
        language=document.language,
        encoding="",
        flags=frozenset(flags),
        main=document.text if main else "",
        dated=dated,
        **facts,
    )


def _with_main_text(page: Page, body: bytes, content_type: str) -> Page:
    read = extract(content_type, page.url, body, replace(LIMITS, comments=False, articles=False))
    if isinstance(read, Unreadable):
        return replace(page, main="")
    return replace(page, main=read.text, dated=_published(read, page.url))


def _published(document: Document, url: str) -> tuple[tuple[str, float], ...]:
    date = date_in(document.date)
    return () if date is None else ((url, date),)


def _followed(document: Document, nofollow: bool) -> list[Link]:
    if not nofollow:
        return list(document.links)
    return [link._replace(anchor=link.anchor._replace(nofollow=True)) for link in document.links]
