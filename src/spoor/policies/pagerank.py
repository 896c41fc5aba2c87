"""PageRank ordering: the link whose target has the highest PageRank in the graph known so far.

Cho, Garcia-Molina and Page (1998), "Efficient crawling through URL ordering". The rank is computed
anew whenever the crawled graph has grown by a tenth, so the cost per page stays about constant.
"""

from __future__ import annotations

import math

import numpy as np

from spoor.learn.parameters import in_range
from spoor.learn.priority_queue import PriorityQueue
from spoor.protocols import Offer
from spoor.types import NO_PARENT, Choice, InLinks, LinkId, Outcome, State, Task


class PageRank:
    """Highest PageRank first; a tie goes to the link discovered first.

    `damping` is the share of steps that follow a link; `growth` by how much the number of crawled
    pages grows between two computations; `sweeps` the power iterations of each.
    """

    def __init__(
        self, task: Task, *, damping: float = 0.85, growth: float = 0.1, sweeps: int = 20
    ) -> None:
        in_range(
            "pagerank",
            damping=(damping, 0, 1),
            growth=(growth, 0, 1000),
            sweeps=(sweeps, 1, math.inf),
        )
        self._damping = damping
        self._growth = growth
        self._sweeps = sweeps
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

    def choose(self, offer: Offer) -> Choice:
        link, value = self._queue.pop(offer)
        return Choice(link, 1.0, (("PageRank", value),))

    def learn(self, outcome: Outcome) -> None:
        self._pages += 1
        if self._pages >= self._next:
            self._next = max(self._pages + 10, int(self._pages * (1 + self._growth)))
            self._rank()

    def _rank(self) -> None:
        from scipy import sparse

        if not self._from:
            return
        source, target = np.array(self._from), np.array(self._to)
        size = int(max(source.max(), target.max())) + 1
        out = np.bincount(source, minlength=size)
        weights = 1.0 / out[source]
        matrix = sparse.csr_matrix((weights, (target, source)), shape=(size, size))
        rank = np.full(size, 1.0 / size)
        for _ in range(self._sweeps):
            # The rank of pages without known links is shared by all.
            lost = rank[out == 0].sum() / size
            rank = self._damping * (matrix @ rank + lost) + (1 - self._damping) / size
        for link in list(self._queue):
            if link < size:
                self._queue.push(link, self._queue.host(link), float(rank[link]))

    def save(self) -> State:
        return {
            "queue": self._queue.save(),
            "from": np.array(self._from, dtype=np.int64),
            "to": np.array(self._to, dtype=np.int64),
            "pages": self._pages,
            "next": self._next,
        }

    def load(self, state: State) -> None:
        self._queue.load(state["queue"])
        self._from = state["from"].tolist()
        self._to = state["to"].tolist()
        self._pages = state["pages"]
        self._next = state["next"]
