"""The links of sitemaps enter a crawl little by little.

A sitemap has up to 50,000 links, and a site sitemaps without end; a link costs a crawl as much
whether it is ever followed or not. So `AT_ONCE` links of a sitemap enter at once, spread over all
of it, and after each page `AT_A_PAGE` more, by turns of the domains of the sitemaps. Beyond
`_WAITING` that wait, only the number is kept, of the domain with the most of them.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spoor.link_filter.waiting_places import WaitingPlaces
from spoor.types import Anchor, Link, Origin, Page, State
from spoor.web.urls import domain_of

AT_ONCE = 1_000
AT_A_PAGE = 100
AT_THE_END = 1_000
"""Links at a time where the crawl has nothing else to do."""
_WAITING = 50_000
_GIVEN_UP = 100
"""Links that are given up at a time."""


@dataclass(slots=True)
class Listed:
    """A sitemap, with the links of it that enter now, or wait."""

    page: Page
    origin: Origin

    def part(self, links: Iterable[Link]) -> Listed:
        """The same with these links."""
        return replace(self, page=replace(self.page, links=list(links)))

    def row(self) -> list[Any]:
        """As a saved state holds it: few values, however many links there are."""
        links = self.page.links
        return [
            self.page.url,
            *self.origin,
            "\n".join(link.url for link in links),
            "\n".join(link.anchor.text for link in links),
            np.array([link.anchor.position for link in links], np.int32),
        ]

    @classmethod
    def of(cls, row: Iterable[Any]) -> Listed:
        """From `row`."""
        url, parent, score, depth, urls, titles, positions = row
        rows = zip(urls.split("\n"), titles.split("\n"), positions.tolist(), strict=True)
        links = [Link(to, Anchor(text, position=at), "listed") for to, text, at in rows]
        return cls(Page(url, links=links, flags=_FLAGS), Origin(parent, score, depth))


_FLAGS = frozenset({"sitemap", "not-html"})


class ListedLinks:
    """The links of all sitemaps that wait. O(log domains) a link."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, deque[Listed]] = OrderedDict()
        """Domain of sitemaps → these, none without links; the domain whose turn it is first."""
        self._places = WaitingPlaces(_WAITING)
        self._ready = False
        """Whether a page came since the last links entered."""
        self.left = 0
        """Links that were too many."""

    def enter(self, page: Page, origin: Origin) -> Page:
        """The sitemap with those of its links that enter at once; the others wait."""
        pages = [link for link in page.links if link.kind != "sitemap"]
        step = -(-len(pages) // AT_ONCE)
        if step < 2:
            return page
        its = Listed(replace(page, dated=()), origin)
        spread = [link for begin in range(step) for link in pages[begin::step]]
        domain = domain_of(page.url)
        self._waiting.setdefault(domain, deque()).append(its.part(spread[AT_ONCE:]))
        self._places.add(domain, len(spread) - AT_ONCE)
        while fullest := self._places.too_many():
            self._give_up(fullest)
        sitemaps = [link for link in page.links if link.kind == "sitemap"]
        return replace(page, links=[*sitemaps, *spread[:AT_ONCE]])

    def _give_up(self, domain: str) -> None:
        """The last links of a domain that wait."""
        sitemaps = self._waiting[domain]
        last = sitemaps.pop()
        links, lost = last.page.links[:-_GIVEN_UP], last.page.links[-_GIVEN_UP:]
        self._places.add(domain, -len(lost))
        self.left += len(lost)
        if links:
            sitemaps.append(last.part(links))
        if not sitemaps:
            del self._waiting[domain]

    def ended(self) -> None:
        """A page that is no sitemap was asked for."""
        self._ready = True

    def release(self, *, over: bool) -> Listed | None:
        """A sitemap with those of its links that may enter now. `over`: no other link is open."""
        if not self._waiting or not (over or self._ready):
            return None
        self._ready = False
        domain, sitemaps = self._waiting.popitem(last=False)
        first, most = sitemaps.popleft(), AT_THE_END if over else AT_A_PAGE
        links, rest = first.page.links[:most], first.page.links[most:]
        self._places.add(domain, -len(links))
        if rest:
            sitemaps.appendleft(first.part(rest))
        if sitemaps:
            self._waiting[domain] = sitemaps
        return first.part(links)

    def save(self) -> State:
        rows = [[domain, [one.row() for one in its]] for domain, its in self._waiting.items()]
        return {"waiting": rows, "ready": self._ready, "left": self.left}

    def load(self, state: State) -> None:
        self._waiting.clear()
        self._places.clear()
        for domain, rows in state["waiting"]:
            self._waiting[domain] = deque(map(Listed.of, rows))
            self._places.add(domain, sum(len(one.page.links) for one in self._waiting[domain]))
        self._ready, self.left = bool(state["ready"]), int(state["left"])
