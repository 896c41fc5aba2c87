"""The search index of a site of documentation as a list of its pages with their titles, and what one
may not do."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import spoor
from loopback import ADDRESS, MISSING, Asked, Loopback, beside, page, reply
from spoor.cli.main import run
from spoor.web.search_indexes import MAX_LINKS, MAX_TITLE, links_of, named_in

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
    answer: Callable[[Asked], bytes], out: Path, budgets: Sequence[int], *options: str
) -> tuple[list[str], list[int]]:
    """The paths that one crawl after another with the same folder asked for, and what each found."""
    server, found = Loopback(answer), list[int]()
    with beside(server.serving):
        command = ["crawl", "http://a.example/", "--topic", "kilns", "--delay", "0", *options]
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
