"""What a crawl learns with: one model, or a trained one beside an untrained one.

Training tells what the words and shapes of links were worth on other sites, and may mislead here.
So a crawl with a trained model holds the untrained one, too. Both learn from every page, and the
log-odds of a link are the mean of theirs, weighted by how well each has foretold the pages of this
crawl (`spoor.learn.hedge`); at first both count alike.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spoor.learn.hedge import Hedge
from spoor.learn.merging import distinct
from spoor.learn.mixed_effects_regression import MixedEffectsRegression
from spoor.learn.posterior_updates import (
    InitialPosterior,
    PosteriorUpdate,
    apply_updates,
    combine,
    initial_model,
    own_update,
)
from spoor.learn.slot_rows import SlotRows
from spoor.policies.trail.columns import BITS, BY_HAND, DENSE, SHARED, Prior, variances
from spoor.types import State

Slots = NDArray[np.int32]
Floats = NDArray[np.float32]


class Learner(MixedEffectsRegression):
    """A model of links that knows what it began from and what other shards learned."""

    def __init__(
        self,
        without: Sequence[str] = (),
        prior: Prior = BY_HAND,
        weights: Mapping[str, Any] | None = None,
        rows: SlotRows | None = None,
    ) -> None:
        rows = SlotRows(BITS) if rows is None else rows
        super().__init__(rows, variances(without), prior.mean, prior.variance)
        if weights is not None:
            self.load(weights)
        self._initial = InitialPosterior(self)
        self._received: PosteriorUpdate | None = None

    def compare(self, slots: Slots, dense: Floats, reward: float) -> Floats:
        """Mean of the log-odds of the rows of a page, before it is learned."""
        return self.odds(slots, dense)

    def weights_of(self, slots: Slots) -> Floats:
        """What each slot adds to the log-odds."""
        return self.weights(slots)

    def forget(self) -> None:
        """Forget all that it learned itself."""
        initial_model(self, self._initial, self._received)

    # -- what shards share

    def _own(self) -> PosteriorUpdate:
        return own_update(self, self._initial, self._received, SHARED)

    def share(self) -> State:
        """What it learned itself."""
        return {"learned": self._own().save()}

    def merge(self, others: Sequence[State]) -> None:
        """Add what others learned, states of `share` or `state`, in place of what they shared
        before; its own is left out."""
        own = self._own()
        updates = distinct(own, map(self._own_of, others), PosteriorUpdate.same)
        before, self._received = self._received, combine(updates, len(DENSE))
        apply_updates(self, self._initial, own, self._received, before)

    def _own_of(self, state: State) -> PosteriorUpdate:
        if "learned" in state:
            return PosteriorUpdate.load(state["learned"])
        model = MixedEffectsRegression(self._rows, variances(), self.a, self.b)
        model.prior = self.prior
        model.load(state["model"])
        return own_update(model, self._initial, _received(state), SHARED)

    # -- what it knows

    def state(self) -> State:
        """All that it knows."""
        received = None if self._received is None else self._received.save()
        return {"model": self.save(), "received": received}

    def restore(self, state: State) -> None:
        """Go on from `state`."""
        self.load(state["model"])
        self._received = _received(state)


class TwoLearners:
    """A trained learner and an untrained one, as one; see the module."""

    def __init__(self, trained: Learner, untrained: Learner) -> None:
        self.trained, self.untrained = trained, untrained
        self._both = (trained, untrained)
        self._foretold = Hedge(2)

    @property
    def trust(self) -> float:
        """Weight of the trained one, in (0, 1)."""
        return self._foretold.weights[0]

    def score(self, slots: Slots, dense: Floats) -> tuple[Floats, Floats]:
        """Mean and variance of the log-odds of R rows: slots (R, K), dense (R, D)."""
        (mean, variance), (other, its) = (one.score(slots, dense) for one in self._both)
        trained, untrained = map(np.float32, self._foretold.weights)
        return trained * mean + untrained * other, trained * variance + untrained * its

    def odds(self, slots: Slots, dense: Floats) -> Floats:
        """Mean of the log-odds of R rows."""
        trained, untrained = map(np.float32, self._foretold.weights)
        odds: Floats = trained * self.trained.odds(slots, dense)
        odds += untrained * self.untrained.odds(slots, dense)
        return odds

    def compare(self, slots: Slots, dense: Floats, reward: float) -> Floats:
        """Mean of the log-odds of the rows of a page, before it is learned; how well each foretold
        its reward is taken in."""
        each = [one.odds(slots, dense) for one in self._both]
        trained, untrained = map(np.float32, self._foretold.weights)
        self._foretold.compare([_log_loss(float(odds.max()), reward) for odds in each])
        odds: Floats = trained * each[0] + untrained * each[1]
        return odds

    def update(self, slots: Slots, dense: Floats, y: float, weight: float = 1.0) -> None:
        """Learn one row."""
        for one in self._both:
            one.update(slots, dense, y, weight)

    def correct(self, slots: Slots, dense: Floats, y: float, weight: float = 1.0) -> None:
        """Take in that a row which was learned has another y."""
        for one in self._both:
            one.correct(slots, dense, y, weight)

    @property
    def a(self) -> Floats:
        """What each plain number adds to the log-odds."""
        trained, untrained = map(np.float32, self._foretold.weights)
        weights: Floats = trained * self.trained.a + untrained * self.untrained.a
        return weights

    def weights_of(self, slots: Slots) -> Floats:
        """What each slot adds to the log-odds."""
        trained, untrained = map(np.float32, self._foretold.weights)
        weights: Floats = trained * self.trained.weights(slots)
        weights += untrained * self.untrained.weights(slots)
        return weights

    def forget(self) -> None:
        """Forget all that they learned themselves."""
        for one in self._both:
            one.forget()

    def share(self) -> State:
        """What they learned themselves."""
        return {**self.trained.share(), "untrained": self.untrained.share()}

    def merge(self, others: Sequence[State]) -> None:
        """Add what others learned, as `Learner.merge` does."""
        self.trained.merge(others)
        self.untrained.merge([state["untrained"] for state in others])

    def state(self) -> State:
        """All that they know."""
        untrained = self.untrained.state()
        return {**self.trained.state(), "untrained": untrained, "trust": self._foretold.weights}

    def restore(self, state: State) -> None:
        """Go on from `state`."""
        self.trained.restore(state)
        self.untrained.restore(state["untrained"])
        self._foretold.weights = list(state["trust"])


def _log_loss(odds: float, reward: float) -> float:
    """Minus the logarithm of the chance that these log-odds give to the reward."""
    return math.log1p(math.exp(-abs(odds))) + max(odds, 0.0) - reward * odds


def _received(state: State) -> PosteriorUpdate | None:
    """What a saved learner had received from others."""
    return None if state["received"] is None else PosteriorUpdate.load(state["received"])
