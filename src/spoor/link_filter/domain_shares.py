"""What each domain may take of a crawl that goes anywhere, until it has given something.

Whoever has a domain has names and pages without end. So a domain of which no seed is may have
`LEAST` pages, or a tenth of all, and `FOR_EACH` more for each relevant one. Its other links wait
until its share has grown, or the crawl (of one in shards: its shard) has nothing else to do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from spoor.link_filter.waiting_places import HeldGroup, Holder
from spoor.types import HeldLink, State
from spoor.web.urls import domain_of

LEAST = 50
"""Pages of a domain that has given nothing."""
OF_ALL = 0.1
"""The same as a share of all pages."""
FOR_EACH = 10
"""Pages more for each relevant one."""
_EACH = 20
"""Links that enter at a time where there are no others, by turns of their domains."""
_LOOK = 50
"""Pages after which the shares of all that wait are looked at."""


class DomainShares(Holder):
    """Pages in flight count, too."""

    def __init__(self) -> None:
        self._named: set[str] = set()
        """Domains of seeds, which have no share to keep to."""
        self._pages: Counter[str] = Counter()
        self._relevant: Counter[str] = Counter()
        self._total = 0
        super().__init__()
        """Of domains that have had their share."""
        self._entered: set[str] = set()
        """URLs that enter whatever the share of their domain is."""
        self._look = False
        """Whether a share may have grown beyond what was had of it."""

    def seed(self, urls: Iterable[str]) -> None:
        """Canonical URLs are seeds."""
        self._named.update(map(domain_of, urls))

    def may_hold(self) -> bool:
        """Whether there is anything that could hold a URL back. O(1)."""
        return bool(self._waiting)

    def has_had(self, domain: str) -> bool:
        """Whether a domain has had its share."""
        most = max(LEAST, OF_ALL * self._total) + FOR_EACH * self._relevant[domain]
        return self._pages[domain] >= most and domain not in self._named

    def holds(self, url: str) -> bool:
        """Whether a URL waits, since others of its domain do."""
        return bool(self._waiting) and url not in self._entered and domain_of(url) in self._waiting

    def passes(self, url: str) -> bool:
        """Whether a URL that is about to be asked for may be; one that entered passes once."""
        if url in self._entered:
            self._entered.discard(url)
            return True
        return not self.has_had(domain_of(url))

    def count(self, url: str, by: int) -> None:
        """A page begins, or one that began is none."""
        self._pages[domain_of(url)] += by
        self._total += by
        self._look |= by < 0 or not self._total % _LOOK

    def judged(self, url: str, by: int) -> None:
        """A page is relevant, or no longer."""
        self._relevant[domain_of(url)] += by
        self._look |= by > 0

    def release(self, *, over: bool) -> Sequence[HeldLink]:
        """Links that may enter. `over`: there are no others."""
        if not self._waiting or not (self._look or over):
            return ()
        self._look, ready = False, list[HeldLink]()
        for domain in self._waiting:
            if not self.has_had(domain):
                ready += self._waiting.all(domain)
        while over and len(ready) < _EACH and self._waiting:
            for domain in self._waiting:
                if (held := self._waiting.first(domain)) is not None:
                    self._entered.add(held.link.url)
                    ready.append(held)
        return ready

    def held_groups(self) -> list[HeldGroup]:
        return [
            HeldGroup(domain, links, self._why(domain))
            for domain, links in self._waiting.counts().items()
        ]

    def _why(self, domain: str) -> str:
        pages, relevant = self._pages[domain], self._relevant[domain]
        return f"its {pages:,} pages, {relevant:,} of them relevant, are its share so far"

    def save(self) -> State:
        return {
            "named": sorted(self._named),
            "pages": dict(self._pages),
            "relevant": dict(self._relevant),
            "total": self._total,
            **self._waiting.save(),
            "entered": sorted(self._entered),
            "look": self._look,
        }

    def load(self, state: State) -> None:
        self._named = set(state["named"])
        self._pages, self._relevant = Counter(state["pages"]), Counter(state["relevant"])
        self._total = int(state["total"])
        self._waiting.load(state)
        self._entered, self._look = set(state["entered"]), bool(state["look"])
