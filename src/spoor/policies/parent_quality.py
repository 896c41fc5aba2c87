"""Parent quality: a link is worth what the page that it stands on is worth.

The priorities of Pezzuti et al. (2025), whose crawlers propagate a page's quality to its links, and
of Craw4LLM (2025). Card: docs/algorithms/parent-quality.md.
"""

from __future__ import annotations

from spoor.errors import InputError
from spoor.learn.priority_queue import PriorityQueue
from spoor.protocols import Offer
from spoor.types import Choice, InLinks, LinkId, Outcome, State, Task

JOINS = ("max", "mean", "first")


class ParentQuality:
    """Best-first by the judge's score of the pages that show a link.

    `join`: the best of them, their mean, or the first page's.
    """

    def __init__(self, task: Task, *, join: str = "max") -> None:
        if join not in JOINS:
            raise InputError(f"parent-quality: join is {join!r}; there are: {', '.join(JOINS)}")
        self._join = join
        self._queue = PriorityQueue()
        self._parents: dict[LinkId, tuple[int, float]] = {}
        """Pages that show an open link, and the sum of their scores; for the mean."""

    def observe(self, seen: InLinks) -> None:
        score, queue = seen.parent_score, self._queue
        for link, host in dict(zip(seen.links, seen.hosts, strict=True)).items():
            value = score
            if self._join == "mean":
                count, total = self._parents.get(link, (0, 0.0))
                self._parents[link] = (count + 1, total + score)
                value = (total + score) / (count + 1)
            elif link in queue:
                value = max(score, queue.value(link)) if self._join == "max" else queue.value(link)
            queue.push(link, host, value)

    def choose(self, offer: Offer) -> Choice:
        link, value = self._queue.pop(offer)
        self._parents.pop(link, None)
        return Choice(link, 1.0, (("score of the pages that it stands on", value),))

    def learn(self, outcome: Outcome) -> None:
        # It may have been seen once more while it was in flight.
        self._queue.discard(outcome.choice.link)
        self._parents.pop(outcome.choice.link, None)

    def save(self) -> State:
        return {
            "queue": self._queue.save(),
            "parents": [[link, *parents] for link, parents in self._parents.items()],
        }

    def load(self, state: State) -> None:
        self._queue.load(state["queue"])
        self._parents = {link: (count, total) for link, count, total in state["parents"]}
