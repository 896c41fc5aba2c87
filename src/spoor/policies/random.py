"""Random: any open link, each as likely as the next."""

from __future__ import annotations

from spoor.learn.state import generator_state, restore_generator
from spoor.protocols import Offer
from spoor.types import Choice, InLinks, Outcome, State, Task


class Random:
    """Uniform over the links on offer."""

    def __init__(self, task: Task) -> None:
        self._rng = task.rng

    def observe(self, seen: InLinks) -> None:
        pass

    def choose(self, offer: Offer) -> Choice:
        probability = 1.0 / len(offer)
        return Choice(offer.draw(self._rng, 1)[0], probability)

    def learn(self, outcome: Outcome) -> None:
        pass

    def save(self) -> State:
        return {"rng": generator_state(self._rng)}

    def load(self, state: State) -> None:
        restore_generator(self._rng, state["rng"])
