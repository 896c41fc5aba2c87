"""A small network for Q(s, a), learned by double deep Q-learning with replay.

van Hasselt, Guez and Silver (2016), "Deep reinforcement learning with double Q-learning", AAAI;
Kingma and Ba (2015), "Adam".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spoor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spoor.types import State

    Floats = NDArray[np.float64]


class Network:
    """inputs → hidden layers (ReLU) → one number; weights begin as He et al. (2015) draw them."""

    def __init__(self, sizes: Sequence[int], rng: np.random.Generator) -> None:
        self.weights: list[Floats] = []
        """(inputs, outputs) and (outputs,) of each layer in turn."""
        for inputs, outputs in zip((*sizes,), (*sizes[1:], 1), strict=True):
            self.weights.append(rng.normal(0.0, (2.0 / inputs) ** 0.5, (inputs, outputs)))
            self.weights.append(np.zeros(outputs))

    def values(self, x: Floats) -> Floats:
        """Q of many rows (n, inputs): (n,)."""
        return self._forward(x)[-1][:, 0]

    def _forward(self, x: Floats) -> list[Floats]:
        """The input and what each layer gives."""
        layers = [x]
        last = len(self.weights) - 2
        for index in range(0, len(self.weights), 2):
            z = layers[-1] @ self.weights[index] + self.weights[index + 1]
            layers.append(z if index == last else np.maximum(z, 0.0))
        return layers

    def gradients(self, x: Floats, goals: Floats) -> list[Floats]:
        """Of the mean of ½ (Q − goal)², laid out as `weights`."""
        layers = self._forward(x)
        error = (layers[-1] - goals[:, None]) / len(x)
        gradients: list[Floats] = []
        for index in range(len(self.weights) - 2, -1, -2):
            below = layers[index // 2]
            gradients[:0] = [below.T @ error, error.sum(axis=0)]
            error = (error @ self.weights[index].T) * (below > 0)
        return gradients


CANDIDATES = 32


class DoubleDqn:
    """Two networks, Adam, and transitions (x, reward, rows of the next candidates).

    `memory` transitions are kept, `batch` of them drawn for each step; of each at most
    `CANDIDATES` next rows. Every `copy` steps the second network becomes the first.
    """

    def __init__(
        self,
        inputs: int,
        hidden: Sequence[int],
        rng: np.random.Generator,
        *,
        gamma: float,
        alpha: float = 1e-3,
        batch: int = 60,
        copy: int = 500,
        memory: int = 5_000,
    ) -> None:
        if memory < 1 or copy < 1 or batch < 1:
            raise InputError("replay memory, batch and copy must be at least 1")
        self._rng = rng
        self._gamma = gamma
        self._alpha = alpha
        self._batch = batch
        self._copy = copy
        self.online = Network((inputs, *hidden), rng)
        self._target = Network((inputs, *hidden), rng)
        self._switch()
        self._moments = [np.zeros_like(w) for w in (*self.online.weights, *self.online.weights)]
        self._steps = 0
        self._x = np.zeros((memory, inputs))
        self._reward = np.zeros(memory)
        self._next = np.zeros((memory, CANDIDATES, inputs))
        self._count = np.zeros(memory, dtype=np.int64)
        self._seen = 0

    def remember(self, x: Floats, reward: float, candidates: Floats) -> None:
        """Store a transition; of too many candidates (n, inputs) only those with the best Q."""
        if len(candidates) > CANDIDATES:
            order = np.argsort(-self.online.values(candidates), kind="stable")
            candidates = candidates[order[:CANDIDATES]]
        slot = self._seen % len(self._x)
        self._x[slot], self._reward[slot], self._count[slot] = x, reward, len(candidates)
        self._next[slot] = 0.0
        self._next[slot, : len(candidates)] = candidates
        self._seen += 1

    def step(self) -> None:
        """Learn from a batch, drawn with replacement; nothing before one is full."""
        held = min(self._seen, len(self._x))
        if held < self._batch:
            return
        rows = self._rng.integers(held, size=self._batch)
        counts, after = self._count[rows], self._next[rows]
        # The first network says which candidate is best, the second what it is worth.
        flat = after.reshape(-1, after.shape[-1])
        q = self.online.values(flat).reshape(self._batch, -1)
        q[np.arange(CANDIDATES)[None, :] >= counts[:, None]] = -np.inf
        best = after[np.arange(self._batch), q.argmax(axis=1)]
        future = np.where(counts > 0, self._target.values(best), 0.0)
        goals = self._reward[rows] + self._gamma * future
        self._adam(self.online.gradients(self._x[rows], goals))
        if self._steps % self._copy == 0:
            self._switch()

    def _adam(self, gradients: list[Floats]) -> None:
        self._steps += 1
        beta1, beta2, epsilon = 0.9, 0.999, 1e-8
        size = len(gradients)
        for index, (w, g) in enumerate(zip(self.online.weights, gradients, strict=True)):
            m, v = self._moments[index], self._moments[index + size]
            m += (1.0 - beta1) * (g - m)
            v += (1.0 - beta2) * (g * g - v)
            unbiased = np.sqrt(v / (1.0 - beta2**self._steps)) + epsilon
            w -= self._alpha * (m / (1.0 - beta1**self._steps)) / unbiased

    def _switch(self) -> None:
        self._target.weights = [w.copy() for w in self.online.weights]

    def save(self) -> State:
        held = min(self._seen, len(self._x))
        return {
            "online": self.online.weights,
            "target": self._target.weights,
            "moments": self._moments,
            "steps": self._steps,
            "x": self._x[:held],
            "reward": self._reward[:held],
            "next": self._next[:held],
            "count": self._count[:held],
            "seen": self._seen,
        }

    def load(self, state: State) -> None:
        self.online.weights = [np.array(w) for w in state["online"]]
        self._target.weights = [np.array(w) for w in state["target"]]
        self._moments = [np.array(m) for m in state["moments"]]
        self._steps = state["steps"]
        held = min(self._seen, len(self._x))  # all behind them is zero
        self._seen = state["seen"]
        for name in ("x", "reward", "next", "count"):
            array = getattr(self, f"_{name}")
            array[: len(state[name])] = state[name]
            array[len(state[name]) : held] = 0
