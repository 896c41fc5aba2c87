"""No word of an Office file or an EPUB is lost, wherever its writer put it."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping
from typing import Any

import pytest

import document_makers
from spoor.documents import office
from spoor.documents.document import Document, Unreadable
from spoor.documents.extract import extract

URL = "http://docs.example/a"


def read(body: bytes) -> Document:
    document = extract("", URL, body)
    assert isinstance(document, Document), document
    return document


def repacked(
    body: bytes, changed: Mapping[str, tuple[str, str]], more: Mapping[str, str] | None = None
) -> bytes:
    """A zip file in whose parts what fits a pattern first is replaced, and with `more` parts."""
    file = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(body)) as source,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for name in source.namelist():
            text = source.read(name)
            if name in changed:
                pattern, other = changed[name]
                text, times = re.subn(pattern.encode(), other.encode(), text, count=1)
                assert times == 1
            target.writestr(name, text)
        for name, added in (more or {}).items():
            target.writestr(name, added)
    return file.getvalue()


def _paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def _table(*cells: str) -> str:
    return "<w:tbl><w:tr>" + "".join(f"<w:tc>{cell}</w:tc>" for cell in cells) + "</w:tr></w:tbl>"


INSIDE = (
    f"<w:sdt><w:sdtPr/><w:sdtContent>{_paragraph('a control')}</w:sdtContent></w:sdt>"
    "<w:p><w:r><w:t>fire</w:t></w:r><w:ins><w:r><w:t>wood</w:t></w:r></w:ins>"
    "<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
    "<w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom><w:r><w:tab/><w:t>burns</w:t></w:r></w:p>"
    "<w:p><w:r><mc:AlternateContent xmlns:mc='http://schemas.openxmlformats.org/"
    f"markup-compatibility/2006'><mc:Choice><w:txbxContent>{_paragraph('a box')}</w:txbxContent>"
    f"</mc:Choice><mc:Fallback><w:txbxContent>{_paragraph('a box')}</w:txbxContent></mc:Fallback>"
    "</mc:AlternateContent></w:r></w:p>"
    '<w:p><w:r><w:instrText>HYPERLINK "http://docs.example/field"</w:instrText></w:r>'
    "<w:r><w:t>a field</w:t></w:r></w:p>"
    + _table(
        _paragraph("outer") + _table(_paragraph("inner")),
        '<w:tcPr><w:gridSpan w:val="2"/></w:tcPr>' + _paragraph("wide"),
        _paragraph("last"),
    )
)
NOTES = (
    "<w:footnotes xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main'>"
    f"<w:footnote w:type='separator'>{_paragraph('line')}</w:footnote>"
    f"<w:footnote w:id='2'>{_paragraph('a note')}</w:footnote></w:footnotes>"
)


def test_a_word_document() -> None:
    pytest.importorskip("docx", reason="the extra documents is not installed")
    office = "application/vnd.openxmlformats-officedocument.wordprocessingml"
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    body = repacked(
        document_makers.docx("The zanzibar kiln"),
        {
            "word/document.xml": ("</w:p>", f"</w:p>{INSIDE}"),
            "[Content_Types].xml": (
                "</Types>",
                f'<Override PartName="/word/notes.xml" ContentType="{office}.footnotes+xml"/></Types>',
            ),
            "word/_rels/document.xml.rels": (
                "</Relationships>",
                f'<Relationship Id="rN" Type="{relations}/footnotes" Target="notes.xml"/>'
                "</Relationships>",
            ),
        },
        {"word/notes.xml": NOTES},
    )
    document = read(body)
    lines = document.text.split("\n\n")
    assert lines[:5] == ["Of fire", "a control", "firewood burns", "a box", "a field"]
    assert lines[5:7] == ["outer inner\twide\t\tlast", "The zanzibar kilnThe glaze book"]
    assert lines[-1] == "a note"
    assert not {"gone", "moved", "line"} & set(document.text.split())
    anchors = {link.url: link.anchor.text for link in document.links}
    assert anchors == {
        "http://docs.example/field": "a field",
        document_makers.LINK: "The glaze book",
    }


def test_a_link_around_a_picture_damages_no_word_document() -> None:
    pytest.importorskip("docx", reason="the extra documents is not installed")
    changed = {"word/document.xml": ("The glaze book", "")}
    document = read(repacked(document_makers.docx("The zanzibar kiln"), changed))
    assert document_makers.LINK in [link.url for link in document.links]


def test_a_presentation() -> None:
    pptx = pytest.importorskip("pptx", reason="the extra documents is not installed")
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE

    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Of fire"
    slide.placeholders[1].text_frame.text = "slow\vfire"
    data: Any = CategoryChartData()  # type: ignore[no-untyped-call]
    data.categories = ["Bottle", "Bank"]
    data.add_series("Heat", (1200, 1300))
    data.add_series("Days", (9, 3))
    place = (pptx.util.Inches(1),) * 4
    chart = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *place, data).chart
    chart.has_title = True
    chart.chart_title.text_frame.text = "Kilns of Zanzibar"
    deck.save(file := io.BytesIO())
    document = read(file.getvalue())
    table = "\tHeat\tDays\nBottle\t1200\t9\nBank\t1300\t3"
    assert document.text.split("\n\n") == ["Of fire", "slow fire", "Kilns of Zanzibar", table]


def test_a_workbook_that_says_a_wrong_size() -> None:
    """As those of the most used writer of R do."""
    pytest.importorskip("openpyxl", reason="the extra documents is not installed")
    body = document_makers.xlsx("The zanzibar kiln", rows=3)
    wrong = {"xl/worksheets/sheet1.xml": ('<dimension ref="[A-Z0-9:]+"', '<dimension ref="A1"')}
    assert read(repacked(body, wrong)).text == read(body).text
    assert "1202" in read(body).text


def test_all_of_a_chapter_is_text() -> None:
    short = "<ul><li>Ash</li></ul><aside>A note</aside><footer>The end</footer>"
    changed = {"EPUB/one.xhtml": ("</h1>", f"</h1>{short}<nav><a href='#a'>Contents</a></nav>")}
    document = read(repacked(document_makers.epub("The zanzibar kiln. " * 40), changed))
    lines = document.text.split("\n\n")
    assert lines[:4] == ["Of fire", "Ash", "A note", "The end"]
    assert "Contents" not in document.text


CELL = '<c r="E3" {}><v>{}</v></c><c r="F3" t="str"><v>kept</v></c></row></sheetData>'
FAULTS = {
    "a date": ("sheet", CELL.format('t="d"', "2024-99-99"), "2024-99-99"),
    "a number": ("sheet", CELL.format('t="n"', "NaN"), "NaN"),
    "a truth value": ("sheet", CELL.format('t="b"', "perhaps"), "perhaps"),
    "a shared text": ("sheet", CELL.format('t="s"', "99999"), "99999"),
    "a style": ("sheet", CELL.format('s="none"', "77"), "77"),
    "a place": ("sheet", CELL.format("", "78").replace("E3", "3"), "78"),
    "styles": ("styles", "", "kept"),
    "a date of the file": ("core", "yesterday</dcterms:created>", "kept"),
}


@pytest.mark.parametrize(("part", "broken", "says"), FAULTS.values(), ids=FAULTS)
def test_one_fault_loses_no_workbook(part: str, broken: str, says: str) -> None:
    """A cell is what is written there; what is no cell is not read."""
    pytest.importorskip("openpyxl", reason="the extra documents is not installed")
    parts = {
        "sheet": ("xl/worksheets/sheet1.xml", "</row></sheetData>"),
        "styles": ("xl/styles.xml", "</styleSheet>"),
        "core": ("docProps/core.xml", "[^<]*</dcterms:created>"),
    }
    body = document_makers.xlsx("The zanzibar kiln", rows=3)
    sheet, end = parts["sheet"]
    name, found = parts[part]
    changes = {sheet: (end, CELL.format("", "1")), name: (found, broken)}
    document = read(repacked(body, changes))
    assert "zanzibar" in document.text
    assert says in document.text.split()
    assert "kept" in document.text.split()


_OPEN = "application/vnd.openxmlformats-officedocument."
_WORD = f"{_OPEN}wordprocessingml.document.main"
_SHOW = f"{_OPEN}presentationml.presentation.main"
OTHERS = {
    "docm": ("docx", _WORD, "application/vnd.ms-word.document.macroEnabled.main"),
    "dotx": ("docx", _WORD, f"{_OPEN}wordprocessingml.template.main"),
    "dotm": ("docx", _WORD, "application/vnd.ms-word.template.macroEnabledTemplate.main"),
    "pptm": ("pptx", _SHOW, "application/vnd.ms-powerpoint.presentation.macroEnabled.main"),
    "ppsx": ("pptx", _SHOW, f"{_OPEN}presentationml.slideshow.main"),
    "ppsm": ("pptx", _SHOW, "application/vnd.ms-powerpoint.slideshow.macroEnabled.main"),
    "potm": ("pptx", _SHOW, "application/vnd.ms-powerpoint.template.macroEnabled.main"),
    "xlsm": (
        "xlsx",
        f"{_OPEN}spreadsheetml.sheet.main",
        "application/vnd.ms-excel.sheet.macroEnabled.main",
    ),
}


@pytest.mark.parametrize(("kind", "usual", "other"), OTHERS.values(), ids=OTHERS)
def test_files_with_macros_templates_and_shows_are_read(kind: str, usual: str, other: str) -> None:
    pytest.importorskip("docx", reason="the extra documents is not installed")
    body = getattr(document_makers, kind)("The zanzibar kiln")
    changed = repacked(body, {"[Content_Types].xml": (re.escape(usual), other)})
    assert read(changed).text == read(body).text


@pytest.mark.parametrize("said", ["", "text/html", "text/plain"])
def test_an_encrypted_office_file_is_no_page(said: str) -> None:
    """It is one of the format before 2007, in which what is encrypted stands; servers say more."""
    body = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(504) + "EncryptedPackage".encode("utf-16-le")
    document = extract(said, URL, body + bytes(2_000))
    assert isinstance(document, Document)
    assert (document.kind, document.text) == ("other", "")


def test_a_sheet_that_is_damaged_is_read_so_far() -> None:
    pytest.importorskip("openpyxl", reason="the extra documents is not installed")
    body = document_makers.xlsx("The zanzibar kiln", rows=3)
    document = read(repacked(body, {"xl/worksheets/sheet1.xml": ("</sheetData>.*", "")}))
    assert "zanzibar" in document.text
    assert document.notes[0].startswith("a sheet is damaged after")


def test_a_long_workbook_is_cut_and_not_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is beyond the limit is not looked at, though the sheet does not say how large it is."""
    monkeypatch.setattr(office, "MOST_CELLS", 300)
    space = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    row = b'<row><c t="str"><v>kiln</v></c><c><v>12</v></c></row>'
    sheet = b'<worksheet xmlns="%s"><sheetData>%s</nothing>' % (space, row * 5_000)
    body = document_makers.with_part(
        document_makers.xlsx("kiln"), "xl/worksheets/sheet1.xml", sheet
    )
    document = read(body)
    assert document.text.count("kiln") == 100
    assert document.notes == ("a sheet is cut after 100 rows",)


