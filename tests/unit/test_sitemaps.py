"""Sitemaps of all kinds as a source of links, and what they may not do."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import time
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopback import ADDRESS, MISSING, Answer, Asked, Loopback, beside, page, reply
from spoor.cli.main import run
from spoor.crawl import Crawl
from spoor.crawl.plugin_calls import judge_page
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.keywords import Keywords
from spoor.link_filter.scope import Scope
from spoor.live.driver import HttpDriver
from spoor.policies.breadth_first import BreadthFirst
from spoor.settings import Settings
from spoor.types import Failed, Judgement, Outcome, Page, Task
from spoor.web import sitemaps
from spoor.web.sitemaps import MAX_LINKS, MAX_SITEMAPS, dates_of, links_and_dates_of, links_of
from spoor.web.urls import canonical
from spoor.wrappers.lists_first import SitemapsFirst

pytestmark = pytest.mark.server

DATA = Path(os.environ.get("SPOOR_DATA", Path(__file__).parents[3] / "shared" / "data"))
CASES = DATA / "conformance" / "sitemaps-cc"
AT = "http://www.example.com/sitemaps/map.xml"


def listed(body: bytes | str, url: str = AT) -> list[tuple[str, str]]:
    data = body.encode() if isinstance(body, str) else body
    links = links_of(data, url)
    assert links_and_dates_of(data, url) == (links, dates_of(data, url))
    return [(link.kind, link.url) for link in links]


def urls(body: bytes | str) -> list[str]:
    return [url for _, url in listed(body)]


def urlset(*pages: str) -> str:
    return f"<urlset>{''.join(f'<url><loc>{one}</loc></url>' for one in pages)}</urlset>"


CATALOG = [
    "http://www.example.com/",
    *(
        f"http://www.example.com/catalog?item={item}&desc=vacation_{place}"
        for item, place in ((12, "hawaii"), (73, "new_zealand"), (74, "newfoundland"), (83, "usa"))
    ),
]
TWO = ["http://www.example.com/1", "http://www.example.com/2"]
DOMAIN = ["http://www.domain.com/page1.html", "http://www.domain.com/page2.html"]
POST = "https://www.example.com"
EXPECTED = {
    "sitemaps/xmlSitemap.gz": CATALOG,
    "sitemaps/sitemap.txt.gz": CATALOG,
    "sitemaps/sitemap.txt": DOMAIN,
    "sitemaps/sitemap-with-bom.txt": DOMAIN,
    "sitemaps/sitemap.ns.xml": TWO,
    "sitemaps/sitemap.badns.xml": TWO,
    # Of an entry's alternates we take the first only: they are the same document.
    "sitemaps/atom.xml": ["http://example.org/2003/12/13/atom03"],
    "rss/feed.rss": [
        f"{POST}/blog/post/1",
        f"{POST}/guid.html",
        f"{POST}/foo?q=a&l=en",
        f"{POST}/foo?q=a&l=fr",
    ],
    "rss/xmlRss_pubDate.xml": [f"http://www.example.com/article_{at}" for at in range(1, 8)],
    "sitemaps/extension/sitemap-videos-tvshow.xml": ["https://example.org/my-tv-show/23/13/"],
    "sitemaps/extension/sitemap-images.xml": [
        "http://www.example.com/images/some_image_landing_page.html"
    ],
    "sitemaps/extension/sitemap-links.xml": [
        f"http://www.example.com/{at}/" for at in ("english", "deutsch", "schweiz-deutsch")
    ],
}


@pytest.mark.data
@pytest.mark.parametrize("name", EXPECTED)
def test_cases_of_another_project(name: str) -> None:
    if not CASES.is_dir():
        pytest.skip("no conformance/sitemaps-cc in SPOOR_DATA")
    assert urls((CASES / name).read_bytes()) == EXPECTED[name]


@pytest.mark.data
def test_an_index_of_another_project() -> None:
    if not CASES.is_dir():
        pytest.skip("no conformance/sitemaps-cc in SPOOR_DATA")
    found = listed((CASES / "sitemaps/sitemap.index.xml").read_bytes())
    assert len(found) == 15
    assert found[0] == ("sitemap", "https://example.com/sitemap.jss?portalCode=10260&lang=en")


def test_relative_urls_other_schemes_and_repetitions() -> None:
    body = urlset("/a", "b", "mailto:x@y", "ftp://e.example/", "/a", "http://o.example/c", AT)
    assert urls(body) == [
        "http://www.example.com/a",
        "http://www.example.com/sitemaps/b",
        "http://o.example/c",
    ]


def test_an_index_leads_to_sitemaps_but_not_to_all() -> None:
    body = "".join(f"<sitemap><loc>/{at}.xml</loc></sitemap>" for at in range(200))
    found = listed(f"<sitemapindex>{body}</sitemapindex>")
    assert len(found) == MAX_SITEMAPS
    assert {kind for kind, _ in found} == {"sitemap"}


def test_encodings_zip_in_zip_and_members() -> None:
    text = urlset("http://e.example/ü")
    for body in (
        text.encode(),
        b"\xef\xbb\xbf" + text.encode(),
        text.encode("utf-16"),
        ('<?xml version="1.0" encoding="iso-8859-1"?>' + text).encode("latin-1"),
        gzip.compress(gzip.compress(text.encode())),
        gzip.compress(text.encode()[:20]) + gzip.compress(text.encode()[20:]),
    ):
        assert urls(body) == ["http://e.example/%C3%BC"]


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [
        *(("GB2312", "gb2312"), ("GBK", "gbk"), ("Shift_JIS", "shift_jis"), ("EUC-KR", "euc_kr")),
        *(("Big5", "big5"), ("EUC-JP", "euc_jp"), ("utf-16", "utf-16"), ("ISO-8859-15", "latin-1")),
        # Nobody's encoding, one of Python's that is none of the web's, and a lie.
        *(("nonsense", "utf-8"), ("zlib", "utf-8"), ("rot13", "utf-8"), ("utf-16", "utf-8")),
    ],
)
def test_encodings_of_the_web_are_read_and_others_harm_nobody(declared: str, encoding: str) -> None:
    word = "é" if encoding == "latin-1" else "中"
    body = f'<?xml version="1.0" encoding="{declared}"?>{urlset(f"http://www.example.com/{word}")}'
    assert urls(body.encode(encoding)) == [canonical(f"http://www.example.com/{word}")]


def test_many_empty_members_are_read_in_one_pass() -> None:
    body = gzip.compress(b"") * 200_000
    assert urls(body) == []  # it took minutes where each member copied those after it


def test_what_comes_before_a_fault_counts() -> None:
    whole = urlset(*TWO)
    assert urls(whole.removesuffix("</url></urlset>")) == TWO[:1]
    assert urls(whole.replace("</urlset>", "<url><loc>&nbsp;</loc>")) == TWO
    assert urls(gzip.compress(whole.encode())[:-8]) == TWO


FAULTS = ("AT&T", "&nbsp;", "\x0b", "&#xD83D;", "a < b", "</b>", "<b", "&bad;", "]]>")


@pytest.mark.parametrize("title", FAULTS)
@pytest.mark.parametrize("most", [7, 1 << 16])
def test_a_fault_costs_no_other_entry(
    title: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One title, which anybody may choose, took all entries behind it out of the sitemap."""
    monkeypatch.setattr(sitemaps, "_CHUNK", most)
    pages = [f"http://www.example.com/{number}?a=1&b=2" for number in range(5)]
    for pre, post in (("", ""), ("<![CDATA[", "]]>")):
        for escaped in (True, False):
            addresses = [page.replace("&", "&amp;") if escaped else page for page in pages]
            entries = [
                f"<url><loc>{page}</loc><news:news><news:title>{pre}{title if at == 1 else ''}{post}"
                "</news:title></news:news></url>"
                for at, page in enumerate(addresses)
            ]
            found = urls(f"<urlset>{''.join(entries)}</urlset>")
            assert set(pages) - {pages[1]} <= set(found)
            if title[:1] not in ("<", "]") or (pre and title != "]]>"):
                assert found == pages


