"""The guard against webs on which learning misleads: the learner beside the blind prior."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from spoor.learn.hashed_linear import logistic

FORGET = 0.98
"""Discount of old losses, a page."""
HEAD_START = 2.0
"""Log-odds that the guard gives the learner before anything is known."""

Floats = NDArray[np.float32]


class Guard:
    """Weighs the learner against the prior by how well each has predicted the rewards of late.

    `prior`: dense weights before anything was learned, likeness to the topic and depth alone. The
    prior learns one number beside the learner, how frequent relevant pages are: that alone changes
    no order, and a learner that knows it would be believed or not for the wrong reason.
    """

    def __init__(self, prior: Floats, *, on: bool) -> None:
        self.prior = prior
        self.on = on
        self.losses = [0.0, 0.0]
        """Discounted log-loss of the learner, and of the prior."""
        self.level = [0.0, 1.0]
        """Mean and variance of what is added to the prior's log-odds."""

    @property
    def trust(self) -> float:
        """Weight of the learner, in (0, 1); that of the prior is the rest."""
        if not self.on:
            return 1.0
        learner, prior = self.losses
        return 1.0 / (1.0 + math.exp(min(50.0, learner - prior - HEAD_START)))

    def mix(self, mean: Floats, dense: Floats) -> Floats:
        """The learner's log-odds of rows with the prior's share in them, in their place."""
        trust = self.trust
        if trust < 1.0:
            mean *= np.float32(trust)
            mean += np.float32(1.0 - trust) * (dense @ self.prior)
        return mean

    def compare(self, odds: Floats, dense: Floats, reward: float) -> None:
        """Take in how well the learner's log-odds of a page's rows, and the prior's, predicted its
        reward."""
        mean, variance = self.level
        blind = float((dense @ self.prior).max()) + mean
        for index, value in enumerate((float(odds.max()), blind)):
            loss = math.log1p(math.exp(-abs(value))) + max(value, 0.0) - reward * value
            self.losses[index] = FORGET * self.losses[index] + loss
        chance = logistic(blind)
        curvature = max(chance * (1.0 - chance), 0.01)
        variance /= 1.0 + curvature * variance
        self.level = [mean + variance * (reward - chance), variance]
