"""What is held back for the end of a crawl enters at the end of all its shards; what a shard's own
domains and sitemaps have to wait for, as soon as this one has nothing else to do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from guards import small
from spoor import registry
from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.facts import Function
from spoor.link_filter.link_filter import CrawlFilter
from spoor.link_filter.scope import Scope
from spoor.link_filter.traps import Traps
from spoor.sharding.coordinator import Coordinator, Report
from spoor.sharding.outbox import Outbox
from spoor.simulation.shards import LocalCrawl, LocalShard
from spoor.testing.small_worlds import SmallWorld
from spoor.types import Anchor, Link, Page, Task

SEED = "http://b.example/0"
LONG, TRAPPED = 40, 60
"""Pages of the honest site, and of the trap beside it."""


@pytest.fixture(scope="module", autouse=True)
def small_limits() -> Iterator[None]:
    """What holds links back does so in webs of 60 pages."""
    with small():
        yield


def _page(url: str, text: str, *urls: str) -> Page:
    links = [Link(one, Anchor("on", position=at)) for at, one in enumerate(urls)]
    return Page(url, title=text, text=text, links=links)


def _words(at: int) -> str:
    """That no other page has."""
    letters = "".join(chr(ord("a") + int(digit)) for digit in f"{at:03}")
    return f"{letters}word {letters}thing"


def _web(pages_of_a: list[Page]) -> SmallWorld:
    """A long chain on one domain, whose first page links to the other domain's."""
    chain = []
    for at in range(LONG):
        following = [f"http://b.example/{at + 1}"] if at + 1 < LONG else []
        also = [] if at else ["http://a.example/"]
        chain.append(_page(f"http://b.example/{at}", _words(at), *following, *also))
    return SmallWorld([*chain, *pages_of_a])


def _crawled(world: SmallWorld, shards: int, *, traps: bool, shares: bool) -> list[str]:
    """What was asked for in a crawl to its end: of the domains, one has a shard each."""

    def make(outbox: Outbox) -> Crawl:
        policy = registry.build("policies", "breadth-first", Task(np.random.default_rng(0)))
        guard = CrawlFilter(
            Scope.of([SEED], "anywhere"),
            traps=Traps() if traps else None,
            per_domain=None if shares else 1_000,
        )
        crawl = Crawl(
            policy,
            Function(lambda page: False),
            MemoryFrontier(),
            pages=0,
            link_filter=guard,
            outbox=outbox,
        )
        crawl.seed([SEED])
        return crawl

    owner = {"b.example": 0, "a.example": shards - 1}
    outboxes = [Outbox(at, shards, owner=lambda name, shards: owner[name]) for at in range(shards)]
    members = [LocalShard(outbox, make, world) for outbox in outboxes]
    assert LocalCrawl(members, Coordinator(shards, 1_000)).run() == "no open link left"
    return world.asked


def _trap() -> list[Page]:
    """Each page says the same and leads to two more."""
    pages = [
        _page(
            f"http://a.example/cal/{at}",
            "nothing on this day",
            f"http://a.example/cal/{at + 1}",
            f"http://a.example/cal/{at + 2}",
        )
        for at in range(TRAPPED)
    ]
    return [_page("http://a.example/", "home", "http://a.example/cal/0"), *pages]


def test_a_trap_is_tried_for_the_last_time_once_no_shard_has_anything_else() -> None:
    asked = {shards: _crawled(_web(_trap()), shards, traps=True, shares=False) for shards in (1, 2)}
    last = f"http://b.example/{LONG - 1}"
    early = {n: sum("/cal/" in url for url in its[: its.index(last)]) for n, its in asked.items()}
    assert 0 < early[2] <= early[1]
    for its in asked.values():
        assert len(its) == len({*its})
        assert sum("b.example" in url for url in its) == LONG
    whole = {n: sum("/cal/" in url for url in its) for n, its in asked.items()}
    assert whole[1] - 4 <= whole[2] <= whole[1] + 4, "as much is tried"
    assert whole[2] > early[2] + 6


def test_a_shard_waits_for_no_other_with_what_its_domains_share_holds_back() -> None:
    own = [f"http://a.example/{at}" for at in range(10)]
    pages = [_page(url, _words(100 + at)) for at, url in enumerate(own)]
    world = _web([_page("http://a.example/", "home", *own), *pages])
    asked = _crawled(world, 2, traps=True, shares=True)
    assert {*own} <= {*asked[: asked.index(f"http://b.example/{LONG - 10}")]}


def _report(links: int = 0) -> Report:
    """Of a shard with so many open links."""
    none = dict.fromkeys(("pages", "relevant", "grant", "in_flight", "waiting"), 0)
    return {**none, "open": links, "expects": {}, "links": {}, "model": None, "verdicts": []}


def test_a_crawl_is_over_once_all_shards_were_told_so_in_vain() -> None:
    hub = Coordinator(2, 100)

    def turn(shard: int, *, links: int = 0) -> bool:
        order = hub.order(shard)
        hub.report(shard, _report(links), 0.0)
        return bool(order["over"])

    for shard in (0, 1):
        hub.joined(shard, _report(1), 0.0)
    assert not turn(0)
    assert not turn(1, links=1)
    assert not hub.nearly_over
    assert not turn(0), "the other one has something"
    assert not turn(1)
    assert turn(0, links=1), "told so, it finds something"
    assert turn(1), "told in the same round, in vain"
    assert not turn(1), "once is enough as long as nothing has come since"
    assert not turn(0)
    assert not turn(1)
    assert turn(0)
    assert hub.reason == "no open link left"
    assert hub.nearly_over


def test_a_shard_that_dies_once_it_was_told_is_told_again() -> None:
    hub = Coordinator(1, 100)
    hub.joined(0, _report(), 0.0)
    assert hub.order(0)["over"]
    hub.lost(0)
    hub.joined(0, _report(), 0.0)
    assert hub.reason is None
    assert hub.order(0)["over"]
    hub.report(0, _report(), 0.0)
    assert hub.reason == "no open link left"
