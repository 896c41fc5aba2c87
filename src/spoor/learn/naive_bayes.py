"""Multinomial naive Bayes over several bags of words with separate vocabularies.

Rennie and McCallum (1999, section 2.4), eqs (3)-(5); given the class the bags are independent, so
their likelihoods multiply. Beside the paper's Laplace smoothing: shrinkage towards all other
classes (McCallum, Rosenfeld, Mitchell and Ng 1998) and complement naive Bayes (Rennie, Shih, Teevan
and Karger 2003, without its weight normalisation and tf-idf).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spoor.distribution import import_extra
from spoor.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

    from spoor.types import State

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

SMOOTHINGS = ("laplace", "shrinkage", "complement")
ROUNDS = 30
"""Of expectation-maximisation."""
SAMPLE = 20_000


class Bag(NamedTuple):
    """One bag of each of n examples; examples that share a text share its row."""

    counts: sparse.csr_array
    """How often each word occurs in each text, (texts, words)."""
    text: Integers
    """Row of each example, (n,)."""


class Vocabulary:
    """Words of one bag → numbers from 0, in order of first sight, while the texts are counted."""

    def __init__(self) -> None:
        self.words: dict[str, int] = {}
        self._column: list[int] = []
        self._count: list[int] = []
        self._end = [0]

    def add(self, words: Iterable[str]) -> int:
        """Count one text; its row."""
        known = self.words
        for word, count in Counter(words).items():
            self._column.append(known.setdefault(word, len(known)))
            self._count.append(count)
        self._end.append(len(self._column))
        return len(self._end) - 2

    def bag(self, text: Sequence[int]) -> Bag:
        """The bag of examples, given the row of each."""
        (sparse,) = import_extra("lab", "training naive Bayes", "scipy.sparse")
        shape = (len(self._end) - 1, len(self.words))
        counts = sparse.csr_array(
            (np.array(self._count, dtype=np.float64), self._column, self._end), shape=shape
        )
        return Bag(counts, np.array(text, dtype=np.int64))


class NaiveBayes:
    """A classifier, as the counts that it was fitted to.

    `counts`: of each bag how often each word occurs in each class, (words, C). `sizes`: examples of
    each class, (C,). With shrinkage, `mixture`: of each bag the weights of the class, of all other
    classes and of the uniform distribution, (C, 3).
    """

    def __init__(
        self,
        counts: Sequence[Floats],
        sizes: Floats,
        smoothing: str = "laplace",
        mixture: Sequence[Floats] = (),
    ) -> None:
        self.counts = tuple(counts)
        self.sizes = sizes
        self.smoothing = smoothing
        self.mixture = tuple(mixture)
        # eq. (5)
        self.log_prior: Floats = np.log((1.0 + sizes) / (len(sizes) + sizes.sum()))
        """ln P(c), (C,)."""
        self.log_words = [self._log_words(bag) for bag in range(len(counts))]
        """ln P(w | c) of each bag, (words, C); with complement smoothing its substitute."""

    def _log_words(self, bag: int) -> Floats:
        counts = self.counts[bag]
        if self.smoothing == "complement":
            return -np.log(laplace(_others(counts)))
        if self.smoothing == "shrinkage":
            parts = _estimates(counts)
            mixed: Floats = np.einsum("wcm,cm->wc", parts, self.mixture[bag])
            return np.log(mixed)
        return np.log(laplace(counts))  # eq. (4)

    def log_joint(self, bags: Sequence[Bag]) -> Floats:
        """ln P(c) + Σ ln P(w | c) over the words of all bags, (n, C)."""
        total = np.tile(self.log_prior, (len(bags[0].text), 1))
        for bag, weights in zip(bags, self.log_words, strict=True):
            total += (bag.counts @ weights)[bag.text]
        return total

    def log_odds(self, bag: int) -> Floats:
        """Weight of each word of a bag for each class: P(w|c) · ln(P(w|c) / P(w|not c)),
        (words, C), with Laplace smoothing (section 4, Table 2)."""
        here, elsewhere = laplace(self.counts[bag]), laplace(_others(self.counts[bag]))
        odds: Floats = here * np.log(here / elsewhere)
        return odds

    def save(self) -> State:
        """Arrays and names."""
        return {
            "counts": list(self.counts),
            "sizes": self.sizes,
            "smoothing": self.smoothing,
            "mixture": list(self.mixture),
        }

    @classmethod
    def load(cls, state: Mapping[str, Any]) -> NaiveBayes:
        """The classifier that `save` wrote."""
        return cls(state["counts"], state["sizes"], state["smoothing"], state["mixture"])


def posterior(log_joint: Floats) -> Floats:
    """P(c | words), rows summing to 1: eq. (3)."""
    shifted = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
    share: Floats = shifted / shifted.sum(axis=1, keepdims=True)
    return share


def laplace(counts: Floats) -> Floats:
    """Each word seen once more than it was, as a distribution a column: eq. (4)."""
    estimate: Floats = (1.0 + counts) / (len(counts) + counts.sum(axis=0))
    return estimate


def fit(bags: Sequence[Bag], share: Floats, smoothing: str = "laplace") -> NaiveBayes:
    """Fit to examples whose share in each class is (n, C), rows of 0 and 1 where it is known.

    Cost: one sparse product a bag. Raises InputError for an unknown smoothing.
    """
    if smoothing not in SMOOTHINGS:
        raise InputError(f"unknown smoothing {smoothing!r}; there are: {', '.join(SMOOTHINGS)}")
    return of_counts([class_counts(bag, share) for bag in bags], share.sum(axis=0), smoothing)


def of_counts(counts: Sequence[Floats], sizes: Floats, smoothing: str = "laplace") -> NaiveBayes:
    """The classifier of examples of which only the counts are left."""
    mixture = [_mixture(table) for table in counts] if smoothing == "shrinkage" else []
    return NaiveBayes(counts, sizes, smoothing, mixture)


def one_hot(classes: Integers, count: int) -> Floats:
    """Class numbers as shares, (n, count)."""
    return np.eye(count)[classes]


def cluster(bags: Sequence[Bag], count: int, rng: np.random.Generator) -> Floats:
    """Share of each example in `count` clusters of like words, (n, count).

    A mixture of multinomials by expectation-maximisation from a random start, on `SAMPLE` examples
    where there are more. A text that many examples share counts once for each.
    """
    drawn = rng.permutation(len(bags[0].text))
    some = [part(bag, drawn[:SAMPLE]) for bag in bags]
    size = len(some[0].text)
    # Random shares of all examples would differ little from one another: begin with a few each.
    seeds = np.arange(size)[: count * max(1, min(10, size // count))]
    share = one_hot(rng.integers(count, size=len(seeds)), count)
    model = fit([part(bag, seeds) for bag in some], share)
    for _ in range(ROUNDS):
        model = fit(some, posterior(model.log_joint(some)))
    return posterior(model.log_joint(bags))


def part(bag: Bag, examples: Integers) -> Bag:
    """Some of the examples, and no text but theirs."""
    texts, text = np.unique(bag.text[examples], return_inverse=True)
    return Bag(bag.counts[texts], text.astype(np.int64))


def class_counts(bag: Bag, share: Floats) -> Floats:
    """How often each word occurs in each class, (words, C)."""
    texts, classes = bag.counts.shape[0], share.shape[1]
    weight = np.empty((texts, classes))
    for column in range(classes):
        weight[:, column] = np.bincount(bag.text, share[:, column], minlength=texts)
    counts: Floats = np.asarray(bag.counts.T @ weight)
    return counts


def _others(counts: Floats) -> Floats:
    rest: Floats = counts.sum(axis=1, keepdims=True) - counts
    # What was summed and taken away again may leave a rounding error below 0.
    return np.maximum(rest, 0.0)


def _estimates(counts: Floats, taken: float = 0.0) -> Floats:
    """Of the class, of all other classes and uniform: P(w | ·), (words, C, 3).

    With `taken` = 1 the class's own estimate is that without the occurrence it is asked about.
    """
    uniform = 1.0 / max(1, len(counts))
    parts = np.full((*counts.shape, 3), uniform)
    for part, words, out in ((0, counts, taken), (1, _others(counts), 0.0)):
        size = words.sum(axis=0) - out
        some = size > 0  # where there are no words at all, it stays uniform
        parts[:, some, part] = np.maximum(words[:, some] - out, 0.0) / size[some]
    return parts


def _mixture(counts: Floats) -> Floats:
    """Weights under which each class explains its words best, each left out in turn, (C, 3)."""
    parts = _estimates(counts, taken=1.0)
    weights = np.full((counts.shape[1], 3), 1.0 / 3.0)
    # One occurrence of each distribution keeps every word possible.
    for _ in range(ROUNDS):
        shares = parts * weights
        shares /= np.maximum(shares.sum(axis=2, keepdims=True), np.finfo(float).tiny)
        expected = 1.0 + np.einsum("wc,wcm->cm", counts, shares)
        weights = expected / expected.sum(axis=1, keepdims=True)
    return weights
