"""The wider fields of a topic, found from its words and a background.

Han, Wuillemin and Senellart (2018) choose them by hand from a web directory, and leave finding
them to future work.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spoor.web.text import STOP_WORDS, Vectors, stem, tokens

if TYPE_CHECKING:
    from numpy.typing import NDArray

CANDIDATES = 60
ROUNDS = 20


def find_categories(
    topic: str,
    count: int,
    vectors: Vectors | None,
    background: Iterable[Sequence[str]] = (),
) -> dict[str, str]:
    """Name → words of up to `count` fields that the topic belongs to; deterministic.

    Candidates are the words that go with the topic's in the tokenised `background` texts (those
    whose log-likelihood ratio of occurring in texts with a word of the topic is highest; Dunning
    1993), or without such texts the words whose vectors are nearest to the topic's. They are parted
    into groups by k-means on their vectors; a field is named by the word nearest to its middle, and
    its words are the nearest five. Empty where neither background nor vectors know the topic.
    Cost: O(words of the background + candidates · dimension).
    """
    own = {word for word in tokens(topic) if word not in STOP_WORDS}
    candidates = _going_with(own, background) or _near(own, vectors)
    if not candidates or count < 1:
        return {}
    if vectors is None:
        return {word: word for word in candidates[:count]}
    known = [word for word in candidates if word in vectors]
    if not known:
        return {word: word for word in candidates[:count]}
    rows = {word: row for row, word in enumerate(vectors.words())}
    points = _unit(vectors.matrix[[rows[word] for word in known]])
    return _named(known, points, _groups(points, min(count, len(known))))


def _going_with(own: set[str], background: Iterable[Sequence[str]]) -> list[str]:
    """Words of the background by how strongly they go with the topic's."""
    stems = set(stem(own))
    inside: Counter[str] = Counter()
    outside: Counter[str] = Counter()
    with_topic = without = 0
    for text in background:
        words = {word for word in text if len(word) > 2 and word not in STOP_WORDS}
        if stems & set(stem(words)):
            with_topic += 1
            inside.update(words)
        else:
            without += 1
            outside.update(words)
    if not with_topic or not without:
        return []
    scored = []
    for word, n in inside.items():
        # As often as one text in a hundred of the topic's, and more often there than elsewhere.
        if n < max(2, with_topic / 100) or n / with_topic <= outside[word] / without:
            continue
        if stem([word])[0] not in stems and not word.isdigit():
            scored.append((-_likelihood(n, with_topic, outside[word], without), word))
    return [word for _, word in sorted(scored)[:CANDIDATES]]


def _likelihood(a: int, of_a: int, b: int, of_b: int) -> float:
    """Log-likelihood ratio of `a` in `of_a` and `b` in `of_b` against one rate for both."""

    def fit(k: int, n: int, p: float) -> float:
        return (k * math.log(p) if k else 0.0) + ((n - k) * math.log(1 - p) if n > k else 0.0)

    p = (a + b) / (of_a + of_b)
    return 2 * (fit(a, of_a, a / of_a) + fit(b, of_b, b / of_b) - fit(a, of_a, p) - fit(b, of_b, p))


def _near(own: set[str], vectors: Vectors | None) -> list[str]:
    """Words by the cosine of their vectors with the topic's mean."""
    mean = vectors.mean(own) if vectors is not None else None
    if vectors is None or mean is None:
        return []
    stems = set(stem(own))
    near = _unit(vectors.matrix) @ (mean / max(float(np.linalg.norm(mean)), 1e-12))
    words = vectors.words()
    best = np.argsort(-near, kind="stable")[: 4 * CANDIDATES].tolist()
    candidates = [
        words[row]
        for row in best
        if len(words[row]) > 2
        and words[row] not in STOP_WORDS
        and not words[row].isdigit()
        and stem([words[row]])[0] not in stems
    ]
    return candidates[:CANDIDATES]


def _groups(points: NDArray[Any], count: int) -> NDArray[Any]:
    """k-means on the sphere; first middles are the first point and then the farthest from all."""
    middles = points[:1]
    while len(middles) < count:
        middles = np.vstack([middles, points[(points @ middles.T).max(axis=1).argmin()]])
    of = np.zeros(len(points), dtype=np.int64)
    for _ in range(ROUNDS):
        of = (points @ middles.T).argmax(axis=1)
        sums = np.vstack([points[of == group].sum(axis=0) for group in range(len(middles))])
        empty = ~sums.any(axis=1)
        sums[empty] = middles[empty]
        middles = _unit(sums)
    return of


def _named(words: Sequence[str], points: NDArray[Any], of: NDArray[Any]) -> dict[str, str]:
    fields: dict[str, str] = {}
    # The group of the strongest candidate first.
    for group in dict.fromkeys(of.tolist()):
        members = np.flatnonzero(of == group)
        near = points[members] @ points[members].sum(axis=0)
        nearest = [words[members[index]] for index in np.argsort(-near, kind="stable")[:5]]
        fields[nearest[0]] = " ".join(nearest)
    return fields


def _unit(rows: NDArray[Any]) -> NDArray[Any]:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(norms, 1e-12))
