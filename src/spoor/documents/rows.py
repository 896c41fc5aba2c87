"""Documents as JSON values: what a helper process (`spoor.isolate`) sends."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields, replace
from operator import attrgetter
from typing import Any

from spoor.documents.blocks import Blocks
from spoor.documents.declared import language_tag
from spoor.documents.document import PARTS, Block, Document, Unreadable
from spoor.documents.errors import UnreadableError
from spoor.documents.extract import LIMITS, extract
from spoor.documents.page import page_of
from spoor.learn.state import link_row, page_row, revive_link
from spoor.types import Page
from spoor.web.page import parse
from spoor.web.page_links import PageLinks
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


def parts_row_of(body: bytes, url: str, content_type: str, names: Sequence[str]) -> dict[str, Any]:
    """What `PARTS` a document has of these names, and the `keywords` of its page, as JSON values;
    all are empty where it is unreadable. In half of the time of `document_row_of`, where these are
    neither links nor Markdown."""
    read = extract(content_type, url, body, replace(LIMITS, only=frozenset(names)))
    document = Document(url, read.kind, "") if isinstance(read, Unreadable) else read
    row = {name: _OF_PARTS[name](document) for name in names if name != "keywords"}
    if "keywords" in names:
        page = parse(body, url, content_type=content_type) if document.kind == "html" else Page(url)
        row["keywords"] = [*page.keywords]
    return row


def html_parts_row_of(body: bytes, url: str, **asked: Any) -> dict[str, Any]:
    """The same of HTML, which leaves nothing in its process."""
    return parts_row_of(body, url, **asked)


def _urls(document: Document) -> list[str]:
    """Those of its links, each once."""
    links = document.links
    urls = links.urls if isinstance(links, PageLinks) else [link.url for link in links]
    return list(dict.fromkeys(urls))


_OF_PARTS: Mapping[str, Callable[[Document], Any]] = {
    **{name: attrgetter(name) for name in PARTS},
    "links": _urls,
    "blocks": lambda document: [(one[0], one[1], "", *one[3:]) for one in document.blocks],
}


_LISTS = frozenset(("links", "keywords"))
"""Those that are lists of texts."""


def no_parts(names: Collection[str]) -> dict[str, Any]:
    """These `PARTS` of a document that has none."""
    empty: dict[str, Any] = {"blocks": (), **{name: [] for name in _LISTS}}
    return {name: empty.get(name, "") for name in names}


def parts_of(row: Any, names: Sequence[str]) -> dict[str, Any]:
    """What `parts_row_of` was given for these names. Raises ValueError for what is none."""
    if not isinstance(row, dict) or row.keys() != set(names):
        raise ValueError("other parts than those that were asked for")
    parts = dict(row)
    if "blocks" in parts:
        parts["blocks"] = tuple(_block(*one) for one in _listed(parts["blocks"], list))
    for name in parts.keys() & _LISTS:
        _listed(parts[name], str)
    if not all(isinstance(parts[name], str) for name in parts.keys() - _LISTS - {"blocks"}):
        raise ValueError("a part is no text")
    return parts


def _block(kind: Any, text: Any, markdown: Any, headings: Any, begin: Any) -> Block:
    if not all(isinstance(one, str) for one in (kind, text, markdown, *_listed(headings, str))):
        raise ValueError("a block is no text")
    if not isinstance(begin, int):
        raise ValueError("a block begins nowhere")
    return Block(kind, text, markdown, tuple(headings), begin)


def _listed(value: Any, of: type) -> list[Any]:
    if not isinstance(value, list) or not all(isinstance(one, of) for one in value):
        raise ValueError("a part is no list")
    return value


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
