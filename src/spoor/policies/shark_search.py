"""Shark-search: a link inherits relevance from its ancestors and adds that of its own words.

Hersovici, Jacovi, Maarek, Pelleg, Shtalhaim and Ur (1998), "The shark-search algorithm. An
application: tailored Web site mapping", Computer Networks 30, Fig. 2.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import KW_ONLY, InitVar, dataclass

from spoor.learn.link_words import content_stems
from spoor.learn.parameters import at_least, between, check_parameters
from spoor.learn.priority_queue import PriorityQueue
from spoor.learn.queue_order import QueueOrder
from spoor.learn.saved_attributes import PAIRS, PART, attributes
from spoor.types import Anchor, InLinks, LinkId, Outcome, Task
from spoor.web.text import cosine, tokens


@dataclass(eq=False)
class SharkSearch(QueueOrder):
    """Potential score = γ · inherited + (1 − γ) · neighbourhood.

    `delta`: decay of what is inherited; `beta`: weight of the anchor against its context; `gamma`:
    weight of what is inherited. `context` words on either side of the anchor.
    """

    task: InitVar[Task]
    _: KW_ONLY
    delta: float = between(0, 1, 0.5)
    beta: float = between(0, 1, 0.8)
    gamma: float = between(0, 1, 0.1)
    context: int = at_least(0, 10)

    SAVED = attributes(_queue=PART, _inherited=PAIRS)
    WHY = "potential score"

    def __post_init__(self, task: Task) -> None:
        check_parameters("shark-search", self)
        self._queue = PriorityQueue()
        self._topic = _unit(task.topic.text)
        self._inherited: dict[LinkId, float] = {}

    def observe(self, seen: InLinks) -> None:
        relevance = seen.parent_score
        # The child of a relevant page inherits its relevance, that of another what it inherited.
        if relevance > 0:
            inherited = self.delta * relevance
        else:
            inherited = self.delta * self._inherited.get(seen.parent, 0.0)
        for index, (link, host) in enumerate(zip(seen.links, seen.hosts, strict=True)):
            potential = self._potential(inherited, seen.anchor(index))
            if link not in self._queue or potential > self._queue.value(link):
                self._queue.push(link, host, potential)
                self._inherited[link] = inherited

    def _potential(self, inherited: float, anchor: Anchor) -> float:
        own = cosine(self._topic, _unit(anchor.text))
        around = 1.0
        if own == 0:
            before = tokens(anchor.before)[-self.context :]
            after = tokens(anchor.after)[: self.context]
            around = cosine(self._topic, _unit(" ".join([*before, anchor.text, *after])))
        neighbourhood = self.beta * own + (1 - self.beta) * around
        return self.gamma * inherited + (1 - self.gamma) * neighbourhood

    def learn(self, outcome: Outcome) -> None:
        # Its children have inherited by now: `observe` is called first.
        self._inherited.pop(outcome.choice.link, None)


def _unit(text: str) -> dict[str, float]:
    counts = Counter(content_stems(text))
    norm = sum(n * n for n in counts.values()) ** 0.5
    return {word: n / norm for word, n in counts.items()} if norm else {}
