"""Documents of each kind, made by writers that are not ours, and hostile ones."""

from __future__ import annotations

import io
import json
import random
import warnings
import zipfile
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

TITLE = "On kilns"
AUTHOR = "Ada Brick"
LINK = "http://docs.example/linked-from-inside"
MADE = datetime(2024, 5, 17, 10, 30, tzinfo=UTC)


def pdf(
    words: str, *, pages: int = 1, link: str = LINK, password: str = "", title: str = TITLE
) -> bytes:
    from reportlab.lib.pagesizes import A4  # type: ignore[import-untyped]
    from reportlab.pdfgen.canvas import Canvas  # type: ignore[import-untyped]

    file = io.BytesIO()
    canvas = Canvas(file, A4, encrypt=password or None, lang="en-GB", invariant=1)
    canvas.setTitle(title)
    canvas.setAuthor(AUTHOR)
    for page in range(pages):
        if page == 0:
            canvas.bookmarkPage("first")
            canvas.addOutlineEntry("Of fire", "first")
            canvas.drawString(72, 760, "Of fire")
        for line, at in enumerate(range(0, len(words), 80)):
            canvas.drawString(72, 730 - 14 * line, words[at : at + 80])
        if page == 0 and link:
            canvas.drawString(72, 100, "The glaze book")
            canvas.linkURL(link, (72, 95, 160, 115))
        canvas.showPage()
    canvas.save()
    return file.getvalue()


def docx(words: str, link: str = LINK) -> bytes:
    import docx
    from docx.opc.constants import RELATIONSHIP_TYPE
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    document = docx.Document()
    core = document.core_properties
    core.title, core.author, core.language, core.created = TITLE, AUTHOR, "en-GB", MADE
    document.add_heading("Of fire", 1)
    paragraph = document.add_paragraph(words)
    document.add_paragraph("a first point", style="List Bullet")
    table = document.add_table(2, 2)
    for cell, text in zip(table._cells, ["Name", "Heat", "Bottle", "1200"], strict=True):
        cell.text = text
    hyperlink = OxmlElement("w:hyperlink")
    hyperlink.set(qn("r:id"), document.part.relate_to(link, RELATIONSHIP_TYPE.HYPERLINK, True))
    run = OxmlElement("w:r")
    text = OxmlElement("w:t")
    text.text = "The glaze book"
    run.append(text)
    hyperlink.append(run)
    paragraph._p.append(hyperlink)
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def xlsx(words: str, link: str = LINK, rows: int = 1) -> bytes:
    import openpyxl  # type: ignore[import-untyped]

    book = openpyxl.Workbook()
    book.properties.title, book.properties.creator = TITLE, AUTHOR
    book.properties.language = "en-GB"
    sheet = book.active
    assert sheet is not None
    sheet.title = "Of fire"
    sheet.append(["Name", "Heat"])
    for row in range(rows):
        sheet.append([words, 1200 + row])
    sheet.append(["The glaze book", link])
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def pptx(words: str, link: str = LINK) -> bytes:
    import pptx

    deck = pptx.Presentation()
    core = deck.core_properties
    core.title, core.author, core.language, core.created = TITLE, AUTHOR, "en-GB", MADE
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Of fire"
    frame = slide.placeholders[1].text_frame
    frame.text = words
    run = frame.add_paragraph().add_run()
    run.text = "The glaze book"
    run.hyperlink.address = link
    file = io.BytesIO()
    deck.save(file)
    return file.getvalue()


def odt(words: str, link: str = LINK) -> bytes:
    from odf import text  # type: ignore[import-untyped]
    from odf.opendocument import OpenDocumentText  # type: ignore[import-untyped]

    document = OpenDocumentText()
    document.text.addElement(text.H(outlinelevel=1, text="Of fire"))
    document.text.addElement(text.P(text=words))
    paragraph = text.P()
    paragraph.addElement(text.A(href=link, text="The glaze book"))
    document.text.addElement(paragraph)
    return _open_document(document)


def ods(words: str, link: str = LINK) -> bytes:
    from odf import table, text
    from odf.opendocument import OpenDocumentSpreadsheet

    document = OpenDocumentSpreadsheet()
    sheet = table.Table(name="Of fire")
    for cells in ((words, "Name", "Heat"), ("", "Bottle", "1200")):
        row = table.TableRow()
        for value in cells:
            cell = table.TableCell(valuetype="string")
            cell.addElement(text.P(text=value))
            row.addElement(cell)
        sheet.addElement(row)
    row, cell, paragraph = table.TableRow(), table.TableCell(numbercolumnsrepeated=2), text.P()
    paragraph.addElement(text.A(href=link, text="The glaze book"))
    cell.addElement(paragraph)
    row.addElement(cell)
    sheet.addElement(row)
    document.spreadsheet.addElement(sheet)
    return _open_document(document)


