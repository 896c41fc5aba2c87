"""A link as a row of hashed features: its words, its shape, and the groups that it belongs to.

Fields and their columns are fixed, so that a row of `MixedModel` always has K numbers. Every field
is there because a published crawler or an ablation of `trail` showed that it tells something: words
near the link (Rennie and McCallum 1999), what leads from its parent to it, and links that stand in
the same place of a page, which succeed or fail together.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spoor.display import masked
from spoor.text import STOP_WORDS, Vectors, stem, tokens
from spoor.types import NO_PARENT, Anchor, Page, Topic
from spoor.urls import words as url_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

VERSION = "link-features 2"
"""Changes with anything below that changes what a number means."""


class Field(NamedTuple):
    """Some columns of a row."""

    name: str
    columns: int
    variance: float
    """Prior variance of each weight."""


FIELDS = (
    Field("anchor", 8, 0.2),
    Field("anchor pair", 4, 0.2),
    Field("URL", 8, 0.2),
    Field("URL kept", 4, 0.2),
    Field("context", 8, 0.1),
    Field("heading", 6, 0.1),
    Field("title", 6, 0.1),
    Field("place", 2, 0.2),
    Field("shape", 6, 0.4),
    Field("list", 1, 2.0),
    Field("page", 1, 1.0),
    Field("directory", 1, 1.0),
    Field("pattern", 1, 1.0),
    Field("tag path", 1, 0.5),
    Field("host", 1, 0.5),
)
COLUMNS = sum(field.columns for field in FIELDS)
GROUPS = ("list", "page", "directory", "pattern", "tag path", "host")
"""Fields whose number is the identity of a group of links."""

START = dict(
    zip(
        [field.name for field in FIELDS],
        accumulate([field.columns for field in FIELDS], initial=0),
        strict=False,
    )
)
"""First column of each field."""


class Dense(NamedTuple):
    """A plain number of each row, with the prior of its weight."""

    name: str
    mean: float
    variance: float


DENSE = (
    Dense("any link", -4.0, 1.0),
    Dense("anchor like the topic", 3.0, 2.0),
    Dense("URL like the topic", 2.0, 2.0),
    Dense("URL kept like the topic", 1.0, 1.0),
    Dense("context like the topic", 0.7, 1.0),
    Dense("heading like the topic", 0.7, 1.0),
    Dense("title like the topic", 0.5, 1.0),
    Dense("vectors like the topic", 2.0, 1.0),
    Dense("score of the page it stands on", 1.0, 1.0),
    Dense("depth", -1.0, 0.1),
    Dense("in navigation", 0.0, 0.5),
)

_DIGITS = re.compile(r"\d+")
_HOMES = frozenset(("", "index", "home", "welcome", "default", "homepage"))
_NAMES = 1 << 16
"""Words and shapes whose slots are remembered."""
_MEMO = 1 << 12
"""Texts and places (directories, tag paths) that are: what comes again comes soon. Of the texts
around links six in seven never do; with sixteen times as many one in a hundred more is found."""
_SAME_DIGITS = str.maketrans("123456789", "0" * 9)
"""Numbers in URLs tell by their length only (`_plain`), so URLs that differ in them are one."""
_WIDTH = {field.name: field.columns for field in FIELDS}
Words = frozenset[str]


class LinkFeatures:
    """Rows of links for one topic. `bits`: 2^bits slots; slot 0 is empty.

    What can be the same for several links is worked out once and remembered: of texts and places
    for the crawl, of the page that was seen last for the page.
    """

    def __init__(self, topic: Topic, bits: int, vectors: Vectors | None = None) -> None:
        self._size = (1 << bits) - 1
        self._topic: Words = frozenset(_words(topic.text))
        self._vectors = vectors
        self._mean = vectors.mean(tokens(topic.text)) if vectors else None
        self.names: dict[int, str] = {}
        """Slot → what it stands for, of words and shapes."""
        self._texts: dict[tuple[str, str], tuple[list[int], float]] = {}
        self._anchors: dict[str, tuple[list[int], float]] = {}
        self._around: dict[tuple[str, str], tuple[list[int], float]] = {}
        self._urls: dict[str, list[str]] = {}
        self._said_of: dict[tuple[str, int, str, bool, bool], list[int]] = {}
        self._slots: dict[tuple[str, str], int] = {}
        """Of the named ones; crc32 of text that has to be made first costs five times as much."""
        self._spots: dict[tuple[str, str, str, bool], tuple[int, int, int]] = {}
        self._tag_paths: dict[tuple[str, str], int] = {}
        # Of this page:
        self._page: Page | None = None
        self._parent = NO_PARENT - 1
        self._places: dict[tuple[str, str], list[int]] = {}
        self._lies: dict[tuple[str, str], tuple[int, str]] = {}
        self._lists: dict[str, int] = {}
        self._parts: dict[str, tuple[list[int], float, float]] = {}

    def remember(self, names: dict[int, str]) -> None:
        """Go on from these names; all that was worked out is worked out again."""
        self.names = names
        self._texts.clear()
        self._anchors.clear()
        self._around.clear()
        self._said_of.clear()
        self._slots.clear()
        self._parent = NO_PARENT - 1

    def row(
        self,
        url: str,
        host: str,
        anchor: Anchor,
        page: Page | None,
        parent: int,
        parent_score: float,
        depth: int,
    ) -> tuple[list[int], tuple[float, ...]]:
        """Slots (COLUMNS) and dense numbers (len(DENSE)) of one sighting."""
        if page is not self._page or parent != self._parent:
            self._begin(page, parent, parent_score)
        path = url.split("/", 3)[3] if url.count("/") > 2 else ""
        directory, _, file = path.partition("?")[0].rpartition("/")
        text, like_anchor = self._anchor(anchor.text)
        words, like_url, like_kept = self._url(path)
        around, like_context = self._context(anchor.before, anchor.after)
        heading, like_heading = self._field("heading", " ".join(anchor.headings[-2:]))
        slots = [
            *text,
            *words,
            *around,
            *heading,
            *self._title,
            *self._place(anchor.region, anchor.tag_path),
            *self._shape(host, directory, file, "~" in url),
            *self._groups(host, directory, file, anchor.tag_path),
        ]
        dense = (
            1.0,
            like_anchor,
            like_url,
            like_kept,
            like_context,
            like_heading,
            self._like_title,
            self._cosine(anchor, path) if self._vectors else 0.0,
            parent_score,
            math.log1p(depth),
            float(anchor.region != "main"),
        )
        return slots, dense

    def _begin(self, page: Page | None, parent: int, parent_score: float) -> None:
        """What is the same for all links of a page is worked out once."""
        self._page, self._parent = page, parent
        self._title, self._like_title = self._field("title", page.title if page else "")
        parts = page.url.split("/", 3) if page else []
        self._from = parts[2] if len(parts) > 2 else ""
        path = parts[3] if len(parts) > 3 else ""
        self._from_words = frozenset(self._url_words(path))
        self._from_directory = path.partition("?")[0].rpartition("/")[0]
        self._from_relevant = parent_score >= 0.5
        self._on_page = self._slot(f"page {parent}")
        self._places.clear()
        self._lies.clear()
        self._lists.clear()
        self._parts.clear()

    def _place(self, region: str, tag_path: str) -> list[int]:
        known = self._places.get((region, tag_path))
        if known is None:
            tail = _DIGITS.sub("", "/".join(tag_path.split("/")[-3:]))
            known = [self._named("place", region), self._named("place", tail)]
            self._places[region, tag_path] = known
        return known

    def _shape(self, host: str, directory: str, file: str, person: bool) -> list[int]:
        name, dot, ending = file.lower().rpartition(".")
        if not dot:
            name, ending = ending, ""
        home = name in _HOMES or name == directory.rpartition("/")[2].lower()
        lies = self._lies.get((host, directory))
        if lies is None:
            deep = min(directory.count("/") + (1 if directory else 0), 6)
            lies = deep, _lies(host, directory, self._from, self._from_directory)
            self._lies[host, directory] = lies
        key = ("home" if home else f"file.{ending[:8]}", *lies, self._from_relevant, person)
        known = self._said_of.get(key)
        if known is None:
            _bound(self._said_of, _MEMO)
            known = self._said_of[key] = [self._named("shape", what) for what in _said(*key)]
        return known

    def _groups(self, host: str, directory: str, file: str, tag_path: str) -> tuple[int, ...]:
        """Identities in the order of GROUPS."""
        ending = file.rpartition(".")[2] if "." in file else ""
        spot = (host, directory, ending, "~" in file)
        of_spot = self._spots.get(spot)
        if of_spot is None:
            _bound(self._spots, _MEMO)
            pattern = f"{_DIGITS.sub('#', directory)} {ending} {spot[3]}"
            of_spot = self._spots[spot] = (
                self._slot(f"directory {host}/{directory}"),
                self._slot(f"pattern {host}/{pattern}"),
                self._slot(f"host {host}"),
            )
        of_path = self._tag_paths.get((host, tag_path))
        if of_path is None:
            _bound(self._tag_paths, _MEMO)
            of_path = self._slot(f"tag path {host} {tag_path}")
            self._tag_paths[host, tag_path] = of_path
        of_list = self._lists.get(tag_path)
        if of_list is None:
            of_list = self._lists[tag_path] = self._slot(f"list {self._parent} {tag_path}")
        return of_list, self._on_page, of_spot[0], of_spot[1], of_path, of_spot[2]

    def _field(self, name: str, text: str) -> tuple[list[int], float]:
        """Slots of a field's words, and how like the topic they are in [0, 1]."""
        known = self._texts.get((name, text))
        if known is None:
            _bound(self._texts, _MEMO)
            known = self._texts[name, text] = self._of_words(name, _words(text))
        return known

    def _anchor(self, text: str) -> tuple[list[int], float]:
        """The same of a link's text and of its pairs of words, where there are two different."""
        known = self._anchors.get(text)
        if known is None:
            _bound(self._anchors, _MEMO)
            words = _words(text)
            slots, like = self._of_words("anchor", words)
            pairs = [f"{a} {b}" for a, b in pairwise(words)] if len(set(words)) > 1 else []
            known = self._anchors[text] = slots + self._slots_of("anchor pair", pairs), like
        return known

    def _url(self, path: str) -> tuple[list[int], float, float]:
        """Words that a URL adds to its page's, which tell of the link; and those that it keeps,
        which tell of the place: below the page of a course all is called so, and little is one.
        Slots of both, and how like the topic they are."""
        key = path.translate(_SAME_DIGITS)
        known = self._parts.get(key)
        if known is None:
            words, old = self._url_words(key), self._from_words
            added, like_added = self._of_words("URL", [word for word in words if word not in old])
            kept, like_kept = self._of_words("URL kept", [word for word in words if word in old])
            known = self._parts[key] = added + kept, like_added, like_kept
        return known

    def _context(self, before: str, after: str) -> tuple[list[int], float]:
        known = self._around.get((before, after))
        if known is None:
            _bound(self._around, _MEMO)
            words = _words(f"{_tail(before)}\n{_head(after)}")
            known = self._around[before, after] = self._of_words("context", words)
        return known

    def _url_words(self, path: str) -> list[str]:
        known = self._urls.get(path)
        if known is None:
            _bound(self._urls, _MEMO)
            known = self._urls[path] = _url_stems(path)
        return known

    def _of_words(self, name: str, words: Sequence[str]) -> tuple[list[int], float]:
        return self._slots_of(name, words), self._like(words)

    def _slots_of(self, name: str, words: Sequence[str]) -> list[int]:
        """As many as the field has columns, empty ones at the end."""
        width = _WIDTH[name]
        slots = [self._named(name, word) for word in dict.fromkeys(words)][:width]
        return slots + [0] * (width - len(slots))

    def _like(self, words: Sequence[str]) -> float:
        if self._topic.isdisjoint(words):
            return 0.0
        kinds = set(words)
        return len(self._topic & kinds) / math.sqrt(len(self._topic) * len(kinds))

    def _cosine(self, anchor: Anchor, path: str) -> float:
        if self._vectors is None or self._mean is None:
            return 0.0
        mean = self._vectors.mean([*tokens(anchor.text), *_url_parts(path)])
        if mean is None:
            return 0.0
        norm = float(np.linalg.norm(mean) * np.linalg.norm(self._mean))
        return max(0.0, float(mean @ self._mean) / norm) if norm else 0.0

    def _named(self, field: str, what: str) -> int:
        slot = self._slots.get((field, what))
        if slot is None:
            _bound(self._slots, _NAMES)
            slot = self._slots[field, what] = self._slot(f"{field} {what}")
            if slot not in self.names:
                self.names[slot] = f"{field} ‘{what}’"
        return slot

    def _slot(self, key: str) -> int:
        return zlib.crc32(key.encode("utf-8", "surrogatepass")) % self._size + 1


