"""Feeds, and XML of any other vocabulary.

Entities of a document's own are refused before anything is built of them.
"""

from __future__ import annotations

import codecs
import io
import re
import time
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import ParseError

import feedparser  # type: ignore[import-untyped]
from defusedxml import DefusedXmlException  # type: ignore[import-untyped]
from defusedxml.ElementTree import iterparse  # type: ignore[import-untyped]

from spoor.documents.blocks import Blocks, one_line
from spoor.documents.declared import iso_date, language_tag, people
from spoor.documents.document import Document, Limits
from spoor.documents.errors import UnreadableError
from spoor.documents.html import read_html
from spoor.documents.links import Links
from spoor.web.encoding import encoding_of_xml
from spoor.web.media_types import media_of
from spoor.web.xml_faults import with_characters

_DEEPEST = 1_000
_TARGETS = frozenset(("href", "src", "url", "about", "resource"))
_TITLES = frozenset(("title", "name"))
_LINKS = frozenset(("loc", "link", "url", "guid", "id"))


def read_feed(content_type: str, url: str, body: bytes, limits: Limits) -> Document:
    """RSS or Atom: an entry's title is a heading, below it stands what it says."""
    source, is_cut = _readable(_with_characters(body), limits.pages)
    parsed: Any = feedparser.parse(
        io.BytesIO(source), sanitize_html=False, resolve_relative_uris=False
    )
    feed, entries = parsed.get("feed", {}), parsed.get("entries", [])
    if not parsed.get("version") and not entries:
        return read_xml(content_type, url, body, limits)
    blocks, links = Blocks(limits.characters), Links(url, limits.links)
    title = _text(feed.get("title", ""))[:2_000]
    for link in feed.get("links", ()):
        if link.get("rel", "alternate") != "self":
            links.add(link.get("href"), title)
    blocks.paragraph(_text(feed.get("subtitle", "")))
    for entry in entries[: limits.pages]:
        heading = _text(entry.get("title", ""))
        blocks.heading(2, heading)
        for link in entry.get("links", ()):
            links.add(link.get("href"), heading, after=_text(entry.get("summary", ""))[:200])
        contents = [*entry.get("content", ()), entry.get("summary_detail", {})]
        for content in sorted(contents, key=lambda one: -len(one.get("value", "")))[:1]:
            _content(content.get("value", ""), url, blocks, links, heading, limits)
    notes = [f"cut after {min(len(entries), limits.pages)} entries"] * is_cut + blocks.notes()
    if not is_cut and parsed.get("bozo") and isinstance(parsed.get("bozo_exception"), ParseError):
        notes.append("it is no well-formed XML")
    when = feed.get("updated_parsed") or feed.get("published_parsed")
    return Document(
        url,
        "feed",
        "application/atom+xml"
        if str(parsed.get("version")).startswith("atom")
        else "application/rss+xml",
        title,
        language_tag(feed.get("language")),
        iso_date(time.strftime("%Y-%m-%dT%H:%M:%S+00:00", when)) if when else "",
        people([feed.get("author")]),
        _text(feed.get("subtitle", ""))[:2_000],
        tuple(blocks.blocks),
        tuple(links),
        tuple(notes),
        str(feed.get("license", ""))[:500],
    )


MOST_TAGS, CHARACTERS_A_TAG = 15_000, 60
"""Tags of a feed that are read, and one more for so many characters: each takes some 10 µs."""
MOST_ATTRIBUTES = 100
"""Of a tag: feedparser takes time in the square of their number."""
_TAG = re.compile(
    rb"<!\[CDATA\[(?s:.*?)(?:\]\]>|\Z)|<!--(?s:.*?)(?:-->|\Z)"
    rb"""|<(?:[a-zA-Z_][\w.-]*+:)?(?:(item|entry)(?=[\s/>]))?+[^<>"']*+(?:(?:"[^"<]*+"|'[^'<]*+')[^<>"']*+)*+"""
)


_ROOT = re.compile(rb"<([a-zA-Z_][\w.:-]*)")


