"""One document as its reader wants it: bytes → Document."""

from __future__ import annotations

from spoor.documents.document import Document, Limits, Unreadable
from spoor.documents.html import read_html

LIMITS = Limits()


def extract(
    content_type: str, url: str, body: bytes, limits: Limits = LIMITS
) -> Document | Unreadable:
    """The document that `body` is; `content_type` is the header, which may be wrong or empty.

    `url` is canonical. Never raises for what the bytes contain. It may take long and much memory
    for what is made to: whoever reads documents of strangers calls `spoor.isolate.extract`.
    """
    return read_html(content_type, url, body, limits)
