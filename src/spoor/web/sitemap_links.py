"""Links to sitemaps, search indexes and answers of searches: whose they are, and which may be asked
for."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from spoor.bounded import remember
from spoor.types import Link, Page, State
from spoor.web.page_links import PageLinks
from spoor.web.urls import host

SEARCHES = ("index", "search")
"""Kinds of links to a search index, and to an answer of a site's search."""


def sitemaps_among(links: Sequence[Link], *kinds: str) -> Sequence[int]:
    """Which links lead to one, to a search index or to an answer of a search, or to such of these
    kinds alone: none of those that a page itself has."""
    if isinstance(links, PageLinks):
        return ()
    kinds = kinds or ("sitemap", *SEARCHES)
    return [index for index, link in enumerate(links) if link.kind in kinds]


class SitemapLinks:
    """What is known of them. The oldest entries are dropped."""

    def __init__(self) -> None:
        self._named: OrderedDict[str, Sequence[str]] = OrderedDict()
        """Host → its sitemaps and search index."""
        self._indexes: OrderedDict[str, str] = OrderedDict()
        """Host → the search index that was named first: it has one, whoever goes on with it."""
        self._taken: OrderedDict[str, None] = OrderedDict()
        """Sitemaps that may be asked for wherever they lie."""

    def take(self, url: str) -> None:
        """A sitemap may be asked for wherever it lies."""
        remember(self._taken, url, None)

    def __contains__(self, url: str) -> bool:
        return url in self._taken

    def named_before(self, page: Page, links: Sequence[Link]) -> Sequence[str]:
        """The sitemaps of a page's host that its links do not name, since only the page that came
        first links to them; those that they name are noted."""
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

    def save(self) -> State:
        return {
            "sitemaps": list(self._taken),
            "named": [*map(list, self._named.items())],
            "indexes": [*map(list, self._indexes.items())],
        }

    def load(self, state: State) -> None:
        self._taken = OrderedDict.fromkeys(state["sitemaps"])
        self._named = OrderedDict(map(tuple, state["named"]))
        self._indexes = OrderedDict(map(tuple, state["indexes"]))
