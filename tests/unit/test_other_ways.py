"""What is another way to a page is asked for after all pages, and not lost."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.keywords import Keywords
from spoor.learn.state import pack, unpack
from spoor.link_filter.link_filter import CrawlFilter
from spoor.link_filter.scope import Scope
from spoor.link_filter.traps import Traps
from spoor.policies.breadth_first import BreadthFirst
from spoor.simulation.replay import Replay
from spoor.types import Anchor, Fetch, Fetched, Link, Page, Task, kinds_of
from spoor.web.other_ways import (
    data_of,
    markup_of,
    names_data,
    names_page,
    other_way,
    other_ways,
    place_within,
    view_of_list,
    view_of_source,
)
from spoor.web.page import parse
from spoor.web.page_links import PageLinks
from spoor.web.urls import query_parts
from spoor.web.view_relations import relation

HOME = "http://a.example/"
THREADS = 20
POSTS = 8


@pytest.mark.parametrize(
    ("href", "is_place"),
    [
        ("showthread.php?tid=7&pid=36680#pid36680", True),
        ("viewtopic.php?p=12#p12", True),
        ("index.php?topic=3.msg17#msg17", True),
        ("index.php/topic;topic=3.msg17#msg17", True),
        ("/threads/kilns.3/post-17#post-17", True),
        ("showthread.php?tid=7#pid36680", False),
        ("showthread.php?tid=7", False),
        ("/kilns/#comment-17", False),
        ("/manual/chapter-3#section-3", False),
        ("#pid7", False),
        ("/a?id=7#7", False),
        ("search.html?highlight=kiln#kiln", False),
        ("/2019/", False),
    ],
)
def test_a_place_within_a_page_has_its_number_twice(href: str, is_place: bool) -> None:
    assert place_within(href) == is_place


@pytest.mark.parametrize(
    ("path", "is_other"),
    [
        ("showthread.php?tid=7&action=lastpost", True),
        ("viewtopic.php?t=7&view=next", True),
        ("viewtopic.php?t=7&view=print", True),
        ("printthread.php?tid=7", True),
        ("guide?printable=yes", True),
        ("misc.php?action=whoposted&tid=7", True),
        ("?p=a.git;a=blob_plain;f=b.c", True),
        ("?p=a.git;a=history;f=b.c;hb=HEAD", True),
        ("?p=a.git;a=shortlog;h=12ab", True),
        ("?p=a.git;a=atom;f=b.c", True),
        (f"?p=a.git;a=tree;f=b;h={'1' * 40};hb={'12ab' * 10}", True),
        (f"?p=a.git;a=blob;f=b.c;h={'1' * 40};hb=HEAD", False),
        (f"r/tree/src/a.py?id={'12ab' * 10}", True),
        (f"r/commit/?id={'12ab' * 10}", False),
        ("r/tree/src/a.py?id=7", False),
        ("?p=a.git;a=shortlog", False),
        ("?p=a.git;a=atom", False),
        ("showthread.php?tid=7&page=2", False),
        ("showthread.php?tid=7", False),
        ("shop?type=prints", False),
        ("shop?print=etching", False),
        ("print.html", False),
        ("printing/", False),
        ("guide?view=all", False),
        ("?p=a.git;a=blob;f=b.c", False),
    ],
)
def test_jumps_and_prints_are_other_ways(path: str, is_other: bool) -> None:
    assert other_way(f"{HOME}{path}") == is_other


@pytest.mark.parametrize(
    ("path", "page", "is_view"),
    [
        ("r/plain/src/a.py", "r/tree/src/a.py", True),
        ("r/blame/main/a.py", "r/blob/main/a.py", True),
        ("r/diff/a.py?id=1", "r/commit/?id=1", True),
        ("r/diff/?id=1&id2=2", "r/commit/?id=1", True),
        ("r/diff/b.py?id=1", "r/diff/a.py?id=1", False),
        ("r/plain/src/b.py", "r/tree/src/a.py", False),
        ("r/plain/src/a.py", "", False),
        ("r/log/src/a.py", "r/tree/src/a.py", True),
        ("r/log/src/", "r/tree/", True),
        ("r/log/", "r/tree/src/", False),
        ("r/commit/src/a.py", "r/tree/src/a.py", True),
        ("r/commit/12ab", "r/tree/", False),
        ("r/commit/12ab", "r/tree/main", False),
        ("r/commit/?id=2", "r/commit/?id=1", False),
        ("r/commit/?id=2", "r/log/", False),
        ("docs/diff/", "docs/commit/", False),
        ("docs/diff/", "docs/", False),
        ("docs/diff/options", "docs/install/options", False),
    ],
)
def test_views_of_a_source_are_told_by_the_page_of_it(path: str, page: str, is_view: bool) -> None:
    assert view_of_source(f"{HOME}{path}", f"{HOME}{page}") == is_view


@pytest.mark.parametrize(
    ("page", "others"),
    [
        ("kilns/7@a/T/", {"7@a/raw", "7@a/t/", "7@a/", "8@a/", "8@a/T/", "?t=20240102030405"}),
        ("kilns/7@a/", {"7@a/raw", "7@a/t/", "?t=20240102030405"}),
        ("kilns/?t=20240102030405", set()),
    ],
)
def test_a_thread_of_a_public_inbox_has_its_messages(page: str, others: set[str]) -> None:
    ways = ["7@a/raw", "7@a/t/", "7@a/", "8@a/", "8@a/T/", "?t=20240102030405", "", "new.atom"]
    links = [Link(f"{HOME}kilns/{way}") for way in ways]
    found = other_ways(Page(f"{HOME}{page}", links=links), links)
    assert found == {f"{HOME}kilns/{way}" for way in others}


def test_archives_of_all_files_are_other_ways_to_them() -> None:
    links = [Link(f"{HOME}r/snapshot/{name}") for name in ("r-12ab.tar.gz", "r-12ab.zip", "kiln")]
    ways = other_ways(Page(f"{HOME}r/commit/?id=12ab", links=links), links)
    assert ways == {link.url for link in links[:2]}


@pytest.mark.parametrize("page", ["file?name=clay/kiln.c&ci=tip", "dir?name=clay"])
def test_other_programs_show_the_same_file(page: str) -> None:
    links = [
        Link(f"{HOME}file?name=clay/kiln.c&ci=tip", Anchor("kiln.c")),
        Link(f"{HOME}blame?filename=clay%2Fkiln.c", Anchor("blame")),
        Link(f"{HOME}info?name=clay/glaze.c", Anchor("info")),
        Link(f"{HOME}file?name=clay/kiln.c&ci=tip&page=2", Anchor("2")),
        Link(f"{HOME}?q=clay/kiln.c", Anchor("search")),
        Link("http://b.example/blame?filename=clay/kiln.c", Anchor("elsewhere")),
    ]
    links = [link for link in links if link.url != f"{HOME}{page}"]
    assert other_ways(Page(f"{HOME}{page}", links=links), links) == {links[-5].url}


@pytest.mark.parametrize(
    ("path", "page", "is_it"),
    [
        ("posts/kiln/index.md", "posts/kiln/", True),
        ("docs/kiln.md", "docs/kiln", True),
        ("docs/kiln.mdx", "docs/kiln/", True),
        ("docs/kiln.rst", "docs/kiln.html", True),
        ("rfc/7.txt", "rfc/7.html", True),
        ("en/_sources/a/kiln.rst.txt", "en/a/kiln.html", True),
        ("en/_sources/a/index.rst.txt", "en/a/", True),
        ("_sources/index.md.txt", "", True),
        ("docs/glaze.md", "docs/kiln", False),
        ("docs/kiln.md", "docs/", False),
        ("docs/kiln.pdf", "docs/kiln", False),
        ("docs/kiln.md", "docs/kiln.pdf", False),
        ("docs/kiln.md?raw=1", "docs/kiln", False),
        ("notes.txt", "", False),
        ("_sources/a/kiln.rst.txt", "b/kiln.html", False),
        ("docs/kiln.md", "docs/kiln.md", False),
    ],
)
def test_the_text_that_a_page_is_made_of_is_told_by_its_url(
    path: str, page: str, is_it: bool
) -> None:
    assert markup_of(f"{HOME}{path}", f"{HOME}{page}") == is_it


@pytest.mark.parametrize(
    ("url", "page", "is_it"),
    [
        ("films/7.json", "films/7", True),
        ("films.csv?facet=a&size=max", "films?facet=a", True),
        (".json", "", True),
        ("films/index.csv", "films/", True),
        ("films.csv", "films/", True),
        ("film.jsonld", "film.html", True),
        ("film?id=7&_format=json", "film?id=7", True),
        ("films.csv", "films?facet=a", False),
        ("films/8.json", "films/7", False),
        ("film.pdf", "film.html", False),
        ("films.xml", "films/", False),
        ("film?id=7&format=short", "film?id=7", False),
        ("film?format=json", "films?id=7", False),
        ("films/7.csv", "films/7.json", False),
    ],
)
def test_what_a_page_shows_as_data_is_told_by_its_url(url: str, page: str, is_it: bool) -> None:
    assert data_of(f"{HOME}{url}", f"{HOME}{page}") == is_it


@pytest.mark.parametrize(
    ("pattern", "names"),
    [("type:text/csv", True), (r"url:\.json$", True), ("type:text/*", True), ("url:.", False)],
)
def test_who_asks_for_data_wants_it_beside_its_pages(pattern: str, names: bool) -> None:
    assert names_data([pattern]) == names


@pytest.mark.parametrize(
    ("url", "page", "is_view"),
    [
        ("films/?sort=price", "films/", True),
        ("films/?sort_by=price&dir=asc", "films/", True),
        ("films/?product_list_order=name", "films/", True),
        ("films/?page=2&orderby=date", "films/?page=2", True),
        ("pool/?C=M;O=A", "pool/", True),
        ("films/?by=price&way=desc", "films/", True),
        ("films/?by=price&way=down", "films/", False),
        ("films/?q=kiln&by=price&way=desc", "films/", False),
        ("films/?filter_color=red&filter_size=9", "films/?filter_color=red", True),
        ("films/?facet=a&facet=b", "films/?facet=a", True),
        ("films/?facet=a&facet=a", "films/?facet=a", True),
        # The first filter may be the only way to what it lists, and so may the next part.
        ("films/?facet=a", "films/", False),
        ("films/?facet=b", "films/?facet=a", False),
        ("films/?facet=a&page=2", "films/?facet=a", False),
        ("films/?page=2", "films/", False),
        ("films/?order=17&sort=price", "films/?id=3", False),
        ("books/?sort=price", "films/", False),
        ("films/", "films/?sort=price", False),
        ("account?order=17", "account", False),
        ("films/?sort=name&desc=1", "films/", True),
        ("films/?sort=price", "films/?sort=name&desc=1", True),
        ("films/?sort=name", "films/?sort=name&desc=1", True),
        ("films/?id=3", "films/?id=3&desc=1", False),
        ("films/?desc=a+kiln", "films/", False),
        # An order in the place of another, and a filter with one more value.
        ("films/?sort=date&page=1", "films/?sort=price", True),
        ("films/?sort=date", "films/?sort=price&page=2", True),
        ("films/?sort=date&page=2", "films/?sort=price", False),
        ("films/?sort=date&page=1", "films/?sort=date", True),
        ("films/?sort=date&page=1", "films/?sort=date&page=2", False),
        ("films/?tags=clay,kiln", "films/?tags=clay", True),
        ("films/?tags=kiln", "films/?tags=clay", False),
        ("films/?p=1", "films/", False),  # a post, in many blogs
        ("films/?show=all", "films/", False),
        # Parameters of a path.
        ("films/set:all/sort:date-desc/page:1/", "films/", True),
        ("films/set:all/sort:date/tags:clay/page:1/", "films/set:all/sort:name/tags:clay/", True),
        ("films/sort:date/tags:clay,kiln/page:1/", "films/sort:name/tags:clay/page:1/", True),
        ("films/sort:date/tags:clay/", "films/", False),
        ("films/sort:date/page:2/", "films/sort:date/page:1/", False),
        ("wiki/sort:page", "wiki/", False),
    ],
)
def test_views_of_a_list_are_told_by_the_page_of_it(url: str, page: str, is_view: bool) -> None:
    assert view_of_list(f"{HOME}{url}", f"{HOME}{page}") == is_view


@given(st.text("ab/?&;=#.7", max_size=30), st.text("ab/?&;=#.7", max_size=30))
def test_any_text_is_looked_at(one: str, other: str) -> None:
    assert not place_within(one) or "#" in one
    assert not other_way(f"{HOME}{one}") or "?" in one
    assert not view_of_source(f"{HOME}{one}", f"{HOME}{one}")
    assert not markup_of(f"{HOME}{one}", f"{HOME}{one}")
    assert not data_of(f"{HOME}{one}", f"{HOME}{one}")


def words(seed: int, count: int = 40) -> str:
    letters = np.random.default_rng(seed).choice(list("abcdefghijklmnop"), (count, 7))
    return " ".join(map("".join, letters))


def forum(path: str) -> str:
    """Threads, each of which the index lists with its last post, and whose posts have links of
    their own, to reply to them, and to vote."""
    if not path:
        return "<title>Forum</title>" + "".join(
            f'<a href="/show?tid={tid}&action=lastpost">last</a>'
            f'<a href="/show?tid={tid}">Thread {tid}</a>'
            for tid in range(THREADS)
        )
    match = re.search(r"tid=(\d+)", path)
    assert match is not None, path
    tid = int(match[1])
    posts = "".join(
        f'<p>{words(100 * tid + at)} <a href="/show?tid={tid}&pid={at + 1}#pid{at + 1}">#</a>'
        f'<a href="/rate_post.php?tid={tid}&pid={at}">Good</a>'
        for at in range(POSTS)
    )
    return f"<title>Thread {tid}</title>{posts}<a href='/print_thread.php?tid={tid}'>Print</a>"


def asked_of(pages: int) -> list[str]:
    class World:
        def answer(self, fetch: Fetch) -> Fetched:
            source = forum(fetch.url.removeprefix(HOME))
            return Fetched(fetch.ticket, parse(source.encode(), fetch.url))

    guard = CrawlFilter(Scope.of([HOME], "host"), traps=Traps())
    policy = BreadthFirst(Task(np.random.default_rng(0)))
    crawl = Crawl(policy, Keywords(["kiln"]), MemoryFrontier(), pages=pages, link_filter=guard)
    crawl.seed([HOME])
    return [outcome.page.url for outcome in Replay(crawl, World()) if outcome.page]


def test_a_forum_is_asked_for_its_threads_and_not_for_each_post() -> None:
    urls = asked_of(THREADS + 1)
    assert set(urls) == {HOME, *(f"{HOME}show?tid={tid}" for tid in range(THREADS))}


def test_a_whole_crawl_tries_other_ways_in_the_end() -> None:
    others = asked_of(1_000)[THREADS + 1 :]
    assert 0 < len(others) <= 2 * THREADS
    assert not any("rate" in url for url in others)


def test_where_all_links_are_to_places_they_are_followed() -> None:
    pages = [f"http://a.example/show?p={at}#p{at}" for at in range(1, 40)]

    class World:
        def answer(self, fetch: Fetch) -> Fetched:
            links = "".join(f"<a href='{url}'>Item</a>" for url in pages)
            seed = int(fetch.url.partition("=")[2] or 0)
            return Fetched(fetch.ticket, parse(f"{words(seed)} {links}".encode(), fetch.url))

    guard = CrawlFilter(Scope.of([HOME], "host"), traps=Traps())
    policy = BreadthFirst(Task(np.random.default_rng(0)))
    crawl = Crawl(policy, Keywords(["kiln"]), MemoryFrontier(), pages=1_000, link_filter=guard)
    crawl.seed([HOME])
    assert len([outcome for outcome in Replay(crawl, World()) if outcome.page]) == 40


def test_a_link_that_is_also_plain_does_not_wait_and_what_waits_is_saved_and_told() -> None:
    guard = CrawlFilter(Scope.of([HOME], "host"), traps=Traps())
    twice = [Link(f"{HOME}show?p=1", kind="place"), Link(f"{HOME}show?p=1")]
    waits = Link(f"{HOME}show?p=2", kind="place")
    page = Page(HOME, text="words", links=[*twice, waits])
    assert {link.url for link in guard.admit(page, 1)} == {f"{HOME}show?p=1"}
    again = CrawlFilter(Scope.of([HOME], "host"), traps=Traps())
    again.load(unpack(pack(guard.save())))
    for one in (guard, again):
        assert one.left_out().held == [("a.example: other ways to pages", 1, "asked for last")]


def test_a_watch_follows_no_other_way_but_to_places_of_pages_that_it_does_not_know() -> None:
    fleet = CrawlFilter(Scope.of([HOME], "host"), repeats=False)
    source = """<a href="/show?tid=7&pid=9#pid9">own</a><a href="/show?tid=8&action=lastpost">last
        </a><a href="/show?tid=8">8</a><a href="/show?tid=9&action=lastpost">last</a>
        <a href="/show?p=5#p5">alone</a><a href="/show?tid=7&page=2">2</a>"""
    page = parse(source.encode(), f"{HOME}show?tid=7")
    assert [link.url.removeprefix(f"{HOME}show?") for link in fleet.admit(page, 1)] == [
        "tid=8",
        "p=5",
        "tid=7&page=2",
    ]


def test_a_sitemap_lists_pages_whatever_their_look() -> None:
    guard = CrawlFilter(Scope.of([HOME], "host"), traps=Traps())
    link = Link(f"{HOME}guide?printable=yes", kind="listed")
    page = Page(f"{HOME}sitemap.xml", links=[link], flags=frozenset({"sitemap"}))
    assert len(guard.admit(page, 1)) == 1


def test_the_kind_of_a_link_to_a_place_is_kept_by_a_parsed_page() -> None:
    page = parse(b"<a href='/show?p=2#p2'>b</a><a href='/c#p2'>c</a>", HOME)
    assert list(kinds_of(page.links)) == ["place", "a"]
    assert isinstance(page.links, PageLinks)
    again = PageLinks.of(page.links.row(), page.text.split())
    assert list(kinds_of(again)) == ["place", "a"]


def test_the_query_of_a_page_is_read_once_for_all_of_its_links(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 480 parts it took a second for 5,000 links."""
    query = "&".join(f"a{at}" for at in range(480))
    read = list[str]()

    def counted(given: str) -> list[str]:
        read.append(given)
        return query_parts(given)

    monkeypatch.setattr("spoor.web.other_ways.query_parts", counted)
    monkeypatch.setattr("spoor.web.view_relations.query_parts", counted)
    page = f"http://a.example/once?{query}"
    urls = [f"http://a.example/once?b={at}" for at in range(50)]
    assert not other_ways(Page(page), [Link(url) for url in urls])
    assert len({relation(page, url) for url in urls}) == 1
    assert read.count(query) == 2, "once for each of the two"


