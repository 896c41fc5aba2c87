"""States of pages (Algorithm 2): the outputs of a PrTFIDF classifier over clusters.

Clusters come from principal-direction divisive partitioning (Boley 1998) of a background corpus;
the classifier is Joachims's probabilistic version of TF-IDF (1997): P(C | d) is the sum over the
words of d of P(C | w) P(w | d). One more class represents general text, and its output is dropped.
Outputs are shares, about 1/51 each, of which tanh alone would leave a fiftieth of [-1, 1] in use;
they are z-scored over the background corpus first, so that states fill the interval.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spoor.distribution import import_extra
from spoor.types import Page, State
from spoor.web.text import STOP_WORDS, stem, tokens

CLUSTERS = 50
MOST_WORDS = 20_000
WORDS_OF_A_PAGE = 2_000
MOST_EXACT = 500
"""Rows up to which the direction is exact; the cost grows with their cube."""
TOLERANCE = 1e-10

Rows = Any
"""A sparse matrix with one row a document; its library's types say less than they cost."""


def _sparse() -> Any:
    return import_extra("lab", "clusters of pages", "scipy.sparse")[0]


def words(page: Page) -> list[str]:
    """Stems of a page's words without stop words, the first 2,000."""
    words_of_page = tokens(f"{page.title} {page.text}"[: WORDS_OF_A_PAGE * 12])
    return stem([word for word in words_of_page if word not in STOP_WORDS][:WORDS_OF_A_PAGE])


# ---------------------------------------------------------------- Boley's partitioning


def partition(documents: Rows, clusters: int) -> NDArray[np.int64]:
    """Cluster of each document, from 0, by principal-direction divisive partitioning.

    `documents` holds one row a document. Rows are scaled to length 1. Again and again the cluster
    with the largest scatter (sum of squared distances to its centroid) is split by the sign of its
    documents' projections on its principal direction, until there are `clusters`, or no cluster
    can be split. Its cost is that of `_principal_projections`, once a split.
    """
    sparse = _sparse()
    rows: Rows = sparse.csr_array(documents, dtype=float)
    length = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
    rows = sparse.csr_array(sparse.diags_array(scale) @ rows)
    label = np.zeros(rows.shape[0], dtype=np.int64)
    scatter = {0: _scatter(rows)}
    while len(scatter) < clusters:
        widest = max(scatter, key=lambda cluster: (scatter[cluster], -cluster))
        if scatter[widest] <= 1e-9:
            break
        members = np.flatnonzero(label == widest)
        inside = rows[members]
        side = _principal_projections(inside) > 0.0
        if side.all() or not side.any():
            scatter[widest] = 0.0
            continue
        label[members[side]] = other = len(scatter)
        scatter[other] = _scatter(inside[np.flatnonzero(side)])
        scatter[widest] = _scatter(inside[np.flatnonzero(~side)])
    return label


def _scatter(rows: Rows) -> float:
    count = rows.shape[0]
    centroid = np.asarray(rows.sum(axis=0)).ravel() / max(1, count)
    return float((rows.data @ rows.data) - count * (centroid @ centroid))


def _principal_projections(rows: Rows) -> NDArray[np.float64]:
    """Of each row, less the centroid, on the principal direction; equal rows have equal ones.

    Up to `MOST_EXACT` rows by decomposition of their centred Gram matrix, O(rows³), above it by
    Lanczos to a relative residual of `TOLERANCE`.
    """
    dense, sparse, linalg = import_extra(
        "lab", "clusters of pages", "scipy.linalg", "scipy.sparse", "scipy.sparse.linalg"
    )
    count = rows.shape[0]
    if count <= MOST_EXACT:
        gram = (rows @ rows.T).toarray()
        mean = gram.mean(axis=0)
        gram += mean.mean() - mean - mean[:, None]
        _, vectors = dense.eigh(gram, subset_by_index=[count - 1, count - 1])
    else:
        turned: Rows = sparse.csr_array(rows.T)

        def product(vector: NDArray[np.float64]) -> NDArray[np.float64]:
            vector = vector.ravel()
            result: NDArray[np.float64] = rows @ (turned @ (vector - vector.mean()))
            return np.asarray(result - result.mean())

        gram = linalg.LinearOperator((count, count), matvec=product, dtype=np.float64)
        # A start that is fixed, so that the clusters are, too; cosines of 1, 2, … favour no row.
        start = np.cos(np.arange(1.0, count + 1.0))
        _, vectors = linalg.eigsh(gram, k=1, which="LA", v0=start, tol=TOLERANCE)
    if not vectors.size:  # LAPACK finds none where the rows hardly differ
        return np.zeros(count)
    along = vectors[:, 0] - vectors[:, 0].mean()
    direction = rows.T @ along
    centroid = np.asarray(rows.sum(axis=0)).ravel() / count
    along = rows @ direction - centroid @ direction
    # The sign of a direction is free: the first document with the largest projection is positive,
    # and rounding does not decide which that is.
    size = np.abs(along)
    first = np.argmax(size >= size.max() * (1.0 - 1e-9))
    return np.asarray(along if along[first] > 0 else -along)


# ---------------------------------------------------------------- Joachims's classifier


