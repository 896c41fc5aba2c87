"""Traps do not eat the budget, and real pages are not taken for any."""

from __future__ import annotations

import asyncio
import html
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopback import ADDRESS, MISSING, Asked, Loopback, reply
from noisy_news import article
from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.keywords import Keywords
from spoor.learn.state import pack, unpack
from spoor.link_filter import novelty as novelty_module
from spoor.link_filter.action_trials import ActionTrials
from spoor.link_filter.link_filter import CrawlFilter
from spoor.link_filter.novelty import News, Novelty, masked
from spoor.link_filter.scope import Scope
from spoor.link_filter.trap_groups import SAMPLE
from spoor.link_filter.trap_rests import IN_VAIN
from spoor.link_filter.traps import Traps
from spoor.link_filter.url_rules import UrlRules
from spoor.live.driver import HttpDriver
from spoor.policies.breadth_first import BreadthFirst
from spoor.protocols import Offer
from spoor.settings import Settings
from spoor.simulation.replay import Replay
from spoor.types import Choice, Failed, Fetch, Fetched, Finished, Link, Outcome, Page, Task
from spoor.web.actions import _matched as action_of
from spoor.web.page import parse
from spoor.web.url_groups import groups, oddity
from spoor.worlds.generated import GeneratedSettings, GeneratedWorld

PAGES = 500
SITE = GeneratedWorld(
    GeneratedSettings(pages=PAGES, hosts=1, seed=7, traps=("calendar", "session", "facets"))
)
HOST = SITE.url_of(0).split("/")[2]
ENTRANCES = '<a href="/lost/way-in">a</a><a href="/in/in2">b</a><a href="http://w0.{0}/">c</a>'


def engine(pages: int, link_filter: CrawlFilter) -> Crawl:
    task = Task(np.random.default_rng(0))
    return Crawl(
        BreadthFirst(task),
        Keywords(["kiln"]),
        MemoryFrontier(),
        pages=pages,
        link_filter=link_filter,
    )


def document(asked: Asked) -> bytes:
    """The generated site with its three traps, and three more: soft 404s, paths that grow,
    hosts without end."""
    seed = zlib.crc32(asked.url.encode())
    if asked.path == "/robots.txt":
        return MISSING
    if asked.host != HOST:
        links = (
            f'<a href="http://w{seed}.{HOST}/">one</a><a href="http://w{seed + 1}.{HOST}/">two</a>'
        )
        return reply(f"<title>Parked</title><h1>This name may be yours</h1>{links}")
    if asked.path.startswith("/lost/"):
        links = "".join(f'<a href="/lost/{seed + at:x}-gone">more</a>' for at in range(3))
        return reply(f"<title>Oops</title><h1>We could not find that</h1>{links}")
    if asked.path.startswith("/in/"):
        return reply(
            f'<title>In {seed}</title><p>word{seed}</p><a href="{asked.path}/in/in2">in</a>'
        )
    found = SITE.document(asked.url)
    if found is None:
        return MISSING
    source = found[1]
    if asked.url == SITE.url_of(0):
        source = source.replace("</footer>", ENTRANCES.format(HOST) + "</footer>")
    return reply(source)


def kind(url: str) -> str:
    """`page`, or the name of the trap."""
    _, _, name, *path = url.split("/")
    if name != HOST:
        return "hosts"
    traps = ("calendar", "session", "facets", "lost", "in")
    return path[0] if path and path[0] in traps else "page"


def crawled(link_filter: CrawlFilter, pages: int = 2 * PAGES) -> Counter[str]:
    server = Loopback(document)

    async def work() -> None:
        async with server.serving():
            crawl = engine(pages, link_filter)
            crawl.seed([SITE.url_of(0)])
            http = Settings(per_host=100, connect_to=f"{ADDRESS}:{server.port}", in_flight=8)
            await HttpDriver(crawl, http).run()

    asyncio.run(work())
    asked = {item.url for item in server.asked if item.path != "/robots.txt"}
    assert len(asked) == len(server.asked) - sum(a.path == "/robots.txt" for a in server.asked)
    return Counter(kind(url) for url in asked)


@pytest.mark.server
def test_six_traps_beside_a_site() -> None:
    got = crawled(CrawlFilter(Scope(), traps=Traps()))
    assert got["page"] >= 0.95 * PAGES
    # A tenth; what is in flight while a group is closed, and what is asked for at the end, come on top.
    most = 0.1 * 1.1 * PAGES + 16 + IN_VAIN
    assert got.total() - got["page"] <= most, "and the crawl ends: there is nothing more"
    assert set(got) == {"page", "calendar", "session", "facets", "lost", "in", "hosts"}


@pytest.mark.server
def test_without_a_guard_they_do() -> None:
    got = crawled(CrawlFilter(Scope()), 750)
    assert got.total() - got["page"] > 0.3 * 750


@pytest.mark.server
def test_a_site_without_traps_is_fetched_whole() -> None:
    world = GeneratedWorld(GeneratedSettings(pages=200, hosts=6, seed=11))
    link_filter = CrawlFilter(Scope(), traps=Traps(), per_domain=10_000)  # no shares of domains
    crawl = engine(10_000, link_filter)
    crawl.seed([world.url_of(0)])
    assert sum(outcome.page is not None for outcome in Replay(crawl, world)) == 200
    assert crawl.counts.skipped == 0


