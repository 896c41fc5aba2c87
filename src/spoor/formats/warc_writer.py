"""Pages out as WARC 1.1: request, response and metadata, each record a gzip member of its own."""

from __future__ import annotations

import hashlib
import os
from base64 import b32encode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from isal.igzip_lib import COMP_GZIP, MEM_LEVEL_SMALL, compress

from spoor.files import sync_folder
from spoor.formats.warc_records import records_at, telling_damage

ROTATE_AT = 1 << 30
"""A file of this many bytes is followed by a new one."""

MOST_WAITING = 8 << 20
"""Bytes that may wait in memory for `sync`."""


@dataclass(frozen=True, slots=True)
class Place:
    """The position of a record in the archive."""

    file: str
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Captured:
    """One exchange, ready for an archive."""

    url: str
    time: float
    """Unix seconds."""
    request: bytes
    """Request line and headers; empty: no record of it."""
    response: bytes
    """Status line, headers, an empty line, the body."""
    truncated: str = ""
    """`length`, `time`, `disconnect` or `unspecified`; empty if complete."""
    rendered: tuple[str, bytes] | None = None
    """Media type and content of what a browser made of it, if one did."""
    revisit: Mapping[str, str] | None = None
    """Headers of a revisit record, where the response says no more than that the document is the
    one of an earlier record (`revisit_headers`)."""