def odp(words: str, link: str = LINK) -> bytes:
    from odf import draw, style, text
    from odf.namespaces import PRESENTATIONNS  # type: ignore[import-untyped]
    from odf.opendocument import OpenDocumentPresentation

    document = OpenDocumentPresentation()
    layout = style.PageLayout(name="A")
    document.automaticstyles.addElement(layout)
    master = style.MasterPage(name="M", pagelayoutname=layout)
    document.masterstyles.addElement(master)
    page = draw.Page(masterpagename=master)
    for presentation_class, value in (("title", "Of fire"), ("outline", words)):
        frame = draw.Frame()
        frame.setAttrNS(PRESENTATIONNS, "class", presentation_class)
        box, paragraph = draw.TextBox(), text.P(text=value)
        if presentation_class == "outline":
            paragraph.addElement(text.A(href=link, text="The glaze book"))
        box.addElement(paragraph)
        frame.addElement(box)
        page.addElement(frame)
    document.presentation.addElement(page)
    return _open_document(document)


def _open_document(document: Any) -> bytes:
    """With what a document says of itself."""
    from odf import dc, meta

    document.meta.addElement(dc.Title(text=TITLE))
    document.meta.addElement(dc.Language(text="en-GB"))
    document.meta.addElement(meta.InitialCreator(text=AUTHOR))
    document.meta.addElement(meta.CreationDate(text="2024-05-17T10:30:00"))
    file = io.BytesIO()
    document.write(file)
    return file.getvalue()


def epub(words: str, link: str = LINK) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from ebooklib import epub  # type: ignore[import-untyped]

        book = epub.EpubBook()
        book.set_identifier("kilns")
        book.set_title(TITLE)
        book.set_language("en-GB")
        book.add_author(AUTHOR)
        book.add_metadata("DC", "date", "2024-05-17")
        chapter = epub.EpubHtml(title="Of fire", file_name="one.xhtml", lang="en")
        chapter.content = (
            f'<h1>Of fire</h1><p>{words}</p><p><a href="{link}">The glaze book</a></p>'
        )
        book.add_item(chapter)
        book.toc = (chapter,)
        book.add_item(epub.EpubNcx())
        book.spine = [chapter]
        file = io.BytesIO()
        epub.write_epub(file, book)
    return file.getvalue()


def rss(words: str, link: str = LINK) -> bytes:
    from feedgen.feed import FeedGenerator  # type: ignore[import-untyped]

    feed = FeedGenerator()
    feed.id("http://docs.example/")
    feed.title(TITLE)
    feed.author({"name": AUTHOR, "email": "ada@docs.example"})
    feed.link(href="http://docs.example/", rel="alternate")
    feed.subtitle("News of kilns")
    feed.description("News of kilns")
    feed.language("en-GB")
    feed.updated(MADE)
    entry = feed.add_entry()
    entry.id(link)
    entry.title("Of fire")
    entry.updated(MADE)
    entry.link(href=link)
    entry.content(f"<p>{words} <a href='{link}'>The glaze book</a></p>", type="html")
    made: bytes = feed.atom_str()
    return made


def json_text(words: str, link: str = LINK) -> bytes:
    return json.dumps(
        {
            "title": TITLE,
            "language": "en-GB",
            "author": {"name": AUTHOR},
            "date": "2024-05-17",
            "heading": "Of fire",
            "parts": [{"text": words}, {"url": link}],
        }
    ).encode()


def markdown(words: str, link: str = LINK) -> bytes:
    head = f"---\ntitle: {TITLE}\nauthor: {AUTHOR}\nlang: en-GB\ndate: 2024-05-17\n---\n"
    return f"{head}\n# Of fire\n\n{words}\n\n- [The glaze book]({link})\n\n```c\nint x;\n```\n".encode()


def plain(words: str, link: str = LINK) -> bytes:
    return f"Of fire\n\n{words}\n\nThe glaze book: {link}.\n".encode()


def xml(words: str, link: str = LINK) -> bytes:
    return (
        f'<?xml version="1.0"?><book xml:lang="en-GB"><title>{TITLE}</title><part>Of fire</part>'
        f'<p>{words}</p><see href="{link}">The glaze book</see></book>'
    ).encode()


def html(words: str, link: str = LINK) -> bytes:
    return (
        f'<!doctype html><html lang=en-GB><title>{TITLE}</title><meta name=author content="{AUTHOR}">'
        f'<meta property="article:published_time" content="2024-05-17T10:30:00Z">'
        f'<nav><a href="/">Home</a> <a href="/all">All of our pages</a></nav><main><h1>Of fire</h1>'
        f'<p>{words}</p><p><a href="{link}">The glaze book</a></p></main><footer>Copyright</footer>'
    ).encode()


