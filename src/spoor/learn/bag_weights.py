"""Learns how much each bag of words counts, on sites that the words were not learned on. Naive
Bayes multiplies the bags as if they were independent and equally reliable. Here each has an
exponent w ≥ 0: ln P(c | words) = ln P(c) + Σ over bags of w · Σ ln P(w | c), less the sum over all
classes. The likelihood of the right classes of each site, by a model of the others, is concave in
the exponents and is made as large as it can be. A bag that misleads ends at 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from spoor.distribution import import_extra
from spoor.errors import InputError
from spoor.learn.naive_bayes import Bag, class_counts, of_counts, part, posterior

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

DECIMALS = 3
"""Decimals of a weight; further ones depend on the machine."""


def bag_weights(bags: Sequence[Bag], share: Floats, site: Integers, smoothing: str) -> Floats:
    """Weight of each bag, (B,), for examples with their share in each class, (n, C), and the number
    of the site that each is of, (n,). Raises InputError where all are of one site."""
    sites = np.unique(site)
    if len(sites) < 2:
        raise InputError(
            "how much each part of a neighbourhood counts is learned on each site by the words of "
            "the others, and there is one site only; give two or more"
        )
    parts = [scores_of_others(bags, share, site == one, smoothing) for one in sites]
    scores = np.concatenate([scores for scores, _ in parts])
    prior = np.concatenate([prior for _, prior in parts])
    truth = np.concatenate([share[site == one] for one in sites])
    return most_likely(scores, prior, truth)


def scores_of_others(
    bags: Sequence[Bag], share: Floats, here: NDArray[np.bool_], smoothing: str
) -> tuple[Floats, Floats]:
    """Σ ln P(w | c) in each bag of the examples `here`, (m, B, C), and ln P(c), (m, C), by the
    words of the other examples; a word that none of them has says nothing."""
    mine, others = np.flatnonzero(here), np.flatnonzero(~here)
    counts = [class_counts(part(bag, others), share[others]) for bag in bags]
    known = [table.sum(axis=1) > 0 for table in counts]
    kept = [table[some] for table, some in zip(counts, known, strict=True)]
    model = of_counts(kept, share[others].sum(axis=0), smoothing)
    scores = np.empty((len(mine), len(bags), share.shape[1]))
    for number, bag in enumerate(bags):
        own = part(bag, mine)
        sums = own.counts[:, np.flatnonzero(known[number])] @ model.log_words[number]
        scores[:, number] = sums[own.text]
    return scores, np.tile(model.log_prior, (len(mine), 1))


def most_likely(scores: Floats, prior: Floats, truth: Floats) -> Floats:
    """The weights ≥ 0 under which the true classes (n, C) are most likely, (B,)."""
    (optimize,) = import_extra("lab", "a learned neighbourhood", "scipy.optimize")

    def loss(weights: Floats) -> tuple[float, Floats]:
        joint = prior + np.einsum("nbc,b->nc", scores, weights)
        said = posterior(joint)
        top = joint.max(axis=1, keepdims=True)
        normal = top[:, 0] + np.log(np.exp(joint - top).sum(axis=1))
        likely = ((joint - normal[:, None]) * truth).sum() / len(truth)
        slope = np.einsum("nbc,nc->b", scores, said - truth) / len(truth)
        return -float(likely), slope

    bags = scores.shape[1]
    found = optimize.minimize(
        loss, np.ones(bags), jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * bags
    )
    weights: Floats = np.round(found.x, DECIMALS)
    return weights
