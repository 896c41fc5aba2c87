"""Media types, and whether a document is HTML by its own."""

from __future__ import annotations

from spoor.web.encoding import PRESCAN

HTML_TYPES = frozenset({"", "text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"})
"""Media types of HTML; empty: none was declared."""


def media_of(content_type: str) -> str:
    """The media type of a Content-Type, without its parameters, in lower case."""
    return content_type.partition(";")[0].strip().lower()


def is_html(body: bytes, content_type: str) -> bool:
    """Whether a document is taken for HTML or XHTML."""
    media = media_of(content_type)
    return media in HTML_TYPES or (media.endswith("+xml") and b"<html" in body[:PRESCAN])
