"""Sitemaps of a domain, under whatever names, come before other links no further than its share."""

from __future__ import annotations

import time
from collections import Counter

import numpy as np
import pytest

from spoor.bounded import REMEMBERED
from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.keywords import Keywords
from spoor.learn.state import pack, unpack
from spoor.link_filter.link_filter import CrawlFilter
from spoor.link_filter.scope import Scope
from spoor.link_filter.sitemap_shares import SitemapShares
from spoor.policies.breadth_first import BreadthFirst
from spoor.types import Fetch, Fetched, HeldLink, Link, Page, Sleep, Task
from spoor.web.sitemaps import WHY
from spoor.web.urls import domain_of
from spoor.wrappers.lists_first import SitemapsFirst

GOOD, EVIL = "http://good.example/", "http://evil.example/"
PAGES = 200


def page_of(url: str, relevant: str) -> Page:
    """A site of 310 pages, and one whose five names have 50 sitemaps of one entry each."""
    host, path = url.split("/")[2], url.split("/", 3)[3]
    text = "kiln kiln kiln" if url.startswith(relevant) else "clay"
    if url.startswith(GOOD):
        links = [Link(f"{GOOD}{path}{n}/") for n in range(30 if path else 10)]
        return Page(url, title=text, text=text, links=tuple(links if len(path) < 3 else ()))
    if path.startswith("sitemap"):
        links = [Link(f"http://{host}/{path[7:]}", kind="listed")]
        return Page(url, flags=frozenset({"sitemap", "not-html"}), links=tuple(links))
    links = [Link(f"http://{host}/sitemap{n}", kind="sitemap") for n in range(0 if path else 50)]
    links += [Link(f"http://n{n}.evil.example/") for n in range(4 if url == EVIL else 0)]
    return Page(url, title=text, text=text, links=tuple(links))


def asked(relevant: str) -> Counter[str]:
    """Requests of each site, and sitemaps. Saved and loaded now and then."""

    def made() -> Crawl:
        policy = SitemapsFirst(BreadthFirst(Task(np.random.default_rng(0))))
        chosen = CrawlFilter(Scope.of([GOOD, EVIL], "domain"), sitemaps=True)
        return Crawl(policy, Keywords(["kiln"]), MemoryFrontier(), pages=PAGES, link_filter=chosen)

    crawl, found = made(), Counter[str]()
    crawl.seed([GOOD, EVIL])
    now = 0.0
    while isinstance(step := crawl.next(now), Fetch | Sleep):
        if isinstance(step, Sleep):
            now = max(step.until, now)
            continue
        assert ("/sitemap" in step.url) == (step.choice.why == WHY), "it is asked for as one"
        found["sitemap" if "/sitemap" in step.url else "good" if GOOD in step.url else "evil"] += 1
        crawl.receive(Fetched(step.ticket, page_of(step.url, relevant)), now)
        if found.total() % 50 == 0:
            state = unpack(pack(crawl.save()))
            crawl = made()
            crawl.load(state)
    assert found.total() == PAGES
    return found


def test_sitemaps_of_one_domain_leave_others_their_pages() -> None:
    found = asked(GOOD)
    assert found["sitemap"] <= 14
    # 15 pages of the other site come before its own, in breadth-first order, without sitemaps too.
    assert found["good"] >= 0.9 * (PAGES - 15)


def test_a_domain_that_gives_has_more_of_them_first() -> None:
    assert asked("http://")["sitemap"] > 25


@pytest.mark.parametrize("known", [False, True])
def test_links_of_a_sitemap_enter_little_by_little(known: bool) -> None:
    """All of them in the end, also where a page has links to the same."""
    listed, pages = [Link(f"{GOOD}{n}", kind="listed") for n in range(3_000)], 3_002
    chosen = CrawlFilter(Scope.of([GOOD], "host"), sitemaps=True)
    policy = SitemapsFirst(BreadthFirst(Task(np.random.default_rng(0))))
    crawl = Crawl(policy, Keywords(["kiln"]), MemoryFrontier(), pages=pages, link_filter=chosen)
    crawl.seed([GOOD])
    opened, asked = list[int](), set[str]()
    while isinstance(step := crawl.next(0.0), Fetch):
        links = [Link(f"{GOOD}s.xml", kind="sitemap")] if step.url == GOOD else []
        if known and step.url == GOOD:
            links += [link._replace(kind="a") for link in listed]
        its = Page(step.url, links=links)
        if step.url.endswith(".xml"):
            its = Page(step.url, links=listed, flags=frozenset({"sitemap", "not-html"}))
        crawl.receive(Fetched(step.ticket, its), 0.0)
        opened.append(crawl.frontier.open_count)
        asked.add(step.url)
        if len(asked) % 400 == 0:
            chosen.load(unpack(pack(chosen.save())))
    assert len(asked) == pages
    if not known:
        assert opened[:4] == [1, 1_100, 1_199, 1_298]
        assert max(opened) <= 3_000


def test_links_of_sitemaps_that_wait_have_a_bound() -> None:
    """The domain with the most gives way."""
    chosen = CrawlFilter(Scope.of([GOOD, EVIL], "domain"), sitemaps=True)
    flags = frozenset({"sitemap"})
    for host, count in (
        ("good.example", 2_000),
        *((f"n{n}.evil.example", 20_000) for n in range(3)),
    ):
        links = [Link(f"http://{host}/{n}", kind="listed") for n in range(count)]
        page = Page(f"http://{host}/s.xml", links=links, flags=flags)
        assert len(chosen.admit(page, 1)) == 1_000
    assert chosen.left_out().rules == {"sitemaps list more than may wait": 1_000 + 57_000 - 50_000}
    entered = Counter[str]()
    while released := chosen.release(over=True, last=True):
        entered.update(domain_of(held.link.url) for held in released)
    assert entered == {"good.example": 1_000, "evil.example": 49_000}


def test_sitemaps_that_wait_have_a_bound() -> None:
    """The domain with the most gives way."""
    shares = SitemapShares()
    urls = [f"http://n{n % 5}.evil.example/{n}.xml" for n in range(20_000)]
    urls += [f"{GOOD}{n}.xml" for n in range(20)]
    waits = [url for url in urls if shares.holds(HeldLink(Link(url), 0, 0.0, 1, False))]
    assert len(waits) == 20_000, "ten of each enter"
    shares.load(unpack(pack(shares.save())))
    found = list[str]()
    while ready := shares.release(over=True):
        found += [held.link.url for held in ready]
    counts = Counter(domain_of(url) for url in found)
    assert counts == {"evil.example": 4_990, "good.example": 10}


def test_sitemaps_cost_no_more_where_seeds_are_many() -> None:
    """Whoever has a sitemap lists 50,000 others, of whatever host."""
    its = CrawlFilter(Scope("directory"), sitemaps=True)
    its.seed([f"http://s{n}.example/a/" for n in range(20_000)])
    began = time.process_time()
    taken = [its.takes_sitemap(f"http://s{n}.example/{n}.xml") for n in range(19_900, 20_100)]
    assert time.process_time() - began < 0.2, "with a look at every seed two seconds"
    assert taken == [True] * 100 + [False] * 100
    for n in range(REMEMBERED + 100):
        its.takes_sitemap(f"http://s1.example/of/{n}.xml")
    assert len(its.save()["sitemaps"]) == REMEMBERED
