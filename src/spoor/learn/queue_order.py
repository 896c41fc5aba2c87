"""The order of one priority queue, for policies that give each link a value and learn nothing."""

from __future__ import annotations

from typing import ClassVar

from spoor.learn.priority_queue import PriorityQueue
from spoor.learn.saved_attributes import PART, Saved, attributes
from spoor.protocols import Offer
from spoor.types import Choice, Outcome


class QueueOrder(Saved):
    """The link with the highest value first; a tie goes to the link discovered first. What is made
    of it sets `_queue`, and pushes the links that it observes."""

    SAVED = attributes(_queue=PART)

    WHY: ClassVar[str] = ""
    """What the value of a link is, in words; empty where it says nothing to a person."""

    _queue: PriorityQueue

    def choose(self, offer: Offer) -> Choice:
        """See `spoor.protocols.Policy`."""
        link, value = self._queue.pop(offer)
        return Choice(link, 1.0, ((self.WHY, value),) if self.WHY else ())

    def learn(self, outcome: Outcome) -> None:
        """See `spoor.protocols.Policy`."""
