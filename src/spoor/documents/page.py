"""A document of any kind as the page that a crawl judges and follows."""

from __future__ import annotations

from spoor.documents.document import Document, Limits, Unreadable
from spoor.documents.errors import UnreadableError
from spoor.documents.extract import extract
from spoor.documents.kinds import as_html, tell
from spoor.setting import WITH_TEXT
from spoor.types import Link, Page
from spoor.web.page import MAX_LINKS, MAX_TEXT, parse, robots_flags
from spoor.web.urls import Joiner

LIMITS = Limits(characters=MAX_TEXT, links=MAX_LINKS)


def page_of(
    body: bytes,
    url: str,
    *,
    content_type: str = "",
    status: int = 200,
    labels: frozenset[str] = frozenset(),
    site: str = "",
    fetched_at: float | None = None,
    modified: float | None = None,
    truncated: bool = False,
    robots: str = "",
    joiner: Joiner | None = None,
) -> Page:
    """As `spoor.web.page.parse`, for any kind of document. One without a body, or of a kind without
    text, is a page without words.

    Raises UnreadableError for one that cannot be read.
    """
    told = tell(body, content_type, url)
    if told.kind == "html" and body:
        return parse(
            body,
            url,
            content_type=as_html(body, content_type),
            status=status,
            labels=labels,
            site=site,
            fetched_at=fetched_at,
            modified=modified,
            truncated=truncated,
            robots=robots,
            joiner=joiner,
        )
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
    return Page(
        url=url,
        status=status,
        content_type=document.media_type,
        title=document.title,
        headings=document.headings[:1_000],
        text=" ".join(document.text.split()),
        links=_followed(document, "nofollow" in flags),
        description=document.description,
        language=document.language,
        encoding="",
        flags=frozenset(flags),
        labels=labels,
        site=site,
        fetched_at=fetched_at,
        modified=modified,
    )


def _followed(document: Document, nofollow: bool) -> list[Link]:
    if not nofollow:
        return list(document.links)
    return [link._replace(anchor=link.anchor._replace(nofollow=True)) for link in document.links]
