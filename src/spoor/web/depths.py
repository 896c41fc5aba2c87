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

_KNOWN = 500_000
"""URLs whose ways are known; of others the first way counts."""
_WAITING = 20_000
"""Links that wait; the domain with the most loses its oldest page."""
_EVERY = 16
"""Pages between two looks at what waits."""


class Depths:
    """The shortest known ways to the URLs of a crawl whose links lead at most `most` away from a
    seed. O(most) for each link."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._before: dict[int, int] = {}
        """URL → the URL before it on its way; below 0: -1 - its depth."""
        self._cut: dict[str, list[HeldLink]] = {}
        """Page → its links, which are too deep."""
        self._waiting: Counter[str] = Counter()
        """Domain → such links of its pages."""
        self._nearer = False
        """Whether any URL came nearer since the last look."""
        self._pages = 0

    def seed(self, urls: Sequence[str]) -> None:
        for url in urls:
            self._before[hash64(url)] = -1

    def of_links(self, url: str, depth: int) -> int:
        """Depth of what a page links to, which is `depth` by the way on which it was found."""
        known = self._depth(hash64(url))
        return depth if known is None else min(depth, known + 1)

    def _depth(self, key: int) -> int | None:
        steps = 0
        before = self._before.get(key)
        while before is not None and before >= 0:
            steps += 1
            before = self._before.get(before)
        return None if before is None else steps - 1 - before

    def link(self, page: str, urls: Sequence[str], depth: int) -> None:
        """A page links to these URLs, whose depth is thus `depth` at most."""
        self._pages += 1
        key = hash64(page)
        if self._depth(key) != depth - 1:  # a redirect led there
            self._enter(key, -depth)
        for url in urls:
            link = hash64(url)
            known = self._depth(link)
            if known is None or known > depth:
                self._nearer |= known is not None
                self._enter(link, key)

    def _enter(self, key: int, before: int) -> None:
        if key in self._before or len(self._before) < _KNOWN:
            self._before[key] = before

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
        before = [list(pair) for pair in self._before.items()]
        return {"before": before, "cut": cut, "nearer": self._nearer, "pages": self._pages}

    def load(self, state: State) -> None:
        self._before = dict(state["before"])
        self._nearer, self._pages = state["nearer"], state["pages"]
        self._cut, self._waiting = {}, Counter()
        for page, rows in state["cut"]:
            self.cut(page, [HeldLink.of(row) for row in rows])
