"""Breadth-first: links in the order of their discovery.

The baseline of every paper here, and hard to beat where all targets are near the root.
"""

from __future__ import annotations

from spoor.learn.priority_queue import PriorityQueue
from spoor.learn.saved import PART, Saved, attributes
from spoor.protocols import Offer
from spoor.types import Choice, InLinks, Outcome, Task


class BreadthFirst(Saved):
    """First in, first out, among the hosts that are free."""

    SAVED = attributes(_queue=PART)

    def __init__(self, task: Task) -> None:
        self._queue = PriorityQueue()

    def observe(self, seen: InLinks) -> None:
        for link, host, first in zip(seen.links, seen.hosts, seen.first, strict=True):
            if first:
                self._queue.push(link, host, 0.0)  # a tie goes to the link discovered first

    def choose(self, offer: Offer) -> Choice:
        return Choice(self._queue.pop(offer)[0], 1.0)

    def learn(self, outcome: Outcome) -> None:
        pass
