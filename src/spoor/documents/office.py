"""Office formats, by the libraries of the extra `documents`."""

from __future__ import annotations

import io
import math
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any
from xml.etree.ElementTree import Element

from spoor.documents.blocks import MOST_COLUMNS, MOST_ROWS, Blocks, one_line
from spoor.documents.declared import iso_date, language_tag, people
from spoor.documents.document import Document, Limits
from spoor.documents.errors import UnreadableError
from spoor.documents.kinds import KINDS, import_reader
from spoor.documents.links import Links
from spoor.documents.package import Package
from spoor.documents.slides import read_slides
from spoor.documents.word import read_docx
from spoor.documents.zipped import DAMAGED, damaged_in, open_zip, part_of, tree_of

Reader = Callable[[zipfile.ZipFile, Blocks, Links, list[str], Limits], None]


def read_office(kind: str, url: str, body: bytes, limits: Limits) -> Document:
    """A `docx`, `xlsx`, `pptx` or `odt`. Raises UnreadableError, InputError without the extra, and
    whatever the libraries raise for a damaged one."""
    blocks, links, notes = Blocks(limits.characters), Links(url, limits.links), list[str]()
    with open_zip(body, limits) as archive:
        facts = _open_document(archive) if kind == "odt" else _core_properties(archive)
        _READERS[kind](archive, blocks, links, notes, limits)
    if blocks.cut:
        notes.append(f"cut after {limits.characters} characters")
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


def _core_properties(archive: zipfile.ZipFile) -> dict[str, Any]:
    """What a package says of itself; the libraries put names and the present moment in place of
    what it does not say."""
    try:
        relations = tree_of(archive, "_rels/.rels").iter()
        kinds = {one.get("Type", "").rpartition("/")[2]: one.get("Target", "") for one in relations}
        tree = tree_of(archive, kinds.get("core-properties", "").lstrip("/"))
    except UnreadableError:
        return {}
    return _by_name(tree)


def _open_document(archive: zipfile.ZipFile) -> dict[str, Any]:
    """The same of an OpenDocument file."""
    try:
        facts = _by_name(tree_of(archive, "meta.xml").iter())
    except UnreadableError:
        return {}
    facts["creator"] = facts.get("creator") or facts.get("initial-creator")
    return facts | {"created": facts.get("creation-date"), "modified": facts.get("date")}


def _by_name(elements: Iterable[Element]) -> dict[str, Any]:
    return {str(one.tag).rpartition("}")[2]: one.text for one in elements}


def _docx(
    archive: zipfile.ZipFile, blocks: Blocks, links: Links, notes: list[str], limits: Limits
) -> None:
    package = Package(archive, "docx")
    read_docx(package, blocks, links)
    notes += package.notes()


def _pptx(
    archive: zipfile.ZipFile, blocks: Blocks, links: Links, notes: list[str], limits: Limits
) -> None:
    package = Package(archive, "pptx")
    notes += read_slides(package, archive.namelist(), blocks, links, limits)
    notes += package.notes()


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


def _xlsx(
    archive: zipfile.ZipFile, blocks: Blocks, links: Links, notes: list[str], limits: Limits
) -> None:
    _, read_only, reader, excel, styles = import_reader(
        "xlsx",
        "openpyxl.worksheet._read_only",
        "openpyxl.worksheet._reader",
        "openpyxl.reader.excel",
        "openpyxl.styles.stylesheet",
    )
    with _unmeasured(read_only.ReadOnlyWorksheet), _short_formats(styles):
        book = _workbook(excel.ExcelReader, styles.apply_stylesheet, archive.fp)
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
            except _FAULTS:
                notes.append(f"a sheet is damaged after {len(lines)} rows")
            if len(lines) >= MOST_ROWS or min(cells, room) <= 0:
                notes.append(f"a sheet is cut after {len(lines)} rows")
            for line in lines:
                for cell in line:
                    if "://" in cell:
                        links.add_bare(cell)
            blocks.long_table(iter(lines))
            if min(cells, room) <= 0:
                break
        if len(book.worksheets) > limits.pages:
            notes.append(f"cut after {limits.pages} sheets")
    finally:
        book.close()
    notes += damaged_in(archive, [one for one in archive.namelist() if _CELLS.match(one)])


def _workbook(reader: Any, apply_styles: Callable[[Any, Any], object], file: Any) -> Any:
    """A workbook's sheets and cells. What else openpyxl reads (properties, themes, charts, names)
    is not read here, so that a date which is none in it costs no cell; without styles dates are
    numbers."""
    opened = reader(file, read_only=True, data_only=True, keep_links=False)
    opened.read_chartsheet = lambda sheet, relation: None
    opened.read_manifest()
    opened.read_strings()
    opened.read_workbook()
    with suppress(*_FAULTS):
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


