"""Which elements of HTML are open, tag by tag, without a tree: never fewer than in a parser's tree.

It follows the standard's rules for the stack of open elements (WHATWG HTML, "The rules for parsing
tokens in HTML content") where these close elements; where they are too intricate, elements stay
open here that a parser closes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

FORMATTING = frozenset("b big code em font i nobr s small strike strong tt u".split())
"""Elements that are opened again, in each block, until they are closed."""
_ADOPTED = FORMATTING | {"a"}
_MOST_ALIKE = 3
"""Elements that are opened again of those with the same tag."""

_NEVER_OPEN = frozenset(
    """area base basefont bgsound br col embed frame hr image img input keygen link meta param
    source track wbr""".split()
)
_PASSED_OVER = frozenset("html head body".split())
_TEXT = frozenset("iframe noembed noframes script style textarea title xmp".split())
_BREAKS_OUT = frozenset(
    """b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li
    listing menu meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul
    var""".split()
)
"""Elements that end a drawing or a formula."""
_HTML, _SVG, _MATH, _EITHER, _CHOICES = range(5)
"""What is read: HTML, a drawing, a formula, what a parser may take for either, or `select`, in
which parsers differ. In the last two all elements open, and only their own end tags close them."""
_INTEGRATION = {
    _SVG: frozenset("desc foreignobject title".split()),
    _MATH: frozenset("mi mn mo ms mtext".split()),
}
"""Elements of drawings and formulas that hold HTML."""
_OF_EITHER = _INTEGRATION[_SVG] | _INTEGRATION[_MATH]
_DOUBTFUL = frozenset(("frameset", "malignmark", "mglyph"))
"""Elements in which a parser passes over others, or takes them for parts of a formula."""
_MARKED = frozenset("applet caption marquee object td template th".split())
"""Within them what is opened again is only what was opened there."""
_SCOPE = frozenset(
    """annotation-xml applet caption desc foreignobject marquee mi mn mo ms mtext object select
    table td template th title""".split()
)
"""Elements out of which no end tag reaches, but that of one of them."""
_HEADINGS = frozenset("h1 h2 h3 h4 h5 h6".split())
_SPECIAL = _SCOPE | frozenset(
    """address article aside blockquote button center colgroup dd details dir div dl dt fieldset
    figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup li listing main menu nav noscript
    ol p pre search section select summary tbody tfoot thead tr ul""".split()
)
_CLOSES_P = _SPECIAL - {"button", "colgroup", "noscript"}
_CLOSES_P = _CLOSES_P - _SCOPE - {"tbody", "tfoot", "thead", "tr"} | {"dialog"}
_TABLE_PARTS = {
    "caption": frozenset(("table", "template")),
    "colgroup": frozenset(("table", "template")),
    "tbody": frozenset(("table", "template")),
    "tr": frozenset("table tbody tfoot thead template".split()),
    "td": frozenset("table tbody tfoot thead tr template".split()),
}
_TABLE_PARTS["thead"] = _TABLE_PARTS["tfoot"] = _TABLE_PARTS["tbody"]
_TABLE_PARTS["th"] = _TABLE_PARTS["td"]
_IN_TABLES = frozenset("caption td template th".split())
"""Elements in which a table is one in another; elsewhere it ends that one."""
_ITEMS = {
    "li": frozenset(("li",)),
    "dd": frozenset(("dd", "dt")),
    "dt": frozenset(("dd", "dt")),
}
_NO_ITEM_STOPS = frozenset("address div p".split())
_SCOPES = dict.fromkeys(_SPECIAL, _SCOPE)
_SCOPES |= dict.fromkeys(_OF_EITHER, _SPECIAL)
_SCOPES |= {"annotation-xml": _SPECIAL, "noscript": _SPECIAL, "template": frozenset()}
"""How far an end tag reaches; these are plain elements outside drawings and formulas."""
_SCOPES |= {"p": _SCOPE | {"button"}, "li": _SCOPE | {"ol", "ul"}}
_SCOPES |= dict.fromkeys(
    "caption colgroup table tbody td tfoot th thead tr".split(), frozenset(("table", "template"))
)
_RUBY = frozenset("rb rp rt rtc".split())
_IMPLIED = _RUBY | frozenset("dd dt li optgroup option p".split())
"""Elements that end without an end tag."""
_OPTIONS = frozenset(("optgroup", "option"))
_PLAIN = frozenset(
    """address article aside blockquote center cite details dfn div dl fieldset figcaption figure
    footer header kbd label main nav ol pre samp section span summary sup ul var""".split()
)
"""Elements that close none but a paragraph, and are closed by their end tag."""
_MOST_BLOCKS = 7
"""Blocks in a formatting element that its end tag reaches through."""


@dataclass(slots=True)
class _Formatting:
    name: str
    tag: str
    is_open: bool = True


class Nesting:
    """The open elements after each tag."""

    def __init__(self) -> None:
        self.names: Final[list[str]] = []
        """Of the open elements, outermost first."""
        self.looks = 0
        """Open elements that were looked at, beside the innermost one."""
        self.active = self.weight = 0
        """Formatting elements that the next block may open again, and characters of their tags."""
        self._formatting: list[_Formatting | None] = []
        """Elements that are opened again; None where one begins within which they are not."""
        self._waiting = 0
        """How many of them are not open."""
        self._paragraphs = 0
        self._regions: list[tuple[int, int]] = []

    @property
    def foreign(self) -> bool:
        """Whether what follows may be of a drawing or a formula."""
        return bool(self._regions) and self._regions[-1][1] != _HTML

    @property
    def certain(self) -> bool:
        """Whether a parser takes all for the same."""
        return not self._regions or self._regions[-1][1] < _EITHER

    def start(self, name: str, attributes: str, tag: re.Match[str]) -> None:
        """A start tag; not that of an element whose content is text."""
        names = self.names
        if name in _PLAIN and not (self._regions or self._waiting or self._paragraphs):
            names.append(name)
            return
        if self._regions and (kind := self._regions[-1][1]) != _HTML:
            if kind >= _EITHER:
                self._start_either(name, kind)
                return
            if name not in _BREAKS_OUT:
                if not attributes.endswith("/") or name == "font":
                    self._open(name)
                    if name in _INTEGRATION[kind]:
                        self._regions.append((len(names), _HTML))
                    elif name in ("annotation-xml", "font"):  # by their attributes
                        self._regions.append((len(names), _EITHER))
                return
            while self._regions and self._regions[-1][1] in (_SVG, _MATH):
                self._close(self._regions[-1][0] - 1)
        if name in _NEVER_OPEN or name in _PASSED_OVER:
            if name == "hr" and self._paragraphs:
                self._end(frozenset(("p",)), _SCOPES["p"])
            return
        if names and names[-1] == "colgroup" and name not in ("col", "template"):
            names.pop()
        if name in _TABLE_PARTS:
            self._begin_table_part(name)
            return
        if name == "table":
            self._end(frozenset(("table",)), _IN_TABLES)
        if name in _ITEMS:
            self._begin_item(_ITEMS[name])
        if self._paragraphs and name in _CLOSES_P:
            self._end(frozenset(("p",)), _SCOPES["p"])
        if names:
            last = names[-1]
            if (last in _HEADINGS and name in _HEADINGS) or (
                last == "option" and name in ("option", "optgroup")
            ):
                self._close(len(names) - 1)
            elif name in _RUBY:
                self._end_in_ruby(name)
            elif name == "button":
                self._end(frozenset(("button",)), _SCOPE)
        if name == "a" and "a" in names:
            self._adopt(name)
        if self._waiting:
            self._open_again()
        if name in _ADOPTED:
            self._format(name, tag[0])
        self._open(name)
        if name in ("svg", "math"):
            if attributes.endswith("/"):
                self._close(len(names) - 1)
            else:
                self._regions.append((len(names), _SVG if name == "svg" else _MATH))
        elif name == "select":
            self._regions.append((len(names), _CHOICES))
        elif name in _DOUBTFUL:
            self._regions.append((len(names), _EITHER))

    def end(self, name: str) -> bool:
        """An end tag. Returns whether it makes an element."""
        names = self.names
        if name in _PLAIN and names and names[-1] == name and not self._regions:
            names.pop()
            return False
        if self._regions and name in ("p", "br") and self.foreign:
            self._regions.append((len(names), _EITHER))
        if self._regions and self._regions[-1][1] >= _EITHER:
            self._end_either(name)
        elif name in _ADOPTED:
            self._adopt(name)
        elif names and names[-1] == name and name != "form":
            self._close(len(names) - 1)
        elif name in _TEXT or name in _NEVER_OPEN or name in _PASSED_OVER:
            return name == "br"
        elif name == "colgroup":  # with anything in it, it is not open any more
            return False
        elif self._regions and name in _OF_EITHER:
            return False  # that of a drawing, to HTML in it, is none of this name
        elif self.foreign and (index := self._find_foreign(name)) >= 0:
            self._close(index)
        elif name == "p" and not self._paragraphs:
            return True
        elif name == "form":
            self._remove(name)
        elif name in _HEADINGS:
            self._end(_HEADINGS, _SCOPE)
        else:
            self._end(frozenset((name,)), _SCOPES.get(name, _SPECIAL))
        return False

    def _start_either(self, name: str, kind: int) -> None:
        names = self.names
        if kind == _CHOICES:
            if name in _NEVER_OPEN or name in _PASSED_OVER:
                return
            if name in _OPTIONS and names[-1] == "option":
                self._close(len(names) - 1)
        self._open(name)
        if kind == _CHOICES and name in ("math", "svg"):
            self._regions.append((len(names), _EITHER))

    def _end_either(self, name: str) -> None:
        names = self.names
        last = len(names) - 1
        if name in ("select", "optgroup"):
            while last > 0 and names[last] in _OPTIONS and names[last] != name:
                last -= 1
                self.looks += 1
        if names[last] == name:
            self._close(last)

    def _end_in_ruby(self, name: str) -> None:
        kept = {"rtc"} if name in ("rp", "rt") else set()
        if self._find(frozenset(("ruby",)), _SCOPE) >= 0:
            while self.names[-1] in _IMPLIED - kept:
                self._close(len(self.names) - 1)

    def _open(self, name: str) -> None:
        self.names.append(name)
        if name == "p":
            self._paragraphs += 1
        elif name in _MARKED:
            self._formatting.append(None)

    def _close(self, index: int) -> None:
        """Close the element at an index, and all in it."""
        closed = self.names[index:]
        del self.names[index:]
        for name in closed:
            if name == "p":
                self._paragraphs -= 1
            elif name in _MARKED:
                while self._formatting and (one := self._formatting.pop()) is not None:
                    self._forget(one)
            elif name in _ADOPTED:
                self._is_closed(name)
        while self._regions and self._regions[-1][0] > index:
            self._regions.pop()

    def _find(self, wanted: frozenset[str], stops: frozenset[str]) -> int:
        """The index of the innermost of these elements, or −1: none inside one of the stops."""
        names = self.names
        for index in range(len(names) - 1, -1, -1):
            name = names[index]
            if name in wanted:
                self.looks += len(names) - index
                return index
            if name in stops:
                self.looks += len(names) - index
                return -1
        self.looks += len(names)
        return -1

    def _find_foreign(self, name: str) -> int:
        """The same in the drawing or formula that is open, out of which no search leads."""
        names, first = self.names, self._regions[-1][0] - 1
        for index in range(len(names) - 1, first - 1, -1):
            self.looks += 1
            if names[index] == name:
                return index
        return -1

    def _end(self, wanted: frozenset[str], stops: frozenset[str]) -> None:
        if (index := self._find(wanted, stops)) >= 0:
            self._close(index)

    def _remove(self, name: str) -> None:
        """Close an element alone, and none in it."""
        if (index := self._find(frozenset((name,)), _SCOPE)) == len(self.names) - 1 >= 0:
            self._close(index)
        elif index >= 0:
            self._take_out(index)

    def _take_out(self, index: int) -> None:
        del self.names[index]
        self._regions = [(at - (at > index), kind) for at, kind in self._regions]

    def _begin_item(self, wanted: frozenset[str]) -> None:
        self._end(wanted, _SPECIAL - _NO_ITEM_STOPS - wanted)

    def _begin_table_part(self, name: str) -> None:
        """One outside a table is no element."""
        if (index := self._find(_TABLE_PARTS[name], frozenset())) >= 0:
            if index + 1 < len(self.names):
                self._close(index + 1)
            self._open(name)

    def _format(self, name: str, tag: str) -> None:
        formatting, alike = self._formatting, list[int]()
        for at in range(len(formatting) - 1, -1, -1):
            if (one := formatting[at]) is None:
                break
            self.looks += 1
            if one.tag == tag:
                alike.append(at)
        if len(alike) >= _MOST_ALIKE:
            self._forget(formatting.pop(alike[-1]))
        formatting.append(_Formatting(name, tag))
        if name in FORMATTING:
            self.active, self.weight = self.active + 1, self.weight + len(tag)

    def _forget(self, one: _Formatting | None) -> None:
        if one is not None:
            self._waiting -= not one.is_open
            if one.name in FORMATTING:
                self.active, self.weight = self.active - 1, self.weight - len(one.tag)

    def _is_closed(self, name: str) -> None:
        """A formatting element was closed by another's end."""
        for one in reversed(self._formatting):
            self.looks += 1
            if one is not None and one.is_open and one.name == name:
                one.is_open = False
                self._waiting += 1
                return

    def _open_again(self) -> None:
        """Formatting elements that are not open, from the innermost on to one that is."""
        found = list[_Formatting]()
        for one in reversed(self._formatting):
            if one is None or one.is_open:
                break
            found.append(one)
        self._waiting -= len(found)
        for one in reversed(found):
            one.is_open = True
            self.names.append(one.name)

    def _adopt(self, name: str) -> None:
        """The end of a formatting element, or of a link in which the next one begins."""
        names, formatting = self.names, self._formatting
        last = next((one for one in reversed(formatting) if one is None or one.name == name), None)
        if last is not None and not last.is_open:  # then it is forgotten, and none is closed
            self.looks += 1
            formatting.remove(last)
            self._forget(last)
            return
        if names and names[-1] == name:
            if formatting and (one := formatting[-1]) is not None and one.name == name:
                formatting.pop()
                names.pop()
                self._forget(one)
                return
            index = len(names) - 1
        else:
            index = self._find(frozenset((name,)), _SCOPE)
            if index < 0 and name in names:
                return  # out of reach
        blocks = 0
        if index >= 0:
            blocks = sum(one in _SPECIAL for one in names[index + 1 :])
            if blocks > _MOST_BLOCKS:
                return
        for at in range(len(formatting) - 1, -1, -1):
            if (one := formatting[at]) is None:
                break
            self.looks += 1
            if one.name == name:
                self._forget(formatting.pop(at))
                break
        if index < 0:
            return
        if blocks:
            self._take_out(index)
        else:
            self._close(index)
