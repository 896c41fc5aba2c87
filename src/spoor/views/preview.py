"""What a report shows of a document: a few thousand characters of its text, never its markup."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spoor.display import printable
from spoor.formats.warc_records import DamagedError
from spoor.legible import legible
from spoor.runs.documents import RunDocument
from spoor.runs.pass_costs import PassCosts
from spoor.runs.reader import Run
from spoor.runs.rows import PageRow

IN_REPORT = 12_000
"""Characters of a document in a report."""

ON_ITS_PAGE = 400_000
"""Characters of a document on a page of its own."""

MOST_CACHED = 200


@dataclass(frozen=True, slots=True)
class Preview:
    """A document as its reader sees it."""

    number: int
    url: str
    title: str
    kind: str
    facts: Sequence[tuple[str, str]]
    """(name, value) of its metadata and of what was noted."""
    parts: Sequence[tuple[str, str]]
    """Kind and text of its parts: `heading`, `paragraph`, `item`, `code`, `table`, `quote`."""
    more: int
    """Characters that are left out."""
    size: int
    """Bytes, as received."""


def preview(document: RunDocument, room: int) -> Preview | None:
    """A document in at most `room` characters; None where it was not archived."""
    if not document.archived:
        return None
    content = document.content
    facts = (
        ("kind", document.kind),
        ("language", content.language),
        ("date", content.date),
        ("author", content.author),
        ("licence", content.licence),
        ("note", "; ".join(content.notes)),
    )
    parts: list[tuple[str, str]] = []
    left = room
    for block in content.blocks:
        if left <= 0:
            break
        parts.append((block.kind, _shown(block.text[:left])))
        left -= len(block.text)
    return Preview(
        document.row.number,
        document.url,
        document.title or document.url,
        document.kind,
        [(name, printable(value)) for name, value in facts if value],
        parts,
        max(0, len(document.text) - room),
        len(document.bytes),
    )


def _shown(text: str) -> str:
    """Lines stay lines, and have no letters that nobody sees."""
    return "\n".join(legible(line.expandtabs(4)) for line in text.split("\n"))


class Previews:
    """Previews of the pages of a run, out of its archive, with a cache; read in a pass with these
    `costs`, after which there are none with a text."""

    def __init__(self, run: Run, costs: PassCosts) -> None:
        self._run, self._costs = run, costs
        self._made: dict[int, Preview | None] = {}

    def of(self, page: PageRow) -> Preview | None:
        """The preview of a page; None where it was not archived."""
        if page.number not in self._made:
            if len(self._made) >= MOST_CACHED:
                self._made.clear()
            if self._costs.is_spent:
                return _without_text(page, "", "it was not read, since others took long to read")
            try:
                made = preview(self._run.document_of(page, self._costs), IN_REPORT)
            except DamagedError as error:
                made = _without_text(page, "damaged", printable(str(error)))
            self._made[page.number] = made
        return self._made[page.number]


def _without_text(page: PageRow, kind: str, note: str) -> Preview:
    name = page.title or page.url
    return Preview(page.number, page.url, name, kind, [("note", note)], [], 0, 0)
