"""How likely a page is relevant, by the links to it: a logistic regression fitted to the run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any
from zlib import crc32

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix, hstack
from scipy.special import expit

from spoor.lab.intervals import Floats
from spoor.lab.whatif.run_log import LoggedPage, RunLog
from spoor.types import Link, Topic
from spoor.web.text import STOP_WORDS, stem, tokens
from spoor.web.urls import words as url_words

FOLDS = 5
BITS = 14
"""Hashed words have 2 to the power of this columns."""


def chances_of(
    log: RunLog, seen: Mapping[str, Sequence[tuple[LoggedPage, Link]]], rng: np.random.Generator
) -> dict[str, float]:
    """URL → the chance that its page is relevant, of pages that the run fetched and of links that
    it left open: logistic regression on the links to it, each fetched page judged by a fit to other
    pages."""
    fetched = {item.page.url: float(item.judgement.relevant) for item in log.taken}
    known = seen.keys() if log.open is None else seen.keys() & set(log.open)
    open_ = sorted(known - fetched.keys() - set(log.failed))
    sparse, dense = _features([*fetched, *open_], seen, log.topic)
    y, n = np.array([*fetched.values()]), len(fetched)
    folds = min(FOLDS, n)
    if folds < 2:
        return dict.fromkeys([*fetched, *open_], 0.5)
    fold = rng.permutation(n) % folds
    chances = np.zeros(n + len(open_))
    for number in range(folds):
        others, mine = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        weights = _logistic(sparse[others], dense[others], y[others])
        chances[mine] = _logit(sparse[mine], dense[mine], weights)
        chances[n:] += _logit(sparse[n:], dense[n:], weights) / folds
    return dict(zip([*fetched, *open_], chances.tolist(), strict=True))


@lru_cache(maxsize=1 << 12)
def _stems(text: str) -> frozenset[str]:
    """Kept: each half of a run has most of the links of the whole."""
    return frozenset(stem(tokens(text)))


@lru_cache(maxsize=1 << 12)
def _around(before: str, after: str) -> frozenset[str]:
    return frozenset(stem(tokens(before)[-10:] + tokens(after)[:10]))


DENSE = 7
"""Plain numbers of a page: see `_features`."""


def _features(
    urls: Sequence[str], seen: Mapping[str, Sequence[tuple[LoggedPage, Link]]], topic: Topic
) -> tuple[Any, Floats]:
    """Hashed words (sparse) and plain numbers of pages by the links to them."""
    topic_words = frozenset(stem(word for word in tokens(topic.text) if word not in STOP_WORDS))
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    dense = np.zeros((len(urls), DENSE))
    for row, url in enumerate(urls):
        links = seen.get(url, ())
        share = 1.0 / max(1, len(links))
        features: dict[str, float] = defaultdict(float)
        named = set(stem(word for part in url_words(url)[1:] for word in part))
        features |= dict.fromkeys([f"url {word}" for word in named], 1.0)
        features[f"directory {url.rpartition('/')[0]}"] = 1.0
        numbers = dense[row]
        numbers[0], numbers[1] = 1.0, bool(named & topic_words)
        for item, link in links:
            anchor = link.anchor
            words, around = _stems(anchor.text), _around(anchor.before, anchor.after)
            heading = _stems(anchor.headings[-1] if anchor.headings else "")
            for kind, some, weight in (
                ("anchor", words, 1.0),
                ("around", around, 0.5),
                ("heading", heading, 0.5),
                ("path", {anchor.tag_path}, 0.5),
            ):
                for word in some:
                    features[f"{kind} {word}"] += weight * share
            hit = item.judgement.relevant
            numbers[2] += share * bool(words & topic_words)
            numbers[3] += share * bool(around & topic_words)
            numbers[4] += share * hit
            numbers[5] = max(numbers[5], hit)
        numbers[6] = np.log1p(len(links))
        rows += [row] * len(features)
        columns += [crc32(name.encode()) & ((1 << BITS) - 1) for name in features]
        values += features.values()
    return csr_matrix((values, (rows, columns)), shape=(len(urls), 1 << BITS)), dense


def _logistic(sparse: Any, dense: Floats, y: Floats) -> Floats:
    """Weights of a logistic regression with a Gaussian prior, by Newton's method."""
    used = np.unique(sparse.indices)
    x = hstack([csr_matrix(dense), sparse[:, used]], format="csr")
    xt = x.T.tocsr()
    precision = np.concatenate([[1e-3], np.full(DENSE - 1, 0.3), np.full(len(used), 2.0)])

    def loss(b: Floats) -> float:
        z = x @ b
        return float(np.sum(np.logaddexp(0.0, z) - y * z) + 0.5 * np.sum(precision * b * b))

    def slope(b: Floats) -> Floats:
        gradient: Floats = xt @ (expit(x @ b) - y) + precision * b
        return gradient

    def curvature(b: Floats, v: Floats) -> Floats:
        p = expit(x @ b)
        product: Floats = xt @ (p * (1.0 - p) * (x @ v)) + precision * v
        return product

    start = np.zeros(x.shape[1])
    # To a thousandth of a unit of log-odds: no chance needs more digits.
    minimum = minimize(
        loss, start, method="Newton-CG", jac=slope, hessp=curvature, options={"xtol": 1e-3}
    ).x
    weights = np.zeros(DENSE + (1 << BITS))
    weights[:DENSE], weights[DENSE + used] = minimum[:DENSE], minimum[DENSE:]
    return weights


def _logit(sparse: Any, dense: Floats, weights: Floats) -> Floats:
    chances: Floats = expit(dense @ weights[:DENSE] + sparse @ weights[DENSE:])
    return chances
