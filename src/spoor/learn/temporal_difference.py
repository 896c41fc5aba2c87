"""State values by TD(λ): a network over binary features, its eligibility traces, random walks.

Gradient-descent TD(λ) of Sutton and Barto, Reinforcement Learning (1998), section 8.2, for a
network with at most one hidden layer, as Grigoriadis and Paliouras (2004, section 4) use it. All
weights are in one vector, so that traces are one vector too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spoor.distribution import import_extra

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spoor.types import State, WebGraph

    Floats = NDArray[np.float64]
    Ones = NDArray[np.int32]

CURVE = 25
"""Points of a learning curve."""


class Network:
    """V(x) = c + v · tanh(b + Σ_i W_i) over the features i that are 1 in x; with `hidden` 0 linear,
    V(x) = c + Σ_i W_i.

    W begins uniform in ±1/√(features), everything else at 0, so that every value begins at 0.
    """

    def __init__(self, features: int, hidden: int, rng: np.random.Generator) -> None:
        self.features = features
        self.hidden = hidden
        inputs = features * max(hidden, 1)
        self.weights: Floats = np.zeros(inputs + 2 * hidden + 1)
        """W row by row, b, v, c."""
        if hidden:
            self.weights[:inputs] = rng.uniform(-1.0, 1.0, inputs) / np.sqrt(max(features, 1))
        self._w, self._b, self._v = self._parts(self.weights)

    def _parts(self, flat: Floats) -> tuple[Floats, Floats, Floats]:
        """W (features, units), b and v (hidden,) as views of a vector of weights or traces."""
        inputs = self.features * max(self.hidden, 1)
        return (
            flat[:inputs].reshape(self.features, max(self.hidden, 1)),
            flat[inputs : inputs + self.hidden],
            flat[inputs + self.hidden : -1],
        )

    def value(self, ones: Ones) -> float:
        """V of one state, given the numbers of its features that are 1. O(len(ones) · hidden)."""
        summed = np.add.reduce(self._w[ones], axis=0)
        if not self.hidden:
            return float(summed[0] + self.weights[-1])
        return float(np.tanh(summed + self._b) @ self._v + self.weights[-1])

    def values(self, states: Sequence[Ones]) -> Floats:
        """V of many states."""
        return np.array([self.value(ones) for ones in states])

    def add_gradient(self, ones: Ones, trace: Floats) -> float:
        """Add ∇V(x) to `trace`, which is laid out as `weights`; returns V(x)."""
        w, b, v = self._parts(trace)
        summed = np.add.reduce(self._w[ones], axis=0)
        trace[-1] += 1.0
        if not self.hidden:
            w[ones] += 1.0
            return float(summed[0] + self.weights[-1])
        unit = np.tanh(summed + self._b)
        back = self._v * (1.0 - unit * unit)
        w[ones] += back
        b += back
        v += unit
        return float(unit @ self._v + self.weights[-1])

    def save(self) -> State:
        return {"features": self.features, "hidden": self.hidden, "weights": self.weights.copy()}

    @classmethod
    def load(cls, state: State) -> Network:
        """The network that `save` was called on."""
        made = cls(int(state["features"]), int(state["hidden"]), np.random.default_rng(0))
        made.weights[:] = state["weights"]
        return made


class Learner:
    """TD(λ) on a network: `begin` before each episode, `step` for each move of it.

    `alpha` step size, `gamma` discount, `lam` decay of the traces; the last two in [0, 1].
    """

    def __init__(self, network: Network, *, alpha: float, gamma: float, lam: float) -> None:
        self.network = network
        self.alpha = alpha
        self.gamma = gamma
        self.lam = lam
        self.trace: Floats = np.zeros_like(network.weights)

    def begin(self) -> None:
        """Traces are zeroed at the start of an episode."""
        self.trace[:] = 0.0

    def step(self, state: Ones, reward: float, after: Ones | None) -> float:
        """Learn one move; `after` None is a terminal state, whose value is 0. Returns δ."""
        # δ = r + γ V(s') − V(s);  e ← γλ e + ∇V(s);  w ← w + α δ e
        future = 0.0 if after is None else self.gamma * self.network.value(after)
        self.trace *= self.gamma * self.lam
        delta = reward + future - self.network.add_gradient(state, self.trace)
        self.network.weights += (self.alpha * delta) * self.trace
        return delta


@dataclass(frozen=True, slots=True)
class Walks:
    """How a training walks a site."""

    episodes: int = 1_000
    steps: int = 10
    """Moves after which an episode is cut."""
    through: bool = False
    """Whether a walk goes on from a target; each visit of one is then rewarded."""


def learn_walks(
    learner: Learner,
    graph: WebGraph,
    roots: Sequence[int],
    states: Sequence[Ones],
    walks: Walks,
    rng: np.random.Generator,
    progress: Callable[[int], None] = lambda done: None,
) -> list[dict[str, Any]]:
    """Random walks over the links of a site, learned from move by move; each of its roots begins
    one in turn.

    A walk ends at a target (reward 1) unless `walks.through`, at a page without links (reward 0),
    or is cut after `walks.steps` moves, after which nothing more is learned from it: its last state
    keeps the value that it has. `states`: the features of each page that are 1.

    Returns the learning curve, at most `CURVE` points: {episode, reached: share of the walks since
    the last point that reached a target, td_error: their root mean square δ, error: root mean
    square distance of V to the exact values of `exact_values` over the pages that
    a walk can reach}.
    """
    targets = graph.targets.tolist()
    through = walks.through
    exact = exact_values(graph, learner.gamma, through=through)
    known = [
        page for page in walkable(graph, *roots, through=through) if through or not targets[page]
    ]
    shown = [states[page] for page in known]
    indptr, indices = graph.indptr.tolist(), graph.indices.tolist()
    curve: list[dict[str, Any]] = []
    squares, moves, reached, since = 0.0, 0, 0, 0
    points = {round(point) for point in np.linspace(0, walks.episodes, CURVE + 1)[1:]}
    for episode in range(1, walks.episodes + 1):
        learner.begin()
        page, hits = roots[(episode - 1) % len(roots)], 0
        for drawn in rng.random(walks.steps).tolist():
            begin, end = indptr[page], indptr[page + 1]
            if begin == end:
                delta = learner.step(states[page], 0.0, None)
                squares, moves = squares + delta * delta, moves + 1
                break
            after = indices[begin + int(drawn * (end - begin))]
            hit = targets[after]
            ends = hit and not through
            delta = learner.step(states[page], float(hit), None if ends else states[after])
            squares, moves, hits = squares + delta * delta, moves + 1, hits + hit
            if ends:
                break
            page = after
        reached += hits > 0
        if episode in points:
            off = learner.network.values(shown) - exact[known]
            curve.append(
                {
                    "episode": episode,
                    "reached": reached / (episode - since),
                    "td_error": float(np.sqrt(squares / max(moves, 1))),
                    "error": float(np.sqrt(np.mean(off * off))) if len(off) else 0.0,
                }
            )
            squares, moves, reached, since = 0.0, 0, 0, episode
        progress(episode)
    return curve


def exact_values(graph: WebGraph, gamma: float, *, through: bool = False) -> Floats:
    """V of every page under uniformly random links, by dynamic programming; 0 for pages without
    links, and for targets, where a walk ends unless it goes `through` them.

    V = P r + γ P V is iterated from 0 until no value moves by more than 10⁻¹²: O(arcs) a sweep.
    """
    (sparse,) = import_extra("lab", "exact values", "scipy.sparse")
    pages = len(graph.urls)
    degree = np.diff(graph.indptr)
    going = np.where((graph.targets & (not through)) | (degree == 0), 0.0, 1.0)
    chance = np.repeat(going / np.maximum(degree, 1), degree)
    moves = sparse.csr_matrix((chance, graph.indices, graph.indptr), shape=(pages, pages))
    soon: Floats = moves @ graph.targets.astype(np.float64)
    value = soon.copy()
    for _ in range(10_000):
        better: Floats = soon + gamma * (moves @ value)
        if np.abs(better - value).max(initial=0.0) <= 1e-12:
            break
        value = better
    return value


def walkable(graph: WebGraph, *roots: int, through: bool = False) -> list[int]:
    """Pages that a walk from one of the roots can reach, themselves included, in ascending order; a
    walk ends at a target unless it goes `through` them."""
    seen = set(roots)
    fresh = list(roots)
    while fresh:
        page = fresh.pop()
        for after in graph.indices[graph.indptr[page] : graph.indptr[page + 1]].tolist():
            if after not in seen:
                seen.add(after)
                if through or not graph.targets[after]:
                    fresh.append(after)
    return sorted(seen)
