"""Search indexes: how a page names the list of its own pages, with their titles, that a site of
documentation has for the search that runs in a reader's browser. What such a list says is read in
`search_index_readers.py`.

Left out are those that no page names or that take more than one request: of Docusaurus, VitePress,
Hugo Book and most themes of Hugo (the name stands in a script), Pelican (on its search page alone),
Doxygen (a file for each letter), and rustdoc (another form each few releases). Of javadoc with
modules the list of packages is read, since that of classes does not say in which one each is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from spoor.web.urls import Joiner

WHY = (("search index", 1.0),)
"""Reason of a Choice whose target is fetched as a search index."""

_LOOKED_AT = 1 << 18
"""Bytes of a page, at its begin and at its end, in which it names an index: where scripts are."""

_HEAD = 1 << 14
"""Bytes at the begin in which it says what made it: of 3,000 pages of 20 sites, at most 2,200."""

_MOST_PLACES = 3
"""Of a word in a page, around which it is read …"""
_AROUND = 600
"""… so many bytes before and after its begin."""

_NAME = re.compile(
    r"/(?:[-.\w]*search[-.\w]*\.js(?:on)?|(?:doc-)?index\.json|objects\.inv"
    r"|sidebar_items[-.\w]*\.js)(?:\?[^/]*)?$"
)

_SPHINX = re.compile(rb'"([^"<>\s]{0,500})_static/(?:documentation_options|doctools)\.js')
_SPHINX_PAGES = re.compile(rb'"[^"<>\s]{0,500}search\.html["#?]')
"""Where pages end in `.html`; else the index does not say what they are called …"""
_SPHINX_FOLDERS = re.compile(rb'rel="search"[^<>]{0,200}href="[^"<>\s]{0,500}search/["#?]')
"""… but where they are folders, the list of what other manuals may link to does."""
_GENERATOR = re.compile(rb'generator"?\s{1,9}content="?([A-Za-z]{4,9})')
_MATERIAL = re.compile(
    rb'__config"?[^<>]{0,100}>\s{0,9}\{[^{}<>]{0,200}?"base":\s?"([^"<>\s]{1,500})"'
)
_MDBOOK = re.compile(rb'path_to_root\s{0,9}=\s{0,9}"([^"<>\s]{0,500})"')
_MDBOOK_FILE = re.compile(rb'path_to_searchindex_js\s{0,9}=\s{0,9}"([^"<>\s]{1,500})"')
_DOCFX = re.compile(rb'docfx:rel"\s{1,9}content="([^"<>\s]{0,500})"')
_JAVADOC = re.compile(rb'pathtoroot\s{0,9}=\s{0,9}"([^"<>\s]{0,500})"')


_Named = Callable[[bytes], bytes | None]


def named_in(body: bytes, url: str) -> str:
    """The search index that a page of HTML at `url` names by the scripts that it loads, as a
    canonical URL; empty where there is none, or its name is not that of one. Some 3 ms at most."""
    if len(body) > 2 * _LOOKED_AT:
        body = body[:_LOOKED_AT] + b" " + body[-_LOOKED_AT:]
    href = next(filter(None, (named(body) for named in _signs(body))), None)
    if href is None:
        return ""
    index = Joiner(size=1).join(href.decode("utf-8", "replace"), url) or ""
    return index if kind_of(index) == "index" else ""


def _signs(body: bytes) -> Iterator[_Named]:
    """What may find the name: most is not looked for in a page that another program made."""
    yield from _ANYWHERE
    head = body[:_HEAD]
    if (made := _near(head, b"generator", _GENERATOR)) is not None and made[1] in _BY_GENERATOR:
        yield _BY_GENERATOR[made[1]]
    yield from (named for word, named in _BY_SCRIPT if word in head)
    if b"SimpleJekyllSearch" in body[-_HEAD:]:
        yield _JEKYLL


def kind_of(url: str) -> str:
    """The kind of a link to a list of pages, which a page or robots.txt named as one: `index` where
    it has the name of a search index, else `sitemap`."""
    return "index" if _NAME.search(url) is not None else "sitemap"


def _near(body: bytes, word: bytes, pattern: re.Pattern[bytes]) -> re.Match[bytes] | None:
    """The first match around one of the first places of a word."""
    at = -1
    for _ in range(_MOST_PLACES):
        at = body.find(word, at + 1)
        if at < 0:
            return None
        found = pattern.search(body[max(0, at - _AROUND) : at + _AROUND])
        if found is not None:
            return found
    return None


def _beside(word: bytes, pattern: bytes, name: bytes = b"") -> _Named:
    """Of pages that have a word: the group of a pattern around it, and a name after that."""
    compiled = re.compile(pattern, re.DOTALL)

    def named(body: bytes) -> bytes | None:
        found = _near(body, word, compiled)
        return None if found is None else found[1] + name

    return named


def _sphinx(body: bytes) -> bytes | None:
    if (found := _near(body, b"_static/do", _SPHINX)) is None:
        return None
    if _near(body, b"search.html", _SPHINX_PAGES) is not None:
        return found[1] + b"searchindex.js"
    folders = _near(body, b'rel="search"', _SPHINX_FOLDERS)
    return None if folders is None else found[1] + b"objects.inv"


def _material(body: bytes) -> bytes | None:
    if (found := _near(body, b"__config", _MATERIAL)) is None:
        return None
    name = b"search.json" if b'content="zensical' in body else b"search/search_index.json"
    return found[1].rstrip(b"/") + b"/" + name


def _mdbook(body: bytes) -> bytes | None:
    if (found := _near(body, b"path_to_root", _MDBOOK)) is None or b"mdBook" not in body:
        return None
    file = _near(body, b"path_to_searchindex_js", _MDBOOK_FILE)
    return found[1] + (b"searchindex.js" if file is None else file[1])


def _bookdown(body: bytes) -> bytes | None:
    """Of one of its two forms of books."""
    return next(filter(None, (named(body) for named in _BOOKDOWN)), None)


def _docfx(body: bytes) -> bytes | None:
    """Where it has a place for what a search finds."""
    if (found := _near(body, b"docfx:rel", _DOCFX)) is None or b'id="search-results"' not in body:
        return None
    return found[1] + b"index.json"


def _javadoc(body: bytes) -> bytes | None:
    """Where there are modules, their packages: the navigation of each page names a module then."""
    if (found := _near(body, b"pathtoroot", _JAVADOC)) is None:
        return None
    of_modules = b"module-summary.html" in body or b">Module</li>" in body
    return found[1] + (b"package" if of_modules else b"type") + b"-search-index.js"


_PATH = rb'"([^"<>\s]{0,500})'
_BOOKDOWN = (
    _beside(
        b"js/plugin-search.js", _PATH + rb"libs/gitbook-[\d.]{1,20}/js/pl", b"search_index.json"
    ),
    _beside(b"bs4_book.js", _PATH + rb"libs/bs4_book-[\d.]{1,20}/bs4_book\.js", b"search.json"),
)
_ANYWHERE: tuple[_Named, ...] = (
    _sphinx,
    _beside(b"search/main.js", _PATH + rb"search/main\.js", b"search/search_index.json"),  # MkDocs
    _material,
)
_BY_GENERATOR: dict[bytes, _Named] = {
    b"quarto": _beside(
        b"quarto-search.js", _PATH + rb"site_libs/quarto-search/quarto-s", b"search.json"
    ),
    b"bookdown": _bookdown,
    b"GitBook": _beside(
        b"gitbook-plugin-search/",
        _PATH + rb"gitbook/(?:plugins/)?gitbook-plugin-search/",
        b"search_index.json",
    ),
    b"Jekyll": _beside(  # just-the-docs
        b"js/vendor/lunr.min.js",
        _PATH + rb"js/vendor/lunr\.min\.js.{0,300}just-the-docs",
        b"js/search-data.json",
    ),
    b"Hugo": _beside(b"-search-index-json-src", rb'-json-src="?([^"<>\s]{1,500})'),  # Docsy
    b"ExDoc": _beside(b"dist/sidebar_items", _PATH[:-1] + rb"dist/sidebar_items[-.\w]{0,50}\.js)"),
    b"docfx": _docfx,
    b"javadoc": _javadoc,
}
_BY_SCRIPT: tuple[tuple[bytes, _Named], ...] = (
    (b"path_to_root", _mdbook),
    (b"pkgdown.js", _beside(b"data-search-index", rb'data-search-index="([^"<>\s]{1,500})"')),
    (
        b"documenterBaseURL",
        _beside(
            b"documenterBaseURL",
            rb'documenterBaseURL\s{0,9}=\s{0,9}"([^"<>\s]{0,500})"',
            b"/search_index.js",
        ),
    ),
    (
        b"quick-jump.",  # Haddock
        _beside(b"quick-jump.", _PATH + rb"quick-jump\.(?:min\.)?css", b"doc-index.json"),
    ),
)
_JEKYLL = _beside(
    b"SimpleJekyllSearch",
    rb"""SimpleJekyllSearch.{0,400}?\b(?:json|dataSource)\s{0,9}:\s{0,9}["']([^"'<>\s]{1,500})""",
)
