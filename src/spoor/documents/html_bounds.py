"""How much of an HTML document is read for its main text, which takes two trees and a walk.

What a tree costs is told by the tags alone: each searches the elements that are open, and each
block opens those of `b`, `font` and the like again that were not closed. So the source is cut where
these would be too many. Of 1,940 pages of manuals, companies and universities, 34 of more than 2 MB
among them, none comes to four fifths of a limit.
"""

from __future__ import annotations

import re

from spoor.documents.html_nesting import FORMATTING, Nesting
from spoor.web.parse_cost import may_cost_much

MOST_ELEMENTS, CHARACTERS_AN_ELEMENT = 8_000, 26
"""Elements of any document, and one more for so many characters of its source, of which the first
…"""
MANY, CHARACTERS_OF_MANY = 1 << 19, 40
"""… have the elements of a list of short links, and one more for so many characters beyond."""
ATTRIBUTES_AN_ELEMENT = 2
"""Attributes, for each element of the limit: one for 13 characters."""
MOST_STEPS = 5_000_000
"""Elements that are open, added up over all tags."""
MOST_LOOKS = 2_000_000
"""Open elements that end tags, which do not end the innermost one, look at."""
MOST_AGAIN_BYTES = 1 << 24
"""Characters in the tags of elements that are opened again, of which there may be twice as many
as of others."""

_SPACE = "\t\n\f\r "
_ATTRIBUTE = (
    rf"[^{_SPACE}/>][^{_SPACE}/>=]*+(?:[{_SPACE}]*+=[{_SPACE}]*+"
    rf"""(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^{_SPACE}>"'][^{_SPACE}>]*+|(?=>)|\Z))?+"""
)
"""As a parser reads one: a value may hold what looks like a tag."""
_TOKEN = re.compile(
    rf"<(?:(/?)([a-zA-Z][^{_SPACE}/>]*+)((?:[{_SPACE}/]++|{_ATTRIBUTE})*+)(?:>|\Z)"
    # A comment.
    r"|!--(?:-?>|(?s:.*?)(?:--!?>|\Z))|[!?/][^>]*+)"
)
_attributes = re.compile(_ATTRIBUTE).findall
_SECTION = "<![CDATA["
_CHECKED = 32
"""Tags after which the limits are looked at."""
_SHORT = 64
"""Characters in a tag of which all words are taken for attributes."""
_RAW = frozenset("iframe noembed noframes plaintext script style textarea title xmp".split())
"""Elements whose content is text up to their end tag."""
_RAW_ENDS = {name: re.compile(rf"</{name}(?=[{_SPACE}/>])", re.IGNORECASE) for name in _RAW}
_IN_SCRIPT = re.compile(rf"<!--|-->|<(/?)script(?=[{_SPACE}/>])", re.IGNORECASE)


class _Names(dict[str, str]):
    """Names of elements as they are written, in small letters."""

    def __missing__(self, written: str) -> str:
        # An `İ`, or the sign of Kelvin, is no letter of ASCII's.
        name = self[written] = written.lower() if written.isascii() else written
        return name


def readable(body: bytes, source: str) -> int:
    """How many characters of a source may be read; O(length). `body`: its bytes."""
    if not may_cost_much(body):
        return len(source)
    length = len(source)
    most = MOST_ELEMENTS + min(length, MANY) // CHARACTERS_AN_ELEMENT
    most += max(0, length - MANY) // CHARACTERS_OF_MANY
    nesting, known, at = Nesting(), _Names(), 0
    names, start, end = nesting.names, nesting.start, nesting.end
    doubtful = 0
    """Up to here it is not told whether there are tags: they open elements, and end none."""
    steps = elements = attributes = again = bytes_again = tags = 0
    while True:
        for token in _TOKEN.finditer(source, at):
            is_end, name, written = token.groups()
            if name is None:
                begin = token.start()
                if nesting.foreign and source.startswith(_SECTION, begin):
                    at = begin + len(_SECTION)
                    if begin >= doubtful:
                        section = source.find("]]>", at)
                        doubtful = section if section >= 0 else length
                    break
                continue
            name = known[name]
            if is_end:
                if not doubtful or token.end() > doubtful:
                    elements += end(name)
            else:
                elements += 1
                if written:
                    found = written.split() if len(written) <= _SHORT else _attributes(written)
                    attributes += len(found)
                if (
                    name not in _RAW
                    or token.end() <= doubtful
                    or (nesting.foreign and nesting.certain)
                ):
                    start(name, written, token)
                elif nesting.certain:
                    at = _end_of(name, source, token.end())
                    break
                else:  # where a parser may pass over the start tag
                    doubtful = _end_of(name, source, token.end())
            steps += len(names)
            if nesting.active and name not in FORMATTING:
                again += nesting.active
                bytes_again += nesting.weight
                if again > 2 * most or bytes_again > MOST_AGAIN_BYTES:
                    return token.start()
            tags += 1
            if not tags % _CHECKED and (
                elements > most
                or attributes > ATTRIBUTES_AN_ELEMENT * most
                or steps > MOST_STEPS
                or nesting.looks > MOST_LOOKS
            ):
                return token.start()
        else:
            return length


def _end_of(name: str, source: str, at: int) -> int:
    """Where the text of an element ends that begins there."""
    if name == "plaintext":
        return len(source)
    if name != "script":
        found = _RAW_ENDS[name].search(source, at)
        return found.start() if found else len(source)
    comment = inner = False
    while sign := _IN_SCRIPT.search(source, at):
        at = sign.end()
        if sign[0] == "<!--":
            comment, at = True, at - 2  # its dashes may end it, too
        elif sign[0] == "-->":
            comment = inner = False
        elif not sign[1]:
            inner = inner or comment
        elif not inner:
            return sign.start()
        else:
            inner = False
    return len(source)
