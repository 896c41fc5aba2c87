"""Markup that would take an HTML parser more than linear time, made harmless before it is parsed.

HTML5 tree building is quadratic in what is left open: each tag looks through the open elements,
each new block opens the formatting elements again that were not closed (70 kB can ask for 4 million
elements), each attribute is compared with all others of its tag, each name looked up among all.
Browsers have limits; lexbor has none. `flatten` reads a document as the HTML5 tokeniser does, keeps
books of what is open, and gives start tags beyond the limits the name of an element that holds
nothing.
"""

from __future__ import annotations

import re

MANY_TAGS = 16_384
"""Fewer cannot take long however they are nested: 0.3 s."""

MANY_CHARACTERS = 131_072
"""Fewer cannot hold so many attributes in one tag that it takes long."""

_MANY_REOPENED = 250_000
"""Formatting tags times others: the most elements that reopening can make."""

_MOST_OPEN = 400
_MOST_FORMATTING = 8
_MOST_ROOTS = 8
_LONGEST_TAG = 8_192
_MOST_NAMES = 2_000

_FORMATTING = frozenset("a b big code em font i nobr s small strike strong tt u".split())
_FORMATTING_TAG = re.compile(
    # In both cases, since ignoring them takes half as long again.
    r"<(?=[bcefinstuBCEFINSTU])(?:[bisuBISU]|[tT][tT]|[eE][mM]|[bB][iI][gG]|[cC][oO][dD][eE]|[fF][oO][nN][tT]"
    r"|[nN][oO][bB][rR]|[sS][mM][aA][lL][lL]|[sS][tT][rR][iI][kK][eE]|[sS][tT][rR][oO][nN][gG])"
    r"[\t\n\f\r />]"
)
_CLOSED = re.compile(
    r"<(b|big|code|em|font|i|nobr|s|small|span|strike|strong|tt|u)"
    r"""(?:\ [a-z-]++="[^"<>]*+")*+>[^<]*+</\1>"""
)
"""A formatting element or span with text alone. Attributes that a tokeniser might read otherwise
are in none."""
_VOID = frozenset(
    """area base basefont bgsound br col embed frame hr image img input keygen link meta param
    source track wbr body head html""".split()
)
_HEADINGS = frozenset("h1 h2 h3 h4 h5 h6".split())
_CLOSE_P = _HEADINGS | frozenset(
    """address article aside blockquote center details dialog dir div dl fieldset figcaption figure
    footer form header hgroup listing main menu nav ol p plaintext pre search section summary ul
    li dd dt xmp""".split()
)
_TABLE_PARTS = frozenset("caption colgroup tbody td tfoot th thead tr".split())
_MARKERS = frozenset("applet caption marquee object td th".split())
_BARRIERS = _MARKERS | {"table"}
_SPECIAL = (
    _CLOSE_P
    | _TABLE_PARTS
    | _BARRIERS
    | frozenset("button noscript select template iframe noembed noframes".split())
)
# Elements whose insides are no HTML, or HTML by other rules: `object` is as invisible to us and
# has none. A list box has rules of its own, too.
_RENAMED = {"svg": "object", "math": "object", "template": "object", "select": "wbr"}
_RENAMED |= {"frameset": "wbr", "plaintext": "wbr"}

