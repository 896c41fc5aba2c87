"""Export of the pages of a run: JSON lines, CSV, Parquet, WARC, and bulk lines for Elasticsearch
and OpenSearch.

Rows are read and written one by one, so memory stays flat. A file appears complete or not at all.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from spoor.distribution import import_extra
from spoor.errors import InputError

Row = Mapping[str, Any]
"""`url`, `title`, `score`, `relevant`, `status`, `host`, `fetched_at` (RFC 3339), `size` (bytes),
`depth`, `path` (URLs from the seed), `why` ([{reason, share}]), `probability` of its choice,
`flags`; `text` where it was asked for; `archive` (file, offset) or None."""

COLUMNS: Mapping[str, str] = {
    "url": "string",
    "title": "string",
    "score": "float64",
    "relevant": "bool",
    "status": "int32",
    "host": "string",
    "fetched_at": "time",
    "size": "int64",
    "depth": "int32",
    "path": "list<string>",
    "why": "list<reason>",
    "probability": "float64",
    "flags": "list<string>",
    "text": "string",
}

SUFFIXES: Mapping[str, str] = {
    ".jsonl": "jsonl",
    ".csv": "csv",
    ".parquet": "parquet",
    ".ndjson": "bulk",
    ".warc.gz": "warc",
}

BATCH = 1_000
"""Rows of a group in a Parquet file."""

_FORMULA = re.compile("^(?= *[\t\r\n])|(?:^|(?<=[;\t\r\n]))(?= *[=+@＝＋－＠-])")
"""Where a spreadsheet takes what follows for a formula: at the beginning of a cell, and where
programs that part cells by semicolons or tabs see one begin."""

_INDEX = re.compile(r"[a-z0-9][a-z0-9._-]{0,254}")
_MOST_ID = 512
"""Bytes of an `_id`."""


def format_of(out: Path, chosen: str | None) -> str:
    """The format of an export. Raises InputError where neither it nor the file's name says one."""
    formats = dict.fromkeys(SUFFIXES.values())
    if chosen is not None:
        if chosen not in formats:
            raise InputError(f"unknown format {chosen!r}; there are: {', '.join(formats)}")
        return chosen
    for suffix, name in SUFFIXES.items():
        if out.name.endswith(suffix):
            return name
    raise InputError(
        f"{out} does not say its format; give --format, or a name that ends with one of "
        f"{', '.join(SUFFIXES)}"
    )


def write(rows: Iterable[Row], out: Path, kind: str, *, index: str = "", folder: Path) -> int:
    """Write rows to a file, which is replaced if it is there; returns how many.

    `index` is the index of bulk lines; `folder` has the WARC archives. Raises InputError where the
    file cannot be written.
    """
    if kind == "bulk" and not _INDEX.fullmatch(index):
        raise InputError(
            f"--index {index!r} names no index: lower-case letters, digits, and . _ - after the "
            "first of these"
        )
    writers: Mapping[str, Callable[[Iterable[Row], BinaryIO], int]] = {
        "jsonl": json_lines,
        "csv": comma_separated,
        "parquet": parquet,
        "bulk": lambda items, file: bulk(items, file, index),
        "warc": lambda items, file: warc(items, file, folder),
    }
    with replacing(out) as file:
        return writers[kind](rows, file)


@contextmanager
def replacing(out: Path) -> Iterator[BinaryIO]:
    """A new file that replaces `out` once it is complete and on the disk; on an error it is
    removed."""
    if os.path.isdir(out):
        raise InputError(f"{out} is a folder; give the name of a file")
    part = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        with part.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(out)
    except OSError as error:
        raise InputError(f"cannot write {out}: {error.strerror}") from error
    finally:
        with suppress(OSError):
            part.unlink()


# ---------------------------------------------------------------- lines


def _plain(row: Row) -> dict[str, Any]:
    return {name: row[name] for name in COLUMNS if name in row}


def _json(value: object) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"


def json_lines(rows: Iterable[Row], file: BinaryIO) -> int:
    """One JSON object a line."""
    count = 0
    for row in rows:
        file.write(_json(_plain(row)))
        count += 1
    return count


def bulk(rows: Iterable[Row], file: BinaryIO, index: str) -> int:
    """Pairs of lines for `POST _bulk`. A page keeps its `_id`, so the same export twice is one."""
    count = 0
    for row in rows:
        file.write(_json({"index": {"_index": index, "_id": identifier(row["url"])}}))
        file.write(_json(_plain(row)))
        count += 1
    return count


def identifier(url: str) -> str:
    """The `_id` of a page: its URL, or a digest of one that is too long."""
    data = url.encode("utf-8", "replace")
    return url if len(data) <= _MOST_ID else f"sha256:{hashlib.sha256(data).hexdigest()}"


