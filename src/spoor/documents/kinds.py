"""What kind a document is, told by its bytes before its header; and which kinds a crawl takes."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from spoor.distribution import import_extra, need_extra
from spoor.setting import MIB, MOST_OF_A_BODY, WITH_TEXT
from spoor.settings import Settings
from spoor.web.media_types import ENDINGS, HTML_TYPES, is_html, media_of, media_of_name


class Kind(NamedTuple):
    """One kind of documents."""

    media_type: str
    ending: str
    """Of the name of a file."""
    size: int = 1
    """Bytes of a body that are read, in limits of a page."""
    others: tuple[str, ...] = ()
    """Further media types, as patterns."""


_LARGE = 2
_ZIPPED = ("docx", "xlsx", "pptx", "odt", "ods", "odp", "epub")

KINDS: Mapping[str, Kind] = {
    "html": Kind(
        "text/html", "html", 1, ("application/xhtml+xml", "application/vnd.wap.xhtml+xml")
    ),
    "pdf": Kind("application/pdf", "pdf", _LARGE, ("application/x-pdf",)),
    "text": Kind("text/plain", "txt", 1, ("text/*", "application/x-tex", "application/x-sh")),
    "markdown": Kind("text/markdown", "md", 1, ("text/x-markdown",)),
    "feed": Kind("application/rss+xml", "xml", 1, ("application/atom+xml", "application/rdf+xml")),
    "xml": Kind("application/xml", "xml", 1, ("text/xml", "application/*+xml")),
    "json": Kind(
        "application/json", "json", 1, ("application/*+json", "text/json", "application/x-ndjson")
    ),
    **{ending: Kind(ENDINGS[ending], ending, _LARGE) for ending in _ZIPPED},
    "image": Kind("image/png", "png", 1, ("image/*",)),
    "audio": Kind("audio/mpeg", "mp3", _LARGE, ("audio/*",)),
    "video": Kind("video/mp4", "mp4", _LARGE, ("video/*",)),
    "archive": Kind(
        "application/zip",
        "zip",
        _LARGE,
        (
            "application/gzip",
            "application/x-gzip",
            "application/x-tar",
            "application/x-7z-compressed",
            "application/x-rar*",
            "application/vnd.rar",
            "application/x-bzip*",
            "application/x-xz",
            "application/zstd",
            "application/x-zip-compressed",
            "application/java-archive",
        ),
    ),
    "other": Kind("application/octet-stream", "bin", _LARGE),
}

OPEN_DOCUMENTS = frozenset(("odt", "ods", "odp"))
OFFICE = OPEN_DOCUMENTS | {"docx", "xlsx", "pptx"}
ZIPPED = frozenset(_ZIPPED)

_READERS = {
    "pdf": ("A PDF file", "pdf", "pypdfium2"),
    "xlsx": ("An xlsx file", "documents", "openpyxl"),
}
"""Kinds that an extra reads: what one is called, the extra, and the module that it installs."""


def need_reader(wanted: str) -> None:
    """Raises InputError where `wanted`, a kind or a media type, can be read by an extra only, and
    that is not installed."""
    kind = wanted if wanted in KINDS else kind_of_media(wanted)
    if kind in _READERS:
        name, extra, module = _READERS[kind]
        need_extra(extra, name, module)


def import_reader(kind: str, *further: str) -> tuple[Any, ...]:
    """The module that reads a kind, and `further` ones of it. Raises InputError where its extra is
    not installed."""
    name, extra, module = _READERS[kind]
    return import_extra(extra, name, module, *further)


HEAD = 2_048
"""First bytes that are enough to tell a kind, but for what is in a zip file."""

_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_SPACE = b" \t\r\n\f"
_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_FEED = re.compile(rb"<(?:rss|feed|rdf:rdf|channel)[\s>]")
_ELEMENT = re.compile(rb"<([a-z][\w:.-]*)")
_HTML = frozenset(
    b"""html head body title meta link script style div span p a b i br hr img table tr td ul ol li
    h1 h2 h3 h4 h5 h6 form iframe frameset center font pre main article section nav header footer
    base""".split()
)
_MARKUP_STARTS = (b"<!doctype html", b"<html", b"<?xml", b"<rss", b"<feed")
"""Of what is no plain text, whatever the header says."""
_JSON = re.compile(rb"""(?:\{\s*(?:"|\}|\Z)|\[\s*(?:[\[{"\]\d-]|true|false|null|\Z))""")
_MARKDOWN_NAME = re.compile(r"\.(?:md|markdown|mkd)(?:[?#]|$)", re.IGNORECASE)
_PARTS = {b"word/": "docx", b"xl/": "xlsx", b"ppt/": "pptx"}
_OPEN_PACKAGE = (b"[Content_Types].xml", b"_rels/", b"docProps/", b"customXml/", *_PARTS)


class Told(NamedTuple):
    """What a document is."""

    kind: str
    """A key of `KINDS`."""
    media_type: str
    """The header's where that fits the kind, else that of the bytes."""
    sure: bool = True
    """False for a zip file of which too little was seen to tell what is in it."""