def _readable(source: bytes, most_entries: int) -> tuple[bytes, bool]:
    """A feed, or as much of it as is read, and whether that is less than all; O(length)."""
    most = MOST_TAGS + len(source) // CHARACTERS_A_TAG
    for tag in _TAG.finditer(source):
        most -= 1
        most_entries -= tag[1] is not None
        if most < 0 or tag[0].count(b"=") > MOST_ATTRIBUTES:
            return source[: tag.start()], True  # whatever is open stays so
        if most_entries < 0:
            root = _ROOT.search(source)
            name = b"" if root is None else root[1]
            end = b"</channel></%b>" if name == b"rss" else b"</%b>"
            return source[: tag.start()] + end % name, True
    return source, False


def _with_characters(body: bytes) -> bytes:
    """A feed without references to no character: feedparser reads none that holds one."""
    encoding = encoding_of_xml(body)
    if not encoding.startswith(("utf-16", "utf-32")):
        return with_characters(body)
    return codecs.BOM_UTF8 + with_characters(body.decode(encoding, "replace").encode())


def _text(html: object) -> str:
    """Words of a text that may hold HTML."""
    written = str(html or "")[:10_000]
    if "<" not in written and "&" not in written:
        return one_line(written)
    return one_line(
        read_html("text/html; charset=utf-8", "", written.encode("utf-8", "replace"), Limits()).text
    )


def _content(
    html: str, url: str, blocks: Blocks, links: Links, heading: str, limits: Limits
) -> None:
    """What an entry says, which is mostly HTML."""
    if "<" not in html and "&" not in html:
        blocks.paragraph(html)
        links.add_bare(html, (heading,))
        return
    inner = read_html("text/html; charset=utf-8", url, html.encode("utf-8", "replace"), limits)
    blocks.extend(inner.blocks, cut=bool(inner.notes))
    for link in inner.links:
        anchor = link.anchor
        links.add(
            link.url, anchor.text, before=anchor.before, after=anchor.after, headings=(heading,)
        )


def read_xml(content_type: str, url: str, body: bytes, limits: Limits) -> Document:
    """XML of any vocabulary: the text of each element is a paragraph."""
    blocks, links = Blocks(limits.characters), Links(url, limits.links)
    title, language, notes = "", "", []
    try:
        for tag, text, attributes in _elements(body):
            words = one_line(text)
            if tag in _TITLES and not title:
                title = words[:2_000]
            language = language or attributes.get("lang", "")
            blocks.paragraph(words)
            if tag in _LINKS and "://" in words:
                links.add(words)
            for name in _TARGETS.intersection(attributes):
                links.add(attributes[name], words)
            if blocks.full:
                break
    except DefusedXmlException as error:
        raise UnreadableError("the XML declares entities of its own") from error
    except (ParseError, ValueError, LookupError) as error:
        if not blocks.blocks and not len(list(links)):
            raise UnreadableError(f"the XML is damaged ({error})") from error
        notes.append(f"the XML is damaged ({error}); what stands after that is left out")
    notes += blocks.notes()
    media = media_of(content_type)
    return Document(
        url,
        "xml",
        media or "application/xml",
        title,
        language_tag(language),
        blocks=tuple(blocks.blocks),
        links=tuple(links),
        notes=tuple(notes),
    )


def _elements(body: bytes) -> Iterator[tuple[str, str, dict[str, str]]]:
    """(name, own text, attributes by name without namespace) of the elements, as they end."""
    encoding = encoding_of_xml(body)
    text = body.decode(encoding, "replace").removeprefix("\ufeff").lstrip()
    text = with_characters(text.encode()).decode()
    if text.startswith("<?xml"):
        text = text.partition("?>")[2]
    depth = 0
    open_: list[Any] = []
    for event, element in iterparse(io.StringIO(text), events=("start", "end")):
        if event == "start":
            depth += 1
            open_.append(element)
            if depth > _DEEPEST:
                raise ValueError(f"elements are nested deeper than {_DEEPEST}")
            continue
        depth -= 1
        open_.pop()
        own = [element.text or "", *(child.tail or "" for child in element)]
        attributes = {name.rpartition("}")[2].lower(): value for name, value in element.items()}
        yield str(element.tag).rpartition("}")[2].lower(), " ".join(own), attributes
        tail = element.tail
        element.clear()
        element.tail = tail
        if open_ and len(open_[-1]) > 1_000:
            # Of a parent with many children, only their tails would be kept.
            del open_[-1][:-1]
