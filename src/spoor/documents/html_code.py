"""Code on a page, line by line: as it stands, or as programs that colour it write it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from spoor.web.tree_walk import MAX_DEPTH

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_OF_LINES = "br, div, p, li"
"""What parts lines within `pre`."""


def text_of_code(pre: LexborNode) -> str:
    """The text of a `pre` element. A line may end with `br` instead of a line feed, as Prism of
    React writes it, or be an element of its own, as those of Expressive Code are. O(text)."""
    first = pre.css_first(_OF_LINES)
    if first is None:
        return pre.text(deep=True)
    above = None if first.tag == "br" or first.parent is None else first.parent.mem_id
    pieces: list[str] = []
    for node in pre.traverse(include_text=True):
        if node.tag == "-text":
            pieces.append(node.text_content or "")
        elif node.tag == "br" or (
            node.parent is not None
            and node.parent.mem_id == above
            and node.tag == first.tag
            and pieces
            and not pieces[-1].endswith("\n")
        ):
            pieces.append("\n")
    return "".join(pieces)


def is_listing(node: LexborNode, attributes: Mapping[str, str | None]) -> bool:
    """Whether it is a listing of Doxygen, which makes an element of each line."""
    if "fragment" not in (attributes.get("class") or "").split():
        return False
    first = node.child
    while first is not None and first.tag == "-text":
        first = first.next
    return first is not None and "line" in _classes(first)


def lines_of(listing: LexborNode) -> str:
    """The lines of a listing, without their numbers. What folds holds lines, too; a line in a line
    is text of it."""
    lines: list[str] = []
    above: list[LexborNode] = []
    node = listing.child
    while node is not None or above:
        if node is None:
            node = above.pop().next
            continue
        if node.tag == "div" and "line" in _classes(node):
            lines.append(_line(node))
        elif node.child is not None and len(above) < MAX_DEPTH:
            above.append(node)
            node = node.child
            continue
        node = node.next
    return "\n".join(lines)


def _line(line: LexborNode) -> str:
    written = line.text(deep=True).replace("\xa0", " ")
    number = line.css_first("span.lineno")
    return written if number is None else written.replace(number.text(), "", 1)


def _classes(node: LexborNode) -> list[str]:
    return (node.attributes.get("class") or "").split()
