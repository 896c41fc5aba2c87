"""PDF, by PDFium.

PDFium is written in C++ and reads what strangers made: nothing here may be called but in the helper
process of `spoor.isolate`.
"""

from __future__ import annotations

import ctypes
import math
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
from spoor.documents.pdf_layout import Line, PageOfLines, lay_out, shown

pypdfium2, pdfium = import_reader("pdf", "pypdfium2.raw")

_LINE = re.compile(r"\r\n?|\n")
_MOST_ENTRIES = 2_000
"""Of an outline."""
_MOST_TARGETS = 1_000
"""Links of a page that are read, and of all pages `_TARGETS_A_LINK` for each that is kept: pages
may share theirs, and the words around each are looked for."""
_TARGETS_A_LINK = 2
_FONTS, _BYTES_OF_LINE = 5_000, 20
"""Lines whose fonts are looked at in any file, and one more for so many bytes."""
_FIXED = 1
"""Flag of a font whose letters are equally wide (ISO 32000-1, table 123)."""
_NAME = 100
"""Bytes of the name of a font, at most."""
_FIXED_NAMES = re.compile(rb"(?i)mono|courier|consolas|menlo|typewriter|fixed|tt[\d-]*$")
"""What such fonts are called, since those of TeX do not say it."""
_LARGEST = 14_400.0
"""Points of the side of a page, at most."""
_BLANK, _BYTES_OF_PAGE = 100, 100
"""Pages that are read of a file that says to have more than these, and one for so many bytes: the
contents of a page that is not blank, with the signs around them, take more, so its pages share
those of a few. PDFium goes through all of them to find one."""
_DRAWN, _DRAWN_A_BYTE = 100_000, 8
"""Characters and drawings of all pages, and more for each byte of the file, which has fewer than
one for each: beyond are pages that show the same again …"""
_DRAWN_A_LINE = 8
"""… and for how many a line counts beside its characters, since it is laid out."""
_AGAIN, _PAGE_AGAIN = 8, 2_000
"""How often what a page draws counts, and for how much it counts itself, where an earlier one shows
the same text: most likely that is one page, or the contents of one."""


def read_pdf(url: str, body: bytes, limits: Limits) -> Document:
    """Text page by page, laid out by `pdf_layout`. Raises UnreadableError."""
    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        raise UnreadableError(_reason(error)) from error
    with closing(document):
        blocks, links = Blocks(limits.characters), Links(url, limits.links)
        notes = list[str]()
        pages, targets = list[PageOfLines](), list[tuple[str, list[tuple[str, str, str, str]]]]()
        read, fonts = 0, _FONTS + len(body) // _BYTES_OF_LINE
        more = _TARGETS_A_LINK * limits.links
        count, unreadable = len(document), 0
        if count == 0:
            raise UnreadableError("the PDF has no pages")
        titles = _titles(document)
        most = min(count, limits.pages)
        shared = most > _BLANK + len(body) // _BYTES_OF_PAGE
        most = _BLANK if shared else most
        room, seen = _DRAWN + _DRAWN_A_BYTE * len(body), set[str]()
        for number in range(most):
            if read > limits.characters:
                break
            if room < 0:
                shared = True
                break
            try:
                page = document[number]
            except pypdfium2.PdfiumError:
                unreadable += 1
                continue
            with closing(page), closing(page.get_textpage()) as words:
                text = words.get_text_range()
                pages.append(PageOfLines(_lines(words, text, fonts), titles.get(number, [])))
                fonts -= len(pages[-1].lines)
                targets.append((text, list(_targets(page, words, min(more, _MOST_TARGETS)))))
                more -= len(targets[-1][1])
                read += len(text)
                drawn = len(text) + int(pdfium.FPDFPage_CountObjects(page.raw))
                drawn += _DRAWN_A_LINE * len(pages[-1].lines)
                room -= _AGAIN * drawn + _PAGE_AGAIN if text in seen else drawn
                seen.add(text)
        under = lay_out(pages, blocks)
        for (text, found), here in zip(targets, under, strict=True):
            for target, label, before, after in found:
                links.add(target, label, before=before, after=after, headings=here)
            links.add_bare(" ".join(_LINE.split(text)), here)
        if shared:
            notes.append(f"{count} pages share the contents of a few: some are left out")
        elif count > limits.pages:
            notes.append(f"cut after {limits.pages} of {count} pages")
        if unreadable:
            notes.append(f"{unreadable} pages cannot be read")
        if unreadable == count:
            raise UnreadableError("no page of the PDF can be read")
        notes += blocks.notes() or [f"cut after {limits.characters} characters"] * blocks.full
        if links.cut or not more:
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
                title = one_line(shown(entry.get_title()))[:200]
                titles.setdefault(page, []).append((min(6, entry.level + 1), title))
    except (pypdfium2.PdfiumError, ValueError):
        pass
    return titles


def _lines(words: Any, text: str, most: int) -> list[Line]:
    """The lines of a page, with the fonts of so many."""
    lines, at = list[Line](), 0
    for number, line in enumerate(_LINE.split(text)):
        begin = at + len(line) - len(line.lstrip())
        end = at + len(line.rstrip()) - 1
        if begin <= end and number < most:
            size, left, base = _place(words, begin)
            places = {begin, (begin + end) // 2, end}
            fixed = all(_is_fixed(words, place) for place in places)
            lines.append(Line(line, size, fixed, left, base))
        else:
            lines.append(Line(line))
        at += len(line) + 2 - (text[at + len(line) : at + len(line) + 2] != "\r\n")
    return lines


def _place(words: Any, at: int) -> tuple[float, float, float]:
    """The size of a letter, where it begins, and its height on the page, in points; 0: unknown."""
    letter = pdfium.FPDFText_GetCharIndexFromTextIndex(words.raw, at)
    x, y, turned = ctypes.c_double(), ctypes.c_double(), pdfium.FS_MATRIX()
    pdfium.FPDFText_GetCharOrigin(words.raw, letter, x, y)
    size = pdfium.FPDFText_GetFontSize(words.raw, letter)
    if pdfium.FPDFText_GetMatrix(words.raw, letter, turned):
        size *= math.hypot(turned.b, turned.d)
    told = (size, x.value, y.value)
    return told if size > 0 and all(abs(one) < _LARGEST for one in told) else (0.0, 0.0, 0.0)


def _is_fixed(words: Any, at: int) -> bool:
    """Whether the font of a letter says, or its name, that all its letters are equally wide."""
    letter, flags = pdfium.FPDFText_GetCharIndexFromTextIndex(words.raw, at), ctypes.c_int(0)
    name = ctypes.create_string_buffer(_NAME)
    size = pdfium.FPDFText_GetFontInfo(words.raw, letter, name, _NAME, flags)
    named = size <= _NAME and _FIXED_NAMES.search(name.value)
    return bool(flags.value & _FIXED or named)


def _targets(page: Any, words: Any, most: int) -> Iterator[tuple[str, str, str, str]]:
    """(URL, the text at it, before it, after it) of the page's links, so many at most."""
    position, link = ctypes.c_int(0), pdfium.FPDF_LINK()
    for _ in range(most):
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
        label, before, after = (shown(part)[:500] for part in (label, before, after))
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
