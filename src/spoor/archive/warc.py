"""Pages out as WARC 1.1: request, response and metadata, each record a gzip member of its own."""

from __future__ import annotations

import io
import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from fastwarc.stream_io import GzipWriter
from fastwarc.warc import WarcRecord, WarcRecordType

ROTATE_AT = 1 << 30
"""Bytes from which on a new file is begun."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record stands."""

    file: str
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Captured:
    """One exchange as it goes into an archive."""

    url: str
    at: float
    """Unix seconds."""
    request: bytes
    """Request line and headers."""
    response: bytes
    """Status line, headers, an empty line, the body."""
    truncated: str = ""
    """`length`, `time`, `disconnect` or `unspecified`; empty if whole."""


class WarcWriter:
    """Appends to `pages.warc.gz` of a folder, and to `pages-00001.warc.gz`, … as it fills.

    `new_id` gives record identifiers; a run passes its own, so that a seed gives the same bytes.
    """

    def __init__(
        self,
        folder: Path,
        *,
        software: str,
        rotate_at: int = ROTATE_AT,
        new_id: Callable[[], uuid.UUID] = uuid.uuid4,
    ) -> None:
        self._folder = folder
        self._rotate_at = rotate_at
        self._software = software
        self._new_id = new_id
        self._number = max((number_of(path) for path in folder.glob("pages*.warc.gz")), default=0)
        self._file = self.path.open("ab")

    @property
    def path(self) -> Path:
        """The file that is written now."""
        name = f"pages-{self._number:05}.warc.gz" if self._number else "pages.warc.gz"
        return self._folder / name

    @property
    def end(self) -> tuple[str, int]:
        """File and offset where the next record will stand."""
        return self.path.name, self._file.tell()

    def write(self, captured: Captured, metadata: Mapping[str, object] | None = None) -> Place:
        """Append one exchange; returns where its response record stands."""
        if self._file.tell() >= self._rotate_at:
            self._file.close()
            self._number += 1
            self._file = self.path.open("ab")
        if not self._file.tell():
            self._info(captured.at)
        response_id = self._new_id()
        place = self._record(
            WarcRecordType.response,
            captured,
            captured.response,
            "application/http; msgtype=response",
            response_id,
        )
        concurrent = {"WARC-Concurrent-To": f"<urn:uuid:{response_id}>"}
        self._record(
            WarcRecordType.request,
            captured,
            captured.request,
            "application/http; msgtype=request",
            self._new_id(),
            concurrent,
        )
        if metadata:
            self._record(
                WarcRecordType.metadata,
                captured,
                json.dumps(metadata, ensure_ascii=False).encode("utf-8", "replace"),
                "application/json",
                self._new_id(),
                concurrent,
            )
        return place

    def sync(self) -> None:
        """Hand everything to the operating system."""
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    def _info(self, at: float) -> None:
        fields = f"software: {self._software}\r\nformat: WARC File Format 1.1\r\n"
        captured = Captured("", at, b"", b"")
        kind = "application/warc-fields"
        self._record(WarcRecordType.warcinfo, captured, fields.encode(), kind, self._new_id())

    def _record(
        self,
        kind: WarcRecordType,
        captured: Captured,
        content: bytes,
        content_type: str,
        identifier: uuid.UUID,
        more: Mapping[str, str] | None = None,
    ) -> Place:
        record = WarcRecord()
        record.init_headers(kind, f"uuid:{identifier}".encode())
        headers = record.headers
        headers.status_line = "WARC/1.1"
        moment = datetime.fromtimestamp(captured.at, UTC)
        headers["WARC-Date"] = moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        headers["Content-Type"] = content_type
        if captured.url:
            headers["WARC-Target-URI"] = captured.url
        for name, value in (more or {}).items():
            headers[name] = value
        if captured.truncated and kind == WarcRecordType.response:
            headers["WARC-Truncated"] = captured.truncated
        record.set_bytes_content(content)
        # A member of its own: without `finish` the whole file would be one, which readers refuse.
        member = io.BytesIO()
        writer = GzipWriter(member, compression_level=1)
        record.write(writer, checksum_data=True)
        writer.finish()
        offset = self._file.tell()
        length = self._file.write(member.getvalue())
        return Place(self.path.name, offset, length)


def number_of(path: Path) -> int:
    """The place of a file in its run: 0 for `pages.warc.gz`."""
    digits = path.name.removeprefix("pages").removesuffix(".warc.gz").lstrip("-")
    return int(digits) if digits.isdigit() else 0
