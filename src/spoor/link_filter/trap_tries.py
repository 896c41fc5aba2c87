"""How often what a guard against traps holds back may be tried in vain, domain by domain: one site
uses up no tries of another."""

from __future__ import annotations

from collections import OrderedDict

from spoor.bounded import remember
from spoor.types import State

VAIN = 4
"""Tries of a domain's groups that may be in vain …"""
OF_PAGES = 30
"""… and one more for so many of its pages."""
_DOMAINS = 50_000
"""With a record."""


class Tries:
    """The records of all domains."""

    def __init__(self) -> None:
        self._rows: OrderedDict[str, list[int]] = OrderedDict()
        """Domain → [pages, tries in vain]."""

    def count(self, domain: str, *, pages: int = 0, vain: int = 0) -> None:
        """Count pages of a domain, and tries in vain."""
        row = self._rows.setdefault(domain, [0, 0])
        row[0] += pages
        row[1] += vain
        remember(self._rows, domain, row, _DOMAINS)

    def pages(self, domain: str) -> int:
        """Pages of a domain."""
        return self._rows.get(domain, (0, 0))[0]

    def left(self, domain: str) -> bool:
        """Whether groups of a domain may be tried again."""
        pages, vain = self._rows.get(domain, (0, 0))
        return vain <= VAIN + pages // OF_PAGES

    def save(self) -> State:
        return {domain: list(row) for domain, row in self._rows.items()}

    def load(self, state: State) -> None:
        self._rows = OrderedDict((domain, list(row)) for domain, row in state.items())
