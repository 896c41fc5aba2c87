"""One visit of a page: Spoor's results for a response, and the ticket of its request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from multidict import CIMultiDict
from scrapy.exceptions import IgnoreRequest

from spoor.documents.errors import UnreadableError
from spoor.isolate.parsing import parse_page
from spoor.types import Choice, Failed, Judgement, Page
from spoor.web.refusals import Refusal, refusal
from spoor.web.urls import Joiner

if TYPE_CHECKING:
    from scrapy.http import Request, Response

VISIT = "spoor"
"""Key of a request's meta: its `Visit`."""

FOUND_ON = "spoor_found_on"
"""Key in the meta of a request from the spider: ticket of the page on which its link is."""

LATER = "spoor_later"
"""Key in the meta of a request that is given back, since its host did not answer: seconds until it
may be chosen again, and why."""

ROBOTS = "spoor_robots"
"""Key in the meta of a request for a robots.txt."""


class RobotsForbiddenError(IgnoreRequest):
    """robots.txt forbids the request."""


@dataclass(frozen=True, slots=True)
class Visit:
    """Spoor's results for a response: `response.meta["spoor"]`."""

    ticket: int | None
    """None if the request bypassed the crawl."""
    choice: Choice | None = None
    """Why it was chosen."""
    page: Page | None = None
    """The parsed response; None before it arrives."""
    judgement: Judgement | None = None
    """The judgement; None without a document (a status that is not 2xx, or `refused`)."""
    refused: Refusal | None = None
    """Why a page with status 200 is none: a challenge, a log-in, a wall of consent, a soft 404."""
    past: str = ""
    """URL of the request if it bypassed the crawl."""


@dataclass(slots=True)
class Flight:
    """A ticket in flight, and its request."""

    ticket: int
    url: str
    request: Request
    began: float
    hops: int = 0
    """Redirects that Scrapy has counted."""
    visit: Visit | None = None
    size: int = 0
    failure: Exception | None = None
    links: dict[str, str] = field(default_factory=dict)
    """Canonical URL → text in the first request, of the links that the spider follows from the
    page."""


def header_of(response: Response, name: str) -> str:
    """All values of a header."""
    return b",".join(response.headers.getlist(name)).decode("latin-1")


def page_of(
    response: Response,
    url: str,
    fetched_at: float,
    joiner: Joiner,
    parse: Callable[..., Page] = parse_page,
) -> Page:
    """The document of a response; `url`: its canonical URL. Without text and links if parsing it
    costs too much; the spider gets the response in any case."""
    try:
        return parse(
            response.body,
            url,
            content_type=header_of(response, "Content-Type"),
            status=response.status,
            fetched_at=fetched_at,
            truncated="dataloss" in response.flags or "partial" in response.flags,
            robots=header_of(response, "X-Robots-Tag"),
            joiner=joiner,
        )
    except UnreadableError:
        return unread(response, url, fetched_at)


def unread(response: Response, url: str, fetched_at: float) -> Page:
    """The page of a response that is not read."""
    return Page(url, response.status, flags=frozenset({"truncated"}), fetched_at=fetched_at)


def refusal_of(response: Response, page: Page) -> Refusal | None:
    """Why the page of a response was sent in place of a document; None for a document."""
    if response.status != 200 or "not-html" in page.flags:
        return None
    headers = CIMultiDict(
        (name.decode("latin-1"), b",".join(values).decode("latin-1"))
        for name, values in response.headers.items()
    )
    return refusal(page, headers, response.body)


def failure_of(flight: Flight, seconds: float) -> Failed:
    """Why there is no document."""
    page = flight.visit.page if flight.visit is not None else None
    error = flight.failure
    if flight.visit is not None and (why := flight.visit.refused) is not None:
        return Failed(flight.ticket, why.kind, why.reason, 200, seconds=seconds)
    if page is not None:
        kind = "absent" if page.status in (404, 410) else "http"
        return Failed(flight.ticket, kind, f"status {page.status}", page.status, seconds=seconds)
    if isinstance(error, RobotsForbiddenError):
        return Failed(flight.ticket, "robots", str(error), seconds=seconds)
    if error is None or isinstance(error, IgnoreRequest):
        reason = str(error) if error is not None else "a middleware of the project dropped it"
        return Failed(flight.ticket, "blocked", reason, seconds=seconds)
    kind = "timeout" if "timeout" in type(error).__name__.lower() else "connection"
    return Failed(flight.ticket, kind, type(error).__name__, seconds=seconds)
