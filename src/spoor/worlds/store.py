"""The folder of a recorded web: its layout.

    web.json      format, counts, tables of labels, sites, types, languages, encodings, flags
    urls.txt      one recorded URL a line: pages, then redirects, then failures; the line is the row
    outside.txt   URLs that are linked but not recorded; their numbers continue after the rows
    aliases.txt   other URLs of recorded pages: URL, tab, row
    rows.npy      one record a row (`ROW`)
    links.npy     numbers of the link targets, row after row
    labels.npy    numbers of the labels, row after row
    words.bin     title, description, canonical URL, text and headings of each page
    anchors.bin   anchors of the links of each page
    extra.bin     further fields of the source, JSON

The records of the last three are zstandard, or as they are where they are small: to make ready for
a frame takes longer than to unpack so few bytes. None begins as a frame does by itself, since each
is UTF-8 or begins with a small number. Format 1, which is read as well, packs all.

Only web.json is read completely, so it opens in the time that the list of URLs takes, and a page
costs one look-up, one decompression and no parsing of HTML.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

FORMAT = 3
READABLE = (1, 2, 3)
KEYWORDS_SINCE = 3
"""The format since which the keywords of a page stand before its text."""

PAGE, REDIRECT, FAILURE = range(3)

ROW = np.dtype(
    [
        ("words_at", "<i8"),
        ("words", "<i4"),
        ("anchors_at", "<i8"),
        ("anchors", "<i4"),
        ("extra_at", "<i8"),
        ("extra", "<i4"),
        ("links_at", "<i8"),
        ("links", "<i4"),
        ("labels_at", "<i8"),
        ("labels", "<i4"),
        ("site", "<i4"),
        ("type", "<i4"),
        ("language", "<i4"),
        ("encoding", "<i4"),
        ("flags", "<i4"),
        ("status", "<i4"),
        ("size", "<i8"),
        ("fetched_at", "<f8"),
        ("kind", "u1"),
        ("root", "?"),
    ]
)
"""`NAME_at` and `NAME` are place and length; `site` to `flags` are places in a table."""

TABLES = ("sites", "types", "languages", "encodings", "flags", "labels")

INDEX_NAMES = frozenset(
    f"{name}.{ending}"
    for name in ("index", "default")
    for ending in ("html", "htm", "shtml", "php", "asp", "aspx")
)

SLASHES = re.compile("//+")


def place_of(url: str) -> str:
    """A key that is equal for URLs under which a server is likely to give the same page.

    A folder is its index file (`/a/` = `/a/index.html`), with or without its last slash; several
    slashes are one; https is http. A link to a URL that is not recorded leads to the page recorded
    under another URL of the same place (`first_of_places` says which); two URLs that are both
    recorded are two pages, unless they hold the same.
    """
    path, mark, query = url.partition("://")[2].partition("?")
    if "//" in path:
        path = SLASHES.sub("/", path)
    folder, _, name = path.rpartition("/")
    if name.lower() in INDEX_NAMES:
        path = folder
    return path.rstrip("/") + mark + query


def first_of_places(urls: Sequence[str]) -> dict[str, int]:
    """Place → the number of its URL: the first that is a folder's own (it ends in a slash or an
    index file), or else the first; without the slash servers mostly redirect."""
    places: dict[str, int] = {}
    for number, url in enumerate(urls):
        first = places.setdefault(place_of(url), number)
        if first != number and _is_folder(url) and not _is_folder(urls[first]):
            places[place_of(url)] = number
    return places


def _is_folder(url: str) -> bool:
    name = url.partition("?")[0].rpartition("/")[2]
    return not name or name.lower() in INDEX_NAMES
