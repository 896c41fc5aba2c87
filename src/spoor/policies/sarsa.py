"""On-line SARSA over generalised pages and links.

Han, Wuillemin and Senellart (2018), "Focused crawling through reinforcement learning", ICWE. The
file reads in the order of the paper: features (section 3.1), Algorithm 1 with its updates (eqs.
(3), (4)), weights kept from task to task (section 4). Linear values (eq. (2)) are in
`spoor.learn.linear`, the frontier B of state-action pairs (section 3.2) in `spoor.learn.pairs`. The
synchronous method chooses link for link what recomputing every value at every step would choose;
why, and what the paper leaves open, stands in docs/algorithms/sarsa.md.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from spoor.errors import InputError
from spoor.learn.linear import ENCODINGS, Values
from spoor.learn.pairs import Pairs
from spoor.learn.parameters import in_range
from spoor.learn.priority_queue import PriorityQueue
from spoor.learn.relevance import TENTHS, Recurring, Relevance, Tenths
from spoor.learn.state import generator_state, restore_generator
from spoor.learn.topic_categories import find_categories
from spoor.learn.trained_model import pack_model, weights_of
from spoor.learn.training_crawl import crawl_known
from spoor.protocols import Offer
from spoor.types import (
    NO_PARENT,
    Choice,
    InLinks,
    KnownWeb,
    LinkId,
    Outcome,
    Page,
    State,
    Task,
)
from spoor.web.text import Vectors, learn_vectors, tokens

UPDATES = ("synchronous", "asynchronous", "moderated")
WITHIN = ("oldest", "nearest")
FARTHEST = 9
FIRST_VECTORS = 64
"""Pages after which vectors are learned from the crawl, and again whenever it is four times as
long."""
RELEVANT = 0.5
"""Score from which a page that another shard fetched is taken for relevant: a link brings no more
of its judgement than that."""
CORPUS = 2_000
CORPUS_WORDS = 500


# ------------------------------------------------------------- section 3.1: features


def change_bucket(change: float, near: float, far: float) -> int:
    """Relevance change in 5 buckets: within `near` 0; more by up to `far` 1, by more than that 2;
    less by up to `far` 3, by more than that 4."""
    if abs(change) <= near:
        return 0
    if change > 0:
        return 1 if change <= far else 2
    return 3 if change >= -far else 4


class Visit(NamedTuple):
    """What a fetched page hands down to the links that it shows."""

    state: int
    """Number of its state."""
    relevant: bool
    relevance: float
    weighted: float
    """wrl: its relevance smoothed over its ancestors."""
    distance: int
    """From the last relevant page on the crawl path; 0 if it is relevant itself."""


Found = tuple[LinkId, str, int, int]
"""An unvisited outlink: its number, its host, the digits predicted from its words, the number of
its action."""
Row = tuple[int, float, int, float, float, int, LinkId, int]
"""What a link's parents add up to: how many they are, the sum of their relevance, how many of them
are relevant and the sum of theirs, the highest wrl, the least distance, the newest parent, the mean
relevance of all and of the relevant ones as two digits (0 without any)."""


class Parents:
    """Of every unvisited link, by number, what the pages that show it add up to."""

    EMPTY: Row = (0, 0.0, 0, 0.0, 0.0, FARTHEST, NO_PARENT, 0)
    FIELDS = ("count", "sum", "relevant", "relevant_sum", "weighted", "distance", "last", "digits")
    """Of a row, as they are saved."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def reach(self, link: LinkId) -> None:
        """Make room for links up to this one."""
        more = link + 1 - len(self.rows)
        if more > 0:
            self.rows += [self.EMPTY] * max(more, 1_000)

    def add(
        self, links: Sequence[LinkId], parent: LinkId, visit: Visit
    ) -> tuple[list[int], list[bool]]:
        """A page shows these links; it is one parent of a link that it shows twice. Returns the
        digits of each, and whether they have just changed."""
        # Many links, and most of them seen before: one look-up finds all of a link.
        rows = self.rows
        _, is_relevant, near, weighted, distance = visit
        all_digits: list[int] = []
        changed: list[bool] = []
        for link in links:
            count, total, relevant, of_relevant, most, least, last, before = rows[link]
            digits = before
            if last != parent:
                count += 1
                total += near
                if is_relevant:
                    relevant += 1
                    of_relevant += near
                if weighted > most:
                    most = weighted
                if distance < least:
                    least = distance
                digits = 10 * TENTHS[int(total / count * 10 + 1e-9)]
                if relevant:
                    digits += TENTHS[int(of_relevant / relevant * 10 + 1e-9)]
                rows[link] = count, total, relevant, of_relevant, most, least, parent, digits
            all_digits.append(digits)
            changed.append(digits != before)
        return all_digits, changed

    def save(self) -> State:
        return {
            name: np.array([row[at] for row in self.rows], dtype=type(self.EMPTY[at]))
            for at, name in enumerate(self.FIELDS)
        }

    def load(self, state: State) -> None:
        columns = [state[name].tolist() for name in self.FIELDS]
        self.rows = list(zip(*columns, strict=True))


