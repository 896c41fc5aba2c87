"""A document for a reader: its main text in blocks, and the metadata that it declares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from spoor.types import Link


class Block(NamedTuple):
    """One part of a document: a heading, a paragraph, a table."""

    kind: str
    """`heading`, `paragraph`, `item` (of a list), `code`, `table` or `quote`."""
    text: str
    """Its words, without markup."""
    markdown: str
    """The same as Markdown."""
    headings: tuple[str, ...]
    """The headings that it stands under, outermost first; of a heading those above it."""
    begin: int
    """Its first character in `Document.text`; it ends at `begin + len(text)`."""


@dataclass(frozen=True)
class Document:
    """The main content of a document. Metadata that it does not declare is empty, never guessed."""

    url: str
    kind: str
    """`html`, `pdf`, `text`, `markdown`, `feed`, `xml`, `json`, `docx`, `xlsx`, `pptx`, `odt`,
    `ods`, `odp`, `epub`, or one without text: `image`, `audio`, `video`, `archive`, `other`."""
    media_type: str
    """Of its kind, not of the header: `application/pdf`."""
    title: str = ""
    language: str = ""
    """A BCP 47 tag, as declared."""
    date: str = ""
    """When it was written or changed, as declared: an ISO 8601 date or time."""
    author: str = ""
    """Several are separated by `; `."""
    description: str = ""
    blocks: tuple[Block, ...] = ()
    """The main content in reading order, without navigation and the like."""
    links: Sequence[Link] = ()
    """All links of the document, canonical."""
    notes: tuple[str, ...] = ()
    """What was left out, each in one line: `cut after 2000 pages`."""
    licence: str = ""
    """The URL or name of the licence that it declares."""

    @cached_property
    def text(self) -> str:
        """The words of all blocks, an empty line between two."""
        return "\n\n".join(block.text for block in self.blocks)

    @cached_property
    def markdown(self) -> str:
        """The whole as Markdown."""
        return to_markdown(self.blocks)

    @cached_property
    def headings(self) -> tuple[str, ...]:
        """The headings, in reading order."""
        return tuple(block.text for block in self.blocks if block.kind == "heading")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A document that cannot be read."""

    reason: str
    """In one line: `the PDF is encrypted`."""
    kind: str = ""
    """As in `Document`, where it could be told."""


PARTS = frozenset("title language date author licence blocks text markdown links".split())
"""What may be wanted of a document alone. `blocks` are without their Markdown, `links` without
their words."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of one document is read; the rest is left out, with a note."""

    characters: int = 1 << 22
    """Of text."""
    links: int = 5_000
    pages: int = 2_000
    """Pages of a PDF, sheets of a workbook, slides, chapters, entries of a feed."""
    unpacked: int = 1 << 26
    """Bytes of one part of a zip file."""
    comments: bool = True
    """Whether what readers said below a page of HTML is a part of it."""
    articles: bool = True
    """Whether trafilatura, where it is installed, says what the text of an article is."""
    only: frozenset[str] | None = None
    """Of a page of HTML, the fields that are wanted (among `PARTS`); the others may be empty, and
    take no time. None: all of them."""


def to_markdown(blocks: tuple[Block, ...]) -> str:
    """Blocks as one Markdown text; items that follow one another are one list."""
    parts: list[str] = []
    before = ""
    for block in blocks:
        if parts:
            parts.append("\n" if block.kind == before == "item" else "\n\n")
        parts.append(block.markdown)
        before = block.kind
    return "".join(parts)
