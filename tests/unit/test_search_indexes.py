"""The search index of a site of documentation as a list of its pages with their titles, and what one
may not do."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import spoor
from loopback import ADDRESS, MISSING, Asked, Loopback, beside, page, reply
from spoor.cli.main import run
from spoor.learn.state import pack, unpack
from spoor.protocols import Offer
from spoor.runs.assemble import make_frontier
from spoor.types import Choice, Fetched, InLinks, Link, LinkId, Outcome, Page, State
from spoor.web import search_indexes
from spoor.web.search_indexes import MAX_LINKS, MAX_TITLE, links_of, named_in
from spoor.web.urls import Joiner
from spoor.wrappers.lists_first import IndexWherePoor

AT = "http://docs.example/en/searchindex.js"

SPHINX = (
    'Search.setIndex({docnames:["index","guide/kilns","glazes"],envversion:{sphinx:56},'
    'filenames:["index.rst","guide/kilns.rst","glazes.rst"],objects:{"":[[1,0,1,"","docnames"]]},'
    "terms:{docnames:[0,2],kiln:1,titles:[1,2]},"
    'titles:["Pottery","Kilns &amp; \\u201cfire\\u201d","Glazes of <em>ash</em>"],'
    "titleterms:{kiln:1}})"
)
SPHINX_OF_NOW = (
    'Search.setIndex({"alltitles": {"Kilns": [[1, "kilns"]]}, "docnames": ["index", "guide/kilns",'
    ' "glazes"], "filenames": ["index.rst"], "terms": {"docnames": 1, "titles": [0, 1]}, "titles":'
    ' ["Pottery", "<span class=\\"section-number\\">1.2. </span>Kilns &amp; \\u201cfire\\u201d",'
    ' "Glazes of <em>ash</em>"], "titleterms": {}})'
)
WANTED = [
    ("http://docs.example/en/index.html", "Pottery"),
    ("http://docs.example/en/guide/kilns.html", "Kilns & “fire”"),
    ("http://docs.example/en/glazes.html", "Glazes of ash"),
]


def mdbook() -> dict[str, object]:
    names = ["index.html#pottery", "guide/kilns.html#top", "guide/kilns.html#more", "glazes.html"]
    titles = ["Pottery", "Kilns & “fire”", 'It\'s "hot"', "Glazes of ash"]
    docs = {
        str(at): {
            "body": '"id":"7","title":"no"',
            "breadcrumbs": "A » B",
            "id": str(at),
            "title": t,
        }
        for at, t in enumerate(titles)
    }
    index = {"documentStore": {"docInfo": {"0": {"title": 3}}, "docs": docs, "save": True}}
    return {"doc_urls": names, "index": index, "results_options": {"limit_results": 30}}


def mkdocs(*, title_first: bool) -> str:
    rows = [
        ("", "Pottery"),
        ("#about", "About"),
        ("guide/kilns.html", "Kilns &amp; “fire”"),
        ("guide/kilns.html#more", '"title":"no"'),
        ("glazes.html", "Glazes of ash"),
    ]
    text = 'Said "location":"x", "title":"y".'
    docs = [
        {"location": at, "title": title, "text": text}
        if title_first
        else {"location": at, "text": text, "title": title}
        for at, title in rows
    ]
    return json.dumps({"config": {"lang": ["en"]}, "docs": docs}, separators=(",", ":"))


def compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def in_quotes(value: object) -> str:
    return compact(value).replace("\\", "\\\\").replace("'", "\\'")


@pytest.mark.parametrize(
    "body",
    [
        SPHINX,
        SPHINX_OF_NOW,
        f"Object.assign(window.search, {compact(mdbook())});",
        f"window.search = Object.assign(window.search, JSON.parse('{in_quotes(mdbook())}'));",
    ],
    ids=["Sphinx", "Sphinx of now", "mdBook", "mdBook of now"],
)
def test_an_index_lists_pages_and_their_titles(body: str) -> None:
    links = links_of(body.encode(), AT)
    assert [(link.url, link.anchor.text) for link in links] == WANTED
    assert {link.kind for link in links} == {"listed"}
    assert [link.anchor.position for link in links] == [0, 1, 2]


@pytest.mark.parametrize("title_first", [True, False])
def test_so_does_one_of_mkdocs(*, title_first: bool) -> None:
    body = mkdocs(title_first=title_first).encode()
    links = links_of(body, "http://docs.example/en/search/search_index.json")
    assert [(link.url, link.anchor.text) for link in links] == [
        (url.replace("/en/index.html", "/en/"), title) for url, title in WANTED
    ]


def test_so_does_one_of_zensical() -> None:
    items = [{"location": "", "level": 1, "title": "Pottery", "text": "", "path": ["Pottery"]}]
    items += [{"location": "guide/kilns.html", "level": 1, "title": "Kilns & “fire”", "text": ""}]
    items += [{"location": "glazes.html#x", "level": 2, "title": "Glazes of ash", "text": ""}]
    links = links_of(
        compact({"config": {}, "items": items}).encode(), "http://docs.example/en/search.json"
    )
    assert [(link.url, link.anchor.text) for link in links] == [
        (url.replace("/en/index.html", "/en/"), title) for url, title in WANTED
    ]


def test_of_one_that_is_cut_off_what_can_be_read_counts() -> None:
    body = SPHINX.encode()
    before_titles = body[: body.index(b"terms:")]
    assert [(link.url, link.anchor.text) for link in links_of(before_titles, AT)] == [
        (url, "") for url, _ in WANTED
    ]
    for end in range(len(body)):
        assert {link.url for link in links_of(body[:end], AT)} <= {url for url, _ in WANTED}


@given(
    st.sampled_from([SPHINX, SPHINX_OF_NOW, compact(mdbook()), mkdocs(title_first=True)]),
    st.lists(st.tuples(st.integers(0, 900), st.binary(max_size=6)), max_size=6),
)
@example("Search.setIndex({docnames:[" + '"' * 999, [])
@example('Search.setIndex({docnames:["\\ud800","a"],titles:["\\uZ","b"]})', [])
def test_whatever_one_says_is_bounded(body: str, edits: list[tuple[int, bytes]]) -> None:
    data = bytearray(body.encode("utf-8", "surrogatepass"))
    for at, put in edits:
        data[at : at + len(put)] = put
    links = links_of(bytes(data), AT)
    assert all(len(link.anchor.text) <= MAX_TITLE for link in links)
    assert len({link.url for link in links}) == len(links)


def test_of_too_many_pages_the_first_are_listed() -> None:
    names = ",".join(f'"p{number}"' for number in range(MAX_LINKS + 9))
    assert len(links_of(f"Search.setIndex({{docnames:[{names}]}})".encode(), AT)) == MAX_LINKS


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
        # Its pages have no names that the index says.
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


@given(st.binary(max_size=300))
@example(b'"_static/documentation_options.js"search.html"')
@example(b'"http://[x/_static/doctools.js" "search.html"')
def test_a_page_names_an_address_or_nothing(body: bytes) -> None:
    found = named_in(body, "http://docs.example/")
    assert found == "" or found.startswith(("http://", "https://"))


HOLDS = 60.0
"""Milliseconds of this thread for 64 MB: they are searched in one piece for 80 and more."""


@pytest.mark.parametrize("unit", [b"o", b"search.htm", b"c_", b"path_to_roo"])
def test_a_page_of_any_size_is_searched_in_moments(unit: bytes) -> None:
    body = unit * ((64 << 20) // len(unit))
    began = time.thread_time()
    assert named_in(body, "http://docs.example/") == ""
    assert 1e3 * (time.thread_time() - began) < HOLDS
    scripts = b'<script src="_static/doctools.js"></script><a href="search.html">'
    for long in (scripts + body, body + scripts):
        assert named_in(long, AT) == AT


@pytest.mark.parametrize("stretch", [1, 2, 3, 7])
def test_an_index_is_read_in_pieces_as_in_one(
    stretch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_indexes, "_STRETCH", stretch)
    quoted = f"window.search = Object.assign(window.search, JSON.parse('{in_quotes(mdbook())}'));"
    for body in (SPHINX, SPHINX_OF_NOW, quoted):
        links = links_of(body.encode(), AT)
        assert [(link.url, link.anchor.text) for link in links] == WANTED


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


@pytest.mark.parametrize("poor", [False, True])
def test_an_index_is_one_by_whomever_it_is_chosen(*, poor: bool) -> None:
    """Also where none is looked for, or more than are looked for."""
    wrapped = Following()
    policy = IndexWherePoor(wrapped)
    named = [Link(f"http://h{number}.example/searchindex.js", kind="index") for number in range(9)]
    numbers, urls = range(9), [link.url for link in named]
    hosts = [f"h{number}.example" for number in numbers]
    policy.observe(InLinks(named, numbers, numbers, [True] * 9, 99, 0.0, 1, urls, hosts))
    pages = [Fetched(0, Page(f"http://h{number}.example/")) for number in range(9)]
    for fetched in pages * 2 * poor:
        policy.learn(Outcome(Choice(100), fetched, None, 0.0))
    policy.load(unpack(pack(policy.save())))
    offer = make_frontier("memory", delay=0.0, per_host=1).offer(0.0)
    chosen = [policy.choose(offer) for _ in range(9)]
    assert [(choice.link, choice.why) for choice in chosen] == [
        (number, search_indexes.WHY) for number in range(9)
    ]
    for choice in chosen:
        policy.learn(Outcome(choice, pages[0], None, 0.0))
    assert set(wrapped.learned) <= {100}
    assert policy.choose(offer).why == ()


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
        body = f"Search.setIndex({{docnames:{compact(names)},titles:{compact(titles)}}})"
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
    with beside(server.serving):
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
    paths, found = crawled(manual, tmp_path / "without", (4,), "--no-search-index", *more)
    assert (paths, found) == (["/", "/p0.html", "/p1.html", "/p2.html"], [0])


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


def test_of_an_entry_little_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """15 MB of references in titles, of escapes in addresses, or of hosts took 1.3, .9 and 1.0 s."""
    joined: list[str] = []
    read: list[str] = []

    class Joins(Joiner):
        def join(self, href: str, base: str) -> str | None:
            joined.append(href)
            return super().join(href, base)

    def unescape(text: str) -> str:
        read.append(text)
        return text

    monkeypatch.setattr(search_indexes, "Joiner", Joins)
    monkeypatch.setattr(search_indexes, "html", SimpleNamespace(unescape=unescape))
    others = ["//ä.ä.test/a", "/\\b.test/", "\\\\b.test/", "https://b.test/", "data:x", "%e4" * 999]
    names = json.dumps(["a", *others, "b#c:d", "e/f"], ensure_ascii=False)
    titles = json.dumps(["&amp;" * 800] * 9)
    found = links_of(f"Search.setIndex({{docnames:{names},titles:{titles}}})".encode(), AT)
    base = AT.removesuffix("searchindex.js")
    assert [link.url for link in found] == [f"{base}{name}" for name in ("a.html", "b", "e/f.html")]
    assert joined == ["a.html", "b", "e/f.html"]
    assert max(map(len, read)) <= 2 * MAX_TITLE
