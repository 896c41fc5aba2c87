"""How many links from a seed a page is, by the shortest way that is known, and what waits for a
shorter one.

A crawl may find a page by a long way first, and anybody may lay one; so that a limit of depth is
one of the web and not of the order of the crawl, a page counts as near as any page that links it
makes it, and links that were too deep are let in once a shorter way is found. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from spoor.hashing import hash64
from spoor.types import HeldLink, State
from spoor.web.urls import domain_of
from spoor.web.waiting_places import WaitingPlaces

_KNOWN = 500_000
"""URLs whose ways are known; of others the first way counts. The domain whose pages link to most of
them loses the one that it linked last."""
_WAITING = 20_000
"""Links that wait; the domain with the most loses its oldest page."""
_EVERY = 16
"""Pages between two looks at what waits."""


class Depths:
    """The shortest known ways to the URLs of a crawl whose links lead at most `most` away from a
    seed. O(most) for each link."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._ways: dict[str, dict[int, int]] = {}
        """Domain whose page links to it → URL → the URL before it on its way; below 0: -1 - its
        depth."""
        self._whose: dict[int, str] = {}
        """URL → that domain."""
        self._places = WaitingPlaces(_KNOWN)
        self._cut: dict[str, list[HeldLink]] = {}
        """Page → its links, which are too deep."""
        self._waiting: Counter[str] = Counter()
        """Domain → such links of its pages."""
        self._nearer = False
        """Whether any URL came nearer since the last look."""
        self._pages = 0

    def seed(self, urls: Sequence[str]) -> None:
        for url in urls:
            self._enter(hash64(url), -1, domain_of(url))

    def of_links(self, url: str, depth: int) -> int:
        """Depth of what a page links to, which is `depth` by the way on which it was found."""
        known = self._depth(hash64(url))
        return depth if known is None else min(depth, known + 1)

    def _depth(self, key: int) -> int | None:
        steps = 0
        whose = self._whose
        while (domain := whose.get(key)) is not None:
            before = self._ways[domain][key]
            if before < 0:
                return steps - 1 - before
            steps += 1
            key = before
        return None

    def link(self, page: str, urls: Sequence[str], depth: int) -> None:
        """A page links to these URLs, whose depth is thus `depth` at most."""
        self._pages += 1
        key, domain = hash64(page), domain_of(page)
        if self._depth(key) != depth - 1:  # a redirect led there
            self._enter(key, -depth, domain)
        for url in urls:
            link = hash64(url)
            known = self._depth(link)
            if known is None or known > depth:
                self._nearer |= known is not None
                # What its own domain links to stays its own, whoever links it nearer.
                owner = self._whose.get(link)
                own = owner is not None and owner != domain and owner == domain_of(url)
                self._enter(link, key, owner if own and owner else domain)
        while fullest := self._places.too_many():
            del self._whose[self._ways[fullest].popitem()[0]]
            self._places.add(fullest, -1)

    def _enter(self, key: int, before: int, domain: str) -> None:
        owner = self._whose.get(key)
        if owner != domain:
            if owner is not None:
                del self._ways[owner][key]
                self._places.add(owner, -1)
            self._whose[key] = domain
            self._places.add(domain)
        self._ways.setdefault(domain, {})[key] = before

    def cut(self, page: str, links: Sequence[HeldLink]) -> None:
        """Let links of a page, which are too deep, wait for a shorter way."""
        domain = domain_of(page)
        self._cut[page] = list(links)
        self._waiting[domain] += len(links)
        while self._waiting.total() > _WAITING:
            (most, _), *_ = self._waiting.most_common(1)
            self._drop(next(one for one in self._cut if domain_of(one) == most))

    def _drop(self, page: str) -> list[HeldLink]:
        links = self._cut.pop(page)
        self._waiting[domain_of(page)] -= len(links)
        return links

    def release(self, *, over: bool) -> list[HeldLink]:
        """Links that are no longer too deep. `over`: no other link is open."""
        if not self._nearer or not (over or self._pages >= _EVERY):
            return []
        self._nearer, self._pages = False, 0
        found: list[HeldLink] = []
        for page in list(self._cut):
            depth = self.of_links(page, self._most + 1)
            if depth <= self._most:
                links = self._drop(page)
                self.link(page, [held.link.url for held in links], depth)
                found += [held._replace(depth=depth) for held in links]
        return found

    def save(self) -> State:
        cut = [[page, [held.row() for held in links]] for page, links in self._cut.items()]
        ways = [[domain, [*map(list, its.items())]] for domain, its in self._ways.items()]
        return {"ways": ways, "cut": cut, "nearer": self._nearer, "pages": self._pages}

    def load(self, state: State) -> None:
        # A state of before does not say whose the ways are.
        ways = [["", state["before"]]] if "before" in state else state["ways"]
        self._ways, self._whose, self._places = {}, {}, WaitingPlaces(_KNOWN)
        for domain, pairs in ways:
            self._ways[domain] = its = dict(pairs)
            self._whose |= dict.fromkeys(its, domain)
            self._places.add(domain, len(its))
        self._nearer, self._pages = state["nearer"], state["pages"]
        self._cut, self._waiting = {}, Counter()
        for page, rows in state["cut"]:
            self.cut(page, [HeldLink.of(row) for row in rows])
