"""The search index of a site of documentation as a list of its pages with their titles."""

from __future__ import annotations

import json
import zlib
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spoor.web import search_index_readers
from spoor.web.search_index_readers import MAX_LINKS, MAX_TITLE, is_index, links_of
from spoor.web.urls import Joiner

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


ROWS = [
    ("index.html", "Pottery"),
    ("guide/kilns.html", "Kilns &amp; “fire”"),
    ("guide/kilns.html#more", "More"),
    ("glazes.html", "Glazes of <em>ash</em>"),
]
SAID = 'Said {"href":"x", "title":"y"}], "url":"z" and [["w","v",'
"""Words of a page that look like an index."""


def quarto() -> str:
    rows = [
        {"objectID": at, "href": at, "title": title, "section": "", "text": SAID}
        for at, title in ROWS
    ]
    return json.dumps(rows, indent=2)


def pkgdown() -> str:
    rows = [
        {"path": f"/en/{at}", "id": "a", "previous_headings": "", "title": title, "text": SAID}
        for at, title in ROWS
    ]
    return compact([{"path": []}, *rows])


def bookdown(separators: tuple[str, str]) -> str:
    return json.dumps([[at, title, f"{SAID} ["] for at, title in ROWS], separators=separators)


def bs4_book() -> str:
    rows = [
        {"path": at, "id": "a", "chapter": title, "heading": "A heading", "text": SAID, "code": ""}
        for at, title in ROWS
    ]
    return compact(rows)


def gitbook() -> str:
    fields = [{"name": "title", "boost": 10}, {"name": "body", "boost": 1}]
    words = {"title": {"url": 1, "title": {"a": 2}}, "ref": "url"}
    store = {
        at: {"url": at, "title": title, "keywords": "", "body": SAID}
        for at, title in ROWS
        if "#" not in at
    }
    index = {"fields": fields, "ref": "url", "documentStore": {"store": words}}
    return compact({"index": index, "store": store})


def just_the_docs() -> str:
    rows = {
        str(place): {
            "doc": title,
            "title": "A heading",
            "content": SAID,
            "url": f"/en/{at}",
            "relUrl": f"/no/{at}",
        }
        for place, (at, title) in enumerate(ROWS)
    }
    return json.dumps(rows, indent=4)


def jekyll() -> str:
    """As most write its template: blanks before colons."""
    rows = [
        f'  {{\n "title"    : "{title}",\n "category" : "a", "tags": "title", "url"   : "/en/{at}",\n'
        '"date" : "2026-01-01 00:00:00" }'
        for at, title in ROWS
    ]
    return f"[\n{','.join(rows)}\n]\n"


def docsy() -> str:
    rows = [
        {"body": SAID, "categories": "", "ref": f"/en/{at}", "tags": [], "title": title}
        for at, title in ROWS
    ]
    return compact(rows)


def docfx() -> str:
    rows = {at: {"href": at, "title": title, "keywords": SAID} for at, title in ROWS}
    return json.dumps(rows, indent=2)


def documenter() -> str:
    rows = [
        {"location": at, "page": title, "title": "A heading", "text": SAID, "category": "page"}
        for at, title in ROWS
    ]
    return f'var documenterSearchIndex = {{"docs":\n{compact(rows)}\n}}\n'


def haddock() -> str:
    rows = [
        {
            "display_html": f'<a title="x">{SAID}</a>',
            "name": "f",
            "module": title,
            "link": f"{at}#v",
        }
        for at, title in ROWS
    ]
    return compact(rows)


def exdoc() -> str:
    def rows(kept: list[tuple[str, str]]) -> list[dict[str, object]]:
        nodes = [{"id": "f/1", "title": "f(x)", "anchor": "f/1"}]
        return [
            {"id": at[:-5], "title": title, "group": "", "nodeGroups": [{"nodes": nodes}]}
            for at, title in kept
        ]

    groups = {"extras": rows(ROWS[:1]), "modules": rows([ROWS[1], ROWS[3]]), "tasks": []}
    return f"sidebarNodes={compact(groups)}"


def inventory() -> bytes:
    """Sphinx writes `$` for the name at the end of a URL, and `-` for a title that is the name."""
    lines = [
        "index std:doc -1  Pottery",
        "f py:function 1 api/#$ -",
        "guide/kilns std:doc -1 guide/kilns/ Kilns & “fire”",
        "kiln std:label -1 guide/kilns/#kiln A kiln",
        "glazes std:doc -1 glazes/ Glazes of ash",
    ]
    first = b"# Sphinx inventory version 2\n# Project: A\n# Version: 1\n# Packed with zlib.\n"
    return first + zlib.compress("".join(f"{line}\n" for line in lines).encode())


