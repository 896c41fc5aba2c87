"""One document of a run for a reader: its metadata and its text."""

from __future__ import annotations

from spoor.display import shown
from spoor.errors import InputError
from spoor.legible import legible
from spoor.runs.documents import RunDocument


def as_lines(document: RunDocument) -> list[str]:
    """The document as lines of Markdown, fit for a terminal. Raises InputError where it was not
    archived."""
    if not document.archived:
        raise InputError(
            f"{shown(document.url)} is not in the archive; runs with --no-warc keep no documents"
        )
    lines = [legible(line) for line in document.markdown.split("\n")]
    if not document.markdown.strip():
        told = "; ".join(document.content.notes) or "no text"
        kind = document.kind or "unknown"
        lines = [f"({shown(told)}: {shown(kind)}, {len(document.bytes):,} bytes)"]
    if document.title and not lines[0].startswith("# "):
        lines = [f"# {shown(document.title)}", "", *lines]
    return lines
