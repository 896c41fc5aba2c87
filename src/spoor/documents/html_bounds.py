"""How much of an HTML document is read for its main text, which takes two trees and a walk.

What a tree costs is told by the tags alone: each searches the elements that are open, and each
block opens those of `b`, `font` and the like again that were not closed. So the source is cut where
these would be too many. Of 9,000 pages of manuals and other sites, indexes of 4 MB among them, none
comes to four fifths of a limit.
"""

from __future__ import annotations

import re

from spoor.web.parse_cost import may_cost_much

MOST_ELEMENTS, CHARACTERS_AN_ELEMENT = 8_000, 26
"""Elements of any document, and one more for so many characters of its source."""
WORDS_AN_ELEMENT = 2
"""Words in tags beside their names, for each element of the limit: one for 13 characters. Of 1,475
long pages none has much more than half as many."""
MOST_STEPS = 10_000_000
"""Elements that are open, added up over all tags."""
MOST_AGAIN_BYTES = 1 << 24
"""Characters in the tags of elements that are opened again, of which there may be twice as many
as of others."""

_TAG = re.compile(r"<(/?[a-zA-Z][^\s/>]*)([^<>]*)")
_FORMATTING = frozenset("b big code em font i nobr s small strike strong tt u".split())
_NEVER_OPEN = frozenset(
    """area base basefont bgsound br col embed frame hr img input keygen link meta param source
    track wbr""".split()
)
_MOST_ALIKE = 3
"""Elements that are opened again of those with the same tag."""
_BREAKS_OUT = frozenset(
    """b big blockquote center code dd div dl dt em h1 h2 h3 h4 h5 h6 i li ol p pre small span
    strong table tt u ul""".split()
)
"""Elements that end a drawing or a formula. Within one, others may end themselves."""
_MADE_BY_END = frozenset(("p", "br"))
_ENDED_BY_NEXT = frozenset(
    """body caption colgroup dd dt head html li optgroup option p rb rp rt rtc tbody td tfoot th
    thead tr""".split()
)
"""Elements that the next one of their kind ends, so that they nest no deeper than the others."""


def readable(body: bytes, source: str) -> int:
    """How many characters of a source may be read; O(length). `body`: its bytes."""
    if not may_cost_much(body):
        return len(source)
    most = MOST_ELEMENTS + len(source) // CHARACTERS_AN_ELEMENT
    opened: dict[str, int] = {}
    formatting: dict[str, list[str]] = {}
    alike: dict[str, int] = {}
    depth = steps = elements = words = active = again = weight = bytes_again = 0
    for tag in _TAG.finditer(source):
        name = tag[1].lower()
        if name[0] == "/":
            name = name[1:]
            if opened.get(name):
                opened[name] -= 1
                depth -= 1
                if name in _FORMATTING:
                    text = formatting[name].pop()
                    alike[text] -= 1
                    if alike[text] < _MOST_ALIKE:
                        active, weight = active - 1, weight - len(text)
            elif name in _MADE_BY_END:
                elements += 1
        else:
            elements += 1
            own = tag[2].endswith("/") and (opened.get("svg") or opened.get("math"))
            if name in _BREAKS_OUT:
                opened["svg"] = opened["math"] = own = 0
            if name not in _NEVER_OPEN and name not in _ENDED_BY_NEXT and not own:
                opened[name] = opened.get(name, 0) + 1
                depth += 1
                if name in _FORMATTING:
                    text = tag[0]
                    formatting.setdefault(name, []).append(text)
                    alike[text] = alike.get(text, 0) + 1
                    if alike[text] <= _MOST_ALIKE:
                        active, weight = active + 1, weight + len(text)
        steps += depth
        words += len(tag[2].split())
        if name not in _FORMATTING:
            again += active
            bytes_again += weight
        if (
            elements > most
            or words > WORDS_AN_ELEMENT * most
            or steps > MOST_STEPS
            or again > 2 * most
            or bytes_again > MOST_AGAIN_BYTES
        ):
            return tag.start()
    return len(source)
