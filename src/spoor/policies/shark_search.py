"""Shark-search: a link inherits relevance from its ancestors and adds that of its own words.

Hersovici, Jacovi, Maarek, Pelleg, Shtalhaim and Ur (1998), "The shark-search algorithm. An
application: tailored Web site mapping", Computer Networks 30, Fig. 2.
"""

from __future__ import annotations

import math
from collections import Counter

from spoor.learn.parameters import in_range
from spoor.learn.priority_queue import PriorityQueue
from spoor.protocols import Offer
from spoor.types import Anchor, Choice, InLinks, LinkId, Outcome, State, Task
from spoor.web.text import STOP_WORDS, cosine, stem, tokens


class SharkSearch:
    """Potential score = γ · inherited + (1 − γ) · neighbourhood.

    `delta`: decay of what is inherited; `beta`: weight of the anchor against its context; `gamma`:
    weight of what is inherited. `context` words on either side of the anchor.
    """

    def __init__(
        self,
        task: Task,
        *,
        delta: float = 0.5,
        beta: float = 0.8,
        gamma: float = 0.1,
        context: int = 10,
    ) -> None:
        in_range(
            "shark-search",
            delta=(delta, 0, 1),
            beta=(beta, 0, 1),
            gamma=(gamma, 0, 1),
            context=(context, 0, math.inf),
        )
        self._delta = delta
        self._beta = beta
        self._gamma = gamma
        self._context = context
        self._queue = PriorityQueue()
        self._topic = _unit(task.topic.text)
        self._inherited: dict[LinkId, float] = {}

    def observe(self, seen: InLinks) -> None:
        relevance = seen.parent_score
        # The child of a relevant page inherits its relevance, that of another what it inherited.
        if relevance > 0:
            inherited = self._delta * relevance
        else:
            inherited = self._delta * self._inherited.get(seen.parent, 0.0)
        for at, (link, host) in enumerate(zip(seen.links, seen.hosts, strict=True)):
            potential = self._potential(inherited, seen.anchor(at))
            if link not in self._queue or potential > self._queue.value(link):
                self._queue.push(link, host, potential)
                self._inherited[link] = inherited

    def _potential(self, inherited: float, anchor: Anchor) -> float:
        own = cosine(self._topic, _unit(anchor.text))
        around = 1.0
        if own == 0:
            before = tokens(anchor.before)[-self._context :]
            after = tokens(anchor.after)[: self._context]
            around = cosine(self._topic, _unit(" ".join([*before, anchor.text, *after])))
        neighbourhood = self._beta * own + (1 - self._beta) * around
        return self._gamma * inherited + (1 - self._gamma) * neighbourhood

    def choose(self, offer: Offer) -> Choice:
        link, value = self._queue.pop(offer)
        return Choice(link, 1.0, (("potential score", value),))

    def learn(self, outcome: Outcome) -> None:
        # Its children have inherited by now: `observe` comes first.
        self._inherited.pop(outcome.choice.link, None)

    def save(self) -> State:
        return {
            "queue": self._queue.save(),
            "inherited": [[link, value] for link, value in self._inherited.items()],
        }

    def load(self, state: State) -> None:
        self._queue.load(state["queue"])
        self._inherited = {int(link): float(value) for link, value in state["inherited"]}


def _unit(text: str) -> dict[str, float]:
    counts = Counter(stem([word for word in tokens(text) if word not in STOP_WORDS]))
    norm = sum(n * n for n in counts.values()) ** 0.5
    return {word: n / norm for word, n in counts.items()} if norm else {}
