"""Random: any open link, each as likely as the next."""

from __future__ import annotations

from spoor.learn.saved_attributes import GENERATOR, Saved, attributes
from spoor.protocols import Offer
from spoor.types import Choice, InLinks, Outcome, Task


class Random(Saved):
    """Uniform over the links on offer."""

    SAVED = attributes(_rng=GENERATOR)

    def __init__(self, task: Task) -> None:
        self._rng = task.rng

    def observe(self, seen: InLinks) -> None:
        pass

    def choose(self, offer: Offer) -> Choice:
        probability = 1.0 / len(offer)
        return Choice(offer.draw(self._rng, 1)[0], probability)

    def learn(self, outcome: Outcome) -> None:
        pass
