"""How near a page is to a topic: tf-idf cosine, or cosine of mean word vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from spoor.errors import InputError
from spoor.text import STOP_WORDS, DocumentFrequencies, Vectors, cosine, stem, tokens
from spoor.types import Judgement, Page, State

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WORDS = 20_000


def content_words(text: str, language: str = "english") -> list[str]:
    """Stems of the words that carry a topic: no stop words, no single letters."""
    words = [word for word in tokens(text)[:_WORDS] if word not in STOP_WORDS and len(word) > 1]
    return stem(words, language)


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
        self._threshold = threshold
        self._learning = learning
        self.frequencies = frequencies or DocumentFrequencies()

    def judge(self, page: Page) -> Judgement:
        words = content_words(f"{page.title} {page.title} {page.title} {page.text}", self._language)
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
        relevant = score >= self._threshold
        why = tuple((f"shares the word {word!r}", share) for share, word in shares[:5])
        return Judgement(score, relevant, float(relevant), why)

    def save(self) -> State:
        return self.frequencies.save()

    def load(self, state: State) -> None:
        self.frequencies.load(state)


class VectorCosine:
    """Cosine of the page's mean word vector with the topic's; negative ones count as 0."""

    def __init__(self, topic: str, vectors: Vectors, *, threshold: float = 0.5) -> None:
        mean = vectors.mean(tokens(topic))
        if mean is None:
            raise InputError(f"none of the topic's words is in the word vectors: {topic!r}")
        self._topic = mean / max(float(np.linalg.norm(mean)), 1e-12)
        self._vectors = vectors
        self._threshold = threshold

    def cosine(self, text: str) -> float:
        """In [0, 1]; 0 for a text none of whose words is known."""
        mean: NDArray[np.float32] | None = self._vectors.mean(tokens(text)[:_WORDS])
        if mean is None:
            return 0.0
        norm = float(np.linalg.norm(mean))
        return min(1.0, max(0.0, float(mean @ self._topic) / norm)) if norm else 0.0

    def judge(self, page: Page) -> Judgement:
        score = self.cosine(f"{page.title} {page.text}")
        relevant = score >= self._threshold
        return Judgement(score, relevant, float(relevant), (("likeness of meaning", score),))
