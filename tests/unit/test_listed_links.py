"""Links of sitemaps that wait are saved and loaded."""

from __future__ import annotations

from spoor.learn.state import pack, unpack
from spoor.link_filter import listed_links
from spoor.link_filter.listed_links import ListedLinks
from spoor.types import Anchor, Link, Origin, Page

INDEX, FLAGS = "http://a.example/sitemap.xml", frozenset({"sitemap", "not-html"})


def test_an_index_of_many_sitemaps_leaves_nothing_waiting_and_can_be_saved() -> None:
    """No link of it is one of a page, so that none waits."""
    count = listed_links.AT_ONCE + 1
    links = [Link(f"http://a.example/{n}.xml", Anchor(), "sitemap") for n in range(count)]
    listed = ListedLinks()
    assert listed.enter(Page(INDEX, links=links, flags=FLAGS), Origin(0, 0.0, 1)).links == links
    again = ListedLinks()
    again.load(unpack(pack(listed.save())))
    assert again.release(over=True) is None


def _pages(count: int) -> list[Link]:
    return [Link(f"http://a.example/{n}", Anchor("x", position=n), "listed") for n in range(count)]
