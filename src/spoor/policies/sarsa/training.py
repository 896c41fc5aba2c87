"""Section 4: the weights pass from task to task."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from spoor.learn.parameters import in_range
from spoor.learn.relevance import Recurring
from spoor.learn.training_crawl import crawl_known
from spoor.policies.sarsa.policy import Sarsa
from spoor.types import KnownWeb, State, Task
from spoor.web.text import Vectors


def train(
    task: Task,
    webs: Sequence[KnownWeb],
    progress: Callable[[int, int], None] = lambda done, of: None,
    *,
    episodes: int = 10,
    pages: int = 0,
    update: str = "synchronous",
    encoding: str = "one-hot",
    epsilon: float = 0.1,
    gamma: float = 0.9,
    alpha: float = 0.001,
    categories: int = 3,
    background: str = "",
) -> State:
    """Weights after `episodes` crawls of each web, of `pages` pages each (0: a quarter of it).

    Each crawl starts afresh but for the weights (section 4 of the paper). The other
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
        progress(step + 1, steps)
    return state
