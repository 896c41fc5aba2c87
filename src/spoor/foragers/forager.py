"""One forager: its frontier, its path, its weights and its weblog."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spoor.foragers.settings import FleetSettings
from spoor.foragers.weblog import Weblog
from spoor.types import State
from spoor.watching.known_urls import Known


class Frontier:
    """URLs that may be the next step: a set in an array, so that all values are one product."""

    def __init__(self, urls: Sequence[int] = ()) -> None:
        self._array = np.zeros(max(256, len(urls)), dtype=np.int64)
        self._array[: len(urls)] = urls
        self._size = len(urls)
        self._inside = set(urls)

    def __len__(self) -> int:
        return self._size

    def add(self, urls: Sequence[int], visited: set[int]) -> None:
        """Those that are neither in it nor visited."""
        inside = self._inside
        new = [url for url in urls if url not in inside and url not in visited]
        end = self._size + len(new)
        if end > len(self._array):
            grown = np.zeros(2 * end, dtype=np.int64)
            grown[: self._size] = self._array[: self._size]
            self._array = grown
        self._array[self._size : end] = new
        self._size = end
        inside.update(new)

    def take_best(self, states: NDArray[np.float32], weight: NDArray[np.float32]) -> int:
        """Algorithm 3, and the URL leaves; of equal values the first in the array's order."""
        index = int(np.argmax(states[self._array[: self._size]] @ weight))
        return self._take(index)

    def _take(self, index: int) -> int:
        url = int(self._array[index])
        self._size -= 1
        self._array[index] = self._array[self._size]
        self._inside.remove(url)
        return url

    def urls(self) -> list[int]:
        """In the array's order."""
        inside: list[int] = self._array[: self._size].tolist()
        return inside


class Forager:
    """A forager as Algorithm 10 makes it: the next step begins a path."""

    def __init__(
        self,
        number: int,
        weblog: Weblog,
        weight: NDArray[np.float32],
        settings: FleetSettings,
        score: float,
    ) -> None:
        self.number = number
        self.weblog = weblog
        self.weight = weight
        self.score = score
        self.steps = settings.max_step + 1  # Alg. 10: start new path
        self.frontier = Frontier()
        self.visited: set[int] = set()
        self.path: list[int] = []
        self.rewards: list[float] = []
        self.marked: dict[int, int] = {}
        """previousPages of Algorithm 5: URL → its newest version, 0 where all are one document."""
        self.last_step = -1
        """URL_n of Algorithm 4; −1 where no step of this path has ended."""
        self._settings = settings

    # -- Algorithm 11

    def select(
        self, known: Known, starts: Sequence[int], choose: Callable[[Sequence[int]], int]
    ) -> int:
        """The URL to be visited next. `starts` are the starting URLs of a fleet without weblog
        update; `choose` takes the one of several at which a path begins.

        A path ends early where its frontier is empty, which the paper leaves open.
        """
        settings = self._settings
        if self.steps <= settings.max_step and len(self.frontier):
            step = self.frontier.take_best(known.states, self.weight)
            self.steps += 1
        else:
            if settings.weblog:
                self.weblog.update(self.path, self.rewards, settings)  # Alg. 1
                starts = self.weblog.starts(settings.start_size)
            step = choose(starts)
            self.steps = 1
            self.frontier = Frontier()
            self.visited = set()
            self.path, self.rewards = [], []
            self.last_step = -1
        # Alg. 12: visited ← add step
        self.visited.add(step)
        return step

    # -- what Algorithm 12 does once the pages of a step are there

    def new_documents(self, known: Known, pages: Sequence[int], now: float) -> list[int]:
        """Algorithm 5: pages not older than 24 hours that it has not marked before; marks them."""
        new_for, marked = self._settings.new_for, self.marked
        by_version = self._settings.identity == "version"
        relevant = []
        for page in pages:
            version = known.version[page] if by_version else 0
            if marked.get(page) != version and known.fresh(page, now, new_for):
                marked[page] = version
                relevant.append(page)
        return relevant

    def reinforce(self, known: Known, step: int, reward: float) -> None:
        """The step has ended and brought this; with learning, Algorithm 4.

        The first step of a path has no step before it, and nothing is learned from it. A state s
        whose |s|² is above 1/α is learned from by steps of 1/|s|²: larger ones go beyond what was
        found, and from 2/α on the weights grow without end.
        """
        self.path.append(step)
        self.rewards.append(reward)
        previous, self.last_step = self.last_step, step
        if not self._settings.learns or previous < 0:
            return
        states, settings = known.states, self._settings
        current = states[previous]
        value_next = float(states[step] @ self.weight)
        value_current = float(current @ self.weight)
        delta = reward + settings.gamma * value_next - value_current
        alpha = min(settings.alpha, 1.0 / max(float(current @ current), 1e-12))
        self.weight = self.weight + np.float32(alpha * delta) * current

    # -- Algorithm 6

    def multiply(self, number: int, rng: np.random.Generator) -> Forager:
        """A child: half of the weblog, and the weights, copied if it learns, else drawn at random.

        Without weblog update all foragers share their starting URLs (section 4.2.1), so nothing
        is divided.
        """
        settings = self._settings
        weblog = self.weblog.divide(rng) if settings.weblog else Weblog({})
        weight = self.weight.copy() if settings.learns else random_weight(len(self.weight), rng)
        return Forager(number, weblog, weight, settings, settings.init_score)

    # -- for good

    @property
    def learns(self) -> bool:
        """Whether its order of URLs is learned."""
        return self._settings.learns

    def held(self) -> set[int]:
        """Pages that it goes by."""
        return {*self.weblog.values, *self.frontier.urls(), *self.path, self.last_step} - {-1}

    def leave(self, left: Collection[int]) -> None:
        """Pages are known no more, none of which is held."""
        self.visited.difference_update(left)
        for url in left:
            self.marked.pop(url, None)

    # -- durable

    def save(self) -> State:
        marked = np.array(sorted(self.marked.items()), dtype=np.int64).reshape(-1, 2)
        return {
            "number": self.number,
            "score": self.score,
            "steps": self.steps,
            "last_step": self.last_step,
            "weight": self.weight,
            "weblog_urls": list(self.weblog.values),
            "weblog_values": list(self.weblog.values.values()),
            "frontier": np.array(self.frontier.urls(), dtype=np.int64),
            "visited": np.array(sorted(self.visited), dtype=np.int64),
            "path": self.path,
            "rewards": self.rewards,
            "marked": marked,
            "learns": self._settings.learns,
        }

    @classmethod
    def revive(cls, state: State, settings: FleetSettings) -> Forager:
        """The forager that `save` was asked of."""
        entries: Any = zip(state["weblog_urls"], state["weblog_values"], strict=True)
        weight = np.array(state["weight"], dtype=np.float32)
        settings = replace(settings, learns=state["learns"])
        forager = cls(state["number"], Weblog(dict(entries)), weight, settings, state["score"])
        forager.steps = state["steps"]
        forager.last_step = state["last_step"]
        forager.frontier = Frontier(state["frontier"].tolist())
        forager.visited = set(state["visited"].tolist())
        forager.path = list(state["path"])
        forager.rewards = list(state["rewards"])
        forager.marked = dict(map(tuple, state["marked"].tolist()))
        return forager


def random_weight(size: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Weights of a forager that has none yet: uniform in [-1, 1], which the paper leaves open."""
    return rng.uniform(-1.0, 1.0, size).astype(np.float32)
