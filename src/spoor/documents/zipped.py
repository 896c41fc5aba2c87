"""Zip files of strangers: counted before anything is unpacked, and read up to a bound."""

from __future__ import annotations

import io
import lzma
import zipfile
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from xml.etree.ElementTree import Element, ParseError, TreeBuilder
from xml.parsers.expat import errors

from defusedxml import DefusedXmlException  # type: ignore[import-untyped]
from defusedxml.ElementTree import XMLParser  # type: ignore[import-untyped]

from spoor.documents.document import Limits
from spoor.documents.errors import UnreadableError

DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError),
    *(NotImplementedError, OSError, ValueError),
)
"""What reading a damaged part raises."""

MOST_SIGNS, SIGNS_A_BYTE = 250_000, 2
"""Signs (`<` and `=`: tags and attributes) that are read of all parts together, and more for each
byte of the file. Of 223 files the densest, a template of styles, has 1.4 a byte."""
MOST_CHARACTERS, CHARACTERS_A_BYTE = 16 << 20, 32
"""The same of bytes. The densest of those files unpacks to 24 times its size."""

_MOST_PARTS = 20_000
_ENCRYPTED = 1
_PIECE = 1 << 14
_PART = 4_000
"""Characters that are unpacked in the time that opening a part takes."""
_NO_MEMORY = errors.codes[errors.XML_ERROR_NO_MEMORY]


class TooMuchError(UnreadableError):
    """A part that is left out, as those before it were so much."""


class Parts:
    """The parts of a zip file, each read where it is asked for."""

    def __init__(self, archive: zipfile.ZipFile, size: int) -> None:
        """`size`: bytes of the file."""
        self.archive = archive
        self._size = size
        self.cut = False
        """Whether a part was read up to a bound, and what follows was left out."""
        self._signs: float = MOST_SIGNS + SIGNS_A_BYTE * size
        self._room = self._most = MOST_CHARACTERS + CHARACTERS_A_BYTE * size

    @property
    def full(self) -> bool:
        """Whether nothing more is read."""
        return self._signs <= 0 or self._room <= 0

    def spend(self, signs: int) -> None:
        """Read so many signs fewer: what is made of a part takes as long."""
        self._signs -= signs

    def anew(self) -> Parts:
        """The same, as if none had been read."""
        return Parts(self.archive, self._size)

    def read(self, name: str, cost: float = 1) -> bytes:
        """One part, unpacked, up to the bounds; `cost`: how many signs one of it counts for. Raises
        UnreadableError where it is missing or damaged."""
        return b"".join(self.pieces(name, cost))

    def pieces(self, name: str, cost: float = 1) -> Iterator[bytes]:
        """The same in pieces."""
        try:
            with self.archive.open(name) as part:
                while not self.full and (piece := part.read(_PIECE)):
                    self._signs -= cost * (piece.count(b"<") + piece.count(b"="))
                    self._room -= len(piece)
                    yield piece
                self.cut = self.cut or bool(self.full and part.read(1))
        except KeyError as error:
            raise UnreadableError(f"its part {name[:80]} is missing") from error
        except DAMAGED as error:
            _check_memory(error)
            raise UnreadableError("the zip file is damaged or cut off") from error

    def tree(self, name: str) -> Element:
        """One part, which is XML; up to the bounds, elements that are open there included. Raises
        UnreadableError where it is missing or damaged, TooMuchError where nothing more is read."""
        before, self.cut = self.cut, False
        text = self.read(name)
        whole, self.cut = not self.cut, self.cut or before
        builder = TreeBuilder()
        parser = XMLParser(target=builder)
        try:
            parser.feed(text)
            tree: Element | None = parser.close() if whole else builder.close()
        except DefusedXmlException as error:
            raise UnreadableError(f"its part {name[:80]} declares entities of its own") from error
        except (ParseError, ValueError, LookupError) as error:
            if getattr(error, "code", None) == _NO_MEMORY:
                raise MemoryError from error
            raise UnreadableError(f"its part {name[:80]} is damaged ({error})") from error
        if tree is None:
            raise TooMuchError(f"its part {name[:80]} is left out: there is too much before it")
        return tree

    def damaged(self, known: Collection[str] = ()) -> list[str]:
        """A note of the parts that are damaged and without text; `known`: those that are not to be
        looked at. All others are unpacked for it, but those beyond a bound."""
        room, damaged = self._most, list[str]()
        for one in self.archive.infolist():
            room -= _PART + one.file_size
            if one.filename not in known and room > 0 and not self._is_whole(one):
                damaged.append(one.filename)
        return [f"{listed(damaged)} without text damaged"] if damaged else []

    def _is_whole(self, part: zipfile.ZipInfo) -> bool:
        try:
            with self.archive.open(part) as opened:
                while opened.read(_PIECE):
                    pass
        except DAMAGED as error:
            _check_memory(error)
            return False
        return True

    def notes(self) -> list[str]:
        """Whether something was left out."""
        return ["it has too many parts and elements: some are left out"] if self.cut else []


@contextmanager
def open_zip(body: bytes, limits: Limits) -> Iterator[Parts]:
    """The zip file, whose parts say that they stay within the limits when they are unpacked; no
    part can be longer than it says.

    Raises UnreadableError for a damaged, encrypted or oversized one.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(body))
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise UnreadableError("the zip file is damaged or cut off") from error
    parts = archive.infolist()
    if len(parts) > _MOST_PARTS:
        raise UnreadableError(f"a zip bomb: it has more than {_MOST_PARTS} parts")
    if any(part.flag_bits & _ENCRYPTED for part in parts):
        raise UnreadableError("it is encrypted")
    unpacked = sum(part.file_size for part in parts)
    if unpacked > limits.unpacked:
        raise UnreadableError(f"a zip bomb: unpacked it has {unpacked >> 20} MB")
    with archive:
        yield Parts(archive, len(body))


_NAMED = 3
"""Parts that a note names."""


def listed(names: Sequence[str]) -> str:
    """Names of parts, for a note."""
    more = "" if len(names) <= _NAMED else f" and {len(names) - _NAMED} more"
    return f"parts ({', '.join(name[:80] for name in names[:_NAMED])}{more})"


def _check_memory(error: Exception) -> None:
    """Raises MemoryError where zlib had too little memory, of which it says only the number."""
    if isinstance(error, zlib.error) and str(error).startswith("Error -4 "):
        raise MemoryError from error
