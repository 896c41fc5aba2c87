"""PDF, by PDFium.

PDFium is written in C++ and reads what strangers made: nothing here may be called but in the helper
process of `spoor.isolate`.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from spoor.documents.blocks import Blocks, one_line
from spoor.documents.declared import language_tag, pdf_date, people
from spoor.documents.document import Document, Limits
from spoor.documents.errors import UnreadableError
from spoor.documents.kinds import import_reader
from spoor.documents.links import Links

pypdfium2, pdfium = import_reader("pdf", "pypdfium2.raw")

_LINE = re.compile(r"\r\n?|\n")
_HYPHEN = re.compile("(?<=\\w)[\ufffe\x02\xad-]$")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\ufffe\uffff\xad]")
_SENTENCE_END = (".", "!", "?", ":", "。", "”", '"')
_MOST_ENTRIES = 2_000
"""Of an outline."""
_BLANK, _BYTES_OF_PAGE = 100, 100
"""Pages that are read of any file, and one more for so many bytes: the contents of a page that is
not blank, with the signs around them, take more, and what is beyond shares those of others."""
_DRAWN, _DRAWN_A_BYTE = 500_000, 8
"""Characters and drawings of all pages, and more for each byte of the file, which has fewer than
one for each: beyond are pages that show the same again."""


def read_pdf(url: str, body: bytes, limits: Limits) -> Document:
    """Text page by page; the outline's titles are its headings. Raises UnreadableError."""
    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        raise UnreadableError(_reason(error)) from error
    with closing(document):
        blocks, links = Blocks(limits.characters), Links(url, limits.links)
        notes = list[str]()
        count, unreadable = len(document), 0
        if count == 0:
            raise UnreadableError("the PDF has no pages")
        titles = _titles(document)
        most = min(count, limits.pages, _BLANK + len(body) // _BYTES_OF_PAGE)
        room = _DRAWN + _DRAWN_A_BYTE * len(body)
        shared = most < min(count, limits.pages)
        for number in range(most):
            if blocks.full:
                break
            if room < 0:
                shared = True
                break
            try:
                page = document[number]
            except pypdfium2.PdfiumError:
                unreadable += 1
                continue
            with closing(page):
                room -= _read_page(page, titles.get(number, []), blocks, links)
        if shared:
            notes.append(f"{count} pages share the contents of a few: some are left out")
        elif count > limits.pages:
            notes.append(f"cut after {limits.pages} of {count} pages")
        if unreadable:
            notes.append(f"{unreadable} pages cannot be read")
        if unreadable == count:
            raise UnreadableError("no page of the PDF can be read")
        notes += blocks.notes() or [f"cut after {limits.characters} characters"] * blocks.full
        if links.cut:
            notes.append("more links are left out")
        if not blocks.blocks:
            notes.append("it has no text: its pages are pictures")
        told = document.get_metadata_dict()
        return Document(
            url,
            "pdf",
            "application/pdf",
            one_line(told.get("Title", ""))[:2_000],
            language_tag(_language(document)),
            pdf_date(told.get("CreationDate", "")) or pdf_date(told.get("ModDate", "")),
            people([told.get("Author")]),
            one_line(told.get("Subject", ""))[:2_000],
            tuple(blocks.blocks),
            tuple(links),
            tuple(notes),
        )


def _reason(error: Exception) -> str:
    text = str(error).lower()
    if "password" in text:
        return "the PDF is encrypted"
    return "the PDF is damaged" if "format" in text else f"the PDF cannot be read ({error})"


def _titles(document: Any) -> dict[int, list[tuple[int, str]]]:
    """Page → (level, title) of the entries of the outline that lead there."""
    titles: dict[int, list[tuple[int, str]]] = {}
    try:
        for number, entry in enumerate(document.get_toc(max_depth=6)):
            target = entry.get_dest()
            page = None if target is None else target.get_index()
            if number >= _MOST_ENTRIES:
                break
            if page is not None:
                title = one_line(_CONTROL.sub("", entry.get_title()))[:200]
                titles.setdefault(page, []).append((min(6, entry.level + 1), title))
    except (pypdfium2.PdfiumError, ValueError):
        pass
    return titles


def _read_page(page: Any, titles: list[tuple[int, str]], blocks: Blocks, links: Links) -> int:
    """Returns how many characters and drawings the page has."""
    with closing(page.get_textpage()) as words:
        text = words.get_text_range()
        waiting = list(titles)
        here: list[str] = []
        for paragraph in _paragraphs(text, {title.casefold() for _, title in titles}):
            found = [one for one in waiting if one[1].casefold() == paragraph.casefold()]
            if found:
                waiting.remove(found[0])
                blocks.heading(found[0][0], found[0][1])
                here = [found[0][1]]
                continue
            if waiting and not here:
                # Titles that stand on the page in other words open it.
                for level, title in waiting:
                    blocks.heading(level, title)
                waiting, here = [], [titles[-1][1]]
            blocks.paragraph(paragraph)
        for target, label, before, after in _targets(page, words):
            links.add(target, label, before=before, after=after, headings=here)
        links.add_bare(" ".join(_LINE.split(text)), here)
        return len(text) + int(pdfium.FPDFPage_CountObjects(page.raw))


def _paragraphs(text: str, titles: set[str]) -> Iterator[str]:
    """Lines joined, words put together that a line's end parts; a paragraph ends with a short line
    that ends a sentence, or with an empty one."""
    lines = [
        _CONTROL.sub("", line) if not _HYPHEN.search(line) else line for line in _LINE.split(text)
    ]
    width = sorted(map(len, lines))[int(0.8 * len(lines))] if lines else 0
    open_: list[str] = []
    for line in lines:
        line = line.strip()
        short = len(line) < 0.8 * width
        if line.casefold() in titles or not line:
            if open_:
                yield one_line("".join(open_))
            open_ = []
            if line:
                yield one_line(line)
            continue
        if _HYPHEN.search(line):
            soft = line[-1] != "-"
            open_.append(_CONTROL.sub("", line if not soft else line[:-1]))
            continue
        open_.append(_CONTROL.sub("", line) + " ")
        if short and line.endswith(_SENTENCE_END):
            yield one_line("".join(open_))
            open_ = []
    if open_:
        yield one_line("".join(open_))


def _targets(page: Any, words: Any) -> Iterator[tuple[str, str, str, str]]:
    """(URL, the text at it, before it, after it) of the page's links, at most 1,000."""
    position, link = ctypes.c_int(0), pdfium.FPDF_LINK()
    for _ in range(1_000):
        if not pdfium.FPDFLink_Enumerate(page.raw, position, link):
            return
        action = pdfium.FPDFLink_GetAction(link)
        if not action or pdfium.FPDFAction_GetType(action) != pdfium.PDFACTION_URI:
            continue
        size = pdfium.FPDFAction_GetURIPath(page.pdf.raw, action, None, 0)
        if not 1 < size <= 8_192:
            continue
        buffer = ctypes.create_string_buffer(size)
        pdfium.FPDFAction_GetURIPath(page.pdf.raw, action, buffer, size)
        target = buffer.value.decode("utf-8", "replace")
        area = pdfium.FS_RECTF()
        label = before = after = ""
        if pdfium.FPDFLink_GetAnnotRect(link, area):
            label = words.get_text_bounded(area.left, area.bottom, area.right, area.top)
            left, _, right, _ = page.get_bbox()
            before = words.get_text_bounded(left, area.bottom, area.left, area.top)
            after = words.get_text_bounded(area.right, area.bottom, right, area.top)
        label, before, after = (_CONTROL.sub("", part)[:500] for part in (label, before, after))
        yield target, label, before, after


def _language(document: Any) -> str:
    ask = getattr(pdfium, "FPDFCatalog_GetLanguage", None)
    if ask is None:
        return ""
    size = ask(document.raw, None, 0)
    if not 2 < size <= 200:
        return ""
    buffer = ctypes.create_string_buffer(size)
    ask(document.raw, ctypes.cast(buffer, ctypes.POINTER(pdfium.FPDF_WCHAR)), size)
    return buffer.raw[: size - 2].decode("utf-16-le", "replace")
