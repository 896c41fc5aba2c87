"""Links that come to nothing have a bound, whoever names them, and however they fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.keywords import Keywords
from spoor.learn.state import pack, unpack
from spoor.link_filter import vain_links
from spoor.link_filter.link_filter import CrawlFilter
from spoor.link_filter.scope import Scope
from spoor.link_filter.traps import Traps
from spoor.link_filter.vain_links import BYTES, FOR_EACH
from spoor.policies.breadth_first import BreadthFirst
from spoor.types import Failed, Fetch, Fetched, Link, Page, Redirected, Reply, Sleep, Task
from spoor.views.explain import left_out_lines
from spoor.web.urls import domain_of

FARM, GOOD = "http://www.farm.example/", "http://good.example/0"
LEAST, OF_OTHERS = 60, 20

Answers = Callable[[Fetch], Reply | None]
"""None: a page."""


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vain_links, "LEAST", LEAST)
    monkeypatch.setattr(vain_links, "OF_OTHERS", OF_OTHERS)


def of_farm(step: Fetch) -> list[str]:
    """A page and two hundred more."""
    number = step.url.rpartition("/")[2] or "0"
    dead = [f"http://www.farm.example/dead/{number}/{n}" for n in range(200)]
    return [*dead, f"http://www.farm.example/p{int(number.strip('p')) + 1}"]


def to_names(step: Fetch) -> list[str]:
    """The same on hosts without end, each of which has a domain of its own."""
    *dead, more = of_farm(step)
    return [*(f"http://x{n}.y{one.split('/')[4]}/dead/" for n, one in enumerate(dead)), more]


def crawled(
    answer: Answers,
    *seeds: str,
    scope: str = "domain",
    links: Callable[[Fetch], list[str]] = of_farm,
    pages: int = 30,
    again: int = 0,
) -> tuple[Counter[str], Crawl]:
    """Requests by domain, and the crawl, saved and loaded now and then; gone on with so often once
    it has ended."""

    def made() -> Crawl:
        policy = BreadthFirst(Task(np.random.default_rng(0)))
        chosen = CrawlFilter(Scope.of(seeds, scope), traps=Traps())
        return Crawl(policy, Keywords(["kiln"]), MemoryFrontier(), pages=pages, link_filter=chosen)

    crawl, asked, now = made(), Counter[str](), 0.0
    crawl.seed(seeds)
    while True:
        step = crawl.next(now)
        if isinstance(step, Sleep):
            now = max(step.until, now)
            continue
        if not isinstance(step, Fetch):
            if not again:
                return asked, crawl
            again -= 1
            assert isinstance(crawl.link_filter, CrawlFilter)
            crawl.link_filter.go_on()
            continue
        asked[domain_of(step.url)] += 1
        reply = answer(step)
        if reply is None:
            if step.url.startswith(GOOD[:-1]):
                number = int(step.url.rpartition("/")[2])
                urls = [f"{GOOD[:-1]}{number + 1}"] if number < 20 else []
            else:
                urls = links(step)
            text = f"words of {step.url} and {asked.total()}"
            reply = Fetched(step.ticket, Page(step.url, text=text, links=[*map(Link, urls)]))
        crawl.receive(reply, now)
        if asked.total() % 90 == 0:
            state = unpack(pack(crawl.save()))
            crawl = made()
            crawl.load(state)


def absent(step: Fetch) -> Reply | None:
    return Failed(step.ticket, "absent", "404") if "dead" in step.url else None


def long(step: Fetch) -> Reply | None:
    """Megabytes that nobody can read."""
    failed = Failed(step.ticket, "unreadable", "the PDF is damaged", 200, size=4 * BYTES)
    return failed if "dead" in step.url else None


def shut(step: Fetch) -> Reply | None:
    """A robots.txt on each of the hosts."""
    return Failed(step.ticket, "robots", "forbidden") if "dead" in step.url else None


def away(step: Fetch) -> Reply | None:
    """Redirects out of the scope."""
    led = Redirected(step.ticket, f"http://b.example/{step.url}")
    return led if "dead" in step.url else None


@pytest.mark.parametrize(("answer", "each"), [(absent, 1.0), (long, 0.25), (away, 4.0)])
def test_what_fails_has_a_bound(answer: Answers, each: float) -> None:
    """It was 200 requests for each page; another seed has all its pages."""
    asked, crawl = crawled(answer, FARM, GOOD)
    came = crawl.counts.pages - 21
    assert asked["good.example"] == 21
    assert 0 < came < 9, "a page in two hundred"
    assert asked["farm.example"] <= each * (LEAST + FOR_EACH * came) + came + 2
    (line,) = (one for one in left_out_lines(crawl.link_filter.left_out()) if "held" in one)  # type: ignore[union-attr]
    assert "what farm.example links" in line
    assert "came to nothing" in line


@pytest.mark.parametrize("answer", [absent, shut])
def test_hosts_without_end_have_the_bound_of_who_names_them(answer: Answers) -> None:
    asked, crawl = crawled(answer, GOOD, FARM, scope="anywhere", links=to_names, pages=40)
    assert asked.total() - crawl.counts.pages <= LEAST + FOR_EACH * (crawl.counts.pages - 20)


def test_links_of_one_host_that_robots_txt_forbids_cost_nothing() -> None:
    asked, crawl = crawled(shut, FARM, pages=5)
    assert (crawl.counts.pages, asked["farm.example"]) == (5, 4 * 200 + 5)


def test_a_link_that_another_domain_has_too_is_followed_and_who_goes_on_has_more() -> None:
    """Until nothing is left that waited."""

    def links(step: Fetch) -> list[str]:
        return of_farm(step) if step.url == FARM else []

    once, _ = crawled(absent, FARM, links=links)
    more, crawl = crawled(absent, FARM, links=links, again=9)
    assert once["farm.example"] <= LEAST + FOR_EACH + 1
    assert more["farm.example"] == 202
    assert not crawl.link_filter.left_out().held  # type: ignore[union-attr]