@pytest.mark.parametrize(
    "path",
    [
        "/a/b/a/b/a/b/c",
        "/x/css/css/css/p",
        "/a/q/a/w/a/e/a",
        "/" + "/".join(f"s{at}" for at in range(25)),
        "/p?" + "&".join(f"k{at}=1" for at in range(13)),
        "/p?f=1&f=2&f=3&f=4&f=5",
        "/p?q=" + "x" * 2_000,
        "/p?a=1" + "&" * 64,
    ],
)
def test_odd_urls(path: str) -> None:
    assert oddity(f"http://a.example{path}")


@pytest.mark.parametrize(
    "path",
    ["/", "/2024/11/11/11", "/a/b/a/b", "/en/docs/en", "/p?a=1&b=2&f=1&f=2", "/0/0/0/0/0/", "//x"],
)
def test_usual_urls(path: str) -> None:
    assert not oddity(f"http://a.example{path}")


def test_a_seed_is_asked_for_whatever_it_looks_like() -> None:
    scope = Scope()
    guard = CrawlFilter(scope, traps=Traps())
    query = "&".join(f"p{one}=1" for one in range(70))
    odd = [f"http://a.example/{its}" for its in ("y" * 2_100, f"?{query}", "a/" * 25)]
    assert all(map(guard.why_not, odd))
    scope.seed(odd)
    assert not any(map(guard.why_not, odd))


def test_urls_that_are_too_long_are_in_no_table() -> None:
    rules = UrlRules(Scope(), ActionTrials(), guarded=True)
    seen = action_of.cache_info().currsize
    for at in range(3):
        plain, why = rules.look(url := f"http://a.example/{at}/{'x' * 2_000}")
        assert plain == url
        assert "longer than" in why
        assert "parts" in rules.look(f"http://a.example/{at}?{'a&' * 64}")[1]
    assert not rules.memo
    assert action_of.cache_info().currsize == seen


def test_groups_go_from_narrow_to_wide() -> None:
    assert [name for name, _ in groups("http://a.example/cal/2024/5?view=day&a=1")] == [
        "a.example/cal/#/#?a&view",
        "a.example/cal/#/#?*",
        "a.example/**?a&view",
        "a.example/cal/#/*",
        "a.example/cal/**",
    ]
    assert groups("http://a.example/about") == (("a.example/*", False),)
    item = groups("http://a.example/item/deadbeef42")
    assert item == (("a.example/item/#", True), ("a.example/item/*", False))
    assert [masked(word) for word in "Events of 3rd May, 2024".lower().split()] == [
        "events",
        "of",
        "#",
        "#",
        "#",
    ]


def page_at(url: str, title: str, text: str, *links: str) -> Page:
    body = "".join(f'<a href="{html.escape(link)}">x</a>' for link in links)
    return parse(f"<title>{title}</title><p>{text}</p>{body}".encode(), url)


def seen(traps: Traps, page: Page, *, relevant: bool = False) -> list[str]:
    """The links of a page that a crawl would follow, once it was judged."""
    link_filter = CrawlFilter(Scope(), traps=traps)
    found = [link.url for link in link_filter.admit(page, 1)]
    traps.ended(page, relevant=relevant)
    return found


def test_letters_that_could_be_a_number_take_linear_time() -> None:
    # A second million of them took ten days where each letter looked for a digit by itself.
    assert [masked("abcdef" * 200_000)] == ["abcdef" * 200_000]
    assert [masked(word) for word in "deadbeef01 cafe1 20041122 abcdefab".lower().split()] == [
        "#",
        "cafe#",
        "#",
        "abcdefab",
    ]


def test_session_parameters_are_dropped_and_the_page_kept() -> None:
    page = page_at("http://a.example/", "t", "words", "/x?sid=1&q=2", "/y;jsessionid=9", "/z?q=1")
    assert seen(Traps(), page) == [f"http://a.example{at}" for at in ("/x?q=2", "/y", "/z?q=1")]


def test_one_new_word_is_news_and_another_order_is_none() -> None:
    novelty = Novelty()
    frame = " ".join(f"frame{chr(97 + at)}" for at in range(26))
    url = "http://a.example/item/{}".format
    assert novelty.page("a.example", url(1), f"{frame} bowl")[0] == News.WORDS
    assert novelty.page("a.example", url(2), f"{frame} bowl")[0] == News.NOTHING
    assert novelty.page("a.example", url(3), f"{frame} cup")[0] == News.WORDS
    assert novelty.page("a.example", url(4), f"{frame} cup 12")[0] == News.WORDS, "with any number"
    assert novelty.page("a.example", url(5), f"{frame} cup 13")[0] == News.NUMBERS
    parts = frame.split()
    moved = " ".join(parts[13:] + parts[:13]) + " cup"
    assert novelty.page("a.example", url(6), moved)[0] < News.WORDS
    assert novelty.page("a.example", url("spoon"), f"{frame} spoon")[0] == News.NUMBERS, "its URL's"
    assert novelty.page("b.example", url(8), f"{frame} bowl")[0] == News.WORDS, "another domain"


def calendar(month: int, *links: str) -> Page:
    return page_at(f"http://a.example/cal/{month}", "Events", f"None in 2024, {month}", *links)


