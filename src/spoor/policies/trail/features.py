"""A link as a row of features: its words, its shape, and the groups that it belongs to."""

from __future__ import annotations

import math
import re
import zlib
from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

import numpy as np

from spoor.bounded import Cache
from spoor.columns import column, texts_column, texts_of
from spoor.display import masked
from spoor.learn.link_words import url_words
from spoor.policies.trail.columns import COLUMNS, DENSE, FIELDS
from spoor.types import NO_PARENT, Anchor, Page, State, Topic
from spoor.web.languages import says_little, stemmer_of
from spoor.web.spellings import stems
from spoor.web.text import IDEOGRAPH, STOP_WORDS, Vectors, stem, terms, tokens

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DIGITS = re.compile(r"\d+")
_HOMES = frozenset(("", "index", "home", "welcome", "default", "homepage"))
NAMES = 1 << 16
"""Words and shapes whose slots are remembered."""
CACHED = 1 << 12
"""Texts and places (directories, tag paths) that are cached: most repetitions come soon. Of the
texts around links six in seven never repeat; a cache sixteen times as large has 1 % more hits."""
NEAREST = 50
"""Characters on either side of a link in which `tells` looks for a word of the topic."""
SHORTEST = 3
"""Letters of a word of the topic from which on words that begin so are its forms."""
FEW_NEAR = 1_000
"""One word in so many is near a topic, as word vectors have it."""
MOST_USUAL = 0.95
"""Of a cosine, where the vectors are so few that the topic's own words are one in a thousand."""
_ACCENTS = re.compile("[\u0300-\u036f]")
_SAME_DIGITS = str.maketrans("123456789", "0" * 9)
"""Only the length of numbers in URLs counts (`_plain`), so URLs that differ in them are equal."""
ENGLISH = "english"
TONGUES = 4
"""Stemmers at a time whose texts are cached."""
ALSO_ENGLISH = frozenset(
    """about page pages bile com con d dan del den des die e est k l med mit o os per pro s tai
    ten u un van von w y z""".split()
)
"""Function words of some language that tell something in English; of the topic they count on pages
in English, and on those that name no language."""
_WIDTH = {field.name: field.columns for field in FIELDS}
Words = frozenset[str]
Described = tuple[bytes, float]
"""Slots of a text, and how like the topic it is."""
Mentioning = tuple[bytes, float, int]
"""The same, and how often it mentions the topic."""
Position = tuple[bytes, float, float]
Relation = tuple[int, str, str]
Shape = tuple[str, int, str, bool, bool]


