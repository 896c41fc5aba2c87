"""EPUB: a zip file of chapters in XHTML, and a package that names them in reading order."""

from __future__ import annotations

import posixpath
from typing import Any
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from spoor.documents.blocks import Blocks, one_line
from spoor.documents.declared import iso_date, language_tag, people
from spoor.documents.document import Document, Limits
from spoor.documents.errors import UnreadableError
from spoor.documents.html import read_html
from spoor.documents.links import Links
from spoor.documents.zipped import open_zip

_INSIDE = "epub:/"
"""The base of a chapter: links among chapters lead to nothing that can be fetched."""

_SIGN, _CHAPTER = 4, 250
"""How many signs of XML take as long as one of a chapter, some 3 µs, and as one without any."""


def read_epub(url: str, body: bytes, limits: Limits) -> Document:
    """The chapters in reading order. Raises UnreadableError."""
    with open_zip(body, limits) as parts:
        container = parts.tree("META-INF/container.xml")
        found = next(_named(container, "rootfile"), None)
        path = "" if found is None else found.get("full-path", "")
        package = parts.tree(path)
        facts: dict[str, list[str]] = {}
        for one in package.iter():
            text = one_line(one.text or "") if isinstance(one.tag, str) else ""
            if text and "purl.org/dc/" in one.tag:
                facts.setdefault(one.tag.rpartition("}")[2], []).append(text[:2_000])
        blocks, links, notes = Blocks(limits.characters), Links(url, limits.links), []
        named = _chapters(package, path)
        # A chapter stands in the order once; whoever names one a thousand times has it read once.
        chapters = list(dict.fromkeys(named))
        if len(named) > len(chapters):
            notes.append(f"chapters named again are read once ({len(named) - len(chapters)})")
        for name in chapters[: limits.pages]:
            parts.spend(_CHAPTER)
            if blocks.full or parts.full:
                parts.cut = parts.cut or not blocks.full
                break
            try:
                part = parts.read(name, _SIGN)
                chapter = read_html("application/xhtml+xml", _INSIDE, part, limits, whole=True)
            except UnreadableError:
                notes.append(f"the chapter {name[:80]} cannot be read")
                continue
            blocks.extend(chapter.blocks, cut=bool(chapter.notes))
            for link in chapter.links:
                anchor = link.anchor
                links.add(link.url, anchor.text, before=anchor.before, after=anchor.after)
    if not chapters:
        raise UnreadableError("the EPUB names no chapters")
    if len(chapters) > limits.pages:
        notes.append(f"cut after {limits.pages} chapters")
    notes += parts.notes()
    notes += blocks.notes()
    return Document(
        url,
        "epub",
        "application/epub+zip",
        (facts.get("title") or [""])[0],
        language_tag((facts.get("language") or [""])[0]),
        next(filter(None, map(iso_date, facts.get("date", ()))), ""),
        people(facts.get("creator", ())),
        (facts.get("description") or [""])[0],
        tuple(blocks.blocks),
        tuple(links),
        tuple(notes[:20]),
        (facts.get("rights") or [""])[0][:500],
    )


def _named(tree: Element, name: str) -> Any:
    return (one for one in tree.iter() if isinstance(one.tag, str) and one.tag.endswith("}" + name))


def _chapters(package: Element, path: str) -> list[str]:
    """Names of the parts in reading order."""
    folder = posixpath.dirname(path)
    files = {item.get("id"): item.get("href", "") for item in _named(package, "item")}
    order = [files.get(item.get("idref"), "") for item in _named(package, "itemref")]
    return [posixpath.normpath(posixpath.join(folder, unquote(href))) for href in order if href]
