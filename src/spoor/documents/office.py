"""Office formats; workbooks by the library of the extra `documents`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any, Self
from xml.etree.ElementTree import Element

from spoor.documents.blocks import MOST_COLUMNS, MOST_ROWS, Blocks, one_line
from spoor.documents.declared import iso_date, language_tag, people
from spoor.documents.document import Document, Limits
from spoor.documents.errors import UnreadableError
from spoor.documents.kinds import KINDS, OPEN_DOCUMENTS, import_reader
from spoor.documents.links import Links
from spoor.documents.open_document import read_open_document
from spoor.documents.package import Package
from spoor.documents.slides import read_slides
from spoor.documents.word import read_docx
from spoor.documents.zipped import DAMAGED, Parts, TooMuchError, open_zip

Reader = Callable[[Parts, Blocks, Links, list[str], Limits], None]


def read_office(kind: str, url: str, body: bytes, limits: Limits) -> Document:
    """One of the kinds `OFFICE`. Raises UnreadableError, InputError without the extra, and
    whatever the libraries raise for a damaged one."""
    blocks, links, notes = Blocks(limits.characters), Links(url, limits.links), list[str]()
    with open_zip(body, limits) as parts:
        facts = _open_document(parts) if kind in OPEN_DOCUMENTS else _core_properties(parts)
        _READERS[kind](parts, blocks, links, notes, limits)
        notes += parts.notes()
    notes += blocks.notes()
    if links.cut:
        notes.append("more links are left out")
    return Document(
        url,
        kind,
        KINDS[kind].media_type,
        one_line(str(facts.get("title") or ""))[:2_000],
        language_tag(facts.get("language")),
        iso_date(facts.get("created") or facts.get("modified")),
        people(str(facts.get("creator") or "").split(";")),
        one_line(str(facts.get("subject") or ""))[:2_000],
        tuple(blocks.blocks),
        tuple(links),
        tuple(notes),
    )


def _core_properties(parts: Parts) -> dict[str, Any]:
    """What a package says of itself; the libraries put names and the present moment in place of
    what it does not say."""
    try:
        relations = parts.tree("_rels/.rels").iter()
        kinds = {one.get("Type", "").rpartition("/")[2]: one.get("Target", "") for one in relations}
        tree = parts.tree(kinds.get("core-properties", "").lstrip("/"))
    except UnreadableError:
        return {}
    return _by_name(tree)


def _open_document(parts: Parts) -> dict[str, Any]:
    """The same of an OpenDocument file."""
    try:
        facts = _by_name(parts.tree("meta.xml").iter())
    except UnreadableError:
        return {}
    facts["creator"] = facts.get("creator") or facts.get("initial-creator")
    return facts | {"created": facts.get("creation-date"), "modified": facts.get("date")}


def _by_name(elements: Iterable[Element]) -> dict[str, Any]:
    return {str(one.tag).rpartition("}")[2]: one.text for one in elements}


def _docx(parts: Parts, blocks: Blocks, links: Links, notes: list[str], limits: Limits) -> None:
    package = Package(parts)
    read_docx(package, blocks, links)
    notes += package.notes()


def _pptx(parts: Parts, blocks: Blocks, links: Links, notes: list[str], limits: Limits) -> None:
    package = Package(parts)
    notes += read_slides(package, parts.archive.namelist(), blocks, links, limits)
    notes += package.notes()


def _odf(parts: Parts, blocks: Blocks, links: Links, notes: list[str], limits: Limits) -> None:
    read_open_document(parts, blocks, links)
    notes += parts.damaged()


# ---------------------------------------------------------------- xlsx

MOST_CELLS = 200_000
"""Of a workbook, counting rows too: an honest one may have millions of cells, each some 10 µs."""
_EMPTY = 20
"""Empty cells at the end of a row that take as long as one."""


_FAULTS = (
    *(ArithmeticError, AttributeError, LookupError, SyntaxError, TypeError, ValueError),
    *DAMAGED,
)
"""What openpyxl raises for a part that is not as it should be; broken XML is a SyntaxError."""


_CELLS = re.compile(r"xl/(?:worksheets/|sharedStrings)")
"""Parts of a workbook that hold text."""


def _xlsx(parts: Parts, blocks: Blocks, links: Links, notes: list[str], limits: Limits) -> None:
    _, read_only, reader, excel, styles = import_reader(
        "xlsx",
        "openpyxl.worksheet._read_only",
        "openpyxl.worksheet._reader",
        "openpyxl.reader.excel",
        "openpyxl.styles.stylesheet",
    )
    with _unmeasured(read_only.ReadOnlyWorksheet), _short_formats(styles):
        book = _workbook(excel.ExcelReader, styles.apply_stylesheet, parts)
    cells, room = MOST_CELLS, limits.characters
    try:
        for sheet in book.worksheets[: limits.pages]:
            blocks.heading(2, str(sheet.title))
            lines: list[list[str]] = []
            try:
                with _as_written(reader.WorkSheetParser, reader.VALUE_TAG):
                    for row in islice(sheet.iter_rows(values_only=True), MOST_ROWS):
                        lines.append(_line(row))
                        cells -= 1 + len(lines[-1]) + len(row) // _EMPTY
                        room -= sum(map(len, lines[-1]))
                        if min(cells, room) <= 0:
                            break
            except (*_FAULTS, UnreadableError):
                if not parts.full:
                    notes.append(f"a sheet is damaged after {len(lines)} rows")
            if len(lines) >= MOST_ROWS or min(cells, room) <= 0 or parts.full:
                notes.append(f"a sheet is cut after {len(lines)} rows")
            for line in lines:
                for cell in line:
                    if "://" in cell:
                        links.add_bare(cell)
            blocks.long_table(iter(lines))
            if min(cells, room) <= 0 or parts.full:
                break
        if len(book.worksheets) > limits.pages:
            notes.append(f"cut after {limits.pages} sheets")
    finally:
        book.close()
    notes += parts.damaged([one for one in parts.archive.namelist() if _CELLS.match(one)])


class _Archive:
    """The zip file as openpyxl reads it, each part up to the bounds."""

    def __init__(self, parts: Parts) -> None:
        self.namelist, self._find = parts.archive.namelist, parts.archive.getinfo
        self._cells, self._facts = parts, parts.anew()

    def read(self, name: str) -> bytes:
        """A part that is read whole. Raises KeyError where it is missing, UnreadableError where it
        is damaged or too much."""
        self._find(name)
        part = self._facts.read(name, _FACT)
        if self._facts.cut:
            raise TooMuchError(f"its part {name[:80]} has too many elements")
        return part

    def open(self, name: str, mode: str = "r") -> _Source:
        """Cells, or texts of cells: what is beyond the bounds is not there."""
        self._find(name)
        if _TEXTS not in name:
            return _Source(self._cells.pieces(name, _OF_CELL))
        part, cut = self._facts.read(name, _OF_TEXT), self._facts.cut
        if cut:
            part = part[: part.rfind(_END_OF_TEXT) + len(_END_OF_TEXT)] + _END_OF_TEXTS
            self._facts, self._cells.cut = self._cells.anew(), True
        return _Source(iter((part,)))

    def close(self) -> None:
        """Whoever opened the file closes it."""


class _Source:
    """A part as a file that is read to its end."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def read(self, size: int = 0) -> bytes:
        """The next bytes, however many; none at the end."""
        return next(self._pieces, b"")

    def close(self) -> None:
        """What is left is not unpacked."""


