"""What a `MixedModel` learned, as evidence that several learners can put together.

Of Gaussians with a common prior, precisions and precision-weighted means add up: a model that puts
together what two halves of a stream taught is, but for the curvature of the logistic function and
the diagonal covariance, the model of the whole stream (Gelman et al., Bayesian Data Analysis, 3rd
ed., section 3.5). What a learner was told by others is kept apart from what it learned itself, so
that hearing the same again replaces it and counts nothing twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spoor.learn.mixed import MixedModel
    from spoor.types import State


@dataclass(frozen=True, slots=True)
class Evidence:
    """Beyond some beginning; all arrays are of float64 but the numbers of slots."""

    slots: NDArray[np.int64]
    """Slots that something is known of, ascending."""
    columns: NDArray[np.uint8]
    """The column each was seen in, which has its prior."""
    hold: NDArray[np.float64]
    """Precision added to each."""
    pull: NDArray[np.float64]
    """Precision-weighted mean added to each."""
    dense_hold: NDArray[np.float64]
    dense_pull: NDArray[np.float64]

    def save(self) -> State:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def load(cls, state: State) -> Evidence:
        """The evidence that `save` was called on."""
        return cls(**{name: state[name] for name in cls.__slots__})

    def same(self, other: Evidence) -> bool:
        """Whether the two are the same examples, as far as can be told."""
        return np.array_equal(self.slots, other.slots) and bool(
            np.allclose(self.hold, other.hold, rtol=1e-4, atol=1e-5)
            and np.allclose(self.pull, other.pull, rtol=1e-4, atol=1e-4)
        )


class Beginning:
    """A model before it learned anything: what all learners have in common."""

    def __init__(self, model: MixedModel) -> None:
        held = np.flatnonzero(model.h[1:]) + 1
        self.slots = held
        self.hold = model.h[held].astype(np.float64)
        self.mean = model.w[held].astype(np.float64)
        self.dense_hold = 1.0 / model.b.astype(np.float64)
        self.dense_pull = self.dense_hold * model.a.astype(np.float64)

    def at(self, slots: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Precision beyond the prior's, and mean, of these slots."""
        place = np.searchsorted(self.slots, slots)
        place[place == len(self.slots)] = 0
        known = self.slots[place] == slots if len(self.slots) else np.zeros(len(slots), dtype=bool)
        hold, mean = np.zeros(len(slots)), np.zeros(len(slots))
        hold[known], mean[known] = self.hold[place[known]], self.mean[place[known]]
        return hold, mean


def learned(
    model: MixedModel, beginning: Beginning, told: Evidence | None, shared: NDArray[np.bool_]
) -> Evidence:
    """What a model learned itself: all that it knows, less its beginning and what it was `told`;
    of the columns that are `shared`, (K,)."""
    held = np.flatnonzero(model.h[1:]) + 1
    held = held[shared[model.column[held]]]
    columns = model.column[held]
    prior = model.prior[columns].astype(np.float64)
    before, mean = beginning.at(held)
    hold = model.h[held] - before
    pull = (prior + model.h[held]) * model.w[held] - (prior + before) * mean
    dense_hold = 1.0 / model.b.astype(np.float64) - beginning.dense_hold
    dense_pull = model.a / model.b.astype(np.float64) - beginning.dense_pull
    if told is not None:
        place = np.searchsorted(held, told.slots)
        place[place == len(held)] = 0
        known = held[place] == told.slots if len(held) else np.zeros(0, dtype=bool)
        hold[place[known]] -= told.hold[known]
        pull[place[known]] -= told.pull[known]
        dense_hold = dense_hold - told.dense_hold
        dense_pull = dense_pull - told.dense_pull
    own = hold > _NOTHING
    return Evidence(held[own], columns[own], hold[own], pull[own], dense_hold, dense_pull)


def together(parts: Sequence[Evidence], dense: int) -> Evidence:
    """The sum of some evidence; `dense`: how many plain numbers there are."""
    columns: dict[int, int] = {}
    for part in parts:
        columns.update(zip(part.slots.tolist(), part.columns.tolist(), strict=True))
    slots = np.array(sorted(columns), dtype=np.int64)
    hold, pull = np.zeros(len(slots)), np.zeros(len(slots))
    for part in parts:
        place = np.searchsorted(slots, part.slots)
        hold[place] += part.hold
        pull[place] += part.pull
    return Evidence(
        slots,
        np.array([columns[slot] for slot in slots.tolist()], dtype=np.uint8),
        hold,
        pull,
        sum((part.dense_hold for part in parts), np.zeros(dense)),
        sum((part.dense_pull for part in parts), np.zeros(dense)),
    )


def take_in(
    model: MixedModel,
    beginning: Beginning,
    own: Evidence,
    told: Evidence,
    before: Evidence | None = None,
) -> None:
    """Set a model to its beginning, what it learned itself and what it was told; what it was told
    `before` is forgotten."""
    if before is not None:
        model.h[before.slots], model.w[before.slots] = beginning.at(before.slots)
    whole = together([own, told], len(model.a))
    slots, prior = whole.slots, model.prior[whole.columns].astype(np.float64)
    begun, mean = beginning.at(slots)
    hold = begun + whole.hold
    model.column[slots] = whole.columns
    model.h[slots] = hold
    model.w[slots] = ((prior + begun) * mean + whole.pull) / (prior + hold)
    dense_hold = beginning.dense_hold + np.maximum(whole.dense_hold, 0.0)
    model.b = (1.0 / dense_hold).astype(np.float32)
    model.a = ((beginning.dense_pull + whole.dense_pull) / dense_hold).astype(np.float32)


_NOTHING = 1e-6
