"""Documents of a few kilobytes that were made to cost seconds, and documents for which memory is
short."""

from __future__ import annotations

import gc
import io
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec

import pytest

import document_makers
from attacks.measure import MEASURED, MEMORY, PER_BYTE, SLOW, Note, within_law
from attacks.measure import SECONDS as LAW_SECONDS
from spoor.documents.document import Document
from spoor.documents.extract import extract
from spoor.documents.rows import document_row_of
from spoor.isolate import helper_pool, parsing
from spoor.isolate.bounds import Bounds
from spoor.isolate.helper import GivenUpError
from spoor.isolate.helper_pool import bounded

pytestmark = pytest.mark.skipif(find_spec("odf") is None, reason="odfpy is not installed")

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


def pdf_of_one_stream(drawn: bytes, pages: int = 2_000, more: bytes = b"") -> bytes:
    """Pages that are packed themselves, and all show the same contents, and say the same `more`."""
    contents = zlib.compress(drawn, 9)
    kids = b" ".join(b"%d 0 R" % (6 + page) for page in range(pages))
    objects = [b"<</Type/Pages/Count %d/Kids[%s]/MediaBox[0 0 600 800]>>" % (pages, kids)]
    objects += [
        b"<</Type/Page/Parent 2 0 R/Contents 3 0 R%b/Resources<</Font<</F 4 0 R>>>>>>" % more
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
    inner = f"<w:p>{'<w:r><w:t>a</w:t></w:r>' * 20_000}</w:p>"
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


def workbook(changed: Mapping[str, Callable[[str], str]]) -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["kilns", 1.5])
    book.save(file := io.BytesIO())
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    return zipped(parts | {name: change(parts.get(name, "")) for name, change in changed.items()})


SHEET = "xl/worksheets/sheet1.xml"
SPACE = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
INLINE = '<row><c t="inlineStr"><is><t>kilns</t></is></c></row>'


def rows(written: str, first: str = INLINE) -> str:
    return f'<worksheet xmlns="{SPACE}"><sheetData>{first}{written}</sheetData></worksheet>'


def sheet(written: str) -> bytes:
    return workbook({SHEET: lambda _: rows(written)})


def shared(texts: str) -> bytes:
    """A workbook whose only cell shows the first of the texts that all sheets share."""
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    one = f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kind}"/>'
    return workbook(
        {
            "xl/sharedStrings.xml": lambda _: f'<sst xmlns="{SPACE}">{texts}</sst>',
            "[Content_Types].xml": lambda old: old.replace("</Types>", one + "</Types>"),
            SHEET: lambda _: rows("", '<row><c t="s"><v>0</v></c></row>'),
        }
    )


def docx(body: str) -> bytes:
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    first = "<w:p><w:r><w:t>kilns</w:t></w:r></w:p>"
    text = f"<w:document {space}><w:body>{first}{body}</w:body></w:document>"
    made = document_makers.docx("kilns")
    return document_makers.with_part(made, "word/document.xml", text.encode())


def pptx(times: int) -> bytes:
    made, name = document_makers.pptx("kilns"), "ppt/slides/slide1.xml"
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        slide = archive.read(name)
    inner = b"<a:p><a:r><a:t>a</a:t></a:r></a:p>" * times
    before, end, after = slide.rpartition(b"</p:txBody>")
    return document_makers.with_part(made, name, before + inner + end + after)


def feed(inner: bytes) -> bytes:
    space = b'xmlns:xhtml="http://www.w3.org/1999/xhtml"'
    first = b"<item><title>kilns</title></item>"
    return b'<rss version="2.0" %b><channel>%b%b</channel></rss>' % (space, first, inner)