_FACT, _OF_TEXT, _OF_CELL = 5, 1.2, 0.5
"""How many signs of XML take as long as one in a part that openpyxl makes objects of, some 4 µs,
as one of texts that cells share, and as one of cells."""
_TEXTS = "sharedStrings"
_END_OF_TEXT, _END_OF_TEXTS = b"</si>", b"</sst>"


def _workbook(reader: Any, apply_styles: Callable[[Any, Any], object], parts: Parts) -> Any:
    """A workbook's sheets and cells. What else openpyxl reads (properties,
    themes, charts, names) is not read here, so that a date which is none in it costs no cell;
    without styles dates are numbers."""
    opened = reader(parts.archive.fp, read_only=True, data_only=True, keep_links=False)
    opened.archive = _Archive(parts)
    opened.read_chartsheet = lambda sheet, relation: None
    opened.read_manifest()
    opened.read_strings()
    opened.read_workbook()
    opened.parser.rels  # noqa: B018 (read before styles, of which there may be too many)
    with suppress(*_FAULTS, UnreadableError):
        apply_styles(opened.archive, opened.wb)
    opened.read_worksheets()
    return opened.wb


@contextmanager
def _as_written(parser: Any, value: str) -> Iterator[None]:
    """Within it a cell whose value is none of its type, as a date that no calendar has, is what is
    written there."""
    parse = parser.parse_cell

    def parse_cell(self: Any, element: Any) -> Any:
        before = self.col_counter
        try:
            return parse(self, element)
        except _FAULTS:
            self.col_counter += self.col_counter == before  # where it does not say its place
            place = {"row": self.row_counter, "column": self.col_counter}
            return {**place, "value": element.findtext(value)}

    parser.parse_cell = parse_cell
    try:
        yield
    finally:
        parser.parse_cell = parse


_LONGEST_FORMAT = 255
"""Characters of a format of numbers, as spreadsheets allow."""


@contextmanager
def _short_formats(styles: Any) -> Iterator[None]:
    """Within it longer ones are none of dates: to tell takes time in the square of the length."""
    is_date = styles.is_date_format
    styles.is_date_format = lambda written: (
        len(written or "") <= _LONGEST_FORMAT and is_date(written)
    )
    try:
        yield
    finally:
        styles.is_date_format = is_date


@contextmanager
def _unmeasured(sheet: Any) -> Iterator[None]:
    """Within it sheets are opened without the size that they say, and without a look at all their
    cells where they say none (those of Google do not). Writers say one that is not true, and cells
    beyond it would be left out."""
    measure, sheet._get_size = sheet._get_size, lambda self: None
    try:
        yield
    finally:
        sheet._get_size = measure


def _line(row: tuple[Any, ...]) -> list[str]:
    """The cells of a row up to its last that is not empty."""
    cells = ["" if cell is None else str(cell) for cell in row[:MOST_COLUMNS]]
    while cells and not cells[-1]:
        cells.pop()
    return cells


_READERS: dict[str, Reader] = {"docx": _docx, "xlsx": _xlsx, "pptx": _pptx}
_READERS |= dict.fromkeys(OPEN_DOCUMENTS, _odf)
