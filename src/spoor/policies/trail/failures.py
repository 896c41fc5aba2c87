"""Failures: the chance that a link leads to a page at all, by the places that it belongs to.

A link's value counts a relevant page, if there is one. Whether there is one is another question,
with other evidence: links of the same list, directory, pattern or host that were missing or
refused. So it has a model of its own, again a logistic regression with random effects, and the
chance it gives is a factor of the link's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spoor.learn.mixed_effects_regression import MixedEffectsRegression
from spoor.policies.trail.columns import GROUPS, START

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spoor.learn.slot_rows import SlotRows
    from spoor.types import State

PLACES = START[GROUPS[0]]
"""The first column of a row that is a place; all after it are."""
HOST = START["host"] - PLACES
VARIANCE = np.array([0.5, 0.3, 0.5, 0.5, 0.3, 1.0], dtype=np.float32)
"""Of the log-odds of a page, by list, page, directory, pattern, tag path and host."""
ATTEMPTS = 3.0
"""A host that cannot be reached counts as so many failures: it is asked that often."""
USUALLY = 3.0
"""Log-odds that a link leads to a page before anything is known: 19 in 20."""


class Failures:
    """What failures teach, by the `rows` of slots. Costs nothing until a link fails, then some
    20 µs a page."""

    def __init__(self, rows: SlotRows) -> None:
        self._rows = rows
        self._model: MixedEffectsRegression | None = None

    @property
    def any(self) -> bool:
        """Whether a link failed."""
        return self._model is not None

    def learn(self, slots: NDArray[np.int32], *, page: bool, host_alone: bool = False) -> None:
        """A link with these rows (R, COLUMNS) led to a page or not, which tells of all its places,
        or of its `host_alone`."""
        if self._model is None:
            if page:
                return
            self._model = self._new_model()
        model, places, one = self._model, slots[:, PLACES:].copy(), np.ones(1, dtype=np.float32)
        if host_alone:
            places[:, :HOST] = 0
        of_all = model.a.copy(), model.b.copy()
        weight = (ATTEMPTS if host_alone else 1.0) / len(places)
        for row in places:
            model.update(row, one, float(page), weight)
        if host_alone:
            model.a, model.b = of_all

    def log_chances(self, slots: NDArray[np.int32]) -> NDArray[np.float32]:
        """Log of the chance that the link of each row leads to a page; 0 before any failed."""
        if self._model is None:
            return np.zeros(len(slots), dtype=np.float32)
        ones = np.ones((len(slots), 1), dtype=np.float32)
        odds = self._model.odds(slots[:, PLACES:], ones)
        log: NDArray[np.float32] = -np.logaddexp(np.float32(0.0), -odds)
        return log

    def save(self) -> State | None:
        return None if self._model is None else self._model.save()

    def load(self, state: State | None) -> None:
        self._model = None
        if state is not None:
            self._model = self._new_model()
            self._model.load(state)

    def _new_model(self) -> MixedEffectsRegression:
        mean, spread = np.full(1, USUALLY, np.float32), np.full(1, 0.5, np.float32)
        return MixedEffectsRegression(self._rows, VARIANCE, mean, spread)
