"""JSON lines, and the bulk lines of Elasticsearch and OpenSearch."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from spoor.errors import InputError
from spoor.formats.exporters.columns import Options, Row, plain

_INDEX = re.compile(r"[a-z0-9][a-z0-9._-]{0,254}")
_MOST_ID = 512
"""Bytes of an `_id`."""


def write(rows: Iterable[Row], path: Path, options: Options) -> int:
    """One JSON object a line; returns how many."""
    count = 0
    with path.open("wb") as file:
        for row in rows:
            file.write(json_line(plain(row, options.columns)))
            count += 1
    return count


def write_bulk(rows: Iterable[Row], path: Path, options: Options) -> int:
    """Pairs of lines for `POST _bulk`. A page keeps its `_id`, so the same export twice is one.
    Raises InputError where the index has no name that one may have."""
    if not _INDEX.fullmatch(options.index):
        raise InputError(
            f"--index {options.index!r} names no index: lower-case letters, digits, and . _ - "
            "after the first of these"
        )
    count = 0
    with path.open("wb") as file:
        for row in rows:
            target = {"_index": options.index, "_id": identifier(row["url"])}
            file.write(json_line({"index": target}))
            file.write(json_line(plain(row, options.columns)))
            count += 1
    return count


def identifier(url: str) -> str:
    """The `_id` of a page: its URL, or a digest of one that is too long."""
    data = url.encode("utf-8", "replace")
    return url if len(data) <= _MOST_ID else f"sha256:{hashlib.sha256(data).hexdigest()}"


def json_line(value: Mapping[str, object]) -> bytes:
    """A value as one line."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"
