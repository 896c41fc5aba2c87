"""What the guard against traps held back, once nothing else is left: a site whose pages repeat one
another is fetched, one without end is not."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.facts import Function
from spoor.learn.state import pack, unpack
from spoor.link_filter.link_filter import CrawlFilter
from spoor.link_filter.novelty import News
from spoor.link_filter.scope import Scope
from spoor.link_filter.trap_rests import FOR_NEWS, IN_VAIN, Rests, worth
from spoor.link_filter.traps import Traps
from spoor.policies.breadth_first import BreadthFirst
from spoor.simulation.replay import Replay
from spoor.types import (
    NO_PARENT,
    Anchor,
    Choice,
    Fetch,
    Fetched,
    HeldLink,
    InLink,
    Link,
    Outcome,
    Page,
    Task,
)
from spoor.web.page import parse
from spoor.web.url_groups import groups

HOME = "http://a.example/"
LANGUAGES, PAGES, SUBJECTS = 8, 48, 6
WORDS = np.random.default_rng(1).integers(97, 117, (8 * PAGES * LANGUAGES, 8), dtype=np.uint8)


def _text(number: int) -> str:
    return " ".join(bytes(word).decode() for word in WORDS[8 * number : 8 * number + 8])


class Manual:
    """A manual in eight languages: one page of so many is translated, others in each; what is not
    is there in English. Each page links to others of its language, and to itself in all."""

    def __init__(self, one_of: int) -> None:
        self.one_of, self.asked = one_of, list[str]()

    def text(self, language: int, page: int) -> int:
        translated = language == 0 or (page * 7 + language * 3) % self.one_of == 0
        return page + PAGES * language if translated else page

    def answer(self, fetch: Fetch) -> Fetched:
        self.asked.append(fetch.url)
        parts = fetch.url.removeprefix(HOME).split("/")
        links = [f"/{language}/s0/0.html" for language in range(LANGUAGES)]
        text = "Welcome"
        if len(parts) == 3:
            language, page = int(parts[0]), int(parts[2].removesuffix(".html"))
            text = _text(self.text(language, page))
            near = [(page + step) % PAGES for step in (1, 2, 7)]
            links = [f"/{language}/s{one % SUBJECTS}/{one}.html" for one in near]
            links += [f"/{other}/s{page % SUBJECTS}/{page}.html" for other in range(LANGUAGES)]
        body = "".join(f'<a href="{link}">on</a> ' for link in links)
        return Fetched(fetch.ticket, _parsed(f"<p>{text}</p>{body}", fetch.url))


@cache
def _parsed(source: str, url: str) -> Page:
    """Most pages are the same in all of these manuals."""
    return parse(source.encode(), url)


def _crawl(world: object, guard: CrawlFilter, in_flight: int, pages: int = 5_000) -> set[str]:
    """The texts that came."""
    crawl = Crawl(
        BreadthFirst(Task(np.random.default_rng(0))),
        Function(lambda page: False),
        MemoryFrontier(),
        pages=pages,
        link_filter=guard,
    )
    crawl.seed([HOME])
    replay = Replay(crawl, world, in_flight=in_flight)  # type: ignore[arg-type]
    return {outcome.page.text for outcome in replay if outcome.page}


@pytest.mark.parametrize(("one_of", "in_flight"), [(3, 1), (20, 1), (50, 1), (20, 16)])
def test_a_manual_of_which_most_pages_are_not_translated_comes_whole(
    one_of: int, in_flight: int
) -> None:
    world = Manual(one_of)
    whole = {world.text(*one) for one in np.ndindex(LANGUAGES, PAGES)}
    guard = CrawlFilter(Scope(), traps=Traps())
    texts = _crawl(world, guard, in_flight)
    assert len(texts) == len(whole) + 1
    assert len(set(world.asked)) == len(world.asked)


class Chain:
    """Pages that say the same and lead to the next one, for ever, beside one."""

    def __init__(self) -> None:
        self.asked = list[str]()

    def answer(self, fetch: Fetch) -> Fetched:
        self.asked.append(fetch.url)
        at = int(fetch.url.removeprefix(HOME).removeprefix("at/") or 0)
        source = f'<p>Go on to the next page</p><a href="/at/{at + 1}">on</a>'
        return Fetched(fetch.ticket, parse(source.encode(), fetch.url))


def test_a_chain_without_end_is_left() -> None:
    world = Chain()
    _crawl(world, CrawlFilter(Scope(), traps=Traps()), 1)
    assert len(world.asked) <= 16 + IN_VAIN


def test_links_to_fetched_pages_do_not_wait() -> None:
    world, guard = Manual(50), CrawlFilter(Scope(), traps=Traps())
    _crawl(world, guard, 4)
    assert guard._traps is not None
    waiting = {
        held.link.url for name in guard._traps._groups.waiting for held in _all(guard._traps, name)
    }
    assert waiting.isdisjoint(world.asked)


def _all(traps: Traps, name: str) -> list:  # type: ignore[type-arg]
    return traps._groups.waiting.all(name)


def test_more_and_more_is_asked_for_until_too_much_was_in_vain() -> None:
    rests, given = Rests(), list[int]()
    while most := rests.most("a", pages=100):
        urls = [f"http://a/x/{sum(given) + at}" for at in range(most)]
        given.append(most)
        rests.ask("a", urls)
        assert all(rests.ended(url, news=False) for url in urls)
        rests.load(unpack(pack(rests.save())))
    assert given == [2, 4, 8, 16] == [2, 4, 8, IN_VAIN - 14]
    assert rests.most("a", pages=700) == 5, "a twentieth of its pages are more"
    assert rests.most("b", pages=1) == 2
    rests.ask("b", ["http://b/1", "http://b/2"])
    assert rests.most("b", pages=2) == 0, "no more than it has pages"


def test_news_allow_more() -> None:
    rests = Rests()
    urls = [f"http://a/x/{at}" for at in range(IN_VAIN)]
    rests.ask("a", urls)
    assert rests.most("a", pages=100) == 0
    assert all(rests.ended(url, news=url == urls[0]) for url in urls)
    assert rests.most("a", pages=100) == 2, "and begins anew"
    rests.ask("a", urls[:FOR_NEWS])
    assert rests.most("a", pages=100) == 1, "one was not in vain"


def test_a_link_is_worth_its_chance_of_news() -> None:
    assert worth(0, 0) == 0.5
    assert worth(3, 18) == 0.2
    assert worth(0, 18) == 0.05
    assert worth(0, 19) == 0.0


def test_what_was_not_asked_for_here_does_not_count() -> None:
    rests = Rests()
    assert not rests.ended("http://a/x", news=True)
    assert rests.most("a", pages=0) == 2


def _waiting(traps: Traps, url: str) -> None:
    traps.hold("a.example/x/*", HeldLink(Link(url, Anchor()), NO_PARENT, 0.0, 1, False))
    traps._groups.count("a.example/x/*").tries = 9


def test_what_led_elsewhere_brought_the_news_of_that_page() -> None:
    traps, guard = Traps(), CrawlFilter(Scope())
    guard._traps = traps
    for number in range(40):
        _waiting(traps, f"http://a.example/x/{chr(97 + number % 26)}{number}")
    came = 0
    while links := guard.release(over=True, last=True):
        for held in links:
            came += 1
            url, link = held.link.url, came
            assert not guard.skip(link, url)
            moved = url.replace("/x/", "/now/")
            assert not guard.skip(link, moved)
            page = Page(moved, text=_text(came))
            choice = Choice(link)
            guard.ended(Outcome(choice, Fetched(came, page), None, 0.0), str)
    assert came == 40


def test_what_waits_is_not_looked_at_anew_each_time() -> None:
    """Of 5,000 long URLs that took half a second, in which nothing else was done."""
    traps = Traps()
    for number in range(5_000):
        _waiting(traps, f"http://a.example/x/{number}?" + "&".join(f"p{at}=1" for at in range(20)))
    for _ in range(2):
        groups.cache_clear()
        loaded = Traps()
        assert len(traps.release(over=True)) <= 2
        assert groups.cache_info().misses == 0
        loaded.load(unpack(pack(traps.save())))
        traps = loaded


def test_the_looks_that_are_remembered_are_bounded() -> None:
    traps = Traps()
    for number in range(30_000):
        _waiting(traps, f"http://a.example/x/{number}")
    assert len(traps._groups._shapes) <= 20_000
    assert {*traps._groups.waiting.urls()} <= {*traps._groups._shapes}


class Counts(CrawlFilter):
    """Counts the links that were chosen in vain."""

    drops = 0

    def dropped(self, url: str, seen: InLink | None, *, redirected: bool = False) -> None:
        self.drops += 1
        super().dropped(url, seen, redirected=redirected)


def test_a_group_that_opens_again_and_again_is_not_entered_whole_each_time() -> None:
    """Each page has ten links; one of seven has news: what waits is entered little by little."""

    class Tree(Chain):
        def answer(self, fetch: Fetch) -> Fetched:
            self.asked.append(fetch.url)
            at = int(fetch.url.removeprefix(HOME).removeprefix("at/p") or 0)
            text = _text(len(self.asked)) if len(self.asked) % 7 == 1 else "Go on to the next page"
            links = "".join(f'<a href="/at/p{10 * at + one}">on</a> ' for one in range(1, 11))
            return Fetched(fetch.ticket, parse(f"<p>{text}</p>{links}".encode(), fetch.url))

    world, guard = Tree(), Counts(Scope(), traps=Traps())
    _crawl(world, guard, 1, pages=200)
    assert len(world.asked) == 200
    assert guard.drops < 80 * len(world.asked)


def test_links_of_a_group_that_opened_enter_more_at_a_time_the_more_pages_of_it_came() -> None:
    traps, came, some = Traps(), list[str](), list[int]()
    for number in range(300):
        _waiting(traps, f"http://a.example/x/{number}")
    traps._groups.open("a.example/x/*")
    while links := traps.release(over=False):
        came += [held.link.url for held in links]
        some.append(len(links))
        for _ in range(8):
            traps._groups.add("a.example/x/*", came[-1], News.WORDS, 4, False, tried=False)
        loaded = Traps()
        loaded.load(unpack(pack(traps.save())))
        traps = loaded
    assert came == [f"http://a.example/x/{number}" for number in range(300)]
    assert some[:4] == [17, 2, 3, 4]
    assert max(some) <= 64


def test_of_a_group_that_opens_now_and_then_few_links_enter_and_wait_again() -> None:
    world, guard = Manual(20), Counts(Scope(), traps=Traps())
    _crawl(world, guard, 4)
    assert guard.drops < 1.2 * len(world.asked)
