"""WARC: the records of pages as they were archived, byte for byte."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from spoor.errors import InputError
from spoor.formats.exporters.columns import Options, Row

_HEAD = 1 << 16
"""Bytes of a record, decompressed, in which its headers and those of HTTP have to end."""

_FIRST_READ, _LATER_READ = 1 << 12, 1 << 16
"""Most records are small: what is read beyond one is read again."""


def write(rows: Iterable[Row], path: Path, options: Options) -> int:
    """The response, request and metadata of each page; returns how many pages.

    Raises InputError where a page has none: the run was made with --no-warc.
    """
    begun: set[str] = set()
    count = 0
    with path.open("wb") as file:
        for row in rows:
            name, _ = _place(row, options)
            if name not in begun:
                begun.add(name)
                file.write(first_record(options.folder / name))
            for member, _ in records(row, options):
                file.write(member)
            count += 1
    return count


def records(row: Row, options: Options) -> Iterator[tuple[bytes, bytes]]:
    """(gzip member, first bytes of what is in it) of the records of a page, the response first.
    Raises InputError where they are not to be had."""
    name, offset = _place(row, options)
    archive = options.folder / name
    try:
        with archive.open("rb") as source:
            yield from _exchange(source, offset)
    except (OSError, zlib.error, EOFError) as error:
        raise InputError(f"{archive} is damaged at {offset} ({error})") from error


def members(archive: Path) -> Iterator[tuple[int, bytes, bytes]]:
    """(offset, gzip member, first bytes of what is in it) of all records of an archive. Raises
    OSError, EOFError and zlib.error where it is damaged."""
    with archive.open("rb") as source:
        offset, end = 0, archive.stat().st_size
        while offset < end:
            head, member = _member(source, offset)
            yield offset, member, head
            offset += len(member)


def first_record(archive: Path) -> bytes:
    """The record that says who wrote an archive; empty where it has none. Raises InputError."""
    try:
        with archive.open("rb") as source:
            head, member = _member(source, 0)
    except (OSError, zlib.error, EOFError) as error:
        raise InputError(f"{archive} is damaged at 0 ({error})") from error
    return member if b"\r\nWARC-Type: warcinfo\r\n" in head else b""


def _place(row: Row, options: Options) -> tuple[str, int]:
    if row["archive"] is None:
        raise InputError(
            f"{options.folder} has no archive of {row['url']}: it was left out (--no-warc)"
        )
    name, offset = row["archive"]
    return name, offset


def _exchange(source: BinaryIO, offset: int) -> Iterator[tuple[bytes, bytes]]:
    """The response at an offset, and the records that belong to it: they follow at once."""
    head, member = _member(source, offset)
    if b"\r\nWARC-Type: response\r\n" not in _warc_headers(head):
        raise EOFError("no response stands there")
    while member:
        yield member, head
        offset += len(member)
        try:
            head, member = _member(source, offset)
        except EOFError:  # the last one, or one that is being written
            return
        if b"\r\nWARC-Concurrent-To: " not in _warc_headers(head):
            return


def _warc_headers(head: bytes) -> bytes:
    return head.partition(b"\r\n\r\n")[0] + b"\r\n"


def _member(source: BinaryIO, offset: int) -> tuple[bytes, bytes]:
    """The first bytes of the record at an offset, and its gzip member, unchanged."""
    source.seek(offset)
    decoder = zlib.decompressobj(wbits=31)
    raw, head = bytearray(), bytearray()
    size = _FIRST_READ
    while not decoder.eof:
        chunk = source.read(size)
        size = _LATER_READ
        if not chunk:
            raise EOFError("it ends in the middle of a record")
        raw += chunk
        data = chunk
        while data and not decoder.eof:  # a piece at a time: little may become much
            text = decoder.decompress(data, _HEAD)
            data = decoder.unconsumed_tail
            if len(head) < _HEAD:
                head += text
    size = len(raw) - len(decoder.unused_data)
    return bytes(head), bytes(raw[:size])
