"""Sitemaps of one domain come before other links no further than its share.

They are asked for first, each counts as a page, and a domain has names and sitemaps without end. So
`LEAST` of a domain enter, one more for `OF_PAGES` pages of the crawl, and one for each relevant
page of the domain. The others wait until its share has grown, or the crawl has nothing else to do.
"""

from __future__ import annotations

from collections import Counter

from spoor.hashing import hash64
from spoor.types import HeldLink, State
from spoor.web.urls import domain_of

LEAST = 10
"""Sitemaps of a domain that has given nothing …"""
OF_PAGES = 10
"""… and one more for so many pages of the crawl."""
_AT_ONCE = 20
"""That enter where the crawl has nothing else to do."""


class SitemapShares:
    """The sitemaps of all domains. O(1) a link; O(domains that wait) for `OF_PAGES` pages."""

    def __init__(self) -> None:
        self._known: set[int] = set()
        """Their URLs, hashed."""
        self._entered: Counter[str] = Counter()
        """Domain → its sitemaps that entered, less those that its relevant pages earned."""
        self._waiting: dict[str, list[HeldLink]] = {}
        """Domain that has had its share → its sitemaps that wait."""
        self._pages = 0
        self._look = False
        """Whether a share has grown."""

    def holds(self, held: HeldLink) -> bool:
        """Whether a sitemap waits; otherwise it enters now."""
        key = hash64(held.link.url)
        if key in self._known:
            return True  # it entered, or waits
        self._known.add(key)
        domain = domain_of(held.link.url)
        if domain not in self._waiting and self._has_room(domain):
            self._entered[domain] += 1
            return False
        self._waiting.setdefault(domain, []).append(held)
        return True

    def _has_room(self, domain: str) -> bool:
        return self._entered[domain] < LEAST + self._pages // OF_PAGES

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
        for domain in list(self._waiting):
            while domain in self._waiting and self._has_room(domain):
                ready.append(self._enter(domain))
        while over and self._waiting and len(ready) < _AT_ONCE:
            ready += map(self._enter, list(self._waiting))
        return ready

    def _enter(self, domain: str) -> HeldLink:
        waiting = self._waiting[domain]
        held = waiting.pop(0)
        self._entered[domain] += 1
        if not waiting:
            del self._waiting[domain]
        return held

    def save(self) -> State:
        """Go on with `load`."""
        return {
            "known": sorted(self._known),
            "entered": dict(self._entered),
            "waiting": [[name, [one.row() for one in its]] for name, its in self._waiting.items()],
            "pages": self._pages,
            "look": self._look,
        }

    def load(self, state: State) -> None:
        """Go on from `save`."""
        self._known = set(state["known"])
        self._entered = Counter(state["entered"])
        self._waiting = {
            name: [HeldLink.of(row) for row in rows] for name, rows in state["waiting"]
        }
        self._pages, self._look = int(state["pages"]), bool(state["look"])
