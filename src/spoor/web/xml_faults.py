"""Faults that writers of XML make in texts, mended so that a strict parser reads them."""

from __future__ import annotations

import re
from html.entities import html5
from xml.sax.saxutils import escape

from spoor.web.references import with_characters

_CONTROLS = bytes({*range(0x20)} - {*b"\t\n\r"})
_OWN = frozenset((b"amp", b"lt", b"gt", b"quot", b"apos"))
"""Entities that XML knows."""

_SECTION = rb"<!\[CDATA\[(?P<text>.*?)(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)"
_FAULTS = re.compile(
    _SECTION + rb"|&(?P<name>[A-Za-z][A-Za-z0-9]{0,31});|&(?!#[0-9x])|<(?![A-Za-z_:/!?])",
    re.DOTALL,
)


def starts(data: bytes, names: str) -> list[int]:
    """Where elements begin that have one of these names (`a|b`), in whatever namespace, but for
    those within sections of characters and comments. O(bytes)."""
    tag = re.compile(
        _SECTION + rb"|<(?P<tag>(?:[\w.-]{1,64}:)?(?:%s))(?=[\s/>])" % names.encode(),
        re.DOTALL | re.IGNORECASE,
    )
    return [found.start() for found in tag.finditer(data) if found["tag"] is not None]


def mended(data: bytes) -> bytes:
    """UTF-8 with no `&`, `<`, entity, reference or control character in a text that XML does not
    allow there. What is right stays. Sections of characters become texts. O(bytes)."""
    return _FAULTS.sub(_mended, with_characters(data.translate(None, _CONTROLS)))


def _mended(fault: re.Match[bytes]) -> bytes:
    text, name = fault["text"], fault["name"]
    if text is not None:
        return _escaped(text.decode("utf-8", "replace"))
    if name is None:
        return {b"&": b"&amp;", b"<": b"&lt;"}.get(fault[0], b"")  # or a comment
    if name in _OWN:
        return fault[0]
    return _escaped(html5.get(f"{name.decode()};", fault[0].decode()))


def _escaped(text: str) -> bytes:
    return escape(text).encode("utf-8", "replace")
