"""WARC: the records of pages as they were archived, byte for byte."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from spoor.errors import InputError
from spoor.formats.exporters.columns import Options, Row

_HEAD = 1 << 16
"""Bytes of a record, decompressed, in which its headers and those of HTTP have to end."""

_CONVERSION = b"\r\nWARC-Type: conversion\r\n"

_FIRST_READ, _LATER_READ = 1 << 12, 1 << 16
"""Most records are small: what is read beyond one is read again."""


def write(rows: Iterable[Row], path: Path, options: Options) -> int:
    """The response, request and metadata of each page; returns how many pages.

    Raises InputError where a page has none: the run was made with --no-warc.
    """
    count = 0
    with path.open("wb") as file, Archives(options.folder) as archives:
        for row in rows:
            file.write(archives.first_record(row))
            for member, _ in archives.records(row):
                file.write(member)
            count += 1
    return count


def write_without(source: Path, path: Path, urls: Collection[str]) -> int:
    """Copy an archive without the records of these URLs; returns how many went. Raises OSError,
    EOFError and zlib.error for one that is damaged."""
    return len(copy_without(source, path, urls))


def copy_without(source: Path, path: Path, urls: Collection[str]) -> list[tuple[int, int]]:
    """Do the same; returns (offset, length) of what was left out, in order."""
    dropped: list[tuple[int, int]] = []
    with path.open("wb") as file:
        for offset, member, head in members(source):
            if _target(head) in urls:
                dropped.append((offset, len(member)))
            else:
                file.write(member)
    return dropped


class Archives:
    """Reads the records of pages out of the archives of a run, of which one at a time is open. Its
    methods raise InputError where they are not to be had."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._begun: set[str] = set()
        self._name = ""
        self._file: BinaryIO | None = None
        self._ahead = (-1, b"", b"")
        """(offset, head, member) of the record that ended the last exchange: it begins the next."""

    def __enter__(self) -> Archives:
        return self

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.close()

    def first_record(self, row: Row) -> bytes:
        """The record that says who wrote the archive of a page; empty the next time it is asked of
        that archive, and where it has none."""
        name, _ = self._place(row)
        if name in self._begun:
            return b""
        self._begun.add(name)
        with self._opened(name, 0) as source:
            head, member = _member(source, 0)
        return member if b"\r\nWARC-Type: warcinfo\r\n" in head else b""

    def records(self, row: Row) -> Iterator[tuple[bytes, bytes]]:
        """(gzip member, first bytes of what is in it) of the records of a page, the response
        first."""
        name, offset = self._place(row)
        with self._opened(name, offset) as source:
            known, head, member = self._ahead
            if known != offset:
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
                headers = _warc_headers(head)
                if not (b"\r\nWARC-Concurrent-To: " in headers or _CONVERSION in headers):
                    self._ahead = offset, head, member
                    return

    def _place(self, row: Row) -> tuple[str, int]:
        if row["archive"] is None:
            raise InputError(
                f"{self._folder} has no archive of {row['url']}: it was left out (--no-warc)"
            )
        name, offset = row["archive"]
        return name, offset

    @contextmanager
    def _opened(self, name: str, offset: int) -> Iterator[BinaryIO]:
        archive = self._folder / name
        try:
            if self._file is None or name != self._name:
                if self._file is not None:
                    self._file.close()
                self._file, self._name = archive.open("rb"), name
                self._ahead = -1, b"", b""
            yield self._file
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


def _warc_headers(head: bytes) -> bytes:
    return head.partition(b"\r\n\r\n")[0] + b"\r\n"


def _target(head: bytes) -> str:
    for line in _warc_headers(head).split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"warc-target-uri":
            return value.strip().strip(b"<>").decode("utf-8", "replace")
    return ""


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
