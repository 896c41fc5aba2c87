"""How a page names the search index of a site of documentation, and what one may not do in a crawl:
what it says is read in `test_search_index_readers.py`."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import spoor
from loopback import ADDRESS, MISSING, Asked, Loopback, beside, page, reply
from ray_in_process import in_process
from spoor.cli.main import run
from spoor.learn.state import pack, unpack
from spoor.protocols import Offer
from spoor.runs.assemble import make_frontier
from spoor.types import Choice, Fetched, InLinks, Judgement, Link, LinkId, Outcome, Page, State
from spoor.web import search_indexes
from spoor.web.search_indexes import kind_of, named_in
from spoor.web.url_groups import lists_tags
from spoor.wrappers.lists_first import TAGS_WHY, WITHOUT, SearchesFirst

AT = "http://docs.example/en/searchindex.js"


@pytest.mark.parametrize(
    ("markup", "named"),
    [
        (
            '<script src="../_static/documentation_options.js?v=1"></script>'
            '<link rel="search" href="../search.html">',
            "http://docs.example/en/searchindex.js",
        ),
        (
            '<script src="_static/doctools.js"></script><a href="search.html">',
            "en/a/searchindex.js",
        ),
        (
            '<script src="../_static/doctools.js"></script>'
            '<link rel="search" type="application/opensearchdescription+xml" href="x.xml"/>'
            '<link rel="search" title="Search" href="../search/" />',
            "en/objects.inv",
        ),
        # Neither says what its pages are called.
        ('<script src="../_static/doctools.js"></script><a href="../search/">', ""),
        ('<script src="../search/main.js" defer>', "en/search/search_index.json"),
        ('<script id="__config" type="application/json">{"base": "..", "x":1}', "en/search/se"),
        (
            '<script id=__config type=application/json>{"a": null, "base": "."',
            "a/search/search_index",
        ),
        ('<!-- mdBook --><script>var path_to_root = "../";', "en/searchindex.js"),
        (
            '<!-- mdBook --><script>const path_to_root = "";'
            'window.path_to_searchindex_js = "searchindex-6a.js";',
            "en/a/searchindex-6a.js",
        ),
        (
            '<meta name="generator" content="zensical-0.0.10">'
            '<script id="__config" type="application/json">{"annotate":null,"base":".","x":[]}',
            "en/a/search.json",
        ),
        ('<script>path_to_root = "";', ""),
        (
            '<meta name="generator" content="quarto-1.2.3">'
            '<script src="../site_libs/quarto-search/quarto-search.js">',
            "en/search.json",
        ),
        ('<script src="../site_libs/quarto-search/quarto-search.js">', ""),
        (
            '<script src="../pkgdown.js"></script><input data-search-index="../search.json" id="s">',
            "en/search.json",
        ),
        (
            '<meta name="generator" content="bookdown 0.34 and GitBook 2.6.7">'
            '<script src="libs/gitbook-2.6.7/js/plugin-search.js">',
            "en/a/search_index.json",
        ),
        (
            '<meta name="generator" content="bookdown 0.43 with bs4_book()">'
            '<script src="libs/bs4_book-1.0.0/bs4_book.js">',
            "en/a/search.json",
        ),
        (
            '<meta name="generator" content="GitBook 3.2.2">'
            '<script src="../gitbook/gitbook-plugin-search/search-engine.js">',
            "en/search_index.json",
        ),
        (
            '<meta name="generator" content="Jekyll v4.3" />'
            '<script src="/en/assets/js/vendor/lunr.min.js"></script>\n'
            '<script src="/en/assets/js/just-the-docs.js"></script>',
            "en/assets/js/search-data.json",
        ),
        # Other sites have that library, too.
        (
            '<meta name="generator" content="Jekyll v4.3" />'
            '<script src="/en/assets/js/vendor/lunr.min.js"></script>',
            "",
        ),
        (
            '<script>SimpleJekyllSearch({searchInput: a,\n json: "/en/search.json", limit: 9})',
            "en/search.json",
        ),
        ('<script>SimpleJekyllSearch({json: "/en/posts.json"})', ""),
        (
            '<meta name="generator" content="Hugo 0.111.3">'
            '<input type="search" data-offline-search-index-json-src="/en/offline-search-index.6a.json">',
            "en/offline-search-index.6a.json",
        ),
        (
            '<meta name="generator" content="docfx 2.59"><meta property="docfx:rel" content="../">'
            '<div id="search-results">',
            "en/index.json",
        ),
        # It has no search.
        ('<meta name="generator" content="docfx 2"><meta property="docfx:rel" content="../">', ""),
        ('<script>documenterBaseURL=".."</script>', "en/search_index.js"),
        (
            '<meta name="generator" content="ExDoc v0.37.2">'
            '<script defer src="dist/sidebar_items-C57A2357.js">',
            "en/a/dist/sidebar_items-C57A2357.js",
        ),
        ('<link href="quick-jump.css" rel="stylesheet">', "en/a/doc-index.json"),
        (
            '<meta name="generator" content="javadoc/ClassWriterImpl">'
            '<script>var pathtoroot = "../";',
            "en/type-search-index.js",
        ),
        # Which module a class is in, its index does not say.
        (
            '<meta name="generator" content="javadoc/ClassWriterImpl">'
            '<script>var pathtoroot = "../";</script><a href="../module-summary.html">',
            "en/package-search-index.js",
        ),
        (
            '<meta name="generator" content="javadoc/TreeWriter">'
            '<script>var pathtoroot = "./";</script><ul><li>Module</li>',
            "en/a/package-search-index.js",
        ),
        (
            '<!-- mdBook --><script>var path_to_root = "";'
            'window.path_to_searchindex_js = "kiln.html";',
            "",
        ),
        ("<p>See _static/doctools.js and search.html", ""),
    ],
)
def test_a_page_names_the_index_of_its_site(markup: str, named: str) -> None:
    found = named_in(f"<html>{markup}</html>".encode(), "http://docs.example/en/a/b.html")
    assert named in found if named else not found


@pytest.mark.parametrize(
    "path",
    [
        "",
        "index.html",
        "search.html",
        "search/",
        "sitemap.xml",
        "feed.json",
        "api/index",
        "data.js",
    ],
)
def test_other_urls_are_no_names_of_an_index(path: str) -> None:
    assert kind_of(f"http://docs.example/{path}") == "sitemap"
    assert kind_of("http://docs.example/search_index.json?v=2") == "index"


@given(st.binary(max_size=300))
@example(b'"_static/documentation_options.js"search.html"')
@example(b'"http://[x/_static/doctools.js" "search.html"')
def test_a_page_names_an_address_or_nothing(body: bytes) -> None:
    found = named_in(body, "http://docs.example/")
    assert found == "" or found.startswith(("http://", "https://"))


HOLDS = 60.0
"""Milliseconds of this thread for 64 MB: they are searched in one piece for 80 and more."""


@pytest.mark.parametrize(
    "unit",
    [
        b"o",
        b"search.htm",
        b"c_",
        b"path_to_roo",
        b'rel="search" href="',
        b'generator content="docfx',
        b"quick-jump.SimpleJekyllSearch",
        b'<meta name="generator" content="Jekyll">js/vendor/lunr.min.js',
    ],
)
def test_a_page_of_any_size_is_searched_in_moments(unit: bytes) -> None:
    body = unit * ((64 << 20) // len(unit))
    began = time.thread_time()
    assert named_in(body, "http://docs.example/") == ""
    assert 1e3 * (time.thread_time() - began) < HOLDS
    scripts = b'<script src="_static/doctools.js"></script><a href="search.html">'
    for long in (scripts + body, body + scripts):
        assert named_in(long, AT) == AT


# ---------------------------------------------------------------- a policy


class Following:
    """Follows the links in their order."""

    def __init__(self) -> None:
        self.next = 0
        self.learned = list[LinkId]()

    def observe(self, seen: InLinks) -> None:
        pass

    def choose(self, offer: Offer) -> Choice:
        self.next += 1
        return Choice(self.next - 1)

    def learn(self, outcome: Outcome) -> None:
        self.learned.append(outcome.choice.link)

    def save(self) -> State:
        return {}

    def load(self, state: State) -> None:
        pass


def test_an_index_is_one_by_whomever_it_is_chosen() -> None:
    """Also where more are named than are looked for."""
    wrapped = Following()
    policy = SearchesFirst(wrapped)
    named = [Link(f"http://h{number}.example/searchindex.js", kind="index") for number in range(9)]
    numbers, urls = range(9), [link.url for link in named]
    hosts = [f"h{number}.example" for number in numbers]
    policy.observe(InLinks(named, numbers, numbers, [True] * 9, 99, 0.0, 1, urls, hosts))
    policy.load(unpack(pack(policy.save())))
    offer = make_frontier("memory", delay=0.0, per_host=1).offer(0.0)
    chosen = [policy.choose(offer) for _ in range(9)]
    assert [(choice.link, choice.why) for choice in chosen] == [
        (number, search_indexes.WHY) for number in range(9)
    ]
    for choice in chosen:
        policy.learn(Outcome(choice, Fetched(0, Page("http://h.example/")), None, 0.0))
    assert wrapped.learned == []
    assert policy.choose(offer).why == ()


@pytest.mark.parametrize("relevant", [0, WITHOUT])
def test_the_page_of_all_tags_comes_once_most_pages_are_about_something_else(relevant: int) -> None:
    wrapped = Following()
    policy = SearchesFirst(wrapped)
    paths = [*(f"p{number}" for number in range(WITHOUT)), "blog/tags/kilns/", "blog/tags/", "z"]
    numbers, host = range(len(paths)), "a.example"
    links = [Link(f"http://{host}/{path}") for path in paths]
    urls, hosts, first = [link.url for link in links], [host] * len(links), [True] * len(links)
    policy.observe(InLinks(links, numbers, numbers, first, 99, 0.0, 1, urls, hosts))
    offer = cast(Offer, numbers)
    for number in range(WITHOUT):
        choice = policy.choose(offer)
        assert choice.link == number
        judgement = Judgement(1.0, number < relevant, 1.0)
        page = Page(f"http://{host}/p{number}")
        policy.learn(Outcome(choice, Fetched(0, page), judgement, 0.0))
    policy.load(unpack(pack(policy.save())))
    choice = policy.choose(offer)
    assert choice.why == (() if relevant else TAGS_WHY)
    assert relevant or choice.link == paths.index("blog/tags/")


@pytest.mark.parametrize(
    ("path", "are_all"),
    [
        ("tags/", True),
        ("blog/categories.html", True),
        ("en/topics/index.html", True),
        ("tags/kiln/", False),
        ("?show=tags", False),
        ("a/b/c/d/e/f/tags", False),
        ("pricetags", False),
    ],
)
def test_the_page_of_all_tags_is_told_by_its_url(path: str, are_all: bool) -> None:
    assert lists_tags(f"http://a.example/{path}") == are_all
    assert not lists_tags("http://tags")


# ---------------------------------------------------------------- a crawl

FRAME = '<script src="/_static/doctools.js"></script><link rel="search" href="/search.html">'
FAR = "kilns"


def manual(asked: Asked) -> bytes:
    """The page that is looked for is ten pages of links away, and its index lists it."""
    chain = {f"/p{number}.html": f"/p{number + 1}.html" for number in range(9)}
    chain |= {"/": "/p0.html", "/p9.html": f"/{FAR}.html"}
    if asked.path == "/searchindex.js":
        names = ["index", *(f"p{number}" for number in range(10)), FAR]
        titles = ["Manual", *(f"Part {number}" for number in range(10)), "Kilns"]
        body = f"Search.setIndex({{docnames:{json.dumps(names)},titles:{json.dumps(titles)}}})"
        return reply(body, media="text/javascript")
    if asked.path == f"/{FAR}.html":
        return reply(f"<title>Kilns</title>{FRAME}<h1>Kilns</h1>A kiln burns clay. A kiln is hot.")
    if asked.path in chain:
        return reply(f'<title>Part</title>{FRAME}<a href="{chain[asked.path]}">next</a> Of pots.')
    return MISSING


def crawled(
    answer: Callable[[Asked], bytes],
    out: Path,
    budgets: Sequence[int],
    *options: str,
    start: str = "http://a.example/",
) -> tuple[list[str], list[int]]:
    """The paths that one crawl after another with the same folder asked for, and what each found."""
    server, found = Loopback(answer), list[int]()
    with beside(server.serving), in_process():
        command = ["crawl", start, "--topic", "kilns", "--delay", "0", *options]
        command += ["--connect-to", f"{ADDRESS}:{server.port}", "--out", str(out)]
        command += ["--per-host", "1", "--render", "never"]
        for budget in budgets:
            assert run([*command, "--pages", str(budget)]) == 0
            found.append(len([*spoor.Run(out).pages(relevant=True)]))
    return server.pages, found


@pytest.mark.server
@pytest.mark.parametrize("more", [(), ("--shards", "1"), ("--policy", "breadth-first")])
def test_a_crawl_reads_the_index_that_a_page_names(more: tuple[str, ...], tmp_path: Path) -> None:
    """Once two pages are not what is wanted, also where another process goes on."""
    paths, found = crawled(manual, tmp_path / "with", (3, 4), *more)
    if more[:1] != ("--policy",):
        assert paths == ["/", "/p0.html", "/searchindex.js", "/kilns.html"]
        assert found == [0, 1]
    else:  # it follows links in their order, of which those of the index are some
        assert paths[:3] == ["/", "/p0.html", "/searchindex.js"]
    if not more:
        paths, found = crawled(manual, tmp_path / "without", (4,), "--no-search-index")
        assert (paths, found) == (["/", "/p0.html", "/p1.html", "/p2.html"], [0])


def by(generator: str) -> tuple[str, str, bytes, str]:
    """Of a manual that another generator made: what its pages say, the path of its index, that and
    the path of the page that is looked for."""
    if generator == "Sphinx":
        lines = zlib.compress(b"kilns std:doc -1 kilns/ Kilns\n")
        frame = FRAME.replace("search.html", "search/")
        return frame, "/objects.inv", b"# Sphinx inventory version 2\n\n\n\n" + lines, "/kilns/"
    frame = '<meta name="generator" content="docfx 2"><meta property="docfx:rel" content="/">'
    index = b'{"kilns.html": {"href": "kilns.html", "title": "Kilns", "keywords": "clay"}}'
    return f'{frame}<p id="search-results">', "/index.json", index, "/kilns.html"


@pytest.mark.server
@pytest.mark.parametrize("generator", ["Sphinx", "DocFX"])
def test_so_it_does_of_other_generators(generator: str, tmp_path: Path) -> None:
    frame, path, index, wanted = by(generator)

    def answer(asked: Asked) -> bytes:
        if asked.path == path:
            return reply(index, media="application/octet-stream")
        if asked.path == wanted:
            return reply(f"<title>Kilns</title>{frame}<h1>Kilns</h1>A kiln burns clay. It is hot.")
        chain = {"/": "/p0.html", "/p0.html": "/p1.html", "/p1.html": "/p2.html"}
        if asked.path in chain:
            link = f'<a href="{chain[asked.path]}">next</a>'
            return reply(f"<html><head><title>Part</title>{frame}</head>{link} Of pots.")
        return MISSING

    paths, found = crawled(answer, tmp_path / "with", (3, 4))
    assert paths == ["/", "/p0.html", path, wanted]
    assert found == [0, 1]


@pytest.mark.server
def test_an_index_is_no_document(tmp_path: Path) -> None:
    """It has all the words of its site."""
    paths, _ = crawled(manual, tmp_path / "run", (4,))
    assert "/searchindex.js" in paths
    assert run(["export", str(tmp_path / "run"), str(tmp_path / "all.jsonl"), "--all"]) == 0
    lines = (tmp_path / "all.jsonl").read_text().splitlines()
    urls = [f"http://a.example/{name}" for name in ("", "p0.html", "kilns.html")]
    assert [json.loads(line)["url"] for line in lines] == urls
    found = spoor.Run(tmp_path / "run").search("kilns")
    assert [one.url for one in found] == urls[-1:]


@pytest.mark.server
def test_where_the_first_pages_are_what_is_wanted_no_index_is_asked_for(tmp_path: Path) -> None:
    kiln = "<h1>Kilns</h1>A kiln burns clay. A kiln is hot. This kiln is number"

    def answer(asked: Asked) -> bytes:
        if asked.path == "/robots.txt":
            return MISSING
        number = int(asked.path.strip("/k.html") or 0)
        following = "".join(f'<a href="/k{number + one}.html">Kiln {one}</a>' for one in (1, 2))
        return reply(f"<title>Kilns {number}</title>{FRAME}{kiln} {number}.{following}")

    paths, found = crawled(answer, tmp_path / "out", (8,))
    assert found == [8]
    assert "/searchindex.js" not in paths


@pytest.mark.server
def test_an_index_on_another_host_and_a_second_one_are_not_asked_for(tmp_path: Path) -> None:
    other = '<script src="http://b.example/_static/doctools.js"></script><a href="/search.html">'
    second = FRAME.replace('"/', '"/v2/')
    site = {
        "/": reply(f'{other}<a href="/a">a</a>'),
        "/a": reply(f'{FRAME}<a href="/b">b</a>'),
        "/b": reply(second),
    }
    server = Loopback(
        lambda asked: site.get(asked.path, page() if ".js" in asked.path else MISSING)
    )
    with beside(server.serving):
        command = ["crawl", "http://a.example/", "--topic", "clay", "--delay", "0"]
        command += ["--scope", "anywhere", "--connect-to", f"{ADDRESS}:{server.port}"]
        assert run([*command, "--out", str(tmp_path / "out")]) == 0
    asked = {(host, path) for host, path in server.asked if path.endswith(".js")}
    assert asked == {("a.example", "/searchindex.js")}


def answered(index: bytes, *, nofollow: bool = False) -> Callable[[Asked], bytes]:
    """A site of which the pages name an index, in place of which something else comes."""
    robots = '<meta name="robots" content="nofollow">' * nofollow
    kiln = "<title>Kilns</title><h1>Kilns</h1>A kiln burns clay. A kiln is hot."

    def answer(asked: Asked) -> bytes:
        if asked.path.startswith("/docs/p"):
            number = int(asked.path[7:-5])
            link = f'<a href="/docs/p{number + 1}.html">next</a>' if number < 9 else ""
            return reply(f"<title>Part {number}</title>{robots}{DOCS}{link} Of pots {number}.")
        if asked.path in ("/docs/searchindex.js", "/searchindex.js"):
            return index
        return reply(kiln) if "kiln" in asked.path else MISSING

    return answer


DOCS = FRAME.replace('"/', '"/docs/')
LIST = reply(
    "<sitemapindex><sitemap><loc>http://a.example/kiln.html</loc></sitemap></sitemapindex>",
    media="text/xml",
)
ELSEWHERE = b"HTTP/1.1 302 Found\r\nLocation: /docs/kiln.html\r\nContent-Length: 0\r\n\r\n"
OUT_OF_SCOPE = b"HTTP/1.1 302 Found\r\nLocation: /kiln.html\r\nContent-Length: 0\r\n\r\n"
A_PAGE = reply("<title>Kilns</title><h1>Kilns</h1>A kiln burns clay. A kiln is hot.")


@pytest.mark.server
@pytest.mark.parametrize(
    ("index", "found"),
    [(LIST, 0), (A_PAGE, 0), (ELSEWHERE, 1), (OUT_OF_SCOPE, 0), (reply("kiln", media="a/b"), 0)],
    ids=["a sitemap", "a page", "leads to a page", "leads out of scope", "something"],
)
def test_what_comes_in_place_of_an_index_is_no_way_out_of_the_scope(
    index: bytes, found: int, tmp_path: Path
) -> None:
    """A page to which it leads is read as one."""
    start, only = "http://a.example/docs/p0.html", ("--include", "*/docs/*")
    paths, counts = crawled(answered(index), tmp_path / "out", (6,), *only, start=start)
    assert "/docs/searchindex.js" in paths
    assert "/kiln.html" not in paths
    assert counts == [found]


@pytest.mark.server
def test_a_page_that_says_nofollow_leads_to_no_index(tmp_path: Path) -> None:
    sitemap = answered(LIST, nofollow=True)
    paths, _ = crawled(sitemap, tmp_path / "out", (4,), start="http://a.example/docs/p0.html")
    assert paths == ["/docs/p0.html"]


@pytest.mark.server
def test_whoever_goes_on_with_a_host_has_its_first_index_alone(tmp_path: Path) -> None:
    """Of a manual of many versions, each with an index: the same order of requests."""

    def answer(asked: Asked) -> bytes:
        if asked.path.endswith(".html") and asked.path.startswith("/v"):
            number = int(asked.path[2:-5].replace("/", ""))
            frame = FRAME.replace('"/', f'"/v{number}/')
            link = f'<a href="/v{number + 1}/{number + 1}.html">next</a>'
            return reply(f"<title>Part {number}</title>{frame}{link} Of pots {number}.")
        return MISSING

    start = "http://a.example/v0/0.html"
    for policy in ("trail", "breadth-first"):
        options = "--policy", policy
        whole, _ = crawled(answer, tmp_path / policy / "1", (7,), *options, start=start)
        parts, _ = crawled(answer, tmp_path / policy / "2", range(1, 8), *options, start=start)
        assert parts == whole
        assert [path for path in whole if path.endswith(".js")] == ["/v0/searchindex.js"]
