"""Linear values of discretised states and actions, exact and all at once.

The values of Han, Wuillemin and Senellart (2018, section 3.1 and eq. (2)). A feature vector is a
row of digits, one a feature; each distinct vector has a number.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from operator import add, itemgetter
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

ENCODINGS = ("one-hot", "index")
GRID = 2.0**32
"""Weights are integer multiples of 1/GRID: every sum of them is exact, in any order."""
DUMMY = 11
"""Column of the weights that stays 0, the last."""
WIDTH = 12
STATE = ("relevance", "change", "all parents", "relevant parents", "distance")
ACTION = ("relevance", "all parents", "relevant parents")

Column = tuple[int, float, int, float]
Touches = tuple[tuple[int, ...], tuple[int, ...]]
"""Places of the table that move with a digit, or with all of a vector: by what its weights move,
and by twice that, where both of its weights are theirs too."""


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


class Values:
    """q̂(s, a, w) = w · x(s, a) = f(s) + g(a), for states and actions by number.

    One table of ten values a digit holds all that f and g need, so a value is a sum of 8 + 2c table
    entries. On the grid of weights these sums are exact, and equal values are equal bit for bit.
    """

    def __init__(self, categories: int, encoding: str) -> None:
        fields = [f"category {number}" for number in range(categories)]
        state = [*STATE[:2], *fields, *STATE[2:]]
        action = [ACTION[0], *fields, *ACTION[1:]]
        self.features = (*state, *action)
        """In the order of the digits, those of the state first."""
        self.state_digits = len(state)
        self._exact = encoding == "one-hot"  # then x is 1, and w · x is on the grid
        self._columns = [columns(feature, encoding) for feature in self.features]
        self.states = Keys(len(state), 0)
        self.actions = Keys(len(action), self.states.end)
        # Of each row of weights the first entry in the table.
        self._begins = [*self.states.begins, *self.actions.begins]
        self._table = [0.0] * self.actions.end
        # Of each place the places that move with it, by one of its weights or by both.
        self._once: list[tuple[int, ...]] = [()] * len(self._table)
        self._twice = self._once.copy()
        self._share()
        self.set(np.zeros((len(self.features), WIDTH)))

    @property
    def w(self) -> Floats:
        """The weights: a row a feature, the five buckets and the six of a relevance."""
        w = np.array(self._w).reshape(-1, WIDTH)
        for row, (columns, begin) in enumerate(zip(self._columns, self._begins, strict=True)):
            for (first, _, second, x), moved in zip(columns, self._moved[begin:], strict=False):
                w[row, first] += moved
                w[row, second] += moved * x
        return w

    def set(self, w: Floats) -> None:
        """Go on with these weights."""
        self._w: list[float] = w.ravel().tolist()
        # One-hot: what steps have added since to the weights of each digit.
        self._moved = [0.0] * len(self._table)
        for row in range(len(self.features)):
            self._tabulate(row)

    def begin(self, prior: float) -> None:
        """Weights to begin with: a link whose words are near to the topic is worth up to `prior`,
        half by each discretisation, and all else nothing."""
        w = self.w
        buckets = ([index / 4 for index in range(5)], [index / 5 for index in range(6)])
        if not self._exact:
            buckets = ([5 / 4], [6 / 5])  # x is at most 4/5 and 5/6 there
        for first, shares in zip((0, 5), buckets, strict=True):
            for index, share in enumerate(shares):
                w[self.state_digits, first + index] = _to_grid(prior / 2 * share)
        self.set(w)

    def _tabulate(self, row: int) -> None:
        """What the digits of one feature add to a value."""
        w, offset = self._w, row * WIDTH
        for place, (first, x_first, second, x_second) in enumerate(
            self._columns[row], self._begins[row]
        ):
            self._table[place] = _to_grid(w[offset + first] * x_first) + _to_grid(
                w[offset + second] * x_second
            )

    def f(self, state: int) -> float:
        """The state's part of a value."""
        return sum(self.states.read[state](self._table))

    def g(self, action: int) -> float:
        """The action's part of a value."""
        return sum(self.actions.read[action](self._table))

    def g_of(self, actions: Iterable[int]) -> list[float]:
        """The same of many actions."""
        read, table = self.actions.read, self._table
        return [sum(read[action](table)) for action in actions]

    def step(self, state: int, action: int, amount: float) -> None:
        """w ← w + amount · ∇q̂(s, a, w), which is x(s, a)."""
        w, table, moved = self._w, self._table, self._moved
        amount = _to_grid(amount)
        if self._exact:
            twice = 2 * amount
            for keys, number in ((self.states, state), (self.actions, action)):
                one_shared, both_shared = keys.touches.get(number) or self._touched_by(keys, number)
                for entry in keys.places[number]:
                    moved[entry] += amount
                for entry in one_shared:
                    table[entry] += amount
                for entry in both_shared:
                    table[entry] += twice
            return
        for row, place in enumerate(self.states.places[state] + self.actions.places[action]):
            first, x_first, second, x_second = self._columns[row][place - self._begins[row]]
            for column, x in ((first, x_first), (second, x_second)):
                entry = row * WIDTH + column
                w[entry] = _to_grid(w[entry] + amount * x)
            self._tabulate(row)

    def _touched_by(self, keys: Keys, number: int) -> Touches:
        """What a step in a vector moves, all of its digits together."""
        places = keys.places[number]
        once, twice = map(self._once.__getitem__, places), map(self._twice.__getitem__, places)
        touched = keys.touches[number] = tuple(chain(*once)), tuple(chain(*twice))
        return touched

    def _share(self) -> None:
        """Of each place in the table the places that share one of its weights, and both."""
        for rows, begin in zip(self._columns, self._begins, strict=True):
            own = [{first, second} - {DUMMY} for first, _, second, _ in rows]
            for digit, weights in enumerate(own):
                shared = [len(weights & others) for others in own]
                for places, count in ((self._once, 1), (self._twice, 2)):
                    places[begin + digit] = tuple(
                        begin + index for index, n in enumerate(shared) if n == count
                    )

    def all(self) -> tuple[Floats, Floats]:
        """f of every state known, and g of every action known."""
        first, second, third = np.array(self._table).reshape(-1, 3, 10).transpose(1, 0, 2)
        last = (second[:, :, None] + third[:, None]).reshape(-1, 1, 100)
        sums = (first[:, :, None] + last).reshape(-1, 1000)
        threes = self.states.end // 30
        return self.states.sums(sums[:threes]), self.actions.sums(sums[threes:])


