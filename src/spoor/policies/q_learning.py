"""Q-learning on the letters of links.

The crawler deep-deep (TeamHG-Memex): a linear Q(s, a) over hashed character n-grams of a link's
text and URL and over its page, learned by stochastic gradient descent with experience replay and
two estimators. Card: docs/algorithms/q-learning.md.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Sequence
from dataclasses import KW_ONLY, InitVar, dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spoor.columns import pieces_of
from spoor.learn.hashed_linear import HashedLinear, grams, join, split
from spoor.learn.parameters import at_least, between, check_parameters
from spoor.learn.priority_queue import PriorityQueue
from spoor.learn.saved_attributes import GENERATOR, PART, VALUE, Saved, attributes
from spoor.protocols import Offer
from spoor.types import (
    NO_PARENT,
    Choice,
    InLinks,
    Judgement,
    LinkId,
    Outcome,
    Page,
    State,
    Task,
)
from spoor.web.text import tokens

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Row = NDArray[np.int32]

BITS = 18
SHORTEST, LONGEST = 3, 5
LETTERS = 64
"""First bytes of a link's text and last ones of its URL that are read."""
TITLE = 8
"""Words of a page's title that are read."""
SHOWN = 40
"""Links of a page over which the next value is maximised."""


class Transition(NamedTuple):
    """One followed link: (a, r, the actions that its page offers)."""

    link: LinkId
    action: Row
    reward: float
    after: Sequence[Row]


