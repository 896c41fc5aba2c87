"""Sitemaps: the XML protocol of sitemaps.org and its index, RSS, Atom and plain text, also gzipped.

Pure: bytes → links. Expat reads the XML as a stream, and a document that declares an entity is
refused before the entity is expanded, so neither a "billion laughs" nor an external file does harm.
Expat gets UTF-8 alone: other encodings, of which it supports few, are converted before.
"""

from __future__ import annotations

import codecs
import contextlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import chain, islice
from xml.parsers import expat

from spoor.bounded_json import json_of
from spoor.types import Anchor, Link
from spoor.web.content_encoding import Layers
from spoor.web.encoding import encoding_of_xml
from spoor.web.urls import MAX_LENGTH, Joiner
from spoor.web.xml_faults import mended, starts

MAX_LINKS = 50_000
"""Of one sitemap (the protocol's own limit)."""

MAX_BYTES = 50 << 20
"""After decompression (the protocol's own limit)."""

MAX_SITEMAPS = 50
"""That one index may lead to."""

MAX_TAGS = 8 * MAX_LINKS
"""Elements and attributes that are read: five for each page is usual."""

MAX_CHARACTERS = 16 << 20
"""Of all addresses together."""

MAX_FAULTY = 16 << 20
"""Bytes that are read behind a fault, which costs more."""

WHY = (("sitemap", 1.0),)
"""Reason of a Choice whose target is fetched as a sitemap."""

_DATES = ("lastmod", "news:publication_date", "pubdate", "updated", "published", "date")
_ADDRESSES = frozenset({"loc", "link", "guid", "sitemap"})
_TITLED = _ADDRESSES | {"title"}
_DATED = _ADDRESSES | {*_DATES}
_ITEMS = frozenset({"url", "sitemap", "item", "entry"})
_EXTENSIONS = frozenset({"image", "video", "media", "news", "atom", "xhtml", "itunes"})
_STEP = 1 << 10
"""Compressed bytes that are unpacked at a time."""
_CHUNK = 1 << 16
_TOKEN = 1 << 18
"""Bytes of the longest tag or comment."""
_FEW = 200
"""Characters of a title; names of elements."""


def links_of(body: bytes, url: str, *, max_bytes: int = MAX_BYTES) -> Sequence[Link]:
    """The entries of a sitemap at `url`, in its order: pages (kind `listed`) and sitemaps (kind
    `sitemap`). Never raises: entries before a fault, or before a limit, count. O(bytes after
    decompression), none of which are kept.
    """
    links: dict[str, Link] = {}
    for kind, target, title, _ in _targets(body, url, max_bytes, _TITLED):
        links[target] = Link(target, Anchor(title, position=len(links)), kind)
    return list(links.values())


def links_and_dates_of(
    body: bytes, url: str
) -> tuple[Sequence[Link], tuple[tuple[str, float], ...]]:
    """What `links_of` and `dates_of` say, for little more than one of them costs."""
    if is_json(body):
        return links_of(body, url), dates_of(body, url)
    links: dict[str, Link] = {}
    dates = list[tuple[str, float]]()
    for kind, target, title, written in _targets(body, url, MAX_BYTES, _TITLED | _DATED):
        links[target] = Link(target, Anchor(title, position=len(links)), kind)
        if written and (date := date_in(written)) is not None:
            dates.append((target, date))
    return list(links.values()), tuple(dates)


def is_json(body: bytes) -> bool:
    """Whether a feed is one of JSON, if it is one."""
    return body[:256].removeprefix(codecs.BOM_UTF8).lstrip()[:1] == b"{"


def dates_of(body: bytes, url: str) -> tuple[tuple[str, float], ...]:
    """(canonical URL, Unix seconds) of the entries that say when they changed last or appeared: of
    a sitemap, a news sitemap, RSS, Atom or a JSON feed. Never raises, and costs what `links_of`
    costs."""
    if is_json(body):
        return _dates_of_json(body[:MAX_BYTES], url)
    found = _targets(body, url, MAX_BYTES, _DATED)
    dated = ((target, date_in(date)) for _, target, _, date in found if date)
    return tuple((target, date) for target, date in dated if date is not None)


def _dates_of_json(body: bytes, url: str) -> tuple[tuple[str, float], ...]:
    try:
        feed = json_of(body)
        items = feed["items"] if "jsonfeed.org" in feed["version"] else []
        found = [
            (str(item.get("url") or item.get("id") or ""), item.get(name))
            for item in items[:MAX_LINKS]
            for name in ("date_modified", "date_published")
        ]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return ()
    joiner, dates = Joiner(size=1), dict[str, float]()
    for href, written in found:
        target = joiner.join(href, url) if "://" in href[:MAX_LENGTH] else None
        date = date_in(written) if isinstance(written, str) else None
        if target is not None and date is not None:
            dates[target] = max(date, dates.get(target, date))
    return tuple(dates.items())


