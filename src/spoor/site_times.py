"""What each site took lately of something that all share: a helper process, or a browser.

A site is a domain, since any name below one may be a host with a pace of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

LATELY = 60.0
"""Seconds after which what a site took counts half."""

UNKNOWN = 1.0
"""Seconds that a site counts as having taken of which no document was read."""

OFTEN = 0.1
"""Share of documents that took long, beyond which those of a site do."""

MOST_SITES = 1_000
"""Of which is known what they took; those that were read longest ago leave."""


class _Lately(NamedTuple):
    seconds: float
    documents: float
    long: float
    """Of these."""
    counted: float


class SiteTimes:
    """What the documents of each site took lately, by any helper. `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._sites: dict[str, _Lately] = {}
        self._long_at = -math.inf
        """When a document ended last that took long."""

    def took(self, site: str, seconds: float, *, long: bool = False) -> None:
        """A document of a site took so many seconds; `long`: too many for those that wait."""
        now = self._clock()
        self._long_at = now if long else self._long_at
        past = self._sites.pop(site, _Lately(0.0, 0.0, 0.0, now))
        share = _left(now - past.counted)
        counts = share * past.documents + 1, share * past.long + long
        self._sites[site] = _Lately(share * past.seconds + seconds, *counts, now)
        if len(self._sites) > MOST_SITES:
            del self._sites[next(iter(self._sites))]

    def lately(self, site: str) -> float:
        """Seconds that it took lately."""
        found = self._sites.get(site)
        if found is None:
            return UNKNOWN
        return _left(self._clock() - found.counted) * found.seconds

    def is_risky(self, site: str) -> bool:
        """Whether no document of a site was read, and some of others took long lately."""
        return site not in self._sites and self._clock() < self._long_at + LATELY

    def is_slow(self, site: str) -> bool:
        """Whether its documents take long."""
        found = self._sites.get(site)
        return found is not None and found.long > OFTEN * found.documents


def _left(seconds: float) -> float:
    return float(0.5 ** (seconds / LATELY))