def comma_separated(rows: Iterable[Row], file: BinaryIO) -> int:
    """CSV (RFC 4180) in UTF-8. A list is one cell, a line for each item; an apostrophe precedes
    what a spreadsheet would read as a formula."""
    text = io.TextIOWrapper(file, "utf-8", errors="replace", newline="")
    made: Any = None
    count = 0
    for row in rows:
        plain = _plain(row)
        if made is None:
            made = csv.DictWriter(text, list(plain))
            made.writeheader()
        made.writerow({name: cell(value) for name, value in plain.items()})
        count += 1
    if made is None:
        csv.DictWriter(text, [name for name in COLUMNS if name != "text"]).writeheader()
    text.flush()
    text.detach()
    return count


def cell(value: object) -> object:
    """A value as a cell of a table."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        value = "\n".join(
            f"{item['reason']} ({item['share']:+g})" if isinstance(item, Mapping) else str(item)
            for item in value
        )
    if isinstance(value, str):
        value = value.replace("\0", "")
        return _FORMULA.sub("'", value)
    return value


def parquet(rows: Iterable[Row], file: BinaryIO) -> int:
    """Parquet with a fixed schema, in groups of `BATCH` rows. Raises InputError without the
    extra."""
    arrow, format_ = import_extra("parquet", "Parquet", "pyarrow", "pyarrow.parquet")
    reason = arrow.struct([("reason", arrow.string()), ("share", arrow.float64())])
    kinds = {
        "list<string>": arrow.list_(arrow.string()),
        "list<reason>": arrow.list_(reason),
        "string": arrow.string(),
        "time": arrow.timestamp("ms", tz="UTC"),
        "float64": arrow.float64(),
        "bool": arrow.bool_(),
        "int32": arrow.int32(),
        "int64": arrow.int64(),
    }
    schema = arrow.schema([(name, kinds[kind]) for name, kind in COLUMNS.items()])
    count = 0
    with format_.ParquetWriter(file, schema, compression="zstd") as writer:
        every = iter(rows)
        while batch := list(islice(every, BATCH)):
            plain = [
                {**_plain(row), "fetched_at": datetime.fromisoformat(row["fetched_at"])}
                for row in batch
            ]
            table = arrow.Table.from_pylist(plain, schema=schema)
            writer.write_table(table)
            count += len(batch)
    return count


# ---------------------------------------------------------------- archives


def warc(rows: Iterable[Row], file: BinaryIO, folder: Path) -> int:
    """The records of the pages as they were archived, byte for byte: response, request, metadata.

    Raises InputError where a page has none: the run was made with --no-warc.
    """
    begun: set[str] = set()
    count = 0
    for row in rows:
        if row["archive"] is None:
            raise InputError(
                f"{folder} has no archive of {row['url']}: it was left out (--no-warc)"
            )
        name, offset = row["archive"]
        archive = folder / name
        try:
            with archive.open("rb") as source:
                if name not in begun:
                    begun.add(name)
                    file.write(_first(source))
                for member in _exchange(source, offset):
                    file.write(member)
        except (OSError, zlib.error, EOFError) as error:
            raise InputError(f"{archive} is damaged at {offset} ({error})") from error
        count += 1
    return count


def _first(source: BinaryIO) -> bytes:
    """The record that says who wrote an archive."""
    head, member = _member(source, 0)
    return member if b"\r\nWARC-Type: warcinfo\r\n" in head else b""


def _exchange(source: BinaryIO, offset: int) -> Iterator[bytes]:
    """The response at an offset, and the records that belong to it: they follow at once."""
    head, member = _member(source, offset)
    if b"\r\nWARC-Type: response\r\n" not in head:
        raise EOFError("no response stands there")
    while member:
        yield member
        offset += len(member)
        try:
            head, member = _member(source, offset)
        except EOFError:  # the last one, or one that is being written
            return
        if b"\r\nWARC-Concurrent-To: " not in head:
            return


def _member(source: BinaryIO, offset: int) -> tuple[bytes, bytes]:
    """The headers of the record at an offset, and its gzip member, unchanged."""
    source.seek(offset)
    decoder = zlib.decompressobj(wbits=31)
    raw, head = bytearray(), bytearray()
    while not decoder.eof:
        chunk = source.read(1 << 16)
        if not chunk:
            raise EOFError("it ends in the middle of a record")
        raw += chunk
        text = decoder.decompress(chunk)
        if b"\r\n\r\n" not in head:
            head += text
    size = len(raw) - len(decoder.unused_data)
    return bytes(head.partition(b"\r\n\r\n")[0]) + b"\r\n", bytes(raw[:size])