def variances(without: Iterable[str] = ()) -> NDArray[np.float32]:
    """Prior variance of every column; next to nothing for the fields in `without`."""
    left_out = set(without)
    return np.array(
        [
            1e-9 if field.name in left_out else field.variance
            for field in FIELDS
            for _ in range(field.columns)
        ],
        dtype=np.float32,
    )


def _bound(memo: dict[Any, Any], size: int) -> None:
    """Begin a full memory anew."""
    if len(memo) >= size:
        memo.clear()


def _words(text: str) -> list[str]:
    """Of a text; a password in it is no word, and comes into no model or report."""
    return stem([_plain(word) for word in tokens(masked(text)) if word not in STOP_WORDS])


def _url_parts(path: str) -> list[str]:
    parts = url_words("http:///" + path)
    return [*parts.directories, *parts.file, *parts.query]


def _url_stems(path: str) -> list[str]:
    return stem(map(_plain, _url_parts(masked(path))))


def _plain(word: str) -> str:
    """Numbers by their length only: which one it is tells nothing of the next."""
    return "#" * len(word) if word.isdigit() else word


def _tail(text: str) -> str:
    return " ".join(text.split()[-4:])


def _head(text: str) -> str:
    return " ".join(text.split()[:4])


def _lies(host: str, directory: str, from_host: str, from_directory: str) -> str:
    """How a URL lies to that of its page."""
    if not from_host:
        return "seed"
    if from_host != host:
        return "other host"
    if directory == from_directory:
        return "same directory"
    if not from_directory or directory.startswith(from_directory + "/"):
        return f"below by {min(3, directory.count('/') - from_directory.count('/'))}"
    if not directory or from_directory.startswith(directory + "/"):
        return "above"
    return "elsewhere"


def _said(shape: str, deep: int, lies: str, relevant: bool, person: bool) -> list[str]:
    of = "relevant" if relevant else "irrelevant"
    return [
        shape,
        f"depth {deep}",
        lies,
        f"{lies} of a page that is {of}",
        f"{shape[:4]} {lies}",
        f"{shape[:4]}{' ~' if person else ''}",
    ]
