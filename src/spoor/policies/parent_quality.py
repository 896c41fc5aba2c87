"""Parent quality: the value of a link is the value of its page.

The priorities of Pezzuti et al. (2025), whose crawlers propagate a page's quality to its links, and
of Craw4LLM (2025). Card: docs/algorithms/parent-quality.md.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, InitVar, dataclass

from spoor.learn.parameters import check_parameters, one_of
from spoor.learn.priority_queue import PriorityQueue
from spoor.learn.saved_attributes import PART, Saved, attributes, rows
from spoor.protocols import Offer
from spoor.types import Choice, InLinks, LinkId, Outcome, Task

JOINS = ("max", "mean", "first")


@dataclass(eq=False)
class ParentQuality(Saved):
    """Best-first by the judge's score of the pages that show a link.

    `join`: the best of them, their mean, or the first page's.
    """

    task: InitVar[Task]
    _: KW_ONLY
    join: str = one_of(JOINS, "max")

    SAVED = attributes(_queue=PART, _parents=rows())

    def __post_init__(self, task: Task) -> None:
        check_parameters("parent-quality", self)
        self._queue = PriorityQueue()
        self._parents: dict[LinkId, tuple[int, float]] = {}
        """Pages that show an open link, and the sum of their scores; for the mean."""

    def observe(self, seen: InLinks) -> None:
        score, queue = seen.parent_score, self._queue
        for link, host in dict(zip(seen.links, seen.hosts, strict=True)).items():
            value = score
            if self.join == "mean":
                count, total = self._parents.get(link, (0, 0.0))
                self._parents[link] = (count + 1, total + score)
                value = (total + score) / (count + 1)
            elif link in queue:
                value = max(score, queue.value(link)) if self.join == "max" else queue.value(link)
            queue.push(link, host, value)

    def choose(self, offer: Offer) -> Choice:
        link, value = self._queue.pop(offer)
        self._parents.pop(link, None)
        return Choice(link, 1.0, (("score of the pages that it stands on", value),))

    def learn(self, outcome: Outcome) -> None:
        # It may have been seen once more while it was in flight.
        self._queue.discard(outcome.choice.link)
        self._parents.pop(outcome.choice.link, None)
