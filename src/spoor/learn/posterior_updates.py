"""Updates of a `MixedEffectsRegression`, in a form that several learners can add up.

Of Gaussians with a common prior, precisions and precision-weighted means add up: a model that adds
the updates of two halves of a stream is, but for the curvature of the logistic function and the
diagonal covariance, the model of the entire stream (Gelman et al., Bayesian Data Analysis, 3rd
ed., section 3.5). A learner stores the updates of others apart from its own, so that receiving
the same again replaces them and counts nothing twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spoor.learn.mixed_effects_regression import MixedEffectsRegression
    from spoor.types import State

    Floats = NDArray[np.float64]

_NO_PRECISION = 1e-6
"""Precision up to which a slot counts as not learned."""


@dataclass(frozen=True, slots=True)
class PosteriorUpdate:
    """What some examples add to a Gaussian posterior."""

    slots: NDArray[np.int64]
    """Slots that the examples have, ascending, (S,)."""
    columns: NDArray[np.uint8]
    """The column each was seen in, which has its prior."""
    precision: Floats
    """Added to that of each slot."""
    weighted_mean: Floats
    """Added to the precision-weighted mean of each slot."""
    dense_precision: Floats
    """The same of the D dense weights."""
    dense_weighted_mean: Floats

    def save(self) -> State:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def load(cls, state: State) -> PosteriorUpdate:
        """The update that `save` was called on."""
        return cls(**{name: state[name] for name in cls.__slots__})

    def same(self, other: PosteriorUpdate) -> bool:
        """Whether the two are of the same examples, up to rounding."""
        return np.array_equal(self.slots, other.slots) and bool(
            np.allclose(self.precision, other.precision, rtol=1e-4, atol=1e-5)
            and np.allclose(self.weighted_mean, other.weighted_mean, rtol=1e-4, atol=1e-4)
        )


class InitialPosterior:
    """A model before it learned anything: what all learners have in common."""

    def __init__(self, model: MixedEffectsRegression) -> None:
        held = model.held()
        self.slots = held
        self.precision = model.precisions(held).astype(np.float64)
        self.mean = model.weights(held).astype(np.float64)
        self.dense_precision = 1.0 / model.b.astype(np.float64)
        self.dense_weighted_mean = self.dense_precision * model.a.astype(np.float64)

    def of(self, slots: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Precision beyond the prior's, and mean, of these slots."""
        index, known = _positions(self.slots, slots)
        precision, mean = np.zeros(len(slots)), np.zeros(len(slots))
        precision[known], mean[known] = self.precision[index], self.mean[index]
        return precision, mean


def _positions(
    among: NDArray[np.int64], slots: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Indices in `among`, which ascends, of those slots that it has; and a mask of these."""
    if not len(among):
        return np.zeros(0, dtype=np.int64), np.zeros(len(slots), dtype=bool)
    index = np.searchsorted(among, slots)
    index[index == len(among)] = 0
    known = among[index] == slots
    return index[known], known


def own_update(
    model: MixedEffectsRegression,
    initial: InitialPosterior,
    received: PosteriorUpdate | None,
    shared: NDArray[np.bool_],
) -> PosteriorUpdate:
    """What a model learned itself: all that it knows, less its initial posterior and what it
    `received` from others; of the columns that are `shared`, (K,)."""
    held = model.held()
    held = held[shared[model.columns(held)]]
    columns = model.columns(held)
    prior = model.prior[columns].astype(np.float64)
    before, mean = initial.of(held)
    h, w = model.precisions(held), model.weights(held)
    precision = h - before
    weighted_mean = (prior + h) * w - (prior + before) * mean
    dense_precision = 1.0 / model.b.astype(np.float64) - initial.dense_precision
    dense_weighted_mean = model.a / model.b.astype(np.float64) - initial.dense_weighted_mean
    if received is not None:
        index, known = _positions(held, received.slots)
        precision[index] -= received.precision[known]
        weighted_mean[index] -= received.weighted_mean[known]
        dense_precision = dense_precision - received.dense_precision
        dense_weighted_mean = dense_weighted_mean - received.dense_weighted_mean
    own = precision > _NO_PRECISION
    return PosteriorUpdate(
        held[own],
        columns[own],
        precision[own],
        weighted_mean[own],
        dense_precision,
        dense_weighted_mean,
    )


def combine(updates: Sequence[PosteriorUpdate], dense: int) -> PosteriorUpdate:
    """The sum of some updates; `dense`: how many dense weights there are."""
    columns: dict[int, int] = {}
    for update in updates:
        columns.update(zip(update.slots.tolist(), update.columns.tolist(), strict=True))
    slots = np.array(sorted(columns), dtype=np.int64)
    precision, weighted_mean = np.zeros(len(slots)), np.zeros(len(slots))
    for update in updates:
        index = np.searchsorted(slots, update.slots)
        precision[index] += update.precision
        weighted_mean[index] += update.weighted_mean
    return PosteriorUpdate(
        slots,
        np.array([columns[slot] for slot in slots.tolist()], dtype=np.uint8),
        precision,
        weighted_mean,
        sum((update.dense_precision for update in updates), np.zeros(dense)),
        sum((update.dense_weighted_mean for update in updates), np.zeros(dense)),
    )


def apply_updates(
    model: MixedEffectsRegression,
    initial: InitialPosterior,
    own: PosteriorUpdate,
    received: PosteriorUpdate,
    before: PosteriorUpdate | None = None,
) -> None:
    """Set a model to its initial posterior, what it learned itself and what it `received`; what it
    received `before` is forgotten."""
    if before is not None:
        precision, mean = initial.of(before.slots)
        model.set(before.slots, mean, precision)
    total = combine([own, received], len(model.a))
    slots, prior = total.slots, model.prior[total.columns].astype(np.float64)
    first, mean = initial.of(slots)
    precision = first + total.precision
    w = ((prior + first) * mean + total.weighted_mean) / (prior + precision)
    model.set(slots, w, precision, total.columns)
    dense_precision = initial.dense_precision + np.maximum(total.dense_precision, 0.0)
    model.b = (1.0 / dense_precision).astype(np.float32)
    model.a = ((initial.dense_weighted_mean + total.dense_weighted_mean) / dense_precision).astype(
        np.float32
    )


def initial_model(
    model: MixedEffectsRegression, initial: InitialPosterior, received: PosteriorUpdate | None
) -> None:
    """Set a model to its initial posterior and what it `received`: it forgets its own examples."""
    held = model.held()
    model.set(held, np.zeros(len(held)), np.zeros(len(held)))
    model.set(initial.slots, initial.mean, initial.precision)
    model.b = (1.0 / initial.dense_precision).astype(np.float32)
    model.a = (initial.dense_weighted_mean / initial.dense_precision).astype(np.float32)
    if received is not None:
        apply_updates(model, initial, received, combine([], len(model.a)))