def date_in(written: str) -> float | None:
    """A date of ISO 8601 or of mail (RSS), Unix seconds; None for anything else."""
    written = written.strip()[:64]
    try:
        date = datetime.fromisoformat(written)
    except ValueError:
        try:
            date = parsedate_to_datetime(written)
        except (ValueError, OverflowError):
            return None
    try:
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _targets(
    body: bytes, url: str, max_bytes: int, heard: frozenset[str]
) -> Iterator[tuple[str, str, str, str]]:
    """(kind, canonical URL, title, date as written) of each entry, each URL once. `heard`: the
    elements whose text is taken."""
    chunks = _plain(body, max_bytes)
    head = b"".join(islice(chunks, 1))
    start = head[:256].removeprefix(codecs.BOM_UTF8).lstrip()
    if start[:1] == b"<" or start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        entries = _Reader(heard).entries(head.lstrip(), chunks)
    else:
        entries = _lines(head, chunks)
    joiner, seen, sitemaps, characters = Joiner(size=256), set[str](), 0, 0
    for kind, href, title, date in entries:
        characters += len(href)
        if characters > MAX_CHARACTERS:
            break
        target = joiner.join(href, url) if len(href) <= MAX_LENGTH else None
        if target is None or target in seen or target == url:
            continue
        sitemaps += kind == "sitemap"
        if kind == "sitemap" and sitemaps > MAX_SITEMAPS:
            continue
        seen.add(target)
        yield kind, target, title, date
        if len(seen) >= MAX_LINKS:
            break


def _plain(body: bytes, max_bytes: int) -> Iterator[bytes]:
    """Unzipped, as far as that goes, in chunks of some size; twice, since some servers say gzip of
    what is gzipped."""
    pieces: Iterator[bytes] = (
        body[start : start + _CHUNK] for start in range(0, min(len(body), max_bytes), _CHUNK)
    )
    for _ in range(2):
        head = b"".join(islice(pieces, 1))
        pieces = chain((head,), pieces)
        if head[:2] != b"\x1f\x8b":
            break
        pieces = _gathered(_unzipped(pieces, max_bytes))
    return pieces


def _unzipped(pieces: Iterator[bytes], room: int) -> Iterator[bytes]:
    gzip = Layers("gzip")
    with contextlib.suppress(ValueError):
        for piece in pieces:
            for start in range(0, len(piece), _STEP):
                out = gzip.feed(piece[start : start + _STEP], room)
                room -= len(out)
                yield out
                if room <= 0:
                    return


