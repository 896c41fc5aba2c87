"""Documents as JSON values: what a helper process (`spoor.isolate`) sends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from spoor.documents.blocks import Blocks
from spoor.documents.declared import language_tag
from spoor.documents.document import Block, Document, Unreadable
from spoor.documents.errors import UnreadableError
from spoor.documents.extract import LIMITS, extract
from spoor.documents.page import page_of
from spoor.learn.state import link_row, page_row, revive_link
from spoor.types import Page
from spoor.web.page import parse
from spoor.web.sitemaps import dates_of
from spoor.web.urls import Joiner

_joiner = Joiner()
"""Of the helper's documents."""


def page_row_of(body: bytes, url: str, **facts: Any) -> dict[str, Any]:
    """The page of a document as JSON values, or why it is `unreadable`."""
    if "labels" in facts:
        facts["labels"] = frozenset(facts["labels"])
    try:
        return page_row(page_of(body, url, joiner=_joiner, **facts))
    except UnreadableError as error:
        return {"unreadable": str(error)}


def dates_row_of(body: bytes, url: str, **facts: Any) -> dict[str, Any]:
    """A page with the dates that a feed gives alone, as JSON values."""
    return page_row(Page(url, dated=dates_of(body, url)))


def document_row_of(body: bytes, url: str, content_type: str) -> dict[str, Any]:
    """A document as JSON values, or its kind and why it is `unreadable`."""
    read = extract(content_type, url, body)
    if isinstance(read, Unreadable):
        return {"unreadable": read.reason, "kind": read.kind}
    return document_row(read)


def plain_row_of(body: bytes, url: str, content_type: str, why: str) -> dict[str, Any]:
    """A document of HTML with all of its text as JSON values. `why`: its main text is not read."""
    page = parse(body, url, content_type=content_type, joiner=_joiner)
    blocks = Blocks(LIMITS.characters)
    blocks.paragraph(page.text)
    note = f"all of its text, navigation included, and not its main text: {why}"
    return document_row(
        Document(
            url,
            "html",
            page.content_type,
            page.title,
            language_tag(page.language),
            description=page.description,
            blocks=tuple(blocks.blocks),
            links=tuple(page.links),
            notes=(note,),
        )
    )


def document_row(document: Document) -> dict[str, Any]:
    """A document as JSON values."""
    row = {one.name: getattr(document, one.name) for one in fields(document)}
    row["links"] = [link_row(link) for link in document.links]
    return row


def revive_document(row: Mapping[str, Any]) -> Document:
    """The document that `document_row` was given."""
    values = dict(row)
    values["links"] = tuple(revive_link(link) for link in row["links"])
    values["blocks"] = tuple(
        Block(kind, text, markdown, tuple(headings), begin)
        for kind, text, markdown, headings, begin in row["blocks"]
    )
    values["notes"] = tuple(row["notes"])
    return Document(**values)
