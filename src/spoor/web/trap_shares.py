"""What the groups that a guard against traps holds back may take, domain by domain: tries in vain,
and places for links that wait. One site uses up none of another's."""

from __future__ import annotations

from collections import Counter, OrderedDict

from spoor.types import State

VAIN = 4
"""Tries of a domain's groups that may be in vain …"""
OF_PAGES = 30
"""… and one more for so many of its pages."""

PLACES = 10_000
"""Of links that wait. Whoever has fewer than are free may have one more, so that a domain alone has
half of them, two have a third each, and so on …"""
LEAST = 10
"""… but for these, which each domain has."""
MOST = 2 * PLACES

_DOMAINS = 50_000
"""With a record."""


class TrapShares:
    """The records of all domains. O(1) a call."""

    def __init__(self) -> None:
        self._pages: OrderedDict[str, list[int]] = OrderedDict()
        """Domain → [pages, tries in vain]."""
        self.waiting: Counter[str] = Counter()
        """Domain → links that wait."""
        self._total = 0

    def count(self, domain: str, *, pages: int = 0, vain: int = 0) -> None:
        """Count pages of a domain, and tries in vain."""
        row = self._pages.setdefault(domain, [0, 0])
        row[0] += pages
        row[1] += vain
        self._pages.move_to_end(domain)
        if len(self._pages) > _DOMAINS:
            self._pages.popitem(last=False)

    def may_try(self, domain: str) -> bool:
        """Whether groups of a domain may be tried again."""
        pages, vain = self._pages.get(domain, (0, 0))
        return vain <= VAIN + pages // OF_PAGES

    def may_wait(self, domain: str) -> bool:
        """Whether one more of its links may wait."""
        waiting = self.waiting[domain]
        return waiting < PLACES - self._total or (waiting < LEAST and self._total < MOST)

    def wait(self, domain: str, by: int) -> None:
        """So many more links of a domain wait, or fewer."""
        self._total += by
        self.waiting[domain] += by
        if not self.waiting[domain]:
            del self.waiting[domain]

    def save(self) -> State:
        """Go on with `load`; what waits is saved by its owner."""
        return {domain: list(row) for domain, row in self._pages.items()}

    def load(self, state: State) -> None:
        """Go on from `save`."""
        self._pages = OrderedDict((domain, list(row)) for domain, row in state.items())
        self.waiting, self._total = Counter(), 0
