"""PageRank ordering: the link whose target has the highest PageRank in the graph known so far.

Cho, Garcia-Molina and Page (1998), "Efficient crawling through URL ordering". The rank is
recomputed whenever the crawled graph has grown by a tenth, so the cost per page is about constant.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, InitVar, dataclass

import numpy as np

from spoor.learn.parameters import at_least, between, check_parameters
from spoor.learn.priority_queue import PriorityQueue
from spoor.learn.queue_order import QueueOrder
from spoor.learn.saved_attributes import PART, VALUE, attributes, numbers
from spoor.types import NO_PARENT, InLinks, LinkId, Outcome, Task


@dataclass(eq=False)
class PageRank(QueueOrder):
    """Highest PageRank first; a tie goes to the link discovered first.

    `damping` is the share of steps that follow a link; `growth` by how much the number of crawled
    pages grows between two computations; `sweeps` the power iterations of each.
    """

    task: InitVar[Task]
    _: KW_ONLY
    damping: float = between(0, 1, 0.85)
    growth: float = between(0, 1_000, 0.1)
    sweeps: int = at_least(1, 20)

    SAVED = attributes(
        _queue=PART, _from=numbers(np.int64), _to=numbers(np.int64), _pages=VALUE, _next=VALUE
    )
    WHY = "PageRank"

    def __post_init__(self, task: Task) -> None:
        check_parameters("pagerank", self)
        self._queue = PriorityQueue()
        self._from: list[LinkId] = []
        self._to: list[LinkId] = []
        self._pages = 0
        self._next = 10

    def observe(self, seen: InLinks) -> None:
        # Links to pages fetched before are not seen here: their rank moves no open link by much.
        for link, host, first in zip(seen.links, seen.hosts, seen.first, strict=True):
            if first:
                self._queue.push(link, host, 0.0)
            if seen.parent != NO_PARENT:
                self._from.append(seen.parent)
                self._to.append(link)

    def learn(self, outcome: Outcome) -> None:
        self._pages += 1
        if self._pages >= self._next:
            self._next = max(self._pages + 10, int(self._pages * (1 + self.growth)))
            self._rank()

    def _rank(self) -> None:
        if not self._from:
            return
        source, target = np.array(self._from), np.array(self._to)
        size = int(max(source.max(), target.max())) + 1
        out = np.bincount(source, minlength=size)
        weights = 1.0 / out[source]
        rank = np.full(size, 1.0 / size)
        for _ in range(self.sweeps):
            # The rank of pages without known links is shared by all.
            lost = rank[out == 0].sum() / size
            passed = np.bincount(target, weights * rank[source], minlength=size)
            rank = self.damping * (passed + lost) + (1 - self.damping) / size
        for link in list(self._queue):
            if link < size:
                self._queue.push(link, self._queue.host(link), float(rank[link]))
