"""WARC: the records of pages as they were archived, byte for byte."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from spoor.errors import InputError
from spoor.formats.exporters.columns import Options, Row
from spoor.formats.warc_records import DAMAGE, Record, record_at, telling_damage

_GZIP = b"\x1f\x8b\x08"
"""How each record begins."""

_CHUNK = 1 << 16


def write(rows: Iterable[Row], path: Path, options: Options) -> int:
    """The response, request and metadata of each page; returns how many pages. One that has no
    response is left out. Raises InputError where none has one: the run was made with --no-warc."""
    count = 0
    with path.open("wb") as file, Archives(options) as archives:
        for row in archives.archived(rows):
            for one in with_requisites(row):
                file.write(archives.first_record(one))
                for member, _ in archives.records(one):
                    file.write(member)
            count += 1
    return count


def with_requisites(row: Row) -> Iterator[Row]:
    """A page, and what it needs to be shown."""
    yield row
    yield from row.get("requisites", ())


def write_without(source: Path, path: Path, urls: Collection[str]) -> int:
    """Copy an archive without the records of these URLs; returns how many went. Raises `DAMAGE` for
    one that is damaged."""
    return len(copy_without(source, path, urls))


def copy_without(
    source: Path, path: Path, urls: Collection[str], pages: Mapping[int, str] | None = None
) -> list[tuple[int, int]]:
    """Do the same; returns (offset, length) of what was left out, in order. `pages`: where the
    response of a page stands → its URL. What is damaged of these URLs' records, or of the one that
    says who wrote the archive, is left out, up to the next record that is whole."""
    known = pages or {}
    dropped: list[tuple[int, int]] = []
    offset, end = 0, source.stat().st_size
    with source.open("rb") as archive, path.open("wb") as file:
        while offset < end:
            try:
                record = record_at(archive, offset)
            except DAMAGE:
                follows = offset not in known and dropped and sum(dropped[-1]) == offset
                if offset and known.get(offset) not in urls and not follows:
                    raise
                after = _next_whole(archive, offset + 1, end)
                dropped.append((offset, after - offset))
                offset = after
                continue
            if record.headers.get("warc-target-uri", "").strip("<>") in urls:
                dropped.append((offset, len(record.member)))
            else:
                file.write(record.member)
            offset += len(record.member)
    return dropped


def _next_whole(archive: BinaryIO, start: int, end: int) -> int:
    """Where the next record begins that is whole; the end where there is none."""
    while start < end:
        archive.seek(start)
        data = archive.read(_CHUNK)
        at = data.find(_GZIP)
        if at < 0:
            start += max(1, len(data) - len(_GZIP) + 1)
            continue
        with suppress(*DAMAGE):
            record_at(archive, start + at)
            return start + at
        start += at + 1
    return end


class Archives:
    """Reads the records of pages out of the archives of a run, of which one at a time is open. Its
    methods raise InputError where they are not to be had."""

    def __init__(self, options: Options) -> None:
        self._folder = options.folder
        self._left_out = options.left_out
        self._begins_page = options.begins_page
        self._begun: set[str] = set()
        self._name = ""
        self._file: BinaryIO | None = None
        self._ahead: tuple[int, Record | None] = (-1, None)
        """(offset, record) of what ended the last exchange: it begins the next."""

    def __enter__(self) -> Archives:
        return self

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.close()

    def archived(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows that have a response in an archive."""
        found = False
        for row in rows:
            if row["archive"] is None:
                self._left_out.add(row, "it has no place in the archive")
            elif not self._is_response(row):
                self._left_out.add(row, "no response stands at its place in the archive")
            else:
                found = True
                yield row
        if self._left_out.count and not found:
            raise InputError(
                f"{self._folder} has no archive of {self._left_out.first}; it was left out "
                "(--no-warc), or the run is damaged"
            )

    def _is_response(self, row: Row) -> bool:
        name, offset = row["archive"]
        with self._opened(row, name, offset) as source:
            record = self._record(source, offset)
            self._ahead = offset, record
        return record.kind == "response"

    def _record(self, source: BinaryIO, offset: int) -> Record:
        known, record = self._ahead
        return record_at(source, offset) if known != offset or record is None else record

    def first_record(self, row: Row) -> bytes:
        """The record that says who wrote the archive of a page; empty the next time it is asked of
        that archive, and where it has none."""
        name, _ = row["archive"]
        if name in self._begun:
            return b""
        self._begun.add(name)
        with self._opened(row, name, 0) as source:
            record = record_at(source, 0)
        return record.member if record.kind == "warcinfo" else b""

    def records(self, row: Row) -> Iterator[tuple[bytes, bytes]]:
        """(gzip member, first bytes of what is in it) of the records of a page that is `archived`,
        the response first."""
        name, offset = row["archive"]
        with self._opened(row, name, offset) as source:
            record = self._record(source, offset)
            while True:
                yield record.member, record.text
                offset += len(record.member)
                try:
                    record = record_at(source, offset)
                except EOFError:  # the last one, or one that is being written
                    return
                except DAMAGE:
                    if self._begins_page(name, offset):  # which tells it itself
                        return
                    raise
                if "warc-concurrent-to" not in record.headers and record.kind != "conversion":
                    self._ahead = offset, record
                    return

    @contextmanager
    def _opened(self, row: Row, name: str, offset: int) -> Iterator[BinaryIO]:
        archive = self._folder / name
        with telling_damage(archive, offset, row["url"]):
            if self._file is None or name != self._name:
                if self._file is not None:
                    self._file.close()
                self._file, self._name = archive.open("rb"), name
                self._ahead = -1, None
            yield self._file


def records_of(archive: Path) -> Iterator[tuple[int, Record]]:
    """(offset, record) of all records of an archive. Raises `DAMAGE` where it is damaged."""
    with archive.open("rb") as source:
        offset, end = 0, archive.stat().st_size
        while offset < end:
            record = record_at(source, offset)
            yield offset, record
            offset += len(record.member)
