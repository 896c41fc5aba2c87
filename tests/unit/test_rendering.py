"""What plain HTML lacks, and what rendering is worth: the decisions, without a browser."""

from __future__ import annotations

import asyncio
import shutil
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict, CIMultiDictProxy

from spoor.errors import InputError
from spoor.live.renders import Renders
from spoor.rendering import browser
from spoor.rendering.missing_content import (
    APP_ROOT,
    ASKS,
    EMPTY_LIST,
    FEW_LINKS,
    NO_TEXT,
    ROUTE,
    ROUTES,
    SCRIPTS,
    lacks,
    shape,
)
from spoor.rendering.render_value import PROBES, Arm, Brought, RenderValues, is_text
from spoor.rendering.visit import (
    MOST_LETTERS,
    MOST_OF_A_PATH,
    ClickedLinks,
    HeldBackError,
    Visit,
    answer,
)
from spoor.settings import Settings
from spoor.types import Choice, Fetch
from spoor.web import urls
from spoor.web.exchange import Exchange
from spoor.web.page import parse
from spoor.web.url_groups import groups

WORDS = " ".join(f"word{at}" for at in range(250))
LINKS = "<a href=/1>1</a><a href=/2>2</a><a href=/3>3</a>"
RUN = "<script src=/a.js></script>"


@pytest.mark.parametrize(
    ("html", "lack"),
    [
        (f"<p>{WORDS}</p>{LINKS}", ""),
        ("<div id=app></div>", ""),  # nothing runs there
        ('<div id=app></div><script type="application/ld+json">{}</script>', ""),
        (f"<div id=app></div>{RUN}", APP_ROOT),
        (f'<div class="x" id="root" data-y>Loading…</div>{RUN}', APP_ROOT),
        (f"<app-root></app-root>{RUN}", APP_ROOT),
        (f"<p>Hello</p>{RUN}", NO_TEXT),
        (f"<p>Hello</p><noscript>Please enable JavaScript</noscript>{RUN}", ASKS),
        (f"<p>{WORDS}</p><ul id=news>\n</ul>{LINKS}{RUN}", EMPTY_LIST),
        (f'<p>{WORDS}</p><div class="search-results">Loading</div>{LINKS}{RUN}', EMPTY_LIST),
        (f"<p>{WORDS[:600]}</p>{RUN}", FEW_LINKS),
        (f"<p>{WORDS}</p>{LINKS}{RUN}", SCRIPTS),
        (f"<div id=app><p>{WORDS}</p></div>{LINKS}{RUN}", SCRIPTS),
    ],
)
def test_what_a_page_lacks(html: str, lack: str) -> None:
    body = html.encode()
    assert lacks(body, parse(body, "http://a.test/")) == lack


@pytest.mark.parametrize(
    "piece",
    ["<script", "<noscript>", "<div id=app ", "<div class=list ", "<ul>", "<app-a>", "<!--"],
)
def test_hostile_pages_cost_no_more(piece: str) -> None:
    body = f"<script></script>{piece * (300_000 // len(piece))}".encode()
    page = parse(b"x", "http://a.test/")
    began = time.process_time()
    lacks(body, page)
    assert time.process_time() - began < 1.0


def test_pages_behind_a_hash() -> None:
    """Only a browser's document has links to them; a place on the same page is none."""
    source = (
        '<title>x</title><link rel=canonical href="/"><h2 id="in">In</h2><a href="#/a">a</a>'
        '<a href="#/b?id=in">here</a><a href="#/a?id=in">there</a><a href="#in">in</a>'
        f'<a href="#/">home</a><p>{WORDS}</p>{RUN}'
    )
    at = "http://a.test/#/b"
    found = [link.url for link in parse(source.encode(), at, routes=True).links]
    assert found == [f"http://a.test/{to}" for to in ("#/a", "#/a?id=in", "", "")]
    assert parse(source.encode(), at, routes=True).canonical is None
    plain = parse(source.encode(), "http://a.test/")
    assert {link.url for link in plain.links} == {"http://a.test/"}
    assert lacks(source.encode(), plain) == ROUTES
    assert lacks(source.encode(), parse(source.encode(), at)) == ROUTE
    assert lacks(source.replace("#/", "#").encode(), plain) not in (ROUTE, ROUTES)
    assert groups("http://a.test/p?v=2#/item?id=3")[0] == ("a.test/p/v=##/item?id", True)


