"""Links that do something by their look: let in where they lead to documents, left where they do
not; and pages that nobody lists, which only show another page once more."""

from __future__ import annotations

from collections import Counter
from urllib.parse import urlsplit

import numpy as np
import pytest

from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.keywords import Keywords
from spoor.learn.state import pack, unpack
from spoor.link_filter.action_trials import TRIES, ActionTrials
from spoor.link_filter.link_filter import CrawlFilter
from spoor.link_filter.scope import Scope
from spoor.link_filter.trap_rests import IN_VAIN
from spoor.link_filter.traps import Traps
from spoor.policies.breadth_first import BreadthFirst
from spoor.simulation.replay import Replay
from spoor.types import Anchor, Fetch, Fetched, HeldLink, LeftOut, Link, Page, Task
from spoor.web.page import parse

HOME = "http://a.example/"


def words(seed: int, count: int) -> str:
    rng = np.random.default_rng(seed)
    letters = np.array(list("abcdefghijklmnop"))
    return " ".join("".join(rng.choice(letters, 7)) for _ in range(count))


def crawled(answer: object) -> tuple[Counter[str], LeftOut]:
    """What a whole crawl asked for, by path and name of the first parameter; what it left out."""

    class World:
        def answer(self, fetch: Fetch) -> Fetched:
            assert callable(answer)
            source = answer(fetch.url.removeprefix(HOME))
            return Fetched(fetch.ticket, parse(source.encode(), fetch.url))

    guard = CrawlFilter(Scope.of([HOME], "host"), traps=Traps())
    policy = BreadthFirst(Task(np.random.default_rng(0)))
    crawl = Crawl(policy, Keywords(["kiln"]), MemoryFrontier(), pages=2_000, link_filter=guard)
    crawl.seed([HOME])
    urls = [outcome.page.url for outcome in Replay(crawl, World()) if outcome.page]
    parts = map(urlsplit, urls)
    asked = Counter(f"{part.path.split('/')[1]}?{part.query.partition('=')[0]}" for part in parts)
    return asked, guard.left_out()


def news(documents: str):  # type: ignore[no-untyped-def]
    """A shop and its news, whose addresses look as if they made something new (`?op=new&id=5`),
    beside its baskets, votes and forms."""

    def answer(path: str) -> str:
        number = int(path.rpartition("=")[2] or 0)
        links = "".join(
            f'<a href="/?op=new&id={at}">Potters of street {at} open</a>'
            for at in range(number + 1, min(number + 9, 60))
        )
        links += f"""<a href="/?op=edit&id={number}">Edit this page</a>
            <a href="/?vote={number}">Red glaze or blue</a><a href="/?add-to-cart={number}">Bowl</a>
            <a href="/?action=edit&redlink=1&id={number}">Some other potter</a>"""
        return (
            f"<title>{documents} {number}</title><p>{3 * documents} {words(number, 30)}</p>{links}"
        )

    return answer


def test_a_listed_shape_that_leads_to_documents_is_let_in() -> None:
    asked, left_out = crawled(news("A kiln. "))
    assert asked == {"?": 1, "?op": 59}, "and nothing that votes, buys or edits"
    assert left_out.rules == {
        "it does something: edit": 120,
        "it does something: vote or report": 60,
        "it does something: basket": 60,
    }


def test_what_changes_what_is_kept_is_not_tried_whatever_its_link_says() -> None:
    guard = CrawlFilter(Scope.of([HOME], "host"))
    does = ["misc?action=markread&f=2", "x?do=retell&csrf_token=9f", "rate_post.php?id=7"]
    links = [Link(f"{HOME}{path}", Anchor("This forum with all")) for path in does]
    assert not guard.admit(Page(HOME, links=links), 1)


def test_one_that_does_not_is_left_after_a_few_tries() -> None:
    asked, left_out = crawled(news("A form. "))
    assert asked["?op"] == TRIES
    assert left_out.rules["it does something: edit"] >= 8


def test_what_a_sitemap_lists_is_a_document() -> None:
    guard = CrawlFilter(Scope.of([HOME], "host"))
    url = f"{HOME}votes?vote=5"
    assert not guard.admit(Page(HOME, links=[Link(url, Anchor("Roll call"))]), 1)
    assert guard.skip(1, url) == "it does something: vote or report"
    listing = Page(f"{HOME}sitemap.xml", links=[Link(url, Anchor())], flags=frozenset({"sitemap"}))
    assert [link.url for link in guard.admit(listing, 1)] == [url]
    again = CrawlFilter(Scope())
    again.load(unpack(pack(guard.save())))
    assert again.skip(1, url) == ""