FORMS = {
    "Quarto": ("search.json", quarto()),
    "pkgdown": ("search.json", pkgdown()),
    "bookdown": ("search_index.json", bookdown((",", ":"))),
    "bookdown of then": ("search_index.json", bookdown((",\n", ": "))),
    "bookdown with bs4_book": ("search.json", bs4_book()),
    "GitBook": ("search_index.json", gitbook()),
    "just-the-docs": ("assets/js/search-data.json", just_the_docs()),
    "Jekyll": ("search.json", jekyll()),
    "Docsy": ("offline-search-index.json", docsy()),
    "DocFX": ("index.json", docfx()),
    "Documenter.jl": ("search_index.js", documenter()),
    "Haddock": ("doc-index.json", haddock()),
    "ExDoc": ("dist/sidebar_items-6A.js", exdoc()),
}


@pytest.mark.parametrize(("path", "body"), FORMS.values(), ids=FORMS)
def test_so_does_one_of_other_generators(path: str, body: str) -> None:
    """Each page once, by its title: that of its first record."""
    assert is_index(body.encode())
    links = links_of(body.encode(), f"http://docs.example/en/{path}")
    assert [(link.url, link.anchor.text) for link in links] == WANTED
    assert {link.kind for link in links} == {"listed"}


FOLDERS = [
    ("http://docs.example/en/", "Pottery"),
    ("http://docs.example/en/guide/kilns/", "Kilns & “fire”"),
    ("http://docs.example/en/glazes/", "Glazes of ash"),
]


def test_so_does_what_sphinx_packs_for_other_manuals() -> None:
    links = links_of(inventory(), "http://docs.example/en/objects.inv")
    assert [(link.url, link.anchor.text) for link in links] == FOLDERS
    odd = b"# Sphinx inventory version 2\n\n\n\n" + zlib.compress(b"a/b std:doc -1 $/ -\n")
    links = links_of(odd, "http://docs.example/en/objects.inv")
    assert [(link.url, link.anchor.text) for link in links] == [
        ("http://docs.example/en/a/b/", "a/b")
    ]


def test_so_does_one_of_types() -> None:
    types = [
        {"p": "org.clay", "l": "Kiln"},
        {"p": "org.clay", "l": "Kiln.Door"},
        {"p": "&lt;Unnamed&gt;", "l": "Main"},
        {"p": "org.clay", "m": "org.pots", "l": "Oven"},
        {"l": "All Classes", "u": "allclasses-index.html"},
    ]
    body = f"typeSearchIndex = {compact(types)};updateSearchResults();".encode()
    links = links_of(body, "http://docs.example/en/type-search-index.js")
    assert [(link.url, link.anchor.text) for link in links] == [
        ("http://docs.example/en/org/clay/Kiln.html", "Kiln"),
        ("http://docs.example/en/org/clay/Kiln.Door.html", "Kiln.Door"),
        ("http://docs.example/en/Main.html", "Main"),
        ("http://docs.example/en/org.pots/org/clay/Oven.html", "Oven"),
    ]


def test_and_one_of_packages_in_modules() -> None:
    packages = [
        {"l": "All Packages", "u": "allpackages-index.html"},
        {"m": "org.pots", "l": "org.clay"},
    ]
    body = f"packageSearchIndex = {compact(packages)};updateSearchResults();".encode()
    links = links_of(body, "http://docs.example/en/package-search-index.js")
    assert [(link.url, link.anchor.text) for link in links] == [
        ("http://docs.example/en/org.pots/org/clay/package-summary.html", "org.clay")
    ]


def test_a_record_without_a_title_takes_none_of_another() -> None:
    for rows in (
        '[{"title":"A","url":"a"},{"url":"b"},{"title":"C","url":"c"}]',
        '[{"url":"a","title":"A"},{"url":"b"},{"url":"c","title":"C"}]',
        '[{"title":"A","url":"a","of":{"title":"x"}},{"title":"","url":"b"},{"title":"C","url":"c"}]',
        '{"title":"A site","items":[{"title":"A","url":"a"},{"url":"b"},{"title":"C","url":"c"}]}',
    ):
        links = links_of(rows.encode(), AT)
        assert [link.anchor.text for link in links] == ["A", "", "C"]


@pytest.mark.parametrize(
    "body",
    [
        '{"version": "https://jsonfeed.org/version/1.1", "items": [{"url": "a", "title": "b"}]}',
        "<!doctype html><title>[{</title>",
        "http://docs.example/a\n",
        "<urlset><url><loc>/a</loc></url></urlset>",
        "",
        "[]",
        "[1, 2]",
        "{}",
    ],
)
def test_other_lists_are_no_index(body: str) -> None:
    assert not is_index(body.encode())
    assert links_of(body.encode(), AT) == []


def test_of_one_that_is_cut_off_what_can_be_read_counts() -> None:
    body = SPHINX.encode()
    before_titles = body[: body.index(b"terms:")]
    assert [(link.url, link.anchor.text) for link in links_of(before_titles, AT)] == [
        (url, "") for url, _ in WANTED
    ]
    for end in range(len(body)):
        assert {link.url for link in links_of(body[:end], AT)} <= {url for url, _ in WANTED}