def _gathered(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Pieces of at least a chunk, but for the last."""
    some = bytearray()
    for piece in pieces:
        some += piece
        if len(some) >= _CHUNK:
            yield bytes(some)
            some.clear()
    yield bytes(some)


def _lines(head: bytes, chunks: Iterator[bytes]) -> Iterator[tuple[str, str, str, str]]:
    """The addresses of a plain text, each a word."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    half, count = "", 0
    for chunk in chain((head,), chunks, (b"\n",)):
        words = (half + decoder.decode(chunk)).split(None)
        half = "" if chunk[-1:].isspace() or not words else words.pop()
        count += len(words)
        yield from (("listed", word, "", "") for word in words if "://" in word)
        if count > 2 * MAX_LINKS or len(half) > _TOKEN:
            return


class _RefusedError(Exception):
    """What no sitemap needs."""


class _Reader:
    """One pass over the XML. Namespaces are taken by their local names: many are misspelt. Behind
    the first fault each entry is read by itself, so that a fault costs the entry that it is in, and
    many a fault (`&` in an address) costs nothing."""

    def __init__(self, heard: frozenset[str]) -> None:
        self._heard = heard
        self._entries: list[tuple[str, str, str, str]] = []
        self._names: dict[str, str] = {}
        """Tag → local name, of the tags so far."""
        self._stack = [""]
        self._reading = False
        """Whether text is listened to."""
        self._texts: dict[str, list[str]] = {}
        self._href = ""
        self._tags = 0
        self._found = 0
        self._item_at = -1
        """Where the tag of the entry begins that is read; -1 between entries."""
        self._parser = self._new_parser()

    def _new_parser(self) -> expat.XMLParserType:
        parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.EntityDeclHandler = self._refuse
        parser.ExternalEntityRefHandler = self._refuse
        return parser

    def entries(self, head: bytes, chunks: Iterator[bytes]) -> Iterator[tuple[str, str, str, str]]:
        """(kind, address, title, date as written) of each entry."""
        decoder = codecs.getincrementaldecoder(encoding_of_xml(head))("replace")
        pieces = (
            (decoder.decode(chunk, not chunk).encode("utf-8", "replace"), not chunk)
            for chunk in chain((head,), chunks, (b"",))
        )
        fed, held = 0, b""
        for data, last in pieces:
            fed += len(data)
            held += data
            try:
                self._parser.Parse(data, last)
            except expat.ExpatError:
                at = self._parser.ErrorByteIndex if self._item_at < 0 else self._item_at
                rest = held[max(0, at - (fed - len(held))) :]
                yield from self._entries
                self._entries.clear()
                yield from self._one_by_one(rest, pieces)
                return
            except _RefusedError:
                yield from self._entries
                return
            yield from self._entries
            self._entries.clear()
            if fed - self._parser.CurrentByteIndex > _TOKEN:
                return
            read = self._parser.CurrentByteIndex if self._item_at < 0 else self._item_at
            held = held[max(0, len(held) - (fed - read)) :] if fed - read <= _TOKEN else b""

    def _one_by_one(
        self, rest: bytes, pieces: Iterator[tuple[bytes, bool]]
    ) -> Iterator[tuple[str, str, str, str]]:
        """The entries behind a fault, each by a parser of its own, of `MAX_FAULTY` bytes."""
        read = size = 0
        for data, last in chain(((rest, False),), pieces):
            rest = data if data is rest else rest + data
            size += len(data)
            begins = starts(rest, "|".join(sorted(_ITEMS)))
            ends = [*begins[1:], len(rest)] if last else begins[1:]
            for begin, end in zip(begins, ends, strict=False):
                read += 1
                try:
                    self._entry(mended(rest[begin:end]))
                except _RefusedError:
                    read = MAX_LINKS
                yield from self._entries
                self._entries.clear()
                if read >= MAX_LINKS:
                    return
            # An entry that is not whole, or what may be the beginning of one.
            rest = rest[begins[-1] :] if begins else rest[-_FEW:]
            if len(rest) > _TOKEN or size > MAX_FAULTY:
                return

    def _entry(self, data: bytes) -> None:
        self._stack, self._reading = [""], False
        self._texts, self._href = {}, ""
        self._parser = self._new_parser()
        # What follows it closes elements that are not open here.
        with contextlib.suppress(expat.ExpatError):
            self._parser.Parse(b"<x>" + data, True)

    def _refuse(self, *_: object) -> int:
        raise _RefusedError

    def _name(self, tag: str) -> str:
        prefix, _, rest = tag.lower().rpartition(":")
        # Extensions (image:loc, media:title) have elements of the same names.
        name = f"{prefix}:{rest}" if prefix.partition(":")[0] in _EXTENSIONS else rest
        if len(self._names) >= _FEW:  # which expat keeps
            raise _RefusedError
        self._names[tag] = name
        return name

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = self._names.get(tag) or self._name(tag)
        stack = self._stack
        above = stack[-1]
        stack.append(name)
        self._tags += 1 + len(attributes)
        if len(stack) > 101 or self._tags > MAX_TAGS:
            raise _RefusedError
        if name in _ITEMS:
            self._texts, self._href = {}, ""
            self._item_at = self._parser.CurrentByteIndex
        elif above not in _ITEMS and above != "news:news":
            return
        elif name == "link" and above == "entry":
            alternate = attributes.get("rel", "alternate") == "alternate"
            self._href = self._href or (attributes.get("href", "") if alternate else "")
        if name in self._heard:
            self._listen(reading=True)

    def _listen(self, *, reading: bool) -> None:
        if reading != self._reading:
            self._reading = reading
            self._parser.CharacterDataHandler = self._text if reading else None

    def _text(self, text: str) -> None:
        self._texts.setdefault(self._stack[-1], []).append(text)

    def _field(self, part: str) -> str:
        texts = self._texts.get(part)
        return "" if texts is None else "".join(texts).strip()

    def _end(self, tag: str) -> None:
        stack = self._stack
        name = stack.pop()
        above = stack[-1]
        if above in self._heard:
            self._listen(reading=above in _ITEMS or stack[-2] in _ITEMS)
        elif self._reading:
            self._listen(reading=False)
        if name not in _ITEMS:
            return
        self._item_at = -1
        if not (self._texts or self._href):
            return
        field = self._field
        if name == "url":
            href = field("loc")
        elif name == "sitemap":
            href = field("loc") or field("sitemap")
        elif name == "item":
            # Some say that a guid is no link and mean it as one; others number their items.
            href = field("link") or ("" if "://" not in (guid := field("guid")) else guid)
        else:
            href = self._href
        if href:
            kind = "sitemap" if name == "sitemap" else "listed"
            title = " ".join(field("title")[: 4 * _FEW].split())[:_FEW]
            date = next((field(name) for name in _DATES if name in self._texts), "")
            self._entries.append((kind, href, title, date))
            self._found += 1
        if self._found > MAX_LINKS:
            raise _RefusedError
        self._texts = {}