class _Anywhere:
    """An offer of pairs: each that waits, where its host is free."""

    def __init__(self, offer: Offer) -> None:
        self._offer = offer
        self.draw, self.hosts = offer.draw, offer.hosts

    def __len__(self) -> int:
        return len(self._offer)

    def __contains__(self, pair: object) -> bool:
        return True


# ------------------------------------------------------------- Algorithm 1


class Sarsa:
    """The policy. Parameters are named as in the paper; card: docs/algorithms/sarsa.md.

    `update`: whether all values in B are of now (`synchronous`), or those of the current page's
    links only (`asynchronous`, `moderated` by eq. (4)). `encoding` of a bucket in x(s, a).
    `halving`: pages after which ε is halved (0: never). `prior`: what a link whose words are wholly
    the topic's is worth before anything is learned. `rewards` of a relevant page, of one whose
    relevance is over each of `nearly`, and of any other. `within` a pair the `oldest` link is
    taken, or that with the words `nearest` to the topic. `categories` are found automatically
    where the topic names none, from `background` (a file of one text a line), the word vectors or
    the crawl. `context` words on either side of a link count, and the first `words` of a page.

    Raises InputError for a parameter out of its range.
    """

    def __init__(
        self,
        task: Task,
        *,
        update: str = "asynchronous",
        encoding: str = "one-hot",
        epsilon: float = 0.1,
        halving: int = 0,
        gamma: float = 0.9,
        alpha: float = 0.001,
        beta: float = 0.4,
        delta_1: float = 0.1,
        delta_2: float = 0.3,
        rewards: Sequence[float] = (30.0, 30.0, 20.0, -1.0),
        nearly: Sequence[float] = (0.5, 0.4),
        within: str = "oldest",
        prior: float = 0.0,
        categories: int = 3,
        background: str = "",
        context: int = 5,
        words: int = 2_000,
    ) -> None:
        _one_of("update", update, UPDATES)
        _one_of("encoding", encoding, ENCODINGS)
        _one_of("within", within, WITHIN)
        if len(rewards) != 4 or len(nearly) != 2:
            raise InputError("sarsa: rewards are four numbers, nearly two")
        in_range(
            "sarsa",
            epsilon=(epsilon, 0, 1),
            halving=(halving, 0, math.inf),
            gamma=(gamma, 0, 1),
            alpha=(alpha, 0, 1),
            beta=(beta, 0, 1),
            delta_2=(delta_2, 0, 1),
            delta_1=(delta_1, 0, delta_2),
            categories=(categories, 0, 12),
            prior=(prior, -math.inf, math.inf),
            context=(context, 0, math.inf),
            words=(words, 1, math.inf),
        )
        self._update_kind = update
        self._encoding = encoding
        self._epsilon = epsilon
        self._halving = halving
        self._gamma = gamma
        self._alpha = alpha
        self._beta = beta
        self._deltas = (delta_1, delta_2)
        self._rewards = tuple(rewards)
        self._nearly = tuple(nearly)
        self._nearest = within == "nearest"
        self._rng = task.rng
        self._subject = task.topic
        self._topic = task.topic.text
        # A model of another policy is refused below, by `weights_of`.
        model = task.model if (task.model or {}).get("policy") == "sarsa" else None
        given = task.vectors if isinstance(task.vectors, Vectors) else _learned(model)
        self._learns_vectors = given is None
        # Those that a crawl has learned go with its weights to the next.
        self._own_vectors = not isinstance(task.vectors, Vectors)
        self._trained_by: str = "" if model is None else model["about"]["relevance"]
        fields = dict(task.topic.categories)
        count = len(fields) or categories
        if model is not None and not fields:
            fields = dict(model["weights"]["categories"])
            count = int(model["weights"]["count"])
        self._to_find = 0 if fields else count
        if not fields:
            texts = _background(background)
            fields = find_categories(self._topic, count, given, texts)
        in_range("sarsa", categories=(count, 0, 12))
        self.categories: dict[str, str] = fields
        """Name → text of the fields in use; empty until they are found."""
        self._count = count
        self._above = int(10 ** (1 + count))  # a state stands above so many digits of words
        self.relevance = Relevance(self._texts(), given, context=context, words=words)
        self.values = Values(count, encoding)  # Alg. 1 line 2
        weights = weights_of(task, "sarsa", features_of(encoding, count, fields))
        if weights is not None:
            self.values.set(weights["w"])
        elif prior:
            self.values.begin(prior)
        self._first = self.values.w
        self._told = np.zeros_like(self._first)
        """What others' steps have added to the weights."""
        self.pairs = Pairs(ranked=update == "synchronous")  # Alg. 1 line 3
        self.parents = Parents()
        # Asynchronous: pairs by the Q of their time.
        self._queue: PriorityQueue | None = None if update == "synchronous" else PriorityQueue()
        self._seeds: dict[LinkId, None] = {}
        # Of each link in B: the (state, predicted digits) of its in-links → the pair of each.
        self._stands_in: dict[LinkId, dict[int, int]] = {}
        self._orders: dict[LinkId, float] = {}
        # (state, action) that it was chosen for; none for a seed.
        self._in_flight: dict[LinkId, tuple[int, ...]] = {}
        self._pending: InLinks | None = None
        self._texts_read: deque[list[str]] = deque(maxlen=CORPUS)
        self._pages = 0
        self._choices = 0

    # -- what relevance is measured with

    @property
    def measured_by(self) -> str:
        """What relevance is measured by, in words."""
        return self.relevance.source

    def _texts(self) -> list[str]:
        texts = [self._topic, *self.categories.values()]
        return texts + [""] * (1 + self._count - len(texts))

    def _read(self, page: Page) -> None:
        """Learn vectors from the crawl as it goes, where none were given."""
        self._pages += 1
        if not self._learns_vectors:
            return
        self._texts_read.append(tokens(f"{page.title} {page.text}")[:CORPUS_WORDS])
        due = FIRST_VECTORS
        while due < self._pages:
            due *= 4
        if self._pages == due:
            vectors = learn_vectors(self._texts_read, rng=self._rng)
            if vectors is not None:
                if self._to_find:
                    found = find_categories(self._topic, self._to_find, vectors, self._texts_read)
                    # Once found they stay: weights have been learned for them.
                    self.categories = self.categories or found
                self.relevance.look_through(self._texts(), vectors)

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
            wanted = seen.parent_score >= RELEVANT
            visit, _ = self._visit(seen.parent, near, wanted)
            self._add(visit, self._actions(seen.parent, visit, seen, words))

    def choose(self, offer: Offer) -> Choice:
        for link in self._seeds:  # Alg. 1 line 5
            if link in offer:
                del self._seeds[link]
                self._in_flight[link] = ()
                return Choice(link, 1.0)
        epsilon = self._epsilon
        if self._halving:
            epsilon *= 0.5 ** (self._choices / self._halving)
        self._choices += 1
        pair, greedy = self._best(offer)
        link = greedy
        if self._rng.random() < epsilon:  # Alg. 1 line 16
            pair = self._any(offer)  # Alg. 1 line 17
            link = self.pairs.head(pair)
        state, action = self.pairs.state[pair], self.pairs.action[pair]
        probability = self._probability(offer, link, greedy, epsilon)
        f, g = self.values.f(state), self.values.g(action)
        self._take(link)
        self._in_flight[link] = (state, action)
        why = (
            ("the page it stands on, and those before", f),
            ("its words and parents", g),
            (f"measured by {self.relevance.source}", 0.0),
        )
        return Choice(link, probability, why)

    def _best(self, offer: Offer) -> tuple[int, LinkId]:
        """The pair with the highest Q that has a link on offer; and that."""  # Alg. 1 line 19
        pairs = self.pairs
        while True:
            if self._queue is None:
                free = None if self._all_on(offer) else offer.hosts()
                pair = pairs.best(*self.values.all(), free)  # Alg. 1 lines 40-43
            else:
                pair, _ = self._queue.peek(_Anywhere(offer))
            link = pairs.head(pair)
            if link in offer:
                return pair, link
            self._take(link)  # gone without being chosen here: another was redirected to it

    def _any(self, offer: Offer) -> int:
        """A pair with a link on offer, each as likely as the next."""
        pairs, free = self.pairs, offer.hosts()
        for _ in range(20):
            pair = pairs.live[int(self._rng.integers(len(pairs.live)))]
            if pairs.hosts[pairs.host[pair]] in free and pairs.head(pair) in offer:
                return pair
        on_offer = [
            pair
            for pair in pairs.live
            if pairs.hosts[pairs.host[pair]] in free and pairs.head(pair) in offer
        ]
        return on_offer[int(self._rng.integers(len(on_offer)))]

    def _all_on(self, offer: Offer) -> bool:
        return len(offer) == len(self._stands_in) + len(self._seeds)

    def _probability(
        self, offer: Offer, link: LinkId, greedy: LinkId, epsilon: float
    ) -> float | None:
        """With which this link was taken; None where some hosts are busy, since the pairs on offer
        are then not counted."""
        pairs = self.pairs
        if not self._all_on(offer):
            return None
        ways = pairs.gives(link, self._stands_in[link].values())
        return (1 - epsilon) * (link == greedy) + epsilon * ways / len(pairs.live)

    def learn(self, outcome: Outcome) -> None:
        link, page, judgement = outcome.choice.link, outcome.page, outcome.judgement
        taken = self._in_flight.pop(link, ())
        seen, self._pending = self._pending, None
        if page is None or judgement is None:
            return  # nothing was seen: neither reward nor state
        self._read(page)
        if seen is not None and seen.parent != link:
            seen = None
        near, words = self.relevance.of_page(page.title, page.text, seen)
        visit, reward = self._visit(link, near, judgement.relevant)  # Alg. 1 line 24
        found = self._actions(link, visit, seen, words)  # Alg. 1 lines 25-31
        if taken:
            state, action = taken
            self._update(state, action, reward, visit, found)
        self._add(visit, found)

    # -- one page

    def _visit(self, link: LinkId, near: Tenths, relevant: bool) -> tuple[Visit, float]:
        """The state of a fetched page, near to topic and categories as given; its reward."""
        (tenths, relevance), rows = near, self.parents.rows
        row = rows[link] if link < len(rows) else Parents.EMPTY
        count, _, _, _, before, nearest, _, digits = row
        if not count:
            before = relevance
        weighted = self._beta * relevance + (1 - self._beta) * before
        distance = 0 if relevant else min(FARTHEST, nearest + 1)
        of_topic, of_categories = divmod(tenths, self._above // 10)
        key = 10 * of_topic + change_bucket(relevance - before, *self._deltas)
        key = key * (self._above // 10) + of_categories
        state = self.values.states[1000 * key + 10 * digits + distance]
        visit = Visit(state, relevant, relevance, weighted, distance)
        wanted, near_1, near_2, other = self._rewards
        if relevant:
            return visit, wanted
        if relevance > self._nearly[0]:
            return visit, near_1
        return visit, near_2 if relevance > self._nearly[1] else other

    def _actions(
        self, parent: LinkId, visit: Visit, seen: InLinks | None, words: Sequence[int]
    ) -> list[Found]:
        """The unvisited outlinks, in page order; the page is now a parent of each."""
        if seen is None:
            return []
        actions, stands_in, predicted = self.values.actions, self._stands_in, self.relevance.tenths
        self.parents.reach(max(seen.links))
        of_parents = self.parents.add(seen.links, parent, visit)
        found: list[Found] = []
        for link, host, number, digits, changed in zip(
            seen.links, seen.hosts, words, *of_parents, strict=True
        ):
            if link in stands_in:
                if changed:
                    self._move(link, digits)
            elif link in self._in_flight or link in self._seeds:
                continue
            elif self._nearest:
                self._orders.setdefault(link, -self.relevance.cosines[number])
            key = predicted[number]
            found.append((link, host, key, actions[100 * key + digits]))
        return found

    def _move(self, link: LinkId, digits: int) -> None:
        """The link's parents are others now: it leaves its pairs for those of its new action."""
        pairs, actions = self.pairs, self.values.actions
        stands_in = self._stands_in[link]
        self._leave(link, stands_in.values())
        for packed, pair in stands_in.items():
            state, key = divmod(packed, self._above)
            action = actions[100 * key + digits]
            stands_in[packed] = pairs[pairs.of(state, pairs.host[pair]) + action]
        order = self._orders.get(link, 0.0)
        for pair in stands_in.values():
            if not pairs.enter(pair, link, order) and self._queue is not None:
                self._push(pair)

    def _update(
        self, state: int, action: int, reward: float, visit: Visit, found: Sequence[Found]
    ) -> None:
        """One step of learning from (s, a), r and s'."""
        values, alpha, gamma = self.values, self._alpha, self._gamma
        q = values.f(state) + values.g(action)
        if visit.relevant:  # Alg. 1 line 32
            values.step(state, action, alpha * (reward - q))  # Alg. 1 line 33
            return
        q_next = 0.0  # nothing leads on from a page without unvisited outlinks
        if found:  # Alg. 1 line 35
            if self._rng.random() < self._epsilon:
                chosen = values.g(found[int(self._rng.integers(len(found)))][-1])
            else:
                chosen = max(values.g_of({its_action for _, _, _, its_action in found}))
            q_next = values.f(visit.state) + chosen
        delta = reward + gamma * q_next - q  # Alg. 1 line 36
        if self._update_kind == "moderated":
            target = reward + gamma * (q_next - delta)  # eq. (4), Alg. 1 line 38
            values.step(state, action, alpha * (target - q))
        else:
            values.step(state, action, alpha * delta)  # eq. (3), Alg. 1 line 37

    def _add(self, visit: Visit, found: Sequence[Found]) -> None:
        """Each outlink into B under the state of the page."""  # Alg. 1 lines 44-47
        pairs, stands_in, orders = self.pairs, self._stands_in, self._orders
        state, above = visit.state, visit.state * self._above
        fresh: dict[int, int] = {}
        last: str | None = None
        base = 0
        for link, host, key, action in found:
            if host is not last:  # neighbours on a page often have one host
                last, base = host, pairs.of(state, pairs.host_number(host))
            pair = pairs[base + action]
            fresh[pair] = action
            its = stands_in.get(link)
            if its is None:
                stands_in[link] = {above + key: pair}
            elif above + key in its:
                continue
            else:
                its[above + key] = pair
            pairs.enter(pair, link, orders.get(link, 0.0) if orders else 0.0)
        if self._queue is not None and fresh:
            f, push = self.values.f(state), self._queue.push
            of_actions = self.values.g_of(fresh.values())
            for pair, g in zip(fresh, of_actions, strict=True):
                push(pair, pairs.hosts[pairs.host[pair]], f + g)

    # -- links and their pairs

    def _push(self, pair: int) -> None:
        """The pair waits with the Q of now."""
        pairs, values = self.pairs, self.values
        assert self._queue is not None
        q = values.f(pairs.state[pair]) + values.g(pairs.action[pair])
        self._queue.push(pair, pairs.hosts[pairs.host[pair]], q)

    def _take(self, link: LinkId) -> None:
        """The link leaves B."""
        self._orders.pop(link, None)
        self._leave(link, self._stands_in.pop(link).values())

    def _leave(self, link: LinkId, among: Iterable[int]) -> None:
        """The link leaves these pairs."""
        leave, queue = self.pairs.leave, self._queue
        for pair in among:
            if not leave(pair, link) and queue is not None:
                queue.discard(pair)

    # -- learning together, saving, explaining

    def share(self) -> State:
        """What its own steps have added to the weights, and the categories that some are of."""
        return {"added": self.values.w - self._first - self._told, "of": dict(self.categories)}

    def merge(self, others: Sequence[State]) -> None:
        """Go by the steps of others as well: each of them was made from weights that held, but for
        the newest, all of the others'. They take the place of what the others told before; what is
        its own, and what comes twice, counts once. Of a shard that goes by other categories those
        weights are left out. Open links keep the Q of their time, in the asynchronous method."""
        own = self.share()
        heard = [own["added"]]
        for state in others:
            added = np.array(state["added"])
            if state["of"] != own["of"]:
                added[["category" in name for name in self.values.features]] = 0.0
            if not any(np.array_equal(added, known) for known in heard):
                heard.append(added)
        self._told = np.sum([np.zeros_like(self._told), *heard[1:]], axis=0)
        self.values.set(self._first + own["added"] + self._told)

    def save(self) -> State:
        values = self.values
        return {
            "rng": generator_state(self._rng),
            "w": values.w,
            "told": self._told,
            "states": values.states.digits(),
            "actions": values.actions.digits(),
            "pairs": self.pairs.save(),
            "parents": self.parents.save(),
            "queue": None if self._queue is None else self._queue.save(),
            "seeds": list(self._seeds),
            "stands_in": [[link, *map(list, its.items())] for link, its in self._stands_in.items()],
            "orders": [[link, order] for link, order in self._orders.items()],
            "in_flight": [[link, *pair] for link, pair in self._in_flight.items()],
            "categories": dict(self.categories),
            "vectors": _packed(self.relevance.vectors) if self._learns_vectors else None,
            "texts": [" ".join(text) for text in self._texts_read],
            "pages": self._pages,
            "choices": self._choices,
        }

    def load(self, state: State) -> None:
        restore_generator(self._rng, state["rng"])
        self.values.set(state["w"])
        self._told = state.get("told", np.zeros_like(self._first))
        for keys, known in ((self.values.states, "states"), (self.values.actions, "actions")):
            list(map(keys.__getitem__, state[known].tolist()))
        self.pairs = Pairs.restored(state["pairs"], ranked=self._queue is None)
        self.parents.load(state["parents"])
        if self._queue is not None:
            self._queue.load(state["queue"])
        self._seeds = dict.fromkeys(state["seeds"])
        self._stands_in = {link: dict(its) for link, *its in state["stands_in"]}
        self._orders = {int(link): float(order) for link, order in state["orders"]}
        self._in_flight = {int(link): tuple(pair) for link, *pair in state["in_flight"]}
        self._pending = None
        self.categories = dict(state["categories"])
        vectors = self.relevance.vectors
        if self._learns_vectors:
            vectors = _unpacked(state["vectors"])
        self.relevance.look_through(self._texts(), vectors)
        self._texts_read = deque((text.split() for text in state["texts"]), maxlen=CORPUS)
        self._pages = state["pages"]
        self._choices = state["choices"]

    def model(self, **about: object) -> State:
        """What has been learned so far, for a task to begin with."""
        weights = {
            "w": self.values.w,
            "categories": dict(self.categories),
            "count": self._count,
            "vectors": _packed(self.relevance.vectors) if self._own_vectors else None,
        }
        return pack_model(
            "sarsa",
            features_of(self._encoding, self._count, self.categories),
            self._subject,
            weights,
            params={"encoding": self._encoding},
            relevance=self.relevance.source,
            **about,
        )

    def explain(self) -> Sequence[tuple[str, str, float]]:
        """Weights of the buckets, group by group; what relevance was measured by comes first."""
        measured_by = self._trained_by or self.relevance.source
        rows = [("relevance is measured by", measured_by, 1.0)]
        rows += [("category", f"{name}: {text}", 1.0) for name, text in self.categories.items()]
        values, w = self.values, self.values.w
        names = dict(enumerate(self.categories))
        for row, name in enumerate(values.features):
            field = names.get(int(name.rpartition(" ")[2])) if "category" in name else None
            of = "page" if row < values.state_digits else "link"
            group = f"{of}: {name}" + (f" ({field})" if field else "")
            weights = [
                (group, bucket, float(w[row, column]))
                for column, bucket in _buckets(name, self._encoding)
            ]
            rows += sorted(weights, key=lambda weight: -abs(weight[2]))
        return rows


# ------------------------------------------------------------- names of what is learned


_FIVE = ("0-.2", ".2-.4", ".4-.6", ".6-.8", ".8-1")
_SIX = ("0-.1", ".1-.3", ".3-.5", ".5-.7", ".7-.9", ".9-1")
_CHANGE = ("about as its ancestors", "more", "much more", "less", "much less")


def _buckets(name: str, encoding: str) -> list[tuple[int, str]]:
    """(column of the weights, what it stands for) of a feature."""
    single = name in ("change", "distance")
    if encoding == "index":
        return [(0, "bucket number")] if single else [(0, "of 5 buckets"), (5, "of 6 buckets")]
    if name == "change":
        return list(enumerate(_CHANGE))
    if name == "distance":
        return [(at, f"{at} from a relevant page") for at in range(10)]
    return list(enumerate((*_FIVE, *_SIX)))


def features_of(encoding: str, count: int, categories: Collection[str]) -> str:
    """What the weights of a model are over."""
    return f"han 2018, {encoding}, {count} categories: {', '.join(categories) or 'none found'}"


def _packed(vectors: Vectors | None) -> State | None:
    if vectors is None:
        return None
    return {"words": vectors.words(), "matrix": vectors.matrix, "source": vectors.source}


def _unpacked(state: State | None) -> Vectors | None:
    if state is None:
        return None
    return Vectors(state["words"], state["matrix"], source=state["source"])


def _learned(model: State | None) -> Vectors | None:
    """The vectors that the crawl of a model has learned, if it did."""
    return None if model is None else _unpacked(model["weights"]["vectors"])


def _background(path: str) -> list[list[str]]:
    if not path:
        return []
    try:
        return [tokens(line) for line in Path(path).read_text("utf-8", "replace").splitlines()]
    except OSError as error:
        raise InputError(f"cannot read background {path}: {error.strerror}") from error


def _one_of(name: str, value: str, among: Sequence[str]) -> None:
    if value not in among:
        raise InputError(f"sarsa: {name} is {value!r}; it is one of {', '.join(among)}")


# ------------------------------------------------------------- weights kept from task to task


def train(
    task: Task,
    webs: Sequence[KnownWeb],
    tell: Callable[[int, int], None] = lambda done, of: None,
    *,
    episodes: int = 10,
    pages: int = 0,
    update: str = "asynchronous",
    encoding: str = "one-hot",
    epsilon: float = 0.1,
    gamma: float = 0.9,
    alpha: float = 0.001,
    categories: int = 3,
    background: str = "",
) -> State:
    """Weights after `episodes` crawls of each web, of `pages` pages each (0: a quarter of it).

    From crawl to crawl all is made anew but the weights (section 4 of the paper). The other
    parameters are the policy's.
    """
    in_range("sarsa", episodes=(episodes, 1, math.inf), pages=(pages, 0, math.inf))
    params: dict[str, Any] = {
        "update": update,
        "encoding": encoding,
        "epsilon": epsilon,
        "gamma": gamma,
        "alpha": alpha,
        "categories": categories,
        "background": background,
    }
    model = task.model
    state: State = {}
    vectors = Recurring(task.vectors) if isinstance(task.vectors, Vectors) else None
    steps = episodes * len(webs)
    for step in range(steps):
        policy = Sarsa(Task(task.rng, task.topic, model, vectors=vectors), **params)
        web = webs[step % len(webs)]
        crawl_known(web, policy, pages or max(1, len(web.graph.urls) // 4))
        model = state = policy.model(episodes=step + 1, webs=[web.name for web in webs])
        tell(step + 1, steps)
    return state
