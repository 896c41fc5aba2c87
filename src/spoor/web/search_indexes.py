"""Search indexes: the list of its own pages, with their titles, that a site of documentation has
for the search that runs in a reader's browser: of Sphinx, MkDocs, Zensical and mdBook.

Pure: bytes → links. What is read of an index are two of its columns, string by string: one of 10
MB, which is mostly words, is never decoded whole.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice

from spoor.types import Anchor, Link
from spoor.web.urls import Joiner

MAX_LINKS = 50_000
"""Of one index."""

MAX_TITLE = 300
"""Characters."""

_MOST_READ = 2 * MAX_TITLE
"""Characters of a title with its tags and references, of which the words are made."""
_MOST_HREF = 1_000
"""Characters of an href: longer ones of 50,000 pages take a second to be joined."""
_AWAY = re.compile(r"[\\/\s]{2}|[^/?#]{0,40}:")
"""Begin of an href to another host, of which an index has none: its name takes long to read."""

WHY = (("search index", 1.0),)
"""Reason of a Choice whose target is fetched as a search index."""

_LOOKED_AT = 1 << 18
"""Bytes of a page, at its begin and at its end, in which it names an index: where scripts are."""
_STRETCH = 1 << 22
"""Bytes that are searched, or changed, in one piece: nothing else runs meanwhile."""

_MOST_TRIED = 200
"""Places at which the name of a column stands, as a word that readers may search for does."""

_MOST_PLACES = 3
"""Of a word in a page, around which it is read …"""
_AROUND = 600
"""… so many bytes before and after its begin."""

_NAME = re.compile(r"/(?:searchindex[-.\w]*\.js|search_index\.json|search\.json)$")
_STRING = re.compile(rb'\s{0,9}"((?:[^"\\]|\\.){0,4000})"\s{0,9}(,?)', re.DOTALL)
_LIST = re.compile(rb'"?\s{0,9}:\s{0,9}\[(?=\s{0,9}")')
_HEAD = 20_000
"""Bytes in which the form of an index shows."""

_TAG = re.compile(r'<span class="section-number">[^<>]{0,50}</span>|<[^<>]{0,500}>')

_SPHINX = re.compile(rb'"([^"<>\s]{0,500})_static/(?:documentation_options|doctools)\.js')
_SPHINX_PAGES = re.compile(rb'"[^"<>\s]{0,500}search\.html["#?]')
"""Where pages end in `.html`; else the index does not say what they are called."""
_MKDOCS = re.compile(rb'"([^"<>\s]{0,500})search/main\.js')
_MATERIAL = re.compile(
    rb'__config"?[^<>]{0,100}>\s{0,9}\{[^{}<>]{0,200}?"base":\s?"([^"<>\s]{1,500})"'
)
_MDBOOK = re.compile(rb'path_to_root\s{0,9}=\s{0,9}"([^"<>\s]{0,500})"')
_MDBOOK_FILE = re.compile(rb'path_to_searchindex_js\s{0,9}=\s{0,9}"([^"<>\s]{1,500})"')


def named_in(body: bytes, url: str) -> str:
    """The search index that a page of HTML at `url` names by the scripts that it loads, as a
    canonical URL; empty where there is none, or its name is not that of one. Some 3 ms at most."""
    if len(body) > 2 * _LOOKED_AT:
        body = body[:_LOOKED_AT] + b" " + body[-_LOOKED_AT:]
    href = _href(body)
    if href is None:
        return ""
    index = Joiner(size=1).join(href.decode("utf-8", "replace"), url) or ""
    return index if kind_of(index) == "index" else ""


def _href(body: bytes) -> bytes | None:
    if (found := _near(body, b"_static/do", _SPHINX)) is not None:
        pages = _near(body, b"search.html", _SPHINX_PAGES)
        return None if pages is None else found[1] + b"searchindex.js"
    if (found := _near(body, b"search/main.js", _MKDOCS)) is not None:
        return found[1] + b"search/search_index.json"
    if (found := _near(body, b"__config", _MATERIAL)) is not None:
        name = b"search.json" if b'content="zensical' in body else b"search/search_index.json"
        return found[1].rstrip(b"/") + b"/" + name
    if (found := _near(body, b"path_to_root", _MDBOOK)) is not None and b"mdBook" in body:
        file = _near(body, b"path_to_searchindex_js", _MDBOOK_FILE)
        return found[1] + (b"searchindex.js" if file is None else file[1])
    return None


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


def kind_of(url: str) -> str:
    """The kind of a link to a list of pages: `index` where it has the name of a search index, else
    `sitemap`."""
    return "index" if _NAME.search(url) is not None else "sitemap"


def is_index(body: bytes) -> bool:
    """Whether a body looks like a search index."""
    return _kind(body) is not None


def _kind(body: bytes) -> str | None:
    start = body[:400].lstrip()
    if start.startswith(b"Search.setIndex("):
        return "sphinx"
    if start.startswith((b"window.search", b"Object.assign(window.search")):
        return "mdbook"
    if start.startswith(b"{") and b'"location":' in body[:_HEAD]:
        for name, kind in ((b'"docs":', "mkdocs"), (b'"items":', "zensical")):
            if name in body[:_HEAD]:
                return kind
    return None


def links_of(body: bytes, url: str) -> Sequence[Link]:
    """The pages that a search index at `url` lists, each once, with its title: of kind `listed`, at
    most `MAX_LINKS`. Never raises: of one that is cut off, or of another form, what can be read. A
    page of which only the URL is known has no title. O(body)."""
    reader = _READERS.get(_kind(body) or "")
    joiner, links = Joiner(size=1), dict[str, Link]()
    for href, title in reader(body) if reader is not None else ():
        if not href or len(href) > _MOST_HREF or _AWAY.match(href) is not None:
            continue
        target = joiner.join(href.partition("#")[0], url)
        if target is None or target in links:
            continue
        links[target] = Link(target, Anchor(_words(title), position=len(links)), "listed")
        if len(links) == MAX_LINKS:
            break
    return list(links.values())


def _words(title: str) -> str:
    return " ".join(html.unescape(_TAG.sub("", title[:_MOST_READ])).split())[:MAX_TITLE]


def _sphinx(body: bytes) -> Iterator[tuple[str, str]]:
    names = list(_column(body, b"docnames"))
    titles = list(_column(body, b"titles"))
    if len(titles) != len(names):
        titles = [""] * len(names)
    for name, title in zip(names, titles, strict=True):
        yield f"{name}.html", title


def _mdbook(body: bytes) -> Iterator[tuple[str, str]]:
    if b"JSON.parse('" in body[:400]:
        body = b"".join(_unquoted(body))
    titles = dict[str, str]()
    for at in _places(body, b'"id":'):
        number, after = _string(body, at)
        if number is not None and body.startswith(b'"title":', after):
            title, _ = _string(body, after + len(b'"title":'))
            titles.setdefault(number, title or "")
    for place, href in enumerate(_column(body, b"doc_urls")):
        yield href, titles.get(str(place), "")


def _mkdocs(body: bytes) -> Iterator[tuple[str, str]]:
    for href, title in _zensical(body):
        yield f"../{href}", title


def _zensical(body: bytes) -> Iterator[tuple[str, str]]:
    places = list(_places(body, b'"location":'))
    for at, end in zip(places, [*places[1:], len(body)], strict=True):
        href, after = _string(body, at)
        begin = _find(body, b'"title":', after, end)
        title = None if begin < 0 else _string(body, begin + len(b'"title":'))[0]
        if href is not None:
            yield href or "./", title or ""


_READERS = {"sphinx": _sphinx, "mdbook": _mdbook, "mkdocs": _mkdocs, "zensical": _zensical}
"""Form of an index → (href, title) of its pages and sections; hrefs count from the index."""


def _places(body: bytes, name: bytes) -> Iterator[int]:
    """Where the values of a key begin, at most as many as there may be sections of pages."""
    at = 0
    for _ in range(4 * MAX_LINKS):
        at = _find(body, name, at)
        if at < 0:
            return
        at += len(name)
        yield at


def _find(body: bytes, word: bytes, at: int, end: int | None = None) -> int:
    """As `bytes.find`, stretch by stretch."""
    end = len(body) if end is None else end
    for begin in range(at, end, _STRETCH):
        found = body.find(word, begin, min(end, begin + _STRETCH + len(word) - 1))
        if found >= 0:
            return found
    return -1


def _unquoted(body: bytes) -> Iterator[bytes]:
    """A text in single quotes without what these made necessary, in pieces."""
    at = 0
    while at < len(body):
        piece = body[at : at + _STRETCH]
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2:
            piece += body[at + len(piece) : at + len(piece) + 1]  # what a backslash stands before
        at += len(piece)
        yield piece.replace(b"\\'", b"'").replace(b"\\\\", b"\\")


def _string(body: bytes, at: int) -> tuple[str | None, int]:
    """The string that stands there, None where there is none, and where the next value begins."""
    found = _STRING.match(body, at)
    return (None, at) if found is None else (_read(found[1]), found.end())


def _read(raw: bytes) -> str:
    text = raw.decode("utf-8", "replace")
    if "\\" not in text:
        return text
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text


def _column(body: bytes, name: bytes) -> Iterator[str]:
    """The strings of the list that is the value of a key, which stands there with quotes or without
    them; a word of the index that is alike has numbers, not strings."""
    at = 0
    for _ in range(_MOST_TRIED):
        at = _find(body, name, at)
        if at < 0:
            return
        at += len(name)
        found = _LIST.match(body, at)
        if found is not None and body[at - len(name) - 1 : at - len(name)] in (b'"', b",", b"{"):
            yield from islice(_strings(body, found.end()), MAX_LINKS)
            return


def _strings(body: bytes, at: int) -> Iterator[str]:
    while (found := _STRING.match(body, at)) is not None:
        yield _read(found[1])
        if not found[2]:
            return
        at = found.end()