class Keys(dict[int, int]):
    """Distinct feature vectors by number, in the order of their first use: `keys[key]` is the
    number of the vector whose decimal digits are `key`, added where it is new.

    Their digits have places in a table of ten entries a digit from place `begin` to `end`. Three
    digits together index a table of a thousand sums; `width` is padded to a multiple of three.
    """

    def __init__(self, width: int, begin: int) -> None:
        super().__init__()
        self._width = width
        threes = -(-width // 3)
        self.end = begin + 30 * threes
        self.begins = range(self.end - 10 * width, self.end, 10)
        """Places of the digits 0."""
        self.places: list[tuple[int, ...]] = []
        self.read: list[Callable[[Sequence[float]], tuple[float, ...]]] = []
        """What a table has at the places of each."""
        self.touches: dict[int, Touches] = {}
        """What a step moves, of those that one was made in."""
        self._parts = [array("q") for _ in range(threes)]

    def __missing__(self, key: int) -> int:
        number = self[key] = len(self.places)
        places = tuple(map(add, self.begins, map(int, f"{key:0{self._width}d}")))
        self.places.append(places)
        self.read.append(itemgetter(*places))
        for part in reversed(self._parts):
            key, three = divmod(key, 1000)
            part.append(three)
        return number

    def sums(self, of_threes: Floats) -> Floats:
        """For each vector the sum of its threes; (threes, 1000)."""
        first, *rest = (np.frombuffer(part, dtype=np.int64) for part in self._parts)
        total: Floats = of_threes[0].take(first)
        for three, part in zip(of_threes[1:], rest, strict=True):
            total += three.take(part)
        return total

    def digits(self) -> NDArray[np.int64]:
        """Of each vector, as one decimal number."""
        return np.fromiter(self, dtype=np.int64, count=len(self))


def _to_grid(weight: float) -> float:
    return round(weight * GRID) / GRID
