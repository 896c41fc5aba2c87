"""What a watch has told, out of its `news.jsonl`; what is no line of a watch is left out."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from spoor.errors import InputError
from spoor.live.changes import told_line
from spoor.runs import files

READ = 4 << 20
"""Bytes at the end of the file that are read for its newest lines."""

MOST_LINE = 1 << 24
"""Bytes of a line."""

MOST_LINES = 1_000
"""Lines about one URL that are kept, the newest."""


def newest_lines(path: Path) -> list[dict[str, Any]]:
    """Of a watch in the folder `path`, the newest at the end. Raises InputError."""
    if (file := _opened(path)) is None:
        return []
    with file:
        begin = max(0, os.fstat(file.fileno()).st_size - READ)
        file.seek(begin)
        raw = file.read(READ).splitlines()
    return [line for line in map(told_line, raw[1 if begin else 0 :]) if line is not None]


def lines_about(path: Path, url: str) -> tuple[list[dict[str, Any]], str]:
    """Lines of a watch about a URL, the newest `MOST_LINES`, and the URL with which the story of
    the last one began, empty where that is itself. O(bytes of the file). Raises InputError."""
    key = json.dumps(url, ensure_ascii=False).encode("utf-8", "replace")
    found = [line for line in _lines(path, key) if url in (line["url"], line.get("from"))]
    if not found or found[-1].get("story", found[-1]["id"]) == found[-1]["id"]:
        return found[-MOST_LINES:], ""
    story = found[-1]["story"]
    begun = (one for one in _lines(path, json.dumps(story).encode()) if one["id"] == story)
    first = next(begun, {"url": url})["url"]
    return found[-MOST_LINES:], "" if first == url else first


def _lines(path: Path, key: bytes) -> Iterator[dict[str, Any]]:
    """Those that hold some bytes."""
    if (file := _opened(path)) is None:
        return
    with file:
        for raw in iter(lambda: file.readline(MOST_LINE), b""):
            if key in raw and (line := told_line(raw)) is not None:
                yield line


def _opened(path: Path) -> BinaryIO | None:
    """None before the first line. Raises InputError."""
    try:
        return open(files.open_own(path / files.NEWS, os.O_RDONLY), "rb")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"cannot read {path / files.NEWS}: {error.strerror}") from error
