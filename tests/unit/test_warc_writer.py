"""What is archived is, byte for byte, what FastWARC's own writer makes of it."""

from __future__ import annotations

import gzip
import io
import tempfile
import uuid
from datetime import UTC, datetime
from pathlib import Path

from fastwarc.warc import WarcRecord, WarcRecordType
from hypothesis import given
from hypothesis import strategies as st

from spoor.archive.warc import Captured, WarcWriter

IDS = [uuid.UUID(int=number, version=4) for number in range(1, 5)]


def by_fastwarc(
    kind: WarcRecordType, number: int, headers: dict[str, str], content: bytes
) -> bytes:
    record = WarcRecord()
    record.init_headers(kind, f"uuid:{IDS[number]}".encode())
    record.headers.status_line = "WARC/1.1"
    for name, value in headers.items():
        if value:
            record.headers[name] = value
    record.set_bytes_content(content)
    plain = io.BytesIO()
    record.write(plain, checksum_data=True)
    return plain.getvalue()


@given(
    path=st.text("abcxyz0189/?&=%.~-_", max_size=40),
    at=st.floats(0, 4e9),
    request=st.binary(max_size=300),
    response=st.binary(max_size=3000),
    truncated=st.sampled_from(["", "length", "time", "disconnect", "unspecified"]),
    metadata=st.text(max_size=300),
)
def test_a_record_is_what_fastwarc_would_write(
    path: str, at: float, request: bytes, response: bytes, truncated: str, metadata: str
) -> None:
    url = f"http://one.example/{path}"
    ids = iter(IDS)
    with tempfile.TemporaryDirectory() as folder:
        writer = WarcWriter(Path(folder), software="spoor", new_id=lambda: next(ids))
        place = writer.write(Captured(url, at, request, response, truncated))
        writer.describe(metadata)
        writer.close()
        written = writer.path.read_bytes()
    assert writer.ends == {place.file: len(written)}
    date = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    about = {"WARC-Target-URI": url, "WARC-Concurrent-To": f"<urn:uuid:{IDS[1]}>"}
    http = "application/http; msgtype="
    first, fields = {"WARC-Date": date}, b"software: spoor\r\nformat: WARC File Format 1.1\r\n"
    asked = by_fastwarc(
        WarcRecordType.response,
        1,
        {
            **first,
            "Content-Type": f"{http}response",
            "WARC-Target-URI": url,
            "WARC-Truncated": truncated,
        },
        response,
    )
    member = written[place.offset : place.offset + place.length]
    assert gzip.decompress(member) == asked
    assert gzip.decompress(written) == b"".join(
        (
            by_fastwarc(
                WarcRecordType.warcinfo,
                0,
                {**first, "Content-Type": "application/warc-fields"},
                fields,
            ),
            asked,
            by_fastwarc(
                WarcRecordType.request,
                2,
                {**first, "Content-Type": f"{http}request", **about},
                request,
            ),
            by_fastwarc(
                WarcRecordType.metadata,
                3,
                {**first, "Content-Type": "application/json", **about},
                metadata.encode("utf-8", "replace"),
            ),
        )
    )