_W = r"\t\n\f\r "
_NAME = rf"(?:=[^{_W}/>=]*+|[^{_W}/>=]++)"
_VALUE = (
    rf"(?:[{_W}]*+=[{_W}]*+"
    rf"""(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|(?:(?=>)|[^{_W}>]++|\Z)))?+"""
)
TOKEN = re.compile(
    rf"""<(?:
      !--(?:-?>|.*?(?:--!?>|\Z))
    | (?:[!?]|/(?![a-z]))[^>]*+(?:>|\Z)
    | (/?)([a-z][^{_W}/>]*+)
      ((?:
          [{_W}/]++
        | {_NAME}{_VALUE}
      )*+)(?:>|\Z)
    )""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
"""Comments and tags in HTML's data state; of a tag its slash, name and the rest before the end."""

_ATTRIBUTE = re.compile(rf"[{_W}/]*+({_NAME}){_VALUE}")
"""Its name; used on what `TOKEN` took for the attributes of a tag."""
_RAW_END = {
    name: re.compile(rf"</{name}(?=[{_W}/>])", re.IGNORECASE)
    for name in "iframe noembed noframes style textarea title xmp".split()
}
_SCRIPT = re.compile(rf"-->|<!--|</?script(?=[{_W}/>])", re.IGNORECASE)


def flatten(source: str) -> tuple[str, bool]:
    """The document with bounded nesting, and whether that lost more than formatting. O(length).

    Ordinary documents come back as they are after three counts.
    """
    tags = source.count("<")
    if tags <= MANY_TAGS and len(source) <= MANY_CHARACTERS:
        # Even 500 times 500 is no more.
        if tags <= 1_000:
            return source, False
        formatting = len(_FORMATTING_TAG.findall(source))
        if formatting * (tags - formatting) <= _MANY_REOPENED:
            return source, False
        # What holds nothing but text, and is closed, is not opened again; nor then what holds it.
        rest = _CLOSED.sub("", _CLOSED.sub("", source))
        formatting = len(_FORMATTING_TAG.findall(rest))
        if formatting * (tags - formatting) <= _MANY_REOPENED:
            return source, False
    return _Books(source).read()


class _Books:
    """Which elements and formatting a parser would hold open: never fewer than it does."""

    __slots__ = ("active", "names", "open", "roots", "source")

    def __init__(self, source: str) -> None:
        self.source = source
        self.open: list[str] = []
        self.active: list[str | None] = []
        """Formatting that is opened again until it is closed; None where a cell or object began."""
        self.roots = 0
        self.names: set[str] = set()
        """Of elements and attributes."""

    def read(self) -> tuple[str, bool]:
        source = self.source
        parts: list[str] = []
        done = at = 0
        changed = False
        search = TOKEN.search
        while token := search(source, at):
            at = token.end()
            end, name, rest = token.groups()
            if name is None:
                continue
            name = name.lower()
            if end:
                instead = _RENAMED.get(name, name)
                self.end(instead)
            else:
                instead = self.begin(name, rest.endswith("/"))
                if name == "script":
                    at = self.after_script(at)
                elif name in _RAW_END:
                    raw_end = _RAW_END[name].search(source, at)
                    at = raw_end.start() if raw_end else len(source)
            bare = len(rest) > _LONGEST_TAG or self.too_many(name, rest)
            if instead != name or bare:
                if name not in self.names:
                    instead = "wbr"
                parts += (source[done : token.start(2)], instead)
                done = token.end(3) if bare else token.end(2)
                changed = changed or bare or not (name in _RENAMED or name in _FORMATTING)
        if not parts:
            return source, False
        parts.append(source[done:])
        return "".join(parts), changed

    def too_many(self, name: str, rest: str) -> bool:
        """Whether there would be too many names of elements and attributes by those of this tag."""
        names = self.names
        if name not in names:
            if len(names) >= _MOST_NAMES:
                return True
            names.add(name)
        if rest:
            new = names.union(_ATTRIBUTE.findall(rest.lower()))
            if len(new) > _MOST_NAMES:
                return True
            self.names = new
        return False

    def after_script(self, at: int) -> int:
        """Where a script ends: an end tag in a comment after another start tag is none."""
        commented = inner = False
        while mark := _SCRIPT.search(self.source, at):
            at = mark.end()
            kind = mark[0].lower()
            if kind == "-->":
                commented = inner = False
            elif kind == "<!--":
                # Its dashes may be those of the end.
                at = mark.start() + 2 if not commented else at
                commented = True
            elif kind == "<script":
                inner = commented
            elif inner:
                inner = False
            else:
                return mark.start()
        return len(self.source)

    def begin(self, name: str, closed: bool) -> str:
        """Enter a start tag. Returns the name that it may have."""
        if name in _RENAMED:
            name = "wbr" if closed else _RENAMED[name]
        if name in ("html", "body"):
            self.roots += 1
            return name if self.roots <= _MOST_ROOTS else "wbr"
        if name in _VOID or name == "script" or name in _RAW_END:
            return name
        if name in ("li", "dd", "dt"):
            # Before the paragraph: what stands in that may keep the item open.
            self.close_item(("li",) if name == "li" else ("dd", "dt"))
        if name in _CLOSE_P:
            self.close("p", _BARRIERS | {"button"})
        if name in _TABLE_PARTS:
            if "table" not in self.open:
                return name
            self.pop(self.last("table") + 1)
        elif name == "table":
            context = self.open_table()
            if context >= 0:
                self.pop(context)
        elif name == "a":
            if "a" in self.since_marker():
                self.end_formatting("a")
        elif name in _HEADINGS:
            if self.open and self.open[-1] in _HEADINGS:
                self.pop(len(self.open) - 1)
        elif name == "option":
            if self.open and self.open[-1] == "option":
                self.pop(len(self.open) - 1)
        elif name == "button":
            self.close("button", _BARRIERS)
        if name in _FORMATTING and name != "a" and len(self.since_marker()) >= _MOST_FORMATTING:
            return "wbr"
        if len(self.open) >= _MOST_OPEN + (32 if name == "a" else 0):
            return "wbr"
        self.open.append(name)
        if name in _FORMATTING:
            self.active.append(name)
        elif name in _MARKERS:
            self.active.append(None)
        return name

    def end(self, name: str) -> None:
        """Enter an end tag."""
        if name in _FORMATTING:
            self.end_formatting(name)
        elif self.open and self.open[-1] == name and name != "form":
            self.pop(len(self.open) - 1)
        elif name == "table" or name in _TABLE_PARTS:
            self.close(name, frozenset({"table"}))
        elif name == "p":
            self.close("p", _BARRIERS | {"button"})
        elif name == "li":
            self.close("li", _BARRIERS | {"ol", "ul"})
        elif name in _HEADINGS:
            at = max(self.find(heading, _BARRIERS) for heading in _HEADINGS)
            if at >= 0:
                self.pop(at)
        elif name == "form":
            at = self.find("form", _BARRIERS)
            if at >= 0:
                del self.open[at]
        elif name in _SPECIAL and name != "noscript":
            self.close(name, _BARRIERS)
        else:
            # That of noscript is like any other's, too: a block within keeps it open.
            self.close(name, _SPECIAL)

    def find(self, name: str, barriers: frozenset[str]) -> int:
        """Place of the innermost open element of that name before any barrier; −1 if none."""
        if name not in self.open:
            return -1
        for at in range(len(self.open) - 1, -1, -1):
            element = self.open[at]
            if element == name:
                return at
            if element in barriers:
                return -1
        return -1

    def close(self, name: str, barriers: frozenset[str]) -> None:
        at = self.find(name, barriers)
        if at >= 0:
            self.pop(at)

    def close_item(self, names: tuple[str, ...]) -> None:
        for at in range(len(self.open) - 1, -1, -1):
            element = self.open[at]
            if element in names:
                self.pop(at)
                return
            if element in _SPECIAL and element not in ("address", "div", "p"):
                return

    def last(self, name: str) -> int:
        return len(self.open) - 1 - self.open[::-1].index(name)

    def open_table(self) -> int:
        """Place of the table that a new one would end, since no cell of it is open; −1 if none."""
        for at in range(len(self.open) - 1, -1, -1):
            if self.open[at] == "table":
                return at
            if self.open[at] in ("td", "th", "caption"):
                return -1
        return -1

    def pop(self, size: int) -> None:
        """Close all but the outermost `size` elements."""
        for element in self.open[size:]:
            if element in _MARKERS:
                while self.active and self.active.pop() is not None:
                    pass
        del self.open[size:]

    def since_marker(self) -> list[str | None]:
        """At most 64 of the formatting that is to be opened again here."""
        recent = self.active[-64:]
        return recent[len(recent) - recent[::-1].index(None) :] if None in recent else recent

    def end_formatting(self, name: str) -> None:
        """The adoption agency, as far as counting goes: through more than 7 blocks it gives up."""
        recent = self.since_marker()
        if name not in recent:
            at = self.find(name, _SPECIAL)
            if at >= 0:
                self.pop(at)
            return
        at = self.find(name, _BARRIERS)
        if at >= 0:
            blocks = sum(element in _SPECIAL for element in self.open[at + 1 :])
            if blocks > 7:
                return
            if blocks:
                del self.open[at]
            else:
                self.pop(at)
        del self.active[len(self.active) - 1 - recent[::-1].index(name)]
