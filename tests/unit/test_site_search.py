"""The search of a site: its form, what it is asked for, and its answers as lists of pages."""

from __future__ import annotations

import asyncio
import json
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import cast
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict, CIMultiDictProxy

import spoor
from loopback import ADDRESS, MISSING, Asked, Loopback, beside, reply
from ray_in_process import in_process
from spoor.cli.main import run
from spoor.link_filter.link_filter import CrawlFilter
from spoor.link_filter.scope import Scope
from spoor.link_filter.traps import Traps
from spoor.live.page_requests import PageRequests
from spoor.runs.assemble import queries
from spoor.settings import Settings
from spoor.types import Choice, Failed, Fetch, Topic
from spoor.web.exchange import Exchange
from spoor.web.page import parse
from spoor.web.robots import ALLOW_ALL
from spoor.web.search_answers import MOST_RESULTS, WHY, answer_of, asked_for
from spoor.web.search_forms import MOST_QUERIES, is_not_followed, queries_of, searches_in
from spoor.web.urls import canonical

AT = "http://a.example/shop/"

WORDPRESS = (
    '<form role="search" method="get" class="search-form" action="http://a.example/">'
    '<input type="search" name="s" value=""><input type="submit" value="Search"></form>'
)
MEDIAWIKI = (
    '<FORM ACTION="/w/index.php?x=1"><input type="search" name="search">'
    '<input type="hidden" name="title" value="Special:Search &amp; all">'
    '<input type="submit" name="fulltext" value="Search">'
    '<input type="submit" name="go" value="Go"></FORM>'
)
SHOP = (
    '<form id="searchbox" action="find"><select name="in"><option value="all">All'
    '<option value="pots" selected>Pots</select><input name="q" placeholder="Search">'
    '<input type="checkbox" name="new"><input type="checkbox" name="sale" checked>'
    '<input type="radio" name="by" value="price"><input type="text" name="no" disabled>'
    "<button>Go</button></form>"
)
TABLE = (
    '<form action="t"><input type="search" name="_search"><select name="column"><option value="">'
    '- column -<option>id</select><select name="op"><option value="exact">=</select>'
    '<input type="text" name="value"></form>'
)


@pytest.mark.parametrize(
    ("markup", "asks"),
    [
        (WORDPRESS, "http://a.example/?s=kiln+%26+glaze"),
        (
            MEDIAWIKI,
            "http://a.example/w/index.php?search=kiln+%26+glaze"
            "&title=Special%3ASearch+%26+all&fulltext=Search",
        ),
        (SHOP, "http://a.example/shop/find?in=pots&q=kiln+%26+glaze&sale=on"),
        (TABLE, "http://a.example/shop/t?_search=kiln+%26+glaze&column=&op=exact&value="),
        (
            f"<form action=/login><input name=user></form>{WORDPRESS}",
            "http://a.example/?s=kiln+%26+glaze",
        ),
    ],
)
def test_a_form_is_filled_in_as_a_browser_does(markup: str, asks: str) -> None:
    assert searches_in(markup.encode(), AT, ["kiln & glaze"]) == [asks]
    assert asked_for(asks, ["oven", "kiln & glaze"]) == "kiln & glaze"


@pytest.mark.parametrize(
    "markup",
    [
        WORDPRESS.replace("get", "post"),
        WORDPRESS.replace("a.example", "other.example"),
        WORDPRESS.replace('action="http://a.example/"', ""),  # a script does it
        WORDPRESS.replace("a.example/", "a.example/search.html"),  # so here
        WORDPRESS.replace(' name="s"', ""),
        WORDPRESS.replace("</form>", "<input type=password name=p></form>"),
        WORDPRESS.replace("</form>", "<textarea name=message></textarea></form>"),
        WORDPRESS.replace("</form>", "<input name=town><input type=search name=t></form>"),
        SHOP.replace("<button", "<input name=town><button"),
        f"<!-- {WORDPRESS} -->",
        f"<script>write('{WORDPRESS}')</script>",
        WORDPRESS.replace("</form>", f"<input type=hidden name=x value={'y' * 2_000}></form>"),
        '<form action="/subscribe" class="newsletter"><input type="email" name="q"></form>',
        '<form action="/sign-up"><input name="s"></form>',
        '<input type="search" name="s">',
    ],
)
def test_what_is_no_search_of_the_site_is_not_asked(markup: str) -> None:
    assert searches_in(markup.encode(), AT, ["kiln"]) == []