@pytest.mark.parametrize(("path", "body"), FORMS.values(), ids=FORMS)
def test_cut_off_it_lists_no_other_pages(path: str, body: str) -> None:
    whole = body.encode()
    for end in range(0, len(whole), 7):
        links = links_of(whole[:end], f"http://docs.example/en/{path}")
        assert {link.url for link in links} <= {url for url, _ in WANTED}


def test_cut_off_what_sphinx_packs_lists_no_other_pages() -> None:
    for end in range(len(inventory())):
        links = links_of(inventory()[:end], "http://docs.example/en/objects.inv")
        assert [(link.url, link.anchor.text) for link in links] == FOLDERS[: len(links)]


BODIES = [
    *(text.encode() for text in (SPHINX, SPHINX_OF_NOW, compact(mdbook()))),
    mkdocs(title_first=True).encode(),
    *(text.encode() for _, text in FORMS.values()),
    inventory(),
    b'typeSearchIndex = [{"p":"a.b","l":"C"},{"p":"a.b","l":"D"}]',
]


@given(
    st.sampled_from(BODIES),
    st.lists(st.tuples(st.integers(0, 900), st.binary(max_size=6)), max_size=6),
)
@example(b"Search.setIndex({docnames:[" + b'"' * 999, [])
@example(b'Search.setIndex({docnames:["\\ud800","a"],titles:["\\uZ","b"]})', [])
@example(b'[{"url":"\\ud800","title":"\\uZ"},{"url":"http://[x","title":"b"}]', [])
@example(b"sidebarNodes=" + b"[" * 100_000, [])
@example(b'sidebarNodes={"a":{"b":1},"c":[1]}', [])
@example(b"sidebarNodes=" + b"9" * 9_999, [])
@example(b'Search.setIndex({docnames:["a"],titles:["\\ud800 b"]})', [])
@example(b"# Sphinx inventory version 2\n", [])
def test_whatever_one_says_is_bounded(body: bytes, edits: list[tuple[int, bytes]]) -> None:
    data = bytearray(body)
    for at, put in edits:
        data[at : at + len(put)] = put
    links = links_of(bytes(data), AT)
    "".join(link.anchor.text for link in links).encode()  # there are no half letters
    assert all(len(link.anchor.text) <= MAX_TITLE for link in links)
    assert len({link.url for link in links}) == len(links)


def test_of_too_many_pages_the_first_are_listed() -> None:
    names = ",".join(f'"p{number}"' for number in range(MAX_LINKS + 9))
    assert len(links_of(f"Search.setIndex({{docnames:[{names}]}})".encode(), AT)) == MAX_LINKS
    records = ",".join(f'{{"url":"p{number}","title":""}}' for number in range(MAX_LINKS + 9))
    assert len(links_of(f"[{records}]".encode(), AT)) == MAX_LINKS
    lines = b"".join(b"p%d std:doc -1 $/ -\n" % number for number in range(MAX_LINKS + 9))
    packed = b"# Sphinx inventory version 2\n\n\n\n" + zlib.compress(lines)
    assert len(links_of(packed, AT)) == MAX_LINKS


@pytest.mark.parametrize("stretch", [1, 2, 3, 7])
def test_an_index_is_read_in_pieces_as_in_one(
    stretch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_index_readers, "_STRETCH", stretch)
    quoted = f"window.search = Object.assign(window.search, JSON.parse('{in_quotes(mdbook())}'));"
    for body in (SPHINX, SPHINX_OF_NOW, quoted):
        links = links_of(body.encode(), AT)
        assert [(link.url, link.anchor.text) for link in links] == WANTED
    for path, body in FORMS.values():
        links = links_of(body.encode(), f"http://docs.example/en/{path}")
        assert [(link.url, link.anchor.text) for link in links] == WANTED


def test_addresses_of_its_own_host_count() -> None:
    """pkgdown writes them whole, by the scheme of today."""
    rows = [{"path": f"{at}/en/a", "title": "A"} for at in ("https://docs.example", "//b.test")]
    found = links_of(compact([*rows, {"path": "https://docs.example.b.test/"}]).encode(), AT)
    assert [link.url for link in found] == ["https://docs.example/en/a"]


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

    monkeypatch.setattr(search_index_readers, "Joiner", Joins)
    monkeypatch.setattr(search_index_readers, "html", SimpleNamespace(unescape=unescape))
    others = [
        "//ä.ä.test/a",
        "/\\b.test/",
        "\\\\b.test/",
        "https://b.test/",
        "data:x",
        "%e4" * 999,
        "http://docs.example.b.test/",
    ]
    names = json.dumps(["a", *others, "b#c:d", "e/f"], ensure_ascii=False)
    titles = json.dumps(["&amp;" * 800] * 9)
    found = links_of(f"Search.setIndex({{docnames:{names},titles:{titles}}})".encode(), AT)
    base = AT.removesuffix("searchindex.js")
    assert [link.url for link in found] == [f"{base}{name}" for name in ("a.html", "b", "e/f.html")]
    assert joined == ["a.html", "b", "e/f.html"]
    assert max(map(len, read)) <= 2 * MAX_TITLE