def test_a_text_that_is_read_again_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The columns of its words are kept until the words are forgotten, which a URL can cause."""
    monkeypatch.setattr(novelty_module, "_MEMO", 12)
    texts = ["pots in red and blue", "red pots and a kiln of clay", "pots in red and blue"]
    asked = [
        (domain, f"http://a.example/{url}", text)
        for text, url in zip(texts, ("a-b-c-d-e-f", "red", "x-y-z"), strict=True)
        for domain in ("a.example", "b.example", "a.example")
    ]
    novelty, other = Novelty(), Novelty()
    for one in asked:
        other._words.clear()
        other._words._last = None, other._words._last[1]
        assert novelty.page(*one) == other.page(*one)
    assert pack(novelty.save()) == pack(other.save())


def test_what_was_seen_goes_on_from_a_state_of_now_and_of_before() -> None:
    def seen(novelty: Novelty) -> list[object]:
        return [novelty.page("a.example", f"http://a.example/?{n}", text(n)) for n in range(30)]

    def text(number: int) -> str:
        return " ".join(f"word{chr(97 + at * number % 26)}{at}" for at in range(400))

    novelty = Novelty()
    assert {*novelty.save()} == {"now", "set"}, "what is not used is not saved"
    for made in (novelty, Novelty()):
        made.load(unpack(pack(Novelty().save())))
        assert seen(made) == seen(Novelty())
    state = unpack(pack(novelty.save()))
    state_before = {"before": np.zeros_like(state["now"]), **state}
    after = []
    for saved in (state, state_before):
        other = Novelty()
        seen(other)  # it is forgotten
        other.load(saved)
        after.append(seen(other))
    assert after == [seen(novelty)] * 2


def test_what_a_list_shows_of_documents_is_new_when_they_come_and_not_in_another_list() -> None:
    novelty, url = Novelty(), "http://a.example/{}".format
    post, another = "a bowl of clay and ash", "the kiln of the old potter"
    both = f"{post} {another}"
    assert novelty.page("a.example", url(""), both, is_list=True)[0] == News.WORDS
    assert novelty.page("a.example", url("tag"), both, is_list=True)[0] == News.NOTHING
    assert novelty.page("a.example", url("post"), post)[0] == News.WORDS
    assert novelty.page("a.example", url("copy"), post)[0] == News.NOTHING
    assert novelty.page("a.example", url("month"), post, is_list=True)[0] == News.NOTHING
    only_looked_at = novelty.page("a.example", url("x"), "of salt", keep=False, is_list=True)[0]
    assert only_looked_at == News.WORDS
    assert novelty.page("a.example", url("x"), "of salt", is_list=True)[0] == News.WORDS


def test_known_words_are_no_news_on_a_page_whose_url_has_one_of_them() -> None:
    """A list of all colours, shown once more for each colour: the masked word between its old
    neighbours would make three new triples."""
    novelty, colours = Novelty(), "pots in red blue green black white brown grey pink"
    url = "http://a.example/shop?colour="
    assert novelty.page("a.example", f"{url}red", colours)[0] == News.WORDS
    for colour in ("blue", "green", "black", "white", "brown"):
        assert novelty.page("a.example", f"{url}{colour}", colours)[0] == News.NOTHING
    assert novelty.page("a.example", f"{url}grey", f"{colours} and violet")[0] == News.WORDS


def test_a_page_that_came_waits_no_longer_whatever_held_it_back() -> None:
    """It may have waited for other pages, too, and was asked for as one of these."""
    traps = Traps()
    for name in "abcdef":
        url, text = f"http://a.example/wiki/{name}", f"all that is known of {name * 9}"
        seen(traps, page_at(url, name, text, f"{url}?v=1"))
        if name < "e":
            seen(traps, page_at(f"{url}?v=1", name, text, url))
    assert [(group.name, group.links) for group in traps.held_groups()] == [("a.example?v=", 2)]
    seen(traps, page_at(f"{url}?v=1", name, text, url))
    assert [(group.name, group.links) for group in traps.held_groups()] == [("a.example?v=", 1)]


def test_a_group_is_held_back_after_a_sample_and_opened_by_news() -> None:
    traps = Traps()
    for month in range(SAMPLE + 1):  # the first is new
        following = f"http://a.example/cal/{month + 1}"
        assert seen(traps, calendar(month, following)) == [following]
    assert seen(traps, calendar(99, "/cal/100")) == []
    (group,) = traps.held_groups()
    assert group == ("a.example/cal/#", 1, "7 of 8 pages brought nothing new")
    listed = seen(traps, page_at("http://a.example/index", "Index", "Of all months", "/cal/7"))
    assert listed == ["http://a.example/cal/7"], "a page with news, of another group, lists it"
    assert not traps.release(over=False)
    (tried,) = traps.release(over=True)
    assert tried.link.url == "http://a.example/cal/100"
    assert traps.passes(tried.link.url) == "" != traps.passes("http://a.example/cal/101")
    seen(traps, page_at(tried.link.url, "Feast", "A market of potters", "/cal/102"))
    assert not traps.held_groups()
    assert [held.link.url for held in traps.release(over=False)] == ["http://a.example/cal/102"]
    assert traps.passes("http://a.example/cal/101") == ""


WORDS = (
    "anvil basket candle dagger easel fiddle goblet hammer inkwell jacket kettle ladder mirror "
    "needle oar pillow quiver ribbon saddle teapot"
).split()


def history(number: int, *, indexed: bool = False, closed: bool = True) -> Page:
    """What a wiki has beside an article; each has words that no other page has."""
    flags = frozenset({"noindex", *(["nofollow"] if closed else [])})
    url = f"http://a.example/index.php?title=Pot{number}&action=history"
    page = page_at(url, "", f"The {WORDS[number % 20]} of them")
    return page if indexed else replace(page, flags=flags)


@pytest.mark.parametrize(
    ("articles_are_indexed", "closed", "relevant", "sample"),
    [
        (True, True, False, 3),
        (True, True, True, 99),
        (False, True, False, 99),
        (True, False, False, 99),
    ],
)
def test_what_is_neither_for_search_engines_nor_leads_anywhere_is_held_back_sooner(
    *, articles_are_indexed: bool, closed: bool, relevant: bool, sample: int
) -> None:
    """But for relevant pages, and on a site that leaves out all of its pages; the further pages of
    a blog, which are not for search engines, may be the only way to its articles."""
    traps = Traps()
    article = page_at("http://a.example/wiki/Pots", "Pots", "clay fire")
    flags = frozenset[str]() if articles_are_indexed else frozenset({"noindex"})
    seen(traps, replace(article, flags=flags))
    traps.load(unpack(pack(traps.save())))
    for number in range(10):
        url = history(10 + number).url
        assert bool(traps.holder(url)) == (number >= sample)
        seen(traps, history(number, closed=closed), relevant=relevant)
    if sample < 10:
        seen(traps, history(19, indexed=True))
        assert not traps.holder(history(51).url)


def test_what_other_parameters_lead_to_says_nothing_of_a_shape_with_news() -> None:
    traps = Traps()
    for at in range(3):
        words = " ".join(f"{word * (at + 2)}" for word in "abcdefghij")
        seen(traps, page_at(f"http://a.example/show?tid={at}", f"Thread {at}", words))
    for at in range(SAMPLE + 2):
        seen(
            traps,
            page_at(f"http://a.example/show?mode=x&pid={at}", "Thread", "posts of a thread again"),
        )
    assert traps.holder("http://a.example/show?mode=x&pid=99")
    assert traps.holder("http://a.example/show?other=1"), "as what was not tried"
    assert not traps.holder("http://a.example/show?tid=99")


def test_relevant_pages_without_news_have_four_times_the_sample() -> None:
    traps = Traps()
    for month in range(4 * SAMPLE + 1):
        assert seen(traps, calendar(month, f"/cal/{month + 1}"), relevant=True)
    assert not seen(traps, calendar(99, "/cal/100"), relevant=True)


def test_a_parameter_that_does_not_matter_keeps_no_page_back_that_was_not_fetched() -> None:
    traps = Traps()
    for at in range(5):
        for session in "xy":
            page = page_at(f"http://a.example/{at}?s={session}{at}", "T", f"word{'abcde'[at]} so")
            seen(traps, page)
    assert (
        traps.holder("http://a.example/3?s=z", listed_by="http://a.example/index/")
        == "a.example?s="
    )
    assert traps.holder("http://a.example/9?s=z", listed_by="http://a.example/index/") == ""
    seen(traps, page_at("http://a.example/3?s=w", "T", "another text"))
    assert traps.holder("http://a.example/3?s=z", listed_by="http://a.example/index/") == "", (
        "it matters after all"
    )


def test_a_page_that_came_with_a_parameter_that_does_not_matter_is_not_asked_for_without_it() -> (
    None
):
    """Menus link to a page as it is, texts link to it with `?from=`: half of what is fetched would
    be the same twice."""
    traps = Traps()
    for at in range(6):
        seen(traps, page_at(f"http://a.example/{at}?from=text", "T", f"word{'abcdef'[at]} so"))
    for at in range(3):
        seen(traps, page_at(f"http://a.example/{at}", "T", f"word{'abcdef'[at]} so"))
    assert traps.holder("http://a.example/4", listed_by="http://a.example/index/") == "", (
        "three pairs are too few"
    )
    seen(traps, page_at("http://a.example/3", "T", "wordd so"))
    again = Traps()
    again.load(traps.save())
    for guard in (traps, again):
        assert (
            guard.holder("http://a.example/4", listed_by="http://a.example/index/")
            == "a.example?from="
        )
        assert (
            guard.holder("http://a.example/4?from=menu", listed_by="http://a.example/index/")
            == "a.example?from="
        )
        assert (
            guard.holder("http://a.example/4?sort=size", listed_by="http://a.example/index/") == ""
        )
        assert guard.holder("http://a.example/9", listed_by="http://a.example/index/") == "", (
            "not fetched in any way"
        )
        seen(guard, page_at("http://a.example/5", "T", "another text"))
        assert guard.holder("http://a.example/4", listed_by="http://a.example/index/") == "", (
            "it matters after all"
        )


def test_a_held_link_is_asked_for_in_the_end_and_a_catalogue_is_fetched_whole() -> None:
    """The benchmark's small pages, and what a crawl makes of a group that is worth it late."""

    class Late:
        """Pages that say the same, each leading to the next; the last has a document."""

        def answer(self, fetch: Fetch) -> Fetched:
            at = int(fetch.url.rpartition("/")[2] or 0)
            text = "Clay and kiln, at last" if at > 8 else "More"
            link = "" if at > 20 else f"/next/{at + 1}"
            return Fetched(fetch.ticket, page_at(fetch.url, "Next", text, *[link] * bool(link)))

    crawl = engine(1000, CrawlFilter(Scope(), traps=Traps()))
    crawl.seed(["http://a.example/next/0"])
    urls = [outcome.page.url for outcome in Replay(crawl, Late()) if outcome.page]
    assert len(urls) > 9, "held back at 7, and tried again since nothing else was left"
    spec = spec_from_file_location("traps_benchmark", "benchmarks/traps.py")
    assert spec is not None
    assert spec.loader is not None
    benchmark = module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    assert benchmark.small() == 0
    vars(benchmark)["SITE"] = 150
    for trap in ("calendar", "session"):
        lost, requests, inside = benchmark.generated(trap)
        assert lost == 0, trap
        assert inside <= 0.1 * requests + IN_VAIN, trap


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), max_size=40), st.integers(0, 40))
@settings(max_examples=20)
def test_a_saved_guard_goes_on_the_same(steps: list[tuple[int, int]], cut: int) -> None:
    def one(link_filter: CrawlFilter, at: int, text: int) -> tuple[list[str], str]:
        url = f"http://h{at % 3}.a.example/d/{at}"
        page = page_at(url, "T", f"text number of {'x' * text}", f"/d/{at + 1}", "/other?sid=4")
        why = link_filter.skip(at, url)
        return [link.url for link in link_filter.admit(page, 1)], why

    whole = CrawlFilter(Scope(), traps=Traps(), per_host=5, per_domain=9)
    parts = CrawlFilter(Scope(), traps=Traps(), per_host=5, per_domain=9)
    for number, step in enumerate(steps):
        if number == cut:
            state = unpack(pack(parts.save()))
            parts = CrawlFilter(Scope(), traps=Traps(), per_host=5, per_domain=9)
            parts.load(state)
        assert one(whole, *step) == one(parts, *step)
    assert pack(whole.save()) == pack(parts.save())