def test_what_waits_is_asked_for_once_its_shape_is_let_in() -> None:
    trials = ActionTrials()
    held = [
        HeldLink(Link(f"{HOME}?op=new&id={at}", Anchor("Potters open")), 0, 1.0, 1, False)
        for at in range(TRIES + 2)
    ]
    assert [trials.offer(one, listed=False) for one in held] == [True] * TRIES + [False] * 2
    state = unpack(pack(trials.save()))
    trials = ActionTrials()
    trials.load(state)
    assert not trials.ended(held[0].link.url, success=False)
    assert not trials.release()
    assert trials.ended(held[1].link.url, success=True)
    assert [one.link.url for one in trials.release()] == [one.link.url for one in held[TRIES:]]
    assert trials.takes(f"{HOME}?op=new&id=99")
    assert not trials.takes("http://b.example/?op=new&id=99"), "of that host alone"


def test_shapes_of_one_domain_throw_away_nothing_of_another() -> None:
    """Whoever has a domain has names without end."""
    trials = ActionTrials()

    def offer(url: str, *, listed: bool = False) -> bool:
        link = Link(url, Anchor("Potters open"))
        return trials.offer(HeldLink(link, 0, 1.0, 1, False), listed=listed)

    own = [f"{HOME}?op=new&id={at}" for at in range(TRIES + 2)]
    others = [f"http://n{number}.evil.example/?op=new&id=1" for number in range(600)]
    assert [offer(url) for url in own] == [True] * TRIES + [False] * 2
    assert sum(offer(url) for url in others) == 499
    assert sum(trials.ended(url, success=True) for url in others) == 500
    assert trials.ended(own[0], success=True)
    assert [one.link.url for one in trials.release()] == own[TRIES:]
    state = unpack(pack(trials.save()))
    trials = ActionTrials()
    trials.load(state)
    assert trials.takes(f"{HOME}?op=new&id=99")
    assert not offer("http://new.evil.example/?op=new&id=1")
    assert offer("http://other.example/?op=new&id=1"), "another domain"


def test_sources_and_old_versions_of_pages_are_left() -> None:
    """A wiki of 40 articles with the source and six old versions of each, by a query that no list
    has: they bring a sentence that is no more, and nothing else."""
    texts = [words(at, 400).split() for at in range(40)]

    def answer(path: str) -> str:
        kind, _, rest = path.partition("?n=")
        number, _, version = (rest or kind.partition("/")[2]).partition("&v=")
        at = int(number or 0)
        if kind not in ("source", "version"):
            links = "".join(f'<a href="/wiki/{other}">article</a>' for other in range(40))
            links += f'<a href="/source?n={at}">source</a><a href="/version?n={at}&v=1">older</a>'
            return f"<title>Article</title><p>{' '.join(texts[at])}</p>{links}"
        if kind == "source":
            return f"<title>Source</title><textarea>{' '.join(texts[at])}</textarea>"
        old = words(1_000 * int(version) + at, 12)
        links = f'<a href="/version?n={at}&v={int(version) + 1}">older</a>' * (int(version) < 6)
        text = " ".join([*texts[at][: -10 * int(version)], old])
        return f"<title>Version</title><p>{text}</p>{links}"

    asked, left_out = crawled(answer)
    assert asked["wiki?"] == 40
    # Before the end, and then as many as may be in vain.
    assert asked["source?n"] + asked["version?n"] <= 20 + IN_VAIN, "of 280"
    assert sum(links for _, links, _ in left_out.held) >= 40
    assert {name for name, _, _ in left_out.held} >= {"a.example/version?n&v"}


def test_a_sitemap_speaks_for_its_own_host() -> None:
    """A stranger's would have the crawl log its user out."""
    acts = [f"{HOME}logout", f"{HOME}delete?id=7", "http://www.a.example/?op=new&id=5"]
    links = [Link(url, Anchor(text="x")) for url in acts]
    seen = {}
    for sitemap in ("http://b.example/sitemap.xml", "http://a.example/sitemap.xml"):
        guard = CrawlFilter(Scope(), traps=Traps())
        page = Page(sitemap, links=links, flags=frozenset({"sitemap"}))
        seen[sitemap] = [link.url for link in guard.admit(page, 1)]
    assert list(seen.values()) == [[], acts]


def test_the_guard_looks_at_links_that_are_not_known_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each page of a manual lists the same hundreds of links."""
    asked = list[str]()

    def holder_on(traps: Traps, url: str, page: Page, *, news: bool) -> str:
        asked.append(url)
        return ""

    monkeypatch.setattr(Traps, "may_hold", True)
    monkeypatch.setattr(Traps, "holder_on", holder_on)
    guard = CrawlFilter(Scope.of([HOME], "host"), traps=Traps())
    guard.knows = lambda url: url != f"{HOME}new"
    page = parse(b'<a href="/old">Old</a><a href="/new">New</a>', HOME)
    assert len(guard.admit(page, 1)) == 2
    assert asked == [f"{HOME}new"]
