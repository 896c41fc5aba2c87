"""Logistic regression over several sites, each of them a little different: partial pooling.

A word has one weight that all sites share and, on each site, a departure from it. What is
particular to one site (its names, its directories) goes into the departures; what all say alike
goes into what is shared, and that is what is taken to a site never seen (Gelman and Hill 2007,
chapter 13). Groups of links are random effects of their own site, so that a hundred links of one
list count as one list and not as a hundred witnesses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spoor.distribution import import_extra

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    Floats = NDArray[np.float64]

DIGITS = 3


@dataclass(frozen=True)
class SharedWeights:
    """What the sites have in common."""

    slots: NDArray[np.int64]
    """Slots of shared columns, ascending, without 0."""
    weights: Floats
    dense: Floats
    """Weights of the plain numbers."""
    spread: Floats
    """Their posterior variances."""


def fit(
    slots: NDArray[np.int32],
    dense: NDArray[np.float32],
    y: Floats,
    site: NDArray[np.int64],
    *,
    variance: NDArray[np.float32],
    shared: int,
    mean: NDArray[np.float32],
    spread: NDArray[np.float32],
    between: float = 1.0,
    steps: int = 1000,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> SharedWeights:
    """The maximum a posteriori of N rows: slots (N, K), dense (N, D), y (N,) in [0, 1], site (N,).

    `variance` (K,) of the columns' weights; the first `shared` columns are words, the others groups
    of one site. `mean`, `spread` (D,): prior of the dense weights. `between`: variance of a site's
    departures, as a multiple of the weight's own. Convex; L-BFGS goes on until it converges (some
    250 steps, each O(N · K); `steps` at most). The result is rounded, so that another machine,
    which adds in another order, gives the same.
    """
    optimize, sparse, special = import_extra(
        "lab", "training", "scipy.optimize", "scipy.sparse", "scipy.special"
    )
    expit = special.expit

    rows, columns = slots.shape
    row = np.repeat(np.arange(rows), columns)
    column = np.tile(np.arange(columns), rows)
    held = slots.ravel() != 0
    row, column, flat = row[held], column[held], slots.ravel()[held].astype(np.int64)
    of_words = column < shared

    def block(keep: NDArray[np.bool_], keys: NDArray[np.int64]) -> tuple[csr_array, Floats]:
        """A design matrix with a column for each key, and the variances of their weights."""
        names, place = np.unique(keys, return_inverse=True)
        matrix = sparse.csr_array(
            (np.ones(len(place)), (row[keep], place)), shape=(rows, len(names))
        )
        of = np.empty(len(names))
        of[place] = variance[column[keep]]
        return matrix, of

    words, of_word = block(of_words, flat[of_words])
    own, of_own = block(of_words, flat[of_words] + (site[row[of_words]] + 1 << 32))
    groups, of_group = block(~of_words, flat[~of_words])
    sites = int(site.max()) + 1 if rows else 0
    numbers = dense.astype(np.float64)
    of_site = site[:, None] * numbers.shape[1] + np.arange(numbers.shape[1])
    apart = sparse.csr_array(
        (numbers.ravel(), (np.arange(rows).repeat(numbers.shape[1]), of_site.ravel())),
        shape=(rows, sites * numbers.shape[1]),
    )
    design = sparse.hstack([words, sparse.csr_array(numbers), own, groups, apart], format="csr")
    prior = np.concatenate(
        [of_word, spread, between * of_own, of_group, between * np.tile(spread, sites)]
    )
    centre = np.zeros(len(prior))
    spread_slice = slice(len(of_word), len(of_word) + len(spread))
    centre[spread_slice] = mean
    turned = design.T.tocsr()
    done = 0

    def loss(x: Floats) -> tuple[float, Floats]:
        nonlocal done
        done = min(done + 1, steps - 1)
        progress(done, steps)
        odds, apart_by = design @ x, x - centre
        value = float((np.logaddexp(0.0, odds) - y * odds).sum())
        value += 0.5 * float((apart_by * apart_by / prior).sum())
        return value, turned @ (expit(odds) - y) + apart_by / prior

    minimum = optimize.minimize(
        loss,
        centre,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": steps, "maxfun": 2 * steps, "maxcor": 30, "ftol": 1e-15, "gtol": 1e-7},
    )
    progress(steps, steps)
    x: Floats = minimum.x
    odds = design @ x
    curvature = expit(odds) * expit(-odds)
    return SharedWeights(
        slots=np.unique(flat[of_words]),
        weights=x[: len(of_word)].round(DIGITS),
        dense=x[spread_slice].round(DIGITS),
        spread=(1.0 / (1.0 / spread + curvature @ numbers**2)).round(DIGITS),
    )
