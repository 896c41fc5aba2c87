"""`/.well-known/tdmrep.json`: where a site reserves text and data mining (TDMRep)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

PATH = "/.well-known/tdmrep.json"
LIMIT = 1 << 18
"""Bytes that are read."""
_RULES = 1_000
_WILDCARDS = 8
"""In one location."""

_MEMORY_OF_RULE = 400
_MEMORY_OF_PART = 80
"""Bytes, beside their characters."""


@dataclass(frozen=True, slots=True)
class Location:
    """Which paths a rule is about: those that have all parts in this order, with anything between,
    the first at the beginning."""

    parts: Sequence[str]
    ended: bool
    """Whether a path ends with the last part; else anything may follow."""

    @property
    def memory(self) -> int:
        """Bytes that it takes, about."""
        return _MEMORY_OF_RULE + sum(_MEMORY_OF_PART + len(part) for part in self.parts)

    def fits(self, path: str) -> bool:
        """Whether it is about a path. Each part is looked for once, at its first place: where the
        rest does not fit behind that, it fits behind no later one. O(length of the path) a part.
        """
        first, *parts = self.parts
        if not parts:
            return path == first if self.ended else path.startswith(first)
        if not path.startswith(first):
            return False
        at, last = len(first), parts.pop() if self.ended else ""
        for part in parts:
            found = path.find(part, at)
            if found < 0:
                return False
            at = found + len(part)
        return len(path) - len(last) >= at and path.endswith(last)


@dataclass(frozen=True, slots=True)
class Reservations:
    """What a file says; no rule: nothing is reserved."""

    rules: Sequence[tuple[Location, bool]] = ()
    """(location, whether it is reserved), the first that fits counts."""
    memory: int = 0
    """Bytes that they take, about."""

    def reserve(self, url: str) -> bool:
        """Whether a URL of the site is reserved."""
        path = "/" + "".join(url.split("/", 3)[3:])
        return next((reserved for location, reserved in self.rules if location.fits(path)), False)


def parse(body: bytes) -> Reservations:
    """Of the body of the file: what is none, is damaged or is longer than `LIMIT` reserves
    nothing."""
    try:
        rows = json.loads(body) if len(body) <= LIMIT else []
    except (ValueError, RecursionError):
        rows = []
    rules: list[tuple[Location, bool]] = []
    for row in rows[:_RULES] if isinstance(rows, list) else []:
        location = row.get("location") if isinstance(row, dict) else None
        if isinstance(location, str) and location.count("*") <= _WILDCARDS:
            rules.append((_location(location), row.get("tdm-reservation") in (1, "1", True)))
    return Reservations(tuple(rules), sum(location.memory for location, _ in rules))


def _location(text: str) -> Location:
    """As in robots.txt: `*` is any characters, a last `$` the end."""
    return Location(tuple(re.split(r"\*+", text.removesuffix("$"))), text.endswith("$"))
