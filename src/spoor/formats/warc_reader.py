"""WARC 1.0 and 1.1 in, by FastWARC: response and resource records, and revisits.

A response of 2xx is a page, of 3xx with a location a redirect, any other a failure. A revisit of
the same URL adds nothing; one that refers to another URL is a redirect to it, so that one page
stays one page. Where a URL was captured more than once, the latest capture counts.
"""

from __future__ import annotations

import io
import math
import os
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from fastwarc.warc import ArchiveIterator, WarcRecord, WarcRecordType

from spoor.compression import is_frame
from spoor.documents.kinds import tell
from spoor.errors import InputError
from spoor.formats.source_file import CHUNK, MAX_BODY, MAX_RATIO, FileSource, Job, moment
from spoor.formats.warc_records import DamagedError, records_at
from spoor.isolate.parsing import parse_reply
from spoor.types import Failed, Fetched, Page, Recording, Redirected, Reply
from spoor.web.content_encoding import MIB, Layers, begins_like_text
from spoor.web.urls import Joiner, canonical

RECORD_TYPES = WarcRecordType.response | WarcRecordType.resource | WarcRecordType.revisit

JOINER = Joiner()
"""Joins of this process; it only saves work."""

_STEP = 1 << 10
"""Bytes at once of a body that breaks: those of one step are lost."""
MAX_HEAD = 1 << 20
"""Bytes of a record's head and that of the reply in it."""


class Warc(FileSource):
    """A WARC file, compressed or not."""

    def jobs(self) -> Iterator[Job]:
        with self._file:
            # Our own decompression, since FastWARC takes a file that is cut short for its end.
            stream: Any = io.BufferedReader(self._file, CHUNK)
            records = ArchiveIterator(stream, RECORD_TYPES, parse_http=False)
            number = 0
            while True:
                try:
                    record = next(records, None)
                    if record is None:
                        return
                    number += 1
                    job = _job(record, f"{self._path} record {number}")
                except OSError as error:
                    raise InputError(
                        f"{self._path}: damaged after record {number} ({error}); get it again"
                    ) from error
                if job is not None:
                    yield job


def read_page(file: Path, offset: int, length: int, url: str) -> Page | None:
    """The page of the response at `offset`, or of the conversion record that follows it within
    `length`; None where it became no page. Raises DamagedError, which names its `url`."""
    answer = None
    for record in records_at(file, offset, length, url, MAX_HEAD + MAX_BODY):
        target = record.headers.get("warc-target-uri", "")
        if record.kind == "conversion":
            media = record.headers.get("content-type", "")
            answer = _response(target, record.block, media, str(file), None)
        elif record.kind == "response":
            answer = _response(target, record.block, None, str(file), None, math.inf)
    reply = None if answer is None else answer.reply
    return reply.page if isinstance(reply, Fetched) else None


@dataclass(frozen=True, slots=True)
class Archived:
    """A reply out of an archive."""

    content_type: str
    body: bytes
    """Without its transfer and content encoding, at most `MAX_BODY` bytes."""
    length: int
    """Bytes of the archive that were read for it."""


def reply_at(file: Path, offset: int, length: int, url: str) -> Archived | None:
    """The response at `offset` as it was received, or what the conversion record holds that follows
    it within `length`; None where no response stands there. Raises DamagedError, which names its
    `url`."""
    found = None
    read = 0
    for record in records_at(file, offset, length, url, MAX_HEAD + MAX_BODY):
        read += len(record.member)
        if record.kind == "conversion":
            found = record.headers.get("content-type", ""), record.block[:MAX_BODY]
        elif record.kind == "response":
            _, headers, body = _http(record.block)
            found = headers.get("content-type", ""), body or b""
    return None if found is None else Archived(*found, read)


