"""What a search index of a site of documentation says: its pages and their titles. Most generators
write records of JSON that have a URL and a title, whatever else, and in whatever they lie.

Pure: bytes → links. What is read of an index are two of its columns, string by string: one of 10
MB, which is mostly words, is never decoded whole.
"""

from __future__ import annotations

import html
import json
import re
import zlib
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
"""Begin of an href to another host: its name takes long to read. Of its own host some have one."""

_STRETCH = 1 << 22
"""Bytes that are searched, or changed, in one piece: nothing else runs meanwhile."""

_MOST_UNPACKED = 64 << 20
"""Bytes that are read of a list of what other manuals may link to: CPython's is of 2 MB."""

_MOST_TOKENS, _MOST_SCANNED = 500_000, 4 << 20
"""Strings and brackets, and bytes, of an index whose records have records in them: ExDoc's, which
has no words of its pages."""

_MOST_TRIED = 200
"""Places at which the name of a column stands, as a word that readers may search for does."""

_MOST_PLACES = 3
"""Of the key of a title beside a URL."""

_HEAD = 20_000
"""Bytes in which the form of an index shows."""

_BACK = 1 << 20
"""Bytes in which a title is looked for before its URL: words of the page may lie between."""

_RECORD = 1 << 16
"""Bytes of a record in which the order of its URL and title shows."""

