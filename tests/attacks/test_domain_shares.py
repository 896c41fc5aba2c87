"""A domain with names without end takes no more of a crawl that goes anywhere than its share."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.keywords import Keywords
from spoor.learn.state import pack, unpack
from spoor.link_filter import waiting_places
from spoor.link_filter.domain_shares import FOR_EACH, LEAST, DomainShares
from spoor.link_filter.link_filter import CrawlFilter
from spoor.link_filter.scope import Scope
from spoor.policies.breadth_first import BreadthFirst
from spoor.types import Fetch, Fetched, HeldLink, Link, Page, Sleep, Task
from spoor.web.urls import domain_of

HUB = "http://hub.example/"
FARM, GOOD = "farm.example", "good.example"


def links_of(url: str) -> list[str]:
    """The farm's pages each lead to twenty new names; those of thirty sites to one another."""
    if url == HUB:
        return ["http://n.farm.example/", *(f"http://www.site{n}.example/0" for n in range(30))]
    if domain_of(url) == FARM:
        name = url.split("/")[2].removesuffix(f".{FARM}")
        return [f"http://{name}-{n}.{FARM}/" for n in range(20)]
    at, _, number = url.rpartition("/")
    return [f"{at}/{int(number) + 1}"] if int(number) < 19 else []


def asked(pages: int, *, seeds: list[str], relevant: int = 0) -> Counter[str]:
    """Pages of each domain, of which so many of the farm's are relevant. Saved and loaded now and
    then."""

    def made() -> Crawl:
        policy = BreadthFirst(Task(np.random.default_rng(0)))
        chosen = CrawlFilter(Scope.of(seeds, "anywhere"))
        return Crawl(policy, Keywords(["kiln"]), MemoryFrontier(), pages=pages, link_filter=chosen)

    crawl, found = made(), Counter[str]()
    crawl.seed(seeds)
    now = 0.0
    while isinstance(step := crawl.next(now), Fetch | Sleep):
        if isinstance(step, Sleep):
            now = max(step.until, now)
            continue
        domain = domain_of(step.url)
        found[domain] += 1
        told = "kiln kiln kiln" if domain == FARM and found[domain] <= relevant else "clay"
        links = tuple(Link(url) for url in links_of(step.url))
        page = Page(step.url, title=told, text=told, links=links)
        crawl.receive(Fetched(step.ticket, page), now)
        if found.total() % 50 == 0:
            state = unpack(pack(crawl.save()))
            crawl = made()
            crawl.load(state)
    return found


@pytest.mark.parametrize("relevant", [0, 3])
def test_a_domain_takes_its_share_and_more_for_what_it_gave(relevant: int) -> None:
    found = asked(600, seeds=[HUB], relevant=relevant)
    assert found.total() == 600
    assert found[FARM] <= LEAST + 10 + FOR_EACH * relevant + 1
    assert found[FARM] >= LEAST + FOR_EACH * relevant - 1


def test_links_of_a_domain_take_no_places_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many that wait. A site that has had its share goes on once it may."""
    monkeypatch.setattr(waiting_places, "MOST_WAITING", 300)
    shares = DomainShares()
    for number in range(LEAST):
        shares.count(f"http://www.{GOOD}/{number}", 1)
        shares.count(f"http://www.{FARM}/{number}", 1)
    seen = [f"http://n{number}.{FARM}/" for number in range(1_000)]
    good = [f"http://www.{GOOD}/more/{number}" for number in range(100)]
    for url in [*seen, *good, *(f"{url}again" for url in seen)]:
        shares.hold(domain_of(url), HeldLink(Link(url), -1, 0.0, 1, False))
    again = DomainShares()
    again.load(unpack(pack(shares.save())))
    for each in (shares, again):
        for number in range(LEAST + 5):
            each.judged(f"http://www.{GOOD}/{number}", 1)
        released = [held.link.url for held in each.release(over=False)]
        assert set(good) <= set(released)
        kept = [held.link.url for held in each.release(over=True)]
        assert kept == [*seen[:20]], "those that were seen first"


def test_nothing_is_lost_where_there_is_nothing_else() -> None:
    found = asked(900, seeds=[HUB])
    assert found.total() == 900
    assert found[FARM] == 900 - 1 - 30 * 20


def test_a_domain_that_was_named_has_no_share_to_keep_to() -> None:
    found = asked(300, seeds=["http://n.farm.example/", HUB])
    assert found[FARM] > 200
