"""Links of sitemaps that wait are saved and loaded."""

from __future__ import annotations

from spoor.learn.state import pack, unpack
from spoor.types import Anchor, Link, Page
from spoor.web import listed_links
from spoor.web.listed_links import ListedLinks

INDEX, FLAGS = "http://a.example/sitemap.xml", frozenset({"sitemap", "not-html"})


def test_an_index_of_many_sitemaps_leaves_nothing_waiting_and_can_be_saved() -> None:
    """No link of it is one of a page, so that none waits."""
    count = listed_links.AT_ONCE + 1
    links = [Link(f"http://a.example/{n}.xml", Anchor(), "sitemap") for n in range(count)]
    listed = ListedLinks()
    assert listed.enter(Page(INDEX, links=links, flags=FLAGS), 0, 0.0, 1).links == links
    again = ListedLinks()
    again.load(unpack(pack(listed.save())))
    assert again.release(over=True) is None


def test_a_saved_sitemap_without_links_that_wait_is_passed_over() -> None:
    """An earlier version saved them."""
    listed = ListedLinks()
    listed.enter(Page(INDEX, links=_pages(listed_links.AT_ONCE + 5), flags=FLAGS), 0, 0.0, 1)
    state = unpack(pack(listed.save()))
    full = state["waiting"][0][1][0]
    empty = [*full[:4], "", "", full[-1][:0]]
    listed.load({**state, "waiting": [["b.example", [empty]], ["a.example", [empty, full]]]})
    released = listed.release(over=True)
    assert released is not None
    assert len(released.page.links) == 5
    assert listed.release(over=True) is None


def _pages(count: int) -> list[Link]:
    return [Link(f"http://a.example/{n}", Anchor("x", position=n), "listed") for n in range(count)]