class LinkFeatures:
    """Rows of links for one topic. `bits`: 2^bits slots; slot 0 is empty.

    What can be the same for several links is worked out once and remembered, as the bytes of its
    slots: of texts and places for the crawl, of the page that was seen last for the page.
    """

    def __init__(self, topic: Topic, bits: int, vectors: Vectors | None = None) -> None:
        self._size = (1 << bits) - 1
        self._tongues = Cache[str, _Tongue](lambda stemmer: _Tongue(self, topic, stemmer), TONGUES)
        """Stemmer → what depends on it."""
        self._tongue = self._tongues[ENGLISH]
        """Of the page that was seen last."""
        self._vectors = vectors
        self._direction = _direction_of(topic, vectors)
        """Of the topic among the vectors, of length 1; None where no word of it has one."""
        self._usual = _usual(vectors, self._direction)
        self.names: dict[int, str] = {}
        """Slot → its word or shape."""
        self._slots = Cache[tuple[str, str], int](self._named_slot, NAMES)
        """Of the named ones; crc32 of text that has to be made first costs five times as much."""
        self._shapes = Cache[Shape, bytes](self._shape, CACHED)
        self._places = Cache[tuple[str, str, str, bool], tuple[bytes, bytes]](self._place, CACHED)
        self._tag_paths = Cache[tuple[str, str], bytes](self._tag_path, CACHED)
        self._elsewhere = Cache[str, Relation](self._relation_elsewhere, CACHED)
        # Of this page:
        self._page: Page | None = None
        self._parent = NO_PARENT - 1
        self._positions = Cache[tuple[tuple[str, ...], str, str], Position](self._position)
        self._relations = Cache[str, Relation](self._relation)
        self._lists = Cache[str, bytes](self._list)
        self._urls = Cache[str, tuple[bytes, float, float]](self._url)

    def save_names(self) -> State:
        """The names, in columns: each stays where it is, and new ones are added at the end."""
        slots = column(self.names, len(self.names), np.int32)
        return {"slots": slots, **texts_column(self.names.values())}

    def add_names(self, saved: Any) -> None:
        """Know these names too: of `save_names`, or pairs of a slot and its name."""
        if isinstance(saved, Mapping):
            saved = zip(saved["slots"].tolist(), texts_of(saved), strict=True)
        self.names.update((int(slot), str(name)) for slot, name in saved)

    def load_names(self, saved: Any) -> None:
        """Go on from these names; all that was worked out is worked out again."""
        self.names = {}
        self.add_names(saved)
        self._tongues.clear()
        self._tongue = self._tongues[ENGLISH]
        self._shapes.clear()
        self._slots.clear()
        self._parent = NO_PARENT - 1

    def tells(self, anchor: Anchor, page: Page | None) -> bool:
        """Whether the text of a link of a page or the words next to it may hold a word of the
        topic. About 0.5 µs, a tenth of a row."""
        tongue = self._tongue if page is self._page else self._tongue_of(page)
        if not tongue.topic:
            return False
        text, before, after = anchor[:3]
        near = _folded(f"{before[-NEAREST:]} {text} {after[:NEAREST]}")
        return tongue.topic_words.search(near) is not None

    def rows(
        self,
        links: Iterable[tuple[str, str, Anchor]],
        page: Page | None,
        parent: int,
        parent_score: float,
        depth: int,
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Slots (R, COLUMNS) and dense numbers (R, len(DENSE)) of the links of one page: of each
        its URL, its host, and its anchor. About 5 µs a link."""
        if page is not self._page or parent != self._parent:
            self._begin(page, parent, parent_score)
        tongue, paths = self._tongue, self._urls
        anchors, contexts = tongue.anchors, tongue.contexts
        positions, shapes, places = self._positions, self._shapes, self._places
        lists, tag_paths = self._lists, self._tag_paths
        near, from_host = self._relations, self._from
        far = self._elsewhere if from_host else near
        relevant, like_title, deep = self._from_relevant, self._like_title, math.log1p(depth)
        slots: list[bytes] = []
        dense: list[float] = []
        for url, host, anchor in links:
            text, before, after, headings, tag_path, _, region, _ = anchor
            path = url.split("/", 3)[3] if url.count("/") > 2 else ""
            directory, _, file = path.partition("?")[0].rpartition("/")
            words = anchors[text]
            of_url = paths[path.translate(_SAME_DIGITS)]
            context = contexts[before, after]
            position = positions[headings, tag_path, region]
            relation = (near if host == from_host else far)[directory]
            name, dot, ending = file.rpartition(".")
            if not dot:
                name, ending = ending, ""
            low = name.lower()
            home = low in _HOMES or low == relation[2]
            kind = "home" if home else f"file.{ending.lower()[:8]}"
            place = places[host, directory, ending, "~" in file]
            slots += (
                words[0],
                of_url[0],
                context[0],
                position[0],
                shapes[kind, relation[0], relation[1], relevant, "~" in url],
                lists[tag_path],
                place[0],
                tag_paths[host, tag_path],
                place[1],
            )
            dense += (
                1.0,
                words[1],
                of_url[1],
                of_url[2],
                context[1],
                position[1],
                like_title,
                self._near(anchor, path) if self._vectors else 0.0,
                parent_score,
                deep,
                position[2],
                math.log1p(words[2] + context[2]),
                0.0,  # the logarithm of one page; the rows of a link are told of more
            )
        return (
            np.frombuffer(b"".join(slots), dtype=np.int32).reshape(-1, COLUMNS),
            np.fromiter(dense, np.float32, len(dense)).reshape(-1, len(DENSE)),
        )

    def _begin(self, page: Page | None, parent: int, parent_score: float) -> None:
        """What is the same for all links of a page is worked out once."""
        self._page, self._parent = page, parent
        self._tongue = self._tongue_of(page)
        self._title, self._like_title = self._tongue.texts["title", page.title if page else ""]
        parts = page.url.split("/", 3) if page else []
        self._from = parts[2] if len(parts) > 2 else ""
        path = parts[3] if len(parts) > 3 else ""
        self._from_words = frozenset(self._tongue.stems[path])
        self._from_directory = path.partition("?")[0].rpartition("/")[0]
        self._from_relevant = parent_score >= 0.5
        self._on_page = self._slot(f"page {parent}")
        self._positions.clear()
        self._relations.clear()
        self._lists.clear()
        self._urls.clear()

    # -- what is worked out once

    def _position(self, of: tuple[tuple[str, ...], str, str]) -> Position:
        """What is the same for links in the same place of the page: slots of heading, title and
        place, how like the topic the heading is, and whether it is navigation."""
        headings, tag_path, region = of
        heading, like = self._tongue.texts["heading", " ".join(headings[-2:])]
        tail = _DIGITS.sub("", "/".join(tag_path.split("/")[-3:]))
        place = _packed(self._slots["place", region], self._slots["place", tail])
        return heading + self._title + place, like, float(region != "main")

    def _list(self, tag_path: str) -> bytes:
        """Slots of list and page."""
        return _packed(self._slot(f"list {self._parent} {tag_path}"), self._on_page)

    def _relation(self, directory: str) -> Relation:
        """Depth of a directory, its relation to that of the page, and its own name."""
        return _relation(directory, self._from_directory if self._from else None)

    def _relation_elsewhere(self, directory: str) -> Relation:
        """The same of a directory on another host."""
        depth, _, name = _relation(directory, None)
        return depth, "other host", name

    def _shape(self, shape: Shape) -> bytes:
        return _packed(*[self._slots["shape", word] for word in _shape_words(*shape)])

    def _place(self, place: tuple[str, str, str, bool]) -> tuple[bytes, bytes]:
        """Directory and pattern; host."""
        host, directory, ending, person = place
        pattern = f"{_DIGITS.sub('#', directory)} {ending} {person}"
        of_directory = self._slot(f"directory {host}/{directory}")
        of_pattern = self._slot(f"pattern {host}/{pattern}")
        return _packed(of_directory, of_pattern), _packed(self._slot(f"host {host}"))

    def _tag_path(self, of: tuple[str, str]) -> bytes:
        host, tag_path = of
        return _packed(self._slot(f"tag path {host} {tag_path}"))

    def _url(self, path: str) -> tuple[bytes, float, float]:
        """Slots of the words that a URL adds to its page's URL, which describe the link, and of the
        words that it shares with it, which describe the place: below the page of a course every
        URL has that word, and few are courses. Also the similarity of both to the topic. All
        digits of `path` are 0."""
        words, old = self._tongue.stems[path], self._from_words
        added, like_added = self._of_words("URL", [word for word in words if word not in old])
        shared, like_shared = self._of_words("URL kept", [word for word in words if word in old])
        return added + shared, like_added, like_shared

    def _named_slot(self, of: tuple[str, str]) -> int:
        """The slot of a word of a field, which gets a name."""
        field, word = of
        slot = self._slot(f"{field} {word}")
        if slot not in self.names:
            self.names[slot] = f"{field} ‘{word}’"
        return slot

    def _tongue_of(self, page: Page | None) -> _Tongue:
        return self._tongues[(stemmer_of(page.language) if page else "") or ENGLISH]

    def _of_words(self, name: str, words: Sequence[str]) -> tuple[bytes, float]:
        return self.slots_of(name, words), self._tongue.like(words)

    def slots_of(self, name: str, words: Sequence[str]) -> bytes:
        """As many as the field has columns, empty ones at the end."""
        width = _WIDTH[name]
        slots = [self._slots[name, word] for word in islice(dict.fromkeys(words), width)]
        return _packed(*slots, *[0] * (width - len(slots)))

    def _near(self, anchor: Anchor, path: str) -> float:
        """How much nearer the words of a link are to the topic than all but a few words of the
        language, in [0, 1]. Nearly all words are like the topic a little, so the plain cosine would
        order links of which none has to do with it."""
        if self._vectors is None or self._direction is None:
            return 0.0
        mean = self._vectors.mean([*tokens(anchor.text), *url_words("http:///" + path)])
        if mean is None:
            return 0.0
        norm = float(np.linalg.norm(mean))
        cosine = float(mean @ self._direction) / norm if norm else 0.0
        return max(0.0, (cosine - self._usual) / (1.0 - self._usual))

    def _slot(self, key: str) -> int:
        return zlib.crc32(key.encode("utf-8", "surrogatepass")) % self._size + 1


class _Tongue:
    """The topic and the texts of links by one stemmer."""

    def __init__(self, features: LinkFeatures, topic: Topic, stemmer: str) -> None:
        self._slots_of = features.slots_of
        self._stemmer = stemmer
        self.topic: Words = _telling_words(topic.text, stemmer)
        named = [one for one in terms(topic.text) if self.topic.intersection(stems([one], stemmer))]
        beginnings = {_beginning(_folded(one)) for one in self.topic.union(stem(named, stemmer))}
        self.topic_words = re.compile("|".join(map(re.escape, sorted(beginnings))), re.IGNORECASE)
        """Finds every form of a word of the topic, and now and then a word that only begins so."""
        self._beginnings = tuple(sorted(one for one in beginnings if len(one) >= SHORTEST))
        self._ideographs = tuple(filter(IDEOGRAPH.fullmatch, sorted(self.topic)))
        """Words of the topic that count within runs of characters, too (茶 in 緑茶)."""
        short = frozenset(one for one in beginnings if len(one) < SHORTEST)
        self._short = short.difference(self._ideographs)
        self.texts = Cache[tuple[str, str], Described](self._text, CACHED)
        self.anchors = Cache[str, Mentioning](self._anchor, CACHED)
        self.contexts = Cache[tuple[str, str], Mentioning](self._context, CACHED)
        self.stems = Cache[str, list[str]](self._url_stems, CACHED)

    def _stems_of(self, text: str) -> list[str]:
        words = _words(text, self._stemmer)
        if self._ideographs:
            words += [one for one in self._ideographs if one in text]
        return words

    def like(self, words: Sequence[str]) -> float:
        """How like the topic words are, in [0, 1]: the cosine of the two sets."""
        if self.topic.isdisjoint(words):
            return 0.0
        kinds = set(words)
        return len(self.topic & kinds) / math.sqrt(len(self.topic) * len(kinds))

    def _text(self, of: tuple[str, str]) -> Described:
        """Slots of the words of a field's text, and how like the topic they are in [0, 1]."""
        name, text = of
        words = self._stems_of(text)
        return self._slots_of(name, words), self.like(words)

    def _anchor(self, text: str) -> Mentioning:
        """The same of a link's text and of its pairs of words, where there are two different; how
        often it mentions the topic."""
        words = self._stems_of(text)
        pairs = [f"{a} {b}" for a, b in pairwise(words)] if len(set(words)) > 1 else []
        slots = self._slots_of("anchor", words) + self._slots_of("anchor pair", pairs)
        return slots, self.like(words), self._mentions(text)

    def _context(self, of: tuple[str, str]) -> Mentioning:
        """The same of the four words on either side; how often the ten on either side mention the
        topic."""
        before, after = of
        words = self._stems_of(f"{_tail(before)}\n{_head(after)}")
        slots = self._slots_of("context", words)
        return slots, self.like(words), self._mentions(f"{before}\n{after}")

    def _mentions(self, text: str) -> int:
        """How many words of a text begin like a word of the topic, as `jsonb` like *JSON*. Short
        words begin many others, so they count only by themselves."""
        beginnings, short = self._beginnings, self._short
        low = _folded(text.lower())
        for one in (*beginnings, *short, *self._ideographs):
            if one in low:
                break
        else:  # as a rule, and in a tenth of the time
            return 0
        within = sum(map(low.count, self._ideographs))
        return within + sum(word.startswith(beginnings) or word in short for word in terms(low))

    def _url_stems(self, path: str) -> list[str]:
        return stems(map(_plain, url_words("http:///" + masked(path))), self._stemmer)


def _direction_of(topic: Topic, vectors: Vectors | None) -> NDArray[np.float32] | None:
    mean = vectors.mean(tokens(topic.text)) if vectors else None
    norm = float(np.linalg.norm(mean)) if mean is not None else 0.0
    return mean / np.float32(norm) if mean is not None and norm else None


def _usual(vectors: Vectors | None, direction: NDArray[np.float32] | None) -> float:
    """The cosine to the topic that all words but one in `FEW_NEAR` stay below. O(all vectors), once
    a crawl."""
    if vectors is None or direction is None:
        return 0.0
    norms = np.sqrt(np.einsum("ij,ij->i", vectors.matrix, vectors.matrix))
    cosines = vectors.matrix @ direction / np.maximum(norms, np.float32(1e-12))
    return min(float(np.quantile(cosines, 1.0 - 1.0 / FEW_NEAR)), MOST_USUAL)


def _folded(text: str) -> str:
    """A text without the accents that come and go with the ending of a word, as in *selección* and
    *selecciones*; other marks, as of Japanese, stay."""
    if text.isascii():
        return text
    return normalize("NFC", _ACCENTS.sub("", normalize("NFD", text)))


def _beginning(stem: str) -> str:
    """The beginning that all forms of a word have, as *replic* of *replication*."""
    return stem[: max(3, len(stem) - 1)]


def _packed(*slots: int) -> bytes:
    return array("i", slots).tobytes()


def _words(text: str, stemmer: str, little: frozenset[str] = STOP_WORDS) -> list[str]:
    """Stems of a text; a password in it is no word, and never enters a model or report."""
    return stems([_plain(word) for word in terms(masked(text)) if word not in little], stemmer)


_HYPHENATED = re.compile(r"[^\W\d_]+(?:-[^\W_]+)+")
_INITIAL = re.compile(r"(?<![^\W_])[^\W_]-")


def _also_in_one(typed: re.Match[str]) -> str:
    """A word with a hyphen, in one and by its parts; a letter before one is none (*e-mail*)."""
    return f"{typed[0].replace('-', '')} {_INITIAL.sub('', typed[0])}"


def _telling_words(topic: str, stemmer: str) -> Words:
    """Stems of the words of a topic. A number would be like every number as long as it, and a
    function word stands everywhere, so they count only where there is nothing else."""
    topic = _HYPHENATED.sub(_also_in_one, topic)
    typed = re.findall(r"[^\W_]+", topic)
    little = frozenset(word.lower() for word in typed if says_little(word))
    little -= {word.lower() for word in typed if not says_little(word)}  # abbreviations
    if stemmer == ENGLISH:
        little -= ALSO_ENGLISH
    words = frozenset(_words(topic, stemmer, STOP_WORDS | little))
    words = words or frozenset(_words(topic, stemmer))
    return frozenset(word for word in words if word.strip("#")) or words


def _plain(word: str) -> str:
    """A number by its length only: its value says nothing about the next one."""
    return "#" * len(word) if word.isdigit() else word


def _tail(text: str) -> str:
    return " ".join(text.split()[-4:])


def _head(text: str) -> str:
    return " ".join(text.split()[:4])


def _relation(directory: str, from_directory: str | None) -> Relation:
    """The relation of a directory to that of the page (None for a seed)."""
    depth = min(directory.count("/") + (1 if directory else 0), 6)
    name = directory.rpartition("/")[2].lower()
    if from_directory is None:
        relation = "seed"
    elif directory == from_directory:
        relation = "same directory"
    elif not from_directory or directory.startswith(from_directory + "/"):
        relation = f"below by {min(3, directory.count('/') - from_directory.count('/'))}"
    elif not directory or from_directory.startswith(directory + "/"):
        relation = "above"
    else:
        relation = "elsewhere"
    return depth, relation, name


def _shape_words(kind: str, depth: int, relation: str, relevant: bool, person: bool) -> list[str]:
    of = "relevant" if relevant else "irrelevant"
    return [
        kind,
        f"depth {depth}",
        relation,
        f"{relation} of a page that is {of}",
        f"{kind[:4]} {relation}",
        f"{kind[:4]}{' ~' if person else ''}",
    ]
