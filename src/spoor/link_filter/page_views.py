"""Views: pages that hold nothing but what another page of their host has, whose URL tells it. A
message of a thread that shows all of them, the source of a page, an older state of it.

How the URL of a view stands to that of the page that has it all is a *relation*, and
so is what it looks like. Both are learned from pages: what a page has of its own is compared with
the page that led to it, the page without its query, the one above it, and another version of it,
where the URL has a name for that (a hash). A relation is one of views once `VIEWS` of it were seen,
of `PAGES` pages, where at most half as many others had anything more. Links to further views are
then asked for last.

What a list shows in full are documents all the same, such as the posts of a blog. Lists that are
told by their headings and dates (`spoor.web.list_pages`) have no views but lists; on others a link
to a document says its title. So only links count whose text says the same, but for numbers, of
`SAME` URLs (“raw”, “permalink”, “msg7”).

Only a host's own pages speak for its relations. Every table is bounded.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from spoor.bounded import remember
from spoor.columns import pieces_of
from spoor.link_filter.novelty import Own, Sketch, are_among, halves
from spoor.types import Link, State, urls_of
from spoor.web.url_groups import without_numbers
from spoor.web.urls import host
from spoor.web.view_relations import (
    Relation,
    Relations,
    above,
    end_of,
    has_all,
    numbers_of,
    relation,
    shape_of,
    twins,
    versions,
)

_LEAST = 5
"""Triples of its own that a page must have to be compared."""
_FRAME = 128
"""Triples of the frame of a relation, at most."""
_PAGES = 256
"""With which others are compared."""
_URLS = 5_000
"""That are known as views, and the ends of them."""
_FIRST = 64
"""Triples, about, that are looked for first, …"""
_PART = 0.2
"""… of which the other page must have this share, at least."""
_MOST_TWINS = 4
"""Pages whose URLs have the same numbers, with which one is compared."""

LinkedFrom = Callable[[str], Sequence[tuple[str, str]]]
"""URL → the pages that are known to link to it (empty for a seed's), and by what text."""


class _Kept(NamedTuple):
    """A page with which others are compared."""

    triples: Sketch
    """In order."""
    is_list: bool
    """It lists documents (`spoor.web.list_pages`), and these are none of its views."""


class PageViews:
    """What a crawl has seen of them. O(words) a page; for its links O(1) each, on a host that has
    had a view."""

    def __init__(self) -> None:
        self._sketches: OrderedDict[str, _Kept] = OrderedDict()
        """By URL."""
        self._of_versions: OrderedDict[str, str] = OrderedDict()
        """URL with the names of versions masked → the newest of these pages."""
        self._by_numbers: OrderedDict[tuple[str, ...], list[str]] = OrderedDict()
        """Host and numbers of URLs → the newest of these pages that have them, the last at the
        end."""
        self._relations = Relations()
        self._with_views: OrderedDict[str, None] = OrderedDict()
        """Hosts that have had a view, and the ends of URLs of views."""
        self._views: OrderedDict[str, str] = OrderedDict()
        """A page that is one → the page that has all of it."""

    def page(self, url: str, found_on: str, own: Own, *, is_list: bool = False) -> None:
        """Take in a page that was fetched, and which page led to it (empty for a seed)."""
        mine = halves(own.triples[own.few])
        if own.has_frame and len(mine) >= _LEAST:
            self._compare(url, mine, found_on, is_list=is_list)
        every = halves(own.triples)
        every.sort()  # in a twentieth of the time of np.unique; the same one twice does no harm
        self._keep(url, _Kept(every, is_list))

    def _compare(self, url: str, mine: Sketch, found_on: str, *, is_list: bool) -> None:
        """What is a page's own with the page that led to it, and others: lists with lists alone."""
        whole, compared = "", False
        twin = [one for one in self._by_numbers.get(numbers_of(url), ()) if one != found_on]
        related = [*self._related(found_on, url), *((twins(one, url), one) for one in twin)]
        for name, other in related:
            its = self._sketches.get(other)
            if not name or its is None or (its.is_list and not is_list):
                continue
            holds = self._holds(name, its.triples, mine)
            are_twins = name == twins(other, url)
            # Of most URLs that happen to have the same numbers, neither page has the other.
            compared = compared or holds or not are_twins
            whole = other if holds and not whole else whole
            if are_twins:
                self._relations.count_twins(other, url, holds=holds)
            else:
                self._relations.count(name, other if holds else "")
        if compared:
            # That one page has not all of it says little: another may have it.
            self._relations.count(shape_of(url), whole, against=1)
        if whole:
            remember(self._with_views, host(url), None, _URLS)
            remember(self._with_views, end_of(url), None, _URLS)
            remember(self._views, url, whole, _URLS)

    def _holds(self, name: str, its: Sketch, mine: Sketch) -> bool:
        """Whether a page has all, but for little, of what is another one's own and no frame of the
        pages of this relation to it."""
        few = mine[:: len(mine) // _FIRST + 1]
        if _held(its, few) < _PART * len(few):  # most pages end here
            return False
        lacks = mine[~are_among(mine, its)]
        known = self._relations.known(name)
        of_frame = _held(known.frame, lacks)
        known.frame = np.unique(lacks)[: _FRAME * (len(lacks) <= _FRAME)]
        own, held = len(mine) - of_frame, len(mine) - len(lacks)
        return own >= _LEAST and has_all(own, held)

    def _keep(self, url: str, page: _Kept) -> None:
        remember(self._sketches, url, page, _PAGES)
        if masked := versions(url)[0]:
            remember(self._of_versions, masked, url, _PAGES)
        if numbers := numbers_of(url):
            others = (one for one in self._by_numbers.get(numbers, ()) if one != url)
            remember(self._by_numbers, numbers, [*others, url][-_MOST_TWINS:], _PAGES)

    def _related(self, page: str, url: str) -> Iterator[tuple[str, str]]:
        """How a URL stands to that of a page that links to it, to those above it, and to another
        version of its page: the relation and the other URL, of pages with which it can be
        compared."""
        known = self._sketches
        if page in known and (name := relation(page, url)):
            yield name, page
            if both := twins(page, url):
                yield both, page
        for other in above(url):
            if other in known and (name := relation(other, url)):
                yield f"above {name}", other
        masked, name = versions(url)
        if masked and (other := self._of_versions.get(masked, url)) != url and other in known:
            yield name, other

    def among(
        self, page: str, links: Sequence[Link], knows: Callable[[str], bool]
    ) -> frozenset[str]:
        """The URLs that a page links to as to views, but for those that the frontier knows."""
        if host(page) not in self._with_views:
            return frozenset()
        urls, ends = urls_of(links), self._with_views
        to_like = {url for url in urls if end_of(url) in ends and url != page}
        if not to_like:  # as on most pages
            return frozenset()
        to_like = {url for url in to_like if not knows(url)}
        views: dict[str, list[Relation]] = {}
        others: set[str] = set()
        for at, url in enumerate(urls):
            if url not in to_like:
                continue
            known = self._suspected(page, url)
            text = _said(links[at].anchor.text) if known else ""
            for one in known:
                one.note(text, url)
            if _are_views(known, text):
                views[url] = known
            else:
                others.add(url)
        for url, known in views.items():
            for one in known:
                one.titled += url in others
                one.plain += url not in others
        return frozenset(views.keys() - others)

    def is_view(self, url: str, linked_from: LinkedFrom) -> bool:
        """Whether all known links to a URL are as those to views, but for links on views, which may
        be as they like."""
        if end_of(url) not in self._with_views:
            return False
        led = False
        for page, text in linked_from(url):
            known = self._suspected(self._views.get(page, page), url)
            if _are_views(known, _said(text)):
                led = True
            elif page not in self._views:
                return False
        return led

    def whole_of(self, url: str) -> str:
        """The page that has all of a fetched page, where how their URLs stand to one another is a
        relation of views, and links to such say the same and no titles, or both have the same
        numbers; else empty."""
        whole = self._views.get(url, "")
        if not whole:
            return ""
        stands = relation(whole, url)
        both = self._relations.get(twins(whole, url))
        if both is not None and both.of_views:  # whoever lists one form of both says its title
            return whole
        names = (stands, f"above {stands}", versions(url)[1], shape_of(url))
        known = [one for one in map(self._relations.get, names) if one is not None]
        return whole if any(one.of_views and one.has_no_titles for one in known) else ""

    def _suspected(self, page: str, url: str) -> list[Relation]:
        """What is known of the relations of which a view is known, and in which a URL stands to a
        page that links to it or to one above it, and of URLs like it."""
        if not page or host(page) != host(url):
            return []
        names = [name for name, _ in self._related(page, url)]
        found = map(self._relations.get, (*names, shape_of(url)))
        return [one for one in found if one is not None and one.views]

    def save(self) -> State:
        sketches = [page.triples for page in self._sketches.values()]
        return {
            "pages": list(self._sketches),
            "lists": [url for url, page in self._sketches.items() if page.is_list],
            "lengths": [len(sketch) for sketch in sketches],
            "sketches": np.concatenate(sketches) if sketches else np.zeros(0, np.uint32),
            "relations": self._relations.rows(),
            "with_views": list(self._with_views),
            "views": list(self._views.items()),
        }

    def load(self, state: State) -> None:
        parts = pieces_of(state["sketches"].copy(), state["lengths"])
        self._sketches.clear()
        self._of_versions.clear()
        self._by_numbers.clear()
        lists = frozenset(state["lists"])
        for url, sketch in zip(state["pages"], parts, strict=True):
            self._keep(url, _Kept(sketch, url in lists))
        self._relations.load(state["relations"])
        self._with_views = OrderedDict.fromkeys(state["with_views"])
        self._views = OrderedDict(map(tuple, state["views"]))


def _held(its: Sketch, mine: Sketch) -> int:
    """How many of them a page has."""
    if not len(its):
        return 0
    return int(are_among(mine, its).sum())


def _are_views(relations: Sequence[Relation], text: str) -> bool:
    """Whether a link with this text leads to a view by one of these."""
    return any(one.of_views and one.says_the_same(text) for one in relations)


def _said(text: str) -> str:
    return without_numbers(text.lower()).strip()[:40]
