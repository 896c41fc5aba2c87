"""Fish-search: schools of fish go on where there is food, and die where there is none.

De Bra and Post (1994), "Information retrieval in the World-Wide Web: making client-based searching
feasible", Computer Networks and ISDN Systems 27, as Hersovici et al. (1998, Fig. 1) write it down.
Card: docs/algorithms/fish-search.md.
"""

from __future__ import annotations

import math

from spoor.learn.parameters import in_range
from spoor.learn.priority_queue import PriorityQueue
from spoor.protocols import Offer
from spoor.types import NO_PARENT, Choice, InLinks, LinkId, Outcome, State, Task

WHY = {
    1.0: "one of the first links of a relevant page",
    0.5: "one of the first links of a page near a relevant one",
    0.0: "beyond the width of its page",
    -1.0: "beyond the depth of the search",
}


class FishSearch:
    """Potential scores 1, ½ and 0, and a depth that only relevant pages restore.

    `width`: links of a page that are followed first, `more` times as many where it is relevant,
    which is to say where its score is at least `relevant`. `depth`: links that may be followed in a
    row without a relevant page.
    """

    def __init__(
        self,
        task: Task,
        *,
        width: int = 10,
        depth: int = 3,
        more: float = 1.5,
        relevant: float = 0.5,
    ) -> None:
        in_range(
            "fish-search",
            width=(width, 0, math.inf),
            depth=(depth, 1, math.inf),
            more=(more, 0, math.inf),
            relevant=(relevant, 0, 1),
        )
        self._width = width
        self._most = depth
        self._more = more
        self._relevant = relevant
        self._queue = PriorityQueue()
        self._depth: dict[LinkId, int] = {}
        """Of links that are open or in flight: links that may follow without a relevant page."""

    def observe(self, seen: InLinks) -> None:
        own = self._depth.get(seen.parent, self._most)
        relevant = seen.parent == NO_PARENT or seen.parent_score >= self._relevant
        # A fish that found food has its full strength again; else its children have one less.
        depth = self._most if relevant else own - 1
        width = math.floor(self._more * self._width) if relevant else self._width
        if seen.parent == NO_PARENT:
            width = len(seen)
        for at, (link, host) in enumerate(zip(seen.links, seen.hosts, strict=True)):
            if depth < 0:
                potential = -1.0
            elif at < width:
                potential = 1.0 if relevant else 0.5
            else:
                potential = 0.0
            if link not in self._queue or potential > self._queue.value(link):
                self._queue.push(link, host, potential)
            self._depth[link] = max(depth, self._depth.get(link, depth))

    def choose(self, offer: Offer) -> Choice:
        link, potential = self._queue.pop(offer)
        return Choice(link, 1.0, ((WHY[potential], potential),))

    def learn(self, outcome: Outcome) -> None:
        # Its children have their depths by now: `observe` comes first.
        self._depth.pop(outcome.choice.link, None)

    def save(self) -> State:
        return {
            "queue": self._queue.save(),
            "depth": [[link, depth] for link, depth in self._depth.items()],
        }

    def load(self, state: State) -> None:
        self._queue.load(state["queue"])
        self._depth = {int(link): int(depth) for link, depth in state["depth"]}
