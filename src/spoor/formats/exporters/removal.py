"""Takes pages out of what was exported before: a file or folder of any form, replaced whole."""

from __future__ import annotations

import csv
import json
import shutil
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import IO

from spoor.distribution import import_extra
from spoor.errors import InputError
from spoor.files import write_whole
from spoor.formats.exporters import wacz
from spoor.formats.exporters.columns import COPIES, Options, Row
from spoor.formats.exporters.jsonl import json_line
from spoor.formats.exporters.sqlite import is_ours
from spoor.formats.exporters.target import LIST, new_file
from spoor.formats.exporters.warc import members

MOST_LINE = 1 << 26
"""Bytes of a line that is read: an export may come from a stranger."""


def remove(path: Path, form: str, urls: Collection[str]) -> int:
    """Take the pages of these canonical URLs out of an export of a form (`spoor.formats.export`);
    returns how many rows, passages or records went. It is written anew beside itself and swapped;
    where nothing goes it is left alone. Raises InputError where it cannot be read or written."""
    wanted = frozenset(urls)
    try:
        if path.is_dir():
            return _folder(path, wanted)
        if not path.is_file():
            raise ValueError("it is no plain file")  # a pipe would be waited for
        return _FORMS[form](path, wanted)
    except InputError:
        raise
    except Exception as error:  # what a stranger wrote breaks each library in its own way
        what = str(error) or "it is no export"
        raise InputError(f"cannot take pages out of {path}: {what}") from error


def warc_without(source: Path, out: Path, urls: Collection[str]) -> list[tuple[int, int]]:
    """Copy an archive without the records of these URLs. Returns (offset, length) of what was left
    out, in order. Raises OSError, EOFError and zlib.error for one that is damaged."""
    dropped: list[tuple[int, int]] = []
    with out.open("wb") as file:
        for offset, member, head in members(source):
            if _target(head) in urls:
                dropped.append((offset, len(member)))
            else:
                file.write(member)
    return dropped


def _target(head: bytes) -> str:
    for line in head.partition(b"\r\n\r\n")[0].split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"warc-target-uri":
            return value.strip().strip(b"<>").decode("utf-8", "replace")
    return ""


def _swapped(path: Path, write: Callable[[Path], int]) -> int:
    """Write it anew; where nothing goes, what was written is thrown away."""

    class _NothingWentError(Exception):
        pass

    with suppress(_NothingWentError), new_file(path) as part:
        count = write(part)
        if not count:
            raise _NothingWentError
        return count
    return 0


def _read_lines(file: IO[bytes]) -> Iterator[bytes]:
    """Lines of at most `MOST_LINE` bytes. Raises ValueError."""
    while line := file.readline(MOST_LINE + 1):
        if len(line) > MOST_LINE:
            raise ValueError(f"a line has more than {MOST_LINE:,} bytes")
        yield line


def _lines(path: Path, urls: frozenset[str]) -> int:
    def write(part: Path) -> int:
        count = 0
        with path.open("rb") as lines, part.open("wb") as out:
            for line in _read_lines(lines):
                row = json.loads(line)
                if row["url"] in urls:
                    count += 1
                elif urls.intersection(row.get(COPIES) or ()):
                    row[COPIES] = [url for url in row[COPIES] if url not in urls]
                    out.write(json_line(row))
                    count += 1
                else:
                    out.write(line)
        return count

    return _swapped(path, write)


def _pairs(path: Path, urls: frozenset[str]) -> int:
    def write(part: Path) -> int:
        count = 0
        with path.open("rb") as file, part.open("wb") as out:
            lines = _read_lines(file)
            for action in lines:
                row = next(lines, b"")
                if json.loads(row)["url"] in urls:
                    count += 1
                else:
                    out.write(action + row)
        return count

    return _swapped(path, write)


def _table(path: Path, urls: frozenset[str]) -> int:
    def write(part: Path) -> int:
        count = 0
        csv.field_size_limit(MOST_LINE)
        with (
            path.open(encoding="utf-8", newline="") as lines,
            part.open("w", encoding="utf-8", newline="") as out,
        ):
            rows, made = csv.reader(lines), csv.writer(out)
            head = next(rows, [])
            column = head.index("url")
            made.writerow(head)
            for row in rows:
                if len(row) > column and row[column] in urls:
                    count += 1
                else:
                    made.writerow(row)
        return count

    return _swapped(path, write)


