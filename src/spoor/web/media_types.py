"""Whether a document is HTML, by its media type."""

from __future__ import annotations

from spoor.web.encoding import PRESCAN

HTML_TYPES = frozenset({"", "text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"})
"""Media types of HTML; empty: none was declared."""


def is_html(body: bytes, content_type: str) -> bool:
    """Whether a document is taken for HTML or XHTML."""
    media = content_type.partition(";")[0].strip().lower()
    return media in HTML_TYPES or (media.endswith("+xml") and b"<html" in body[:PRESCAN])
