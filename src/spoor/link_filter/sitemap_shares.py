"""Sitemaps of one domain come before other links no further than its share.

They are asked for first, each counts as a page, and a domain has names and sitemaps without end. So
`LEAST` of a domain enter, one more each time that the pages of the crawl have doubled, and one for
each relevant page of the domain. The others wait until its share has grown, or the crawl (of
one in shards: its shard) has nothing else to do.

Where sitemaps are not asked for, those that robots.txt names come `last`: once the crawl has
nothing else to do.
"""

from __future__ import annotations

from collections import Counter, OrderedDict

from spoor.bounded import remember
from spoor.hashing import hash64
from spoor.link_filter.waiting_places import WaitingLinks
from spoor.types import HeldLink, State
from spoor.web.urls import domain_of

LEAST = 10
"""Sitemaps of a domain that has given nothing …"""
OF_PAGES = 20
"""… and one more after so many pages of the crawl, twice as many, …"""
_AT_ONCE = 20
"""That enter where the crawl has nothing else to do."""
_KNOWN = 100_000
"""URLs of sitemaps that are remembered; the oldest are forgotten."""


class SitemapShares:
    """The sitemaps of all domains; `last`: all of them wait. O(1) a link; O(domains that wait) for
    `OF_PAGES` pages."""

    def __init__(self, *, last: bool = False) -> None:
        self._last = last
        self._known: OrderedDict[int, None] = OrderedDict()
        """Their URLs, hashed."""
        self._entered: Counter[str] = Counter()
        """Domain → its sitemaps that entered, less those that its relevant pages earned."""
        self._waiting = WaitingLinks()
        """Of domains that have had their share."""
        self._pages = 0
        self._look = False
        """Whether a share has grown."""

    def holds(self, held: HeldLink) -> bool:
        """Whether a sitemap waits; otherwise it enters now."""
        key = hash64(held.link.url)
        if key in self._known:
            return True  # it entered, or waits
        remember(self._known, key, None, _KNOWN)
        domain = domain_of(held.link.url)
        if domain not in self._waiting and self._has_room(domain):
            self._entered[domain] += 1
            return False
        self._waiting.add(domain, held)
        return True

    def _has_room(self, domain: str) -> bool:
        return (
            not self._last
            and self._entered[domain] < LEAST + (self._pages // OF_PAGES).bit_length()
        )

    def ended(self, url: str, *, relevant: bool) -> None:
        """A page that is no sitemap was fetched."""
        self._pages += 1
        self._look |= self._pages % OF_PAGES == 0
        if relevant and (domain := domain_of(url)) in self._entered:
            self._entered[domain] -= 1
            self._look = True

    def release(self, *, over: bool) -> list[HeldLink]:
        """Sitemaps that may enter now. `over`: no other link is open."""
        if not self._waiting or not (over or self._look):
            return []
        self._look = False
        ready: list[HeldLink] = []
        for domain in self._waiting:
            while self._has_room(domain) and self._enters(domain, ready):
                pass
        while over and self._waiting and len(ready) < _AT_ONCE:
            for domain in self._waiting:
                self._enters(domain, ready)
        return ready

    def _enters(self, domain: str, ready: list[HeldLink]) -> bool:
        held = self._waiting.first(domain)
        if held is None:
            return False
        ready.append(held)
        self._entered[domain] += 1
        return True

    @property
    def lost(self) -> int:
        """Sitemaps that were more than may wait."""
        return self._waiting.lost + sum(self._waiting.left().values())

    def save(self) -> State:
        return {
            "known": list(self._known),
            "entered": dict(self._entered),
            **self._waiting.save(),
            "pages": self._pages,
            "look": self._look,
        }

    def load(self, state: State) -> None:
        self._known = OrderedDict.fromkeys(state["known"])
        self._entered = Counter(state["entered"])
        self._waiting.load(state)
        self._pages, self._look = int(state["pages"]), bool(state["look"])
