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
from spoor.learn.slot_rows import EMPTY, SlotRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spoor.types import State

    Floats = NDArray[np.float32]
    Slots = NDArray[np.int32]


class MixedEffectsRegression:
    """E(y | row) = logistic(dense · a + Σ_k w[slots_k]), y in [0, 1].

    `rows`: those of the slots. `variance`: K prior variances. `mean`, `spread`: D prior means and
    variances of the dense weights. Memory 9 bytes a row.
    """

    def __init__(
        self,
        rows: SlotRows,
        variance: Floats,
        mean: Floats,
        spread: Floats,
    ) -> None:
        self._rows = rows
        self._clear()
        self._columns = np.arange(len(variance), dtype=np.uint8)
        self.prior = (1.0 / variance).astype(np.float32)
        self.a = mean.astype(np.float32)
        self.b = spread.astype(np.float32)
        """Posterior variances of the dense weights."""

    def _clear(self) -> None:
        """Forget all slots."""
        self._take(np.zeros((self._rows.room, 2), np.float32), np.zeros(self._rows.room, np.uint8))
        self._h[EMPTY] = np.inf

    def _take(self, beliefs: Floats, column: NDArray[np.uint8]) -> None:
        """Of each row w and h, adjacent, since both are needed and one look-up reads both; and the
        column that it was last learned in."""
        self._beliefs = beliefs.view(np.int64)[:, 0]
        self._w: Floats = beliefs[:, 0]
        self._h: Floats = beliefs[:, 1]
        """Precision that examples have added to a slot's prior precision."""
        self._column = column

    def _grow(self) -> None:
        """A row for each that there is by now."""
        more = self._rows.room - len(self._column)
        beliefs = np.concatenate([self._beliefs, np.zeros(more, np.int64)])
        column = np.concatenate([self._column, np.zeros(more, np.uint8)])
        self._take(beliefs.view(np.float32).reshape(-1, 2), column)

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
        return self._of_rows(self._rows.of(slots))

    def _of_rows(self, rows: NDArray[np.integer]) -> Floats:
        if self._rows.room > len(self._column):
            self._grow()
        return self._beliefs.take(rows).view(np.float32).reshape(*rows.shape, 2)

    def weights(self, slots: NDArray[np.integer]) -> Floats:
        """w of each slot."""
        return self._of_rows(self._rows.of(slots))[..., 0]

    def precisions(self, slots: NDArray[np.integer]) -> Floats:
        """Precision that examples have added to the prior's of each slot."""
        return self._of_rows(self._rows.of(slots))[..., 1]

    def columns(self, slots: NDArray[np.integer]) -> NDArray[np.uint8]:
        """The column that each of these slots, which were learned, was last learned in."""
        return self._column[self._rows.of(slots)]

    def held(self) -> NDArray[np.int64]:
        """The slots of which something was learned, ascending."""
        return np.sort(self._rows.slots(self._learned())).astype(np.int64)

    def _learned(self) -> NDArray[np.intp]:
        """Their rows."""
        learned = np.flatnonzero(self._h != 0.0)
        rows: NDArray[np.intp] = learned[learned != EMPTY]
        return rows

    def set(
        self,
        slots: NDArray[np.integer],
        w: NDArray[np.floating],
        h: NDArray[np.floating],
        columns: NDArray[np.uint8] | None = None,
    ) -> None:
        """Say what is known of some slots, none of which is 0."""
        rows = self._rows.enter(slots)
        self._of_rows(rows)
        self._w[rows], self._h[rows] = w, h
        if columns is not None:
            self._column[rows] = columns

    def update(self, slots: Slots, dense: Floats, y: float, weight: float = 1.0) -> float:
        """Learn one row: slots (K,), dense (D,), y in [0, 1]; returns the surprise y − p."""
        rows = self._rows.enter(slots)
        beliefs = self._of_rows(rows)
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
        self._beliefs[rows] = beliefs.view(np.int64)[:, 0]
        self.a += vb * gain
        self._column[rows] = self._columns
        self.b -= vb * vb * np.float32(q / (1.0 + q * float(of_dense)))
        self._w[EMPTY], self._h[EMPTY] = 0.0, np.inf
        return y - p

    def correct(self, slots: Slots, dense: Floats, y: float, weight: float = 1.0) -> None:
        """Take in that a row which was learned has another y, which it is now.

        The precision of a Gaussian does not depend on y, so only the mean moves: to where the row,
        with this y, is most probable beside all that is known. Many rows may be corrected at once,
        and a linear step for each would go too far together.
        """
        rows = self._rows.enter(slots)
        beliefs = self._of_rows(rows)
        w, h = beliefs[:, 0], beliefs[:, 1]
        v = 1.0 / (self.prior + h)
        vb = self.b * dense
        before = float(w.sum() + dense @ self.a)
        step = np.float32(_surprise(before, weight * float(v.sum() + vb @ dense), y) * weight)
        w += v * step
        self._beliefs[rows] = beliefs.view(np.int64)[:, 0]
        self.a += vb * step
        self._w[EMPTY] = 0.0

    def save(self) -> State:
        """Only slots of which something was learned, in the order of their rows, which is that of
        their coming: so most of it is the same the next time."""
        learned = self._learned()
        return {
            "slots": self._rows.slots(learned),
            "w": self._w[learned],
            "h": self._h[learned],
            "columns": self._column[learned],
            "a": self.a,
            "b": self.b,
        }

    def load(self, state: State) -> None:
        self._clear()
        held: NDArray[Any] = state["slots"]
        columns = state.get("columns", np.zeros(len(held), np.uint8))
        self.set(held, state["w"], state["h"], columns)
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
