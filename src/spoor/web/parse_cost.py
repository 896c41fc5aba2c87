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
from itertools import product

import numpy as np
from numpy.typing import NDArray

MOST_TAGS = 4_000
"""Each may search all open elements: a hundredth of a second."""

MOST_ELEMENTS = 50_000
"""Elements that reopening formatting elements can create: some 10 MB."""

MOST_BYTES = 16 << 20
"""Bytes in the attributes of such elements."""

_LONG = 4096
_LONG_TAG = re.compile(rb"<[a-zA-Z][^<>]{%d}" % _LONG)
"""It may have thousands of attributes."""

_FORMATTING = re.compile(
    # In both cases, since ignoring them takes half as long again.
    rb"<(?=[bcefinstuBCEFINSTU])(?:[bisuBISU]|[tT][tT]|[eE][mM]|[bB][iI][gG]|[cC][oO][dD][eE]|[fF][oO][nN][tT]"
    rb"|[nN][oO][bB][rR]|[sS][mM][aA][lL][lL]|[sS][tT][rR][iI][kK][eE]|[sS][tT][rR][oO][nN][gG])"
    rb"[\t\n\f\r />][^<>]*"
)
"""A formatting element's start tag but for `a`, of which one at a time is opened again."""

_MAY_FORMAT = np.zeros(1 << 16, bool)
"""Whether the two bytes after `<` may begin the name of a formatting element."""
for _name in ["tt", "em", "bi", "co", "fo", "no", "sm", "st"] + [
    letter + end for letter in "bisu" for end in "\t\n\f\r />"
]:
    for _pair in product(*zip(_name, _name.upper(), strict=True)):
        _MAY_FORMAT[ord(_pair[0]) << 8 | ord(_pair[1])] = True

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
    if len(body) > MOST_SOURCE:
        return True
    tags = _tags(body)
    if len(tags) > MOST_TAGS or b"\0" in body:
        return True
    # A long tag reaches to the next one.
    count = len(tags)
    longest = max((tags[1:] - tags[:-1]).max(initial=0), len(body) - tags[-1] if count else 0)
    if longest > _LONG and _LONG_TAG.search(body):
        return True
    if count * count <= MOST_ELEMENTS and count * len(body) <= MOST_BYTES:
        return False
    # A closed element with text alone is not reopened; nor, then, its closed parent.
    for _ in range(2):
        if not _reopens_much(body, tags, count):
            return False
        body = _CLOSED.sub(b"", body)
        tags = _tags(body)
    return _reopens_much(body, tags, count)


def _tags(body: bytes) -> NDArray[np.int64]:
    """Where each `<` stands."""
    return np.flatnonzero(np.frombuffer(body, np.uint8) == ord("<"))


def _reopens_much(body: bytes, tags: NDArray[np.int64], count: int) -> bool:
    """Of a document, or what is left of it, with `count` tags in all. Few have a name that begins
    like that of a formatting element, so these are found before any is read."""
    letters = np.frombuffer(body, np.uint8)
    first, second = (letters.take(tags + at, mode="clip") for at in (1, 2))
    pairs = first.astype(np.uint16) << 8 | second
    found = [_FORMATTING.match(body, at) for at in tags[_MAY_FORMAT[pairs]].tolist()]
    lengths = [len(one[0]) for one in found if one is not None]
    others = count - len(lengths)
    return len(lengths) * others > MOST_ELEMENTS or sum(lengths) * others > MOST_BYTES
