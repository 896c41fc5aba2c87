"""Media types, those of the endings of names, and whether a document is HTML by its own."""

from __future__ import annotations

import mimetypes
from functools import cache

from spoor.web.encoding import PRESCAN

HTML_TYPES = frozenset({"", "text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"})
"""Media types of HTML; empty: none was declared."""

_OFFICE_OPEN_XML = "application/vnd.openxmlformats-officedocument."
_OPEN_DOCUMENT = "application/vnd.oasis.opendocument."
ENDINGS = {
    "docx": f"{_OFFICE_OPEN_XML}wordprocessingml.document",
    "xlsx": f"{_OFFICE_OPEN_XML}spreadsheetml.sheet",
    "pptx": f"{_OFFICE_OPEN_XML}presentationml.presentation",
    "odt": f"{_OPEN_DOCUMENT}text",
    "ods": f"{_OPEN_DOCUMENT}spreadsheet",
    "odp": f"{_OPEN_DOCUMENT}presentation",
    "epub": "application/epub+zip",
    "rtf": "application/rtf",
    "xhtml": "application/xhtml+xml",
    "xht": "application/xhtml+xml",
    "md": "text/markdown",
    "markdown": "text/markdown",
    "rss": "application/rss+xml",
    "atom": "application/atom+xml",
    "ndjson": "application/x-ndjson",
    "jsonl": "application/x-ndjson",
    "webp": "image/webp",
    "ogg": "audio/ogg",
    "flac": "audio/flac",
    "m4a": "audio/mp4",
    "mkv": "video/x-matroska",
    "woff": "font/woff",
    "woff2": "font/woff2",
    "gz": "application/gzip",
    "7z": "application/x-7z-compressed",
    "rar": "application/vnd.rar",
    "xz": "application/x-xz",
    "bz2": "application/x-bzip2",
    "zst": "application/zstd",
    "jar": "application/java-archive",
}
"""Of names → media type, where the table of some version of Python lacks it."""


@cache
def _table() -> mimetypes.MimeTypes:
    """Python's own and ours, and not that of the machine: where one has none, or another one, the
    same file would be of another type."""
    table = mimetypes.MimeTypes()
    for ending, media in ENDINGS.items():
        table.add_type(media, f".{ending}")
    return table


def media_of_name(name: str) -> str:
    """The media type of a file by the ending of its name; empty for one that is not known. What
    `a.txt.gz` holds is text."""
    return _table().guess_type(name)[0] or ""


def ending_of(media: str) -> str:
    """The usual ending of the names of files of a media type, without its dot; empty for one that
    is not known."""
    return (_table().guess_extension(media) or "")[1:]


def media_of(content_type: str) -> str:
    """The media type of a Content-Type, without its parameters, in lower case."""
    return content_type.partition(";")[0].strip().lower()


def is_html(body: bytes, content_type: str) -> bool:
    """Whether a document is taken for HTML or XHTML."""
    media = media_of(content_type)
    return media in HTML_TYPES or (media.endswith("+xml") and b"<html" in body[:PRESCAN])
