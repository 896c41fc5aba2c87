"""What URLs look like: odd ones, and the groups of those that look alike."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from spoor.web.actions import verb
from spoor.web.urls import query_parts, with_query

MAX_URL = 2_000
MAX_PARTS = 64
"""Between `&` and `;`, empty ones and those that only track among them."""
MAX_SEGMENTS = 20
MAX_PARAMETERS = 12
MAX_SAME_PARAMETER = 4
MAX_SAME_SEGMENT = 4

_MEMO = 16_384
"""URLs whose verdict is cached: navigation repeats the same ones on every page."""
_BELOW_OTHERS = 5
"""Slashes of a URL that may be below a document in a folder, at least."""
TAG_FOLDERS = (
    "tags? category categories topics? subjects? labels? keywords? schlagwort schlagworte "
    "kategorien? themen? etiquettes? rubriques? mots-cles etiquetas? categorias? temas? categorie "
    "argomenti trefwoorden kategorier? tagi"
)
"""Names of folders of tags or categories, as regular expressions."""
_ALL_TAGS = re.compile(rf"(?:{'|'.join(TAG_FOLDERS.split())})(?:\.html?|\.php)?", re.IGNORECASE)
"""The last segment of the URL of all tags, or all categories, …"""
_DEEP = 7
"""… and the slashes before it, at most."""
_REPEATED = re.compile(r"((?:/[^/]+)+?)\1\1(?=/|$)")
_NUMBER = re.compile(r"(?<![a-f\d])(?=[a-f]*\d)[a-f\d]{8,}|\d+", re.IGNORECASE)
"""Digits, and hexadecimal digits from 8 on. The search starts where a run begins, not at each
letter of it, which would take quadratic time."""
_DIGIT = re.compile(r"\d")
"""Each number has one."""


def without_numbers(text: str) -> str:
    """A text with its numbers masked."""
    # The search takes a fifth of the time of the other, and most have none.
    return _NUMBER.sub("#", text) if _DIGIT.search(text) else text


def excess(url: str) -> str:
    """What a URL has too much of to be looked at part by part; empty for nothing. It costs little,
    however long the URL is."""
    if len(url) > MAX_URL:
        return f"its URL is longer than {MAX_URL} characters"
    if url.count("&") + url.count(";") >= MAX_PARTS:
        return f"its URL has more than {MAX_PARTS} parts"
    return ""


def oddity(url: str) -> str:
    """What is odd in the URL's own look; empty where nothing is."""
    return excess(url) or _oddity(url)


@lru_cache(maxsize=_MEMO)
def _oddity(url: str) -> str:
    path, _, query = _as_path(url).partition("?")
    segments = [part for part in path.split("/")[1:] if part]
    if len(segments) > MAX_SEGMENTS:
        return f"its path has more than {MAX_SEGMENTS} segments"
    if len(segments) >= 3:
        words = [part for part in segments if not part.isdigit()]
        if len(words) - len(set(words)) >= MAX_SAME_SEGMENT - 1:
            most = max(map(words.count, set(words)))
            if most >= MAX_SAME_SEGMENT:
                return f"a segment of its path stands there {most} times"
        if _REPEATED.search("/" + "/".join(words)):
            return "segments of its path repeat"
    if query:
        names = [part.partition("=")[0] for part in query.split("&") if part]
        if len(names) > MAX_PARAMETERS:
            return f"it has more than {MAX_PARAMETERS} parameters"
        if len(names) > MAX_SAME_PARAMETER:
            most = max(map(names.count, set(names)))
            if most > MAX_SAME_PARAMETER:
                return f"it has one parameter {most} times"
    return ""


@lru_cache(maxsize=_MEMO)
def groups(url: str) -> Sequence[tuple[str, bool]]:
    """The groups that a URL is of, the narrowest first, and whether each is narrow: its path and
    names of parameters, numbers masked; its path with any query; these parameters anywhere on its
    host; its folder; all below its first folder; what has the same name below another document (a
    form for a review, say), of its folder and of any."""
    path, _, query = _as_path(with_query(url)).partition("?")
    name, _, path = path.partition("/")
    shape = without_numbers(path)
    keys: list[tuple[str, bool]] = []
    names = ""
    if query:
        parts = query_parts(query)
        names = "&".join(sorted({part.partition("=")[0] for part in parts if part}))
    if query or shape != path:
        keys.append((f"{name}/{shape}?{names}" if query else f"{name}/{shape}", True))
    if query:
        keys.append((f"{name}/{shape}?*", True))
        keys.append((f"{name}/**?{names}", False))
    if word := verb(url):
        keys.append((f"{name}/**/{word}", True))
    folder = shape.rpartition("/")[0]
    keys.append((f"{name}/{folder}/*" if folder else f"{name}/*", False))
    if "/" in folder:
        keys.append((f"{name}/{folder.partition('/')[0]}/**", False))
    if not query:
        keys += [(f"{name}/{below}", False) for below in _below_others(shape)]
    return tuple(keys)


