"""A folder of documents: Markdown with a head in YAML, or plain text, one file each."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from spoor.formats.exporters.columns import BODIES, Options, Row, asked_of
from spoor.formats.exporters.target import Folder

_FIRST = ("url", "title", "fetched_at", "score", "relevant", "why", "path")
_NOT_IN_HEAD = BODIES | {"status", "host", "size", "depth", "probability", "flags", *_FIRST}


def write(rows: Iterable[Row], path: Path, options: Options) -> int:
    """A file a document: its head between two lines of hyphens, then its Markdown; returns how
    many. What a page does not say is not in its head, but for columns that were named. The values
    are JSON, which is YAML: so no title can end the head."""
    head = (*_FIRST, *(name for name in options.columns if name not in _NOT_IN_HEAD))
    folder = Folder(path)
    try:
        for row in rows:
            said = {name: row[name] for name in head if row.get(name) not in (None, "", [])}
            said |= asked_of(row, options, "text", "markdown")
            lines = [f"{name}: {_yaml(value)}" for name, value in said.items()]
            text = "\n".join(["---", *lines, "---", "", str(row.get("markdown") or ""), ""])
            folder.write(row["url"], row["host"], row["title"], ".md", text)
    finally:
        folder.close()
    return folder.count


def write_text(rows: Iterable[Row], path: Path, options: Options) -> int:
    """A file a document with nothing but its text; `index.jsonl` says which is which, and has the
    columns that were named."""
    folder = Folder(path)
    try:
        for row in rows:
            text = str(row.get("text") or "")
            more = asked_of(row, options, "text")
            folder.write(row["url"], row["host"], row["title"], ".txt", f"{text}\n", more)
    finally:
        folder.close()
    return folder.count


def _yaml(value: object) -> str:
    """A value as JSON, with escapes for what YAML forbids or takes for the end of a line."""
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(char: str) -> str:
    if char.isprintable():
        return char
    code = 0xFFFD if 0xD800 <= ord(char) < 0xE000 else ord(char)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
