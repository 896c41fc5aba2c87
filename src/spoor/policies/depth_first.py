"""Depth-first: the link that was discovered last, first; the links of one page in page order."""

from __future__ import annotations

from spoor.learn.priority_queue import PriorityQueue
from spoor.learn.queue_order import QueueOrder
from spoor.learn.saved_attributes import PART, VALUE, attributes
from spoor.types import InLinks, Task


class DepthFirst(QueueOrder):
    """Last in, first out, among the hosts that are free."""

    SAVED = attributes(_queue=PART, _pages=VALUE)

    def __init__(self, task: Task) -> None:
        self._queue = PriorityQueue()
        self._pages = 0

    def observe(self, seen: InLinks) -> None:
        # A later page is worth more; within a page a tie goes to the link discovered first.
        self._pages += 1
        for link, host, first in zip(seen.links, seen.hosts, seen.first, strict=True):
            if first:
                self._queue.push(link, host, float(self._pages))
