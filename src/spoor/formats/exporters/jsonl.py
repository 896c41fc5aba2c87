"""JSON lines, and the bulk lines of Elasticsearch and OpenSearch."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from spoor.bounded_json import json_of_line
from spoor.compression import zstd
from spoor.display import quiet_json
from spoor.errors import InputError
from spoor.formats.exporters.columns import COPIES, Options, Row, plain
from spoor.formats.source_file import bounded

_INDEX = re.compile(r"[a-z0-9][a-z0-9._-]{0,254}")
MOST_LINE = 1 << 26
"""Bytes of a line that is read: an export may come from a stranger."""
_MOST_ID = 512
"""Bytes of an `_id`."""


class SupportsWrite(Protocol):
    """A file that bytes are written to."""

    def write(self, data: bytes, /) -> object: ...


class Lines(Protocol):
    """A file that lines are read from."""

    def readline(self, size: int = -1, /) -> bytes: ...


def write(rows: Iterable[Row], path: Path, options: Options) -> int:
    """One JSON object a line; returns how many."""
    with path.open("wb") as file:
        return _write(rows, file, options)


def write_gz(rows: Iterable[Row], path: Path, options: Options) -> int:
    """The same as gzip."""
    with gzip.GzipFile(path, "wb", compresslevel=6, mtime=0) as file:
        return _write(rows, file, options)


def write_zst(rows: Iterable[Row], path: Path, options: Options) -> int:
    """The same as Zstandard."""
    with zstd.open(path, "wb") as file:
        return _write(rows, file, options)


def _write(rows: Iterable[Row], file: SupportsWrite, options: Options) -> int:
    count = 0
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


def write_without(source: Path, path: Path, urls: Collection[str]) -> int:
    """Copy an export without the lines of these URLs, also as near-copies of others; returns how
    many lines differ. Raises ValueError and LookupError where it is none."""
    with source.open("rb") as lines, path.open("wb") as file:
        return _write_without(lines, file, urls)


def write_gz_without(source: Path, path: Path, urls: Collection[str]) -> int:
    """Do the same with gzip. Raises EOFError where it is cut off."""
    with gzip.open(source) as lines, gzip.GzipFile(path, "wb", compresslevel=6, mtime=0) as file:
        return _write_without(lines, file, urls)


def write_zst_without(source: Path, path: Path, urls: Collection[str]) -> int:
    """Do the same with Zstandard. Raises EOFError where it is cut off."""
    with zstd.open(source) as lines, zstd.open(path, "wb") as file:
        return _write_without(lines, file, urls)


def _write_without(lines: Lines, file: SupportsWrite, urls: Collection[str]) -> int:
    count = 0
    for line in read_lines(lines):
        row = json_of_line(line)
        if row["url"] in urls:
            count += 1
        elif any(copy in urls for copy in row.get(COPIES) or ()):
            row[COPIES] = [url for url in row[COPIES] if url not in urls]
            file.write(json_line(row))
            count += 1
        else:
            file.write(line)
    return count


def urls(source: Path) -> Iterator[str]:
    """Those of the rows of an export, packed or not. Raises ValueError and LookupError where it is
    none, or unpacks to `MAX_BYTES` and `MAX_RATIO` times its size."""
    opened: Any = {".gz": gzip.open, ".zst": zstd.open}.get(source.suffix, open)
    with opened(source, "rb") as lines:
        for line in bounded(read_lines(lines), len, source.stat().st_size):
            yield str(json_of_line(line)["url"])


def write_bulk_without(source: Path, path: Path, urls: Collection[str]) -> int:
    """Do the same with bulk lines; returns how many pages went."""
    count = 0
    with source.open("rb") as opened, path.open("wb") as file:
        lines = read_lines(opened)
        for action in lines:
            row = next(lines, b"")
            if json_of_line(row)["url"] in urls:
                count += 1
            else:
                file.write(action + row)
    return count


def read_lines(file: Lines) -> Iterator[bytes]:
    """Lines of at most `MOST_LINE` bytes. Raises ValueError."""
    while line := file.readline(MOST_LINE + 1):
        if len(line) > MOST_LINE:
            raise ValueError(f"a line has more than {MOST_LINE:,} bytes")
        yield line


def identifier(url: str) -> str:
    """The `_id` of a page: its URL, or a digest of one that is too long."""
    data = url.encode("utf-8", "replace")
    return url if len(data) <= _MOST_ID else f"sha256:{hashlib.sha256(data).hexdigest()}"


def json_line(value: Mapping[str, object]) -> bytes:
    """A value as one line."""
    text = quiet_json(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    return text.encode("utf-8", "replace") + b"\n"