def _below_others(shape: str) -> Sequence[str]:
    """A path with the segment masked that stands before its last one or two, and with all of them
    masked: `film/*/reviews/add` and `*/*/add` of `film/alien/reviews/add`."""
    parts = shape.strip("/").split("/")
    last = len(parts) - 1
    found = [
        "/".join((*parts[:at], "*", *parts[at + 1 :])) for at in (last - 2, last - 1) if at > 0
    ]
    return found if last < 2 or parts[-1] == "#" else [*found, f"*/*/{parts[-1]}"]


def documents_above(url: str) -> Sequence[str]:
    """The canonical URLs that the document may have below which a URL stands by one of its names
    below others (`film/*/reviews/add`, `*/*/add`), the nearest first: one or two segments up, with
    a slash at the end and without."""
    above = url.partition("?")[0].rstrip("/").rsplit("/", 2)
    nearest = f"{above[0]}/{above[1]}"
    return f"{nearest}/", nearest, f"{above[0]}/", above[0]


def belonging_to(page: str, urls: Iterable[str]) -> set[str]:
    """The canonical URLs of what stands below a document, where a page is that document, another of
    these, or one that has the same name: that such a page leads to them says nothing."""
    its, _, own_name = _places(page)
    folders = {its[: at + 1] for at, letter in enumerate(its) if letter == "/"}
    found = set[str]()
    for url in urls:
        if url.count("/") >= _BELOW_OTHERS:
            below, above, name = _places(url)
            if above in folders or name == own_name or below.startswith(its):
                found.add(url)
    return found


@lru_cache(maxsize=_MEMO)
def _places(url: str) -> tuple[str, str, str]:
    """A URL without its query as a folder, the folder that it is in, and its name in that."""
    path = url.partition("?")[0].rstrip("/")
    above, _, name = path.rpartition("/")
    return f"{path}/", f"{above}/", f"/{name}/"


def _as_path(url: str) -> str:
    """A URL without its scheme; a page that scripts make (`/app?v=2#/guide?id=3`) as if its route
    were a folder below the page."""
    rest = url.partition("://")[2]
    page, mark, route = rest.partition("#")
    return f"{page.replace('?', '/')}{mark}{route}" if mark else rest


@lru_cache(maxsize=_MEMO)
def narrow(url: str) -> Sequence[str]:
    """The narrow groups of a URL."""
    return tuple(name for name, is_narrow in groups(url) if is_narrow)


def anywhere(url: str) -> Sequence[str]:
    """The group of the same parameters anywhere on the host of a URL; none without parameters."""
    return [name for name, _ in groups(url) if "/**?" in name]


def shape(url: str) -> str:
    """The host of a canonical URL, how its path begins, what kinds of segments follow, and the
    names of its parameters: URLs of one shape are likely made by one template. `/tag/kilns/` and
    `/tag/wine/` have one, and `/2024/03/05/a-fire/` and `/2023/11/30/wine/`."""
    path, _, query = url.partition("?")
    name, *segments = path.rstrip("/").split("/")[2:]
    kept = [
        _of_shape(one, at, len(segments), query) for at, one in enumerate(segments[:MAX_SEGMENTS])
    ]
    names = sorted({part.partition("=")[0] for part in query_parts(query)}) if query else []
    return f"{name}/{'/'.join(kept)}?{'&'.join(names)}"


def _of_shape(segment: str, at: int, count: int, query: str) -> str:
    """A segment as a shape has it: what names one of many is left out."""
    last = at == count - 1
    if segment.isdigit():
        return "#"
    if (not at and not last) or (last and query and "." in segment):
        return without_numbers(segment)
    space, mark, _ = segment.partition(":")
    _, dot, suffix = segment.rpartition(".")
    return (space + mark if mark else "") + "*" + (dot + suffix if last and dot else "")


def lists_tags(url: str) -> bool:
    """Whether a canonical URL is that of all tags or categories of a site by its look."""
    begin, _, last = url.rstrip("/").removesuffix("/index.html").rpartition("/")
    is_name = _ALL_TAGS.fullmatch(last) is not None
    return is_name and "?" not in begin and 2 <= begin.count("/") < _DEEP
