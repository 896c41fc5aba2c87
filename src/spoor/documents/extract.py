"""One document as its reader wants it: bytes → Document."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from spoor.documents.blocks import cleaned
from spoor.documents.document import Document, Limits, Unreadable
from spoor.documents.errors import UnreadableError
from spoor.documents.kinds import KINDS, OFFICE, Told, tell
from spoor.errors import InputError

LIMITS = Limits()
_METADATA = ("title", "language", "date", "author", "description", "licence")


def extract(
    content_type: str, url: str, body: bytes, limits: Limits = LIMITS
) -> Document | Unreadable:
    """The document that `body` is; `content_type` is the header, which may be wrong or empty.

    `url` is canonical. One without text (an image) is a Document without blocks. Never raises for
    what the bytes contain, but MemoryError. It may take long and much memory for what is made to:
    whoever reads documents of strangers calls `spoor.isolate.parsing.extract`.
    """
    told = tell(body, content_type, url)
    if not body.strip():
        return Unreadable("it is empty", told.kind)
    try:
        return _cleaned(_read(told, content_type, url, body, limits))
    except (UnreadableError, InputError) as error:
        return Unreadable(str(error), told.kind)
    except MemoryError:
        raise
    except Exception as error:  # the libraries have errors of their own for damaged files
        from resiliparse.parse.html import DOMException
        from selectolax.lexbor import SelectolaxError

        # Lexbor parses whatever there is memory for, whoever calls it; other C code may say nothing
        # of it.
        if isinstance(error, (SelectolaxError, DOMException, SystemError)):
            raise MemoryError from error
        return Unreadable(f"the {told.kind} is damaged ({type(error).__name__})", told.kind)


def _cleaned(document: Document) -> Document:
    """A document whose metadata has no control characters, as its blocks have none."""
    told = {name: getattr(document, name) for name in _METADATA}
    odd: dict[str, Any] = {
        name: cleaned(text) for name, text in told.items() if not text.isprintable()
    }
    return replace(document, **odd) if odd else document


def _read(told: Told, content_type: str, url: str, body: bytes, limits: Limits) -> Document:
    # Here, so that each process loads what it reads.
    kind = told.kind
    if kind == "html":
        from spoor.documents.html import read_html

        return read_html(content_type, url, body, limits)
    limits = replace(limits, only=None)  # pages of HTML in it are parts of its blocks
    if kind in ("text", "markdown"):
        from spoor.documents.markdown import read_markdown
        from spoor.documents.plain import read_text

        read = read_text if kind == "text" else read_markdown
        # The header says the charset, and may lie of the type.
        return replace(read(content_type, url, body, limits), media_type=told.media_type)
    if kind == "pdf":
        from spoor.documents.pdf import read_pdf

        return read_pdf(url, body, limits)
    if kind in ("feed", "xml"):
        from spoor.documents.xml import read_feed, read_xml

        return (read_feed if kind == "feed" else read_xml)(told.media_type, url, body, limits)
    if kind == "json":
        from spoor.documents.json_text import read_json

        return read_json(told.media_type, url, body, limits)
    if kind == "epub":
        from spoor.documents.epub import read_epub

        return read_epub(url, body, limits)
    if kind in OFFICE:
        from spoor.documents.office import read_office

        return read_office(kind, url, body, limits)
    return Document(url, kind, told.media_type or KINDS[kind].media_type)