def test_a_stray_cell_far_out_cuts_no_workbook_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(office, "MOST_CELLS", 300)
    space = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    row = b'<row r="%d"><c r="A%d" t="str"><v>kiln</v></c><c r="CW%d"/></row>'
    rows = b"".join(row % (at, at, at) for at in range(1, 41))
    sheet = b'<worksheet xmlns="%s"><sheetData>%s</sheetData></worksheet>' % (space, rows)
    body = document_makers.with_part(
        document_makers.xlsx("kiln"), "xl/worksheets/sheet1.xml", sheet
    )
    document = read(body)
    assert (document.text.count("kiln"), document.notes) == (40, ())


def test_an_odt_whose_xml_is_indented_is_read() -> None:
    body = document_makers.odt("The zanzibar kiln")
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        content = archive.read("content.xml")
    indented = content.replace(b"<office:text", b"\n  <office:text").replace(
        b"</office:text>", b"</office:text>\n"
    )
    parts = document_makers.with_part(body, "content.xml", indented)
    document = extract("application/vnd.oasis.opendocument.text", URL, parts)
    assert isinstance(document, Document)
    assert "The zanzibar kiln" in document.text
    assert [link.url for link in document.links] == [document_makers.LINK]


@pytest.mark.parametrize("kind", ["docx", "xlsx", "pptx"])
@pytest.mark.parametrize("missing", ["part", "values"])
def test_what_an_office_file_does_not_say_is_no_guess(kind: str, missing: str) -> None:
    """The libraries would say the present moment, and names of their own."""
    pytest.importorskip("docx", reason="the extra documents is not installed")
    make, media = document_makers.MAKERS[kind]
    told = read(body := make("The zanzibar kiln"))
    assert (told.title, told.author) == (document_makers.TITLE, document_makers.AUTHOR)
    changed = {
        "part": {"_rels/.rels": ("relationships/metadata/core-properties", "relationships/none")},
        "values": {"docProps/core.xml": ("(?s)(<[^>]*coreProperties[^>]*>).*(</)", r"\1\2")},
    }
    said = read(repacked(body, changed[missing]))
    assert (said.title, said.author, said.date, said.language) == ("", "", "", "")
    assert (said.text, said.media_type) == (told.text, media)


