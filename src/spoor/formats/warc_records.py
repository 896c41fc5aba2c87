"""Reads records from the archive of a run, and verifies that each is as it was written. Nothing
else reads them.

Each record is a gzip member of its own, whose checksum and digest are compared. A place may be a
stranger's: what it holds is unpacked a piece at a time, and no more is kept than is asked for.
"""

from __future__ import annotations

import hashlib
from base64 import b32encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from isal import isal_zlib

from spoor.display import command_line, shown
from spoor.errors import InputError

MOST_HEAD = 1 << 16
"""Bytes of a record in which its headers have to end."""

_MOST_RECORD = 1 << 30
"""Bytes that a record may unpack to."""

_FIRST_READ, _LATER_READ = 1 << 12, 1 << 16
"""Most records are small: what is read beyond one is read again."""

_PIECE = 1 << 18


_NO_GZIP: type[Exception] = isal_zlib.error  # type: ignore[assignment]  # its stub has an instance

DAMAGE = (OSError, EOFError, ValueError, ArithmeticError, _NO_GZIP)
"""What reading a damaged record may raise: EOFError where the file ends in it."""


class DamagedError(InputError):
    """A record is not there, or not as it was written."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record of an archive."""

    headers: dict[str, str]
    """By lower-case name."""
    start: int
    """Where its block begins in `text`."""
    text: bytes
    """The record, or so much of it as was asked for."""
    member: bytes
    """As it stands in the file."""

    @property
    def kind(self) -> str:
        """`response`, `conversion`, `request`, `metadata`, `revisit`, `warcinfo`."""
        return self.headers.get("warc-type", "")

    @property
    def cut(self) -> bool:
        """Whether its block has more bytes than were asked for."""
        return len(self.text) < self.end

    @property
    def end(self) -> int:
        """Where its block ends."""
        return self.start + int(self.headers["content-length"])

    @property
    def block(self) -> bytes:
        return self.text[self.start : self.end]


def record_at(
    source: BinaryIO, offset: int, most: int = MOST_HEAD, *, digest: bool = True
) -> Record:
    """The record at an offset, with the first `most` bytes of its text, or some more. Raises
    `DAMAGE` for one that is damaged: by its checksum, and by its `digest`, a third of the time."""
    source.seek(offset)
    decoder = isal_zlib.decompressobj(wbits=31)
    sha1 = hashlib.sha1(usedforsecurity=False) if digest else None
    raw = bytearray()
    text: bytes | bytearray = bytearray()
    headers: dict[str, str] = {}
    start = left = size = 0
    step = _FIRST_READ
    while not decoder.eof:
        data = source.read(step)
        step = _LATER_READ
        if not data:
            raise EOFError("it ends in the middle of a record")
        raw += data
        while data and not decoder.eof:
            piece = decoder.decompress(data, _PIECE)
            data = decoder.unconsumed_tail
            size += len(piece)
            if size > _MOST_RECORD:
                raise ValueError("a record unpacks to too much")
            if headers:
                text += piece[: most - len(text)]
            else:
                piece, text = bytes(text + piece), bytearray()
                start = piece.find(b"\r\n\r\n") + 4
                text += piece[: max(most, MOST_HEAD)]
                if start < 4:
                    if len(piece) > MOST_HEAD:
                        raise ValueError("a record without headers")
                    continue
                headers = _headers(piece[:start])
                left = int(headers["content-length"])
                piece = piece[start:]
            if sha1 is not None:
                sha1.update(piece[:left])
            left -= min(left, len(piece))
    if left or not headers:
        raise ValueError("a record is cut short")
    if sha1 is not None:
        named = headers.get("warc-block-digest", "")
        if named.startswith("sha1:") and named[5:] != b32encode(sha1.digest()).decode():
            raise ValueError("a record does not have its digest")
    # One copy of either at a time.
    text = bytes(text)
    member = bytes(memoryview(raw)[: len(raw) - len(decoder.unused_data)])
    return Record(headers, start, text, member)


def _headers(head: bytes) -> dict[str, str]:
    first, *lines = head.decode("utf-8", "replace").split("\r\n")
    if not first.startswith("WARC/1."):
        raise ValueError("no record stands there")
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    size = headers.get("content-length", "")
    if not (size.isascii() and size.isdigit() and len(size) < 18):
        raise ValueError("a record without a size")
    return headers


@contextmanager
def telling_damage(archive: Path, offset: int, url: str) -> Iterator[None]:
    """Within it, errors are due to damage of an archive at an offset, where the page of a URL is
    (empty for a crawl that goes on and needs it). Each becomes a DamagedError."""
    try:
        yield
    except DAMAGE as error:
        raise _damaged(archive, offset, url, error) from error


def _damaged(archive: Path, offset: int, url: str, error: Exception) -> DamagedError:
    if isinstance(error, FileNotFoundError):
        return DamagedError(
            f"{shown(str(archive))} is gone; if `spoor forget` takes pages out of the run just "
            "now, give the command again, or else put it back from a copy"
        )
    why = error.strerror if isinstance(error, OSError) and error.strerror else error
    page = f", where {shown(url)} stands" if url else ""
    command = command_line("forget", archive.parent, url)
    forget = f"take that page out of the run: {shown(command)}"
    return DamagedError(
        f"{shown(str(archive))} is damaged at byte {offset} ({why}){page}; put it back from a "
        f"copy, or {forget if url else 'choose another --out'}"
    )


def records_at(archive: Path, offset: int, length: int, url: str, most: int) -> Iterator[Record]:
    """The records within `length` bytes from an offset, each with the first `most` bytes of its
    text. Raises DamagedError, which names the page (`url`) that is theirs."""
    with telling_damage(archive, offset, url), archive.open("rb") as source:
        yield from _records(source, offset, length, most)


def checked(
    folder: Path, places: Iterable[tuple[str, int, int, str] | None]
) -> Iterator[Mapping[str, str]]:
    """The headers of the first record at each place (archive, offset, length, URL of the page);
    empty where there is none. Raises DamagedError where records are not as they were written, by
    their checksums: whoever writes others on purpose gives them their digests, too."""
    with ExitStack() as closing:
        sources: dict[str, BinaryIO] = {}
        for place in places:
            headers: Mapping[str, str] | None = None
            if place is not None:
                name, offset, length, url = place
                try:  # thousands of them: no context for each
                    if (source := sources.get(name)) is None:
                        source = sources[name] = closing.enter_context((folder / name).open("rb"))
                    for record in _records(source, offset, length, 0, digest=False):
                        headers = record.headers if headers is None else headers
                except DAMAGE as error:
                    raise _damaged(folder / name, offset, url, error) from error
            yield {} if headers is None else headers


def _records(
    source: BinaryIO, offset: int, length: int, most: int, *, digest: bool = True
) -> Iterator[Record]:
    end = offset + length
    while offset < end:
        record = record_at(source, offset, most, digest=digest)
        offset += len(record.member)
        yield record
