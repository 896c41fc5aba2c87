"""Bodies that broke off: whether the part that came is taken for the page."""

from __future__ import annotations

from collections import Counter

from spoor.types import Fetched, LiveReply
from spoor.web.exchange import Exchange

BREAKS = 3
"""Times in a row that a body breaks off before its part is taken for a page of an earlier visit."""


class BrokenBodies:
    """`revisits`: pages may be known whole from an earlier visit, as in a watch or a refresh."""

    def __init__(self, *, revisits: bool) -> None:
        self._revisits = revisits
        self._breaks: Counter[str] = Counter()
        """URL → how often its body broke off in a row."""

    def asks_anew(self, exchange: Exchange, reply: LiveReply) -> bool:
        """Whether part of a page is not taken for it, until its body broke off `BREAKS` times."""
        broke = exchange.truncated in ("time", "disconnect") and isinstance(reply, Fetched)
        if not (broke and self._revisits):
            self._breaks.pop(exchange.url, None)
            return False
        self._breaks[exchange.url] += 1
        if self._breaks[exchange.url] < BREAKS:
            return True
        del self._breaks[exchange.url]
        return False