def damaged(body: bytes, name: str) -> bytes:
    """A zip file of which one part is not what its checksum says."""
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        part = archive.getinfo(name)
    begin = part.header_offset + 26
    size = sum(int.from_bytes(body[at : at + 2], "little") for at in (begin, begin + 2))
    at = begin + 4 + size + part.compress_size // 2
    return body[:at] + bytes([body[at] ^ 0xFF]) + body[at + 1 :]


NEEDED = {
    "docx": ["word/document.xml"],
    "pptx": ["ppt/slides/slide1.xml"],
    "odt": ["content.xml", "mimetype"],
    "xlsx": [
        *("xl/worksheets/sheet1.xml", "xl/sharedStrings.xml", "xl/workbook.xml"),
        *("[Content_Types].xml", "xl/_rels/workbook.xml.rels"),  # openpyxl finds the sheets by them
    ],
}


@pytest.mark.parametrize("kind", NEEDED)
def test_no_damaged_part_without_text_loses_a_word(kind: str) -> None:
    """A theme, a thumbnail, a font, a layout, the relations: each at a time."""
    pytest.importorskip("docx", reason="the extra documents is not installed")
    body = getattr(document_makers, kind)("The zanzibar kiln")
    words, read_so_far = set(read(body).text.split()), 0
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        names = [one.filename for one in archive.infolist() if one.compress_size > 2]
    for name in names:
        if name in NEEDED[kind]:
            continue
        document = read(damaged(body, name))
        assert set(document.text.split()) >= words - {"-"}, name
        assert any(name in note for note in document.notes), (name, document.notes)
        read_so_far += 1
    assert read_so_far == {"docx": 16, "pptx": 37, "odt": 3, "xlsx": 5}[kind]


