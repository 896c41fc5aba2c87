"""The page budget of a crawl: which requests in flight hold a place in it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from spoor.crawl.flight import Flights


@dataclass(slots=True)
class PageBudget:
    """Each request in flight holds a place, so that none is made in vain, but for those that give
    it to others: what waits long, and, once all places are taken, a request that takes longer than
    `late_after` seconds. Then more may be in flight than there are places, and whichever pages come
    first count; and what gave its place away is requested again without one, since a host that was
    late once may be late each time."""

    pages: int | None
    """None: no limit."""
    late_after: float = math.inf

    @property
    def has_late(self) -> bool:
        """Whether more may be in flight than there are places."""
        return self.late_after < math.inf

    def used(self, fetched: int, flights: Flights) -> bool:
        """Whether pages and requests in flight have all places."""
        return self.pages is not None and fetched + len(flights) - flights.away >= self.pages

    def spent(self, fetched: int) -> bool:
        """Whether pages alone have all places, though requests may be in flight."""
        return self.pages is not None and self.has_late and fetched >= self.pages

    def awaits(self, fetched: int, flights: Flights) -> bool:
        """Whether any of the requests in flight, of which there are some, still has a place."""
        return flights.away < len(flights) and not self.spent(fetched)

    def next_late(self, flights: Flights) -> float:
        """When the next request is late; infinite for never. O(flights)."""
        return flights.first_request() + self.late_after
