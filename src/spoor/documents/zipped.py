"""Zip files of strangers: counted before anything is unpacked."""

from __future__ import annotations

import io
import zipfile
import zlib
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException  # type: ignore[import-untyped]
from defusedxml.ElementTree import fromstring  # type: ignore[import-untyped]

from spoor.documents.document import Limits
from spoor.documents.errors import UnreadableError

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
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError) as error:
        raise UnreadableError("the zip file is damaged or cut off") from error


def tree_of(archive: zipfile.ZipFile, name: str) -> Element:
    """One part, which is XML. Raises UnreadableError where it is missing or damaged."""
    try:
        tree: Element = fromstring(part_of(archive, name))
    except DefusedXmlException as error:
        raise UnreadableError(f"its part {name[:80]} declares entities of its own") from error
    except (ParseError, ValueError) as error:
        raise UnreadableError(f"its part {name[:80]} is damaged ({error})") from error
    return tree