@pytest.mark.parametrize(
    ("kind", "part"), [("docx", "word/document.xml"), ("pptx", "ppt/slides/slide1.xml")]
)
def test_what_an_office_file_leads_to_need_not_be_there(kind: str, part: str) -> None:
    pytest.importorskip("docx", reason="the extra documents is not installed")
    body = getattr(document_makers, kind)("The zanzibar kiln")
    folder, _, name = part.rpartition("/")
    nowhere = '<Relationship Id="rN" Type="http://a.example/{}" Target="none.xml"/></Relationships>'
    for lacks in ("image", "unheard-of", "chart", "footnotes"):
        changed = {f"{folder}/_rels/{name}.rels": ("</Relationships>", nowhere.format(lacks))}
        document = read(repacked(body, changed))
        assert document.text == read(body).text
        if lacks == {"docx": "footnotes", "pptx": "chart"}[kind]:
            assert "none.xml" in document.notes[0]
            assert "left out" in document.notes[0]


def test_slides_that_are_whole_are_read() -> None:
    pptx = pytest.importorskip("pptx", reason="the extra documents is not installed")
    deck = pptx.Presentation()
    for title in ("first", "second", "third"):
        deck.slides.add_slide(deck.slide_layouts[0]).shapes.title.text = title
    deck.save(file := io.BytesIO())
    document = read(damaged(file.getvalue(), "ppt/slides/slide2.xml"))
    assert document.text.split() == ["first", "third"]
    assert document.notes == ("parts (ppt/slides/slide2.xml) left out: damaged, or missing",)
    document = read(damaged(file.getvalue(), "ppt/presentation.xml"))
    assert document.text.split() == ["first", "second", "third"]
    found = extract("", URL, damaged(document_makers.pptx("kiln"), "ppt/slides/slide1.xml"))
    assert isinstance(found, Unreadable)
    assert "slides" in found.reason
