"""The lists of a Word document: which paragraph is an entry, how deep, and with which number."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from xml.etree.ElementTree import Element

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_VALUE = f"{_W}val"
_MOST = 10_000
"""Lists, and kinds of lists."""
_DEEPEST = 8


class WordLists:
    """Numbers the entries of lists as they come, by the part `numbering` of a document."""

    def __init__(self, numbering: Element) -> None:
        kinds = {
            kind.get(f"{_W}abstractNumId"): _levels(kind)
            for kind in islice(numbering.iterfind(f"{_W}abstractNum"), _MOST)
        }
        self._lists = {
            one.get(f"{_W}numId"): kinds.get(_value(one, "abstractNumId"), {})
            for one in islice(numbering.iterfind(f"{_W}num"), _MOST)
        }
        self._counts = Counter[tuple[str, int]]()

    def entry(self, facts: Element) -> tuple[int, int] | None:
        """(depth, number) of an entry, by what its paragraph says of itself; number 0: it has a
        mark. None where it is no entry, or goes on with the one before it."""
        properties = facts.find(f"{_W}numPr")
        name = "" if properties is None else _value(properties, "numId")
        if properties is None or name not in self._lists:
            return None
        level = _value(properties, "ilvl")
        depth = min(int(level), _DEEPEST) if level.isdecimal() and len(level) < 3 else 0
        form, mark = self._lists[name].get(depth, ("bullet", "-"))
        if form == "none" or not mark.strip():
            return None
        if form == "bullet":
            return depth, 0
        self._counts[name, depth] += 1
        for deeper in range(depth + 1, _DEEPEST + 1):
            self._counts.pop((name, deeper), None)
        return depth, self._counts[name, depth]


def _levels(kind: Element) -> dict[int, tuple[str, str]]:
    """Level → (its form, the mark, in which `%1` stands for a number)."""
    levels = dict[int, tuple[str, str]]()
    for level in islice(kind.iterfind(f"{_W}lvl"), _DEEPEST + 1):
        number = level.get(f"{_W}ilvl") or ""
        if number.isdecimal() and len(number) < 3:
            levels[int(number)] = _value(level, "numFmt"), _value(level, "lvlText")
    return levels


def _value(element: Element, name: str) -> str:
    found = element.find(f"{_W}{name}")
    return "" if found is None else found.get(_VALUE) or ""
