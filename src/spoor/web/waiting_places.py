"""Places for links that wait: where they are used up, the domain with the most gives one up, so
that no domain takes those of others."""

from __future__ import annotations

import heapq
from collections import Counter


class WaitingPlaces:
    """How many links of each domain wait. O(log domains) a call; equal numbers go by name, so that
    the order of the calls changes no answer."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._links: Counter[str] = Counter()
        self._total = 0
        self._heap: list[tuple[int, str]] = []
        """Domains with the most first; one whose number is another is void."""

    def add(self, domain: str, links: int = 1) -> None:
        """So many links more of a domain wait, or fewer."""
        self._total += links
        self._links[domain] += links
        if not self._links[domain]:
            del self._links[domain]
            return
        heapq.heappush(self._heap, (-self._links[domain], domain))
        if len(self._heap) > 1_000 + 4 * len(self._links):
            self._heap = [(-count, name) for name, count in self._links.items()]
            heapq.heapify(self._heap)

    def too_many(self) -> str:
        """The domain that is to give up a link; empty where there is room."""
        if self._total <= self._most:
            return ""
        while -self._heap[0][0] != self._links.get(self._heap[0][1], 0):
            heapq.heappop(self._heap)
        return self._heap[0][1]
