"""Documents of strangers as pages, in bounded time and memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from spoor.documents.document import Document, Unreadable
from spoor.documents.errors import UnreadableError
from spoor.documents.kinds import as_html, tell
from spoor.documents.page import page_of as read_page
from spoor.documents.rows import (
    dates_row_of,
    document_row_of,
    page_row_of,
    plain_row_of,
    revive_document,
)
from spoor.isolate.bounds import DOCUMENT, PAGE, Bounds
from spoor.isolate.child import page_of
from spoor.isolate.helper import NO_PAGE, GivenUpError, KilledError, LateError
from spoor.isolate.helper_pool import bounded, check_size
from spoor.learn.state import revive_page
from spoor.setting import WITH_TEXT
from spoor.types import Failed, Fetched, Page
from spoor.web.page_links import PageLinks
from spoor.web.parse_cost import may_cost_much
from spoor.web.urls import Joiner

BRIEF = 1.0
"""Seconds of processor time of a first look at a document."""

SHORT = 1 << 12
"""A text of at most this many bytes is read in this process."""

AGAIN = 10
"""Factor of the limits for a document that was parsed before: a resumed run must not give up a
document that it could read the first time."""


class TakesLongError(Exception):
    """A document that took more time than a first look allows; `parse_page` may be called again."""


def parse_page(
    body: bytes,
    url: str,
    *,
    joiner: Joiner | None = None,
    again: bool = False,
    slow: bool = False,
    brief: bool = False,
    dates: bool = False,
    **facts: Any,
) -> Page:
    """As `spoor.documents.page.page_of`, in bounded time and memory whatever the document holds.

    `facts` are the keywords of that function. `again`: it was parsed before, and gets `AGAIN` times
    the limits. `slow`: use the helper for sites whose documents take long. `brief`: raise
    TakesLongError for a document that takes more than `BRIEF` seconds. `dates`: read only those
    that a feed gives. Raises UnreadableError, of which GivenUpError is a subclass. A helper costs
    some ms more. HTML whose main text would cost more is all of its text.
    """
    check_size(len(body))
    parser, bounds = _parser(body, facts.get("content_type", ""), url)
    in_vain = facts | {"main": False} if parser is page_of and facts.get("main") else None
    if parser is not None and facts.get("main"):
        parser, bounds = page_row_of, DOCUMENT
    if dates:
        parser, bounds, in_vain = dates_row_of, DOCUMENT, None
    if parser is None:
        return read_page(body, url, joiner=joiner, **facts)
    if parser is page_of:
        facts["content_type"] = as_html(body, facts.get("content_type", ""))
    told = {key: sorted(v) if isinstance(v, frozenset) else v for key, v in facts.items()}
    times = AGAIN if again else 1
    brief = brief and bounds is not PAGE
    if brief:
        bounds = bounds._replace(seconds=BRIEF)
    try:
        row = bounded(parser, body, {"url": url, **told}, times=times, bounds=bounds, slow=slow)
    except GivenUpError as error:
        if brief and isinstance(error, LateError):
            raise TakesLongError from error
        if in_vain is None or isinstance(error, KilledError):
            raise
        page = parse_page(body, url, joiner=joiner, again=again, slow=slow, **in_vain)
        return replace(page, main=page.text)
    try:
        if "unreadable" in row:
            raise UnreadableError(str(row["unreadable"]))
        if not isinstance(row["links"], dict):
            return revive_page(row)
        words = row["text"].split(" ") if row["text"] else []
        links = PageLinks.of(row["links"], words)
        return replace(revive_page({**row, "links": ()}), links=links)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise GivenUpError(NO_PAGE) from error


def extract(
    content_type: str, url: str, body: bytes, *, seconds: float = DOCUMENT.seconds
) -> Document | Unreadable:
    """As `spoor.documents.extract.extract`, in bounded memory and at most so many `seconds` of
    processor time; costs some 2 ms more. HTML whose main text would cost more is all of its text,
    as the crawl read it, with a note."""
    facts = {"url": url, "content_type": content_type}
    try:
        row = bounded(document_row_of, body, facts, bounds=DOCUMENT._replace(seconds=seconds))
    except GivenUpError as error:
        kind = tell(body, content_type, url).kind
        if kind != "html" or isinstance(error, KilledError):
            return Unreadable(str(error), kind)
        bounds = PAGE._replace(seconds=min(PAGE.seconds, seconds))
        facts |= {"content_type": as_html(body, content_type), "why": str(error)}
        try:
            row = bounded(plain_row_of, body, facts, bounds=bounds)
        except GivenUpError:
            return Unreadable(str(error), kind)
    if "unreadable" in row:
        return Unreadable(row["unreadable"], row["kind"])
    return revive_document(row)


def parse_reply(
    body: bytes, url: str, *, joiner: Joiner | None = None, status: int = 200, **facts: Any
) -> Fetched | Failed:
    """The reply that a fetched or recorded body makes: a page, or a failure if it cannot be read.
    Arguments are those of `parse_page`; the ticket of the reply is 0."""
    try:
        page = parse_page(body, url, joiner=joiner, status=status, **facts)
    except UnreadableError as error:
        return error.failed(status=status)
    return Fetched(0, page, size=len(body))


def helper_of(body: bytes, content_type: str, url: str = "", *, main: bool = False) -> str:
    """The helper that `parse_page` uses for a document: `pages` or `documents`; empty for none.
    With a helper it may take seconds: call it in a thread beside an event loop."""
    parser, bounds = _parser(body, content_type, url)
    if parser is None:
        return ""
    return "pages" if bounds is PAGE and not main else "documents"


def _parser(
    body: bytes, content_type: str, url: str
) -> tuple[Callable[..., dict[str, Any]] | None, Bounds]:
    """The parser and bounds of a document in a helper; None for one that is parsed in this
    process."""
    kind = tell(body, content_type, url).kind
    if kind == "html":
        return (page_of if may_cost_much(body) else None), PAGE
    short = kind in ("text", "markdown") and len(body) <= SHORT
    return (page_row_of if body and kind in WITH_TEXT and not short else None), DOCUMENT
