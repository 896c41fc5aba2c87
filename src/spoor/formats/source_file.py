"""One file of recordings as a stream: decompressed, within bounds of time and memory."""

from __future__ import annotations

import bz2
import io
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeVar

from spoor.compression import FIRST_BYTES, windows_up_to, zstd
from spoor.errors import InputError
from spoor.files import plain
from spoor.types import Recording

Job = Callable[[], Recording | None]
"""The costly half of reading one record: parses it, or finds that it holds no page. Raises
InputError for a bad one. A Job can be pickled and done in another process."""

MAX_WINDOW = 1 << 31
"""The largest zstandard window, for large files."""

MAX_BODY = 1 << 24
"""Bytes of a document that are read; the rest of a longer one is left out, as a parser would."""

MEMORY, PER_BYTE = 64 << 20, 20
"""A window may have `MEMORY` bytes, plus `PER_BYTE` for each byte of its file."""

MAX_BYTES, MAX_RATIO = 32 << 20, 200
"""A file may unpack to `MAX_BYTES`, plus `MAX_RATIO` for each of its own bytes: one that unpacks to
more is an attack on its reader. What a part of gzip unpacks to does not count, up to `MAX_BYTES`:
a page that is blank for megabytes is such a part, a record of an archive, and gzip makes at most
1,032 bytes of one."""

MAX_EMPTY_PARTS = 1_000
"""In a row."""

CHUNK = 1 << 18
_READ = 1 << 14
_STEP = 1 << 10
"""Bytes of zstandard that are unpacked at a time: each may become 100,000."""


_Piece = TypeVar("_Piece")


def bounded(
    pieces: Iterable[_Piece], size_of: Callable[[_Piece], int], packed: int
) -> Iterator[_Piece]:
    """The same pieces of a file of so many bytes. Raises ValueError where they are more than
    `MAX_BYTES` and `MAX_RATIO` allow."""
    left = MAX_BYTES + MAX_RATIO * packed
    for piece in pieces:
        left -= size_of(piece)
        if left < 0:
            raise ValueError(f"it unpacks to over {MAX_RATIO} times its size")
        yield piece


class Source(Protocol):
    """One file or folder of recordings."""

    @property
    def total(self) -> int:
        """Its size in bytes on the disk."""
        ...

    @property
    def done(self) -> int:
        """How much of `total` has been read."""
        ...

    def jobs(self) -> Iterator[Job]:
        """One for each record, in order. Raises InputError where it cannot be read on."""
        ...


def moment(seconds: float) -> float | None:
    """Unix seconds of a capture; None for those that are not between 1970 and the year 9999."""
    return seconds if 0.0 <= seconds < YEAR_10000 else None


YEAR_10000 = 253_402_300_800.0
"""In Unix seconds."""


class _Unpacker(Protocol):
    """Unpacks one part of a compressed file, a bounded piece at a time."""

    def unpack(self, data: bytes) -> tuple[bytes, bytes]:
        """The next piece, and what is left of the data."""
        ...

    @property
    def eof(self) -> bool: ...
    @property
    def hungry(self) -> bool:
        """Whether nothing more comes without more data."""
        ...


class _Zstandard:
    hungry = True

    def __init__(self, most: int, dictionary: zstd.ZstdDict | None = None) -> None:
        self._decoder = zstd.ZstdDecompressor(dictionary, options=windows_up_to(most))
        self.eof = False

    def unpack(self, data: bytes) -> tuple[bytes, bytes]:
        piece = self._decoder.decompress(data[:_STEP])
        self.eof = self._decoder.eof
        return piece, self._decoder.unused_data + data[_STEP:]


class _Gzip:
    hungry = True

    def __init__(self, most: int) -> None:
        self._decoder = zlib.decompressobj(wbits=31)
        self.eof = False

    def unpack(self, data: bytes) -> tuple[bytes, bytes]:
        piece = self._decoder.decompress(data, CHUNK)
        self.eof = self._decoder.eof
        return piece, self._decoder.unused_data or self._decoder.unconsumed_tail


class _Bzip2:
    def __init__(self, most: int) -> None:
        self._decoder = bz2.BZ2Decompressor()
        self.eof = False

    @property
    def hungry(self) -> bool:
        return self._decoder.needs_input

    def unpack(self, data: bytes) -> tuple[bytes, bytes]:
        piece = self._decoder.decompress(data, CHUNK)
        self.eof = self._decoder.eof
        return piece, self._decoder.unused_data if self.eof else b""


