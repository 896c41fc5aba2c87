"""OpenDocument: texts (odt), spreadsheets (ods) and presentations (odp)."""

from __future__ import annotations

import math
import re
from xml.etree.ElementTree import Element

from spoor.documents.blocks import MOST_COLUMNS, Blocks
from spoor.documents.elements import outermost
from spoor.documents.errors import UnreadableError
from spoor.documents.links import Links
from spoor.documents.zipped import Parts

_NAMES = "{urn:oasis:names:tc:opendocument:xmlns:"
_OFFICE, _T, _TABLES, _STYLES = (
    f"{_NAMES}{name}:1.0}}" for name in ("office", "text", "table", "style")
)
_HEADING, _PARAGRAPH, _ITEM, _LINK = (f"{_T}{name}" for name in ("h", "p", "list-item", "a"))
_TABLE, _ROW, _CELL, _COVERED = (
    f"{_TABLES}{name}" for name in ("table", "table-row", "table-cell", "covered-table-cell")
)
_SHEETS = f"{_OFFICE}spreadsheet"
_CLASS = f"{_NAMES}presentation:1.0}}class"
_TITLES = frozenset(("title", "subtitle"))
_WITH_TEXT = frozenset((_HEADING, _PARAGRAPH, _TABLE))
_SPACES, _COUNT = f"{_T}s", f"{_T}c"
_SIGNS = {f"{_T}tab": " ", f"{_T}line-break": "\n"}
_STYLE = f"{_T}style-name"
_CODE = re.compile(r"Preformatted|(?:\b|_)Code(?:\b|_)")
"""Styles of paragraphs of code; `_20_` stands for a space."""
_MOST_REPEATED = 100
"""Characters of a cell that may stand for several."""
_MOST_SPACES = 40
"""In a row."""
_HREF = "{http://www.w3.org/1999/xlink}href"
_MOST_OF_LINK = 1_000
"""Characters and elements of a link that are read: one may stand in another, hundreds of times."""


def read_open_document(parts: Parts, blocks: Blocks, links: Links) -> None:
    """Adds what the document holds; of a spreadsheet the name of a sheet is a heading, of a
    presentation the title of a page. Raises UnreadableError where it cannot be read."""
    content = parts.tree("content.xml")
    body = content.find(f"{_OFFICE}body")
    if body is None:
        raise UnreadableError("it is damaged: it has no body")
    text = next(iter(body), body)
    of_code = _styles_of_code(content)
    code = list[str]()
    entry: Element | None = None
    waiting: list[tuple[Element, int, Element | None]] = [(text, -1, None)]
    while waiting and not blocks.full:
        node, depth, within = waiting.pop()
        style = node.get(_STYLE, "") if node.tag == _PARAGRAPH else ""
        if style in of_code or _CODE.search(style):
            code.append(_plain(node))
            continue
        if code and (node.tag in _WITH_TEXT):
            blocks.code("\n".join(code))
            code.clear()
        if node.tag == _HEADING:
            level = node.get(f"{_T}outline-level") or "1"
            blocks.heading(min(6, int(level)) if level.isdecimal() else 1, _plain(node))
        elif node.tag == _PARAGRAPH:
            if within is None or within is entry:  # no list, or its entry goes on
                blocks.paragraph(_plain(node))
            else:
                blocks.item(_plain(node), depth=depth)
                entry = within
        elif node.tag == _TABLE:
            if text.tag == _SHEETS:
                blocks.heading(2, node.get(f"{_TABLES}name", ""))
            blocks.long_table(map(_cells, outermost(node, _ROW)))
        elif node.get(_CLASS) in _TITLES:
            blocks.heading(2, _plain(node))
        elif len(node):
            inside, within = (depth + 1, node) if node.tag == _ITEM else (depth, within)
            waiting += [(child, inside, within) for child in node[::-1]]
    if code:
        blocks.code("\n".join(code))
    for link in text.iter(_LINK):
        if links.cut:
            return
        links.add(link.get(_HREF), _plain(link, _MOST_OF_LINK))


def _cells(row: Element) -> list[str]:
    """The text of each cell; a table in a cell is text of it. One element may stand for several
    cells that are the same."""
    cells = list[str]()
    for cell in outermost(row, _CELL, _COVERED):
        words, often = _plain(cell), cell.get(f"{_TABLES}number-columns-repeated", "1")
        repeats = often.isdecimal() and len(often) < 9 and len(words) <= _MOST_REPEATED
        cells += [words] * min(MOST_COLUMNS - len(cells), int(often) if repeats else 1)
        if len(cells) >= MOST_COLUMNS:
            break
    while cells and not cells[-1]:
        cells.pop()
    return cells


def _styles_of_code(content: Element) -> frozenset[str]:
    """The names of styles of this document that are made from one of code."""
    found = content.iterfind(f"{_OFFICE}automatic-styles/{_STYLES}style")
    return frozenset(
        one.get(f"{_STYLES}name", "")
        for one in found
        if _CODE.search(one.get(f"{_STYLES}parent-style-name", ""))
    )


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
        elif inner.tag == _SPACES:
            count = inner.get(_COUNT, "1")
            spaces = int(count) if count.isdecimal() and len(count) < 9 else 1
            words.append(" " * min(spaces, _MOST_SPACES))
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
