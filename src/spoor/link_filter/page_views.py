"""Views: pages that hold nothing but what another page of their host has, whose URL tells it. A
message of a thread that shows all of them, the source of a page, an older state of it.

How the URL of a view stands to that of the page that has it all is a *relation* (`relation`), and
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

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from spoor.bounded import remember
from spoor.columns import pieces_of
from spoor.hashing import url_hash64
from spoor.link_filter.novelty import Own, Sketch, are_among, halves
from spoor.types import Link, State, urls_of
from spoor.web.url_groups import without_numbers
from spoor.web.urls import host, query_parts

VIEWS = 3
"""Views from which on a relation is one of views …"""
PAGES = 2
"""… and pages that had all of them, at least."""
SAME = 3
"""URLs of which links say the same."""

_ALL = 0.75
"""Share of what is a view's own that the other page has, at least …"""
_SOME = 0.4
"""… or this, where hardly a line is missing:"""
_LINE = 12
"""triples: who wrote it and when."""
_LEAST = 5
"""Triples of its own that a page must have to be compared."""
_FRAME = 128
"""Triples of the frame of a relation, at most."""
_PAGES = 256
"""With which others are compared."""
_RELATIONS = 2_000
_URLS = 5_000
"""That are known as views, and the ends of them."""
_TEXTS = 32
"""Texts of links of one relation."""
_FIRST = 64
"""Triples, about, that are looked for first."""
_LONG = 16
"""Characters of a segment with numbers, or of a value, that is a name of something."""
_SUFFIX = re.compile(r"\.[a-z][a-z\d]{0,4}$")

_DIGITS = re.compile(r"\d+")
_OF_TWINS = "twins "
"""Begin of the names of relations of URLs that have the same numbers."""
_MOST_TWINS = 4
"""Pages whose URLs have the same numbers, with which one is compared."""

_HASH = re.compile(r"(?<![0-9a-z])(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{7,64}(?![0-9a-z])")
"""The name of a version: hexadecimal digits, letters among them."""

LinkedFrom = Callable[[str], Sequence[tuple[str, str]]]
"""URL → the pages that are known to link to it (empty for a seed's), and by what text."""


def _masked(segment: str) -> str:
    shape = without_numbers(segment)
    if shape == segment or (len(segment) < _LONG and shape.count("#") == 1):
        return shape
    found = _SUFFIX.search(shape)
    return f"*{found[0]}" if found else "*"


def relation(page: str, url: str) -> str:
    """How a canonical URL stands to that of another page of its host: so many segments up, and what
    of its path and query is not in the other's, with numbers and names masked. Empty for the same
    URL, for another host, and for the same place in another folder: `/de/3` is a translation of
    `/en/3`, or to be one."""
    steps, known = _parted(page)
    own, _, query = url.partition("?")
    path = own.split("/")[2:]
    if page == url or steps[:1] != path[:1]:
        return ""
    pairs = zip(steps, path, strict=False)
    same = next((at for at, (one, other) in enumerate(pairs) if one != other), None)
    if same is None:
        same = min(len(steps), len(path))
    if len(steps) - same > 1 and _in_another_folder(steps[same:], path[same:]):
        return ""
    new = sorted({_parameter(part) for part in query_parts(query) if part not in known})
    rest = "/".join(map(_masked, path[same:]))
    return f"{path[0]} {len(steps) - same}/{rest}?{'&'.join(new)}"


@lru_cache(maxsize=64)
def _parted(page: str) -> tuple[Sequence[str], frozenset[str]]:
    """The host and the segments of a URL, and the parts of its query: once for all links of its
    page."""
    path, _, query = page.partition("?")
    return path.rstrip("/").split("/")[2:], frozenset(query_parts(query))


@lru_cache(maxsize=16_384)
def _shape(url: str) -> str:
    """The host of a URL, and its path and query, masked."""
    path, _, query = url.partition("?")
    parts = sorted({_parameter(part) for part in query_parts(query)})
    name, *segments = path.split("/")[2:]
    return f"{'/'.join((name, *map(_masked, segments)))}?{'&'.join(parts)}"


@lru_cache(maxsize=16_384)
def _end(url: str) -> str:
    """The host of a URL, and the names of its parameters or its last segment, masked."""
    path, mark, query = url.partition("?")
    parts = (part if "=" in part else without_numbers(part) for part in query_parts(query))
    names = sorted({part.partition("=")[0] for part in parts})
    last = path.rstrip("/").rpartition("/")[2]
    return f"{host(url)} {'?' + '&'.join(names) if mark else _masked(last)}"


@lru_cache(maxsize=16_384)
def _versions(url: str) -> tuple[str, str]:
    """A URL with the names of versions masked, and the relation of all URLs with such names in the
    same places; empty for one without."""
    masked = _HASH.sub("#", url)
    if masked == url:
        return "", ""
    path, _, query = masked.partition("?")
    parts = [part.partition("=")[0] for part in query_parts(query) if "#" in part]
    return masked, f"version {host(url)} {'/' * ('#' in path)}{'&'.join(sorted(parts))}"


