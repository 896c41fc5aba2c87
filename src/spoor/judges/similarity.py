"""How near a page is to a topic: tf-idf cosine, BM25, or cosine of mean word vectors."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from spoor.errors import InputError
from spoor.types import Judgement, Page, State
from spoor.web.text import STOP_WORDS, DocumentFrequencies, Vectors, cosine, stem, tokens

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WORDS = 20_000


def telling_words(text: str) -> list[str]:
    """The words that carry a topic, as they are written: no stop words, no single letters."""
    return [word for word in tokens(text)[:_WORDS] if word not in STOP_WORDS and len(word) > 1]


def content_words(text: str, language: str = "english") -> list[str]:
    """Stems of the words that carry a topic."""
    return stem(telling_words(text), language)


def page_texts(page: Page) -> list[str]:
    """The telling words of a page; those of the title count three times."""
    return telling_words(f"{page.title} {page.title} {page.title} {page.text}")


def page_words(page: Page, language: str = "english") -> list[str]:
    """Their stems."""
    return stem(page_texts(page), language)


class TfIdf:
    """Cosine of the page's tf-idf vector with the nearest of the topic texts.

    Document frequencies are learned as the crawl goes, the page at hand included, unless
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
        self._texts = [words for text in texts if (words := content_words(text, language))]
        if not self._texts:
            raise InputError("the topic's text has no word that tells topics apart; say more")
        self.threshold = threshold
        self._learning = learning
        self.frequencies = frequencies or DocumentFrequencies()

    def judge(self, page: Page) -> Judgement:
        words = page_words(page, self._language)
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
    """Okapi BM25 of a query (Robertson and Zaragoza 2009, eq. 3.15), as a share of the most that
    its words could give: a page with each of them once, and of average length, has 0.45.

    Document frequencies and the average length are learned as the crawl goes, the page at hand
    included. Words are compared by their stems; those of the title count three times.
    """

    K1 = 1.2
    B = 0.75

    def __init__(self, query: str, *, threshold: float = 0.4, language: str = "english") -> None:
        self._language = language
        self._query = list(dict.fromkeys(content_words(query, language)))
        if not self._query:
            raise InputError(f"the query {query!r} has no word that tells topics apart; say more")
        self.threshold = threshold
        self._often = dict.fromkeys(self._query, 0)
        """Query word → pages that hold it."""
        self._pages = 0
        self._words = 0

    def judge(self, page: Page) -> Judgement:
        words = page_words(page, self._language)
        counts = Counter(words)
        self._pages += 1
        self._words += len(words)
        for word in self._query:
            self._often[word] += word in counts
        # Every idf is above 0, so that a word on every page still counts a little.
        idf = {
            word: math.log(1.0 + (self._pages - often + 0.5) / (often + 0.5))
            for word, often in self._often.items()
        }
        most = (self.K1 + 1.0) * sum(idf.values())
        length = len(words) * self._pages / max(self._words, 1)
        room = self.K1 * (1.0 - self.B + self.B * length)
        why = []
        for word in self._query:
            if n := counts[word]:
                share = idf[word] * n * (self.K1 + 1.0) / (n + room) / most
                times = f" {n} times" if n > 1 else ""
                why.append((f"holds {word!r}{times}", share))
        score = min(1.0, sum(share for _, share in why))
        relevant = score >= self.threshold
        return Judgement(score, relevant, float(relevant), tuple(why))

    def save(self) -> State:
        return {"pages": self._pages, "words": self._words, "often": list(self._often.values())}

    def load(self, state: State) -> None:
        self._pages, self._words = int(state["pages"]), int(state["words"])
        self._often = dict(zip(self._query, map(int, state["often"]), strict=True))


class VectorCosine:
    """Cosine of the page's mean word vector with the topic's; negative ones count as 0."""

    def __init__(self, topic: str, vectors: Vectors, *, threshold: float = 0.5) -> None:
        mean = vectors.mean(tokens(topic))
        if mean is None:
            raise InputError(f"none of the topic's words is in the word vectors: {topic!r}")
        self._topic = mean / max(float(np.linalg.norm(mean)), 1e-12)
        self._vectors = vectors
        self.threshold = threshold

    def cosine(self, text: str) -> float:
        """In [0, 1]; 0 for a text none of whose words is known."""
        mean: NDArray[np.float32] | None = self._vectors.mean(tokens(text)[:_WORDS])
        if mean is None:
            return 0.0
        norm = float(np.linalg.norm(mean))
        return min(1.0, max(0.0, float(mean @ self._topic) / norm)) if norm else 0.0

    def judge(self, page: Page) -> Judgement:
        score = self.cosine(f"{page.title} {page.text}")
        relevant = score >= self.threshold
        return Judgement(score, relevant, float(relevant), (("likeness of meaning", score),))
