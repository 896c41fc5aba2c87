"""Documents of a few kilobytes that were made to cost seconds, and documents for which memory is
short."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Mapping

import pytest

import document_makers
from spoor import isolate
from spoor.documents.document import Document
from spoor.documents.rows import document_row_of
from spoor.isolate import Bounds, GivenUpError, bounded

pytest.importorskip("odf", reason="the extra documents is not installed")

URL = "http://docs.example/a"
SECONDS = 2.0
"""Each takes less than one; the first of a kind loads its libraries too."""


def zipped(parts: Mapping[str, str]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, text in parts.items():
            stored = zipfile.ZIP_STORED if name == "mimetype" else None
            archive.writestr(name, text, stored)
    return file.getvalue()


def pdf_of_one_stream(drawn: bytes, pages: int = 2_000) -> bytes:
    """Pages that are packed themselves, and all show the same contents."""
    contents = zlib.compress(drawn, 9)
    kids = b" ".join(b"%d 0 R" % (6 + page) for page in range(pages))
    objects = [b"<</Type/Pages/Count %d/Kids[%s]/MediaBox[0 0 600 800]>>" % (pages, kids)]
    objects += [
        b"<</Type/Page/Parent 2 0 R/Contents 3 0 R/Resources<</Font<</F 4 0 R>>>>>>"
    ] * pages
    numbers = [2, *range(6, 6 + pages)]
    places = [sum(len(one) + 1 for one in objects[:1]) * (at > 0) for at in range(2)]
    length = len(objects[-1]) + 1
    begins = [places[0], *(places[1] + length * page for page in range(pages))]
    head = b" ".join(b"%d %d" % pair for pair in zip(numbers, begins, strict=True)) + b"\n"
    packed = zlib.compress(head + b"\n".join(objects) + b"\n", 9)
    stream = b"<</Length %d/Filter/FlateDecode%s>>stream\n%s\nendstream"
    written = {
        1: b"<</Type/Catalog/Pages 2 0 R>>",
        3: stream % (len(contents), b"", contents),
        4: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        5: stream % (len(packed), b"/Type/ObjStm/N %d/First %d" % (pages + 1, len(head)), packed),
    }
    body, found = b"%PDF-1.5\n", {}
    for number, value in written.items():
        found[number] = b"\1%b\0\0" % len(body).to_bytes(4, "big")
        body += b"%d 0 obj\n%s\nendobj\n" % (number, value)
    for at, number in enumerate(numbers):
        found[number] = b"\2\0\0\0\5" + at.to_bytes(2, "big")
    last = 6 + pages
    found[last] = b"\1%b\0\0" % len(body).to_bytes(4, "big")
    rows = zlib.compress(b"".join(found.get(number, bytes(7)) for number in range(last + 1)), 9)
    facts = b"/Type/XRef/Size %d/W[1 4 2]/Root 1 0 R" % (last + 1)
    table = stream % (len(rows), facts, rows)
    return b"%b%d 0 obj\n%b\nendobj\nstartxref\n%d\n%%%%EOF" % (body, last, table, len(body))


def text_boxes() -> bytes:
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    inner = f"<w:p>{'<w:r><w:t>a</w:t></w:r>' * 60_000}</w:p>"
    for _ in range(80):
        inner = f"<w:p><w:r><w:txbxContent>{inner}</w:txbxContent></w:r></w:p>"
    types = "http://schemas.openxmlformats.org/package/2006/content-types"
    override = f'<Override PartName="/word/document.xml" ContentType="{kind}"/>'
    return zipped(
        {
            "[Content_Types].xml": f'<Types xmlns="{types}">{override}</Types>',
            "word/document.xml": f"<w:document {space}><w:body>{inner}</w:body></w:document>",
        }
    )


def long_format() -> bytes:
    import openpyxl  # type: ignore[import-untyped]

    book = openpyxl.Workbook()
    book.active.append(["kilns", 1.5])
    book.active["B1"].number_format = "0.000#MARK"
    file = io.BytesIO()
    book.save(file)
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    return zipped({name: text.replace("#MARK", "[" * 200_000) for name, text in parts.items()})


def odt(body: str) -> bytes:
    names = "".join(
        f' xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "text", "table")
    )
    names += ' xmlns:xlink="http://www.w3.org/1999/xlink"'
    return zipped(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": f"<office:document-content{names}><office:body><office:text>{body}"
            "</office:text></office:body></office:document-content>",
        }
    )


def nested(inner: str, depth: int) -> str:
    cell = "<table:table><table:table-row><table:table-cell>"
    end = "</table:table-cell></table:table-row></table:table>"
    return cell * depth + inner + end * depth


def rows_in_tables() -> bytes:
    cells = f"<table:table-row>{'<table:table-cell/>' * 50}</table:table-row>"
    inner = f"<text:p>kilns</text:p><table:table>{cells * 400}</table:table>"
    return odt(nested(inner, 300))


def epub(chapters: Mapping[str, str], order: list[str]) -> bytes:
    files = "".join(f'<item id="{name}" href="{name}.xhtml"/>' for name in chapters)
    spine = "".join(f'<itemref idref="{name}"/>' for name in order)
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": "<container"
            ' xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
            '<rootfiles><rootfile full-path="c.opf"/></rootfiles></container>',
            "c.opf": '<package xmlns="http://www.idpf.org/2007/opf">'
            f"<manifest>{files}</manifest><spine>{spine}</spine></package>",
            **{
                f"{name}.xhtml": f'<html xmlns="http://www.w3.org/1999/xhtml"><body>{text}'
                "</body></html>"
                for name, text in chapters.items()
            },
        }
    )


def one_chapter() -> bytes:
    return epub({"a": "<p>a few words on kilns</p>" * 200}, ["a"] * 2_000)


LINE = b"(of kilns and of clay) Tj T*\n"
SMALL: dict[str, tuple[Callable[[], bytes], int]] = {
    "pdf of text": (lambda: pdf_of_one_stream(b"BT /F 8 Tf 9 TL %bET" % (LINE * 400)), 101),
    "pdf of drawings": (lambda: pdf_of_one_stream(b"1 1 2 2 re f\n" * 6_000), 0),
    "pdf of nothing": (lambda: pdf_of_one_stream(b"q Q\n" * 30_000), 0),
    "docx": (text_boxes, 0),
    "xlsx": (long_format, 1),
    "odt": (rows_in_tables, 1),
    "epub": (one_chapter, 200),
}
"""Name → how it is made, and how often it says `kilns` at least."""


@pytest.mark.parametrize("name", SMALL)
def test_a_small_document_takes_little_time(name: str) -> None:
    make, times = SMALL[name]
    body = make()
    assert len(body) < 25_000
    document = isolate.extract("", URL, body, seconds=SECONDS)
    assert isinstance(document, Document), document
    assert document.kind == name.split()[0]
    assert document.text.count("kilns") >= times


def test_pages_that_share_their_contents_are_told() -> None:
    pytest.importorskip("pypdfium2", reason="the extra documents is not installed")
    shared = isolate.extract("", URL, pdf_of_one_stream(b"BT /F 8 Tf (kilns) Tj ET"))
    assert isinstance(shared, Document)
    assert shared.notes == ("2000 pages share the contents of a few: some are left out",)
    own = isolate.extract("", URL, document_makers.pdf("kilns", pages=300))
    assert isinstance(own, Document)
    assert (own.text.count("kilns"), own.notes) == (300, ())


def test_text_in_tables_in_tables_is_text_once() -> None:
    for depth in (1, 2, 3, 900):  # deeper than the stack of Python
        document = isolate.extract("", URL, odt(nested("<text:p>kilns</text:p>", depth)))
        assert isinstance(document, Document), document
        assert document.text == "kilns"


def test_links_in_text_boxes_are_found_once_wherever_they_stand() -> None:
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"

    def box(text: str, inner: str = "") -> str:
        field = f'<w:r><w:instrText>HYPERLINK "http://{text}.example/"</w:instrText></w:r>'
        boxed = f"<w:r><w:txbxContent>{inner}</w:txbxContent></w:r>" if inner else ""
        return f"<w:p><w:r><w:t>{text}</w:t></w:r>{boxed}{field}</w:p>"

    in_cell = f"<w:tbl><w:tr><w:tc>{box('d', box('e'))}</w:tc></w:tr></w:tbl>"
    body = document_makers.with_part(
        document_makers.docx("kilns"),
        "word/document.xml",
        f'<w:document xmlns:w="{space}"><w:body>{box("a", box("b", box("c")))}{in_cell}'
        "</w:body></w:document>".encode(),
    )
    document = isolate.extract("", URL, body)
    assert isinstance(document, Document)
    found = [link.url for link in document.links]
    assert sorted(found) == [f"http://{name}.example/" for name in "abcde"]


def test_a_chapter_that_is_named_again_is_read_once() -> None:
    chapters = {"a": "<p>first</p>", "b": "<p>second</p>"}
    document = isolate.extract("", URL, epub(chapters, ["a", "b", "a", "b", "b"]))
    assert isinstance(document, Document)
    assert document.text == "first\n\nsecond"
    assert document.notes == ("chapters named again are read once (3)",)


PARAGRAPHS = "<p>a few words on kilns</p>\n" * 40_000
LARGE = {
    "html": PARAGRAPHS.encode(),
    "epub": epub({"a": PARAGRAPHS, "b": PARAGRAPHS}, ["a", "b"]),
    "docx": text_boxes(),
}


@pytest.mark.parametrize("kind", LARGE)
def test_a_document_for_which_memory_is_short_is_not_called_damaged(kind: str) -> None:
    facts = {"url": URL, "content_type": "text/html" if kind == "html" else ""}
    isolate.close()  # one that has read much has room left that it got before
    fine, given_up = 0, 0
    for megabytes in (16, 20, 24, 28, 32, 36, 40, 44, 120):
        bounds = Bounds(8.0, megabytes << 20, 0)
        try:
            row = bounded(document_row_of, LARGE[kind], facts, bounds=bounds)
        except GivenUpError:
            given_up += 1
        else:
            assert "damaged" not in row.get("unreadable", "")
            assert not any("damaged" in note for note in row["notes"])
            fine += 1
    assert fine
    assert given_up