def test_what_is_written_in_a_text_is_no_entry() -> None:
    inside = "<url><loc>http://www.example.com/inside</loc></url>"
    for text in (f"<![CDATA[{inside}]]>", f"<!--{inside}-->", f"<![CDATA[{inside}"):
        body = urlset(*TWO).replace("<loc>", "<loc>&nbsp;", 1).replace("</url>", f"{text}</url>", 1)
        assert "http://www.example.com/inside" not in urls(body)


def test_many_faults_are_read_in_one_pass() -> None:
    for fault in ("<url>&", "<url <!--", "<url><![CDATA[", "&", "<url:", "<" * 3, "<url></b>"):
        began = time.process_time()
        urls("<urlset>&" + fault * (250_000 // len(fault)))
        assert time.process_time() - began < 2, fault  # those that are quadratic take longer


LAUGHS = (
    '<!DOCTYPE x [<!ENTITY a "/ha">'
    + "".join(f'<!ENTITY a{at} "{"&a" * 0}{f"&a{at - 1};" * 10}">' for at in range(1, 12))
    + "]><urlset><url><loc>&a11;</loc></url></urlset>"
)


@pytest.mark.parametrize(
    "body",
    [
        LAUGHS,
        '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>' + urlset("/&e;"),
        '<!DOCTYPE x [<!ENTITY % p SYSTEM "http://127.0.0.1:9/x">%p;]>' + urlset("/a&b;"),
        f'<!DOCTYPE x [<!ENTITY e "{"x" * 100_000}">]>' + urlset("&e;" * 10_000),
        "<a>" * 100_000,
    ],
)
def test_entities_and_depth_get_nowhere(body: str) -> None:
    tracemalloc.start()
    try:
        assert urls(body) == []
        assert tracemalloc.get_traced_memory()[1] < 30 << 20
    finally:
        tracemalloc.stop()


def test_a_bomb_is_cut() -> None:
    bomb = gzip.compress(b"<urlset>" + b" " * 20_000_000)
    tracemalloc.start()
    try:
        assert links_of(bomb, AT, max_bytes=1 << 20) == []
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
    many = "\n".join(f"http://e.example/{at}" for at in range(MAX_LINKS + 100))
    assert len(urls(many)) == MAX_LINKS


@given(st.binary(max_size=300), st.booleans())
def test_nothing_raises(body: bytes, xml: bool) -> None:
    for data in (body, b"<urlset>" + body if xml else b"\x1f\x8b" + body, zlib.compress(body)):
        links_of(data, AT)


# ---------------------------------------------------------------- on a crawl

ROBOTS = reply(
    "User-agent: *\nDisallow: /shut\nSitemap: /index.xml\nSitemap: http://b.example/elsewhere.xml\n",
    media="text/plain",
)
INDEX = "<sitemapindex><sitemap><loc>/one.xml.gz</loc></sitemap></sitemapindex>"
SITE = {
    "/": page("/linked", text="clay"),
    "/robots.txt": ROBOTS,
    "/index.xml": reply(INDEX, media="application/xml"),
    "/one.xml.gz": reply(
        gzip.compress(urlset("/only-listed", "/shut", "http://c.example/").encode()),
        media="application/gzip",
    ),
    "/linked": page(text="clay"),
    "/only-listed": page(text="clay"),
}


def answer(asked: Asked) -> bytes:
    return SITE.get(asked.path, MISSING)


def asked_for(answer: Answer, *, sitemaps: bool) -> tuple[list[str], list[Outcome]]:
    server, outcomes = Loopback(answer), list[Outcome]()
    task = Task(np.random.default_rng(0))

    async def work() -> None:
        async with server.serving():
            engine = Crawl(
                SitemapsFirst(BreadthFirst(task)),
                Keywords(["clay"]),
                MemoryFrontier(per_host=1),
                admit=Scope.of(["http://a.example/"], "host"),
            )
            engine.seed(["http://a.example/"])
            http = Settings(
                per_host=100,
                connect_to=f"{ADDRESS}:{server.port}",
                sitemaps=sitemaps,
                search_index=False,
            )

            def step(_: object, done: object) -> None:
                if isinstance(done, Outcome):
                    outcomes.append(done)

            await HttpDriver(engine, http, on_step=step).run()

    asyncio.run(work())
    return server.pages, outcomes


def test_sitemaps_come_first_and_are_followed_on_request_only() -> None:
    paths, outcomes = asked_for(answer, sitemaps=True)
    assert paths == ["/", "/index.xml", "/one.xml.gz", "/linked", "/only-listed"]
    assert {o.reply.kind for o in outcomes if not o.page} == {"robots"}  # type: ignore[union-attr]
    pages = {o.page.url: o.page for o in outcomes if o.page}
    assert pages["http://a.example/index.xml"].flags == {"sitemap", "not-html"}
    assert asked_for(answer, sitemaps=False)[0] == ["/", "/linked"]


def test_a_host_that_names_none_is_asked_for_the_usual_one() -> None:
    def plain(asked: Asked) -> bytes:
        if asked.path == "/sitemap.xml":
            return reply(urlset("/only-listed"), media="text/xml")
        return MISSING if asked.path == "/robots.txt" else answer(asked)

    paths, _ = asked_for(plain, sitemaps=True)
    assert paths == ["/", "/sitemap.xml", "/linked", "/only-listed"]

    def none(asked: Asked) -> bytes:
        return MISSING if "." in asked.path else answer(asked)

    paths, outcomes = asked_for(none, sitemaps=True)
    failed = [o.reply.reason for o in outcomes if isinstance(o.reply, Failed)]
    assert (paths[1], failed) == ("/sitemap.xml", ["404 Not Found (a sitemap)"]), "no broken link"


def test_a_list_is_no_document_whatever_pattern_it_fits() -> None:
    class Every:
        def judge(self, page: Page) -> Judgement:
            return Judgement(1.0, True, 1.0, (("url:.", 1.0),))

    listed = Page("http://a.example/sitemap.xml", flags=frozenset({"sitemap", "not-html"}))
    assert judge_page(Every(), Page("http://a.example/")).relevant
    assert judge_page(Every(), listed) == Judgement(1.0, False, 0.0, (("url:.", 1.0),))


def test_a_run_takes_them_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server = Loopback(answer)
    with beside(server.serving):
        command = ["crawl", "http://a.example/", "--topic", "clay", "--delay", "0", "--sitemaps"]
        command += ["--connect-to", f"{ADDRESS}:{server.port}", "--out", str(tmp_path), "--json"]
        told = []
        for budget in ("2", "9"):
            assert run([*command, "--pages", budget]) == 0
            told.append(json.loads(capsys.readouterr().out))
    assert [one["fetched"] for one in told] == [2, 5]
    assert sorted(server.pages) == ["/", "/index.xml", "/linked", "/one.xml.gz", "/only-listed"]


def test_those_that_robots_names_come_where_no_other_link_is_left(tmp_path: Path) -> None:
    """Unless they are not wanted."""
    asked = list[list[str]]()
    for option in ("--search-index", "--no-search-index"):
        server = Loopback(answer)
        with beside(server.serving):
            command = ["crawl", "http://a.example/", "--topic", "clay", "--delay", "0", option]
            command += ["--connect-to", f"{ADDRESS}:{server.port}"]
            assert run([*command, "--out", str(tmp_path / option)]) == 0
        asked.append(server.pages)
    assert asked[0] == ["/", "/linked", "/index.xml", "/one.xml.gz", "/only-listed"]
    assert asked[1] == ["/", "/linked"]


@pytest.mark.parametrize(
    "first",
    [reply("%PDF-1.4 broken", media="application/pdf"), reply("clay", X_Robots_Tag="nofollow")],
)
def test_the_first_page_of_a_host_may_be_unreadable_or_not_to_be_followed(
    first: bytes, tmp_path: Path
) -> None:
    """Its host's sitemaps are named by robots.txt, and not by it."""
    seed = page("http://b.example/first", "http://b.example/linked", text="clay")
    other = {**SITE, "/first": first}
    server = Loopback(lambda asked: seed if asked.path == "/" else other.get(asked.path, MISSING))
    with beside(server.serving):
        command = ["crawl", "http://a.example/", "--topic", "clay", "--delay", "0", "--sitemaps"]
        command += ["--scope", "anywhere", "--connect-to", f"{ADDRESS}:{server.port}"]
        assert run([*command, "--per-host", "1", "--out", str(tmp_path)]) == 0
    assert ("b.example", "/only-listed") in server.asked


def test_addresses_of_one_host_are_parsed_by_their_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """A parser of URLs for each of 50,000 took a tenth of the time."""
    from spoor.web import urls as module

    parsed: list[str] = []
    parse = module.canonical

    def noted(url: str, *more: Any, **given: Any) -> str:
        parsed.append(url)
        return parse(url, *more, **given)

    monkeypatch.setattr(module, "canonical", noted)
    pages = [f"http://www.example.com/{number}" for number in range(1_000)]
    assert urls(urlset(*pages)) == pages
    assert len(parsed) <= 30, "of all that `listed` reads three times"
