"""A limit of depth is one of the web: a long way that anybody lays to a page cuts nothing off."""

from __future__ import annotations

import pytest

from spoor.learn.state import pack, unpack
from spoor.link_filter import depths
from spoor.link_filter.depths import Depths
from spoor.link_filter.link_filter import CrawlFilter
from spoor.link_filter.scope import Scope
from spoor.types import Anchor, Link, Page

SEEDS = ["http://evil.example/", "http://good.example/"]
HUB, PART, LEAF = (f"http://good.example/{name}" for name in ("hub", "part", "leaf"))
MOST = 3


def made(before: CrawlFilter | None = None) -> CrawlFilter:
    within = CrawlFilter(Scope.of(SEEDS, "domain", MOST))
    within.seed(SEEDS)
    if before is not None:
        within.load(unpack(pack(before.save())))
    return within


def admitted(within: CrawlFilter, url: str, links: list[str], depth: int) -> list[str]:
    """Of the links of a page, which are `depth` from a seed by the way on which it was found."""
    page = Page(url, links=tuple(Link(link, Anchor()) for link in links))
    return [link.url for link in within.admit(page, within.nearest(page, depth), 7, 0.5)]


@pytest.mark.parametrize("saved", [False, True])
def test_what_a_long_way_cut_off_is_followed_once_a_shorter_one_is_found(saved: bool) -> None:
    within = made()
    deep = "--max-depth 3"
    assert admitted(within, "http://evil.example/", ["http://evil.example/1"], 1)
    assert admitted(within, "http://evil.example/1", ["http://evil.example/2"], 2)
    assert admitted(within, "http://evil.example/2", [HUB], 3)
    assert admitted(within, HUB, [PART, "http://else.example/", f"{HUB}.zip?logout=1"], 4) == []
    assert within.release(over=True, last=True) == []
    assert within.left_out().rules[deep] == 3
    within = made(within) if saved else within
    assert admitted(within, "http://good.example/", ["http://good.example/list"], 1)
    assert admitted(within, "http://good.example/list", [HUB], 2)
    assert [
        (one.link.url, one.depth, one.parent) for one in within.release(over=True, last=True)
    ] == [(PART, 3, 7)]
    # It is nearer than the frontier knows, and what it links to with it.
    assert admitted(within, PART, [LEAF], 5) == []
    assert admitted(within, "http://good.example/", [HUB], 1) == [HUB]
    assert [(one.link.url, one.depth) for one in within.release(over=True, last=True)] == [
        (LEAF, 3)
    ]
    assert within.release(over=True, last=True) == []
    assert within.left_out().rules[deep] == 2, "what is out of scope stays out"


def test_the_domain_with_the_most_links_that_wait_loses_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(depths, "_WAITING", 10)
    within = made()
    assert admitted(within, "http://evil.example/2", [HUB], 3)
    assert admitted(within, HUB, [PART], 4) == []
    for number in range(9):
        links = [f"http://evil.example/{number}-{n}" for n in range(3)]
        assert admitted(within, f"http://evil.example/deep{number}", links, 4) == []
    assert admitted(within, "http://good.example/", [HUB], 1) == [HUB]
    assert [one.link.url for one in within.release(over=True, last=True)] == [PART]


@pytest.mark.parametrize("saved", [False, True])
def test_links_of_one_domain_take_no_known_ways_of_another(
    saved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(depths, "_KNOWN", 40)
    within = made()
    for number in range(3):
        links = [f"http://evil.example/{number}-{n}" for n in range(30)]
        assert admitted(within, f"http://evil.example/{number}", links, 2) == links
    # The way that is known first is long, and whoever laid it fills the table again.
    assert admitted(within, "http://evil.example/far", [HUB], 3)
    assert admitted(within, "http://good.example/", ["http://good.example/list"], 1)
    assert admitted(within, "http://good.example/list", [HUB], 2)
    links = [f"http://evil.example/{number}-last" for number in range(30)]
    assert admitted(within, "http://evil.example/last", links, 2) == links
    within = made(within) if saved else within
    assert admitted(within, HUB, [PART], 4) == [PART]


@pytest.mark.parametrize("saved", [False, True])
def test_what_a_page_links_to_comes_nearer_with_it_whoever_linked_it_first(saved: bool) -> None:
    """Two pages of one depth link to a third; the one that linked it last comes nearer."""
    site = "http://good.example/{}".format
    known = Depths(MOST)
    known.seed([site("")])
    known.link(site(""), [site("a"), site("b")], 1)
    known.link(site("a"), [site("c"), site("d")], 2)
    known.link(site("c"), [site("e")], 3)
    known.link(site("d"), [site("e")], 3)
    if saved:
        state = unpack(pack(known.save()))
        known = Depths(MOST)
        known.load(state)
    assert known.of_links(site("e"), 9) == 4
    known.redirected(site("b"), site("d"))
    assert known.of_links(site("d"), 9) == 2, "as near as what is redirected to it"
    assert known.of_links(site("e"), 9) == 3


def test_a_deep_page_that_asks_not_to_be_followed_is_not_once_it_is_near() -> None:
    within = made()
    page = Page(HUB, links=(Link(PART, Anchor()),), flags=frozenset({"nofollow"}))
    assert within.admit(page, 4, 7, 0.5) == []
    assert admitted(within, "http://good.example/", [HUB], 1) == [HUB]
    assert within.release(over=True, last=True) == []


@pytest.mark.parametrize("saved", [False, True])
def test_a_sitemap_is_as_near_as_any_page_of_its_host_makes_it(saved: bool) -> None:
    """The page that came first links to it, by however long a way it was found."""
    within = CrawlFilter(Scope.of(SEEDS, "domain", MOST), sitemaps=True)
    within.seed(SEEDS)
    named = Link("http://good.example/sitemap.xml", Anchor(), "sitemap")
    page = Page("http://good.example/far", links=(named,))
    assert within.admit(page, within.nearest(page, 3), 7, 0.5) == [named]
    flags = frozenset({"sitemap", "not-html"})
    listed = Page(named.url, links=[Link(LEAF, Anchor(), "listed")], flags=flags)
    assert within.admit(listed, within.nearest(listed, 4), 8, 0.0) == []
    assert within.left_out().rules == {"--max-depth 3": 1}
    assert within.explained(LEAF) == "--max-depth 3"
    if saved:
        state = unpack(pack(within.save()))
        within = CrawlFilter(Scope.of(SEEDS, "domain", MOST), sitemaps=True)
        within.load(state)
    assert admitted(within, "http://good.example/", [], 1) == []
    assert [(one.link.url, one.depth) for one in within.release(over=True, last=True)] == [
        (LEAF, 2)
    ]
    assert within.left_out().rules == {}
    assert within.explained(LEAF) == ""