CODECS: dict[bytes, tuple[str, Callable[[int], _Unpacker]]] = {
    FIRST_BYTES: ("zstandard", _Zstandard),
    b"\x1f\x8b": ("gzip", _Gzip),
    b"BZh": ("bzip2", _Bzip2),
}
"""First bytes → name, what unpacks it: made with the largest window."""


_SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18", re.DOTALL)
"""With which a frame of zstandard begins that holds no part of the file."""
_DICTIONARY = b"\x5d\x2a\x4d\x18"
"""The same where it holds what all others need, as the specification of WARC with zstandard says:
it is the first, its size follows in four bytes, and it may itself be packed."""


def _dictionary(file: BinaryIO) -> zstd.ZstdDict:
    """That with which a file begins, of `MAX_BYTES` at most. Raises ValueError where it is none."""
    size = int.from_bytes(file.read(8)[4:], "little")
    if size > MAX_BYTES:
        raise ValueError("its dictionary is too large")
    data = file.read(size)
    if data.startswith(FIRST_BYTES):
        decoder = zstd.ZstdDecompressor(options=windows_up_to(MAX_BYTES))
        data = decoder.decompress(data, MAX_BYTES)
        if not decoder.eof:
            raise ValueError("its dictionary is too large, or cut short")
    return zstd.ZstdDict(data)


class File(io.RawIOBase):
    """A file read through its decompression, if it has one; the parts of a file that was
    compressed in parts follow one another.

    Raises InputError for what is missing, damaged or cut short.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        try:
            self._file = plain(path).open("rb")
            head = self._file.read(8)
            self._file.seek(0)
            self.total = path.stat().st_size
            self._codec = next((CODECS[magic] for magic in CODECS if head.startswith(magic)), None)
            if head.startswith(_DICTIONARY):
                make = partial(_Zstandard, dictionary=_dictionary(self._file))
                self._codec = "zstandard", make
            elif _SKIPPABLE.match(head):
                self._codec = CODECS[FIRST_BYTES]
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}") from error
        except (zstd.ZstdError, ValueError) as error:
            raise InputError(f"{path}: damaged ({error}); get it again") from error
        self._part: _Unpacker | None = None
        self._empty_parts = 0
        self._unpacked = self._of_part = 0
        self._left = b""
        self._ready = memoryview(b"")
        self._given = 0

    @property
    def done(self) -> int:
        """Bytes of the file itself that have been read."""
        return self._file.tell()

    @property
    def compressed(self) -> bool:
        return self._codec is not None

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        """Decompressed bytes read so far; readers of WARC ask for it."""
        return self._given

    def readinto(self, buffer: Any, /) -> int:
        while not self._ready:
            data = self._more()
            if data is None:
                return 0
            self._ready = memoryview(data)
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._given += count
        self._ready = self._ready[count:]
        return count

    def _more(self) -> bytes | None:
        """The next decompressed piece (it may be empty), or None at the end."""
        try:
            if self._codec is None:
                return self._file.read(CHUNK) or None
            data = self._left
            if not data and (self._part is None or self._part.hungry):
                data = self._file.read(_READ)
            return self._unpack(data, *self._codec)
        except (zlib.error, zstd.ZstdError, OSError, ValueError) as error:
            raise InputError(f"{self.path}: damaged ({error}); get it again") from error

    def _unpack(self, data: bytes, name: str, make: Callable[[int], _Unpacker]) -> bytes | None:
        part = self._part
        if part is None:
            if not data.rstrip(b"\0"):
                return None
            part = self._part = make(min(MAX_WINDOW, MEMORY + PER_BYTE * self.total))
            self._empty_parts += 1
        piece, self._left = part.unpack(data)
        if piece:
            self._empty_parts = 0
        elif not data and part.hungry and not part.eof:
            raise InputError(
                f"{self.path}: cut short (its {name} data ends in the middle); get it again, "
                "or give --keep-going to take what it holds"
            )
        self._unpacked += len(piece)
        self._of_part += len(piece)
        if part.eof:
            if isinstance(part, _Gzip) and self._of_part <= MAX_BYTES:
                self._unpacked -= self._of_part
            self._part, self._of_part = None, 0
        if self._unpacked > MAX_BYTES + MAX_RATIO * self.done:
            raise InputError(f"{self.path}: unpacks to over {MAX_RATIO} times its size; refused")
        if self._empty_parts > MAX_EMPTY_PARTS:
            raise InputError(f"{self.path}: damaged (over {MAX_EMPTY_PARTS:,} parts are empty)")
        return piece

    def close(self) -> None:
        self._file.close()
        super().close()


class FileSource:
    """The part of a `Source` that all formats of one file share."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = File(path)
        self.total = self._file.total

    @property
    def done(self) -> int:
        return self.total if self._file.closed else self._file.done
