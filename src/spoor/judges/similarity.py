"""Judges by similarity to the topic: tf-idf cosine, BM25, or cosine of mean word vectors."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from spoor.errors import InputError
from spoor.types import Judgement, Page, State
from spoor.web.languages import says_little
from spoor.web.text import (
    STOP_WORDS,
    UNSPACED,
    DocumentFrequencies,
    Vectors,
    cosine,
    stem,
    terms,
    tokens,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WORDS = 20_000

_HIRAGANA = re.compile("[\u3041-\u309f]")
"""What Japanese writes particles and endings with."""

_JOINED = re.compile("^(?:[cdjlmnst]|qu|dell|all|nell|sull|dall|un)['’](?=\\w{2})")
"""Of a word in French, Italian or Catalan: the article or pronoun before its apostrophe."""


def content_words(text: str) -> list[str]:
    """The content words of a text as they are written: no stop words, no single letters, no article
    that is joined by an apostrophe (`l'accès`); pairs of characters where a script has no spaces
    between words (`spoor.web.text.terms`), or one that stands alone."""
    words = terms(text)[:_WORDS]
    if "'" in text or "’" in text:
        words = [_JOINED.sub("", word) for word in words]
    return [
        word for word in words if word not in STOP_WORDS and (len(word) > 1 or UNSPACED.match(word))
    ]


def query_words(text: str) -> list[str]:
    """The content words of a query that tell texts apart, each once: without function words of
    several languages and pairs of characters with particles and endings of Japanese, where others
    are left."""
    words = content_words(text)
    telling = [word for word in words if not (says_little(word) or _HIRAGANA.search(word))]
    return list(dict.fromkeys(telling or words))


def content_stems(text: str, language: str = "english") -> list[str]:
    """Stems of the content words of a text."""
    return stem(content_words(text), language)


def page_words(page: Page) -> list[str]:
    """The content words of a page; those of the title count three times."""
    return content_words(f"{page.title} {page.title} {page.title} {page.text}")


def page_stems(page: Page, language: str = "english") -> list[str]:
    """Stems of the content words of a page."""
    return stem(page_words(page), language)


class TfIdf:
    """Cosine of the page's tf-idf vector with the nearest of the topic texts.

    Document frequencies are learned during the crawl, from the judged page too, unless
    `frequencies` are given and `learning` is False. The title counts three times.
    """

    def __init__(
        self,
        texts: Sequence[str],
        *,
        threshold: float = 0.1,
        frequencies: DocumentFrequencies | None = None,
        learning: bool = True,
        language: str = "english",
    ) -> None:
        self._language = language
        self._texts = [words for text in texts if (words := content_stems(text, language))]
        if not self._texts:
            raise InputError("the topic's text has no word that tells topics apart; say more")
        self.threshold = threshold
        self._learning = learning
        self.frequencies = frequencies or DocumentFrequencies()

    def judge(self, page: Page) -> Judgement:
        words = page_stems(page, self._language)
        if self._learning:
            self.frequencies.add(words)
        weights = self.frequencies.weights(words)
        best: tuple[float, dict[str, float]] = (0.0, {})
        for text in self._texts:
            topic = self.frequencies.weights(text)
            best = max(best, (cosine(topic, weights), topic), key=lambda pair: pair[0])
        score, topic = best
        shares = sorted(
            ((weights[word] * value, word) for word, value in topic.items() if word in weights),
            reverse=True,
        )
        relevant = score >= self.threshold
        why = tuple((f"shares the word {word!r}", share) for share, word in shares[:5])
        return Judgement(score, relevant, float(relevant), why)

    def save(self) -> State:
        return self.frequencies.save()

    def load(self, state: State) -> None:
        self.frequencies.load(state)


class Bm25:
    """Okapi BM25 of a query (Robertson and Zaragoza 2009, eq. 3.15), divided by the
    maximum for its words: a page of average length with each word once has 0.45.

    Document frequencies and the average length are learned during the crawl, from the judged page
    too. Words are compared by their stems; those of the title count three times.
    """

    K1 = 1.2
    B = 0.75

    def __init__(self, query: str, *, threshold: float = 0.4, language: str = "english") -> None:
        self._language = language
        self._query = list(dict.fromkeys(content_stems(query, language)))
        if not self._query:
            raise InputError(f"the query {query!r} has no word that tells topics apart; say more")
        self.threshold = threshold
        self._page_counts = dict.fromkeys(self._query, 0)
        """Query word → pages that have it."""
        self._pages = 0
        self._words = 0

    def judge(self, page: Page) -> Judgement:
        words = page_stems(page, self._language)
        self.learn(words)
        why = []
        for word, n, share in self.shares(words):
            times = f" {n} times" if n > 1 else ""
            why.append((f"holds {word!r}{times}", share))
        score = min(1.0, sum(share for _, share in why))
        relevant = score >= self.threshold
        return Judgement(score, relevant, float(relevant), tuple(why))

    def learn(self, words: Collection[str]) -> None:
        """Learn how common the words of the query are, by the stems of one more text."""
        self._pages += 1
        self._words += len(words)
        held = frozenset(words)
        for word in self._query:
            self._page_counts[word] += word in held

    def shares(self, words: Sequence[str]) -> list[tuple[str, int, float]]:
        """(word of the query, how often, its share of the score) for those that some stems hold;
        together at most 1."""
        counts = Counter(words)
        # Every idf is above 0, so that a word on every page still counts a little.
        idf = {
            word: math.log(1.0 + (self._pages - count + 0.5) / (count + 0.5))
            for word, count in self._page_counts.items()
        }
        maximum = (self.K1 + 1.0) * sum(idf.values())
        length = len(words) * self._pages / max(self._words, 1)
        penalty = self.K1 * (1.0 - self.B + self.B * length)
        return [
            (word, n, idf[word] * n * (self.K1 + 1.0) / (n + penalty) / maximum)
            for word in self._query
            if (n := counts[word])
        ]

    def save(self) -> State:
        return {
            "pages": self._pages,
            "words": self._words,
            "often": list(self._page_counts.values()),
        }

    def load(self, state: State) -> None:
        self._pages, self._words = int(state["pages"]), int(state["words"])
        self._page_counts = dict(zip(self._query, map(int, state["often"]), strict=True))


class VectorCosine:
    """Cosine of the page's mean word vector with the topic's; negative values count as 0."""

    def __init__(self, topic: str, vectors: Vectors, *, threshold: float = 0.5) -> None:
        mean = vectors.mean(tokens(topic))
        if mean is None:
            raise InputError(f"none of the topic's words is in the word vectors: {topic!r}")
        self._topic = mean / max(float(np.linalg.norm(mean)), 1e-12)
        self._vectors = vectors
        self.threshold = threshold

    def cosine(self, text: str) -> float:
        """In [0, 1]; 0 for a text without known words."""
        mean: NDArray[np.float32] | None = self._vectors.mean(tokens(text)[:_WORDS])
        if mean is None:
            return 0.0
        norm = float(np.linalg.norm(mean))
        return min(1.0, max(0.0, float(mean @ self._topic) / norm)) if norm else 0.0

    def judge(self, page: Page) -> Judgement:
        score = self.cosine(f"{page.title} {page.text}")
        relevant = score >= self.threshold
        return Judgement(score, relevant, float(relevant), (("likeness of meaning", score),))
