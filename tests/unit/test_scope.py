"""Where a crawl may go: scopes, patterns, links that do something."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from spoor.errors import InputError
from spoor.learn.state import pack, unpack
from spoor.link_filter.link_filter import NOFOLLOW, CrawlFilter
from spoor.link_filter.revisits import Revisits
from spoor.link_filter.scope import Scope
from spoor.link_filter.traps import Traps
from spoor.setting import SCOPES
from spoor.types import (
    Anchor,
    Choice,
    Failed,
    Fetched,
    InLink,
    Judgement,
    Link,
    Outcome,
    Page,
)
from spoor.views.explain import left_out_lines
from spoor.web.actions import action
from spoor.web.url_patterns import UrlPatterns

SEED = "https://www.a.example/docs/en/index.html"
URLS = {
    "page": "http://www.a.example/docs/en/index.html",
    "directory": "https://a.example/docs/en/api/x.html?y=1",
    "host": "https://a.example/about",
    "domain": "https://files.a.example/about",
    "anywhere": "https://b.example/docs/en/",
}
"""The narrowest scope that holds each, beside `list`."""


@pytest.mark.parametrize("scope", [name for name in SCOPES if name != "list"])
def test_each_scope_holds_what_narrower_ones_hold(scope: str) -> None:
    order = list(URLS)
    within = Scope.of([SEED], scope)
    for narrowest, url in URLS.items():
        held = order.index(narrowest) <= order.index(scope)
        assert (url in within) == held
        assert within.why_not(url) == ("" if held else f"--scope {scope}")
    assert SEED in within
    within.seed(["https://b.example/docs/en/"])
    assert "https://b.example/docs/en/" in within


def test_a_folder_is_no_prefix_and_a_list_needs_one() -> None:
    within = Scope.of([SEED], "directory")
    assert "https://a.example/docs/english/x" not in within
    assert "https://a.example/docs/en" not in within
    assert "https://a.example/" in Scope.of(["https://a.example/x"], "directory")
    with pytest.raises(InputError, match="--include"):
        Scope.of([SEED], "list")
    listed = Scope.of([SEED], "list", include=["b.example/*", "*.pdf"])
    assert "http://b.example/x" in listed
    assert "https://c.example/x.pdf" in listed
    assert listed.why_not("https://www.a.example/docs/") == "--include"
    assert SEED in listed


@pytest.mark.parametrize(
    ("pattern", "fits", "fits_not"),
    [
        ("*.pdf", "https://a.example/x.pdf", "https://a.example/x.pdf?y"),
        ("a.example/docs/*", "http://a.example/docs/", "http://b.a.example/docs/"),
        ("/docs/*", "http://a.example/docs/x/y", "http://a.example/en/docs/x"),
        ("https://*", "https://a.example/", "http://a.example/"),
        ("*/zürich", "http://a.example/z%C3%BCrich", "http://a.example/zurich"),
        ("re:[?&]lang=(de|fr)$", "http://a.example/?lang=de", "http://a.example/?lang=den"),
        ("re:^http://a", "http://a.example/", "https://a.example/"),
    ],
)
def test_patterns(pattern: str, fits: str, fits_not: str) -> None:
    patterns = UrlPatterns([pattern])
    assert patterns.fitting(fits, undecided=False) == pattern
    assert patterns.fitting(fits_not, undecided=True) == ""


def test_a_pattern_that_backtracks_for_ever_costs_little_and_lets_nothing_through() -> None:
    within = Scope(exclude=["re:^http://a.example/(a|aa)+$"])
    began = time.thread_time()
    for at in range(200):
        assert f"http://a.example/{'a' * 60}{at}b" not in within
    assert time.thread_time() - began < 4
    assert "http://b.example/" in within
    assert "http://a.example/b" in within
    with pytest.raises(InputError, match=r"bad regular expression 're:\('"):
        Scope(include=["re:("])


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("/index.php?title=Kiln&action=edit", "edit"),
        ("/index.php?title=Kiln&veaction=edit&section=2", "edit"),
        ("/wiki/Kiln?do=login", "log in or out"),
        ("/wiki/Special:UserLogin", "log in or out"),
        ("/w/index.php?title=Spezial%3AUserLogin", "log in or out"),
        ("/abmelden", "log in or out"),
        ("/de/konto/abmelden", "log in or out"),
        ("/%E3%83%AD%E3%82%B0%E3%82%A2%E3%82%A6%E3%83%88", "log in or out"),
        ("/wp-login.php?redirect_to=x", "log in or out"),
        ("/shop/bowl?add-to-cart=17", "basket"),
        ("/post/4?replytocom=8", "reply"),
        ("/posts/4/delete", "delete"),
        ("/topic.php?vote=1", "vote or report"),
        ("/ratethread.php?tid=7&rating=1&my_post_key=c02e420098", "prove a form"),
        ("/ucp?i=1&csrf_token=4f2a", "prove a form"),
        ("/ratethread.php?tid=7&rating=1", "vote or report"),
        ("/forum/report_post.php?id=7", "vote or report"),
        ("/newreply.php?tid=7&replyto=9", "reply"),
        ("/editpost.php?pid=7", "edit"),
        ("/usercp.php?action=options", "log in or out"),
        ("/misc.php?action=markread&fid=2", "mark as read"),
        ("/viewforum.php?f=2&mark=topics", "mark as read"),
        ("/bugs/issue?@action=logout", "log in or out"),
        ("/member.php?action=lostpw", "log in or out"),
        ("/member.php?action=emailuser&uid=3", "reply"),
        ("/cars.php?mark=volvo", ""),
        ("/find?token=next", ""),
        ("/announce?announce=today", ""),
        ("/newreply.php", ""),
        ("/news_topic.php?id=7", ""),
        ("/postpage.php?id=7", ""),
        ("/showthread.php?tid=7", ""),
        ("/docs/sql-delete.html", ""),
        ("/docs/en/api/Session/logout", ""),
        ("/taxonomy/term/7/delete", "delete"),
        ("/admin/content/articles/7/delete", "delete"),
        ("/delete/7/", "delete"),
        ("/item.php?a=delete&id=7", "delete"),
        ("/?option=com_content&task=article.delete&id=7", "delete"),
        ("/index.php?action=deletemsg;topic=5.0;msg=9", "delete"),
        ("/item/7?_method=DELETE", "delete"),
        ("/remove.php?id=7", "delete"),
        ("/Kiln?action=DeletePage", "delete"),
        ("/index.php?action=logout;sesc=4f2a", "log in or out"),
        ("/index.php?route=account/logout", "log in or out"),
        ("/Account/LogOff", "log in or out"),
        ("/cart/add?id=7", "basket"),
        ("/en/cart/add/7", "basket"),
        ("/cart/clear", "basket"),
        ("/index.php?route=checkout/cart/add&product_id=7", "basket"),
        ("/checkout/cart/add/uenc/aHR0/product/7/", "basket"),
        ("/cart?lang=de&add=1&id_product=7", "basket"),
        ("/addToCart.do?item=7", "basket"),
        ("/order/7/cancel", "vote or report"),
        ("/vote?id=7&how=up", "vote or report"),
        ("/unsubscribe/xTq-kiln", "vote or report"),
        ("/issues/7/close", "vote or report"),
        ("/2024/05/close", ""),
        ("/2024/05/07/vote/", ""),
        ("/docs/api/cart/add", ""),
        ("/docs/methods/delete/returns", ""),
        ("/vote/how-to", ""),
        ("/how-to-unsubscribe/", ""),
        ("/compare/7", ""),
        ("/kilns?delete", ""),
        ("/search?q=delete", ""),
        ("/log?action=deleted", ""),
        ("/bookmarks/tools", ""),
        ("/wiki/Edit", ""),
        ("/sort.html", ""),
        ("/?order=price", ""),
        ("/login/guide.html", ""),
        ("/", ""),
    ],
)
def test_links_that_do_something(path: str, rule: str) -> None:
    assert action(f"http://a.example{path}") == rule


def links(*urls: str, kind: str = "a") -> Page:
    found = [Link(url, Anchor(position=at), kind) for at, url in enumerate(urls)]
    return Page("http://a.example/", title="T", text="words", links=found)


def test_what_is_left_out_is_counted_once_by_rule_and_can_be_asked_for() -> None:
    urls = [
        "http://a.example/logout",
        "http://a.example/x?action=edit",
        "http://b.example/",
        "http://a.example/x.zip",
        "http://a.example/x",
        f"http://a.example{'/in' * 9}",
    ]
    within = CrawlFilter(Scope.of(["http://a.example/"], "host", exclude=["*.zip"]), traps=Traps())
    for _ in range(2):
        assert [link.url for link in within.admit(links(*urls), 1)] == ["http://a.example/x"]
    assert within.skip(1, "http://b.example/") == "--scope host", "a redirect obeys it, too"
    rules = {
        "it does something: log in or out": 1,
        "it does something: edit": 1,
        "--scope host": 1,
        "--exclude *.zip": 1,
        "a segment of its path stands there 9 times": 1,
    }
    assert within.left_out().rules == rules
    again = CrawlFilter(Scope.of((), "host", exclude=["*.zip"]), traps=Traps())
    again.load(unpack(pack(within.save())))
    assert again.left_out().rules == rules
    assert again.explained("http://a.example/logout") == "it does something: log in or out"
    assert "http://a.example/y" in again.scope, "the seeds come back with the state"
    barred = replace(links("http://a.example/private"), flags=frozenset({"nofollow"}))
    assert again.admit(barred, 1) == []
    assert again.explained("http://a.example/private") == NOFOLLOW
    shallow = CrawlFilter(Scope.of(["http://a.example/"], "host", 1))
    assert shallow.admit(links("http://a.example/deep"), 2) == []
    assert shallow.explained("http://a.example/deep") == "--max-depth 1"
    told = left_out_lines(again.left_out())
    assert told[-2] == "left out 1 link that pages ask not to follow: --no-nofollow"
    free = CrawlFilter(Scope.of(["http://a.example/"], "anywhere"), actions=True)
    assert len(free.admit(links(*urls), 1)) == len(urls)


def test_kinds_of_links_obey_and_a_sitemap_may_lie_above_the_folder() -> None:
    within = CrawlFilter(Scope.of(["http://a.example/docs/"], "directory"))
    for kind in ("refresh", "canonical", "frame", "listed"):
        assert not within.admit(links("http://a.example/other", kind=kind), 1)
    (sitemap,) = within.admit(links("http://a.example/sitemap.xml", kind="sitemap"), 1)
    assert within.skip(1, sitemap.url) == ""
    assert not within.admit(links("http://b.example/sitemap.xml", kind="sitemap"), 1)


def test_a_page_leads_to_no_port_of_another_service() -> None:
    anywhere, domain = Scope.of(["http://a.example:9999/"], "anywhere"), Scope()
    domain = Scope.of(["http://a.example:9999/", "http://a.example:23/"], "domain")
    for port in (21, 25, 6379):
        url = f"http://b.a.example:{port}/"
        assert anywhere.why_not(url) == domain.why_not(url) == "a port of another service"
    assert domain.why_not("http://a.example:23/") == "", "the user names it"
    for port in (8080, 9999):
        assert domain.why_not(f"http://b.a.example:{port}/x") == ""
    assert domain.why_not("http://b.a.example/x:21") == ""
    assert domain.why_not("http://a.example:10100/") == "--scope domain", "no scan of all ports"
    assert anywhere.why_not("http://[::1]:10100/") == ""


def test_a_host_is_left_once_enough_was_found_there() -> None:
    within = CrawlFilter(Scope(), found_per_host=2)
    for at, relevant in enumerate([True, False, True]):
        url = f"http://a.example/{at}"
        assert within.skip(at, url) == ""
        judged = Judgement(1.0, relevant, 1.0)
        within.ended(Outcome(Choice(at), Fetched(at, Page(url)), judged, 1.0), str)
    assert within.skip(9, "http://a.example/9") == "a.example has had its 2 found"
    assert within.skip(10, "http://b.example/9") == ""
    within.judged_anew("http://a.example/0", relevant=False)
    assert within.skip(9, "http://a.example/9") == "", "its judge took one back"
    within.judged_anew("http://a.example/1", relevant=True)
    assert within.skip(11, "http://a.example/11")


def test_www_is_the_same_host_and_links_to_nothing_are_as_many_as_pages() -> None:
    within = CrawlFilter(Scope(), per_host=3, found_per_host=1)

    def fails(at: int, kind: str) -> str:
        url = f"http://{'www.' * (at % 2)}a.example/{at}"
        why = within.skip(at, url)
        within.ended(Outcome(Choice(at, 1.0), Failed(at, kind), None, 0.0), str)
        return why

    assert [fails(0, "robots"), fails(1, "absent"), fails(2, "timeout"), fails(3, "http")] == [
        ""
    ] * 4
    assert fails(4, "absent") == "a.example has had its 3 links that came to nothing"
    assert within.skip(5, "http://b.example/") == ""
    within.ended(
        Outcome(
            Choice(5, 1.0),
            Fetched(5, Page("http://www.b.example/")),
            Judgement(1.0, True, 1.0),
            1.0,
        ),
        str,
    )
    assert within.skip(6, "http://b.example/more") == "b.example has had its 1 found"


def test_a_sitemap_dates_pages_of_its_own_host_only() -> None:
    from spoor.link_filter.revisits import Revisits

    names = ("a.example", "b.example", "c.example")
    urls = [f"http://{name}/{number}" for name in names for number in range(40)]
    within = CrawlFilter(Scope())
    within.revisits = Revisits(urls, [100.0] * len(urls), [0.0] * len(urls), began=200.0)
    within.revisits.first()
    dated = tuple((url, 50.0) for url in urls)
    sitemap = Page("http://a.example/map.xml", flags=frozenset({"sitemap"}), dated=dated)
    within.admit(sitemap, 1, found_on=lambda: "http://b.example/")
    asked = [held.link.url for held in within.revisits.rest()]
    assert {url.split("/")[2] for url in asked} == {"c.example"}
    assert len(asked) == 35


def test_a_place_that_is_given_back_goes_to_the_link_that_waited_longest() -> None:
    within = CrawlFilter(Scope(), per_host=2)
    one, two, three, four, five = (f"http://a.example/{n}" for n in range(5))
    assert within.skip(0, one) == within.skip(1, two) == ""
    for link, url in ((2, three), (3, four), (4, five)):
        assert within.skip(link, url) == "a.example has had its 2 pages"
        within.dropped(url, InLink(link, url, "a.example", Anchor(), "a", 7, 0.5, 1, True))
    assert within.release(over=True, last=True) == []
    assert within.left_out().rules == {"--pages-per-host 2": 3}
    assert within.explained(three) == "a.example has had its 2 pages"
    within.ended(Outcome(Choice(0, 1.0), Failed(0, "absent", status=404), None, 0.0), str)
    again = CrawlFilter(Scope(), per_host=2)
    again.load(unpack(pack(within.save())))
    for one_of_them in (within, again):
        held = [held.link.url for held in one_of_them.release(over=False, last=False)]
        assert held == [three]
        assert one_of_them.release(over=False, last=False) == []


def test_new_pages_beyond_a_refresh_s_budget_wait_for_a_place_or_a_larger_one() -> None:
    def made(most_new: int) -> CrawlFilter:
        within = CrawlFilter(Scope())
        within.revisits = Revisits(most_new=most_new)
        return within

    def skipped(within: CrawlFilter, link: int) -> str:
        url = f"http://{link}.example/"
        if why := within.skip(link, url):
            within.dropped(url, InLink(link, url, "", Anchor(), "a", 7, 0.5, 1, True))
        return why

    within = made(2)
    assert [bool(skipped(within, link)) for link in range(5)] == [False] * 2 + [True] * 3
    assert within.release(over=True, last=True) == []
    assert within.left_out().rules == {"--pages 2": 3}
    within.ended(Outcome(Choice(0, 1.0), Failed(0, "absent", status=404), None, 0.0), str)
    assert [held.link.url for held in within.release(over=False, last=False)] == [
        "http://2.example/"
    ]
    assert not skipped(within, 2)
    larger = made(3)
    larger.load(unpack(pack(within.save())))
    assert [held.link.url for held in larger.release(over=True, last=True)] == ["http://3.example/"]
    assert larger.left_out().rules == {"--pages 3": 1}
