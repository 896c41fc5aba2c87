"""Faults that writers of XML make in texts, mended so that a strict parser reads them."""

from __future__ import annotations

import re
from html.entities import html5
from xml.sax.saxutils import escape

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


# ---------------------------------------------------------------- references


_REFERENCES = re.compile(rb"(?:&#(?:[0-9]+|[xX][0-9a-fA-F]+);?)+")
_ONE = re.compile(rb"&#(?:([0-9]+)|[xX]([0-9a-fA-F]+));?")
_DIGITS = 8
"""A longer number is larger than any character's."""
_REPLACEMENT = 0xFFFD


def with_characters(data: bytes) -> bytes:
    """Data in which every reference names a character that XML allows. Two that are the halves of a
    UTF-16 pair, as broken writers put an emoji, become the one that they mean; others U+FFFD.
    O(bytes). The data are in an encoding that holds ASCII.
    """
    return _REFERENCES.sub(_named_anew, data) if b"&#" in data else data


def _named_anew(references: re.Match[bytes]) -> bytes:
    found = list(_ONE.finditer(references[0]))
    codes = [_code(one) for one in found]
    out, at = bytearray(), 0
    while at < len(found):
        code, after = codes[at], codes[at + 1] if at + 1 < len(codes) else 0
        if _is_character(code):
            out += found[at][0].replace(b"X", b"x")
        elif 0xD800 <= code < 0xDC00 <= after < 0xE000:
            out += b"&#%d;" % (0x10000 + ((code - 0xD800) << 10) + (after - 0xDC00))
            at += 1
        else:
            out += b"&#%d;" % _REPLACEMENT
        at += 1
    return bytes(out)


def _code(reference: re.Match[bytes]) -> int:
    decimal, hexadecimal = reference.groups()
    digits = (decimal or hexadecimal).lstrip(b"0")
    return int(digits or b"0", 10 if decimal else 16) if len(digits) <= _DIGITS else -1


def _is_character(code: int) -> bool:
    """Whether XML 1.0 allows it."""
    return (
        code in (0x9, 0xA, 0xD)
        or 0x20 <= code < 0xD800
        or 0xE000 <= code < 0xFFFE
        or 0x10000 <= code < 0x110000
    )
