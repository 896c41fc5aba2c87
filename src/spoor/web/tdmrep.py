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
"""In one location; each may be tried at every character of a path."""


@dataclass(frozen=True, slots=True)
class Reservations:
    """What a file says; no rule: nothing is reserved."""

    rules: Sequence[tuple[re.Pattern[str], bool]] = ()
    """(location, whether it is reserved), the first that fits counts."""

    def reserve(self, url: str) -> bool:
        """Whether a URL of the site is reserved."""
        path = "/" + "".join(url.split("/", 3)[3:])
        return next((reserved for pattern, reserved in self.rules if pattern.match(path)), False)


def parse(body: bytes) -> Reservations:
    """Of the body of the file: what is none, is damaged or is longer than `LIMIT` reserves
    nothing."""
    try:
        rows = json.loads(body) if len(body) <= LIMIT else []
    except (ValueError, RecursionError):
        rows = []
    rules: list[tuple[re.Pattern[str], bool]] = []
    for row in rows[:_RULES] if isinstance(rows, list) else []:
        location = row.get("location") if isinstance(row, dict) else None
        if isinstance(location, str) and location.count("*") <= _WILDCARDS:
            rules.append((_pattern(location), row.get("tdm-reservation") in (1, "1", True)))
    return Reservations(tuple(rules))


def _pattern(location: str) -> re.Pattern[str]:
    """As in robots.txt: `*` is any characters, a last `$` the end."""
    ended = location.endswith("$")
    parts = re.split(r"\*+", location[:-1] if ended else location)
    return re.compile(".*?".join(map(re.escape, parts)) + ("$" if ended else ""))
