"""Sitemaps: the XML protocol of sitemaps.org and its index, RSS, Atom and plain text, also gzipped.

Pure: bytes → links. Expat reads the XML as a stream, and a document that declares an entity is
refused before the entity is expanded, so neither a "billion laughs" nor an external file does harm.
Expat gets UTF-8 alone: other encodings, of which it supports few, are converted before.
"""

from __future__ import annotations

import codecs
import contextlib
from collections.abc import Sequence
from xml.parsers import expat

from spoor.types import Anchor, Link
from spoor.web.content_encoding import inflaters_of
from spoor.web.encoding import encoding_of_xml
from spoor.web.urls import Joiner

MAX_LINKS = 50_000
"""Of one sitemap (the protocol's own limit)."""

MAX_BYTES = 50 << 20
"""After decompression (the protocol's own limit)."""

MAX_SITEMAPS = 50
"""That one index may lead to."""

WHY = (("sitemap", 1.0),)
"""Reason of a Choice whose target is fetched as a sitemap."""

_TEXT = frozenset({"loc", "link", "guid", "title", "sitemap"})
_ITEMS = frozenset({"url", "sitemap", "item", "entry"})
_CHUNK = 1 << 16
_FEW = 200
"""Characters of a title."""


def links_of(body: bytes, url: str, *, max_bytes: int = MAX_BYTES) -> Sequence[Link]:
    """The entries of a sitemap at `url`, in its order: pages (kind `listed`) and sitemaps (kind
    `sitemap`). Never raises: entries before a fault count. O(bytes after decompression).
    """
    data = _plain(body, max_bytes)
    start = data[:256].removeprefix(codecs.BOM_UTF8).lstrip()
    if start[:1] == b"<" or start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        entries = _Reader().read(data.lstrip())
    else:
        lines = data.decode("utf-8-sig", "replace").splitlines()
        entries = [("listed", line.strip(), "") for line in lines[: 2 * MAX_LINKS] if "://" in line]
    joiner, links, sitemaps = Joiner(size=1), dict[str, Link](), 0
    for kind, href, title in entries:
        target = joiner.join(href, url)
        if target is None or target in links or target == url:
            continue
        sitemaps += kind == "sitemap"
        if kind == "sitemap" and sitemaps > MAX_SITEMAPS:
            continue
        links[target] = Link(target, Anchor(title, position=len(links)), kind)
        if len(links) >= MAX_LINKS:
            break
    return list(links.values())


def _plain(body: bytes, max_bytes: int) -> bytes:
    """Unzipped, as far as that goes; twice, since some servers say gzip of what is gzipped."""
    for _ in range(2):
        if body[:2] != b"\x1f\x8b":
            break
        (gzip,) = inflaters_of("gzip")
        out = bytearray()
        with contextlib.suppress(ValueError):
            for start in range(0, len(body), _CHUNK):
                out += gzip.feed(body[start : start + _CHUNK], max_bytes - len(out))
                if len(out) >= max_bytes:
                    break
        body = bytes(out)
    return body[:max_bytes]


class _RefusedError(Exception):
    """What no sitemap needs."""


class _Reader:
    """One pass over the XML. Namespaces are taken by their local names: many are misspelt."""

    def __init__(self) -> None:
        self._entries: list[tuple[str, str, str]] = []
        self._stack: list[str] = []
        self._texts: dict[str, list[str]] = {}
        self._href = ""

    def read(self, data: bytes) -> list[tuple[str, str, str]]:
        parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.EntityDeclHandler = self._refuse
        parser.ExternalEntityRefHandler = self._refuse
        decoder = codecs.getincrementaldecoder(encoding_of_xml(data))("replace")
        with contextlib.suppress(expat.ExpatError, _RefusedError):
            for start in range(0, len(data), _CHUNK):
                text = decoder.decode(data[start : start + _CHUNK])
                parser.Parse(text.encode("utf-8", "replace"), False)
            parser.Parse(decoder.decode(b"", True).encode("utf-8", "replace"), True)
        return self._entries

    def _refuse(self, *_: object) -> int:
        raise _RefusedError

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2].lower()
        # Extensions (image:loc, media:title) have elements of the same names.
        prefix = tag.partition(":")[0].lower() if ":" in tag else ""
        if prefix in ("image", "video", "media", "news", "atom", "xhtml", "itunes"):
            name = f"{prefix}:{name}"
        self._stack.append(name)
        if len(self._stack) > 100:
            raise _RefusedError
        if name in _ITEMS:
            self._texts, self._href = {}, ""
        elif name == "link" and self._above("entry"):
            alternate = attributes.get("rel", "alternate") == "alternate"
            self._href = self._href or (attributes.get("href", "") if alternate else "")

    def _above(self, item: str) -> bool:
        return len(self._stack) > 1 and self._stack[-2] == item

    def _text(self, text: str) -> None:
        if self._stack and self._stack[-1] in _TEXT:
            within = self._stack[-1] in _ITEMS or (
                len(self._stack) > 1 and self._stack[-2] in _ITEMS
            )
            if within:
                self._texts.setdefault(self._stack[-1], []).append(text)

    def _end(self, tag: str) -> None:
        name = self._stack.pop()
        if name not in _ITEMS:
            return
        fields = {part: "".join(texts).strip() for part, texts in self._texts.items()}
        if name == "url":
            href = fields.get("loc", "")
        elif name == "sitemap":
            href = fields.get("loc") or fields.get("sitemap", "")
        elif name == "item":
            # Some say that a guid is no link and mean it as one; others number their items.
            guid = fields.get("guid", "")
            href = fields.get("link") or (guid if "://" in guid else "")
        else:
            href = self._href
        if href:
            kind = "sitemap" if name == "sitemap" else "listed"
            self._entries.append((kind, href, " ".join(fields.get("title", "").split())[:_FEW]))
        if len(self._entries) > MAX_LINKS:
            raise _RefusedError
        self._texts = {}
