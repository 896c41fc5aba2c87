"""A link as a row of hashed features: its words, its shape, and the groups that it belongs to.

Fields and their columns are fixed, so that a row of `MixedEffectsRegression` always has K numbers.
Every field is there because a published crawler or an ablation of `trail` showed that it tells
something: words near the link (Rennie and McCallum 1999), what leads from its parent to it, and
links that stand in the same place of a page, which succeed or fail together.
"""

from __future__ import annotations

import math
import re
import zlib
from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spoor.display import masked
from spoor.types import NO_PARENT, Anchor, Page, Topic
from spoor.web.text import STOP_WORDS, Vectors, stem, tokens
from spoor.web.urls import words as url_words

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

    What can be the same for several links is worked out once and remembered, as the bytes of its
    slots: of texts and places for the crawl, of the page that was seen last for the page.
    """

    def __init__(self, topic: Topic, bits: int, vectors: Vectors | None = None) -> None:
        self._size = (1 << bits) - 1
        self._topic: Words = frozenset(_words(topic.text))
        self._vectors = vectors
        self._mean = vectors.mean(tokens(topic.text)) if vectors else None
        self.names: dict[int, str] = {}
        """Slot → what it stands for, of words and shapes."""
        self._texts: dict[tuple[str, str], tuple[bytes, float]] = {}
        self._anchors: dict[str, tuple[bytes, float]] = {}
        self._around: dict[tuple[str, str], tuple[bytes, float]] = {}
        self._urls: dict[str, list[str]] = {}
        self._said_of: dict[tuple[str, int, str, bool, bool], bytes] = {}
        self._slots: dict[tuple[str, str], int] = {}
        """Of the named ones; crc32 of text that has to be made first costs five times as much."""
        self._spots: dict[tuple[str, str, str, bool], tuple[bytes, bytes]] = {}
        self._tag_paths: dict[tuple[str, str], bytes] = {}
        self._elsewhere: dict[str, tuple[int, str, str]] = {}
        """Of directories, as they lie to pages of other hosts."""
        # Of this page:
        self._page: Page | None = None
        self._parent = NO_PARENT - 1
        self._settings: dict[tuple[tuple[str, ...], str, str], tuple[bytes, float, float]] = {}
        self._lies: dict[str, tuple[int, str, str]] = {}
        self._lists: dict[str, bytes] = {}
        self._parts: dict[str, tuple[bytes, float, float]] = {}

    def remember(self, names: dict[int, str]) -> None:
        """Go on from these names; all that was worked out is worked out again."""
        self.names = names
        self._texts.clear()
        self._anchors.clear()
        self._around.clear()
        self._said_of.clear()
        self._slots.clear()
        self._parent = NO_PARENT - 1

    def rows(
        self,
        links: Iterable[tuple[str, str, Anchor]],
        page: Page | None,
        parent: int,
        parent_score: float,
        depth: int,
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Slots (R, COLUMNS) and dense numbers (R, len(DENSE)) of the links of one page: of each
        its URL, its host, and how it stands there. About 5 µs a link."""
        if page is not self._page or parent != self._parent:
            self._begin(page, parent, parent_score)
        anchors, parts, around, settings = self._anchors, self._parts, self._around, self._settings
        near, from_host = self._lies, self._from
        far = self._elsewhere if from_host else near
        said, spots, tag_paths = self._said_of, self._spots, self._tag_paths
        relevant, like_title, deep = self._from_relevant, self._like_title, math.log1p(depth)
        slots: list[bytes] = []
        dense: list[float] = []
        for url, host, anchor in links:
            text, before, after, headings, tag_path, _, region, _ = anchor
            path = url.split("/", 3)[3] if url.count("/") > 2 else ""
            directory, _, file = path.partition("?")[0].rpartition("/")
            words = anchors.get(text) or self._anchor(text)
            key = path.translate(_SAME_DIGITS)
            of_url = parts.get(key) or self._url(key)
            context = around.get((before, after)) or self._context(before, after)
            setting = settings.get((headings, tag_path, region))
            if setting is None:
                setting = self._setting(headings, tag_path, region)
            lies = (near if host == from_host else far).get(directory)
            if lies is None:
                lies = self._lie(host, directory)
            name, dot, ending = file.rpartition(".")
            if not dot:
                name, ending = ending, ""
            low = name.lower()
            home = low in _HOMES or low == lies[2]
            kind = "home" if home else f"file.{ending.lower()[:8]}"
            shape = (kind, lies[0], lies[1], relevant, "~" in url)
            spot = (host, directory, ending, "~" in file)
            of_spot = spots.get(spot) or self._spot(spot)
            slots += (
                words[0],
                of_url[0],
                context[0],
                setting[0],
                said.get(shape) or self._shape(shape),
                self._lists[tag_path],
                of_spot[0],
                tag_paths.get((host, tag_path)) or self._tag_path(host, tag_path),
                of_spot[1],
            )
            dense += (
                1.0,
                words[1],
                of_url[1],
                of_url[2],
                context[1],
                setting[1],
                like_title,
                self._cosine(anchor, path) if self._vectors else 0.0,
                parent_score,
                deep,
                setting[2],
            )
        return (
            np.frombuffer(b"".join(slots), dtype=np.int32).reshape(-1, COLUMNS),
            np.fromiter(dense, np.float32, len(dense)).reshape(-1, len(DENSE)),
        )

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
        self._settings.clear()
        self._lies.clear()
        self._lists.clear()
        self._parts.clear()

    def _setting(
        self, headings: tuple[str, ...], tag_path: str, region: str
    ) -> tuple[bytes, float, float]:
        """What is the same for links in the same place of the page: slots of heading, title and
        place, how like the topic the heading is, and whether it is navigation."""
        heading, like = self._field("heading", " ".join(headings[-2:]))
        tail = _DIGITS.sub("", "/".join(tag_path.split("/")[-3:]))
        place = _packed(self._named("place", region), self._named("place", tail))
        known = heading + self._title + place, like, float(region != "main")
        self._settings[headings, tag_path, region] = known
        if tag_path not in self._lists:
            of_list = self._slot(f"list {self._parent} {tag_path}")
            self._lists[tag_path] = _packed(of_list, self._on_page)
        return known

    def _lie(self, host: str, directory: str) -> tuple[int, str, str]:
        """How deep a directory is, how it lies to that of the page, and its own name."""
        deep = min(directory.count("/") + (1 if directory else 0), 6)
        lies = _lies(host, directory, self._from, self._from_directory)
        name = directory.rpartition("/")[2].lower()
        known = deep, lies, name
        if host == self._from:
            self._lies[directory] = known
        elif self._from:
            _bound(self._elsewhere, _MEMO)
            self._elsewhere[directory] = known
        return known

    def _shape(self, key: tuple[str, int, str, bool, bool]) -> bytes:
        _bound(self._said_of, _MEMO)
        known = _packed(*[self._named("shape", what) for what in _said(*key)])
        self._said_of[key] = known
        return known

    def _spot(self, spot: tuple[str, str, str, bool]) -> tuple[bytes, bytes]:
        """Directory and pattern; host."""
        _bound(self._spots, _MEMO)
        host, directory, ending, person = spot
        pattern = f"{_DIGITS.sub('#', directory)} {ending} {person}"
        known = self._spots[spot] = (
            _packed(
                self._slot(f"directory {host}/{directory}"),
                self._slot(f"pattern {host}/{pattern}"),
            ),
            _packed(self._slot(f"host {host}")),
        )
        return known

    def _tag_path(self, host: str, tag_path: str) -> bytes:
        _bound(self._tag_paths, _MEMO)
        known = _packed(self._slot(f"tag path {host} {tag_path}"))
        self._tag_paths[host, tag_path] = known
        return known

    def _field(self, name: str, text: str) -> tuple[bytes, float]:
        """Slots of a field's words, and how like the topic they are in [0, 1]."""
        known = self._texts.get((name, text))
        if known is None:
            _bound(self._texts, _MEMO)
            known = self._texts[name, text] = self._of_words(name, _words(text))
        return known

    def _anchor(self, text: str) -> tuple[bytes, float]:
        """The same of a link's text and of its pairs of words, where there are two different."""
        _bound(self._anchors, _MEMO)
        words = _words(text)
        slots, like = self._of_words("anchor", words)
        pairs = [f"{a} {b}" for a, b in pairwise(words)] if len(set(words)) > 1 else []
        known = self._anchors[text] = slots + self._slots_of("anchor pair", pairs), like
        return known

    def _url(self, path: str) -> tuple[bytes, float, float]:
        """Words that a URL adds to its page's, which tell of the link; and those that it keeps,
        which tell of the place: below the page of a course all is called so, and little is one.
        Slots of both, and how like the topic they are. Numbers in `path` are of noughts."""
        words, old = self._url_words(path), self._from_words
        added, like_added = self._of_words("URL", [word for word in words if word not in old])
        kept, like_kept = self._of_words("URL kept", [word for word in words if word in old])
        known = self._parts[path] = added + kept, like_added, like_kept
        return known

    def _context(self, before: str, after: str) -> tuple[bytes, float]:
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

    def _of_words(self, name: str, words: Sequence[str]) -> tuple[bytes, float]:
        return self._slots_of(name, words), self._like(words)

    def _slots_of(self, name: str, words: Sequence[str]) -> bytes:
        """As many as the field has columns, empty ones at the end."""
        width = _WIDTH[name]
        slots = [self._named(name, word) for word in dict.fromkeys(words)][:width]
        return _packed(*slots, *[0] * (width - len(slots)))

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


def _packed(*slots: int) -> bytes:
    return array("i", slots).tobytes()


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