def tell(body: bytes, content_type: str, url: str = "") -> Told:
    """The kind of a body, or of its beginning (`HEAD` bytes; a zip file may then be unsure).

    A header is believed where the bytes allow what it says. O(1) for HTML and text; some .5 ms for
    what has no text.
    """
    media = media_of(content_type)
    start = body[:HEAD].lstrip(_SPACE)
    if start[:1] == b"<" and media in HTML_TYPES:
        low = start[:15].lower()
        if low.startswith((b"<!doctype html", b"<html")):
            return Told("html", media or "text/html")
    if not start:
        return _by_header(media)
    if b"%PDF-" in body[:1024]:
        return _named("pdf", media)
    if start[:4] == b"PK\x03\x04":
        return _in_zip(body, media)
    marked = start.startswith(_MARKS)
    if not marked and _BINARY.search(start):
        return _binary(start, media)
    return _named(_textual(start, media, url), media)


def _textual(start: bytes, media: str, url: str) -> str:
    # Without the zero bytes of UTF-16 and its mark, tags look as in ASCII.
    low = (
        start.removeprefix(_MARKS[0]).strip(b"\xff\xfe").replace(b"\0", b"").lstrip(_SPACE).lower()
    )
    as_plain, as_markdown = media == "text/plain", "markdown" in media
    if low.startswith(_MARKUP_STARTS if as_plain or as_markdown else b"<"):
        return _markup(low, media)
    if low.startswith((b"%!ps", b"{\\rtf")):
        return "other"
    # Text may well begin with a square bracket.
    may_be_json = low.startswith(b"{") if as_plain else not as_markdown
    if may_be_json and _JSON.match(low) and b"</" not in low:
        return "json"
    if kind_of_media(media) == "html" and (media or b"</" in low):
        return "html"
    return "markdown" if as_markdown or _MARKDOWN_NAME.search(url) else "text"


def _markup(low: bytes, media: str) -> str:
    element = _ELEMENT.search(low)
    name = element[1] if element else b""
    if name == b"svg" and b"<html" not in low:  # its metadata may be as in a feed
        return "image"
    if _FEED.search(low) and b"<html" not in low:
        return "feed"
    if b"<html" in low or low.startswith(b"<!doctype html"):
        return "html"
    if kind_of_media(media) in ("xml", "feed"):
        return "xml"
    if name in _HTML:
        return "html"
    if low.startswith(b"<?xml"):
        return "xml"
    return "html" if kind_of_media(media) == "html" or not name else "xml"


def _binary(start: bytes, media: str) -> Told:
    import puremagic  # it reads its tables at once, and most crawls come without them to the end

    try:
        found = [one.mime_type for one in puremagic.magic_string(start) if one.mime_type]
    except (puremagic.PureError, ValueError):
        found = []
    said = kind_of_media(media)
    kinds = [kind_of_media(one) for one in found]
    if start.startswith(_NO_TEXT):
        return Told("other", found[0] if found else KINDS["other"].media_type)
    if said == "html" and not any(kind in _SURE for kind in kinds):
        return Told("html", media or "text/html")
    if said in kinds and said not in WITH_TEXT:
        return Told(said, media)
    for one, kind in zip(found, kinds, strict=True):
        if kind in _SURE:
            return Told(kind, one)
    if said in WITH_TEXT:
        return Told("other", found[0] if found else KINDS["other"].media_type)
    return Told(said, media or KINDS["other"].media_type)


_NO_TEXT = (
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",  # Office before 2007, and any that is encrypted
    b"\x7fELF",
    b"\xca\xfe\xba\xbe",
    b"\0asm",
    b"SQLite format 3\0",
    b"wOFF\0",
    b"wOF2\0",
)
"""How files begin that are no text, whatever a header says."""

_WITH_MIMETYPE = ("epub", "odt", "ods", "odp")
"""Kinds whose first part is their media type."""
_SURE = frozenset(("image", "audio", "video", "archive"))


