"""Where a page stands on its site, by its URL: folders, and the name of its file."""

from __future__ import annotations

import re
from functools import lru_cache

from spoor.hashing import hash64
from spoor.judges.relevance.url_numbers import as_id, number_of_url
from spoor.judges.relevance.word_counts import LONGEST
from spoor.web.urls import words as url_words

FOLDERS = 8
"""Folders of a URL that count as its place, from the outermost."""
NAME_WORDS = 12
"""Words of the name of a file that do."""
_NO_NAME = frozenset({"html", "htm", "php", "index"})
_BEGINNING = re.compile(r"[^\W\d_]+\d*")


def folder_of(url: str) -> int:
    """The number of the folder of a URL."""
    return hash64(url.rpartition("/")[0])


def places_of(url: str) -> list[int]:
    """The place of a page by numbers: its host, its folders, the words of its file's name, and how
    that begins, with its number (`ch02` of `ch02s03.html`). Pages of one part of a site often share
    them."""
    path = url.partition("://")[2].partition("?")[0]
    folder, _, name = path.rpartition("/")
    words = [word for word in url_words(url).file if word not in _NO_NAME and not word.isdigit()]
    found = [f"name {word}" for word in words[:NAME_WORDS]]
    beginning = _BEGINNING.match(name)
    if beginning:
        found.append(f"begins {beginning[0][:LONGEST].lower()}")
    return list(dict.fromkeys([*_folders(folder), *map(_place, found)]))


@lru_cache(maxsize=4096)
def _folders(folder: str) -> tuple[int, ...]:
    parts = folder.split("/")[: FOLDERS + 1]
    # A number, or the letter of an index, is no subject; the host comes first.
    named = (
        end
        for end, part in enumerate(parts, 1)
        if end == 1 or (len(part) > 1 and not part.isdecimal())
    )
    return tuple(_place("/".join(parts[:end]) + "/") for end in named)


@lru_cache(maxsize=2048)
def _place(part: str) -> int:
    return as_id(number_of_url(part))
