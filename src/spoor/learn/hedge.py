"""Weights of several forecasters by how well each has foretold.

The exponentially weighted forecaster with logarithmic loss (V. Vovk, "Aggregating strategies",
COLT 1990; Y. Freund and R. Schapire call its like Hedge, 1997), which is Bayes' rule: after each
outcome a weight is multiplied by the chance that its forecaster gave to it. Of N forecasters, the
loss of the mixture of their chances is never above that of the best by more than ln N, over any
number of outcomes and whatever these are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

LEAST = 1e-12
"""Least weight: one that was wrong for long can come back."""


class Hedge:
    """`weights` of so many forecasters, equal at first; they sum to 1."""

    def __init__(self, forecasters: int) -> None:
        self.weights = [1.0 / forecasters] * forecasters

    def compare(self, losses: Sequence[float]) -> None:
        """Take in the log-loss of each for one outcome."""
        least = min(losses)
        new = [
            max(weight * math.exp(least - loss), LEAST)
            for weight, loss in zip(self.weights, losses, strict=True)
        ]
        total = sum(new)
        self.weights = [weight / total for weight in new]
