"""Passages of documents, sized for retrieval, as JSON lines."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from spoor.formats.exporters.columns import BODIES, COLUMNS, Options, Row, asked_of
from spoor.formats.exporters.jsonl import json_line, write_without

__all__ = ["write", "write_without"]

_ABOUT = ("url", "title", "fetched_at", "score")
_OTHERS = BODIES | frozenset(COLUMNS)


def write(rows: Iterable[Row], path: Path, options: Options) -> int:
    """A line a passage: `id`, its `number` in the document, the document's address, title, time and
    score with the columns that were asked for, but for its text, and of the passage `text`,
    `headings`, `start` and `end` in the document's text and `passage_score`. Returns how many
    documents."""
    names = (*_ABOUT, *(name for name in options.columns if name not in _OTHERS))
    count = 0
    with path.open("wb") as file:
        for row in rows:
            about = {name: row[name] for name in names if name in row}
            about |= asked_of(row, options, "text", "markdown")
            for passage in row["passages"]:
                identifier = f"{row['url']}#{passage['start']}-{passage['end']}"
                file.write(json_line({"id": identifier, **about, **passage}))
            count += 1
    return count