def _in_zip(body: bytes, media: str) -> Told:
    said = kind_of_media(media)
    size = int.from_bytes(body[26:28], "little")
    first = body[30 : 30 + size]
    if first == b"mimetype":
        inner = body[30 + size : 30 + size + 80]
        for kind in _WITH_MIMETYPE:
            if KINDS[kind].media_type.encode() in inner:
                return _named(kind, media)
    directory = _directory(body)
    if b"META-INF/container.xml" in directory or first == b"META-INF/container.xml":
        return _named("epub", media)  # packed anew, in another order than it should be
    for kind in _WITH_MIMETYPE:
        if said == kind and (b"META-INF/" in body[:HEAD] or b"META-INF/" in directory):
            return Told(kind, media)
    if first.startswith(_OPEN_PACKAGE) or b"[Content_Types].xml" in directory:
        for part, kind in _PARTS.items():
            if part + _MAIN[kind] in directory or part + _MAIN[kind] in body[:HEAD]:
                return _named(kind, media)
        return Told(said if said in ZIPPED else "docx", media, sure=False)
    if said in ZIPPED:
        # The header says so, and nothing else does.
        return Told(said, media, sure=False)
    return _named("archive", media)


def _directory(body: bytes) -> bytes:
    """The names of what is in a zip file, at its end; without those of another one inside it."""
    tail = body[-_TAIL:]
    end = tail.rfind(b"PK\5\6")
    if not 0 <= end <= len(tail) - 20:
        return tail
    size, begin = struct.unpack_from("<LL", tail, end + 12)
    return body[begin : begin + min(size, _TAIL)]


_TAIL = 1 << 16
_MAIN = {"docx": b"document.xml", "xlsx": b"workbook.xml", "pptx": b"presentation.xml"}


def as_html(body: bytes, content_type: str) -> str:
    """The header of a body that is HTML: one that says something else is put right, and keeps its
    charset."""
    if is_html(body, content_type):
        return content_type
    _, mark, rest = content_type.partition(";")
    return f"text/html{mark}{rest}"


def _by_header(media: str) -> Told:
    return Told(kind_of_media(media), media or "text/html")


def _named(kind: str, media: str) -> Told:
    return Told(kind, media if media and kind_of_media(media) == kind else KINDS[kind].media_type)


@lru_cache(maxsize=256)
def kind_of_media(media: str) -> str:
    """The kind that a media type names."""
    if media in HTML_TYPES:
        return "html"
    for kind, known in KINDS.items():
        if media == known.media_type or media in known.others:
            return kind
    # Patterns of the more special kinds come later.
    for kind in reversed(list(KINDS)):
        if any(fnmatchcase(media, pattern) for pattern in KINDS[kind].others):
            return kind
    return "other"


_FILES = frozenset(("image", "audio", "video", "archive"))
"""Kinds that the endings of names tell."""


@dataclass(frozen=True)
class Types:
    """Which kinds a crawl takes, and how many bytes of each."""

    taken: tuple[str, ...] = WITH_TEXT
    """Kinds, or media types as patterns."""
    limit: int = 10 * MIB
    """Bytes of a page; of some kinds twice as many."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """Kind → bytes, in place of those of `KINDS`."""

    @classmethod
    def of(cls, settings: Settings) -> Types:
        """Those of a crawl's settings, and the media types that it looks for."""
        listed = [one for text in settings.types for one in text.replace(" ", "").split(",")]
        wanted = [one.removeprefix("type:") for one in settings.want if one.startswith("type:")]
        sizes = dict(one.split("=", 1) for one in settings.type_limits)
        limits = {kind: int(size) for kind, size in sizes.items()}
        return cls((*listed, *map(str.strip, wanted)), settings.body_limit, limits)

    @cached_property
    def largest(self) -> int:
        """Bytes of any body that are read at most."""
        return max(map(self.most, KINDS))

    def takes(self, told: Told) -> bool:
        """Whether a crawl reads such a body."""
        if not told.sure:
            return bool(ZIPPED.intersection(self.taken)) or self._fits(told.media_type)
        return told.kind in self.taken or self._fits(told.media_type)

    def leaves_out(self, name: str) -> bool:
        """Whether the name of a file is that of a picture, a sound, a film or an archive that a
        crawl does not read."""
        media = media_of_name(name.lower())
        kind = kind_of_media(media) if media else ""
        return kind in _FILES and not self.takes(Told(kind, media))

    def _fits(self, media: str) -> bool:
        return any(fnmatchcase(media, pattern) for pattern in self.taken if "/" in pattern)

    def most(self, kind: str) -> int:
        """Bytes of a body of this kind that are read."""
        return self.limits.get(kind) or min(KINDS[kind].size * self.limit, MOST_OF_A_BODY)