@pytest.mark.parametrize(("per_host", "per_domain"), [(7, None), (None, 7), (9, 7)])
def test_shares_of_hosts_and_domains_hold(per_host: int | None, per_domain: int | None) -> None:
    world = GeneratedWorld(GeneratedSettings(pages=200, hosts=5, seed=2))
    crawl = engine(10_000, CrawlFilter(Scope(), per_host=per_host, per_domain=per_domain))
    crawl.seed([world.url_of(0)])
    pages = [outcome.page for outcome in Replay(crawl, world, in_flight=8) if outcome.page]
    by_host = Counter(page.url.split("/")[2] for page in pages)
    assert set(by_host.values()) == {7}
    assert len(by_host) > 1
    assert crawl.counts.requests == len(pages), "what is passed over is not asked for"


class Counted(BreadthFirst):
    """Counts what it chose and what it learned."""

    def __init__(self) -> None:
        super().__init__(Task(np.random.default_rng(0)))
        self.chosen: list[int] = []
        self.learned: list[int] = []

    def choose(self, offer: Offer) -> Choice:
        choice = super().choose(offer)
        self.chosen.append(choice.link)
        return choice

    def learn(self, outcome: Outcome) -> None:
        self.learned.append(outcome.choice.link)
        assert not isinstance(outcome.reply, Failed) or outcome.reply.kind == "skipped"


