"""Places for links that wait: where they are used up, the domain with the most gives one up, so
that no domain takes those of others."""

from __future__ import annotations

import heapq
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from spoor.types import HeldLink
from spoor.web.urls import domain_of


class WaitingPlaces:
    """How many links of each domain wait. O(log domains) a call; equal numbers go by name, so that
    the order of the calls changes no answer."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._links: Counter[str] = Counter()
        self._total = 0
        self._heap: list[tuple[int, str]] = []
        """Domains with the most first; one whose number is another is void."""

    def clear(self) -> None:
        """Nothing waits."""
        self._links.clear()
        self._heap.clear()
        self._total = 0

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


class WaitingLinks:
    """Links that wait, by domain and in order, at most so many of all domains together; of those
    that are too many only the number is kept. O(log domains) a link."""

    def __init__(self, most: int) -> None:
        self._links: dict[str, OrderedDict[str, HeldLink]] = {}
        self.left = Counter[str]()
        """Domain → links that were too many."""
        self.lost = 0
        """The same of domains of which none waits any more."""
        self._places = WaitingPlaces(most)

    def __bool__(self) -> bool:
        return bool(self._links)

    def __contains__(self, domain: object) -> bool:
        return domain in self._links

    def __iter__(self) -> Iterator[str]:
        """The domains; they may leave meanwhile."""
        return iter(list(self._links))

    def add(self, held: HeldLink) -> None:
        """A link waits, if it does not already: then it counts that the frontier dropped it, which
        has to open it again."""
        domain = domain_of(held.link.url)
        waiting = self._links.setdefault(domain, OrderedDict())
        if held.link.url in waiting:
            if held.dropped:
                waiting[held.link.url] = held
            return
        waiting[held.link.url] = held
        self._places.add(domain)
        while fullest := self._places.too_many():
            self._links[fullest].popitem()
            self._places.add(fullest, -1)
            self.left[fullest] += 1

    def first(self, domain: str) -> HeldLink | None:
        """The link of a domain that waited longest, which waits no longer; None where there is
        none, and then the domain leaves."""
        waiting = self._links[domain]
        if not waiting:
            del self._links[domain]
            self.lost += self.left.pop(domain, 0)
            return None
        self._places.add(domain, -1)
        return waiting.popitem(last=False)[1]

    def all(self, domain: str) -> list[HeldLink]:
        """All links of a domain, which wait no longer."""
        waiting = self._links.pop(domain)
        self._places.add(domain, -len(waiting))
        self.lost += self.left.pop(domain, 0)
        return list(waiting.values())

    def leave(self, leaves: Callable[[HeldLink], bool]) -> list[HeldLink]:
        """The links of which `leaves` says so, which wait no longer."""
        gone: list[HeldLink] = []
        for domain, waiting in self._links.items():
            for url in [url for url, held in waiting.items() if leaves(held)]:
                gone.append(waiting.pop(url))
                self._places.add(domain, -1)
        return gone

    def counts(self) -> dict[str, int]:
        """Domain with links that wait → how many, with those that were too many."""
        return {
            domain: len(waiting) + self.left[domain]
            for domain, waiting in self._links.items()
            if waiting
        }

    def rows(self) -> list[list[Any]]:
        """As a saved state holds them."""
        return [
            [domain, [held.row() for held in waiting.values()]]
            for domain, waiting in self._links.items()
        ]

    def load(
        self, rows: Iterable[tuple[str, list[Any]]], left: dict[str, int], lost: int = 0
    ) -> None:
        """Go on from `rows`, `left` and `lost`."""
        self.lost = lost
        self._links.clear()
        self._places.clear()
        for domain, waiting in rows:
            self._links[domain] = OrderedDict(
                (one.link.url, one) for one in map(HeldLink.of, waiting)
            )
            self._places.add(domain, len(waiting))
        self.left = Counter(left)