def _numbers(url: str) -> tuple[str, ...]:
    """The host of a URL and the numbers behind that; empty for one without."""
    rest = url.split("/", 3)
    numbers = _DIGITS.findall(rest[3]) if len(rest) > 3 else []
    return (rest[2], *numbers) if numbers else ()


def _twins(page: str, url: str) -> str:
    """The relation of a URL to that of another page where both have the same numbers, and tell one
    thing in two forms: `/lite/?thread-7.html` and `/thread?id=7`. Empty for other URLs."""
    numbers = _numbers(url)
    name = relation(page, url) if numbers and numbers == _numbers(page) else ""
    return name and f"{_OF_TWINS}{_shape(page)} {name}"


def _in_another_folder(steps: Sequence[str], path: Sequence[str]) -> bool:
    """Whether the first of some segments is a folder, not the name of one thing, or the others are
    the same."""
    folder = _masked(steps[0])
    return not folder.startswith("*") and (folder == steps[0] or steps[1:] == path[1:])


def _parameter(part: str) -> str:
    name, mark, value = part.partition("=")
    if not mark:
        return without_numbers(name)
    is_name = len(value) > _LONG or any(map(str.isdigit, value))
    return f"{name}=#" if is_name else name + mark + value


def _above(url: str) -> Iterator[str]:
    """The page without the query of a URL, and those that may be above it."""
    path, mark, _ = url.partition("?")
    if mark:
        yield path
    folder = path.rstrip("/").rpartition("/")[0]
    if folder.count("/") > 2:
        yield f"{folder}/"
        yield folder


class _Kept(NamedTuple):
    """A page with which others are compared."""

    triples: Sketch
    """In order."""
    is_list: bool
    """It lists documents (`spoor.web.list_pages`), and these are none of its views."""


class _Relation:
    """What is known of one."""

    __slots__ = ("frame", "more", "pages", "plain", "texts", "titled", "views")

    def __init__(
        self,
        views: int = 0,
        more: int = 0,
        pages: Sequence[int] = (),
        texts: Iterable[tuple[str, Sequence[int]]] = (),
        plain: int = 0,
        titled: int = 0,
        frame: Sequence[int] = (),
    ) -> None:
        self.views = views
        self.more = more
        """What pages that had more count against it."""
        self.pages = list(pages)
        """Hashes of URLs of pages that had all of a view; `PAGES` of them at most."""
        self.texts = {text: list(urls) for text, urls in texts}
        """Text of links → hashes of their URLs, `SAME` of them at most."""
        self.plain = plain
        """Times that a page linked to a URL by such texts alone …"""
        self.titled = titled
        """… and by another text as well: the title of a post beside “5 comments”."""
        self.frame = np.array(frame, np.uint32)
        """What the last page of it had that the other page had not, in order, if that was not much:
        a form that stands on all of them."""

    @property
    def of_views(self) -> bool:
        return self.views >= VIEWS and len(self.pages) >= PAGES and self.more <= self.views

    @property
    def has_no_titles(self) -> bool:
        """Whether most links to its URLs say the same of `SAME` of them, and nothing else."""
        return self.plain > self.titled

    def says_the_same(self, text: str) -> bool:
        return len(self.texts.get(text, ())) >= SAME

    def note(self, text: str, url: str) -> None:
        """A page links to this URL with this text."""
        if text not in self.texts and len(self.texts) >= _TEXTS:
            rare = next((one for one, urls in self.texts.items() if len(urls) < SAME), None)
            if rare is None:
                return
            del self.texts[rare]
        _enter(self.texts.setdefault(text, []), url_hash64(url), SAME)

    def row(self) -> list[Any]:
        """As a saved state holds it."""
        texts = list(self.texts.items())
        rest = [self.plain, self.titled, self.frame.tolist()]
        return [self.views, self.more, self.pages, texts, *rest]


