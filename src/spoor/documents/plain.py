"""Plain text."""

from __future__ import annotations

import re

from spoor.documents.blocks import Blocks
from spoor.documents.document import Document, Limits
from spoor.documents.links import Links
from spoor.web.encoding import decode

_PARAGRAPHS = re.compile(r"\n[ \t]*\n\s*")


def read_text(content_type: str, url: str, body: bytes, limits: Limits) -> Document:
    """Its paragraphs, which empty lines separate."""
    text, notes = decoded(content_type, body, limits)
    blocks, links = Blocks(limits.characters), Links(url, limits.links)
    for part in _PARAGRAPHS.split(text):
        blocks.paragraph(part)
        if blocks.full:
            break
    links.add_bare(text)
    notes += left_out(blocks, links)
    return Document(
        url,
        "text",
        "text/plain",
        blocks=tuple(blocks.blocks),
        links=tuple(links),
        notes=tuple(notes),
    )


def decoded(content_type: str, body: bytes, limits: Limits) -> tuple[str, list[str]]:
    """The characters of a text within the limits, and what is to be noted."""
    text, _, clean = decode(body[: 4 * limits.characters], content_type)
    notes = [] if clean else ["some bytes are no text"]
    if len(text) > limits.characters or len(body) > 4 * limits.characters:
        notes.append(f"cut after {limits.characters} characters")
    return text[: limits.characters].replace("\r\n", "\n").replace("\r", "\n"), notes


def left_out(blocks: Blocks, links: Links) -> list[str]:
    """What of a text was left out, in a line each."""
    return blocks.notes() + ["more links are left out"] * links.cut
