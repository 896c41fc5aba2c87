"""Lists and code of texts that word processors wrote."""

from __future__ import annotations

import io

import docx
from docx.oxml.ns import qn
from odf.opendocument import OpenDocumentText  # type: ignore[import-untyped]
from odf.style import Style  # type: ignore[import-untyped]
from odf.text import List, ListItem, P, S  # type: ignore[import-untyped]

from spoor.documents.document import Document
from spoor.documents.extract import extract


def markdown_of(file: io.BytesIO) -> str:
    read = extract("", "http://a.example/x", file.getvalue())
    assert isinstance(read, Document)
    return read.markdown


def test_lists_and_code_of_word() -> None:
    """Marks and numbers stand in another part of the file; each list counts by itself."""
    made = docx.Document()
    forms = {
        kind.get(qn("w:abstractNumId")): kind.find(qn("w:lvl"))
        .find(qn("w:numFmt"))
        .get(qn("w:val"))
        for kind in made.part.numbering_part.element.findall(qn("w:abstractNum"))
    }
    lists: dict[str, list[int]] = {}
    for one in made.part.numbering_part.element.findall(qn("w:num")):
        form = forms[one.find(qn("w:abstractNumId")).get(qn("w:val"))]
        lists.setdefault(form, []).append(int(one.get(qn("w:numId"))))
    (first, second, *_), (bullet, *_) = lists["decimal"], lists["bullet"]
    for text, name in (
        *(("Oak", first), ("Ash", first), ("Elm", second), ("Fir", bullet), ("Yew", 999)),
    ):
        facts = made.add_paragraph(text)._p.get_or_add_pPr().get_or_add_numPr()
        facts.get_or_add_ilvl().val, facts.get_or_add_numId().val = 0, name
    code = made.styles.add_style("Source Code", 1)
    for line in ("if wood:", "", "    burn()"):
        made.add_paragraph(line, style=code)
    made.add_paragraph("It burns.")
    made.save(file := io.BytesIO())
    assert markdown_of(file) == (
        "1. Oak\n2. Ash\n1. Elm\n- Fir\n\nYew\n\n```\nif wood:\n\n    burn()\n```\n\nIt burns."
    )


def test_lists_and_code_of_open_document() -> None:
    """An entry of two paragraphs is one; spaces in a row are one element."""
    made = OpenDocumentText()
    made.automaticstyles.addElement(
        Style(name="P1", family="paragraph", parentstylename="Preformatted_20_Text")
    )
    outer, entry, inner = List(), ListItem(), List()
    inner_entry = ListItem()
    inner_entry.addElement(P(text="Elm"))
    inner.addElement(inner_entry)
    for part in (P(text="Oak"), P(text="It is hard."), inner):
        entry.addElement(part)
    outer.addElement(entry)
    made.text.addElement(outer)
    made.text.addElement(P(stylename="P1", text="if wood:"))
    line = P(stylename="P1")
    line.addElement(S(c=4))
    line.addText("burn()")
    made.text.addElement(line)
    made.write(file := io.BytesIO())
    assert markdown_of(file) == ("- Oak\n\nIt is hard.\n\n- Elm\n\n```\nif wood:\n    burn()\n```")
