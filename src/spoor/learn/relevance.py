"""How near texts are to a topic and to its wider fields: one cosine each, all at once.

With word vectors a text is the mean of the vectors of its words, stop words left out; without, it
is the counts of their stems.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from spoor.text import STOP_WORDS, Vectors, stem, tokens
from spoor.urls import words as url_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spoor.types import Anchor, Sightings

    Floats = NDArray[np.float64]

_MEMO = 200_000
_TITLE = 200
"""Characters of a text up to which it is likely to come again: a page of which only a title is
known."""
Key = tuple[str, str, str, str]
Words = tuple[str, ...]
Tenths = tuple[int, float]
"""The tenths of all cosines as one decimal number, the topic's first; and the topic's cosine."""


_CHARACTERS = 8
"""A word and its space have fewer, on average: where a text is cut before it is split."""
TENTHS: tuple[int, ...] = (*range(10), 9)
"""`tenth` without a call: `TENTHS[int(cosine * 10 + 1e-9)]`."""


def tenth(cosine: float) -> int:
    """0 to 9; a value on an edge belongs to the upper tenth."""
    return min(9, int(cosine * 10 + 1e-9))


class Recurring(Vectors):
    """Vectors through which the same web is read again and again, as by a training or in the lab:
    what was read of a page or a link is remembered, for each topic."""

    def __init__(self, vectors: Vectors) -> None:
        self.__dict__.update(vectors.__dict__)
        self.pages: dict[tuple[object, ...], dict[str, list[float]]] = {}
        self.links: dict[tuple[object, ...], dict[Key, Tenths]] = {}


class Relevance:
    """Cosines of a text with the topic `texts[0]` and its fields `texts[1:]`, each in [0, 1].

    A cosine below 0 counts as 0; so does one with a text none of whose words is known. If no word
    of the topic has a vector, words are counted instead. A page's first `words` words are read, and
    `context` words on either side of a link.
    """

    def __init__(
        self,
        texts: Sequence[str],
        vectors: Vectors | None,
        *,
        context: int = 5,
        words: int = 2_000,
    ) -> None:
        self._context = context
        self._words = words
        self.look_through(texts, vectors)

    def look_through(self, texts: Sequence[str], vectors: Vectors | None) -> None:
        """From now on use these texts and vectors."""
        self.texts = tuple(texts)
        self.vectors = vectors
        # Navigation repeats the same words on every page.
        self._memo: dict[Key, Tenths] = {}
        self._pages: dict[str, list[float]] = {}
        # Links of the same words, none around them: `next`, `home`.
        self._phrases: dict[Words, Tenths] = {}
        self._remembers = _TITLE
        if isinstance(vectors, Recurring):
            self._remembers = sys.maxsize
            task = (self.texts, self._context, self._words)
            self._memo = vectors.links.setdefault(task, {})
            self._pages = vectors.pages.setdefault(task, {})
        split = [_content(tokens(text)) for text in texts]
        self._counts = [Counter(stem(words)) for words in split]
        self._norms = [math.sqrt(sum(n * n for n in counts.values())) for counts in self._counts]
        self._rows: dict[str, int] = {}
        self._aims: Floats | None = None
        if vectors is not None and split and vectors.mean(split[0]) is not None:
            # From the end, so that every word that is known is true.
            self._rows = {word: row for row, word in enumerate(vectors.words(), -len(vectors))}
            for word in STOP_WORDS & self._rows.keys():
                del self._rows[word]
            aims = np.zeros((len(split), vectors.dimension))
            for row, words in enumerate(split):
                mean = vectors.mean(words)
                norm = 0.0 if mean is None else float(np.linalg.norm(mean))
                if mean is not None and norm:
                    aims[row] = mean / norm
            self._aims = aims
        if vectors is None:
            said = "counts of words, as there are no word vectors yet"
        elif self._aims is None:
            said = f"counts of words, as no word of the topic is in {vectors.source}"
        else:
            said = f"word vectors: {vectors.source or 'given'}"
        self.source = said
        """What relevance is measured by, in words."""

    def of_text(self, text: str) -> list[float]:
        """Cosines with all texts, as long as `texts`. O(words)."""
        return self.of_page(text, None)[0]

    def of_page(self, text: str, seen: Sightings | None) -> tuple[list[float], list[Tenths]]:
        """Cosines of a page's text, and of the URL, anchor and surrounding words of each of its
        links, in their order."""
        memo = self._memo
        if len(memo) > _MEMO or len(self._pages) > _MEMO:
            memo.clear()
            self._pages.clear()
            self._phrases.clear()
        keys: list[Key] = []
        known: list[Tenths | None] = []
        fresh: dict[Key, Words] = {}
        if seen is not None:
            anchor_of = seen.anchor
            for at, url in enumerate(seen.urls):
                anchor = anchor_of(at)
                key = (url, anchor.text, anchor.before, anchor.after)
                near = memo.get(key)
                if near is None and key not in fresh:
                    words = self._link_words(url, anchor)
                    near = self._phrases.get(words)
                    if near is None:
                        fresh[key] = words
                    else:
                        memo[key] = near
                keys.append(key)
                known.append(near)
        own = self._pages.get(text)
        texts: list[Sequence[str]] = list(fresh.values())
        if own is None:
            texts.append(tokens(text[: self._words * _CHARACTERS])[: self._words])
        cosines = self._of_words(texts) if texts else []
        if own is None:
            own = cosines.pop()
            if len(text) <= self._remembers:
                self._pages[text] = own
        if not fresh:
            return own, cast("list[Tenths]", known)
        for (key, words), near_to in zip(fresh.items(), cosines, strict=True):
            tenths = 0
            for cosine in near_to:
                tenths = 10 * tenths + TENTHS[int(cosine * 10 + 1e-9)]
            memo[key] = near = (tenths, near_to[0])
            if not key[2] and not key[3]:
                self._phrases[words] = near
        return own, [memo[key] for key in keys]

    def _link_words(self, url: str, anchor: Anchor) -> Words:
        parts = url_words(url)
        words = (*parts.directories, *parts.file, *parts.query, *tokens(anchor.text))
        if self._context:
            if anchor.before:
                words += tuple(tokens(anchor.before)[-self._context :])
            if anchor.after:
                words += tuple(tokens(anchor.after)[: self._context])
        return words

    def _of_words(self, texts: Sequence[Sequence[str]]) -> list[list[float]]:
        """Cosines of each of the texts with the topic texts."""
        if self._aims is None or self.vectors is None:
            return [self._by_counts(words) for words in texts]
        find = self._rows.get
        flat: list[int] = []
        starts: list[int] = []
        known: list[int] = []
        end = 0
        for at, words in enumerate(texts):
            flat += filter(None, map(find, words))
            if len(flat) > end:
                starts.append(end)
                known.append(at)
                end = len(flat)
        none = [0.0] * len(self.texts)
        found = [none] * len(texts)
        if not known:
            return found
        sums = np.add.reduceat(self.vectors.matrix.take(flat, axis=0), starts, dtype=np.float64)
        # Row by row: the last bits of a matrix product may depend on how many rows there are.
        products = np.vecdot(sums[:, None], self._aims).tolist()
        squares = np.vecdot(sums, sums).tolist()
        # A page has few texts: lists of floats are faster than arrays of them.
        for at, row, square in zip(known, products, squares, strict=True):
            norm = math.sqrt(square) or 1.0
            found[at] = [min(1.0, x / norm) if x > 0.0 else 0.0 for x in row]
        return found

    def _by_counts(self, words: Sequence[str]) -> list[float]:
        counts = Counter(stem(_content(words)))
        norm = math.sqrt(sum(n * n for n in counts.values()))
        return [
            min(1.0, sum(n * aim[word] for word, n in counts.items() if word in aim) / (norm * own))
            if norm and own
            else 0.0
            for aim, own in zip(self._counts, self._norms, strict=True)
        ]


def _content(words: Sequence[str]) -> list[str]:
    return [word for word in words if word not in STOP_WORDS]