FIRST = "<text:p>kilns</text:p>"
CELL = "<table:table-cell><text:p>a</text:p></table:table-cell>"
ROW = f"<table:table-row>{CELL * 90}</table:table-row>"
LONG: dict[str, Callable[[], bytes]] = {
    "odt, paragraphs": lambda: odt(FIRST + "<text:p>a</text:p>" * 300_000),
    "odt, empty paragraphs": lambda: odt(FIRST + "<text:p/>" * 500_000),
    "odt, one paragraph": lambda: odt(
        f"{FIRST}<text:p>{'<text:span>a</text:span>' * 300_000}</text:p>"
    ),
    "odt, a table": lambda: odt(f"{FIRST}<table:table>{ROW * 3_000}</table:table>"),
    "odt, links": lambda: odt(
        FIRST + '<text:a xlink:href="http://a.example/">a</text:a>' * 200_000
    ),
    "odt, attributes": lambda: odt(FIRST + '<text:p text:id="a" text:style-name="b"/>' * 300_000),
    "docx, paragraphs": lambda: docx("<w:p><w:r><w:t>a</w:t></w:r></w:p>" * 250_000),
    "docx, empty paragraphs": lambda: docx("<w:p/>" * 1_000_000),
    "docx, a table": lambda: docx(
        f"<w:tbl>{'<w:tr>' + '<w:tc><w:p/></w:tc>' * 90 + '</w:tr>'}</w:tbl>" * 4_000
    ),
    "pptx, paragraphs": lambda: pptx(250_000),
    "epub, chapters": lambda: epub(
        {f"c{at}": "<p>kilns</p>" * 1_000 for at in range(400)}, [f"c{at}" for at in range(400)]
    ),
    "epub, short chapters": lambda: epub(
        {f"c{at}": "<p>kilns</p>" for at in range(2_000)}, [f"c{at}" for at in range(2_000)]
    ),
    "epub, bold letters": lambda: epub(
        {f"c{at}": "<p>kilns</p>" + "<b>a</b> " * 120_000 for at in range(60)},
        [f"c{at}" for at in range(60)],
    ),
    "xlsx, wide rows": lambda: sheet(f"<row>{'<c><v>1</v></c>' * 16_000}</row>" * 100),
    "xlsx, what is no row": lambda: sheet("<x/>" * 1_500_000),
    "xlsx, one cell": lambda: sheet(
        f'<row><c t="inlineStr"><is>{"<r><t>a</t></r>" * 500_000}</is></c></row>'
    ),
    "xlsx, texts": lambda: shared("<si><t>kilns</t></si>" + "<si><t>a</t></si>" * 500_000),
    "xlsx, parts of a text": lambda: shared(
        "<si><t>kilns</t></si><si>" + "<r><t>a</t></r>" * 500_000 + "</si>"
    ),
    "xlsx, fonts": lambda: workbook(
        {"xl/styles.xml": lambda old: old.replace("</fonts>", "<font/>" * 250_000 + "</fonts>")}
    ),
    "feed, entries": lambda: feed(
        b"<item><title>a</title><link>http://a.b/</link></item>" * 20_000
    ),
    "feed, categories": lambda: feed(b"<item>" + b"<category>a</category>" * 48_000 + b"</item>"),
    "feed, open elements": lambda: feed(b"<a>" * 350_000),
    "feed, attributes": lambda: feed(
        b"<item " + b" ".join(b"a%d='b'" % at for at in range(70_000)) + b"/>"
    ),
    "feed, xhtml": lambda: feed(b"<xhtml:div>" + b"<xhtml:b>a</xhtml:b>" * 50_000),
    "json, numbers": lambda: b'["kilns",' + b"1," * (1 << 19) + b"1]",
    "markdown, links that end nowhere": lambda: b"# kilns\n\n" + b"[a](" * (1 << 18),
    "markdown, rows": lambda: b"# kilns\n\n" + b"|a|\n|b|\n" * (1 << 17),
}
"""Documents of many parts: what is read of them has a bound, and comes out."""