def test_what_is_searched_for_does_not_leave_a_page_unencrypted() -> None:
    assert searches_in(WORDPRESS.encode(), "https://a.example/", ["kiln"]) == []
    encrypted = WORDPRESS.replace("http:", "https:").encode()
    assert searches_in(encrypted, AT, ["kiln"]) == ["https://a.example/?s=kiln"]


@pytest.mark.parametrize(
    ("base", "asks"),
    [
        ("<base href='/en/'>", ["http://a.example/en/find?q=kiln"]),
        ("<BASE target=x HREF=http://a.example/b/c>", ["http://a.example/b/find?q=kiln"]),
        ("<base href=http://b.example/>", []),
        ("<base target=x>", ["http://a.example/shop/find?q=kiln"]),
        ("<base " * 50_000, ["http://a.example/shop/find?q=kiln"]),
    ],
)
def test_the_address_of_a_form_counts_from_the_base_of_its_page(base: str, asks: list[str]) -> None:
    form = "<form role=search action=find><input name=q></form>"
    assert searches_in(f"{base}{form}".encode(), AT, ["kiln"]) == asks


@pytest.mark.parametrize("before", ["<!-- x -->", "<script>'<!--'</script>", "<noscript>"])
def test_forms_beside_comments_and_scripts_are_read(before: str) -> None:
    assert searches_in(f"{before}{WORDPRESS}".encode(), AT, ["kiln"])


def test_a_number_of_any_length_costs_no_page() -> None:
    for number in ("9" * 5_000, "x" + "F" * 5_000, "0" * 5_000 + "65"):
        form = WORDPRESS.replace(
            "<input", f"<input type=hidden name=a value='&#{number};'><input", 1
        )
        asked = searches_in(f"<base href='/b/&#{number};'>{form}".encode(), AT, ["kiln"])
        assert asked == ["http://a.example/?a=%EF%BF%BD&s=kiln"]


@given(st.text(min_size=1, max_size=80), st.sampled_from([WORDPRESS, MEDIAWIKI, SHOP]))
def test_whatever_is_asked_for_the_answer_is_known_as_one(words: str, form: str) -> None:
    words = words.encode("utf-8", "replace").decode()
    queries = queries_of(Topic(words))
    for url in searches_in(form.encode(), AT, queries):
        assert (asked_for(url, queries),) == queries


@given(st.lists(st.sampled_from([*"<>/='\"& \n!-", "<form ", "</form", "input", "action=/", "q"])))
def test_whatever_a_page_says_canonical_urls_of_its_host_are_asked_for(parts: list[str]) -> None:
    for body in ("".join(parts), f"<form role=search action=/s>{''.join(parts)}"):
        for url in searches_in(body.encode(), AT, ["kiln"]):
            assert canonical(url) == url
            assert urlsplit(url).hostname == "a.example"


HOLDS = 60.0
"""Milliseconds of this thread: a form of 8,000 bytes is read in 3, and six of them are."""


