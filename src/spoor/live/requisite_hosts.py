"""Hosts as who asks for requisites knows them: what they answered, and when the crawl asks them."""

from __future__ import annotations

import math
from collections.abc import Callable

from spoor.bounded import BoundedDict
from spoor.protocols import ListsHosts, Politeness
from spoor.types import Failed
from spoor.web.urls import registrable_domain

SILENT = 3
"""Requests to a host in a row that nothing answered, or that it refused: it is asked no more."""
QUICK = 1.0
"""Seconds within which a host answers that is asked, too, for a page that has waited for others as
long as it may."""

_MOST_KNOWN = 50_000
"""Hosts of which it is kept that they are silent, or quick."""
_LISTING_COSTS = 20.0
"""The hosts of the crawl are listed anew after so many times the seconds that it took."""


class HostAnswers:
    """What hosts answered to the requests for requisites, in this process."""

    def __init__(self) -> None:
        self._silent = BoundedDict[str, int](_MOST_KNOWN)
        """Host → requests in a row that nothing answered, or that it refused."""
        self._quick = BoundedDict[str, None](_MOST_KNOWN)
        """Hosts whose last answer was."""

    def see(self, host: str, failed: Failed | None, seconds: float) -> None:
        """A request to a host ended after so many seconds; `failed`: how, if it brought nothing."""
        if failed is not None and _is_silent(failed):
            self._silent[host] = self._silent.get(host, 0) + 1
        else:
            self._silent.pop(host, None)
        answered = failed is None or not (failed.unanswered or _is_silent(failed))
        if answered and seconds < QUICK:
            self._quick[host] = None
        else:
            self._quick.pop(host, None)

    def is_silent(self, host: str) -> bool:
        """Whether it is asked no more."""
        return self._silent.get(host, 0) >= SILENT

    def is_quick(self, host: str) -> bool:
        """Whether its last answer came within `QUICK` seconds."""
        return host in self._quick


class CrawlHosts:
    """The hosts of a crawl, as its frontier lists them: of many not each time, since listing them
    costs time of the crawl's own thread."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.busy: set[str] = set()
        """Domains of which hosts have links that wait."""
        self.clocks: dict[str, float] = {}
        """Host → when it is free for the crawl, if it is not."""
        self._clock = clock
        self._again = -math.inf

    def look(self, frontier: Politeness, *, over: bool) -> None:
        """List them, if it is time; `over`: links wait no more. O(hosts)."""
        now = self._clock()
        if now < self._again or not isinstance(frontier, ListsHosts):
            return
        self.busy.clear()
        self.clocks.clear()
        for name, links, _, free_at in frontier.hosts():
            if free_at > now:
                self.clocks[name] = free_at
            if links and not over:
                self.busy.add(registrable_domain(name))
        self._again = now + _LISTING_COSTS * (self._clock() - now)

    def look_again(self) -> None:
        """List them the next time."""
        self._again = -math.inf


def _is_silent(failed: Failed) -> bool:
    """Whether a host did not answer, or asks to be left alone: of the next ones it says no more."""
    said = failed.kind in ("timeout", "connection", "refused") or failed.retry_after is not None
    return (said or failed.unanswered) and failed.kind != "later"
