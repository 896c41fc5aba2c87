"""Logistic regression with random effects: hashed features, one prior variance a column.

A row is an example: `slots` (K numbers of hashed features, column k with prior variance
`variance[k]`; slot 0 is empty) and `dense` (D plain numbers with their own prior means and
variances). The posterior is Gaussian with a diagonal covariance and is updated one example at a
time by the extended Kalman filter, so the order of answers matters little and nothing is stored.
A column of group identities (the page of a link, its directory) is a random effect: a
group never tried has the prior's mean and full variance, and is pooled towards it as long as
little is known of it (Gelman and Hill 2007, ch. 12).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from spoor.learn.hashed_linear import logistic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spoor.types import State

    Floats = NDArray[np.float32]
    Slots = NDArray[np.int32]


class MixedEffectsRegression:
    """E(y | row) = logistic(dense · a + Σ_k w[slots_k]), y in [0, 1].

    `bits`: 2^bits slots for hashed features. `variance`: K prior variances. `mean`, `spread`: D
    prior means and variances of the dense weights. Memory 9 · 2^bits bytes.
    """

    def __init__(
        self,
        bits: int,
        variance: Floats,
        mean: Floats,
        spread: Floats,
    ) -> None:
        self._clear(1 << bits)
        self._columns = np.arange(len(variance), dtype=np.uint8)
        self.prior = (1.0 / variance).astype(np.float32)
        self.a = mean.astype(np.float32)
        self.b = spread.astype(np.float32)
        """Posterior variances of the dense weights."""

    def _clear(self, slots: int) -> None:
        """Forget all of so many slots. The arrays are new, since the pages of a new one take memory
        only once they are written."""
        # Adjacent, since both are needed of a slot and one look-up reads both.
        beliefs = np.zeros((slots, 2), dtype=np.float32)
        self._beliefs = beliefs.view(np.int64)[:, 0]
        self.w: Floats = beliefs[:, 0]
        self.h: Floats = beliefs[:, 1]
        """Precision that examples have added to a slot's prior precision."""
        self.h[0] = np.inf
        self.column: NDArray[np.uint8] = np.zeros(slots, dtype=np.uint8)
        """The column that a slot was last learned in."""

    def score(self, slots: Slots, dense: Floats) -> tuple[Floats, Floats]:
        """Mean and variance of the log-odds of R rows: slots (R, K), dense (R, D)."""
        beliefs = self._of(slots)
        mean = np.add.reduce(beliefs[..., 0], axis=1) + dense @ self.a
        each = self.prior + beliefs[..., 1]
        np.divide(1.0, each, out=each)
        variance = np.add.reduce(each, axis=1) + (dense * dense) @ self.b
        return mean, variance

    def odds(self, slots: Slots, dense: Floats) -> Floats:
        """Mean of the log-odds of R rows."""
        mean: Floats = np.add.reduce(self._of(slots)[..., 0], axis=1) + dense @ self.a
        return mean

    def _of(self, slots: Slots) -> Floats:
        """w and h of slots, (R, K, 2)."""
        return self._beliefs.take(slots).view(np.float32).reshape(*slots.shape, 2)

    def update(self, slots: Slots, dense: Floats, y: float, weight: float = 1.0) -> float:
        """Learn one row: slots (K,), dense (D,), y in [0, 1]; returns the surprise y − p."""
        beliefs = self._of(slots)
        w, h = beliefs[:, 0], beliefs[:, 1]
        v = 1.0 / (self.prior + h)
        vb = self.b * dense
        p = logistic(float(np.add.reduce(w) + dense @ self.a))
        # The curvature of the loss; bounded below, or a sure mistake would teach nothing.
        q = weight * max(p * (1.0 - p), 0.01)
        of_dense = vb @ dense
        gain = np.float32(weight * (y - p) / (1.0 + q * float(np.add.reduce(v) + of_dense)))
        w += v * gain
        h += np.float32(q)
        self._beliefs[slots] = beliefs.view(np.int64)[:, 0]
        self.a += vb * gain
        self.column[slots] = self._columns
        self.b -= vb * vb * np.float32(q / (1.0 + q * float(of_dense)))
        self.w[0] = 0.0
        self.h[0] = np.inf
        return y - p

    def correct(self, slots: Slots, dense: Floats, y: float, weight: float = 1.0) -> None:
        """Take in that a row which was learned has another y, which it is now.

        The precision of a Gaussian does not depend on y, so only the mean moves: to where the row,
        with this y, is most probable beside all that is known. Many rows may be corrected at once,
        and a linear step for each would go too far together.
        """
        v = 1.0 / (self.prior + self.h[slots])
        vb = self.b * dense
        before = float(self.w[slots].sum() + dense @ self.a)
        step = np.float32(_surprise(before, weight * float(v.sum() + vb @ dense), y) * weight)
        self.w[slots] += v * step
        self.a += vb * step
        self.w[0] = 0.0

    def save(self) -> State:
        """Only slots that hold something."""
        held = np.flatnonzero(self.h[1:] != 0.0) + 1
        return {
            "slots": held.astype(np.int64),
            "w": self.w[held],
            "h": self.h[held],
            "columns": self.column[held],
            "a": self.a,
            "b": self.b,
        }

    def load(self, state: State) -> None:
        """Go on from `save`."""
        self._clear(len(self.h))
        held: NDArray[Any] = state["slots"]
        self.w[held] = state["w"]
        self.h[held] = state["h"]
        self.column[held] = state.get("columns", 0)
        self.a = np.array(state["a"], dtype=np.float32)
        self.b = np.array(state["b"], dtype=np.float32)


def _surprise(odds: float, spread: float, y: float) -> float:
    """y − logistic(t) at the root of t = odds + spread · (y − logistic(t)): the surprise that is
    left where log-odds of this mean and variance are most probable after y. By bisection, since the
    right side falls with t: 1e-9 of the spread is the error."""
    low, high = odds - spread, odds + spread
    for _ in range(30):
        middle = 0.5 * (low + high)
        if middle < odds + spread * (y - logistic(middle)):
            low = middle
        else:
            high = middle
    return y - logistic(0.5 * (low + high))