@pytest.fixture
def as_in_a_helper() -> Iterator[None]:
    """A helper collects garbage after each document."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("as_in_a_helper")
@pytest.mark.parametrize("name", LONG)
def test_a_document_of_many_parts_costs_what_html_costs(name: str, record_property: Note) -> None:
    """By the law for HTML, half a second and 64 MiB and 20 times its size: a helper has these bounds.
    The table of attacks says what it took."""
    body = LONG[name]()
    kind = name.split(",")[0]
    kinds = {"markdown": "text/markdown", "json": "application/json", "feed": "application/rss+xml"}
    said = kinds.get(kind, "")
    bounds = Bounds(SLOW * LAW_SECONDS, MEMORY, PER_BYTE)
    facts = {"url": URL, "content_type": said}
    make, media = document_makers.MAKERS[kind]
    bounded(document_row_of, make("kilns"), {**facts, "content_type": media})  # loads libraries
    row = bounded(document_row_of, body, facts, bounds=bounds)
    assert row["kind"] == kind
    assert "kilns" in "".join(block[1] for block in row["blocks"][:20])
    if MEASURED:
        within_law(lambda: document_row_of(body, **facts), len(body), record_property)


@pytest.mark.parametrize("root", ["rss", "feed"])
def test_a_feed_is_cut_behind_an_entry(root: str) -> None:
    begin, entry, end = {
        "rss": ('<rss version="2.0"><channel>', "item", "</channel></rss>"),
        "feed": ('<feed xmlns="http://www.w3.org/2005/Atom">', "entry", "</feed>"),
    }[root]
    entries = f"<{entry}><title>kilns</title></{entry}>" * 2_500
    document = parsing.extract("application/rss+xml", URL, f"{begin}{entries}{end}".encode())
    assert isinstance(document, Document)
    assert (document.kind, document.text.count("kilns")) == ("feed", 2_000)
    assert document.notes == ("cut after 2000 entries",)


def test_shared_texts_that_are_left_out_cost_no_row() -> None:
    body = LONG["xlsx, texts"]()
    document = parsing.extract("", URL, body)
    assert isinstance(document, Document)
    assert "kilns" in document.text
    assert document.notes == ("it has too many parts and elements: some are left out",)


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
    document = parsing.extract("", URL, body, seconds=SECONDS)
    assert isinstance(document, Document), document
    assert document.kind == name.split()[0]
    assert document.text.count("kilns") >= times


def test_pages_that_share_their_contents_are_told() -> None:
    pytest.importorskip("pypdfium2", reason="the extra documents is not installed")
    shared = parsing.extract("", URL, pdf_of_one_stream(b"BT /F 8 Tf (kilns) Tj ET"))
    assert isinstance(shared, Document)
    assert shared.notes == ("2000 pages share the contents of a few: some are left out",)
    own = parsing.extract("", URL, document_makers.pdf("kilns", pages=300))
    assert isinstance(own, Document)
    assert (own.text.count("kilns"), own.notes) == (300, ())


def test_lines_that_pages_of_a_small_file_share_are_laid_out_a_few_times() -> None:
    """The pages took 1.2 s; a line costs what eight characters do."""
    pytest.importorskip("pypdfium2", reason="the extra documents is not installed")
    read = parsing.extract(
        "", URL, pdf_of_one_stream(b"BT /F 8 Tf 9 TL %bET" % (b"(a) Tj T*\n" * 400))
    )
    assert isinstance(read, Document)
    assert 1_000 < read.text.count("a") < 10_000


def test_links_that_pages_of_a_small_file_share_are_read_a_few_times() -> None:
    """A hundred pages with a thousand each took 1.1 s."""
    pytest.importorskip("pypdfium2", reason="the extra documents is not installed")
    link = b"<</Type/Annot/Subtype/Link/Rect[0 0 600 800]/A<</S/URI/URI(http://a.example/%d)>>>>"
    links = b"/Annots[%b]" % b"".join(link % number for number in range(150))
    body = pdf_of_one_stream(b"BT /F 8 Tf (kilns) Tj ET", 100, links)
    read = parsing.extract("", URL, body)
    assert isinstance(read, Document)
    assert len(read.links) == 150
    assert "more links are left out" in read.notes


def test_text_in_tables_in_tables_is_text_once() -> None:
    for depth in (1, 2, 3, 900):  # deeper than the stack of Python
        document = parsing.extract("", URL, odt(nested("<text:p>kilns</text:p>", depth)))
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
    document = parsing.extract("", URL, body)
    assert isinstance(document, Document)
    found = [link.url for link in document.links]
    assert sorted(found) == [f"http://{name}.example/" for name in "abcde"]


def test_a_chapter_that_is_named_again_is_read_once() -> None:
    chapters = {"a": "<p>first</p>", "b": "<p>second</p>"}
    document = parsing.extract("", URL, epub(chapters, ["a", "b", "a", "b", "b"]))
    assert isinstance(document, Document)
    assert document.text == "first\n\nsecond"
    assert document.notes == ("chapters named again are read once (3)",)


@pytest.mark.parametrize("kind", ["epub", "docx", "odt"])
def test_a_zip_file_for_which_memory_is_short_is_not_called_damaged(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What zlib says where it gets none."""

    def read(*_: object) -> bytes:
        raise zlib.error("Error -4 while decompressing data")

    body = document_makers.MAKERS[kind][0]("kilns")
    monkeypatch.setattr(zipfile.ZipExtFile, "read", read)
    with pytest.raises(MemoryError):
        extract("", URL, body)


PARAGRAPHS = "<p>a few words on kilns</p>\n" * 3_000
LARGE = {
    "html": PARAGRAPHS.encode(),
    "epub": epub({"a": PARAGRAPHS, "b": PARAGRAPHS}, ["a", "b"]),
    "docx": text_boxes(),
}


@pytest.mark.parametrize("kind", LARGE)
def test_a_document_for_which_memory_is_short_is_not_called_damaged(kind: str) -> None:
    facts = {"url": URL, "content_type": "text/html" if kind == "html" else ""}
    helper_pool.close()  # one that has read much has room left that it got before
    fine, given_up = 0, 0
    for megabytes in (0.2, 1, 1.02, 1.05, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 8, 40):
        # Where it is just too little, a parser may try again and again until its time is over.
        bounds = Bounds(8.0 if megabytes > 8 else 1.0, int(megabytes * (1 << 20)), 0)
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
