"""Word documents (docx): text, tables and notes, also those in content controls, insertions and
text boxes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from functools import partial
from itertools import islice
from xml.etree.ElementTree import Element

from spoor.documents.blocks import Blocks, one_line
from spoor.documents.elements import outermost
from spoor.documents.errors import UnreadableError
from spoor.documents.links import Links
from spoor.documents.package import Package, Relation
from spoor.documents.word_lists import WordLists

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_COMPATIBLE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"

_TEXT = frozenset((f"{_W}t", f"{_M}t"))
_SIGNS = {f"{_W}tab": " ", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}
_PARAGRAPH, _TABLE, _BOX = f"{_W}p", f"{_W}tbl", f"{_W}txbxContent"
_FACTS, _STYLE, _VALUE = f"{_W}pPr", f"{_W}pStyle", f"{_W}val"
_PASSED_OVER = frozenset(
    (
        *(f"{_W}{name}" for name in ("del", "moveFrom", "pPr", "rPr", "tblPr", "sdtPr", "sectPr")),
        f"{_COMPATIBLE}Fallback",  # the same as its Choice, for older readers
    )
)
_parts = partial(outermost, passing_over=_PASSED_OVER)
_NOTES = ("footnotes", "endnotes")
_MOST_NOTES = 10_000
_LINKS = tuple(f"{_W}{name}" for name in ("hyperlink", "instrText", "fldSimple"))
_MET = frozenset((*_LINKS, _BOX))
_CODE = re.compile(r"\bCode\b(?!.*\bChar$)|^(?:HTML )?Preformatted|^Plain Text$")
"""Styles of paragraphs of code."""
_FIELD = re.compile(r'HYPERLINK\s+"([^"]+)"')


def read_docx(package: Package, blocks: Blocks, links: Links) -> None:
    """Adds what the document holds. Raises UnreadableError where it cannot be read."""
    main = package.main("word/document.xml")
    relations = package.relations(main)
    body = package.needed(main).find(f"{_W}body")
    if body is None:
        raise UnreadableError("it is damaged: it has no body")
    styles = next(package.trees(relations, "styles"), Element("styles"))
    lists = WordLists(next(package.trees(relations, "numbering"), Element("numbering")))
    reader = _Reader(styles, lists, relations, blocks, links)
    reader.read(body)
    for kind in _NOTES:
        for notes in package.trees(relations, kind):
            reader.read_notes(notes, kind.removesuffix("s"))


class _Reader:
    def __init__(
        self,
        styles: Element,
        lists: WordLists,
        relations: Mapping[str, Relation],
        blocks: Blocks,
        links: Links,
    ) -> None:
        named = {style.get(f"{_W}styleId", ""): style.find(f"{_W}name") for style in styles}
        self._styles = {
            key: _capitalised(name.get(f"{_W}val") or "")
            for key, name in named.items()
            if name is not None
        }
        self._lists = lists
        self._relations = relations
        self._blocks = blocks
        self._links = links
        self._code: list[str] = []
        """Paragraphs of code that follow one another."""

    def read(self, container: Element) -> None:
        """The paragraphs and tables below an element, in order; what is in the text boxes of a
        paragraph comes after it."""
        reading = [_below(container)]
        while reading and not self._blocks.full:
            element = next(reading[-1], None)
            if element is None:
                reading.pop()
            elif element.tag == _TABLE:
                self._end_code()
                self._table(element)
            elif self._paragraph(element):
                reading.append(_in_boxes(element))
        self._end_code()

    def _end_code(self) -> None:
        if self._code:
            self._blocks.code("\n".join(self._code))
            self._code.clear()

    def read_notes(self, notes: Element, name: str) -> None:
        for note in islice(notes.iterfind(f"{_W}{name}"), _MOST_NOTES):
            if note.get(f"{_W}type") is None:  # the others are lines between text and notes
                self.read(note)

    def _paragraph(self, element: Element) -> bool:
        """Adds its text and its links. Returns whether there are text boxes in it."""
        text, met = _text_and_more(element)
        facts = element.find(_FACTS)
        style = "" if facts is None else self._style(facts)
        if _CODE.search(style):
            self._code.append(text)
        elif text:
            self._end_code()
            entry = None if facts is None else self._lists.entry(facts)
            if entry is None or style.startswith(("Heading", "Title")):
                self._add(text, style)
            else:
                self._blocks.item(text, depth=entry[0], number=entry[1])
        if not met.isdisjoint(_LINKS):
            self._find_links(element, text, but=_BOX)
        return _BOX in met

    def _style(self, facts: Element) -> str:
        style = facts.find(_STYLE)
        return "" if style is None else self._styles.get(style.get(_VALUE, ""), "")

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

    def _table(self, table: Element) -> None:
        self._blocks.long_table(map(_cells, _parts(table, f"{_W}tr")))
        self._find_links(table, "")

    def _find_links(self, element: Element, around: str, but: str = "") -> None:
        """Those below an element, but what is in elements of one name: boxes are read apart, and
        one in another would be gone through for each of those around it."""
        for link in _parts(element, *_LINKS, but):
            if self._links.cut:
                return
            if link.tag == but:
                continue
            relation = self._relations.get(link.get(_RELATION, ""))
            words = one_line(_text(link)) or around
            before, _, after = around.partition(words) if words else ("", "", "")
            if relation is not None and relation.external:
                self._links.add(relation.target, words, before=before, after=after)
            elif found := _FIELD.search(link.text or link.get(f"{_W}instr") or ""):
                self._links.add(found[1], words, before=before, after=after)


def _capitalised(name: str) -> str:
    """Of a style; Word shows `heading 1` as *Heading 1*."""
    return name[:1].upper() + name[1:]


def _below(container: Element) -> Iterator[Element]:
    """Its paragraphs and tables, and those in content controls, insertions and the like."""
    return _parts(container, _PARAGRAPH, _TABLE)


def _in_boxes(paragraph: Element) -> Iterator[Element]:
    return (inner for box in _parts(paragraph, _BOX) for inner in _below(box))


def _cells(row: Element) -> list[str]:
    """The text of each cell; one that spans several columns is followed by empty ones."""
    cells: list[str] = []
    for cell in _parts(row, f"{_W}tc"):
        span = cell.find(f"{_W}tcPr/{_W}gridSpan")
        wide = "1" if span is None else span.get(f"{_W}val") or "1"
        text = "\n".join(_text(paragraph) for paragraph in _paragraphs(cell))
        cells += [text, *[""] * min(int(wide) - 1 if wide.isdecimal() else 0, 99)]
    return cells


def _text(element: Element) -> str:
    """What is written in a paragraph, insertions included, deletions and text boxes not."""
    return _text_and_more(element)[0]


def _text_and_more(element: Element) -> tuple[str, Set[str]]:
    """The same, and which of links and text boxes are in it."""
    words: list[str] = []
    met: set[str] = set()
    waiting = element[::-1]
    while waiting:
        inner = waiting.pop()
        name = inner.tag
        if name in _TEXT:
            words.append(inner.text or "")
        elif name in _SIGNS:
            words.append(_SIGNS[name])
        elif name not in _PASSED_OVER:
            if name in _MET:
                met.add(name)
            if name != _BOX and len(inner):
                waiting += inner[::-1]
    return "".join(words), met


def _paragraphs(cell: Element) -> Iterator[Element]:
    """Those of a cell, of tables and of text boxes inside it."""
    waiting = [cell]
    while waiting:
        for paragraph in _parts(waiting.pop(), _PARAGRAPH):
            yield paragraph
            waiting += _parts(paragraph, _BOX)
