"""How near texts are to a topic and to its wider fields: one cosine each, all at once.

With word vectors a text is the mean of the vectors of its words, stop words left out; without, it
is the counts of their stems.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from spoor.learn.link_words import link_words
from spoor.web.text import STOP_WORDS, Vectors, stem, tokens, words_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spoor.types import InLinks

    Floats = NDArray[np.float64]

_MEMO = 200_000
_TITLE = 200
"""Shorter pages, of which only a title is known, are likely to be repeated."""
Key = tuple[str, str, str, str]
Tenths = tuple[int, float]
"""The tenths of all cosines as one decimal number, the topic's first; and the topic's cosine."""

TENTHS: tuple[int, ...] = (*range(10), 9)
"""The tenth of a cosine, 0 to 9, is `TENTHS[int(cosine * 10 + 1e-9)]`; a value on an edge belongs
to the upper tenth."""


class Recurring(Vectors):
    """Vectors through which the same web is read again and again, as by a training or in the lab:
    what was read of a page or a link is remembered, for each topic."""

    def __init__(self, vectors: Vectors) -> None:
        self.__dict__.update(vectors.__dict__)
        self.pages: dict[tuple[object, ...], dict[str, Tenths]] = {}
        self.links: dict[tuple[object, ...], tuple[dict[Key, int], list[int], list[float]]] = {}


class _Met(dict[str, int | None]):
    """Rows of the words met so far, None of one without a vector: a look-up among all words would
    more often wait for memory."""

    def __init__(self, rows: dict[str, int]) -> None:
        super().__init__()
        self._rows = rows

    def __missing__(self, word: str) -> int | None:
        if len(self) >= _MEMO:
            self.clear()
        row = self[word] = self._rows.get(word)
        return row


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
        # Navigation repeats the same words on every page: those of a link have a number.
        self._numbers: dict[Key, int] = {}
        # Both by that number; apart, since so many tuples were long to look through for garbage.
        self.tenths: list[int] = []
        """As in `Tenths`, of the words of links, by their number."""
        self.cosines: list[float] = []
        """The same with the topic alone."""
        self._pages: dict[str, Tenths] = {}
        self._remembers = _TITLE
        if isinstance(vectors, Recurring):
            self._remembers = sys.maxsize
            task = (self.texts, self._context, self._words)
            known = vectors.links.setdefault(task, ({}, [], []))
            self._numbers, self.tenths, self.cosines = known
            self._pages = vectors.pages.setdefault(task, {})
        split = [_content(tokens(text)) for text in texts]
        self._counts = [Counter(stem(words)) for words in split]
        self._norms = [math.sqrt(sum(n * n for n in counts.values())) for counts in self._counts]
        self._rows = _Met({})
        self._aims: Floats | None = None
        if vectors is not None and split and vectors.mean(split[0]) is not None:
            # From the end, so that every word that is known is true.
            rows = {word: row for row, word in enumerate(vectors.words(), -len(vectors))}
            for word in STOP_WORDS & rows.keys():
                del rows[word]
            self._rows = _Met(rows)
            aims = np.zeros((len(split), vectors.dimension))
            for row, words in enumerate(split):
                mean = vectors.mean(words)
                norm = 0.0 if mean is None else float(np.linalg.norm(mean))
                if mean is not None and norm:
                    aims[row] = mean / norm
            self._aims = aims
        if vectors is None:
            source = "counts of words, as there are no word vectors yet"
        elif self._aims is None:
            source = f"counts of words, as no word of the topic is in {vectors.source}"
        else:
            source = f"word vectors: {vectors.source or 'given'}"
        self.source = source
        """What relevance is measured by, in words."""

    def of_page(self, title: str, text: str, seen: InLinks | None) -> tuple[Tenths, list[int]]:
        """Those of a page's title and text; and for each of its links, in their order, the number
        of the words of its URL, its anchor and what surrounds it, until the next call."""
        numbers, tenths, cosines = self._numbers, self.tenths, self.cosines
        # A page that was broken off may have left numbers without an answer.
        complete = len(numbers) == len(tenths) == len(cosines)
        if not complete or max(len(tenths), len(self._pages)) > _MEMO:
            for memo in (numbers, tenths, cosines, self._pages):
                memo.clear()
        known: list[int] = []
        texts: list[list[str]] = []
        if seen is not None:
            # Most links are known: one look-up finds their number, or gives them the next.
            anchor_of, number_of, fresh = seen.anchor, numbers.setdefault, len(tenths)
            for index, url in enumerate(seen.urls):
                anchor = anchor_of(index)
                key = (url, anchor.text, anchor.before, anchor.after)
                number = number_of(key, fresh)
                known.append(number)
                if number == fresh:
                    fresh += 1
                    texts.append(link_words(url, anchor, self._context))
        likely = len(title) + len(text) <= self._remembers
        page = f"{title}\n{text}" if likely else ""
        own = self._pages.get(page) if likely else None
        if own is None:
            words = tokens(title)[: self._words]
            texts.append(words + words_of(text).first(self._words - len(words)) if text else words)
        for of_all, of_topic in self._of_words(texts) if texts else ():
            tenths.append(of_all)
            cosines.append(of_topic)
        if own is None:
            own = tenths.pop(), cosines.pop()
            if likely:
                self._pages[page] = own
        return own, known

    def _of_words(self, texts: Sequence[Sequence[str]]) -> list[Tenths]:
        """How near each of the texts is to the topic texts."""
        if self._aims is None or self.vectors is None:
            return [self._by_counts(words) for words in texts]
        row_of = self._rows.__getitem__
        flat: list[int] = []
        starts: list[int] = []
        known: list[int] = []
        end = 0
        for index, words in enumerate(texts):
            flat += filter(None, map(row_of, words))
            if len(flat) > end:
                starts.append(end)
                known.append(index)
                end = len(flat)
        results = [(0, 0.0)] * len(texts)
        if not known:
            return results
        sums = np.add.reduceat(self.vectors.matrix.take(flat, axis=0), starts, dtype=np.float64)
        # Row by row: the last bits of a matrix product may depend on how many rows there are.
        products = np.vecdot(sums[:, None], self._aims).tolist()
        squares = np.vecdot(sums, sums).tolist()
        # A page has few texts: lists of floats are faster than arrays of them.
        for index, row, square in zip(known, products, squares, strict=True):
            results[index] = _in_tenths(row, math.sqrt(square) or 1.0)
        return results

    def _by_counts(self, words: Sequence[str]) -> Tenths:
        counts = Counter(stem(_content(words)))
        norm = math.sqrt(sum(n * n for n in counts.values()))
        cosines = [
            sum(n * aim[word] for word, n in counts.items() if word in aim) / (norm * own)
            if norm and own
            else 0.0
            for aim, own in zip(self._counts, self._norms, strict=True)
        ]
        return _in_tenths(cosines, 1.0)


def _in_tenths(products: Sequence[float], norm: float) -> Tenths:
    """Of the cosines: a text's products with others of length 1, over its own length."""
    tenths = 0
    for product in products:
        tenths *= 10
        if product > 0.0:
            tenths += TENTHS[int((product if product < norm else norm) / norm * 10 + 1e-9)]
    cosine = products[0]
    return tenths, (cosine if cosine < norm else norm) / norm if cosine > 0.0 else 0.0


def _content(words: Sequence[str]) -> list[str]:
    return [word for word in words if word not in STOP_WORDS]
