"""Bodies that broke off: whether the part that came is taken for the page."""

from __future__ import annotations

from collections.abc import Callable

from spoor.bounded import REMEMBERED, BoundedDict
from spoor.types import Fetched, LiveReply
from spoor.web.exchange import Exchange

BREAKS = 3
"""Times in a row that a body breaks off before its part is taken for a page of an earlier visit
that never came whole."""


class BrokenBodies:
    """`revisits`: pages may be known whole from an earlier visit, as in a watch or a refresh;
    `whole` says of which this is known."""

    def __init__(self, *, revisits: bool, whole: Callable[[str], bool]) -> None:
        self._revisits = revisits
        self._is_whole = whole
        self._whole: set[str] = set()
        """URLs that are asked for anew and are known whole."""
        self._breaks = BoundedDict[str, int](REMEMBERED)
        """URL → how often its body broke off in a row."""

    def chosen(self, url: str) -> None:
        """A URL is asked for, by whoever may call `whole`."""
        if url in self._breaks and self._is_whole(url):
            self._whole.add(url)

    def asks_anew(self, exchange: Exchange, reply: LiveReply) -> bool:
        """Whether part of a page is not taken for it: of one that is known whole never, of another
        until its body broke off `BREAKS` times."""
        broke = exchange.truncated in ("time", "disconnect") and isinstance(reply, Fetched)
        if not (broke and self._revisits):
            self._breaks.pop(exchange.url, None)
            self._whole.discard(exchange.url)
            return False
        self._breaks[exchange.url] = self._breaks.get(exchange.url, 0) + 1
        if self._breaks[exchange.url] < BREAKS or exchange.url in self._whole:
            return True
        del self._breaks[exchange.url]
        return False
