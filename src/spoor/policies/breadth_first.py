"""Breadth-first: links in the order of their discovery.

The baseline of every paper here, and hard to beat where all targets are near the root.
"""

from __future__ import annotations

from spoor.learn.priority_queue import PriorityQueue
from spoor.learn.queue_order import QueueOrder
from spoor.types import InLinks, Task


class BreadthFirst(QueueOrder):
    """First in, first out, among the hosts that are free."""

    def __init__(self, task: Task) -> None:
        self._queue = PriorityQueue()

    def observe(self, seen: InLinks) -> None:
        for link, host, first in zip(seen.links, seen.hosts, seen.first, strict=True):
            if first:
                self._queue.push(link, host, 0.0)  # a tie goes to the link discovered first
