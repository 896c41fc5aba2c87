"""Fish-search: schools of fish go on where there is food, and die where there is none.

De Bra and Post (1994), "Information retrieval in the World-Wide Web: making client-based searching
feasible", Computer Networks and ISDN Systems 27, as Hersovici et al. (1998, Fig. 1) write it down.
Card: docs/algorithms/fish-search.md.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, InitVar, dataclass

from spoor.learn.parameters import at_least, between, check_parameters
from spoor.learn.priority_queue import PriorityQueue
from spoor.learn.saved_attributes import PAIRS, PART, Saved, attributes
from spoor.protocols import Offer
from spoor.types import NO_PARENT, Choice, InLinks, LinkId, Outcome, Task

WHY = {
    1.0: "one of the first links of a relevant page",
    0.5: "one of the first links of a page near a relevant one",
    0.0: "beyond the width of its page",
    -1.0: "beyond the depth of the search",
}


@dataclass(eq=False)
class FishSearch(Saved):
    """Potential scores 1, ½ and 0, and a depth that only relevant pages restore.

    `width`: links of a page that are followed first, `more` times as many where it is relevant,
    which is to say where its score is at least `relevant`. `depth`: links that may be followed in a
    row without a relevant page.
    """

    task: InitVar[Task]
    _: KW_ONLY
    width: int = at_least(0, 10)
    depth: int = at_least(1, 3)
    more: float = at_least(0, 1.5)
    relevant: float = between(0, 1, 0.5)

    SAVED = attributes(_queue=PART, _depth=PAIRS)

    def __post_init__(self, task: Task) -> None:
        check_parameters("fish-search", self)
        self._queue = PriorityQueue()
        self._depth: dict[LinkId, int] = {}
        """Of links that are open or in flight: links that may follow without a relevant page."""

    def observe(self, seen: InLinks) -> None:
        own = self._depth.get(seen.parent, self.depth)
        relevant = seen.parent == NO_PARENT or seen.parent_score >= self.relevant
        # A fish that found food has its full strength again; else its children have one less.
        depth = self.depth if relevant else own - 1
        width = math.floor(self.more * self.width) if relevant else self.width
        if seen.parent == NO_PARENT:
            width = len(seen)
        for index, (link, host) in enumerate(zip(seen.links, seen.hosts, strict=True)):
            if depth < 0:
                potential = -1.0
            elif index < width:
                potential = 1.0 if relevant else 0.5
            else:
                potential = 0.0
            self._queue.push_if_higher(link, host, potential)
            self._depth[link] = max(depth, self._depth.get(link, depth))

    def choose(self, offer: Offer) -> Choice:
        link, potential = self._queue.pop(offer)
        return Choice(link, 1.0, ((WHY[potential], potential),))

    def learn(self, outcome: Outcome) -> None:
        # Its children have their depths by now: `observe` is called first.
        self._depth.pop(outcome.choice.link, None)
