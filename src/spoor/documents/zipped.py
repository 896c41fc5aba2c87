"""Zip files of strangers: counted before anything is unpacked."""

from __future__ import annotations

import io
import lzma
import zipfile
import zlib
from collections.abc import Collection, Sequence
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException  # type: ignore[import-untyped]
from defusedxml.ElementTree import fromstring  # type: ignore[import-untyped]

from spoor.documents.document import Limits
from spoor.documents.errors import UnreadableError

DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError),
    *(NotImplementedError, OSError, ValueError),
)
"""What reading a damaged part raises."""

_MOST_PARTS = 20_000
_ENCRYPTED = 1


def open_zip(body: bytes, limits: Limits) -> zipfile.ZipFile:
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
    return archive


def part_of(archive: zipfile.ZipFile, name: str) -> bytes:
    """One part, unpacked. Raises UnreadableError where it is missing or damaged."""
    try:
        return archive.read(name)
    except KeyError as error:
        raise UnreadableError(f"its part {name[:80]} is missing") from error
    except DAMAGED as error:
        raise UnreadableError("the zip file is damaged or cut off") from error


_PIECE = 1 << 18
_NAMED = 3
"""Parts that a note names."""


def damaged_in(archive: zipfile.ZipFile, known: Collection[str] = ()) -> list[str]:
    """A note of the parts that are damaged and without text; `known`: those that are not to be
    looked at. All others are unpacked for it."""
    parts = [one for one in archive.infolist() if one.filename not in known]
    damaged = [one.filename for one in parts if not _is_whole(archive, one)]
    return [f"{listed(damaged)} without text damaged"] if damaged else []


def _is_whole(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> bool:
    try:
        with archive.open(part) as opened:
            while opened.read(_PIECE):
                pass
    except DAMAGED:
        return False
    return True


def listed(names: Sequence[str]) -> str:
    """Names of parts, for a note."""
    more = "" if len(names) <= _NAMED else f" and {len(names) - _NAMED} more"
    return f"parts ({', '.join(name[:80] for name in names[:_NAMED])}{more})"


def tree_of(archive: zipfile.ZipFile, name: str) -> Element:
    """One part, which is XML. Raises UnreadableError where it is missing or damaged."""
    try:
        tree: Element = fromstring(part_of(archive, name))
    except DefusedXmlException as error:
        raise UnreadableError(f"its part {name[:80]} declares entities of its own") from error
    except (ParseError, ValueError) as error:
        raise UnreadableError(f"its part {name[:80]} is damaged ({error})") from error
    return tree
