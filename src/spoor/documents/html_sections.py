"""Sections that a program made from headings, each with an id of its heading's words.

Sphinx, docutils and others write *Buffer-related functions* as `<section
id="buffer-related-functions">`. Such an id names a place, not what an element is for; and a section
of a title holds the document, and nothing beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from selectolax.lexbor import LexborNode

from spoor.web.tag_paths import HEADINGS

_NAMED = "section[id], div[id], h1[id], h2[id], h3[id], h4[id]"
_MOST = 2_000
"""Elements that are looked at."""
_PARTS, _LONG = 40, 500
"""Elements and texts of a heading that are, and characters of these."""
_SEVERAL = 3
"""From so many on a program made their ids: hardly anybody writes three so."""
_DEEP = 32
"""Elements that one may stand in within the section of a title."""
_LETTERS = re.compile(r"[\W\d_]+")
"""What is left out of an id and a heading before they are compared."""


def unname_sections(body: LexborNode) -> frozenset[int]:
    """Take the ids from headings, and from sections within that of a title, where a page has
    several such; return the addresses of the sections that begin with a heading of level 1.
    O(size of the page)."""
    named, titled = list[LexborNode](), set[int]()
    for node in islice(body.css(_NAMED), _MOST):
        heading = node if node.tag in HEADINGS else _first_element(node)
        if heading is None or heading.tag not in HEADINGS:
            continue
        name = _letters(node.attributes.get("id") or "")
        parts = islice(heading.traverse(include_text=True), _PARTS)
        words = "".join(part.text_content or "" for part in parts if part.tag == "-text")
        if name and name in _letters(words[:_LONG]):
            named.append(node)
            if heading.tag == "h1" and node is not heading:
                titled.add(node.mem_id)
    if len(named) >= _SEVERAL:
        for node in named:
            if node.tag in HEADINGS or any(above.mem_id in titled for above in _lineage(node)):
                del node.attrs["id"]
    return frozenset(titled)


def _lineage(node: LexborNode) -> Iterator[LexborNode]:
    """An element, and those that it is in, the nearest first."""
    above: LexborNode | None = node
    for _ in range(_DEEP):
        if above is not None:
            yield above
            above = above.parent


def _letters(text: str) -> str:
    return _LETTERS.sub("", text.lower())


def _first_element(node: LexborNode) -> LexborNode | None:
    """The first child, unless it is text or empty: anchors of other names are."""
    child = node.first_child
    while child is not None and (child.tag != "-text" or not (child.text_content or "").strip()):
        if child.first_child is not None:
            return child
        child = child.next
    return None