class Moody(CrawlFilter):
    """Skips every n-th link."""

    def __init__(self, each: int) -> None:
        super().__init__(Scope())
        self.each = each

    def skip(self, link: int, url: str, *linked_by: Any) -> str:
        return super().skip(link, url, *linked_by) if link % self.each else "for a test"


@given(st.integers(2, 9), st.integers(1, 6))
@settings(max_examples=12)
def test_what_is_skipped_is_learned_from_once_and_never_asked_for(each: int, flying: int) -> None:
    policy = Counted()
    world = GeneratedWorld(GeneratedSettings(pages=60, hosts=3, seed=4))
    crawl = Crawl(policy, Keywords(["kiln"]), MemoryFrontier(), link_filter=Moody(each))
    crawl.seed([world.url_of(at) for at in range(5)])
    outcomes = list(Replay(crawl, world, in_flight=flying))
    assert sorted(policy.chosen) == sorted(policy.learned) == sorted(set(policy.chosen))
    asked = {outcome.choice.link for outcome in outcomes}
    assert asked == {link for link in policy.chosen if link % each}
    assert crawl.counts.skipped == len(policy.chosen) - len(asked) > 0
    assert crawl.counts.requests == crawl.counts.pages == len(asked)


def test_titles_alone_say_nothing_where_no_page_of_the_host_has_a_text() -> None:
    """As in a recording without bodies, or on a host of pictures."""
    bare, told = Traps(), Traps()
    seen(told, page_at("http://a.example/", "Home", "Welcome to our pictures"))
    for number in range(4 * SAMPLE):
        page = page_at(f"http://a.example/p/{number}", "Picture", "")
        for traps in (bare, told):
            seen(traps, page)
    assert not bare.holder("http://a.example/p/99")
    assert told.holder("http://a.example/p/99")
    again = Traps()
    again.load(unpack(pack(told.save())))
    assert again.holder("http://a.example/p/99")


def test_titles_alone_do_not_say_that_a_parameter_does_not_matter() -> None:
    """The versions of a wiki's page have one title; without their texts nobody knows the rest."""
    bare, told = Traps(), Traps()
    for number in range(2 * SAMPLE):
        for query in ("", "?version=1"):
            url, title = f"http://a.example/wiki/{'abcdefghijkl'[number]}{query}", f"Page {number}"
            seen(bare, page_at(url, title, ""))
            seen(told, page_at(url, title, f"Of page {number}"))
    assert not bare.holder("http://a.example/wiki/a?version=2")
    assert told.holder("http://a.example/wiki/a?version=2") == "a.example?version="


