"""Algorithm 1: the policy, its updates and what it learned."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, InitVar, dataclass

import numpy as np

from spoor.errors import InputError
from spoor.learn.merging import distinct
from spoor.learn.parameters import at_least, between, check_parameters, in_range, one_of
from spoor.learn.relevance import Tenths
from spoor.learn.saved_attributes import (
    ARRAY,
    GENERATOR,
    KEYS,
    PART,
    VALUE,
    Form,
    Saved,
    attributes,
    filled,
)
from spoor.learn.trained_model import pack_model, weights_of
from spoor.policies.sarsa.explanation import features_of, weights_in_words
from spoor.policies.sarsa.frontier import Action, Frontier
from spoor.policies.sarsa.relevance import TopicRelevance, pack_vectors, unpack_vectors
from spoor.policies.sarsa.states import FARTHEST, Parents, Visit, change_bucket
from spoor.policies.sarsa.values import ENCODINGS, Values
from spoor.protocols import Offer
from spoor.types import NO_PARENT, Choice, InLinks, LinkId, Outcome, State, Task
from spoor.web.text import Vectors

FINE = 1_000
"""Relevances are counted in so many steps."""
UPDATES = ("synchronous", "asynchronous", "moderated")
WITHIN = ("oldest", "nearest")
RELEVANT = 0.5
"""Score from which a page that another shard fetched is taken for relevant: a link brings no more
of its judgement than that."""

IN_FLIGHT = Form(
    lambda links: [[link, *pair] for link, pair in links.items()],
    lambda old, saved: filled(old, ((link, tuple(pair)) for link, *pair in saved)),
)


@dataclass(eq=False)
class Sarsa(Saved):
    """ε-greedy by the Q that SARSA learns over generalised pages and links (Han et al. 2018).

    Parameters are named as in the paper; card: docs/algorithms/sarsa.md.

    `update`: whether all values in B are of now (`synchronous`), or those of the current page's
    links only (`asynchronous`, `moderated` by eq. (4)). `encoding` of a bucket in x(s, a).
    `halving`: pages after which ε is halved (0: never). `prior`: what a link whose words are wholly
    the topic's is worth before anything is learned. `rewards` of a relevant page, of one whose
    relevance is over each of `nearly`, and of any other; `quantiles` of the relevances that the
    crawl has seen take the place of `nearly`, so that they pay whatever measures relevance.
    `within` a pair the `oldest` link is taken, or that with the words `nearest` to the topic.
    `categories` are found automatically where the topic names none, from `background` (a file of
    one text a line), the word vectors or the crawl. `context` words on either side of a link count,
    and the first `words` of a page.

    Raises InputError for a parameter out of its range.
    """

    task: InitVar[Task]
    _: KW_ONLY
    update: str = one_of(UPDATES, "synchronous")
    encoding: str = one_of(ENCODINGS, "one-hot")
    epsilon: float = between(0, 1, 0.1)
    halving: int = at_least(0, 0)
    gamma: float = between(0, 1, 0.9)
    alpha: float = between(0, 1, 0.001)
    beta: float = between(0, 1, 0.4)
    delta_1: float = between(0, 1, 0.1)
    delta_2: float = between(0, 1, 0.3)
    rewards: Sequence[float] = (30.0, 30.0, 20.0, -1.0)
    nearly: Sequence[float] = (0.5, 0.4)
    quantiles: Sequence[float] = ()
    within: str = one_of(WITHIN, "oldest")
    prior: float = between(-math.inf, math.inf, 0.0)
    categories: int = between(0, 12, 3)
    background: str = ""
    context: int = at_least(0, 5)
    words: int = at_least(1, 2_000)

    SAVED = attributes(
        _rng=GENERATOR,
        _received=ARRAY,
        parents=PART,
        _relevances=ARRAY,
        _seeds=KEYS,
        _in_flight=IN_FLIGHT,
        _choices=VALUE,
    )

    def __post_init__(self, task: Task) -> None:
        check_parameters("sarsa", self)
        in_range("sarsa", delta_1=(self.delta_1, 0, self.delta_2))
        if len(self.rewards) != 4 or len(self.nearly) != 2:
            raise InputError("sarsa: rewards are four numbers, nearly two")
        if len(self.quantiles) not in (0, 2) or not all(0 < q < 1 for q in self.quantiles):
            raise InputError("sarsa: quantiles are two shares between 0 and 1, or left out")
        self._relevances = np.zeros(FINE + 1, dtype=np.int64)
        """How many pages had each relevance, in steps of 1 / FINE."""
        self._rng = task.rng
        self._topic = task.topic
        # A model of another policy is refused below, by `weights_of`.
        model = task.model if (task.model or {}).get("policy") == "sarsa" else None
        vectors = task.vectors if isinstance(task.vectors, Vectors) else None
        # Those that a crawl has learned go with its weights to the next.
        self._own_vectors = vectors is None
        if vectors is None and model is not None:
            vectors = unpack_vectors(model["weights"]["vectors"])
        self._trained_by: str = "" if model is None else model["about"]["relevance"]
        given = dict(task.topic.categories)
        count = len(given) or self.categories
        if model is not None and not given:
            given = dict(model["weights"]["categories"])
            count = int(model["weights"]["count"])
            if self.categories not in (type(self).categories, count):
                raise InputError(
                    f"sarsa: the model was trained with categories = {count}, not "
                    f"{self.categories}; leave that parameter out, or train anew"
                )
        in_range("sarsa", categories=(count, 0, 12))
        self.relevance = TopicRelevance(
            task.topic,
            given,
            count,
            vectors,
            background=self.background,
            context=self.context,
            words=self.words,
        )
        self._above = int(
            10 ** (1 + count)
        )  # the factor of a state in a number: above the digits of words
        self.values = Values(count, self.encoding)  # Alg. 1 line 2
        features = features_of(self.encoding, count, self.relevance.categories)
        weights = weights_of(task, "sarsa", features)
        if weights is not None:
            self.values.set(weights["w"])
        elif self.prior:
            self.values.begin(self.prior)
        self._first = self.values.w
        self._received = np.zeros_like(self._first)
        """What others' steps have added to the weights."""
        self._frontier = Frontier(
            self.values, self._above, synchronous=self.update == "synchronous"
        )
        self.parents = Parents()
        self._seeds: dict[LinkId, None] = {}
        # (state, action) that it was chosen for; none for a seed.
        self._in_flight: dict[LinkId, tuple[int, ...]] = {}
        self._pending: InLinks | None = None
        self._choices = 0

    @property
    def measured_by(self) -> str:
        """What relevance is measured by, in words."""
        return self.relevance.source

    # -- the calls of a crawl

    def observe(self, seen: InLinks) -> None:
        if seen.parent == NO_PARENT:
            self._seeds |= {  # Alg. 1 line 6
                link: None for link, first in zip(seen.links, seen.first, strict=True) if first
            }
        elif seen.parent in self._in_flight:
            self._pending = seen  # whether their page is relevant, `learn` says
        elif seen.page is not None:
            # Another shard of the crawl fetched the page, and learned from it.
            near, words = self.relevance.of_page(seen.page.title, seen.page.text, seen)
            relevant = seen.parent_score >= RELEVANT
            visit, _ = self._visit(seen.parent, near, relevant)
            actions = self._actions(seen.parent, visit, seen, words)
            self._frontier.add(visit.state, actions)

    def choose(self, offer: Offer) -> Choice:
        for link in self._seeds:  # Alg. 1 line 5
            if link in offer:
                del self._seeds[link]
                self._in_flight[link] = ()
                return Choice(link, 1.0)
        epsilon = self.epsilon
        if self.halving:
            epsilon *= 0.5 ** (self._choices / self.halving)
        self._choices += 1
        frontier = self._frontier
        pair, greedy = frontier.best(offer)
        link = greedy
        if self._rng.random() < epsilon:  # Alg. 1 line 16
            pair = frontier.draw(offer, self._rng)  # Alg. 1 line 17
            link = frontier.pairs.head(pair)
        state, action = frontier.pairs.state[pair], frontier.pairs.action[pair]
        probability = None  # where some hosts are busy the pairs on offer are not counted
        if len(offer) == len(frontier.pairs_of) + len(self._seeds):
            ways, pairs = frontier.ways(link), len(frontier.pairs.live)
            probability = (1 - epsilon) * (link == greedy) + epsilon * ways / pairs
        f, g = self.values.f(state), self.values.g(action)
        frontier.take(link)
        self._in_flight[link] = (state, action)
        why = (
            ("the page it stands on, and those before", f),
            ("its words and parents", g),
            (f"measured by {self.relevance.source}", 0.0),
        )
        return Choice(link, probability, why)

    def learn(self, outcome: Outcome) -> None:
        link, page, judgement = outcome.choice.link, outcome.page, outcome.judgement
        taken = self._in_flight.pop(link, ())
        seen, self._pending = self._pending, None
        if page is None or judgement is None:
            return  # nothing was seen: neither reward nor state
        self.relevance.read(page, self._rng)
        if seen is not None and seen.parent != link:
            seen = None
        near, words = self.relevance.of_page(page.title, page.text, seen)
        visit, reward = self._visit(link, near, judgement.relevant)  # Alg. 1 line 24
        actions = self._actions(link, visit, seen, words)  # Alg. 1 lines 25-31
        if taken:
            state, action = taken
            self._update(state, action, reward, visit, actions)
        self._frontier.add(visit.state, actions)

    # -- one page

    def _visit(self, link: LinkId, near: Tenths, relevant: bool) -> tuple[Visit, float]:
        """The state of a fetched page, near to topic and categories as given; its reward."""
        (tenths, relevance), rows = near, self.parents.rows
        row = rows[link] if link < len(rows) else Parents.EMPTY
        count, _, _, _, before, nearest, _, digits = row
        if not count:
            before = relevance
        weighted = self.beta * relevance + (1 - self.beta) * before
        near_now = self._is_near(relevance)
        self._relevances[min(FINE, max(0, int(relevance * FINE)))] += 1
        distance = 0 if relevant else min(FARTHEST, nearest + 1)
        of_topic, of_categories = divmod(tenths, self._above // 10)
        key = 10 * of_topic + change_bucket(relevance - before, self.delta_1, self.delta_2)
        key = key * (self._above // 10) + of_categories
        state = self.values.states[1000 * key + 10 * digits + distance]
        visit = Visit(state, relevant, relevance, weighted, distance)
        relevant_page, near_1, near_2, other = self.rewards
        if relevant:
            return visit, relevant_page
        return visit, near_1 if near_now[0] else near_2 if near_now[1] else other

    def _is_near(self, relevance: float) -> tuple[bool, bool]:
        """Whether a page's relevance is over each of `nearly`; with `quantiles` whether so large a
        share of the pages seen before it had less, from the second page on."""
        seen = int(self._relevances.sum()) if self.quantiles else 0
        if not seen:
            return relevance > self.nearly[0], relevance > self.nearly[1]
        lower = int(self._relevances[: max(0, int(relevance * FINE))].sum()) / seen
        return lower >= self.quantiles[0], lower >= self.quantiles[1]

    def _actions(
        self, parent: LinkId, visit: Visit, seen: InLinks | None, words: Sequence[int]
    ) -> list[Action]:
        """The unvisited outlinks, in page order; the page is now a parent of each."""
        if seen is None:
            return []
        frontier, nearest = self._frontier, self.within == "nearest"
        actions, pairs_of, predicted = self.values.actions, frontier.pairs_of, self.relevance.tenths
        self.parents.reach(max(seen.links))
        of_parents = self.parents.add(seen.links, parent, visit)
        new: list[Action] = []
        for link, host, number, digits, changed in zip(
            seen.links, seen.hosts, words, *of_parents, strict=True
        ):
            if link in pairs_of:
                if changed:
                    frontier.move(link, digits)
            elif link in self._in_flight or link in self._seeds:
                continue
            elif nearest:
                frontier.orders.setdefault(link, -self.relevance.cosines[number])
            key = predicted[number]
            new.append((link, host, key, actions[100 * key + digits]))
        return new

    def _update(
        self, state: int, action: int, reward: float, visit: Visit, actions: Sequence[Action]
    ) -> None:
        """One step of learning from (s, a), r and s'."""
        values, alpha, gamma = self.values, self.alpha, self.gamma
        q = values.f(state) + values.g(action)
        if visit.relevant:  # Alg. 1 line 32
            values.step(state, action, alpha * (reward - q))  # Alg. 1 line 33
            return
        q_next = 0.0  # nothing leads on from a page without unvisited outlinks
        if actions:  # Alg. 1 line 35
            if self._rng.random() < self.epsilon:
                chosen = values.g(actions[int(self._rng.integers(len(actions)))][-1])
            else:
                chosen = max(values.g_of({its_action for _, _, _, its_action in actions}))
            q_next = values.f(visit.state) + chosen
        delta = reward + gamma * q_next - q  # Alg. 1 line 36
        if self.update == "moderated":
            target = reward + gamma * (q_next - delta)  # eq. (4), Alg. 1 line 38
            values.step(state, action, alpha * (target - q))
        else:
            values.step(state, action, alpha * delta)  # eq. (3), Alg. 1 line 37

    # -- learning together, saving, explaining

    def share(self) -> State:
        """What its own steps have added to the weights, and the categories that some are of."""
        added = self.values.w - self._first - self._received
        return {"added": added, "of": dict(self.relevance.categories)}

    def merge(self, others: Sequence[State]) -> None:
        """Add the steps of others: each was made from weights that included all steps of the others
        but the newest. They replace what the others shared before; its own steps, and repeated
        ones, count once. Weights of other categories, from a shard that has some, are left out.
        In the asynchronous method open links keep the Q of their time."""
        own = self.share()
        received = []
        for state in others:
            added = np.array(state["added"])
            if state["of"] != own["of"]:
                added[["category" in name for name in self.values.features]] = 0.0
            received.append(added)
        steps = distinct(own["added"], received, np.array_equal)
        self._received = np.sum([np.zeros_like(self._received), *steps], axis=0)
        self.values.set(self._first + own["added"] + self._received)

    def save(self) -> State:
        values = self.values
        return {
            **super().save(),
            **self.relevance.save(),
            **self._frontier.save(),
            "w": values.w,
            "states": values.states.digits(),
            "actions": values.actions.digits(),
        }

    def load(self, state: State) -> None:
        super().load(state)
        self.values.set(state["w"])
        for keys, known in ((self.values.states, "states"), (self.values.actions, "actions")):
            list(map(keys.__getitem__, state[known].tolist()))
        self.relevance.load(state)
        self._frontier.load(state)
        self._pending = None

    def model(self, **about: object) -> State:
        """What has been learned so far, for a task to begin with."""
        weights = {
            "w": self.values.w,
            "categories": dict(self.relevance.categories),
            "count": self.relevance.count,
            "vectors": pack_vectors(self.relevance.vectors) if self._own_vectors else None,
        }
        return pack_model(
            "sarsa",
            features_of(self.encoding, self.relevance.count, self.relevance.categories),
            self._topic,
            weights,
            params={"encoding": self.encoding},
            relevance=self.relevance.source,
            **about,
        )

    def explain(self) -> Sequence[tuple[str, str, float]]:
        """Weights of the buckets by group; the first row is the measure of relevance."""
        measured_by = self._trained_by or self.relevance.source
        categories = self.relevance.categories
        rows = [("relevance is measured by", measured_by, 1.0)]
        rows += [("category", f"{name}: {text}", 1.0) for name, text in categories.items()]
        return rows + weights_in_words(self.values, categories, self.encoding)