def _parquet(path: Path, urls: frozenset[str]) -> int:
    arrow, format_ = import_extra("parquet", "Parquet", "pyarrow", "pyarrow.parquet")
    compute = import_extra("parquet", "Parquet", "pyarrow.compute")[0]

    def write(part: Path) -> int:
        count = 0
        gone = arrow.array(sorted(urls), arrow.string())
        with format_.ParquetFile(path) as source:
            schema = source.schema_arrow
            with format_.ParquetWriter(part, schema, compression="zstd") as out:
                for group in range(source.num_row_groups):
                    table = source.read_row_group(group)
                    kept = table.filter(compute.invert(compute.is_in(table["url"], value_set=gone)))
                    count += table.num_rows - kept.num_rows
                    out.write_table(kept)
        return count

    return _swapped(path, write)


def _sqlite(path: Path, urls: frozenset[str]) -> int:
    def write(part: Path) -> int:
        shutil.copyfile(path, part)
        count = 0
        with closing(sqlite3.connect(part)) as db:
            db.executescript("PRAGMA trusted_schema=OFF; PRAGMA journal_mode=OFF")
            if not is_ours(db):  # triggers, views and checks are programs of whoever made it
                raise ValueError("it holds other tables than an export")
            for url in urls:
                count += db.execute("DELETE FROM pages WHERE url = ?", (url,)).rowcount
            if count:
                db.execute("INSERT INTO search(search) VALUES ('rebuild')")
                db.commit()
                db.execute("VACUUM")
        return count

    return _swapped(path, write)


def _warc(path: Path, urls: frozenset[str]) -> int:
    return _swapped(path, lambda part: len(warc_without(path, part, urls)))


def _wacz(path: Path, urls: frozenset[str]) -> int:
    """Made anew of its own records and list of pages."""

    def write(part: Path) -> int:
        with (
            zipfile.ZipFile(path) as file,
            tempfile.TemporaryDirectory(dir=path.parent) as folder,
        ):
            archive = Path(folder) / wacz.ARCHIVE
            stored = file.getinfo(f"archive/{wacz.ARCHIVE}")
            if stored.compress_type != zipfile.ZIP_STORED:  # it might unpack to a thousand times
                raise ValueError("its archive is compressed again, which no export does")
            with file.open(stored) as source, archive.open("wb") as out:
                shutil.copyfileobj(source, out)
            with file.open("datapackage.json") as source:
                package = json.loads(source.read(MOST_LINE))
            gone = 0

            def rows() -> Iterator[Row]:
                nonlocal gone
                responses = (
                    (offset, head)
                    for offset, _, head in members(archive)
                    if b"\r\nWARC-Type: response\r\n" in head.partition(b"\r\n\r\n")[0] + b"\r\n"
                )
                with file.open("pages/pages.jsonl") as opened:
                    lines = _read_lines(opened)
                    json.loads(next(lines, b""))
                    for line, (offset, _) in zip(lines, responses, strict=True):
                        page = json.loads(line)
                        if page["url"] in urls:
                            gone += 1
                            continue
                        yield {
                            **page,
                            "fetched_at": page["ts"],
                            "archive": (wacz.ARCHIVE, offset),
                        }

            with file.open("pages/pages.jsonl") as lines:
                first = json.loads(lines.readline(MOST_LINE))
            columns = {"text": "string"} if first.get("hasText") else {}
            options = Options(columns, Path(folder), title=str(package.get("title", "")))
            wacz.write(rows(), part, options)
            return gone

    return _swapped(path, write)


def _folder(path: Path, urls: frozenset[str]) -> int:
    kept: list[tuple[str, str]] = []
    gone: list[tuple[str, str]] = []
    if (path / LIST).is_symlink():
        raise ValueError(f"{LIST} is a link")
    for line in (path / LIST).read_text("utf-8").splitlines():
        row = json.loads(line)
        (gone if row["url"] in urls else kept).append((row["file"], line))
    for name, _ in gone:
        file = path / name
        if file.is_symlink() or file.resolve().parent.parent != path.resolve():
            raise ValueError(f"{name} is no file of it")
        file.unlink(missing_ok=True)
        with suppress(OSError):  # others of the host are left
            file.parent.rmdir()
    if gone:
        write_whole(path / LIST, "".join(f"{line}\n" for _, line in kept))
    return len(gone)


_FORMS: Mapping[str, Callable[[Path, frozenset[str]], int]] = {
    "jsonl": _lines,
    "passages": _lines,
    "bulk": _pairs,
    "csv": _table,
    "parquet": _parquet,
    "sqlite": _sqlite,
    "warc": _warc,
    "wacz": _wacz,
}
