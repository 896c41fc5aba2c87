"""How much the guard against traps asks for of the links that wait when a crawl has no others.

Until then such links would take requests from better ones; now they cost requests only, and what a
site would lose is more: of a manual in twelve languages, most of whose pages are not translated,
each page is a copy of eleven others until the crawl comes to one that is not. So what pays is asked
for: as long as one link of a few brings news, and so many more in vain.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from spoor.bounded import remember
from spoor.types import State

LEAST = 0.05
"""Chance of news below which a link is not asked for."""
IN_VAIN = 30
"""Links of a domain that may bring no news, but no more than it has pages, …"""
OF_PAGES = 20
"""… or one for so many of its pages, if that is more, …"""
FOR_NEWS = 15
"""… and so many more for each that brought news."""
_FIRST = 2
"""Links that are asked for first; then twice as many each time, until one brings news."""
_DOMAINS = 50_000
"""With a record."""


class _Domain:
    __slots__ = ("asked", "last", "new")

    def __init__(self, asked: int = 0, new: int = 0, last: int = 0) -> None:
        self.asked, self.new, self.last = asked, new, last
        """Links that were asked for, those that brought news, and those of the last time."""


def worth(new: int, pages: int) -> float:
    """What a link is worth of whose folder so many pages had news, of so many: its chance by
    Laplace's rule of succession, and 0 where that is too little."""
    chance = (new + 1) / (pages + 2)
    return chance if chance >= LEAST else 0.0


class Rests:
    """The records of all domains. O(1) a call."""

    def __init__(self) -> None:
        self._domains: OrderedDict[str, _Domain] = OrderedDict()
        self._asked: OrderedDict[str, str] = OrderedDict()
        """URL that is asked for → its domain."""

    def most(self, domain: str, pages: int) -> int:
        """How many links of a domain may be asked for now; `pages`: of it so far."""
        row = self._domains.get(domain) or _Domain()
        may_be_in_vain = max(_FIRST, min(pages, IN_VAIN), pages // OF_PAGES) + FOR_NEWS * row.new
        return max(0, min(2 * row.last or _FIRST, may_be_in_vain - (row.asked - row.new)))

    def ask(self, domain: str, urls: Iterable[str]) -> None:
        """These links of a domain are asked for."""
        row = self._domains.get(domain) or _Domain()
        remember(self._domains, domain, row, _DOMAINS)
        before = row.asked
        for url in urls:
            remember(self._asked, url, domain)
            row.asked += 1
        row.last = row.asked - before

    def ended(self, url: str, *, news: bool) -> bool:
        """Count what a URL brought; whether it was asked for here."""
        if (domain := self._asked.pop(url, None)) is None:
            return False
        if news and (row := self._domains.get(domain)) is not None:
            row.new, row.last = row.new + 1, 0
        return True

    def save(self) -> State:
        return {
            "domains": [
                [name, row.asked, row.new, row.last] for name, row in self._domains.items()
            ],
            "asked": list(map(list, self._asked.items())),
        }

    def load(self, state: State) -> None:
        self._domains = OrderedDict((name, _Domain(*row)) for name, *row in state["domains"])
        self._asked = OrderedDict((url, domain) for url, domain in state["asked"])
