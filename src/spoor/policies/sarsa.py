"""On-line SARSA over generalised pages and links.

Han, Wuillemin and Senellart (2018), "Focused crawling through reinforcement learning", ICWE. The
file reads in the order of the paper: features (section 3.1), linear values (eq. (2)), the frontier
B of state-action pairs (section 3.2), updates (eqs. (3), (4)), Algorithm 1. The synchronous method
chooses link for link what recomputing every value at every step would choose; why, and what the
paper leaves open, stands in docs/algorithms/sarsa.md.
"""

from __future__ import annotations

import heapq
from array import array
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from operator import getitem
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spoor.errors import InputError
from spoor.learn.categories import find_categories
from spoor.learn.episodes import crawl_known
from spoor.learn.model import pack_model, weights_of
from spoor.learn.queues import HostQueue
from spoor.learn.relevance import Relevance, Tenths, tenth
from spoor.learn.state import generator_state, restore_generator
from spoor.protocols import Offer
from spoor.text import Vectors, learn_vectors, tokens
from spoor.types import (
    NO_PARENT,
    Choice,
    Judgement,
    KnownWeb,
    LinkId,
    Outcome,
    Page,
    Sightings,
    State,
    Task,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

UPDATES = ("synchronous", "asynchronous", "moderated")
ENCODINGS = ("one-hot", "index")
WITHIN = ("oldest", "nearest")
FARTHEST = 9
GRID = 2.0**32
"""Weights are whole multiples of 1/GRID: every sum of them is exact, whatever its order."""
FIRST_VECTORS = 64
"""Pages after which vectors are learned from the crawl, and again whenever it is four times as
long."""
CORPUS = 2_000
CORPUS_WORDS = 500
DUMMY = 11
"""Column of the weights that stays 0."""


# ------------------------------------------------------------- section 3.1: features


def change_bucket(change: float, near: float, far: float) -> int:
    """Relevance change in 5 buckets: within `near` 0; more by up to `far` 1, by more than that 2;
    less by up to `far` 3, by more than that 4."""
    if abs(change) <= near:
        return 0
    if change > 0:
        return 1 if change <= far else 2
    return 3 if change >= -far else 4


Column = tuple[int, float, int, float]


def columns(feature: str, encoding: str) -> list[Column]:
    """For each digit of a feature its two weights and their x: (place, x, place, x).

    A relevance is one digit, its tenth, which holds both discretisations: of tenth k the five
    buckets (0-.2, …, .8-1) give k // 2, the six (0-.1, .1-.3, …, .9-1) give (k + 1) // 2. In
    `one-hot` every bucket has a weight and x = 1; in `index` every discretisation has one, and x is
    the bucket's number over the count of buckets.
    """
    one_hot = encoding == "one-hot"
    count = {"change": 5, "distance": 10}.get(feature)
    if count is not None:
        return [
            (min(k, count - 1), 1.0, DUMMY, 0.0) if one_hot else (0, k / count, DUMMY, 0.0)
            for k in range(10)
        ]
    return [
        (k // 2, 1.0, 5 + (k + 1) // 2, 1.0) if one_hot else (0, k // 2 / 5, 5, (k + 1) // 2 / 6)
        for k in range(10)
    ]


STATE = ("relevance", "change", "all parents", "relevant parents", "distance")
ACTION = ("relevance", "all parents", "relevant parents")


@dataclass(frozen=True, slots=True)
class Visit:
    """What a fetched page hands down to the links that it shows."""

    state: int
    """Number of its state."""
    relevant: bool
    relevance: float
    weighted: float
    """wrl: its relevance smoothed over its ancestors."""
    distance: int
    """From the last relevant page on the crawl path; 0 if it is relevant itself."""


class Parents:
    """Of every unvisited link, by number, what the pages that show it add up to."""

    FIELDS = ("count", "sum", "relevant", "relevant_sum", "weighted", "distance", "last", "digits")

    def __init__(self) -> None:
        self.count = array("q")
        self.sum = array("d")
        self.relevant = array("q")
        self.relevant_sum = array("d")
        self.weighted = array("d")
        self.distance = array("q")
        self.last = array("q")
        self.digits = array("q")
        """Mean relevance of all parents and of the relevant ones, as two digits; 0 without any."""

    def reach(self, link: LinkId) -> None:
        """Make room for links up to this one."""
        more = link + 1 - len(self.count)
        if more > 0:
            empty = {"distance": FARTHEST, "last": NO_PARENT}
            for name in self.FIELDS:
                column = getattr(self, name)
                column.extend(array(column.typecode, [empty.get(name, 0)]) * more)

    def add(self, link: LinkId, parent: LinkId, visit: Visit) -> int:
        """A page shows the link; a page that shows it twice is one parent. Returns its digits."""
        if self.last[link] == parent:
            return self.digits[link]
        self.last[link] = parent
        count = self.count[link] = self.count[link] + 1
        total = self.sum[link] = self.sum[link] + visit.relevance
        if visit.relevant:
            self.relevant[link] += 1
            self.relevant_sum[link] += visit.relevance
        relevant = self.relevant[link]
        if visit.weighted > self.weighted[link]:
            self.weighted[link] = visit.weighted
        if visit.distance < self.distance[link]:
            self.distance[link] = visit.distance
        digits = 10 * tenth(total / count)
        if relevant:
            digits += tenth(self.relevant_sum[link] / relevant)
        self.digits[link] = digits
        return digits

    def save(self) -> State:
        return {name: np.array(getattr(self, name)) for name in self.FIELDS}

    def load(self, state: State) -> None:
        for name in self.FIELDS:
            kind = getattr(self, name).typecode
            setattr(self, name, array(kind, state[name].tolist()))


# ------------------------------------------------------------- eq. (2): linear values


class Values:
    """q̂(s, a, w) = w · x(s, a) = f(s) + g(a), for states and actions by number.

    A number stands for one distinct discretised state (or action). One table of ten values a digit
    holds all that f and g need, so a value is a sum of 8 + 2c table entries. On the grid of
    weights these sums are exact, and equal values are equal bit for bit.
    """

    def __init__(self, categories: int, encoding: str) -> None:
        fields = [f"category {at}" for at in range(categories)]
        state = [*STATE[:2], *fields, *STATE[2:]]
        action = [ACTION[0], *fields, *ACTION[1:]]
        self.features = (*state, *action)
        """In the order of the digits, those of the state first."""
        self.state_digits, self.action_digits = len(state), len(action)
        self._exact = encoding == "one-hot"  # then x is 1, and w · x stands on the grid
        self._columns = [columns(feature, encoding) for feature in self.features]
        # (digit, weights it shares) of the digits that share a weight with each digit of a feature.
        self._sharing = [[_sharing(rows, digit) for digit in range(10)] for rows in self._columns]
        self.states = _Keys(len(state))
        self.actions = _Keys(len(action))
        self.set(np.zeros((len(state) + len(action), DUMMY + 1)))

    @property
    def w(self) -> NDArray[np.float64]:
        """The weights: a row a feature, the five buckets and the six of a relevance."""
        return np.array(self._w)

    def set(self, w: NDArray[np.float64]) -> None:
        """Go on with these weights."""
        self._w: list[list[float]] = w.tolist()
        self._table = [[0.0] * 10 for _ in self._w]
        for row in range(len(self._w)):
            self._tabulate(row)
        self._of_state = self._table[: self.state_digits]
        self._of_action = self._table[self.state_digits :]

    def begin(self, prior: float) -> None:
        """Weights to begin with: a link whose words are near to the topic is worth up to `prior`,
        half by each discretisation, and all else nothing."""
        w = self.w
        buckets = ([at / 4 for at in range(5)], [at / 5 for at in range(6)])
        if not self._exact:
            buckets = ([5 / 4], [6 / 5])  # x is at most 4/5 and 5/6 there
        for first, shares in zip((0, 5), buckets, strict=True):
            for at, share in enumerate(shares):
                w[self.state_digits, first + at] = _to_grid(prior / 2 * share)
        self.set(w)

    def _tabulate(self, row: int) -> None:
        """What the digits of one feature add to a value."""
        w, table = self._w[row], self._table[row]
        for digit, (first, x_first, second, x_second) in enumerate(self._columns[row]):
            table[digit] = _to_grid(w[first] * x_first) + _to_grid(w[second] * x_second)

    def f(self, state: int) -> float:
        """The state's part of a value."""
        return sum(map(getitem, self._of_state, self.states.digits[state]))

    def g(self, action: int) -> float:
        """The action's part of a value."""
        return sum(map(getitem, self._of_action, self.actions.digits[action]))

    def step(self, state: int, action: int, amount: float) -> None:
        """w ← w + amount · ∇q̂(s, a, w), which is x(s, a)."""
        digits = (*self.states.digits[state], *self.actions.digits[action])
        amount = _to_grid(amount)
        for row, (w, digit) in enumerate(zip(self._w, digits, strict=True)):
            first, x_first, second, x_second = self._columns[row][digit]
            if self._exact:
                w[first] += amount
                w[second] += amount * x_second
                table = self._table[row]
                for shared, times in self._sharing[row][digit]:
                    table[shared] += times * amount
            else:
                w[first] = _to_grid(w[first] + amount * x_first)
                w[second] = _to_grid(w[second] + amount * x_second)
                self._tabulate(row)

    def all_f(self) -> NDArray[np.float64]:
        """f of every state known."""
        return self.states.sums(np.array(self._of_state))

    def all_g(self) -> NDArray[np.float64]:
        """g of every action known."""
        return self.actions.sums(np.array(self._of_action))


class _Keys:
    """Distinct feature vectors by number, in the order of their first sight."""

    def __init__(self, width: int, keys: Sequence[int] = ()) -> None:
        self._width = width
        self._number: dict[int, int] = {}
        self.digits: list[tuple[int, ...]] = []
        # Three digits together index one table of a thousand sums.
        self._threes = -(-width // 3)
        self._parts = [array("q") for _ in range(self._threes)]
        for key in keys:
            self.number(key)

    def number(self, key: int) -> int:
        """Of the vector whose digits `key` has in decimal."""
        known = self._number.get(key)
        if known is None:
            known = self._number[key] = len(self.digits)
            self.digits.append(tuple(map(int, f"{key:0{self._width}d}")))
            for part in reversed(self._parts):
                key, three = divmod(key, 1000)
                part.append(three)
        return known

    def sums(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """For each vector the sum over its digits of table[place, digit]; table (width, 10)."""
        padded = np.zeros((3 * self._threes, 10))
        padded[3 * self._threes - self._width :] = table
        a, b, c = padded.reshape(self._threes, 3, 10).transpose(1, 0, 2)
        tables = a[:, :, None, None] + b[:, None, :, None] + c[:, None, None, :]
        total: NDArray[np.float64] = np.zeros(len(self.digits))
        for three, part in zip(tables.reshape(self._threes, 1000), self._parts, strict=True):
            total += three.take(np.frombuffer(part, dtype=np.int64))
        return total

    def keys(self) -> NDArray[np.int64]:
        return np.fromiter(self._number, dtype=np.int64, count=len(self._number))


def _sharing(rows: Sequence[Column], digit: int) -> list[tuple[int, float]]:
    first, _, second, _ = rows[digit]
    shared = [
        (other, float((row[0] == first) + (row[2] == second != DUMMY)))
        for other, row in enumerate(rows)
    ]
    return [(other, times) for other, times in shared if times]


def _to_grid(weight: float) -> float:
    return round(weight * GRID) / GRID


# ------------------------------------------------------------- section 3.2: the frontier B


class Pairs:
    """B: (s, a) pairs with the links that share them, in the order of their first entry.

    Pairs are kept by host, so that one whose host is busy costs nothing. A link stands in as many
    pairs as there are distinct (s, a) that its parents give it.
    """

    def __init__(self) -> None:
        self._number: dict[tuple[int, int, int], int] = {}
        self.state = array("q")
        self.action = array("q")
        self.host = array("q")
        self.hosts: list[str] = []
        self._host_number: dict[str, int] = {}
        self._links: list[list[tuple[float, LinkId]]] = []
        self.size = array("q")
        # Pairs that hold a link, and where each stands among them.
        self.live = array("q")
        self._live_state, self._live_action, self._live_host = array("q"), array("q"), array("q")
        self._place = array("q")
        # Entries that stand in a heap, but whose links have moved to another pair.
        self._moved: set[tuple[int, LinkId]] = set()
        self.waiting: dict[LinkId, int] = {}
        """Host number of every link in B."""

    def host_number(self, name: str) -> int:
        number = self._host_number.get(name)
        if number is None:
            number = self._host_number[name] = len(self.hosts)
            self.hosts.append(name)
        return number

    def number(self, state: int, action: int, host: int) -> int:
        """Of a pair, entered where it is new."""
        key = (state, action, host)
        known = self._number.get(key)
        if known is None:
            known = self._number[key] = len(self._links)
            self.state.append(state)
            self.action.append(action)
            self.host.append(host)
            self._links.append([])
            self.size.append(0)
            self._place.append(-1)
        return known

    def enter(self, pair: int, link: LinkId, order: float) -> None:
        """A link joins a pair that it is not in; the least `order` leaves first, then the link
        discovered first."""
        if (pair, link) in self._moved:
            self._moved.remove((pair, link))
        else:
            heapq.heappush(self._links[pair], (order, link))
        self.size[pair] += 1
        if self.size[pair] == 1:
            self._revive(pair)

    def leave(self, pair: int, link: LinkId) -> None:
        """A link leaves a pair that it is in."""
        self.size[pair] -= 1
        if self.size[pair]:
            self._moved.add((pair, link))
            return
        for _, other in self._links[pair]:
            self._moved.discard((pair, other))
        self._links[pair].clear()
        place, end = self._place[pair], len(self.live) - 1
        self._place[self.live[end]] = place
        for column in (self.live, self._live_state, self._live_action, self._live_host):
            column[place] = column[end]
            column.pop()

    def _revive(self, pair: int) -> None:
        """Enter a pair among those that hold a link."""
        self._place[pair] = len(self.live)
        self.live.append(pair)
        self._live_state.append(self.state[pair])
        self._live_action.append(self.action[pair])
        self._live_host.append(self.host[pair])

    def head(self, pair: int) -> LinkId:
        """The link that a live pair gives."""
        links = self._links[pair]
        while True:
            link = links[0][1]
            if (pair, link) in self._moved:
                self._moved.remove((pair, link))
            elif link in self.waiting:
                return link
            heapq.heappop(links)

    def best(
        self, f: NDArray[np.float64], g: NDArray[np.float64], free: Collection[str] | None
    ) -> tuple[int, float]:
        """The live pair of the highest f[state] + g[action] whose host is free (None: all are),
        and that value; a tie goes to the pair that was entered first. LookupError if none is live.

        A few passes over the live pairs: two look-ups, an addition, the highest, its equals.
        """
        if not self.live:
            raise LookupError("no pair holds a link")
        values = f.take(np.frombuffer(self._live_state, dtype=np.int64))
        values += g.take(np.frombuffer(self._live_action, dtype=np.int64))
        if free is not None:
            busy = np.array([0.0 if name in free else -np.inf for name in self.hosts])
            values += busy.take(np.frombuffer(self._live_host, dtype=np.int64))
        highest = float(values.max())
        if highest == -np.inf:
            raise LookupError("no pair holds a link on offer")
        equal = np.flatnonzero(values == highest)
        return int(np.frombuffer(self.live, dtype=np.int64)[equal].min()), highest

    def save(self) -> State:
        """Links of each pair in the order they would leave."""
        flat = [
            sorted(
                entry
                for entry in links
                if entry[1] in self.waiting and (pair, entry[1]) not in self._moved
            )
            for pair, links in enumerate(self._links)
        ]
        return {
            "state": np.array(self.state),
            "action": np.array(self.action),
            "host": np.array(self.host),
            "hosts": list(self.hosts),
            "size": np.array(self.size),
            "links": np.array([link for links in flat for _, link in links], dtype=np.int64),
            "order": np.array([order for links in flat for order, _ in links], dtype=np.float64),
            "live": np.array(self.live),
            "waiting": np.array(list(self.waiting.items()), dtype=np.int64).reshape(-1, 2),
        }

    @classmethod
    def restored(cls, state: State) -> Pairs:
        """What `save` kept."""
        pairs = cls()
        for name in state["hosts"]:
            pairs.host_number(name)
        rows = zip(*(state[key].tolist() for key in ("state", "action", "host")), strict=True)
        for row in rows:
            pairs.number(*row)
        pairs.waiting = dict(state["waiting"].tolist())
        links = iter(zip(state["order"].tolist(), state["links"].tolist(), strict=True))
        for pair, size in enumerate(state["size"].tolist()):
            pairs.size[pair] = size
            pairs._links[pair] = [next(links) for _ in range(size)]
        for pair in state["live"].tolist():
            pairs._revive(pair)
        return pairs


class _Anywhere:
    """An offer of pairs: each that waits, where its host is free."""

    def __init__(self, offer: Offer) -> None:
        self._offer = offer

    def __len__(self) -> int:
        return len(self._offer)

    def __contains__(self, pair: object) -> bool:
        return True

    def draw(self, rng: np.random.Generator, k: int) -> Sequence[LinkId]:
        return self._offer.draw(rng, k)

    def hosts(self) -> Collection[str]:
        return self._offer.hosts()


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
        _between("epsilon", epsilon, 0.0, 1.0)
        _between("gamma", gamma, 0.0, 1.0)
        _between("alpha", alpha, 0.0, 1.0)
        _between("beta", beta, 0.0, 1.0)
        if len(rewards) != 4 or len(nearly) != 2:
            raise InputError("sarsa: rewards are four numbers, nearly two")
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
        _between("categories", count, 0, 12)
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
        self.pairs = Pairs()  # Alg. 1 line 3
        self.parents = Parents()
        # Asynchronous: pairs by the Q of their time.
        self._queue: HostQueue | None = None if update == "synchronous" else HostQueue()
        self._seeds: deque[LinkId] = deque()
        # Link → the (state, predicted digits) of its sightings, while it is in B.
        self._seen_as: dict[LinkId, list[int]] = {}
        self._stands_in: dict[LinkId, list[int]] = {}  # and its pair of each
        self._orders: dict[LinkId, float] = {}
        self._in_flight: dict[LinkId, tuple[int, int]] = {}
        self._pending: Sightings | None = None
        self._texts_read: deque[list[str]] = deque(maxlen=CORPUS)
        self._pages = 0
        self._choices = 0

    # -- what relevance is measured with

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

    def observe(self, seen: Sightings) -> None:
        if seen.parent == NO_PARENT:
            self._seeds.extend(  # Alg. 1 line 6
                link for link, first in zip(seen.links, seen.first, strict=True) if first
            )
        else:
            self._pending = seen  # whether their page is relevant, `learn` says

    def choose(self, offer: Offer) -> Choice:
        for link in self._seeds:  # Alg. 1 line 5
            if link in offer:
                self._seeds.remove(link)
                return Choice(link, 1.0)
        epsilon = self._epsilon
        if self._halving:
            epsilon *= 0.5 ** (self._choices / self._halving)
        self._choices += 1
        best = self._best(offer)
        pair = best
        if self._rng.random() < epsilon:  # Alg. 1 line 16
            pair = self._any(offer)  # Alg. 1 line 17
        link = self.pairs.head(pair)
        state, action = self.pairs.state[pair], self.pairs.action[pair]
        probability = self._probability(offer, link, self.pairs.head(best), epsilon)
        f, g = self.values.f(state), self.values.g(action)
        self._take(link)
        self._in_flight[link] = (state, action)
        why = (
            ("the page it stands on, and those before", f),
            ("its words and parents", g),
            (f"measured by {self.relevance.source}", 0.0),
        )
        return Choice(link, probability, why)

    def _best(self, offer: Offer) -> int:
        """The pair with the highest Q that has a link on offer."""  # Alg. 1 line 19
        pairs = self.pairs
        while True:
            if self._queue is None:
                free = None if self._all_on(offer) else offer.hosts()
                f, g = self.values.all_f(), self.values.all_g()  # Alg. 1 lines 40-43
                pair, _ = pairs.best(f, g, free)
            else:
                pair, _ = self._queue.peek(_Anywhere(offer))
            link = pairs.head(pair)
            if link in offer:
                return pair
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
        return len(offer) == len(self.pairs.waiting) + len(self._seeds)

    def _probability(
        self, offer: Offer, link: LinkId, greedy: LinkId, epsilon: float
    ) -> float | None:
        """With which this link was taken; None where some hosts are busy, since the pairs on offer
        are then not counted."""
        pairs = self.pairs
        if not self._all_on(offer):
            return None
        ways = sum(pairs.head(pair) == link for pair in self._stands_in[link])
        return (1 - epsilon) * (link == greedy) + epsilon * ways / len(pairs.live)

    def learn(self, outcome: Outcome) -> None:
        link, page, judgement = outcome.choice.link, outcome.page, outcome.judgement
        taken = self._in_flight.pop(link, None)
        seen, self._pending = self._pending, None
        if page is None or judgement is None:
            return  # nothing was seen: neither reward nor state
        self._read(page)
        if seen is not None and seen.parent != link:
            seen = None
        near, words = self.relevance.of_page(f"{page.title} {page.text}", seen)
        visit, reward = self._visit(link, near, judgement)  # Alg. 1 line 24
        found = self._actions(link, visit, seen, words)  # Alg. 1 lines 25-31
        if taken is not None:
            self._update(*taken, reward, visit, [action for _, _, _, action in found])
        self._add(visit, found)

    # -- one page

    def _visit(
        self, link: LinkId, near: Sequence[float], judgement: Judgement
    ) -> tuple[Visit, float]:
        """The state of a fetched page, near to topic and categories as given; its reward."""
        relevance = near[0]
        parents = self.parents
        known = link < len(parents.count) and parents.count[link] > 0
        before = parents.weighted[link] if known else relevance
        change = change_bucket(relevance - before, *self._deltas)
        weighted = self._beta * relevance + (1 - self._beta) * before
        distance = min(FARTHEST, (parents.distance[link] if known else FARTHEST) + 1)
        if judgement.relevant:
            distance = 0
        key = 10 * tenth(relevance) + change
        for category in near[1:]:
            key = 10 * key + tenth(category)
        key = 1000 * key + 10 * (parents.digits[link] if known else 0) + distance
        visit = Visit(
            self.values.states.number(key), judgement.relevant, relevance, weighted, distance
        )
        levels = (judgement.relevant, relevance > self._nearly[0], relevance > self._nearly[1])
        reward = next(
            (worth for level, worth in zip(levels, self._rewards, strict=False) if level),
            self._rewards[3],
        )
        return visit, reward

    def _actions(
        self, parent: LinkId, visit: Visit, seen: Sightings | None, words: Sequence[Tenths]
    ) -> list[tuple[LinkId, str, int, int]]:
        """(link, host, digits predicted from its words, number of its action) of each unvisited
        outlink, in page order; the page is now a parent of each."""
        if seen is None:
            return []
        pairs, parents, number = self.pairs, self.parents, self.values.actions.number
        parents.reach(max(seen.links))
        wait = set(self._seeds)
        found: list[tuple[LinkId, str, int, int]] = []
        for link, host, (key, near) in zip(seen.links, seen.hosts, words, strict=True):
            before = parents.digits[link]
            digits = parents.add(link, parent, visit)
            if link in pairs.waiting:
                if digits != before:
                    self._move(link)
            elif link in self._in_flight or link in wait:
                continue
            elif self._nearest:
                self._orders.setdefault(link, -near)
            found.append((link, host, key, number(100 * key + digits)))
        return found

    def _move(self, link: LinkId) -> None:
        """The link's parents are others now: it leaves its pairs for those of its new action."""
        old, new = self._stands_in[link], self._pairs_of(link)
        for pair in old:
            self._leave(pair, link)
        for pair in new:
            self._enter(pair, link)
        self._stands_in[link] = new

    def _update(
        self, state: int, action: int, reward: float, visit: Visit, actions: Sequence[int]
    ) -> None:
        """One step of learning from (s, a), r and s'."""
        values, alpha, gamma = self.values, self._alpha, self._gamma
        q = values.f(state) + values.g(action)
        if visit.relevant:  # Alg. 1 line 32
            values.step(state, action, alpha * (reward - q))  # Alg. 1 line 33
            return
        q_next = 0.0  # nothing leads on from a page without unvisited outlinks
        if actions:  # Alg. 1 line 35
            if self._rng.random() < self._epsilon:
                chosen = values.g(actions[int(self._rng.integers(len(actions)))])
            else:
                chosen = max(values.g(other) for other in dict.fromkeys(actions))
            q_next = values.f(visit.state) + chosen
        delta = reward + gamma * q_next - q  # Alg. 1 line 36
        if self._update_kind == "moderated":
            target = reward + gamma * (q_next - delta)  # eq. (4), Alg. 1 line 38
            values.step(state, action, alpha * (target - q))
        else:
            values.step(state, action, alpha * delta)  # eq. (3), Alg. 1 line 37

    def _add(self, visit: Visit, found: Sequence[tuple[LinkId, str, int, int]]) -> None:
        """Each outlink into B under the state of the page."""  # Alg. 1 lines 44-47
        pairs, values = self.pairs, self.values
        fresh: dict[int, None] = {}
        orders, above = self._orders, visit.state * self._above
        for link, host, key, action in found:
            number = pairs.waiting.get(link)
            if number is None:
                number = pairs.waiting[link] = pairs.host_number(host)
                self._seen_as[link] = []
                self._stands_in[link] = []
            pair = pairs.number(visit.state, action, number)
            seen_as, packed = self._seen_as[link], above + key
            if packed not in seen_as:
                seen_as.append(packed)
                self._stands_in[link].append(pair)
                pairs.enter(pair, link, orders.get(link, 0.0))
            fresh[pair] = None
        if self._queue is not None:
            f = values.f(visit.state)
            for pair in fresh:
                host = pairs.hosts[pairs.host[pair]]
                self._queue.push(pair, host, f + values.g(pairs.action[pair]))

    # -- links and their pairs

    def _pairs_of(self, link: LinkId) -> list[int]:
        pairs, actions = self.pairs, self.values.actions
        digits, host = self.parents.digits[link], pairs.waiting[link]
        return [
            pairs.number(state, actions.number(100 * key + digits), host)
            for state, key in (divmod(packed, self._above) for packed in self._seen_as[link])
        ]

    def _enter(self, pair: int, link: LinkId) -> None:
        pairs, values = self.pairs, self.values
        pairs.enter(pair, link, self._orders.get(link, 0.0))
        if self._queue is not None and pair not in self._queue:
            q = values.f(pairs.state[pair]) + values.g(pairs.action[pair])
            self._queue.push(pair, pairs.hosts[pairs.host[pair]], q)

    def _leave(self, pair: int, link: LinkId) -> None:
        self.pairs.leave(pair, link)
        if self._queue is not None and not self.pairs.size[pair]:
            self._queue.discard(pair)

    def _take(self, link: LinkId) -> None:
        """The link leaves B."""
        del self.pairs.waiting[link], self._seen_as[link]
        self._orders.pop(link, None)
        for pair in self._stands_in.pop(link):
            self._leave(pair, link)

    # -- saving, explaining

    def save(self) -> State:
        values = self.values
        return {
            "rng": generator_state(self._rng),
            "w": values.w,
            "states": values.states.keys(),
            "actions": values.actions.keys(),
            "pairs": self.pairs.save(),
            "parents": self.parents.save(),
            "queue": None if self._queue is None else self._queue.save(),
            "seeds": list(self._seeds),
            "seen_as": [[link, packed] for link, packed in self._seen_as.items()],
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
        self.values.states = _Keys(self.values.state_digits, state["states"].tolist())
        self.values.actions = _Keys(self.values.action_digits, state["actions"].tolist())
        self.pairs = Pairs.restored(state["pairs"])
        self.parents.load(state["parents"])
        if self._queue is not None:
            self._queue.load(state["queue"])
        self._seeds = deque(state["seeds"])
        self._seen_as = {int(link): list(packed) for link, packed in state["seen_as"]}
        self._stands_in = {link: self._pairs_of(link) for link in self._seen_as}
        self._orders = {int(link): float(order) for link, order in state["orders"]}
        self._in_flight = {int(link): (s, a) for link, s, a in state["in_flight"]}
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


def _between(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise InputError(f"sarsa: {name} is {value}; it lies between {least:g} and {most:g}")


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
    steps = episodes * len(webs)
    for step in range(steps):
        policy = Sarsa(Task(task.rng, task.topic, model, vectors=task.vectors), **params)
        web = webs[step % len(webs)]
        crawl_known(web, policy, pages or max(1, len(web.graph.urls) // 4))
        model = state = policy.model(episodes=step + 1, webs=[web.name for web in webs])
        tell(step + 1, steps)
    return state