# ---------------------------------------------------------------- odt


_ODT = "application/vnd.oasis.opendocument.text"
_MANIFEST = f"""<manifest:manifest
 xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">
<manifest:file-entry manifest:full-path="/" manifest:media-type="{_ODT}"/>
<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>
</manifest:manifest>"""


def _text_alone(archive: zipfile.ZipFile) -> io.BytesIO:
    """The same document without its pictures, of which a damaged one would lose all."""
    content, file = part_of(archive, "content.xml"), io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("mimetype", _ODT)
        made.writestr("META-INF/manifest.xml", _MANIFEST)
        made.writestr("content.xml", content)
    return file


def _odt(
    archive: zipfile.ZipFile, blocks: Blocks, links: Links, notes: list[str], limits: Limits
) -> None:
    names = ("odf.opendocument", "odf.text", "odf.table")
    _, opendocument, text, table = import_reader("odt", *names)
    document = opendocument.load(_text_alone(archive))
    notes += damaged_in(archive)
    kinds = {
        element(check_grammar=False).qname: kind
        for kind, element in (
            ("h", text.H),
            ("p", text.P),
            ("item", text.ListItem),
            ("table", table.Table),
            ("row", table.TableRow),
            ("cell", table.TableCell),
            ("a", text.A),
            ("blank", text.S),
            ("blank", text.Tab),
            ("break", text.LineBreak),
        )
    }

    def plain(node: Any, most: float = math.inf) -> str:
        return _plain(node, lambda name: _SIGNS.get(kinds.get(name, ""), ""), most)

    def inside(node: Any, kind: str) -> Iterator[Any]:
        return _outermost(node, lambda name: kinds.get(name) == kind)

    # What `document.text` says is the first node in the body, which may be a blank.
    body = next((one for one in document.body.childNodes if one.nodeType == 1), document.body)
    waiting: list[tuple[Any, int]] = [(body, -1)]
    while waiting and not blocks.full:
        node, depth = waiting.pop()
        kind = kinds.get(getattr(node, "qname", None), "")
        if kind == "h":
            level = str(node.getAttribute("outlinelevel") or 1)
            blocks.heading(min(6, int(level)) if level.isdecimal() else 1, plain(node))
        elif kind == "p":
            if depth < 0:
                blocks.paragraph(plain(node))
            else:
                blocks.item(plain(node), depth=depth)
        elif kind == "table":
            blocks.long_table(
                [plain(cell) for cell in inside(row, "cell")] for row in inside(node, "row")
            )
        else:
            inner = [child for child in node.childNodes if child.nodeType == 1]
            waiting += [(child, depth + (kind == "item")) for child in reversed(inner)]
    for link in _elements(body):
        if kinds.get(link.qname) == "a":
            links.add(link.getAttribute("href"), plain(link, _MOST_OF_LINK))


_SIGNS = {"blank": " ", "break": "\n"}
_MOST_OF_LINK = 1_000
"""Characters and elements of a link that are read: one may stand in another, hundreds of times."""


def _elements(node: Any, ends: Callable[[Any], bool] = lambda name: False) -> Iterator[Any]:
    """The elements below one, in order, but those inside one whose name `ends` the way."""
    waiting = [node]
    while waiting:
        inner = waiting.pop()
        if inner is not node:
            yield inner
            if ends(inner.qname):
                continue
        waiting += [child for child in reversed(inner.childNodes) if child.nodeType == 1]


def _outermost(node: Any, wanted: Callable[[Any], bool]) -> Iterator[Any]:
    """Those of the wanted names, but those inside one another: a table in a cell is text of it."""
    return (inner for inner in _elements(node, wanted) if wanted(inner.qname))


def _plain(node: Any, sign: Callable[[Any], str], most: float) -> str:
    """The text of an element, each of its nodes looked at once; of at most so many characters and
    nodes. `sign`: what an element of a name stands for, without its content."""
    words: list[str] = []
    waiting = [node]
    while waiting and most > 0:
        inner = waiting.pop()
        most -= 1
        if inner.nodeType == 3:
            words.append(inner.data)
            most -= len(inner.data)
        elif inner.nodeType == 1:
            if found := sign(inner.qname):
                words.append(found)
            else:
                waiting += reversed(inner.childNodes)
    return "".join(words)


_READERS: dict[str, Reader] = {"docx": _docx, "xlsx": _xlsx, "pptx": _pptx, "odt": _odt}
