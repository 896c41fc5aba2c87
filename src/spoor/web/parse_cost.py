"""Whether an HTML document may cost a parser much more than its length, by counts alone.

HTML5 tree building is quadratic in the elements left open: each tag searches the open elements,
each new block reopens the formatting elements that were not closed, with copies of their
attributes (60 kB can demand gigabytes), and each attribute is compared with all others of its tag.
Browsers have limits; lexbor has none. A document for which `may_cost_much` is false stays within
`MOST_ELEMENTS` and `MOST_BYTES` beyond its own; any other is parsed under limits of time and memory
(`spoor.isolate`).
"""

from __future__ import annotations

import re

MOST_TAGS = 4_000
"""Each may search all open elements: a hundredth of a second."""

MOST_ELEMENTS = 50_000
"""Elements that reopening formatting elements can create: some 10 MB."""

MOST_BYTES = 16 << 20
"""Bytes in the attributes of such elements."""

_LONG_TAG = re.compile(rb"<[a-zA-Z][^<>]{4096}")
"""It may have thousands of attributes."""

_FORMATTING = re.compile(
    # In both cases, since ignoring them takes half as long again.
    rb"<(?=[bcefinstuBCEFINSTU])(?:[bisuBISU]|[tT][tT]|[eE][mM]|[bB][iI][gG]|[cC][oO][dD][eE]|[fF][oO][nN][tT]"
    rb"|[nN][oO][bB][rR]|[sS][mM][aA][lL][lL]|[sS][tT][rR][iI][kK][eE]|[sS][tT][rR][oO][nN][gG])"
    rb"[\t\n\f\r />][^<>]*"
)
"""A formatting element's start tag but for `a`, of which one at a time is opened again."""

_CLOSED = re.compile(
    rb"<(b|big|code|em|font|i|nobr|s|small|span|strike|strong|tt|u)"
    rb"""(?:\ [a-z-]++="[^"<>]*+")*+>[^<]*+</\1>"""
)
"""A formatting element or span with text alone. Attributes that a tokeniser might read otherwise
are in none."""


MOST_SOURCE = 1 << 18
"""Bytes: longer documents may cost much in any case."""


def may_cost_much(body: bytes) -> bool:
    """Whether a parser may need more than some hundredths of a second and tens of megabytes beyond
    what the length of an HTML document explains. O(length), and less for ordinary documents.

    Counting bytes is enough: in all encodings of the web but UTF-16, which contains zero bytes,
    `<` is the same byte as in ASCII.
    """
    tags = body.count(b"<")
    if tags > MOST_TAGS or len(body) > MOST_SOURCE or b"\0" in body or _LONG_TAG.search(body):
        return True
    if tags * tags <= MOST_ELEMENTS and tags * len(body) <= MOST_BYTES:
        return False
    if not _reopens_much(body, tags):
        return False
    # A closed element with text alone is not reopened; nor, then, its closed parent.
    return _reopens_much(_CLOSED.sub(b"", _CLOSED.sub(b"", body)), tags)


def _reopens_much(body: bytes, tags: int) -> bool:
    formatting = _FORMATTING.findall(body)
    others = tags - len(formatting)
    return (
        len(formatting) * others > MOST_ELEMENTS or sum(map(len, formatting)) * others > MOST_BYTES
    )
