"""Opening sources: format and compression are recognised by content, not by name."""

from __future__ import annotations

import bz2
import io
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import zstandard

from spoor.errors import InputError
from spoor.types import Recording

Job = Callable[[], Recording | None]
"""The costly half of reading one record: parses it, or finds that it holds no page. Raises
InputError for a bad one. A Job can be pickled and done in another process."""

MAX_WINDOW = 1 << 31
"""The largest zstandard window; memory is taken only as far as a file asks for it."""

CHUNK = 1 << 18


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


class _Decoder(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


def _zstd_decoder() -> Any:
    return zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW).decompressobj()


def _gzip_decoder() -> Any:
    return zlib.decompressobj(wbits=31)


CODECS: dict[bytes, tuple[str, Callable[[], Any]]] = {
    b"\x28\xb5\x2f\xfd": ("zstandard", _zstd_decoder),
    b"\x1f\x8b": ("gzip", _gzip_decoder),
    b"BZh": ("bzip2", bz2.BZ2Decompressor),
}
"""First bytes → name, decoder."""


class File(io.RawIOBase):
    """A file read through its decompression, if it has one; the parts of a file that was
    compressed in parts follow one another.

    Raises InputError for what is missing, damaged or cut short.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        try:
            self._file = path.open("rb")
            head = self._file.read(8)
            self._file.seek(0)
            self.total = path.stat().st_size
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}") from error
        self._codec = next((CODECS[magic] for magic in CODECS if head.startswith(magic)), None)
        self._decoder: _Decoder | None = None
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
            data = self._left or self._file.read(CHUNK)
            self._left = b""
            if self._codec is None:
                return data or None
            name, make = self._codec
            if self._decoder is None:
                if not data.rstrip(b"\0"):
                    return None
                self._decoder = make()
            if not data:
                raise InputError(
                    f"{self.path}: cut short (its {name} data ends in the middle); get it again, "
                    "or give --keep-going to take what it holds"
                )
            decoder = self._decoder
            assert decoder is not None
            piece = decoder.decompress(data)
            if decoder.eof:
                self._left, self._decoder = decoder.unused_data, None
        except (zlib.error, zstandard.ZstdError, OSError, ValueError) as error:
            raise InputError(f"{self.path}: damaged ({error}); get it again") from error
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


def sniff(path: Path) -> str:
    """`mirror`, `warc`, `mediawiki` or `jsonlines`. Raises InputError for anything else."""
    if path.is_dir():
        return "mirror"
    with File(path) as file:
        head = io.BufferedReader(file, CHUNK).peek(4096)[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(b"WARC/"):
        return "warc"
    if head.startswith(b"{"):
        return "jsonlines"
    if b"<mediawiki" in head:
        return "mediawiki"
    if not head:
        raise InputError(f"{path}: empty")
    raise InputError(
        f"{path}: none of JSON lines, WARC, a MediaWiki XML dump and a folder (it begins with "
        f"{head[:16]!r})"
    )


def open_source(path: Path, *, base_url: str | None = None) -> Source:
    """The source at a path; `base_url` is the URL that a mirror folder had on the web.

    Raises InputError where it is missing or has no known format.
    """
    # Here, so that a format asks for its own dependency only.
    from spoor.formats.jsonlines import JsonLines
    from spoor.formats.mediawiki import Dump
    from spoor.formats.mirror import Mirror
    from spoor.formats.warc_reader import Warc

    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    kind = sniff(path)
    if kind == "mirror":
        return Mirror(path, base_url)
    if kind == "warc":
        return Warc(path)
    if kind == "mediawiki":
        return Dump(path)
    return JsonLines(path)