def test_what_looks_like_nothing_tried_yet_is_not_held_with_its_whole_host() -> None:
    """A wiki's timeline, in a hundred forms, says nothing new, and only it links to the pages."""
    traps, names = Traps(), "abcdefghijklmnop"
    form, url = "http://a.example/{}/timeline".format, "http://a.example/entry?name={}".format
    for name in names:
        seen(traps, page_at(form(name), "Home", "The wiki of all potters"))
    assert traps.holder(form("z")) == "a.example: links of pages without news"
    assert not traps.holder(url("kiln"))
    for name in names[:3]:
        seen(traps, page_at(url(name), "Home", "The wiki of all potters"))
    assert traps.holder(url("kiln")), "three of its own brought nothing"


# ---------------------------------------------------------------- what strangers link to

ITEM = "http://a.example/item?id={}".format


def ends(within: CrawlFilter, found_on: str, kind: str, *urls: str) -> None:
    """A link that was found on a page is asked for, leads from one URL to the next, and gives no
    page."""
    for url in urls:
        assert within.skip(0, url) == ""
    within.ended(Outcome(Choice(0), Failed(0, kind), None, 0.0), lambda: found_on)


def test_dead_links_of_another_domain_hold_nothing_back() -> None:
    within = CrawlFilter(Scope(), traps=Traps())
    for number in range(40):
        ends(within, "http://evil.example/", "absent", ITEM(1000 + number))
    assert within.skip(0, ITEM(1)) == ""