MAKERS: dict[str, tuple[Callable[..., bytes], str]] = {
    "html": (html, "text/html; charset=utf-8"),
    "pdf": (pdf, "application/pdf"),
    "text": (plain, "text/plain; charset=utf-8"),
    "markdown": (markdown, "text/markdown"),
    "feed": (rss, "application/atom+xml"),
    "xml": (xml, "application/xml"),
    "json": (json_text, "application/json"),
    "docx": (docx, "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    "xlsx": (xlsx, "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    "pptx": (pptx, "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    "odt": (odt, "application/vnd.oasis.opendocument.text"),
    "ods": (ods, "application/vnd.oasis.opendocument.spreadsheet"),
    "odp": (odp, "application/vnd.oasis.opendocument.presentation"),
    "epub": (epub, "application/epub+zip"),
}
"""Kind → its writer and its media type."""


# ---------------------------------------------------------------- hostile ones


def zipped(parts: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()


def with_part(document: bytes, name: str, content: bytes) -> bytes:
    """A zipped document with one of its parts replaced."""
    with zipfile.ZipFile(io.BytesIO(document)) as archive:
        parts = {part: archive.read(part) for part in archive.namelist()}
    return zipped(parts | {name: content})


LAUGHS = (
    b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha">'
    + b"".join(b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(9))
    + b"]><x>&j;</x>"
)
OUTSIDE = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a;</x>'


def _pdf(pages: int, content: bytes, filters: bytes = b"") -> bytes:
    """A PDF all of whose pages have one content; its table of objects is missing, as in many."""
    kids = b" ".join(b"%d 0 R" % number for number in range(10, 10 + pages))
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>"
    objects = {
        1: b"<</Type/Catalog/Pages 2 0 R>>",
        2: b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids, pages),
        4: b"<</Length %d%s>>stream\n%s\nendstream" % (len(content), filters, content),
        5: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    } | dict.fromkeys(range(10, 10 + pages), page)
    file = b"".join(b"%d 0 obj%s endobj\n" % one for one in objects.items())
    return b"%%PDF-1.4\n%strailer<</Root 1 0 R/Size %d>>\n%%%%EOF" % (file, 10 + pages)


def long_pdf(pages: int) -> bytes:
    """Each page has the word kiln."""
    return _pdf(pages, b"BT /F1 9 Tf 9 9 Td (kiln) Tj ET")


def pdf_bomb(size: int = 1 << 28) -> bytes:
    """A page whose content is `size` bytes when it is unpacked, twice packed."""
    content = zlib.compress(zlib.compress(b" " * size, 1), 1)
    return _pdf(1, content, b"/Filter[/FlateDecode/FlateDecode]")


def hostile() -> dict[str, Any]:
    """Name → (media type, body, the reason that must be given)."""
    word = MAKERS["docx"][1]
    document = docx("kilns")
    return {
        "empty.pdf": ("application/pdf", b"", "empty"),
        "cut.pdf": ("application/pdf", b"%PDF-1.7\n1 0 obj<</Type", "damaged"),
        "encrypted.pdf": ("application/pdf", pdf("kilns", password="secret"), "encrypted"),
        "bomb.pdf": ("application/pdf", pdf_bomb(), "takes over"),
        "cut.docx": (word, document[:-400], "damaged"),
        "bomb.docx": (
            word,
            with_part(document, "word/document.xml", b" " * ((1 << 26) + 1)),
            "bomb",
        ),
        "laughs.docx": (word, with_part(document, "word/document.xml", LAUGHS), "damaged"),
        "laughs.xml": ("application/xml", LAUGHS, "entities"),
        "outside.xml": ("application/xml", OUTSIDE, "entities"),
        "deep.xml": ("application/xml", b"<a>" * 200_000, "deeper"),
        "deep.json": ("application/json", b"[" * 200_000, "nested"),
        "no-chapters.epub": (
            "application/epub+zip",
            zipped({"mimetype": b"application/epub+zip", "META-INF/x": b""}),
            "missing",
        ),
    }


# ---------------------------------------------------------------- a web of documents

VOCABULARY = """amber anvil apron barley basket beacon bellow birch bramble bucket canvas cedar chalk
cider cinder cobble copper cotton crane cricket dairy drift ember fallow feather fennel ferry flint
forge furrow gable garnet ginger granite hazel heather hinge ivory jasper kettle ladder lantern
larch linen maple marble meadow mortar nettle orchard otter paddle pebble pewter plough quarry quill
ribbon rudder saddle saffron shale shingle sickle silver sorrel spindle tallow thatch thistle timber
turnip velvet walnut wicker willow woollen yarrow""".split()

MANY = {
    "html": 60,
    "pdf": 50,
    "text": 40,
    "markdown": 30,
    "json": 30,
    "xml": 30,
    "feed": 20,
    "docx": 5,
    "xlsx": 10,
    "pptx": 5,
    "odt": 10,
    "epub": 10,
}
"""300 documents."""

NAMES = (
    "..%2F..%2Fescape.pdf",
    "CON",
    "con.pdf",
    "a" * 300 + ".pdf",
    "Report.PDF",
    "report.pdf",
    "%00%0A%1B.pdf",
    "%E2%80%AE-fdp.exe",
    ".hidden",
)
"""Names of the first PDFs."""


def words_of(rng: random.Random, count: int = 60) -> str:
    return " ".join(rng.choices(VOCABULARY, k=count))


def documents_web(
    seed: int = 1, *, most: int = 1_000
) -> tuple[dict[str, tuple[str, bytes]], list[str], dict[str, str]]:
    """(path → (media type, body), paths of the readable documents, path → reason of the others);
    of each kind `most` readable ones at most, of which 13 have each of the headers that lie.

    Hub pages at `/hub/N` link to all; each third document has a header that lies, or none.
    """
    rng = random.Random(seed)
    web: dict[str, tuple[str, bytes]] = {}
    readable: list[str] = []
    for kind, many in MANY.items():
        make, media = MAKERS[kind]
        lies = (
            ["application/octet-stream", "", "image/png"] if kind in ("text", "markdown") else LIES
        )
        for number in range(min(many, most)):
            name = NAMES[number] if kind == "pdf" and number < len(NAMES) else f"{number}.{kind}"
            body = make(f"The zanzibar kiln {words_of(rng)}", link="http://else.example/x")
            header = media if number % 3 else lies[number // 3 % len(lies)]
            web[f"/{kind}/{name}"] = (header, body)
            readable.append(f"/{kind}/{name}")
    reasons = {}
    for name, (media, body, reason) in hostile().items():
        web[f"/bad/{name}"] = (media, body)
        reasons[f"/bad/{name}"] = reason
    paths = [*readable, *reasons]
    rng.shuffle(paths)
    hubs = [paths[at : at + 26] for at in range(0, len(paths), 26)]
    for number, hub in enumerate(hubs):
        links = "".join(f'<li><a href="{path}">{words_of(rng, 3)}</a></li>' for path in hub)
        web[f"/hub/{number}"] = ("text/html", f"<p>{words_of(rng)}</p><ul>{links}</ul>".encode())
    home = "".join(
        f'<a href="/hub/{number}">{words_of(rng, 2)}</a> ' for number in range(len(hubs))
    )
    web["/"] = ("text/html", f"<title>Home</title>{home}".encode())
    return web, readable, reasons


LIES = ["application/octet-stream", "", "text/html", "image/png", "application/pdf"]


def reports_web(seed: int = 2) -> tuple[dict[str, tuple[str, bytes]], list[str]]:
    """(path → (media type, body), paths of the PDFs about kilns): six departments of five groups of
    twelve people; two groups of each have a page of publications, which lists PDFs. Only the PDFs
    say what they are about."""
    rng = random.Random(seed)
    web: dict[str, tuple[str, bytes]] = {}
    targets: list[str] = []

    def page(path: str, title: str, links: list[tuple[str, str]]) -> None:
        listed = "".join(f'<li><a href="{to}">{text}</a>' for to, text in links)
        text = f"<title>{title}</title><h1>{title}</h1><p>{words_of(rng)}</p><ul>{listed}</ul>"
        web[path] = ("text/html", text.encode())

    departments = [f"/dept{number}" for number in range(6)]
    page("/", "University", [(f"{path}/", words_of(rng, 2)) for path in departments])
    for number, path in enumerate(departments):
        groups = [f"{path}/group{group}" for group in range(5)]
        page(f"{path}/", f"Department {number}", [(f"{one}/", words_of(rng, 2)) for one in groups])
        for at, group in enumerate(groups):
            people = [f"{group}/person{one}" for one in range(12)]
            links = [(one, words_of(rng, 2)) for one in people]
            if at < 2:
                links.insert(3, (f"{group}/publications", "Publications"))
                papers = [f"{group}/download/{one}" for one in range(8)]
                page(
                    f"{group}/publications",
                    "Publications",
                    [(paper, words_of(rng, 4)) for paper in papers],
                )
                for paper in papers:
                    about = "the kiln, its glaze, " * 8 if number < 5 else ""
                    body = pdf(f"{words_of(rng, 40)} {about}", link="", title=words_of(rng, 3))
                    web[paper] = ("application/pdf", body)
                    targets += [paper] if about else []
            page(f"{group}/", f"Group {group}", links)
            for one in people:
                page(one, words_of(rng, 2), [(f"{group}/", "Group"), (f"{path}/", "Department")])
    return web, targets
