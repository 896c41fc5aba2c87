"""Best-N-first: the N best links are taken before the queue is looked at again.

Pant, Srinivasan and Menczer (2002), "Exploration versus exploitation in topic driven crawlers": the
larger N, the less the crawl trusts its order and the more it explores. The order is that of the
score of the page a link was found on, their naive best-first crawler.
"""

from __future__ import annotations

import math

from spoor.learn.parameters import in_range
from spoor.learn.priority_queue import PriorityQueue
from spoor.protocols import Offer
from spoor.types import Choice, InLinks, LinkId, Outcome, State, Task


class BestNFirst:
    """The N links whose pages scored highest, taken as a batch, then the next N.

    A link seen again has the best score of its pages; a tie goes to the link discovered first.
    """

    def __init__(self, task: Task, *, n: int = 256) -> None:
        in_range("best-n-first", n=(n, 1, math.inf))
        self._n = n
        self._queue = PriorityQueue()
        self._batch = PriorityQueue()

    def observe(self, seen: InLinks) -> None:
        queue = self._queue
        for link, host in zip(seen.links, seen.hosts, strict=True):
            if link in self._batch:
                continue
            if link not in queue or seen.parent_score > queue.value(link):
                queue.push(link, host, seen.parent_score)

    def choose(self, offer: Offer) -> Choice:
        link, score = self._take(offer)
        return Choice(link, 1.0, (("score of the page it stands on", score),))

    def _take(self, offer: Offer) -> tuple[LinkId, float]:
        try:
            return self._batch.pop(offer)
        except LookupError:
            pass
        # None of the batch is on offer: take the next one, as far as hosts are free.
        while len(self._batch) < self._n:
            try:
                link, _ = self._queue.peek(offer)
            except LookupError:
                break
            host = self._queue.host(link)
            link, score = self._queue.pop(offer)
            self._batch.push(link, host, score)
        return self._batch.pop(offer)

    def learn(self, outcome: Outcome) -> None:
        pass

    def save(self) -> State:
        return {"queue": self._queue.save(), "batch": self._batch.save()}

    def load(self, state: State) -> None:
        self._queue.load(state["queue"])
        self._batch.load(state["batch"])