@dataclass(eq=False)
class QLearning(Saved):
    """ε-greedy by Q within one host, which is drawn by the soft-max of the best Q of each host.

    `gamma`: discount. `epsilon`: share of links taken at random. `alpha`: step size. `replay`:
    transitions remembered; `batch` of them are learned from at every page. `switch`: pages after
    which the second estimator becomes the first, and all open links are revalued.
    `temperature` of the soft-max over hosts.
    """

    task: InitVar[Task]
    _: KW_ONLY
    gamma: float = between(0, 1, 0.4)
    epsilon: float = between(0, 1, 0.2)
    alpha: float = between(0, 1, 0.1)
    replay: int = at_least(1, 300)
    batch: int = at_least(1, 32)
    switch: int = at_least(1, 100)
    temperature: float = at_least(1e-6, 1.0)

    SAVED = attributes(_rng=GENERATOR, _online=PART, _target=PART, _queue=PART, _pages=VALUE)

    def __post_init__(self, task: Task) -> None:
        check_parameters("q-learning", self)
        self._rng = task.rng
        self._online = HashedLinear(BITS)
        self._target = HashedLinear(BITS)
        self._queue = PriorityQueue()
        self._rows: dict[LinkId, Row] = {}
        """Of links that are open or in flight, as they were first seen."""
        self._shown: dict[LinkId, list[Row]] = {}
        self._memory: deque[Transition] = deque(maxlen=self.replay)
        self._pages = 0

    # -- Q(s, a): a link and its page

    def observe(self, seen: InLinks) -> None:
        of_page = _page_features(seen.page, seen.parent_score)
        for index, (link, host) in enumerate(zip(seen.links, seen.hosts, strict=True)):
            if link not in self._rows:
                path = seen.urls[index].split("/", 3)[-1]
                row = self._online.row(
                    of_page
                    | grams(
                        seen.anchor(index).text[:LETTERS].lower(), SHORTEST, LONGEST, mark="text"
                    )
                    | grams(path[-LETTERS:].lower(), SHORTEST, LONGEST, mark="URL")
                )
                self._rows[link] = row
                self._queue.push(link, host, self._online.value(row))
        if seen.parent != NO_PARENT:
            shown = list(dict.fromkeys(seen.links))[:SHOWN]
            self._shown[seen.parent] = [self._rows[link] for link in shown]

    # -- the policy

    def choose(self, offer: Offer) -> Choice:
        # The order of a set differs between processes.
        best: dict[str, tuple[LinkId, float]] = {}
        for host in sorted(offer.hosts()):
            try:
                best[host] = self._queue.best(host, offer)
            except LookupError:
                continue
        hosts = list(best)
        logits = np.array([value for _, value in best.values()]) / self.temperature
        share = np.exp(logits - logits.max())
        share /= share.sum()
        if self._rng.random() < self.epsilon:
            link = offer.draw(self._rng, 1)[0]
        else:
            link = best[hosts[int(self._rng.choice(len(hosts), p=share))]][0]
        probability = self.epsilon / len(offer)
        for index, (candidate, _) in enumerate(best.values()):
            if candidate == link:
                probability += (1.0 - self.epsilon) * float(share[index])
        value = self._queue.value(link)
        self._queue.discard(link)
        return Choice(link, probability, (("Q of its letters and page", value),))

    # -- learning

    def learn(self, outcome: Outcome) -> None:
        link = outcome.choice.link
        row = self._rows.pop(link)
        after = self._shown.pop(link, [])
        self._memory.append(Transition(link, row, outcome.reward, after))
        drawn = self._rng.integers(len(self._memory), size=self.batch).tolist()
        self._replay([self._memory[index] for index in drawn])
        self._pages += 1
        if self._pages % self.switch == 0:
            self._target.w[:] = self._online.w
            self._revalue()

    def relearn(self, link: LinkId, before: Judgement, after: Judgement) -> None:
        """Of a page that is still remembered: its reward is put right, and one step of learning
        takes the difference in."""
        for index, transition in enumerate(self._memory):
            if transition.link == link:
                self._memory[index] = transition._replace(reward=after.reward)
                change = after.reward - transition.reward
                self._online.step(transition.action, self.alpha * change)
                self._revalue()

    def _replay(self, batch: Sequence[Transition]) -> None:
        rows = [row for transition in batch for row in transition.after]
        online, target = self._online.values(rows), self._target.values(rows)
        start = 0
        for transition in batch:
            goal = transition.reward
            end = start + len(transition.after)
            if end > start:
                # One estimator says which link is the best, the other what it is worth.
                best = start + int(np.argmax(online[start:end]))
                goal += self.gamma * float(target[best])
            start = end
            error = goal - self._online.value(transition.action)
            self._online.step(transition.action, self.alpha * error)

    def _revalue(self) -> None:
        links = list(self._queue)
        values = self._online.values([self._rows[link] for link in links]).tolist()
        for link, value in zip(links, values, strict=True):
            self._queue.push(link, self._queue.host(link), value)

    # -- state

    def save(self) -> State:
        memory = list(self._memory)
        return {
            **super().save(),
            "links": list(self._rows),
            "rows": join(self._rows.values()),
            "shown": [[link, join(rows)] for link, rows in self._shown.items()],
            "actions": join(transition.action for transition in memory),
            "remembered": [transition.link for transition in memory],
            "rewards": [transition.reward for transition in memory],
            "after": [len(transition.after) for transition in memory],
            "after_rows": join(row for transition in memory for row in transition.after),
        }

    def load(self, state: State) -> None:
        super().load(state)
        self._rows = dict(zip(state["links"], split(state["rows"]), strict=True))
        self._shown = {link: split(rows) for link, rows in state["shown"]}
        after = split(state["after_rows"])
        self._memory.clear()
        self._memory.extend(
            Transition(link, action, reward, its)
            for link, action, reward, its in zip(
                state["remembered"],
                split(state["actions"]),
                state["rewards"],
                pieces_of(after, state["after"]),
                strict=True,
            )
        )


def _page_features(page: Page | None, score: float) -> set[int]:
    """Features of the page of a link: its title's words and the tenth of its score."""
    names = [f"title {word}" for word in tokens(page.title)[:TITLE]] if page else []
    names += [f"score {round(10 * score)}", "any link"]
    return {zlib.crc32(word.encode("utf-8", "surrogatepass")) for word in names}