def test_dead_links_of_one_page_are_the_fault_of_that_page() -> None:
    within = CrawlFilter(Scope(), traps=Traps())
    for number in range(2 * SAMPLE):
        ends(within, "http://a.example/comments", "absent", ITEM(1000 + number))
    assert within.skip(0, ITEM(1)) == ""
    for number in range(SAMPLE // 2):
        ends(within, f"http://a.example/{number}", "absent", ITEM(2000 + number))
    assert within.skip(0, ITEM(1)).startswith("held back: ")


def test_where_a_link_leads_to_is_not_to_blame() -> None:
    within = CrawlFilter(Scope(), traps=Traps())
    for number in range(2 * SAMPLE):
        asked = f"http://evil.example/{chr(97 + number)}?to=1", ITEM(1)
        ends(within, f"http://evil.example/{number}", "duplicate", *asked)
    assert within.skip(0, ITEM(2)) == ""


def test_pages_that_another_domain_chose_speak_for_a_group_only() -> None:
    traps, found_on = Traps(), "http://evil.example/"
    for number in range(20):
        traps.ended(
            page_at(ITEM(number), "Out of stock", "no more pots"), lambda: found_on, relevant=False
        )
    assert traps.holder(ITEM(99)) == ""
    for number in range(SAMPLE):
        traps.ended(page_at(ITEM(20 + number), "Out of stock", "no more pots"), relevant=False)
    assert traps.holder(ITEM(99))
    new = page_at(ITEM(50), "A jug", "of blue clay")
    traps.ended(new, lambda: found_on, relevant=False)
    assert traps.holder(ITEM(99)) == ""


def test_hosts_without_news_hold_no_host_back_that_a_page_with_news_lists() -> None:
    """Whoever has a host below a domain without owners of its own may have many."""
    within, place = CrawlFilter(Scope(), traps=Traps()), "http://{}.homes.example/".format

    def pages(name: str, text: str, *links: str) -> list[str]:
        page = page_at(place(name), "Home", text, *links)
        assert within.skip(0, page.url) == ""
        found = [link.url for link in within.admit(page, 1, 0, 0.0, lambda: place("www"))]
        within.ended(Outcome(Choice(0), Fetched(0, page), None, 0.0), lambda: place("www"))
        return found

    pages("www", "who lives here")
    for number in range(SAMPLE + 1):
        pages(f"copy{number}", "a copy of a copy", place(f"copy{number + 1}"))
    assert within.skip(0, place("copy99")).startswith("held back: ")
    others = [place(f"{letter}s") for letter in "abcdefghijkl"]
    assert pages("www", "pots and kilns by their makers", *others) == others
    assert [within.skip(0, url) for url in others] == [""] * len(others)
    assert within.skip(0, place("copy99")).startswith("held back: ")


def test_what_a_stranger_links_to_first_takes_no_news_from_a_site() -> None:
    """Other addresses of its pages, which say the same: print views."""
    traps = Traps()
    for number in range(12):
        printed = page_at(f"http://a.example/print/{number}", "Pot", " ".join(article(number)))
        traps.ended(printed, lambda: "http://evil.example/", relevant=False)
    for number in range(40):
        url = f"http://a.example/pot/{number}"
        assert not traps.holder(url)
        own = page_at(url, "Pot", " ".join(article(number)))
        traps.ended(own, lambda: "http://a.example/", relevant=False)


def club(url: str) -> Page:
    """A site with articles and a calendar, whose first five months are empty."""
    path = url.removeprefix("http://good.example/")
    name = path.translate(str.maketrans("0123456789", "abcdefghij", "/?=-"))
    links: list[str] = []
    if not path or path.startswith("?page"):
        name = "start"
        links = [*(f"art/{number}" for number in range(40)), "cal?month=2020-01"]
    words = " ".join(f"{name}{letter}" for letter in "klmnopqrs")
    if path.startswith("cal?month="):
        month = 12 * int(path[10:14]) + int(path[15:]) - 1
        links = [f"cal?month={(month + 1) // 12}-{(month + 1) % 12 + 1:02}"]
        if month < 12 * 2020 + 5:
            words = "No events in this month."
        else:
            links = [*links[: month < 12 * 2021], *(f"event/{month}-{n}" for n in range(4))]
    return Page(url, text=words, links=[Link(f"http://good.example/{one}") for one in links])


SHOPS = {
    "none": [],
    "tries": [f"x/{number}?n=1&s={number}" for number in range(40)],
    "places": [f"x?n={number}" for number in range(7_000)],
}


@pytest.mark.parametrize("shop", SHOPS)
def test_one_site_uses_up_neither_tries_nor_places_of_another(shop: str) -> None:
    """The pages of a shop all say the same. What was held back of the club is tried again, beside
    it too: all events of its calendar are found."""
    seeds = ["http://evil.example/", "http://good.example/"]
    crawl = engine(1_000, CrawlFilter(Scope.of(seeds, "domain"), traps=Traps()))
    crawl.seed(seeds)
    asked, now = list[str](), 0.0
    while not isinstance(step := crawl.next(now), Finished):
        now += 1.0
        if not isinstance(step, Fetch):
            continue
        asked.append(step.url)
        if step.host == "good.example":
            page = club(step.url)
        else:
            links = [Link(step.url + path) for path in SHOPS[shop]] if step.url == seeds[0] else []
            page = Page(step.url, text="Nothing to see here at all.", links=links)
        crawl.receive(Fetched(step.ticket, page), now)
        if len(asked) % 30 == 0:
            state = unpack(pack(crawl.save()))
            crawl = engine(1_000, CrawlFilter(Scope.of(seeds, "domain"), traps=Traps()))
            crawl.load(state)
    assert sum("/event/" in url for url in asked) == 32
    assert sum("evil" in url for url in asked) <= 60


def endless(url: str, name: str) -> Page:
    """A calendar whose pages all say the same, and lead to ten others at this name."""
    number = int(url.partition("=")[2] or 0)
    links = [Link(f"http://{name}/cal?n={10 * number + at}") for at in range(1, 11)]
    return Page(url, text="kiln and nothing else to see in this month", links=links)


def variants(url: str) -> Page:
    """A page that links the start page of another site by a parameter that means nothing."""
    links = [Link(f"http://good.example/?page={number}") for number in range(200)]
    return Page(url, text="kiln of the other site", links=links)


OTHERS: dict[str, dict[str, Callable[[str], Page]]] = {
    "two domains": {
        "a.example": lambda url: endless(url, "b.example"),
        "b.example": lambda url: endless(url, "a.example"),
    },
    "variants": {"a.example": variants},
}


@pytest.mark.parametrize("others", OTHERS)
def test_what_strangers_choose_speaks_against_their_own_links(others: str) -> None:
    """Two domains link pages without news on each other, or one the start page of a site by many
    names: these links are held back as a site's own are. The site's own links are followed."""
    hosts: dict[str, Callable[[str], Page]] = {"good.example": club, **OTHERS[others]}
    seeds = [f"http://{name}/" for name in hosts]
    crawl = engine(150, CrawlFilter(Scope.of(seeds, "domain"), traps=Traps()))
    crawl.seed(seeds)
    asked, now = list[str](), 0.0
    while not isinstance(step := crawl.next(now), Finished):
        now += 1.0
        if isinstance(step, Fetch):
            asked.append(step.url)
            crawl.receive(Fetched(step.ticket, hosts[step.host](step.url)), now)
    own = [url for url in asked if "good.example" in url and "?page" not in url]
    assert len(own) == 86
    assert len(asked) - len(own) <= 30


def film(number: int) -> Page:
    letters = np.random.default_rng(number).choice(list("abcdefghijklmnop"), (60, 7))
    text = " ".join(map("".join, letters))
    return Page(
        f"http://s.example/films/{chr(97 + number)}film/", title=f"Film {text[:7]}", text=text
    )


@pytest.mark.parametrize("relevant", [False, True])
def test_forms_below_documents_are_held_back_and_their_documents_are_not(relevant: bool) -> None:
    traps = Traps()
    for number in range(2 * SAMPLE):
        its = film(number)
        seen(traps, its, relevant=relevant)
        form = f"{its.url}reviews/add/"
        if number <= SAMPLE:  # the first is new
            assert not traps.holder(form, listed_by="http://a.example/index/")
            page = Page(form, title=its.title, text=f"{its.text} Leave a review Score Name Save it")
            seen(traps, page, relevant=relevant)
    assert traps.holder(
        "http://s.example/films/zfilm/reviews/add/", listed_by="http://a.example/index/"
    )
    assert not traps.holder("http://s.example/films/zfilm/")
    assert not traps.holder("http://s.example/films/zfilm/cast/")
    for number in (20, 21):  # forms that come before their documents bring the words of these
        late = film(number)
        seen(traps, Page(f"{late.url}reviews/add/", title=late.title, text=late.text))
        held = traps.holder(
            "http://s.example/films/zfilm/reviews/add/", listed_by="http://a.example/index/"
        )
        assert bool(held) == (number == 20)


def test_pages_of_one_name_below_documents_with_news_are_not_held_back() -> None:
    traps = Traps()
    for number in range(4 * SAMPLE):
        its = film(number % 26)
        more = film(100 + number)
        seen(traps, Page(f"{its.url}cast/", title="Cast", text=more.text if number % 3 else "Cast"))
        assert not traps.holder("http://s.example/films/zzfilm/cast/")


def test_what_has_one_name_below_documents_of_many_folders_is_held_back() -> None:
    traps = Traps()
    histories = [
        f"{film(at).url.replace('films', f'{chr(98 + at)}s')}_history/" for at in range(20)
    ]
    for number, url in enumerate(histories[: SAMPLE + 1]):
        seen(traps, film(number))
        assert not traps.holder(url)
        seen(traps, Page(url, title=film(number).title, text=f"History Older Newer {number}"))
    held, document = histories[-1], histories[-1].removesuffix("_history/")
    assert traps.holder(held)
    assert traps.holder(held, listed_by=document), "its own document lists it"
    assert traps.holder(held, listed_by=f"{document}_source/"), "and so does all that is beside it"
    assert traps.holder(held, listed_by="http://s.example/bs/_history/")
    assert not traps.holder(held, listed_by="http://s.example/changes/")
    assert not traps.holder(document)
    link = Link(held)
    traps.read(replace(film(21), url=document), [link])
    assert traps.holder(held)
    traps.read(replace(film(22), url="http://s.example/changes/"), [link])
    assert not traps.holder(held)


def test_a_name_below_documents_that_leads_to_a_log_in_is_held_back() -> None:
    traps = Traps()
    for folder in "bcdefg"[:SAMPLE]:
        assert not traps.holder("http://s.example/films/alien/_create/")
        traps.led_to_action(f"http://s.example/{folder}s/alien/_create/")
    assert traps.holder("http://s.example/films/alien/_create/")
    assert not traps.holder("http://s.example/films/alien/")


def test_links_to_what_is_not_there_say_nothing_of_their_folder() -> None:
    traps = Traps()
    seen(traps, film(0))
    for number in range(40):
        traps.failed(f"http://s.example/old/{number}x.html", f"http://s.example/p{number}/")
    assert not traps.holder("http://s.example/old/other.html", listed_by="http://a.example/index/")


def test_views_of_a_list_say_nothing_of_its_folder() -> None:
    traps = Traps()
    seen(traps, film(0))
    for number in range(40):
        url = f"http://s.example/films/?selected_facets=rating:{number}"
        seen(traps, Page(url, title="Films", text=film(0).text))
    assert traps.holder("http://s.example/films/?selected_facets=rating:99")
    assert traps.holder("http://s.example/films/z") != "s.example/films/*"


def of_article(number: int, query: str = "action=history", *, closed: bool = True) -> Page:
    """As `history`, where articles have paths of their own."""
    page = page_at(
        f"http://a.example/wiki/Pot{'abcdefghijklmnopqrst'[number]}?{query}",
        "",
        f"The {WORDS[number]} of them",
    )
    return replace(page, flags=frozenset({"noindex", "nofollow"} if closed else ()))


def test_what_is_not_for_search_engines_is_held_back_whatever_article_it_is_of() -> None:
    traps = Traps()
    seen(traps, page_at("http://a.example/wiki/Pots", "Pots", "clay fire"))
    for number in range(6):
        assert not traps.holder(of_article(19).url)
        seen(traps, of_article(number))
        seen(traps, of_article(number + 6), relevant=True)  # says nothing of those of others
    assert traps.holder(of_article(19).url)
    assert not traps.holder("http://a.example/wiki/Pott?page=2")
    assert not traps.holder("http://a.example/wiki/Pott")
    seen(traps, of_article(18, closed=False))
    assert not traps.holder(of_article(19).url)


def test_what_is_not_for_search_engines_is_a_view_of_the_page_whose_name_it_has() -> None:
    traps = Traps()
    for number in range(6):
        letter = "abcdefghijklmnopqrst"[number]
        article = page_at(f"http://a.example/wiki/Pot{letter}", "Pots", f"clay fire {letter * 9}")
        seen(traps, article, relevant=True)
        page, found_on = of_article(number), article.url if number else "http://a.example/"
        assert not traps.holder(of_article(19).url)
        traps.ended(page, lambda found_on=found_on: found_on, relevant=True)  # type: ignore[misc]
        assert traps.view_of(page.url) == ((article.url,) if number else ())
    traps.load(unpack(pack(traps.save())))
    assert traps.view_of(of_article(5).url) == ("http://a.example/wiki/Potf",)
    page = of_article(6)
    traps.ended(page, lambda: "http://a.example/wiki/Potg", relevant=True)
    assert traps.holder(of_article(19).url)


@pytest.mark.parametrize("relevant", [True, False])
def test_a_relevant_list_in_one_more_order_is_not_believed_longer(*, relevant: bool) -> None:
    traps = Traps()
    for number in range(4):
        assert not traps.holder("http://a.example/list?order=99")
        page = page_at(f"http://a.example/list?order={number}", "Kilns", f"all of {number} kilns")
        seen(traps, page, relevant=relevant)
    assert traps.holder("http://a.example/list?order=99")


def test_parameters_may_be_parted_by_semicolons() -> None:
    names = [name for name, _ in groups("http://a.example/?p=spoor.git;a=blob;f=a.py;hb=1f2e")]
    assert names == [name for name, _ in groups("http://a.example/?hb=7;f=b.py;p=x&a=blob")]
    assert names != [name for name, _ in groups("http://a.example/?p=spoor.git;a=commit;h=1f2e")]