_STRING = re.compile(rb'\s{0,9}"((?:[^"\\]|\\.){0,4000})"\s{0,9}(,?)', re.DOTALL)
_VALUE = re.compile(rb"\s{0,20}:" + _STRING.pattern, re.DOTALL)
_COLON = re.compile(rb"\s{0,20}:")
_LIST = re.compile(rb'"?\s{0,9}:\s{0,9}\[(?=\s{0,9}")')
_RECORDS = re.compile(rb'(?:(?:var|const|let) \w{1,60}\s?=\s{0,9})?(?:\[\s{0,9}\{|\{\s{0,9}")')
_ROWS = re.compile(rb'\[\s{0,9}\["')
_TOKEN = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)(?:"|\\?\Z)|[{}\[\]]', re.DOTALL)
"""A string, also one that does not end, so that none begins at a quote within it, or a bracket."""
_TAG = re.compile(r'<span class="section-number">[^<>]{0,50}</span>|<[^<>]{0,500}>')
_TYPE = re.compile(rb'\{"p":"([^"\\]{1,500})",(?:"m":"([^"\\]{1,500})",)?"l":"([^"\\]{1,500})"')
_PACKAGE = re.compile(rb'\{"m":"([^"\\]{1,500})","l":"([^"\\]{1,500})"')
_TARGET = re.compile(rb"(.{1,2000}) std:doc -?\d{1,9} (\S{0,2000}) (.{1,2000})")

_KEYS = (
    (b'"href"', b'"title"'),
    (b'"location"', b'"page"'),
    (b'"location"', b'"title"'),
    (b'"url"', b'"doc"'),
    (b'"url"', b'"title"'),
    (b'"path"', b'"title"'),
    (b'"path"', b'"chapter"'),
    (b'"link"', b'"module"'),
    (b'"ref"', b'"title"'),
)
"""Of the URL and of the title of a record: of Quarto and DocFX, Documenter.jl, MkDocs and Zensical,
just-the-docs, GitBook and Jekyll, pkgdown, bookdown, Haddock, Docsy. Of those that an index has the
first ones count, since that of a search has a `ref` of its own."""


def is_index(body: bytes) -> bool:
    """Whether a body looks like a search index."""
    return _kind(body) is not None


def _kind(body: bytes) -> str | None:
    start = body[:400].lstrip()
    for name, kind in _BEGINS:
        if start.startswith(name):
            return kind
    if _ROWS.match(start) is not None:
        return "rows"
    if _RECORDS.match(start) is None or b"://jsonfeed.org/" in body[:_HEAD]:
        return None
    of_mkdocs = start.startswith(b"{") and b'"location":' in body[:_HEAD]
    return "mkdocs" if of_mkdocs and b'"docs":' in body[:_HEAD] else "records"


def links_of(body: bytes, url: str) -> Sequence[Link]:
    """The pages that a search index at `url` lists, each once, with its title: of kind `listed`, at
    most `MAX_LINKS`. Never raises: of one that is cut off, or of another form, what can be read. A
    page of which only the URL is known has no title. O(body)."""
    reader = _READERS.get(_kind(body) or "")
    joiner, links = Joiner(size=1), dict[str, Link]()
    own = tuple(f"{scheme}://{url.split('/', 3)[2]}/" for scheme in ("https", "http"))
    for href, title in reader(body) if reader is not None else ():
        away = _AWAY.match(href) is not None and not href.startswith(own)
        if away or len(href) > _MOST_HREF:
            continue
        target = joiner.join(href.partition("#")[0] or "./", url)
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


def _inventory(body: bytes) -> Iterator[tuple[str, str]]:
    """Of Sphinx where pages are folders: lines `NAME ROLE PRIORITY URL TITLE`, packed."""
    for line in islice(_unpacked(body), 2 * MAX_LINKS):
        if (found := _TARGET.fullmatch(line)) is not None:
            name, href, title = (part.decode("utf-8", "replace") for part in found.groups())
            yield href.replace("$", name), name if title == "-" else title


def _unpacked(body: bytes) -> Iterator[bytes]:
    """The lines of pages, after those in which the list says what it is."""
    unpack, at, read, rest = zlib.decompressobj(), 0, 0, b""
    for _ in range(4):
        at = body.find(b"\n", at, at + 1000) + 1
    for begin in range(at, len(body), _RECORD):
        packed = body[begin : begin + _RECORD]
        while packed and read < _MOST_UNPACKED:
            try:
                piece = unpack.decompress(packed, 1 << 20)
            except zlib.error:
                return
            packed, read = unpack.unconsumed_tail, read + len(piece)
            lines = rest + piece
            end = lines.rfind(b"\n") + 1
            rest = lines[max(end, len(lines) - _RECORD) :]
            at = lines.find(b" std:doc ", 0, end)
            while at >= 0:
                after = lines.find(b"\n", at)
                yield lines[lines.rfind(b"\n", 0, at) + 1 : after]
                at = lines.find(b" std:doc ", after, end)


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
    for href, title in _records(body):
        yield f"../{href}", title


def _records(body: bytes) -> Iterator[tuple[str, str]]:
    """Of any records that have a URL and a title, which stands after it in all or before it."""
    found = (keys for keys in _KEYS if all(_has(body, key) for key in keys))
    if (keys := next(found, None)) is None:
        return
    of_url, of_title = keys
    named = (at for at in _places(body, of_url) if _VALUE.match(body, at) is not None)
    places = list(islice(named, 2 * MAX_LINKS))
    after = any(_title_follows(body, at, of_title[1:-1]) for at in places[:5])
    before = 0
    for at, end in zip(places, [*places[1:], len(body)], strict=True):
        href, begin = _string(body, at, _VALUE)
        parts = (begin, end) if after else (max(before, at - _BACK), at)
        yield href or "", _title(body, of_title, *parts, after=after)
        before = begin


def _title(body: bytes, key: bytes, begin: int, end: int, *, after: bool) -> str:
    """The value of a key in a part of a body, of which its begin is nearest, or its end; the same
    word may be a value itself."""
    for _ in range(_MOST_PLACES):
        place = _find(body, key, begin, end) if after else body.rfind(key, begin, end)
        if place < 0:
            break
        title, _ = _string(body, place + len(key), _VALUE)
        if title is not None:
            return title
        begin, end = (place + len(key), end) if after else (begin, place)
    return ""


def _has(body: bytes, key: bytes) -> bool:
    """Whether one of the first values of a key is a string."""
    places = islice(_places(body, key), _MOST_TRIED)
    return any(_VALUE.match(body, at) is not None for at in places)


def _title_follows(body: bytes, at: int, key: bytes) -> bool:
    """Whether the rest of a record has a title."""
    depth = 0
    for token in _TOKEN.finditer(body, at, at + _RECORD):
        if token[1] is not None:
            if depth == 0 and token[1] == key and _COLON.match(body, token.end()):
                return True
        else:
            depth += 1 if token[0] in b"{[" else -1
        if depth < 0:
            return False
    return False


def _rows(body: bytes) -> Iterator[tuple[str, str]]:
    """Of bookdown: `[[URL, title, words], …]`."""
    for at in _places(body, b'["'):
        if body[max(0, at - 12) : at - 2].rstrip()[-1:] in (b"[", b","):
            href, after = _string(body, at - 1)
            title, _ = _string(body, after)
            if href is not None and title is not None:
                yield href, title


def _javadoc(body: bytes) -> Iterator[tuple[str, str]]:
    """Types and their packages."""
    for at in _places(body, b'{"p":'):
        if (found := _TYPE.match(body, at - len(b'{"p":'))) is not None:
            package, module, name = (html.unescape(_read(part or b"")) for part in found.groups())
            folder = "" if package == "<Unnamed>" else package.replace(".", "/") + "/"
            yield f"{module}{'/' * bool(module)}{folder}{name}.html", name


def _packages(body: bytes) -> Iterator[tuple[str, str]]:
    """Packages and their modules."""
    for at in _places(body, b'{"m":'):
        if (found := _PACKAGE.match(body, at - len(b'{"m":'))) is not None:
            module, name = (html.unescape(_read(part)) for part in found.groups())
            yield f"{module}/{name.replace('.', '/')}/package-summary.html", name


def _exdoc(body: bytes) -> Iterator[tuple[str, str]]:
    """Of records in lists that are values of one object, though not of what is in a record."""
    depth, record = 0, dict[bytes, str]()
    for token in islice(_TOKEN.finditer(body, 0, _MOST_SCANNED), _MOST_TOKENS):
        if token[1] is None:
            depth += 1 if token[0] in b"{[" else -1
            if depth == 2 and len(record) == 2:
                yield f"../{record[b'id']}.html", record[b"title"]
            record = record if depth > 2 else {}
        elif depth == 3 and token[1] in (b"id", b"title"):
            value = _VALUE.match(body, token.end())
            if value is not None:
                record[token[1]] = _read(value[1])


_BEGINS = (
    (b"Search.setIndex(", "sphinx"),
    (b"# Sphinx inventory version 2\n", "inventory"),
    (b"window.search", "mdbook"),
    (b"Object.assign(window.search", "mdbook"),
    (b"typeSearchIndex", "javadoc"),
    (b"packageSearchIndex", "packages"),
    (b"sidebarNodes", "exdoc"),
)
_READERS = {
    "sphinx": _sphinx,
    "inventory": _inventory,
    "mdbook": _mdbook,
    "mkdocs": _mkdocs,
    "records": _records,
    "rows": _rows,
    "javadoc": _javadoc,
    "packages": _packages,
    "exdoc": _exdoc,
}
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


def _string(body: bytes, at: int, form: re.Pattern[bytes] = _STRING) -> tuple[str | None, int]:
    """The string that stands there, None where there is none, and where the next value begins."""
    found = form.match(body, at)
    return (None, at) if found is None else (_read(found[1]), found.end())


def _read(raw: bytes) -> str:
    text = raw.decode("utf-8", "replace")
    if "\\" not in text:
        return text
    try:
        read = str(json.loads(f'"{text}"', strict=False))
        return read.encode("utf-8", "replace").decode()  # half a letter is none
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