@dataclass(frozen=True, slots=True)
class Original:
    """What a revisit record says of the record that it stands for."""

    uri: str
    date: str
    record: str
    """Its WARC-Record-ID."""
    file: Path
    offset: int
    length: int

    def payload(self) -> bytes:
        """The body as it was received, without its headers. Raises DamagedError."""
        most = MAX_HEAD + MAX_BODY
        for record in records_at(self.file, self.offset, self.length, self.uri, most):
            return record.block.partition(b"\r\n\r\n")[2]
        raise DamagedError(f"no record stands at byte {self.offset} of {self.file}")


_OF_ORIGINAL = re.compile(
    r"^WARC-(Type|Target-URI|Date|Record-ID)[ \t]*:(.*)$",
    re.IGNORECASE | re.MULTILINE,
)


def original_at(file: Path, offset: int, length: int) -> Original | None:
    """The response at `offset`, by its own headers; None where there is none. Some .05 ms."""
    try:
        number = os.open(file, os.O_RDONLY)
        try:
            member = os.pread(number, min(length, 1 << 10), offset)
        finally:
            os.close(number)
        head = zlib.decompressobj(31).decompress(member, 1 << 12)
    except (OSError, zlib.error):
        return None
    named = head.partition(b"\r\n\r\n")[0].decode("utf-8", "replace")
    said = {name.lower(): value.strip(" \t\r") for name, value in _OF_ORIGINAL.findall(named)}
    if said.get("type") != "response":
        return None
    uri, date = said.get("target-uri", ""), said.get("date", "")
    record = said.get("record-id", "")
    if not (uri and date and record):
        return None
    return Original(uri, date, record, file, offset, length)


def head_at(file: Path, offset: int, length: int) -> Archived | None:
    """The response at `offset` with the first bytes of its body only, which are not compared with
    its digest; None where it is not there or cannot be read. Some .1 ms."""
    try:
        with file.open("rb") as stream:
            stream.seek(offset)
            member = zlib.decompressobj(31).decompress(stream.read(min(length, 1 << 13)), 1 << 14)
        http, _, body = member.partition(b"\r\n\r\n")[2].partition(b"\r\n\r\n")
        headers = _named(http)
        body = Layers(headers.get("content-encoding", "")).feed(body, 1 << 14)
    except (OSError, ValueError, zlib.error):
        return None
    return Archived(headers.get("content-type", ""), body, min(length, 1 << 13))


def _named(head: bytes) -> dict[str, str]:
    rows = (line.partition(":") for line in head.decode("utf-8", "replace").split("\r\n"))
    return {name.strip().lower(): value.strip() for name, _, value in rows}


def _job(record: WarcRecord, where: str) -> Job | None:
    length = record.content_length
    block = record.reader.read(min(length, MAX_BODY))
    if len(block) < min(length, MAX_BODY):
        raise InputError(
            f"{where}: cut short; get the file again, or give --keep-going to take what it holds"
        )
    target = (record.headers.get("WARC-Target-URI") or "").strip("<>")
    if not target.startswith(("http:", "https:")):
        return None
    date = record.record_date  # None where it is none
    time = None if date is None else moment(date.timestamp())
    if record.record_type == WarcRecordType.revisit:
        other = (record.headers.get("WARC-Refers-To-Target-URI") or "").strip("<>")
        return partial(_revisit, target, other, where, time) if other else None
    media = record.headers.get("Content-Type") or ""
    is_http = record.record_type == WarcRecordType.response or "application/http" in media
    return partial(_response, target, block, None if is_http else media, where, time)


def _url(target: str, where: str) -> str:
    try:
        return canonical(target)
    except ValueError as error:
        raise InputError(f"{where}: no URL that can be fetched: {target!r}") from error


def _revisit(target: str, other: str, where: str, time: float | None) -> Recording | None:
    url, first = _url(target, where), _url(other, where)
    return None if url == first else Recording(url, Redirected(0, first, 301), where, time)