@pytest.mark.parametrize(
    ("path", "page", "has_its_name"),
    [
        ("w/index.php?title=Kiln&action=history", "wiki/Kiln", True),
        ("wiki/Special:WhatLinksHere/Kiln", "wiki/Kiln", True),
        ("wiki/Kiln?action=diff&version=3", "wiki/Kiln", True),
        ("doku.php?id=kiln&do=revisions", "doku.php?id=kiln", True),
        ("doku.php?id=glaze&do=revisions", "doku.php?id=kiln", False),
        ("wiki/Kilns", "wiki/Kiln", False),
        ("kilns/gas", "kilns/", False),
        ("kilns/2026/kilns", "kilns", False),
        ("shop/kilns/gas", "kilns", False),
        ("wiki/Kiln", "wiki/Kiln", False),
        ("case-studies/one", "", False),
        ("w?title=ab", "ab", False),
    ],
)
def test_a_url_may_have_the_name_of_another_page(path: str, page: str, has_its_name: bool) -> None:
    assert names_page(f"{HOME}{path}", f"{HOME}{page}") == has_its_name
    assert not names_page(f"http://else.example/{path}", f"{HOME}{page}")


def test_a_list_in_other_orders_is_another_way_whatever_else_each_link_says_again() -> None:
    board, beside = "http://a.example/board?fid=1", "&days=all&prefix=0"
    orders = [f"{board}{beside}&sortby={by}&order={way}" for by, way in BY]
    links = [Link(url) for url in (*orders, f"{board}&page=2", "http://a.example/thread?tid=4")]
    page = Page(url=board, links=links)
    assert other_ways(page, links) == set(orders)
    other_filters = [f"{board}&days={at}&sortby={by}" for at, (by, _) in enumerate(BY)]
    links = [Link(url) for url in other_filters]
    assert not other_ways(Page(url=board, links=links), links)


BY = [("name", "asc"), ("size", "desc"), ("time", "desc")]
