"""OpenDocument texts (odt)."""

from __future__ import annotations

import math
from xml.etree.ElementTree import Element

from spoor.documents.blocks import Blocks
from spoor.documents.elements import outermost
from spoor.documents.errors import UnreadableError
from spoor.documents.links import Links
from spoor.documents.zipped import Parts

_NAMES = "{urn:oasis:names:tc:opendocument:xmlns:"
_OFFICE, _T, _TABLES = (f"{_NAMES}{name}:1.0}}" for name in ("office", "text", "table"))
_HEADING, _PARAGRAPH, _ITEM, _LINK = (f"{_T}{name}" for name in ("h", "p", "list-item", "a"))
_TABLE, _ROW, _CELL = (f"{_TABLES}{name}" for name in ("table", "table-row", "table-cell"))
_SIGNS = {f"{_T}s": " ", f"{_T}tab": " ", f"{_T}line-break": "\n"}
_HREF = "{http://www.w3.org/1999/xlink}href"
_MOST_OF_LINK = 1_000
"""Characters and elements of a link that are read: one may stand in another, hundreds of times."""


def read_odt(parts: Parts, blocks: Blocks, links: Links) -> None:
    """Adds what the text holds. Raises UnreadableError where it cannot be read."""
    content = parts.tree("content.xml")
    body = content.find(f"{_OFFICE}body")
    if body is None:
        raise UnreadableError("it is damaged: it has no body")
    text = next(iter(body), body)
    waiting: list[tuple[Element, int]] = [(text, -1)]
    while waiting and not blocks.full:
        node, depth = waiting.pop()
        if node.tag == _HEADING:
            level = node.get(f"{_T}outline-level") or "1"
            blocks.heading(min(6, int(level)) if level.isdecimal() else 1, _plain(node))
        elif node.tag == _PARAGRAPH:
            if depth < 0:
                blocks.paragraph(_plain(node))
            else:
                blocks.item(_plain(node), depth=depth)
        elif node.tag == _TABLE:
            blocks.long_table(  # a table in a cell is text of it
                [_plain(cell) for cell in outermost(row, _CELL)] for row in outermost(node, _ROW)
            )
        elif len(node):
            inside = depth + (node.tag == _ITEM)
            waiting += [(child, inside) for child in node[::-1]]
    for link in text.iter(_LINK):
        if links.cut:
            return
        links.add(link.get(_HREF), _plain(link, _MOST_OF_LINK))


def _plain(node: Element, most: float = math.inf) -> str:
    """The text of an element, each of its nodes looked at once; of at most so many characters and
    nodes."""
    if not len(node):
        return node.text or ""
    words: list[str] = [node.text or ""]
    waiting: list[Element | str] = _content(node)
    while waiting and most > 0:
        inner = waiting.pop()
        if isinstance(inner, str):
            words.append(inner)
            most -= len(inner)
        elif sign := _SIGNS.get(inner.tag):
            words.append(sign)
        else:
            most -= 1
            words.append(inner.text or "")
            waiting += _content(inner)
    return "".join(words)


def _content(node: Element) -> list[Element | str]:
    """Its elements and what is written behind each, the last first."""
    found: list[Element | str] = []
    for child in node[::-1]:
        if child.tail:
            found.append(child.tail)
        found.append(child)
    return found