def _enter(table: list[int], one: int, most: int) -> None:
    if len(table) < most and one not in table:
        table.append(one)


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
        self._relations: OrderedDict[str, _Relation] = OrderedDict()
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
        related = list(self._related(found_on, url))
        twins = [(_twins(one, url), one) for one in self._by_numbers.get(_numbers(url), ())]
        related += [(name, one) for name, one in twins if name and one != found_on]
        for name, other in related:
            its = self._sketches.get(other)
            if its is None or (its.is_list and not is_list):
                continue
            holds = self._holds(name, its.triples, mine)
            # Of most URLs that happen to have the same numbers, neither page has the other.
            compared = compared or holds or not name.startswith(_OF_TWINS)
            whole = other if holds and not whole else whole
            self._count(name, other if holds else "")
        if compared:
            # That one page has not all of it says little: another may have it.
            self._count(_shape(url), whole, against=1)
        if whole:
            remember(self._with_views, host(url), None, _URLS)
            remember(self._with_views, _end(url), None, _URLS)
            remember(self._views, url, whole, _URLS)

    def _holds(self, name: str, its: Sketch, mine: Sketch) -> bool:
        """Whether a page has all, but for little, of what is another one's own and no frame of the
        pages of this relation to it."""
        few = mine[:: len(mine) // _FIRST + 1]
        if _held(its, few) < _SOME / 2 * len(few):  # most pages end here
            return False
        lacks = mine[~are_among(mine, its)]
        known = self._relations.get(name) or _Relation()
        remember(self._relations, name, known, _RELATIONS)
        of_frame = _held(known.frame, lacks)
        known.frame = np.unique(lacks)[: _FRAME * (len(lacks) <= _FRAME)]
        own, held = len(mine) - of_frame, len(mine) - len(lacks)
        least = _SOME if own - held <= _LINE else _ALL
        return own >= _LEAST and held >= least * own

    def _keep(self, url: str, page: _Kept) -> None:
        remember(self._sketches, url, page, _PAGES)
        if masked := _versions(url)[0]:
            remember(self._of_versions, masked, url, _PAGES)
        if numbers := _numbers(url):
            others = (one for one in self._by_numbers.get(numbers, ()) if one != url)
            remember(self._by_numbers, numbers, [*others, url][-_MOST_TWINS:], _PAGES)

    def _related(self, page: str, url: str) -> Iterator[tuple[str, str]]:
        """How a URL stands to that of a page that links to it, to those above it, and to another
        version of its page: the relation and the other URL, of pages with which it can be
        compared."""
        known = self._sketches
        if page in known and (name := relation(page, url)):
            yield name, page
            if twins := _twins(page, url):
                yield twins, page
        for other in _above(url):
            if other in known and (name := relation(other, url)):
                yield f"above {name}", other
        masked, name = _versions(url)
        if masked and (other := self._of_versions.get(masked, url)) != url and other in known:
            yield name, other

    def _count(self, name: str, whole: str, against: int = 2) -> None:
        """Count a page of a relation; `whole` has all of it (empty for none, which counts so much
        `against` it)."""
        known = self._relations.get(name) or _Relation()
        remember(self._relations, name, known, _RELATIONS)
        if not whole:
            known.more += against
            return
        known.views += 1
        _enter(known.pages, url_hash64(whole), PAGES)

    def among(
        self, page: str, links: Sequence[Link], knows: Callable[[str], bool]
    ) -> frozenset[str]:
        """The URLs that a page links to as to views, but for those that the frontier knows."""
        if host(page) not in self._with_views:
            return frozenset()
        urls, ends = urls_of(links), self._with_views
        to_like = {url for url in urls if _end(url) in ends and url != page}
        if not to_like:  # as on most pages
            return frozenset()
        to_like = {url for url in to_like if not knows(url)}
        views: dict[str, list[_Relation]] = {}
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
        if _end(url) not in self._with_views:
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
        twins = self._relations.get(_twins(whole, url))
        if twins is not None and twins.of_views:  # whoever lists one form of both says its title
            return whole
        names = (stands, f"above {stands}", _versions(url)[1], _shape(url))
        known = [one for one in map(self._relations.get, names) if one is not None]
        return whole if any(one.of_views and one.has_no_titles for one in known) else ""

    def _suspected(self, page: str, url: str) -> list[_Relation]:
        """What is known of the relations of which a view is known, and in which a URL stands to a
        page that links to it or to one above it, and of URLs like it."""
        if not page or host(page) != host(url):
            return []
        names = [name for name, _ in self._related(page, url)]
        found = map(self._relations.get, (*names, _shape(url)))
        return [one for one in found if one is not None and one.views]

    def save(self) -> State:
        sketches = [page.triples for page in self._sketches.values()]
        return {
            "pages": list(self._sketches),
            "lists": [url for url, page in self._sketches.items() if page.is_list],
            "lengths": [len(sketch) for sketch in sketches],
            "sketches": np.concatenate(sketches) if sketches else np.zeros(0, np.uint32),
            "relations": [[name, *one.row()] for name, one in self._relations.items()],
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
        self._relations = OrderedDict((name, _Relation(*row)) for name, *row in state["relations"])
        self._with_views = OrderedDict.fromkeys(state["with_views"])
        self._views = OrderedDict(map(tuple, state["views"]))


def _held(its: Sketch, mine: Sketch) -> int:
    """How many of them a page has."""
    if not len(its):
        return 0
    return int(are_among(mine, its).sum())


def _are_views(relations: Sequence[_Relation], text: str) -> bool:
    """Whether a link with this text leads to a view by one of these."""
    return any(one.of_views and one.says_the_same(text) for one in relations)


def _said(text: str) -> str:
    return without_numbers(text.lower()).strip()[:40]
