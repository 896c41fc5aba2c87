"""Word documents (docx): text, tables and notes, also those in content controls, insertions and
text boxes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from spoor.documents.blocks import Blocks, one_line
from spoor.documents.errors import UnreadableError
from spoor.documents.links import Links
from spoor.documents.package import Package, Relation

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_COMPATIBLE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"

_TEXT = frozenset((f"{_W}t", f"{_M}t"))
_SIGNS = {f"{_W}tab": " ", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}
_BOX = f"{_W}txbxContent"
_PASSED_OVER = frozenset(
    (
        *(f"{_W}{name}" for name in ("del", "moveFrom", "pPr", "rPr", "tblPr", "sdtPr", "sectPr")),
        f"{_COMPATIBLE}Fallback",  # the same as its Choice, for older readers
    )
)
_NOTES = ("footnotes", "endnotes")
_MOST_NOTES = 10_000
_LINKS = tuple(f"{_W}{name}" for name in ("hyperlink", "instrText", "fldSimple"))
_FIELD = re.compile(r'HYPERLINK\s+"([^"]+)"')


def read_docx(package: Package, blocks: Blocks, links: Links) -> None:
    """Adds what the document holds. Raises UnreadableError where it cannot be read."""
    main = package.main("word/document.xml")
    body, relations = package.needed(main).find(f"{_W}body"), package.relations(main)
    if body is None:
        raise UnreadableError("it is damaged: it has no body")
    styles = next(package.trees(relations, "styles"), ())
    reader = _Reader(styles, relations, blocks, links)
    reader.read(body)
    for kind in _NOTES:
        for notes in package.trees(relations, kind):
            reader.read_notes(notes, kind.removesuffix("s"))


class _Reader:
    def __init__(
        self, styles: Any, relations: Mapping[str, Relation], blocks: Blocks, links: Links
    ) -> None:
        named = {style.get(f"{_W}styleId"): style.find(f"{_W}name") for style in styles}
        self._styles = {
            key: _capitalised(name.get(f"{_W}val") or "")
            for key, name in named.items()
            if name is not None
        }
        self._relations = relations
        self._blocks = blocks
        self._links = links

    def read(self, container: Any) -> None:
        """The paragraphs and tables below an element, in order."""
        for element in _below(container):
            if self._blocks.full:
                return
            if element.tag == f"{_W}p":
                self._paragraph(element)
            elif element.tag == f"{_W}tbl":
                self._table(element)

    def read_notes(self, notes: Any, name: str) -> None:
        for note in islice(notes.iterchildren(f"{_W}{name}"), _MOST_NOTES):
            if note.get(f"{_W}type") is None:  # the others are lines between text and notes
                self.read(note)

    def _paragraph(self, element: Any) -> None:
        text = _text(element)
        self._add(text, self._style(element))
        self._find_links(element, text, but=_BOX)
        for box in _parts(element, _BOX):
            self.read(box)

    def _style(self, paragraph: Any) -> str:
        style = paragraph.find(f"{_W}pPr/{_W}pStyle")
        return "" if style is None else self._styles.get(style.get(f"{_W}val"), "")

    def _add(self, text: str, style: str) -> None:
        name, _, last = style.rpartition(" ")
        if style == "Title":
            self._blocks.heading(1, text)
        elif name == "Heading" and last.isdecimal():
            self._blocks.heading(min(6, max(1, int(last))), text)
        elif style.startswith("List"):
            self._blocks.item(text, depth=int(last) - 1 if last.isdecimal() else 0)
        else:
            self._blocks.paragraph(text, kind="quote" if "Quote" in style else "paragraph")

    def _table(self, table: Any) -> None:
        self._blocks.long_table(map(_cells, _parts(table, f"{_W}tr")))
        self._find_links(table, "")

    def _find_links(self, element: Any, around: str, but: str = "") -> None:
        """Those below an element, but what is in elements of one name: boxes are read apart, and
        one in another would be gone through for each of those around it."""
        for link in _parts(element, *_LINKS, but):
            if self._links.cut:
                return
            if link.tag == but:
                continue
            relation = self._relations.get(link.get(_RELATION))
            words = one_line(_text(link)) or around
            before, _, after = around.partition(words) if words else ("", "", "")
            if relation is not None and relation.external:
                self._links.add(relation.target, words, before=before, after=after)
            elif found := _FIELD.search(link.text or link.get(f"{_W}instr") or ""):
                self._links.add(found[1], words, before=before, after=after)


def _capitalised(name: str) -> str:
    """Of a style; Word shows `heading 1` as *Heading 1*."""
    return name[:1].upper() + name[1:]


def _below(container: Any) -> Iterator[Any]:
    """Its paragraphs and tables, and those in content controls, insertions and the like."""
    return _parts(container, f"{_W}p", f"{_W}tbl")


def _parts(container: Any, *names: str) -> Iterator[Any]:
    """The elements of these names below one, in order, but those inside one another."""
    waiting = list(container.iterchildren(reversed=True))
    while waiting:
        element = waiting.pop()
        if element.tag in names:
            yield element
        elif element.tag not in _PASSED_OVER:
            waiting += element.iterchildren(reversed=True)


def _cells(row: Any) -> list[str]:
    """The text of each cell; one that spans several columns is followed by empty ones."""
    cells: list[str] = []
    for cell in _parts(row, f"{_W}tc"):
        span = cell.find(f"{_W}tcPr/{_W}gridSpan")
        wide = "1" if span is None else span.get(f"{_W}val") or "1"
        text = "\n".join(_text(paragraph) for paragraph in _paragraphs(cell))
        cells += [text, *[""] * min(int(wide) - 1 if wide.isdecimal() else 0, 99)]
    return cells


def _text(element: Any) -> str:
    """What is written in a paragraph, insertions included, deletions and text boxes not."""
    words: list[str] = []
    waiting = list(element.iterchildren(reversed=True))
    while waiting:
        inner = waiting.pop()
        if inner.tag in _TEXT:
            words.append(inner.text or "")
        elif inner.tag in _SIGNS:
            words.append(_SIGNS[inner.tag])
        elif inner.tag != _BOX and inner.tag not in _PASSED_OVER:
            waiting += inner.iterchildren(reversed=True)
    return "".join(words)


def _paragraphs(cell: Any) -> Iterator[Any]:
    """Those of a cell, of tables and of text boxes inside it."""
    waiting = [cell]
    while waiting:
        for paragraph in _parts(waiting.pop(), f"{_W}p"):
            yield paragraph
            waiting += _parts(paragraph, _BOX)
