"""Section 3.2: B, the frontier of state-action pairs, and the choice from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from spoor.learn.known_links import knowing
from spoor.learn.priority_queue import PriorityQueue
from spoor.policies.sarsa.pairs import Pairs
from spoor.policies.sarsa.values import Values
from spoor.protocols import Offer
from spoor.types import LinkId, State

Action = tuple[LinkId, str, int, int]
"""An unvisited outlink: its number, its host, the digits predicted from its words, the number of
its action."""


class _Anywhere:
    """An offer of pairs: each that waits, where its host is free."""

    def __init__(self, offer: Offer) -> None:
        self._offer = offer
        self.draw, self.hosts = offer.draw, offer.hosts

    def __len__(self) -> int:
        return len(self._offer)

    def __contains__(self, pair: object) -> bool:
        return True


class Frontier:
    """Open links in the pairs that their parents give them, and the choice of a pair.

    `synchronous`: all values are current; else a pair waits with the Q of the time of its entry.
    `above`: the factor of a state in the numbers that pack it with predicted digits.
    """

    def __init__(self, values: Values, above: int, *, synchronous: bool) -> None:
        self.values = values
        self.pairs = Pairs(ranked=synchronous)  # Alg. 1 line 3
        # Asynchronous: pairs by the Q of their time.
        self._queue: PriorityQueue | None = None if synchronous else PriorityQueue()
        self._above = above
        # Of each link in B: the (state, predicted digits) of its in-links → the pair of each.
        self.pairs_of: dict[LinkId, dict[int, int]] = {}
        self.orders: dict[LinkId, float] = {}
        """Of links that do not leave their pairs in the order of discovery: the least first."""

    # -- Algorithm 1, lines 16 to 19

    def best(self, offer: Offer) -> tuple[int, LinkId]:
        """The pair with the highest Q that has a link on offer; and that."""  # Alg. 1 line 19
        pairs = self.pairs
        while True:
            if self._queue is None:
                free = None if len(offer) == len(self.pairs_of) else offer.hosts()
                pair = pairs.best(*self.values.all(), free)  # Alg. 1 lines 40-43
            else:
                pair, _ = self._queue.peek(_Anywhere(offer))
            link = pairs.head(pair)
            if link in offer:
                return pair, link
            self.take(link)  # gone without being chosen here: another was redirected to it

    def draw(self, offer: Offer, rng: np.random.Generator) -> int:
        """A pair with a link on offer, each as likely as the next."""
        pairs, free = self.pairs, offer.hosts()
        for _ in range(20):
            pair = pairs.live[int(rng.integers(len(pairs.live)))]
            if pairs.hosts[pairs.host[pair]] in free and pairs.head(pair) in offer:
                return pair
        on_offer = [
            pair
            for pair in pairs.live
            if pairs.hosts[pairs.host[pair]] in free and pairs.head(pair) in offer
        ]
        return on_offer[int(rng.integers(len(on_offer)))]

    def ways(self, link: LinkId) -> int:
        """Live pairs that give this link."""
        return self.pairs.gives(link, self.pairs_of[link].values())

    # -- Algorithm 1, lines 44 to 47

    def add(self, state: int, actions: Sequence[Action]) -> None:
        """Each outlink into B under the state of the page."""  # Alg. 1 lines 44-47
        pairs, pairs_of, orders = self.pairs, self.pairs_of, self.orders
        above = state * self._above
        fresh: dict[int, int] = {}
        last: str | None = None
        base = 0
        for link, host, key, action in actions:
            if host is not last:  # neighbours on a page often have one host
                last, base = host, pairs.of(state, pairs.host_number(host))
            pair = pairs[base + action]
            fresh[pair] = action
            its = pairs_of.get(link)
            if its is None:
                pairs_of[link] = {above + key: pair}
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

    def move(self, link: LinkId, digits: int) -> None:
        """The link's parents are others now: it leaves its pairs for those of its new action."""
        pairs, actions = self.pairs, self.values.actions
        pairs_of = self.pairs_of[link]
        self._leave(link, pairs_of.values())
        for packed, pair in pairs_of.items():
            state, key = divmod(packed, self._above)
            action = actions[100 * key + digits]
            pairs_of[packed] = pairs[pairs.of(state, pairs.host[pair]) + action]
        order = self.orders.get(link, 0.0)
        for pair in pairs_of.values():
            if not pairs.enter(pair, link, order) and self._queue is not None:
                self._push(pair)

    def _push(self, pair: int) -> None:
        """The pair waits with the Q of now."""
        pairs, values = self.pairs, self.values
        assert self._queue is not None
        q = values.f(pairs.state[pair]) + values.g(pairs.action[pair])
        self._queue.push(pair, pairs.hosts[pairs.host[pair]], q)

    def take(self, link: LinkId) -> None:
        """The link leaves B."""
        self.orders.pop(link, None)
        self._leave(link, self.pairs_of.pop(link).values())

    def _leave(self, link: LinkId, among: Iterable[int]) -> None:
        """The link leaves these pairs."""
        leave, queue = self.pairs.leave, self._queue
        for pair in among:
            if not leave(pair, link) and queue is not None:
                queue.discard(pair)

    def save(self) -> State:
        return {
            "pairs": self.pairs.save(),
            "queue": None if self._queue is None else self._queue.save(),
            "pairs_of": [[link, *map(list, its.items())] for link, its in self.pairs_of.items()],
            "orders": [[link, order] for link, order in self.orders.items()],
        }

    def load(self, state: State) -> None:
        self.pairs = Pairs.restored(state["pairs"], ranked=self._queue is None)
        if self._queue is not None:
            with knowing(self.pairs.host.__getitem__):  # what waits in it are pairs
                self._queue.load(state["queue"])
        self.pairs_of = {link: dict(its) for link, *its in state["pairs_of"]}
        self.orders = dict(state["orders"])
