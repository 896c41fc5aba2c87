"""Whether an HTML document may cost a parser much more than its length, told by counts alone.

HTML5 tree building is quadratic in what is left open: each tag looks through the open elements,
each new block opens the formatting elements again that were not closed, with copies of their
attributes (60 kB can ask for gigabytes), and each attribute is compared with all others of its tag.
Browsers have limits; lexbor has none. What `may_cost_much` says no of stays within `MOST_ELEMENTS`
and `MOST_BYTES` beyond its own; anything else is parsed under limits of time and memory
(`spoor.isolate`).
"""

from __future__ import annotations

import re

MOST_TAGS = 4_000
"""Each may look through all that are open: a hundredth of a second."""

MOST_ELEMENTS = 50_000
"""That opening formatting elements again can make: some 10 MB."""

MOST_BYTES = 16 << 20
"""Of the attributes of such elements."""

_LONG_TAG = re.compile(r"<[a-zA-Z][^<>]{4096}")
"""It may have thousands of attributes."""

_FORMATTING = re.compile(
    # In both cases, since ignoring them takes half as long again.
    r"<(?=[bcefinstuBCEFINSTU])(?:[bisuBISU]|[tT][tT]|[eE][mM]|[bB][iI][gG]|[cC][oO][dD][eE]|[fF][oO][nN][tT]"
    r"|[nN][oO][bB][rR]|[sS][mM][aA][lL][lL]|[sS][tT][rR][iI][kK][eE]|[sS][tT][rR][oO][nN][gG])"
    r"[\t\n\f\r />][^<>]*"
)
"""A formatting element's start tag but for `a`, of which one at a time is opened again."""

_CLOSED = re.compile(
    r"<(b|big|code|em|font|i|nobr|s|small|span|strike|strong|tt|u)"
    r"""(?:\ [a-z-]++="[^"<>]*+")*+>[^<]*+</\1>"""
)
"""A formatting element or span with text alone. Attributes that a tokeniser might read otherwise
are in none."""


def may_cost_much(source: str) -> bool:
    """Whether a parser may need more than some hundredths of a second and tens of megabytes beyond
    what the length of the document explains. O(length), and less for ordinary documents."""
    tags = source.count("<")
    if tags > MOST_TAGS or _LONG_TAG.search(source):
        return True
    if tags * tags <= MOST_ELEMENTS and tags * len(source) <= MOST_BYTES:
        return False
    if not _reopens_much(source, tags):
        return False
    # What holds nothing but text, and is closed, is not opened again; nor then what holds it.
    return _reopens_much(_CLOSED.sub("", _CLOSED.sub("", source)), tags)


def _reopens_much(source: str, tags: int) -> bool:
    formatting = _FORMATTING.findall(source)
    others = tags - len(formatting)
    return (
        len(formatting) * others > MOST_ELEMENTS or sum(map(len, formatting)) * others > MOST_BYTES
    )
