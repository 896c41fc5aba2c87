"""Best-N-first: the N best links are taken before the queue is looked at again.

Pant, Srinivasan and Menczer (2002), "Exploration versus exploitation in topic driven crawlers": the
larger N, the less the crawl trusts its order and the more it explores. The order is that of the
score of the page a link was found on, their naive best-first crawler.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, InitVar, dataclass

from spoor.learn.parameters import at_least, check_parameters
from spoor.learn.priority_queue import PriorityQueue
from spoor.learn.saved_attributes import PART, Saved, attributes
from spoor.protocols import Offer
from spoor.types import Choice, InLinks, LinkId, Outcome, Task


@dataclass(eq=False)
class BestNFirst(Saved):
    """The N links whose pages scored highest, taken as a batch, then the next N.

    A link seen again has the best score of its pages; a tie goes to the link discovered first.
    """

    task: InitVar[Task]
    _: KW_ONLY
    n: int = at_least(1, 256)

    SAVED = attributes(_queue=PART, _batch=PART)

    def __post_init__(self, task: Task) -> None:
        check_parameters("best-n-first", self)
        self._queue = PriorityQueue()
        self._batch = PriorityQueue()

    def observe(self, seen: InLinks) -> None:
        queue = self._queue
        for link, host in zip(seen.links, seen.hosts, strict=True):
            if link not in self._batch:
                queue.push_if_higher(link, host, seen.parent_score)

    def choose(self, offer: Offer) -> Choice:
        link, score = self._take(offer)
        return Choice(link, 1.0, (("score of the page it stands on", score),))

    def _take(self, offer: Offer) -> tuple[LinkId, float]:
        try:
            return self._batch.pop(offer)
        except LookupError:
            pass
        # None of the batch is on offer: take the next one, as far as hosts are free.
        while len(self._batch) < self.n:
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