class WarcWriter:
    """Appends to `STEM.warc.gz` of a folder, and to `STEM-00001.warc.gz`, … as it fills.

    Records wait in memory until `sync`.
    """

    def __init__(
        self,
        folder: Path,
        stem: str,
        *,
        software: str,
        rotate_at: int = ROTATE_AT,
    ) -> None:
        self._folder = folder
        self._stem = stem
        self._rotate_at = rotate_at
        self._software = software
        self._number = max(map(self._number_of, folder.glob(f"{stem}*.warc.gz")), default=0)
        self._waiting = bytearray()
        self._last: tuple[Captured, dict[str, str]] | None = None
        """The exchange written last, and what refers to it."""
        self.ends: dict[str, int] = {}
        """Where each file ends that was written to."""
        self._open()

    def _open(self) -> None:
        path = self.path
        self._name = path.name
        self._file = path.open("ab", buffering=0)
        self._end = self._file.tell()
        sync_folder(self._folder)

    def _number_of(self, path: Path) -> int:
        digits = path.name.removeprefix(self._stem).removesuffix(".warc.gz").lstrip("-")
        # What `str.isdigit` takes is more than `int` does.
        return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 12 else 0

    @property
    def path(self) -> Path:
        """The file that is written now."""
        name = (
            f"{self._stem}-{self._number:05}.warc.gz" if self._number else f"{self._stem}.warc.gz"
        )
        return self._folder / name

    def write(self, captured: Captured) -> Place:
        """Append one exchange; returns the place of its response record, together with that of the
        conversion record of what a browser made of it."""
        if self._end >= self._rotate_at:
            self.close()
            self._number += 1
            self._open()
        if not self._end:
            self._info(captured.time)
        response = _new_name()
        place = self._record(
            "response" if captured.revisit is None else "revisit",
            captured,
            captured.response,
            "application/http; msgtype=response",
            response,
            captured.revisit,
        )
        concurrent = {"WARC-Concurrent-To": response}
        if captured.rendered is not None:
            media_type, content = captured.rendered
            made = self._record(
                "conversion",
                captured,
                content,
                media_type,
                _new_name(),
                {"WARC-Refers-To": response},
            )
            place = Place(place.file, place.offset, place.length + made.length)
        if captured.request:
            self._record(
                "request",
                captured,
                captured.request,
                "application/http; msgtype=request",
                _new_name(),
                concurrent,
            )
        self._last = (captured, concurrent)
        if len(self._waiting) > MOST_WAITING:
            self.sync()
        return place

    def describe(self, metadata: str) -> None:
        """Append what is known of the exchange written last: JSON on one line, in a field of
        `application/warc-fields`. Indexers of players leave out records of that type; of any other
        they make captures of their URL, which are played in the place of the response."""
        if self._last is None:
            return
        captured, concurrent = self._last
        self._last = None
        self._record(
            "metadata",
            captured,
            f"json-metadata: {metadata}\r\n".encode("utf-8", "replace"),
            "application/warc-fields",
            _new_name(),
            concurrent,
        )

    def sync(self) -> None:
        """Make everything durable on the disk. Raises OSError if it does not fit; an unknown part
        of it may then be written."""
        if not self._waiting:
            return
        with memoryview(self._waiting) as rest:
            done = 0
            while done < len(rest):
                done += self._file.write(rest[done:]) or 0
        self._waiting.clear()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Bring everything onto the disk and end. Raises OSError as `sync` does."""
        try:
            self.sync()
        finally:
            self._file.close()

    def _info(self, time: float) -> None:
        fields = f"software: {self._software}\r\nformat: WARC File Format 1.1\r\n"
        captured = Captured("", time, b"", b"")
        kind = "application/warc-fields"
        self._record("warcinfo", captured, fields.encode(), kind, _new_name())

    def _record(
        self,
        kind: str,
        captured: Captured,
        content: bytes,
        content_type: str,
        name: str,
        more: Mapping[str, str] | None = None,
    ) -> Place:
        digest = b32encode(hashlib.sha1(content, usedforsecurity=False).digest()).decode()
        uri = f"WARC-Target-URI: {captured.url}\r\n" if captured.url else ""
        others = "".join(f"{header}: {value}\r\n" for header, value in more.items()) if more else ""
        if captured.truncated and kind == "response":
            others += f"WARC-Truncated: {captured.truncated}\r\n"
        head = (
            f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Date: {warc_date(captured.time)}\r\n"
            f"WARC-Record-ID: {name}\r\nContent-Length: {len(content)}\r\n"
            f"Content-Type: {content_type}\r\n{uri}{others}WARC-Block-Digest: sha1:{digest}\r\n\r\n"
        )
        record = b"".join((head.encode(), content, b"\r\n\r\n"))
        # A member of its own: readers refuse a file that is one single member. igzip needs as many
        # bytes as zlib, a tenth of its time for a small record (most of it makes the tables),
        # and a fifth for a large one. With more memory no record gets smaller. A revisit record,
        # of which a refresh or a watch writes one a page, has no tables of its own: 140 bytes more.
        level = 0 if kind == "revisit" else 1
        member = compress(record, level, COMP_GZIP, MEM_LEVEL_SMALL)
        place = Place(self._name, self._end, len(member))
        self._waiting += member
        self._end += place.length
        self.ends[place.file] = self._end
        return place


def profile(*, of_payload: bool) -> str:
    """That of a revisit record: by the word of the server, or by its payload."""
    same = "identical-payload-digest" if of_payload else "server-not-modified"
    return f"http://netpreserve.org/warc/1.1/revisit/{same}"


def revisit_headers(uri: str, date: str, record: str, payload: bytes | None) -> dict[str, str]:
    """Those of a revisit record that stands for the record of this URI, date and identifier: by the
    word of the server (304), or by the `payload`, which is the same. WARC 1.1, section 6.7."""
    headers = {
        "WARC-Profile": profile(of_payload=payload is not None),
        "WARC-Refers-To": record,
        "WARC-Refers-To-Target-URI": uri,
        "WARC-Refers-To-Date": date,
    }
    if payload is not None:
        digest = b32encode(hashlib.sha1(payload, usedforsecurity=False).digest()).decode()
        headers["WARC-Payload-Digest"] = f"sha1:{digest}"
    return headers


def record_name(key: bytes) -> str:
    """The WARC-Record-ID of 16 bytes."""
    digits = key.hex()
    parts = digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]
    return f"<urn:uuid:{'-'.join(parts)}>"


def _new_name() -> str:
    """Of a random UUID (version 4)."""
    if not _drawn:
        drawn = os.urandom(16 * 64)
        _drawn.extend(drawn[at : at + 16] for at in range(0, len(drawn), 16))
    key = bytearray(_drawn.pop())
    key[6], key[8] = key[6] & 0x0F | 0x40, key[8] & 0x3F | 0x80
    return record_name(bytes(key))


_drawn: list[bytes] = []
"""For the next names: each call of the system gives up the lock of the interpreter."""
os.register_at_fork(after_in_child=_drawn.clear)


@lru_cache(maxsize=2)  # the records of one exchange have one; a revisit names another
def warc_date(time: float) -> str:
    """A moment as records state it."""
    moment = datetime.fromtimestamp(time, UTC).replace(tzinfo=None)
    return f"{moment.isoformat(timespec='microseconds')}Z"  # strftime takes five times as long


def response_at(folder: Path, place: Place, most: int) -> tuple[str, bytes]:
    """Status line with headers, and body, of the response record at a place; where a conversion
    record stands there too, that record's content, with no headers.

    Raises DamagedError where the file is not what was written, and where a record unpacks to more
    than `most` bytes.
    """
    response: tuple[str, bytes] | None = None
    path = folder / place.file
    for record in records_at(path, place.offset, place.length, "", most):
        if record.cut:
            with telling_damage(path, place.offset, ""):
                raise ValueError("a record unpacks to too much")
        if record.kind == "conversion":
            return "", record.block
        text, start, end = record.text, record.start, record.end
        mark = text.find(b"\r\n\r\n", start, end)
        if mark >= 0:  # no copy of all of it beside that of the body
            response = text[start:mark].decode("utf-8", "surrogateescape"), text[mark + 4 : end]
    with telling_damage(path, place.offset, ""):
        if response is None:
            raise ValueError("no response stands there")
    return response
