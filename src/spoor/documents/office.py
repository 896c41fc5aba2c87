"""Office formats, by the libraries of the extra `documents`."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice, zip_longest
from typing import Any
from xml.etree.ElementTree import Element

from spoor.documents.blocks import MOST_COLUMNS, MOST_ROWS, Blocks, one_line
from spoor.documents.declared import iso_date, language_tag, people
from spoor.documents.document import Document, Limits
from spoor.documents.errors import UnreadableError
from spoor.documents.kinds import KINDS, import_reader
from spoor.documents.links import Links
from spoor.documents.word import read_docx
from spoor.documents.zipped import open_zip, tree_of

Reader = Callable[[Any, Blocks, Links, list[str], Limits], None]


def read_office(kind: str, url: str, body: bytes, limits: Limits) -> Document:
    """A `docx`, `xlsx`, `pptx` or `odt`. Raises UnreadableError, InputError without the extra, and
    whatever the libraries raise for a damaged one."""
    with open_zip(body, limits) as archive:
        facts = _open_document(archive) if kind == "odt" else _core_properties(archive)
    blocks, links, notes = Blocks(limits.characters), Links(url, limits.links), list[str]()
    _READERS[kind](io.BytesIO(body), blocks, links, notes, limits)
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


def _docx(file: Any, blocks: Blocks, links: Links, notes: list[str], limits: Limits) -> None:
    read_docx(file, blocks, links)


# ---------------------------------------------------------------- xlsx

MOST_CELLS = 200_000
"""Of a workbook, counting rows too: an honest one may have millions of cells, each some 10 µs."""
_EMPTY = 20
"""Empty cells at the end of a row that take as long as one."""


_FAULTS = (ArithmeticError, AttributeError, LookupError, SyntaxError, TypeError, ValueError)
"""What openpyxl raises for a part that is not as it should be; broken XML is a SyntaxError."""


def _xlsx(file: Any, blocks: Blocks, links: Links, notes: list[str], limits: Limits) -> None:
    _, read_only, reader, excel, styles = import_reader(
        "xlsx",
        "openpyxl.worksheet._read_only",
        "openpyxl.worksheet._reader",
        "openpyxl.reader.excel",
        "openpyxl.styles.stylesheet",
    )
    with _unmeasured(read_only.ReadOnlyWorksheet):
        book = _workbook(excel.ExcelReader, styles.apply_stylesheet, file)
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


# ---------------------------------------------------------------- pptx


_OTHER_SHOWS = ("slideshow", "template")
"""Those with macros, which are never run, that the library does not know (ppsm, potm)."""


def _pptx(file: Any, blocks: Blocks, links: Links, notes: list[str], limits: Limits) -> None:
    _, oxml, opc, package, part = import_reader(
        "pptx", "pptx.oxml", "pptx.opc.package", "pptx.package", "pptx.parts.presentation"
    )
    for kind in _OTHER_SHOWS:
        media_type = f"application/vnd.ms-powerpoint.{kind}.macroEnabled.main+xml"
        opc.PartFactory.part_type_for.setdefault(media_type, part.PresentationPart)
    # `pptx.Presentation` refuses shows and templates, which differ in nothing that is read here.
    deck = package.Package.open(file).main_document_part.presentation
    slides = list(deck.slides)
    for slide in slides[: limits.pages]:
        title = slide.shapes.title
        heading = "" if title is None else title.text_frame.text
        blocks.heading(2, heading)
        for shape in _shapes(slide.shapes):
            if shape.shape_id == (title.shape_id if title is not None else -1):
                continue
            if getattr(shape, "has_table", False):
                blocks.long_table([cell.text for cell in row.cells] for row in shape.table.rows)
            elif shape.has_text_frame:
                for paragraph in shape.text_frame.paragraphs:
                    blocks.item(paragraph.text, depth=paragraph.level)
                    for run in paragraph.runs:
                        links.add(run.hyperlink.address, run.text, headings=(heading,))
        for relation in slide.part.rels.values():
            add = _DRAWN.get(relation.reltype.rpartition("/")[2])
            if add is not None and not relation.is_external:
                add(oxml.parse_xml(relation.target_part.blob), blocks)
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            blocks.paragraph(slide.notes_slide.notes_text_frame.text, kind="quote")
    if len(slides) > limits.pages:
        notes.append(f"cut after {limits.pages} of {len(slides)} slides")


_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_MOST_SERIES = MOST_COLUMNS - 1


def _chart(space: Any, blocks: Blocks) -> None:
    """Its title, and its series as columns of a table; as the file keeps them beside the workbook
    that they came from."""
    for title in space.iter(f"{_CHART}title"):
        blocks.paragraph(_written(title))
    series = list(islice(space.iter(f"{_CHART}ser"), _MOST_SERIES))
    names = [" ".join(_values(one, "tx")) for one in series]
    labels = max((_values(one, "cat", "xVal") for one in series), key=len, default=[])
    columns = [
        [name, *_values(one, "val", "yVal")] for name, one in zip(names, series, strict=True)
    ]
    blocks.long_table(zip_longest(["", *labels], *columns, fillvalue=""))


def _values(series: Any, *names: str) -> list[str]:
    found = (series.find(_CHART + name) for name in names)
    part = next((one for one in found if one is not None), None)
    inner = [] if part is None else part.iter(f"{_CHART}v")
    return [one.text or "" for one in islice(inner, MOST_ROWS)]


def _diagram(data: Any, blocks: Blocks) -> None:
    """The points of SmartArt."""
    for paragraph in islice(data.iter(f"{_DRAWING}p"), MOST_ROWS):
        blocks.item(_written(paragraph))


_DRAWN: dict[str, Callable[[Any, Blocks], None]] = {"chart": _chart, "diagramData": _diagram}
"""What a slide holds beside its shapes, by the last word of its relation."""


def _written(element: Any) -> str:
    return "".join(text.text or "" for text in element.iter(f"{_DRAWING}t"))


def _shapes(shapes: Any) -> Iterator[Any]:
    """All shapes, those in groups too."""
    waiting = list(reversed(list(shapes)))
    for _ in range(10_000):
        if not waiting:
            return
        shape = waiting.pop()
        inner = getattr(shape, "shapes", None)
        if inner is None:
            yield shape
        else:
            waiting += reversed(list(inner))


# ---------------------------------------------------------------- odt


def _odt(file: Any, blocks: Blocks, links: Links, notes: list[str], limits: Limits) -> None:
    names = ("odf.opendocument", "odf.teletype", "odf.text", "odf.table")
    _, opendocument, teletype, text, table = import_reader("odt", *names)
    document = opendocument.load(file)
    plain = teletype.extractText
    kinds = {
        element(check_grammar=False).qname: kind
        for kind, element in (
            ("h", text.H),
            ("p", text.P),
            ("item", text.ListItem),
            ("table", table.Table),
        )
    }
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
            rows = node.getElementsByType(table.TableRow)
            cells = (
                [plain(cell) for cell in row.getElementsByType(table.TableCell)] for row in rows
            )
            blocks.long_table(cells)
        else:
            inner = [child for child in node.childNodes if child.nodeType == 1]
            waiting += [(child, depth + (kind == "item")) for child in reversed(inner)]
    for link in body.getElementsByType(text.A):
        links.add(link.getAttribute("href"), plain(link))


_READERS: dict[str, Reader] = {"docx": _docx, "xlsx": _xlsx, "pptx": _pptx, "odt": _odt}