def _response(
    target: str,
    block: bytes,
    media: str | None,
    where: str,
    time: float | None,
    ratio: float = MAX_RATIO,
) -> Recording:
    """A record's page, redirect or failure; `media` is the type of a resource without headers. The
    archive of a run is read with any `ratio`: its crawl had one of its own."""
    url = _url(target, where)
    if media is not None:
        return Recording(url, _page(url, block, media, 200, time), where, time)
    try:
        status, headers, body = _http(block, ratio)
    except _BombError as error:
        return Recording(url, Failed(0, "limit", str(error), error.status), where, time)
    location = headers.get("location")
    reply: Reply
    if 300 <= status < 400 and location:
        try:
            reply = Redirected(0, canonical(location, url), status)
        except ValueError:
            reply = Failed(0, "redirect", f"to {location[:200]!r}", status)
    elif 200 <= status < 300 and body is None:
        encoding = headers.get("content-encoding", "")[:80]
        reply = Failed(0, "http", f"its Content-Encoding {encoding!r} cannot be undone", status)
    elif 200 <= status < 300 and body is not None:
        reply = _page(url, body, headers.get("content-type", ""), status, time)
    else:
        reply = Failed(0, "http", f"status {status}", status)
    return Recording(url, reply, where, time)


def _page(url: str, body: bytes, media: str, status: int, time: float | None) -> Reply:
    return parse_reply(body, url, content_type=media, status=status, fetched_at=time, joiner=JOINER)


class _BombError(Exception):
    """A body that unpacks to more than it may."""

    def __init__(self, ratio: float, status: int) -> None:
        super().__init__(f"a decompression bomb: it grows more than {ratio:g}-fold")
        self.status = status


def _http(block: bytes, ratio: float = math.inf) -> tuple[int, dict[str, str], bytes | None]:
    """Status, headers by lower-case name, and the body without its transfer and content encoding.
    Raises _BombError where the body grows more than `ratio`-fold, beyond the first MiB.

    Many archives hold bodies that were decoded already under headers that say otherwise, so a body
    that does not decode is taken as it is, unless it is packed: then it is None.
    """
    for decode in ("transfer", "none"):
        record = WarcRecord()
        record.init_headers(record_type=WarcRecordType.response)
        record.set_bytes_content(block)
        record.is_http = True
        try:
            record.parse_http(auto_decode=decode)
            body = record.reader.read(MAX_BODY)
        except OSError:
            continue
        headers = {name.lower(): value for name, value in record.http_headers.items()}
        encoding = headers.get("content-encoding", "")
        status = record.http_headers.status_code or 0
        room = int(min(MAX_BODY, max(MIB, ratio * len(body))))
        # One byte more tells whether there is more.
        decoded = _decoded(body, encoding, room + (room < MAX_BODY))
        if decoded is not None and len(decoded) > room:
            raise _BombError(ratio, status)
        return status, headers, decoded
    return 0, {}, b""


def _decoded(body: bytes, encoding: str, room: int) -> bytes | None:
    """At most `room` bytes of a body, without its content encoding; None where that cannot be
    undone, and the body is not what was encoded: what is packed is no text."""
    try:
        return Layers(encoding).feed(body, room)
    except ValueError:
        if _was_decoded(body, encoding):
            return body
    out = bytearray()
    try:
        layers = Layers(encoding)
        for start in range(0, len(body), _STEP):
            out += layers.feed(body[start : start + _STEP], room - len(out))
    except ValueError:  # what came before it is read, as in a crawl
        pass
    return bytes(out) or None


def _was_decoded(body: bytes, encoding: str) -> bool:
    """Whether a body that does not decode begins as a document does, and not as what is packed."""
    packed = (body.startswith(b"\x1f\x8b") or is_frame(body)) and bool(encoding)
    text = begins_like_text(body) or body.startswith((b"\xff\xfe", b"\xfe\xff"))
    return text or (not packed and tell(body, "").kind != "html")