class PrTFIDF:
    """States from a fitted classifier; a page without a known word has the state 0."""

    settled = True

    def __init__(self, vocabulary: Sequence[str], given_word: NDArray[np.float32]) -> None:
        self._rows = {word: row for row, word in enumerate(vocabulary)}
        self._given_word = given_word
        """P(C | w) by word and class, the class of general text left out."""
        self._mean = np.zeros(self.size, dtype=np.float32)
        """Of each output over the background corpus."""
        self._deviation = np.ones(self.size, dtype=np.float32)

    @property
    def size(self) -> int:
        return int(self._given_word.shape[1])

    def outputs(self, words: Iterable[str]) -> NDArray[np.float32]:
        """P(C | d) of each cluster; they sum to 1 less the share of general text."""
        rows = [row for row in map(self._rows.get, words) if row is not None]
        if not rows:
            return np.zeros(self.size, dtype=np.float32)
        outputs: NDArray[np.float32] = self._given_word[rows].mean(axis=0)
        return outputs

    def standardize(self, corpus: Iterable[Sequence[str]]) -> None:
        """Take the mean and the deviation of each output from texts, as words. An output that is
        the same for all of them says nothing, and is 0."""
        outputs = np.array([self.outputs(text) for text in corpus], dtype=np.float64)
        deviation = outputs.std(axis=0)
        self._mean = outputs.mean(axis=0).astype(np.float32)
        self._deviation = np.where(deviation > 1e-12, deviation, np.inf).astype(np.float32)

    def __call__(self, page: Page) -> NDArray[np.float32]:
        outputs = self.outputs(words(page))
        if not outputs.any():
            return outputs
        state: NDArray[np.float32] = np.tanh((outputs - self._mean) / self._deviation)
        return state

    def save(self) -> State:
        return {
            "vocabulary": list(self._rows),
            "given_word": self._given_word,
            "mean": self._mean,
            "deviation": self._deviation,
        }

    def load(self, state: State) -> None:
        self._rows = {word: row for row, word in enumerate(state["vocabulary"])}
        self._given_word = state["given_word"]
        self._mean, self._deviation = state["mean"], state["deviation"]

    @classmethod
    def fit(
        cls,
        corpus: Sequence[Sequence[str]],
        general: Sequence[Sequence[str]] = (),
        *,
        clusters: int = CLUSTERS,
    ) -> PrTFIDF:
        """From a background corpus and general texts, as words.

        Without general texts every fifth document of the corpus replaces them. The vocabulary is
        the 20,000 words in most documents. Fewer documents than clusters leave clusters empty.
        """
        sparse = _sparse()
        others = list(general) or list(corpus)[::5]
        often = Counter(word for text in corpus for word in set(text))
        vocabulary = sorted(often, key=lambda word: (-often[word], word))[:MOST_WORDS]
        rows = {word: row for row, word in enumerate(vocabulary)}
        shares = _shares(corpus, rows)
        label = partition(_weighted(shares), clusters)
        label = np.concatenate([label, np.full(len(others), clusters)])
        everything: Rows = sparse.csr_array(sparse.vstack([shares, _shares(others, rows)]))
        sizes = np.bincount(label, minlength=clusters + 1).astype(np.float64)
        member: Rows = sparse.csr_array(
            (np.ones(len(label)), (label, np.arange(len(label)))),
            shape=(clusters + 1, len(label)),
        )
        # P(w | C) is the mean of P(w | d) over the documents of C, and P(C) its share of them, so
        # that P(w | C) P(C) is a sum over documents.
        joint = (member @ everything).toarray() / sizes.sum()
        total = joint.sum(axis=0)
        given = np.divide(joint, total, out=np.zeros_like(joint), where=total > 0)
        fitted = cls(vocabulary, np.ascontiguousarray(given[:clusters].T, dtype=np.float32))
        fitted.standardize(corpus)
        return fitted


def _shares(texts: Sequence[Sequence[str]], rows: dict[str, int]) -> Rows:
    """P(w | d): share of each word in each text."""
    indptr, indices, data = [0], list[int](), list[float]()
    for text in texts:
        counts = Counter(rows[word] for word in text if word in rows)
        total = sum(counts.values())
        indices += counts
        data += [n / total for n in counts.values()]
        indptr.append(len(indices))
    return _sparse().csr_array((data, indices, indptr), shape=(len(texts), len(rows)))


def _weighted(shares: Rows) -> Rows:
    """Times the inverse document frequency, which keeps common words from leading the split."""
    frequency = np.bincount(shares.indices, minlength=shares.shape[1])
    idf = np.log((1.0 + shares.shape[0]) / (1.0 + frequency))
    sparse = _sparse()
    return sparse.csr_array(shares @ sparse.diags_array(idf))


class NoStates:
    """For fleets that look at no state."""

    size = 0
    settled = True

    def __call__(self, page: Page) -> NDArray[np.float32]:
        return np.zeros(0, dtype=np.float32)

    def save(self) -> State:
        return {}

    def load(self, state: State) -> None:
        pass


class SelfTaught:
    """A PrTFIDF over the first `after` contents that the fleet itself downloads.

    For a fleet that was given no background corpus; until then every state is 0.
    """

    def __init__(self, *, after: int = 200, clusters: int = CLUSTERS) -> None:
        self._after = after
        self._clusters = clusters
        self._corpus: list[list[str]] = []
        self._fitted: PrTFIDF | None = None

    @property
    def size(self) -> int:
        return self._clusters

    @property
    def settled(self) -> bool:
        return self._fitted is not None

    def __call__(self, page: Page) -> NDArray[np.float32]:
        if self._fitted is not None:
            return self._fitted(page)
        self._corpus.append(words(page))
        if len(self._corpus) >= self._after:
            self._fitted = PrTFIDF.fit(self._corpus, clusters=self._clusters)
            self._corpus = []
        return np.zeros(self._clusters, dtype=np.float32)

    def save(self) -> State:
        return {
            "corpus": self._corpus,
            "fitted": None if self._fitted is None else self._fitted.save(),
        }

    def load(self, state: State) -> None:
        self._corpus = [list(text) for text in state["corpus"]]
        self._fitted = None
        if state["fitted"] is not None:
            self._fitted = PrTFIDF((), np.zeros((0, self._clusters), dtype=np.float32))
            self._fitted.load(state["fitted"])