def test_what_a_page_asked_for_is_noted_once_and_long_urls_take_no_place() -> None:
    visit = Visit(Exchange.__new__(Exchange), _nothing, 1)
    visit.note(f"http://a.test/{'x' * MOST_LETTERS}")
    for _ in range(MOST_LETTERS // len("http://a.test/1") + 1):
        visit.note("http://a.test/1")
    visit.note("blob:http://a.test/1")
    visit.note("http://A.test/s#x", style=True)
    assert [*visit.needs.values()] == [
        ("http://a.test/1", False, False),
        ("http://a.test/s", True, False),
    ]


def test_of_what_a_page_polls_little_is_noted() -> None:
    visit = Visit(Exchange.__new__(Exchange), _nothing, 1)
    for number in range(60):
        visit.note(f"http://a.test/poll?t={number}", by_script=True)
        visit.note(f"http://a.test/{number}.png?v={number}")
    of_scripts = [one.url for one in visit.needs.values() if one.by_script]
    assert of_scripts == [f"http://a.test/poll?t={n}" for n in range(MOST_OF_A_PATH)]
    assert len(visit.needs) == 60 + MOST_OF_A_PATH


@pytest.mark.parametrize(
    ("is_leaving", "headers", "sent"),
    [
        (False, {}, True),
        (False, {"sec-purpose": "prefetch"}, False),
        (False, {"next-router-prefetch": "1"}, False),
        (False, {"referer": "http://a.test/how-to-prefetch"}, True),
        (True, {}, False),  # data of a page behind an item
    ],
)
def test_what_is_for_another_page_is_not_asked_for(
    is_leaving: bool, headers: dict[str, str], sent: bool
) -> None:
    asked, ended = list[str](), list[str]()

    async def load(url: str, kind: str, page: str) -> Exchange:
        asked.append(url)
        return Exchange(url, 200, "OK", (), CIMultiDictProxy(CIMultiDict()), b"", b"", 0.0, 0.0)

    async def done(*_: object, **__: object) -> None:
        ended.append("")

    request = SimpleNamespace(
        url="http://a.test/data",
        resource_type="fetch",
        method="GET",
        headers=headers,
        is_navigation_request=lambda: False,
    )
    route: Any = SimpleNamespace(request=request, abort=done, fulfill=done)
    visit = Visit(Exchange.__new__(Exchange), load, 1, clicked=ClickedLinks(is_leaving=is_leaving))
    visit.exchange = SimpleNamespace(url="http://a.test/")  # type: ignore[assignment]
    asyncio.run(answer(route, visit))
    assert (len(asked), len(ended), visit.held_back) == (sent, 1, 0)


async def _nothing(*_: str) -> Exchange:
    raise HeldBackError


def test_urls_of_one_template_have_one_shape() -> None:
    assert shape("http://a.test/") == "/"
    assert shape("http://a.test/blog/2024/05/kilns") == "/blog/#/#/*"
    assert shape("http://a.test/item/7?b=2&a=1") == shape("http://a.test/item/8?a=3&b=9")
    assert shape("http://a.test/x/a.html") == "/x/*.html" != shape("http://a.test/x/a")


ARMS = st.builds(
    Arm,
    st.sampled_from(["a.test", "b.test"]),
    st.sampled_from(["/", "/item/*", "/blog/*"]),
    st.sampled_from([NO_TEXT, APP_ROOT, ASKS, EMPTY_LIST, FEW_LINKS, SCRIPTS]),
)


@given(st.lists(st.tuples(ARMS, st.booleans()), max_size=80))
def test_a_host_where_nothing_pays_is_rendered_three_times_at_most(
    pages: list[tuple[Arm, bool]],
) -> None:
    """However many are under way at a time, and where one is given up."""
    values = RenderValues()
    learned, pending = {"a.test": 0, "b.test": 0}, list[Arm]()
    for arm, ends in pages:
        if values.decide(arm).action == "render":
            pending.append(arm)
        if ends and pending:
            one = pending.pop(0)
            assert values.learn(one, Brought(), 0.1) == 0.0
            learned[one.host] += 1
    for host, count in learned.items():
        assert count + sum(arm.host == host for arm in pending) <= PROBES
    for host in learned:
        assert values.settled(host) == (learned[host] == PROBES)


@given(st.lists(st.tuples(ARMS, st.integers(0, 30), st.booleans()), max_size=40))
def test_a_process_that_takes_over_decides_as_the_one_before(
    renders: list[tuple[Arm, int, bool]],
) -> None:
    values, again = RenderValues(), RenderValues()
    for arm, links, text in renders:
        brought = Brought(links, text, text and links > 3)
        values.begin(arm)
        gain = values.learn(arm, brought, 0.2)
        again.again(arm, gain, brought)
    for arm, *_ in renders:
        assert values.worth(arm) == again.worth(arm)
        assert values.settled(arm.host) == again.settled(arm.host)


def test_a_shape_that_pays_goes_on_and_one_that_does_not_ends() -> None:
    values = RenderValues()
    pays, wastes = Arm("a.test", "/list/*", EMPTY_LIST), Arm("a.test", "/item/*", EMPTY_LIST)
    counts = {pays: 0, wastes: 0}
    for _ in range(100):
        for arm in counts:
            if values.decide(arm).action == "render":
                counts[arm] += 1
                values.learn(arm, Brought(links=8 if arm == pays else 0), 0.1)
    assert counts[pays] == 100
    assert counts[wastes] <= 10
    # The decision has its reason in words.
    assert "bring 1." in values.decide(pays).why


def test_hosts_that_begin_at_the_same_time_wait_for_the_first_probes() -> None:
    values, arms = RenderValues(), [Arm(f"{at}.test", "/", SCRIPTS) for at in range(100)]
    first = [values.decide(arm).action for arm in arms]
    begun = first.count("render")
    assert 3 <= begun <= 12
    assert first[begun:] == ["wait"] * (100 - begun)
    assert values.decide(Arm("app.test", "/", APP_ROOT)).action == "render", "another lack"
    for arm in arms[:begun]:
        values.learn(arm, Brought(), 0.1)
    assert {values.decide(arm).action for arm in arms[begun:]} == {"leave"}
    # Where they do pay, those that waited are rendered.
    values = RenderValues()
    begun = [values.decide(arm).action for arm in arms].count("render")
    for arm in arms[:begun]:
        values.learn(arm, Brought(links=5), 0.1)
    assert {values.decide(arm).action for arm in arms[begun : begun + 5]} == {"render"}
    # One that is given up lets another one try.
    values = RenderValues()
    begun = [values.decide(arm).action for arm in arms].count("render")
    values.cancel(arms[0])
    assert values.decide(arms[-1]).action == "render"


def test_a_lack_that_pays_nowhere_is_probed_on_few_hosts_only() -> None:
    values, renders = RenderValues(), 0
    for number in range(500):
        arm = Arm(f"h{number}.test", "/", SCRIPTS)
        if values.decide(arm).action == "render":
            renders += 1
            values.learn(arm, Brought(), 0.1)
    assert 3 <= renders <= 15


def test_texts_that_are_never_relevant_end_to_pay() -> None:
    values, arm = RenderValues(), Arm("a.test", "/post/*", NO_TEXT)
    decided = []
    for _ in range(200):
        decided.append(values.decide(arm).action == "render")
        if decided[-1]:
            values.learn(arm, Brought(text=True), 0.2)
    assert all(decided[:20])
    assert sum(decided) < 60
    assert is_text(40, 5)
    assert not is_text(40, 200)


def test_nothing_to_render_with_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", "/nowhere")
    browser.require_browser("auto", "")
    browser.require_browser("never", "/no/such")
    with pytest.raises(InputError, match="no Chromium is on PATH; install one"):
        browser.require_browser("always", "")
    with pytest.raises(InputError, match="--chromium '/no/such' is no program"):
        browser.require_browser("auto", "/no/such")


@pytest.mark.parametrize("hosts", [1, 10])
def test_a_browser_that_is_not_there_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hosts: int
) -> None:
    """However many pages ask for it at a time, or wait for what the render of another brings."""
    monkeypatch.setattr(browser, "is_installed", lambda: True)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    lines: list[str] = []
    renders = Renders(
        Settings(render="auto"),
        known=lambda url: False,
        harvest=lambda: 0.1,
        note=lambda row, url, asked: None,
        report=lines.append,
    )

    async def load(url: str, kind: str, page: str) -> Exchange:
        raise AssertionError(url)

    async def crawl() -> None:
        renders.open(load, clicks=False)
        try:
            assert await asyncio.gather(*map(rendered, range(10))) == exchanges
        finally:
            await renders.close()

    async def rendered(at: int) -> Exchange:
        exchange = exchanges[at]
        page = parse(exchange.body, exchange.url)
        fetch = Fetch(at, exchange.url, urls.host(exchange.url), Choice(at))
        return await renders.rendered(fetch, exchange, page)

    body = f"<div id=app></div>{RUN}".encode()
    headers = CIMultiDictProxy(CIMultiDict({"Content-Type": "text/html"}))
    exchanges = [
        Exchange(f"http://h{at % hosts}.test/{at}", 200, "", (), headers, body, body, 0.0, 0.0)
        for at in range(10)
    ]
    asyncio.run(crawl())
    assert [line[:38] for line in lines] == ["no page is rendered: no Chromium is on"]
    assert renders.unrendered == 10
    assert renders.as_json()["lines"][0].startswith("nothing: 10 pages show little without")
    renders.unrendered = 1
    assert renders.as_json()["lines"][0].startswith("nothing: 1 page shows little without")
    renders.unfilled = 1
    assert renders.as_json()["lines"][0].startswith("nothing: 1 page has a list that scripts may")
