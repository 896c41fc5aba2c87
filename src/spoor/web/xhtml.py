"""XHTML that is read as HTML: `<iframe … />` ends there, and does not hold the rest of the page."""

from __future__ import annotations

import re

HEAD = 1_024
"""Characters in which a document says that it is XHTML."""

_XHTML = re.compile(r"<\?xml\s|<!doctype[^>]*xhtml|<html[^>]*\sxmlns\s*=", re.IGNORECASE)
_RAW = r"iframe|noembed|noframes|noscript|script|style|textarea|title|xmp"
"""Elements whose content an HTML parser takes for text up to the end tag."""
_CLOSED = re.compile(rf"<(?:{_RAW})(?:\s[^<>]*)?/>", re.IGNORECASE)
_OPENED = re.compile(rf"<({_RAW})(?:\s[^<>]*?)?(/?)>", re.IGNORECASE)


def with_end_tags(source: str) -> str:
    """A document with an end tag behind each element of raw text that XML calls empty, if it says
    that it is XHTML. O(characters)."""
    if _XHTML.search(source, 0, HEAD) is None or _CLOSED.search(source) is None:
        return source
    parts, start, at = [], 0, 0
    while found := _OPENED.search(source, at):
        name, empty = found.groups()
        at = found.end()
        if empty:
            parts.append(f"{source[start:at]}</{name}>")
            start = at
        else:  # What stands in it is text.
            end = re.compile(f"</{name}", re.IGNORECASE).search(source, at)
            at = end.end() if end else len(source)
    return "".join([*parts, source[start:]])