@pytest.mark.parametrize("begin", [b"<form>", b"<FORM>"])
@pytest.mark.parametrize("unit", [b"<form>", b"<svg>", b"<a b='", b"<input name=q>", b"<option>"])
def test_forms_of_any_size_and_number_are_read_in_moments(begin: bytes, unit: bytes) -> None:
    form = begin + unit * (1 << 14)
    body = form * max(1, (1 << 22) // len(form))
    began = time.thread_time()
    assert searches_in(body, AT, ["kiln"]) == []
    assert 1e3 * (time.thread_time() - began) < HOLDS


def test_each_alternative_of_a_wish_is_asked_for() -> None:
    assert queries_of(Topic("kiln, glaze", keywords=("kiln", "ash  glaze", "kiln"))) == (
        "kiln",
        "ash glaze",
    )
    assert queries_of(Topic("kiln glaze")) == ("kiln glaze",)
    assert queries_of(Topic()) == ()
    assert len(queries_of(Topic(keywords=tuple("abcdef")))) == MOST_QUERIES
    assert queries_of(Topic("kiln " * 2 + "z" * 90 + " glazes")) == ("kiln kiln " + "z" * 90,)
    assert queries_of(Topic("kiln glazes " * 2_000)) == ("kiln glazes " * 8 + "kiln",)
    assert queries_of(Topic("z" * 10_000)) == ("z" * 100,)
    asked = searches_in(WORDPRESS.encode(), AT, ["kiln", "glaze"])
    assert asked == ["http://a.example/?s=kiln", "http://a.example/?s=glaze"]
    assert searches_in(WORDPRESS.encode(), AT, []) == []


@pytest.mark.parametrize(
    ("url", "asks"),
    [
        ("http://a.example/?s=kiln+glaze", "kiln glaze"),
        ("http://a.example/search/kiln%20glaze/", "kiln glaze"),
        ("http://a.example/kiln%20glaze/", ""),
        ("http://a.example/wiki/kiln", ""),
        ("http://a.example/?s=kiln", ""),
        ("http://a.example/research/kiln%20glaze", ""),
        ("http://a.example/wiki?title=kiln+glaze", ""),
        ("http://a.example/?words=Kiln++glaze", "kiln glaze"),
        ("http://a.example/find?query=kiln+glaze", "kiln glaze"),
        ("http://a.example/search/kiln+glaze/page/2/", "kiln glaze"),
        ("http://a.example/?" + "a=b&" * 9_999, ""),
        ("http://www.a.example/?words=kiln+glaze", "kiln glaze"),
        ("http://victim.example/?words=kiln+glaze", ""),
    ],
)
def test_a_site_that_leads_on_to_a_page_gives_no_answer(url: str, asks: str) -> None:
    first = "http://a.example/?a=b&words=kiln+glaze"
    assert asked_for(url, ["kiln glaze"], first) == asks


ANSWER = """<title>Results for kiln</title><nav><a href="/">Home</a></nav><main>
<h1>Results</h1><h2>3 of 30</h2><a href="/?s=kiln&amp;sort=date">by date</a>
<a href="/gas?s[]=kiln">Gas kilns</a><a href="/item?id=kiln&amp;hilit=kiln">Electric</a>
<a href="/?s=kiln*">Begins with</a><a href="/gas">Read more</a>
<a href="/page/2/?s=kiln">{next}</a>{numbers}</main><footer><a href="/imprint">Us</a></footer>"""


@pytest.mark.parametrize(
    ("numbers", "further"),
    [
        ("", "/page/2/?s=kiln"),
        ('<a href="/page/2/?s=kiln">2</a><a href="/page/3/?s=kiln">3</a>', "/page/2/?s=kiln"),
        ('<a href="/?s=kiln&p=1">1</a><a href="/page/3/?s=kiln">3</a>', "/page/3/?s=kiln"),
    ],
)
def test_an_answer_lists_pages_and_its_next_part(numbers: str, further: str) -> None:
    text = ANSWER.format(next="Next »", numbers=numbers)
    answer = answer_of(parse(text.encode(), "http://a.example/?s=kiln"), "kiln")
    assert [(link.url.removeprefix("http://a.example"), link.kind) for link in answer.links] == [
        ("/gas", "listed"),
        ("/item?id=kiln", "listed"),
        (further, "search"),
    ]
    assert answer.links[0].anchor.headings == ("Results", "kiln")
    assert not answer.text
    assert not answer.title
    assert answer.flags == {"sitemap", "answer", "not-html"}


def test_the_last_part_of_an_answer_has_no_next_one_and_links_are_bounded() -> None:
    rows = "".join(f'<a href="/{number}">Pot {number}</a>' for number in range(2 * MOST_RESULTS))
    numbers = '<a href="/?s=kiln&p=1">1</a>'
    text = f'<meta name="robots" content="noindex, nofollow">{rows}{numbers}'
    answer = answer_of(parse(text.encode(), "http://a.example/?s=kiln&p=2"), "kiln")
    assert [link.kind for link in answer.links] == ["listed"] * MOST_RESULTS
    assert "nofollow" in answer.flags


ON_THE_WAY = """<meta http-equiv="refresh" content="2;URL={0}">
    <a href="/">Home</a><a href="/login">Log in</a><a href="{0}">Go on</a>"""


def test_an_answer_that_leads_on_by_itself_has_no_other_link() -> None:
    named = "find?results=7&sid=9"
    answer = answer_of(parse(ON_THE_WAY.format(named).encode(), f"{AT}find?q=kiln"), "kiln")
    assert [(link.url, link.kind) for link in answer.links] == [(f"{AT}{named}", "search")]
    guard = CrawlFilter(Scope.of(["http://a.example/"], "host"), traps=Traps())
    assert [link.url for link in guard.admit(answer, 1)] == [f"{AT}{named}"]
    for elsewhere in ("http://b.example/find?results=7", ""):
        text = ON_THE_WAY.format(elsewhere)
        assert not answer_of(parse(text.encode(), f"{AT}find?q=kiln"), "kiln").links[1:]
    text = ON_THE_WAY.format("find?results=8")
    for link in answer_of(parse(text.encode(), f"{AT}find?results=7"), "kiln").links:
        assert link.kind != "search", "no answer leads on for ever"


def test_a_page_that_was_led_to_has_parts_of_the_same_script() -> None:
    text = """<a href="/gas?highlight=kiln">Gas</a><a href="find?results=7&sid=9&order=up">Order</a>
        <a href="find?results=7&sid=9&part=2">2</a><a href="find?results=7&sid=9&part=3">3</a>"""
    answer = answer_of(parse(text.encode(), f"{AT}find?results=7&sid=9"), "kiln")
    assert [(link.url, link.kind) for link in answer.links] == [
        ("http://a.example/gas", "listed"),
        (f"{AT}find?results=7&sid=9&part=2", "search"),
    ]
    guard = CrawlFilter(Scope.of(["http://a.example/"], "host"), traps=Traps(), sitemaps=True)
    assert [link.url for link in guard.admit(answer, 1)] == ["http://a.example/gas"]


def test_an_answer_lists_a_thread_and_not_its_posts_where_it_has_both() -> None:
    text = """<a href="/show?tid=7&hilit=kiln">Kilns</a><a href="/show?p=5#p5">A post</a>
        <a href="/show?tid=7&pid=9&hilit=kiln#pid9">Its post</a>
        <a href="/misc?action=whoposted&tid=7">3</a>"""
    answer = answer_of(parse(text.encode(), "http://a.example/find?q=kiln"), "kiln")
    guard = CrawlFilter(Scope.of(["http://a.example/"], "host"), traps=Traps())
    urls = [link.url.removeprefix("http://a.example/") for link in guard.admit(answer, 1)]
    assert urls == ["show?tid=7", "show?p=5"]


def test_an_answer_does_not_vouch_for_links_that_do_something() -> None:
    text = """<a href="/bowl">Bowl</a><a href="/bowl?add-to-cart=7">Into the basket</a>
        <a href="/?action=logout">Log out</a><a href="/poll?vote=1">Yes</a>"""
    answer = answer_of(parse(text.encode(), "http://a.example/find?q=bowl"), "bowl")
    guard = CrawlFilter(Scope.of(["http://a.example/"], "host"), traps=Traps())
    assert [link.url for link in guard.admit(answer, 1)] == ["http://a.example/bowl"]


@pytest.mark.parametrize(
    "further",
    ["http://b.example/?s=kiln&p=2", "http://a.example/?s=kiln&p=2", "/?s=clay&p=2"],
)
def test_the_next_part_of_an_answer_is_an_answer_of_its_host(further: str) -> None:
    """Else a site could have the pages of others taken for lists, and what is wanted read."""
    text = f'<a href="{further}">2</a>'
    assert not answer_of(parse(text.encode(), "https://a.example/?s=kiln"), "kiln").links


def test_what_an_answer_asks_of_its_readers_stays_with_it() -> None:
    text = '<meta name="robots" content="noindex, noai, nofollow"><a href="/gas">Gas</a>'
    answer = answer_of(parse(text.encode(), "http://a.example/?s=kiln"), "kiln")
    assert answer.flags == {"sitemap", "answer", "not-html", "noai", "nofollow"}


def test_sites_whose_answers_are_not_followed_are_known() -> None:
    assert is_not_followed(b'<meta name="generator" content="MediaWiki 1.39.17"/>')
    assert is_not_followed(b'<meta name="generator" content="DokuWiki"/>')
    assert not is_not_followed(b"<p>MediaWiki and DokuWiki are compared.</p>")


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ('name = "A plan of ours"\nwish = "kiln -oven title:glaze lang:de"', ("kiln glaze",)),
        ('name = "A plan of ours"\nwish = "kiln, glaze"', ("kiln", "glaze")),
        ('name = "A plan of ours"\nwish = "lang:de"', ()),
        ('name = "Kilns"', ("Kilns",)),
        ('name = "A plan of ours"\nkeywords = ["kiln"]', ("kiln",)),
        ('example_texts = ["Kilns burn clay."]', ()),
    ],
)
def test_a_site_is_asked_for_the_wish_of_a_topic_file(
    text: str, asks: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / "pots.toml"
    path.write_text(text)
    assert queries(Settings(topic_file=str(path))) == asks
    assert queries(Settings(topic_file=str(path), site_search=False)) == ()


# ---------------------------------------------------------------- a crawl

FAR = [f"/item{number}" for number in range(12)]
"""Which nothing but the search leads to."""


def site(asked: Asked) -> bytes:
    """Of rooms of which each leads to the next; its search answers with five items a part."""
    path, _, query = asked.path.partition("?")
    if path == "/find":
        said = parse_qs(query)
        part = int(said.get("part", ["1"])[0])
        items = FAR[5 * part - 5 : 5 * part] if said["q"] == ["kilns"] else []
        links = "".join(f'<a href="{item}">Item of clay</a> ' for item in items)
        numbers = "".join(
            f'<a href="/find?q=kilns&part={other}">{other}</a> '
            for other in (1, 2, 3)
            if other != part
        )
        return reply(f"<title>Kilns kilns</title>About kilns: {links}{numbers}")
    if path in FAR:
        return reply(f"<title>Kilns</title><h1>Kilns {path}</h1>Kilns burn clay. A kiln is hot.")
    if path == "/" or path.startswith("/room"):
        number = int(path.removeprefix("/room") or 0) if path != "/" else 0
        form = '<form role="search" action="/find"><input name="q" type="search"></form>'
        following = f'<a href="/room{number + 1}">onwards</a>' if number < 40 else ""
        return reply(f"<title>Room {number}</title>{form}{following} Nothing but room {number}.")
    return MISSING


def crawled(
    out: Path, *options: str, answer: Callable[[Asked], bytes] = site, pages: int = 25
) -> tuple[list[str], set[str]]:
    """The paths that a crawl asked for, and those that it found."""
    server = Loopback(answer)
    with beside(server.serving), in_process():
        command = ["crawl", "http://a.example/", "--topic", "kilns", "--delay", "0", *options]
        command += ["--connect-to", f"{ADDRESS}:{server.port}", "--out", str(out)]
        command += ["--per-host", "1", "--render", "never", "--pages", str(pages)]
        assert run(command) == 0
    found = {urlsplit(row.url).path for row in spoor.Run(out).pages(relevant=True)}
    return server.pages, found


@pytest.mark.server
@pytest.mark.parametrize("more", [(), ("--shards", "1"), ("--policy", "breadth-first")])
def test_a_crawl_asks_the_search_of_a_site_part_by_part(
    more: tuple[str, ...], tmp_path: Path
) -> None:
    asked, found = crawled(tmp_path / "run", *more)
    assert found == set(FAR)
    answers = [path for path in asked if path.startswith("/find")]
    assert answers[0] == "/find?q=kilns"
    assert len(answers) == 3
    lines = (tmp_path / "run" / "relevant.jsonl").read_text().splitlines()
    assert {urlsplit(json.loads(line)["url"]).path for line in lines} == set(FAR)


@pytest.mark.server
def test_a_search_that_finds_nothing_is_not_asked_further(tmp_path: Path) -> None:
    def answer(asked: Asked) -> bytes:
        if asked.path in FAR:
            return reply(f"<title>Item</title>Of something else: {asked.path}.")
        return site(asked)

    asked, found = crawled(tmp_path / "run", answer=answer)
    assert not found
    assert sum(path.startswith("/find") for path in asked) == 1


@pytest.mark.server
@pytest.mark.parametrize(
    "forbids", ["setting", "robots", "exclude", "nofollow of pages", "nofollow of answers"]
)
def test_a_site_and_a_user_may_forbid_it(forbids: str, tmp_path: Path) -> None:
    options = {"setting": ["--no-site-search"], "exclude": ["--exclude", "*/find*"]}.get(
        forbids, []
    )
    nofollow = b"<meta name=robots content=nofollow>"

    def answer(asked: Asked) -> bytes:
        if asked.path == "/robots.txt" and forbids == "robots":
            return reply("User-agent: *\nDisallow: /find", media="text/plain")
        if (forbids == "nofollow of pages" and asked.path == "/") or (
            forbids == "nofollow of answers" and asked.path.startswith("/find")
        ):
            return reply(nofollow.decode() + site(asked).partition(b"\r\n\r\n")[2].decode())
        return site(asked)

    asked, found = crawled(tmp_path / "run", *options, answer=answer)
    assert not found
    asks = [path for path in asked if path.startswith("/find")]
    assert len(asks) == (forbids == "nofollow of answers")


@pytest.mark.server
@pytest.mark.parametrize("to", ["/item3", "/wiki?title=kilns", "/research/kilns"])
def test_a_page_to_which_the_search_leads_on_is_a_document(to: str, tmp_path: Path) -> None:
    def answer(asked: Asked) -> bytes:
        if asked.path.startswith("/find"):
            return reply(status=302, Location=f"http://a.example{to}")
        return site(Asked(asked.host, FAR[3]) if asked.path == to else asked)

    _, found = crawled(tmp_path / "run", answer=answer)
    assert found == {to.partition("?")[0]}


@pytest.mark.server
@pytest.mark.parametrize(("most", "asks"), [(0, 0), (1, 0), (2, 1), (3, 2)])
def test_no_answer_is_asked_for_whose_pages_are_too_deep(
    most: int, asks: int, tmp_path: Path
) -> None:
    asked, _ = crawled(tmp_path / "run", "--max-depth", str(most))
    assert sum(path.startswith("/find") for path in asked) == asks


@pytest.mark.parametrize(
    ("asked", "answers"),
    [
        ([("/find?q=kilns", 1)], "kilns"),
        ([("/find?q=kilns", 1), ("/item3", 2)], ""),
        ([("/find?id=7", 1)], "kilns"),
        ([("/find?id=7", 1), ("/find?id=7", 2)], "kilns"),
        ([("/item3", 2)], ""),
    ],
)
def test_a_redirect_of_an_answer_that_another_process_follows_leads_to_a_page(
    asked: list[tuple[str, int]], answers: str
) -> None:
    async def get(url: str, *_: object, **__: object) -> Exchange:
        return Exchange(url, 200, "", (), CIMultiDictProxy(CIMultiDict()), b"", b"", 0.0, 0.0)

    requests = cast(
        PageRequests,
        SimpleNamespace(
            settings=Settings(),
            _queries=("kilns",),
            _searched=OrderedDict[int, str](),
            _types=None,
            _queues=SimpleNamespace(turn=lambda *_: nullcontext()),
            _hosts=SimpleNamespace(delay=lambda _: 0.0),
            _slots=SimpleNamespace(bring=print),
            _client=SimpleNamespace(get=get),
            _wall=time.time,
        ),
    )
    made: Failed | Exchange | None = None
    for path, attempt in asked:
        fetch = Fetch(5, f"http://a.example{path}", "a.example", Choice(0, None, WHY), attempt)
        made = asyncio.run(PageRequests._get(requests, fetch, ALLOW_ALL, ()))
    assert isinstance(made, Exchange)
    assert made.answers == answers


@pytest.mark.server
def test_a_page_to_which_an_answer_leads_on_by_itself_is_a_document(tmp_path: Path) -> None:
    def answer(asked: Asked) -> bytes:
        if asked.path.startswith("/find"):
            return reply(f'<meta http-equiv="refresh" content="0;URL={FAR[3]}">')
        return site(asked)

    _, found = crawled(tmp_path / "run", answer=answer)
    assert found == {FAR[3]}


@pytest.mark.server
@pytest.mark.parametrize(
    "leads_on",
    [
        '<meta http-equiv="refresh" content="0;URL=/find?q=kilns&part={0}">',
        '<a href="/find?q=kilns&part={0}">{0}</a>',
        '<a href="/find?q=kilns&part={0}">{0}</a><a href="/new{0}">A pot</a>',
    ],
)
def test_answers_without_end_are_asked_for_ten_times(leads_on: str, tmp_path: Path) -> None:
    """And none of them is a document."""

    def answer(asked: Asked) -> bytes:
        path, _, query = asked.path.partition("?")
        part = int(parse_qs(query).get("part", ["1"])[0])
        if path == "/find":
            return reply(f"<title>Kilns, kilns</title>Kilns {leads_on.format(part + 1)}")
        if path.startswith("/new"):
            return reply(
                f"<title>Kilns {path}</title><h1>Kilns</h1>A kiln is hot. Kilns burn clay."
            )
        return site(asked)

    asked, found = crawled(tmp_path / "run", answer=answer, pages=60)
    answers = [path for path in asked if path.startswith("/find")]
    assert 1 <= len(answers) <= 11
    assert not [path for path in found if path.startswith("/find")]


@pytest.mark.server
def test_a_text_that_shows_a_form_has_none(tmp_path: Path) -> None:
    def answer(asked: Asked) -> bytes:
        if asked.path == "/" or asked.path.startswith("/room"):
            body = site(asked).partition(b"\r\n\r\n")[2]
            if asked.path == "/":
                return reply(body.replace(b"<form", b"<p"))
            return reply(body, media="text/plain; charset=utf-8")
        return site(asked)

    asked, _ = crawled(tmp_path / "run", answer=answer)
    assert "/room1" in asked
    assert not [path for path in asked if path.startswith("/find")]


@pytest.mark.server
def test_a_run_that_goes_on_asks_for_the_parts_that_lack(tmp_path: Path) -> None:
    before, _ = crawled(tmp_path / "run", pages=6)
    after, found = crawled(tmp_path / "run")
    assert found == set(FAR)
    assert sum(path.startswith("/find") for path in [*before, *after]) == 3


@pytest.mark.server
def test_nothing_that_an_answer_lists_does_something(tmp_path: Path) -> None:
    """Unlike a sitemap, an answer has the links of any page: into the basket, out of the site."""
    acts = '<a href="/?add-to-cart=5">Add to basket</a><a href="/logout">Log out</a>'
    acts += '<a href="/item3?action=delete">Delete</a>'

    def answer(asked: Asked) -> bytes:
        if asked.path.startswith("/find"):
            return reply(acts + site(asked).partition(b"\r\n\r\n")[2].decode())
        return site(asked)

    asked, found = crawled(tmp_path / "run", answer=answer)
    assert found == set(FAR)
    assert not [path for path in asked if "cart" in path or "log" in path or "delete" in path]


@pytest.mark.server
@pytest.mark.parametrize(
    "form",
    [
        '<form role="search" action="/logout"><input name="q">',
        '<form role="search" action="/find"><input type=hidden name=action value=delete>'
        '<input name="q">',
        '<form role="search" action="/find"><input name="q"><button name=buy value=1>Go</button>',
    ],
)
@pytest.mark.parametrize("options", [(), ("--include", "*/room*")])
def test_no_form_has_a_crawl_do_something(
    form: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    def answer(asked: Asked) -> bytes:
        if asked.path == "/" or asked.path.startswith("/room"):
            body = site(asked).partition(b"\r\n\r\n")[2]
            return reply(form + "</form>" + body.decode())
        return site(asked)

    asked, _ = crawled(tmp_path / "run", *options, answer=answer)
    acts = [path for path in asked if "logout" in path or "delete" in path or "buy" in path]
    assert not acts
    assert "/room1" in asked


@pytest.mark.server
def test_links_of_an_answer_that_are_not_to_be_followed_are_not(tmp_path: Path) -> None:
    def answer(asked: Asked) -> bytes:
        its = site(asked).partition(b"\r\n\r\n")[2].decode()
        if asked.path.startswith("/find"):
            return reply(its.replace('<a href="/item1"', '<a rel="nofollow" href="/item1"'))
        return site(asked)

    asked, found = crawled(tmp_path / "run", answer=answer)
    assert "/find?q=kilns" in asked
    assert found == set(FAR) - {"/item1"}


@pytest.mark.server
def test_pages_per_host_bound_a_search_beyond_include_too(tmp_path: Path) -> None:
    options = ["--include", "*/room*", "--include", "*/item*"]
    asked, found = crawled(tmp_path / "run", *options)
    assert found == set(FAR)
    asked, _ = crawled(tmp_path / "few", *options, "--pages-per-host", "3")
    pages = [path for path in asked if path != "/robots.txt"]
    assert len(pages) == 3, pages
