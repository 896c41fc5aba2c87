"""Linear support vector machines with probabilities: Pegasos and Platt scaling.

Shalev-Shwartz, Singer and Srebro (2007), "Pegasos: primal estimated sub-gradient solver for SVM",
ICML, Fig. 2 (mini-batches); Platt (1999) with the Newton iteration of Lin, Lin and Weng (2007).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def pegasos(
    x: Floats, y: Floats, rng: np.random.Generator, *, lam: float, steps: int, batch: int
) -> Floats:
    """Weights (D, C) of C separate machines for rows x (n, D) and y (n, C) of ±1.

    Each minimises λ/2 |w|² + mean hinge loss, by `steps` steps on `batch` rows drawn with
    replacement. A bias is a column of ones in x. O(steps · batch · D · C).
    """
    w = np.zeros((x.shape[1], y.shape[1]))
    for t, rows in enumerate(rng.integers(len(x), size=(steps, batch)), start=1):
        some, sign = x[rows], y[rows]
        short = sign * (sign * (some @ w) < 1.0)
        eta = 1.0 / (lam * t)
        w = (1.0 - eta * lam) * w + (eta / batch) * (some.T @ short)
        # Project onto the ball of radius 1/√λ, which contains the optimum.
        norms = np.sqrt(np.add.reduce(w * w, axis=0))
        w *= np.minimum(1.0, 1.0 / (np.sqrt(lam) * np.maximum(norms, 1e-12)))
    return w


def platt(margins: Floats, positive: NDArray[np.bool_]) -> tuple[float, float]:
    """(a, b) of P(positive | margin) = 1 / (1 + exp(a · margin + b)), by Newton's method."""
    n = int(positive.sum())
    others = len(margins) - n
    expected = np.where(positive, (n + 1.0) / (n + 2.0), 1.0 / (others + 2.0))
    a, b = 0.0, float(np.log((others + 1.0) / (n + 1.0)))
    loss = _loss(a, b, margins, expected)
    for _ in range(100):
        p = _sigmoid(a * margins + b)
        off, q = expected - p, p * (1.0 - p)
        ga, gb = float(margins @ off), float(off.sum())
        if max(abs(ga), abs(gb)) < 1e-5:
            break
        haa = float((margins * margins) @ q) + 1e-12
        hab, hbb = float(margins @ q), float(q.sum()) + 1e-12
        det = haa * hbb - hab * hab
        da, db = -(hbb * ga - hab * gb) / det, -(haa * gb - hab * ga) / det
        step = 1.0
        while step > 1e-10:
            better = _loss(a + step * da, b + step * db, margins, expected)
            if better < loss + 1e-4 * step * (ga * da + gb * db):
                break
            step /= 2.0
        else:
            break
        a, b, loss = a + step * da, b + step * db, better
    return a, b


def _sigmoid(z: Floats) -> Floats:
    """1 / (1 + exp(z)), as Platt writes it."""
    p: Floats = 1.0 / (1.0 + np.exp(np.clip(z, -500.0, 500.0)))
    return p


def _loss(a: float, b: float, margins: Floats, expected: Floats) -> float:
    z = a * margins + b
    return float((expected * z + np.logaddexp(0.0, -z)).sum())
