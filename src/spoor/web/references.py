"""Character references that name no character, which readers of XML stumble over."""

from __future__ import annotations

import re

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
    return _REFERENCES.sub(_mended, data) if b"&#" in data else data


def _mended(references: re.Match[bytes]) -> bytes:
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
