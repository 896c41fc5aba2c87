"""Links to sitemaps, search indexes and answers of searches: whose they are, which may be asked
for, and when they and what they list enter a crawl.

Sitemaps of a domain keep to a share (`sitemap_shares.py`), but for those that say what
changed since an earlier run; what they list enters little by little (`listed_links.py`);
search indexes and answers wait until they may pay (`held_lists.py`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Container, Sequence

from spoor.bounded import remember
from spoor.link_filter.held_lists import HeldLists
from spoor.link_filter.listed_links import Listed, ListedLinks
from spoor.link_filter.sitemap_shares import SitemapShares
from spoor.types import HeldLink, Link, Origin, Page, State
from spoor.web.page_links import LISTS, SEARCHES, PageLinks, those
from spoor.web.urls import host


def sitemaps_among(links: Sequence[Link], kinds: Container[str] = LISTS) -> Sequence[int]:
    """Which links lead to lists of these kinds: none of those that a page itself has."""
    if isinstance(links, PageLinks):
        return ()
    return [index for index, link in enumerate(links) if link.kind in kinds]


class SitemapFilter:
    """Where they are not asked for (`ask`), nothing waits. `last`: all sitemaps wait until the
    crawl has no other link. `most`: links from a seed to a page at most; None: no limit. The oldest
    entries of its tables are dropped."""

    def __init__(self, *, ask: bool, last: bool, most: int | None) -> None:
        self._ask, self._most = ask, most
        self._named: OrderedDict[str, Sequence[str]] = OrderedDict()
        """Host → its sitemaps and search index."""
        self._indexes: OrderedDict[str, str] = OrderedDict()
        """Host → the search index that was named first: it has one, whoever goes on with it."""
        self._taken: OrderedDict[str, None] = OrderedDict()
        """Sitemaps that may be asked for wherever they lie."""
        self._shares = SitemapShares()
        self._last = SitemapShares(last=True) if ask and last else None
        self._listed = ListedLinks()
        self._lists = HeldLists()

    def enter(self, page: Page, origin: Origin) -> Page:
        """A sitemap with those of its links that enter at once."""
        return self._listed.enter(page, origin) if self._ask else page

    def take(self, url: str) -> None:
        """A sitemap may be asked for wherever it lies."""
        remember(self._taken, url, None)

    def __contains__(self, url: str) -> bool:
        return url in self._taken

    def named_before(self, page: Page, links: Sequence[Link]) -> Sequence[str]:
        """The sitemaps of a page's host that its links do not name, since only the page that came
        first links to them: they are as near as any page of the host makes them. Those that its
        links name are noted."""
        if not self._ask or "sitemap" in page.flags:
            return ()
        before = self._named.get(host(page.url), ())
        if named := [links[index].url for index in sitemaps_among(links)]:
            remember(self._named, host(page.url), list(dict.fromkeys([*before, *named])))
            return [url for url in before if url not in named]
        return before

    def has_another(self, index: str) -> bool:
        """Whether the host of a search index has another one."""
        name = host(index)
        if name not in self._indexes:
            remember(self._indexes, name, index)
        return self._indexes[name] != index

    def within_shares(self, links: Sequence[Link], origin: Origin) -> Sequence[Link]:
        """The links without those to sitemaps that wait for their share."""
        shares = self._last or self._shares
        if not self._ask or not (sitemaps := sitemaps_among(links, ("sitemap",))):
            return links
        waits = {index for index in sitemaps if shares.holds(origin.held(links[index]))}
        return those(links, [index for index in range(len(links)) if index not in waits])

    def without_lists(
        self, page: Page, links: Sequence[Link], origin: Origin, knows: Callable[[str], bool]
    ) -> Sequence[Link]:
        """Those of a page's links that lead to no search index and to no answer of a search, which
        wait until they may pay. `knows`: whether the frontier has a URL."""
        lists = sitemaps_among(links, SEARCHES) if self._ask else ()
        if not lists:
            return links
        others = [at for at in range(len(links)) if at not in lists]
        if self._most is not None and origin.depth >= self._most:  # what they list is too deep
            lists = ()
        elif "answer" in page.flags and len(page.links) == 1:  # it leads on to the answer by itself
            return links if self._lists.takes(origin.held(links[0])) else ()
        for index in lists:
            held = origin.held(links[index])
            if knows(held.link.url):
                continue
            if "sitemap" in page.flags:
                new = [at for at in others if not knows(links[at].url)]
                if others:
                    self._lists.hold_next_part(page.url, held, [links[at].url for at in new])
            else:
                self._lists.hold(held)
        return those(links, others)

    def more_listed(self, *, over: bool) -> Listed | None:
        """A sitemap with those of its links that waited and may enter now. `over`: no other link
        is open."""
        return self._listed.release(over=over)

    def release(self, *, over: bool) -> tuple[list[HeldLink], list[HeldLink]]:
        """Lists and sitemaps that may enter now. `over`: no other link is open."""
        lists = [held for held in self._lists.release(over=over) if not self._shares.holds(held)]
        return lists, self._shares.release(over=over)

    def release_last(self) -> list[HeldLink]:
        """Sitemaps that waited until the crawl has no other link: it has none."""
        return [] if self._last is None else self._last.release(over=True)

    def ended(self, asked: str, page: Page | None, *, relevant: bool) -> None:
        """The URL that was asked for brought a page, or none."""
        if not self._ask or (page is not None and "sitemap" in page.flags):
            return
        self._listed.ended()
        self._lists.ended(asked, page, relevant=relevant)
        if page is not None:
            self._shares.ended(page.url, relevant=relevant)

    @property
    def left(self) -> int:
        """Links that sitemaps list and that were more than may wait."""
        return self._listed.left

    @property
    def lost(self) -> int:
        """Sitemaps that were more than may wait."""
        return self._shares.lost + (0 if self._last is None else self._last.lost)

    def save(self) -> State:
        lists: State = {}
        if self._ask:
            lists = {
                "sitemap_shares": self._shares.save(),
                **({} if self._last is None else {"last_sitemaps": self._last.save()}),
                "listed": self._listed.save(),
                "lists": self._lists.save(),
            }
        return {
            **lists,
            "sitemaps": list(self._taken),
            "named": [*map(list, self._named.items())],
            "indexes": [*map(list, self._indexes.items())],
        }

    def load(self, state: State) -> None:
        self._taken = OrderedDict.fromkeys(state["sitemaps"])
        self._named = OrderedDict(map(tuple, state["named"]))
        self._indexes = OrderedDict(map(tuple, state["indexes"]))
        if not self._ask:
            return
        self._shares.load(state["sitemap_shares"])
        if self._last is not None and "last_sitemaps" in state:
            self._last.load(state["last_sitemaps"])
        self._listed.load(state["listed"])
        self._lists.load(state["lists"])
