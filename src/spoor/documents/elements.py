"""Elements of XML trees, in the order in which they are written."""

from __future__ import annotations

from collections.abc import Iterator, Set
from xml.etree.ElementTree import Element


def outermost(
    container: Element, *names: str, passing_over: Set[str] = frozenset()
) -> Iterator[Element]:
    """The elements of these names below one, but those inside one another and those in what is
    passed over. Without recursion; O(elements)."""
    waiting = container[::-1]
    while waiting:
        element = waiting.pop()
        if element.tag in names:
            yield element
        elif len(element) and element.tag not in passing_over:
            waiting += element[::-1]
