"""State values by temporal differences: how soon a wanted page follows a page.

Grigoriadis and Paliouras (2004), "Focused crawling using temporal difference-learning", SETN 2004.
A page is a state, a link an action; a network learns V of pages from random walks over sites known
whole (`spoor.learn.td`), and the crawl follows links by the values of pages. What differs from the
paper, and what it leaves open, stands in docs/algorithms/td-lambda.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from spoor.errors import InputError
from spoor.learn.keywords import Keywords, choose_keywords
from spoor.learn.model import pack_model, weights_of
from spoor.learn.queues import HostQueue
from spoor.learn.td import Learner, Network, Walks, learn_walks, walkable
from spoor.protocols import Offer
from spoor.text import STOP_WORDS, tokens
from spoor.types import Choice, KnownWeb, LinkId, Outcome, Page, Sightings, State, Task

NAME = "td-lambda"
FEATURES = "keywords of title and text, present or not"
SCORINGS = ("inherit", "look-ahead")


def words_of(page: Page) -> set[str]:
    """Distinct words of title and text that may be keywords."""
    return {
        word
        for word in {*tokens(page.title), *tokens(page.text)}
        if len(word) > 1 and word not in STOP_WORDS and not word.isdigit()
    }


# ---------------------------------------------------------------- training mode (section 4)


def train(
    task: Task,
    webs: Sequence[KnownWeb],
    tell: Callable[[int, int], None],
    *,
    keywords: int = 500,
    episodes: int = 1_000,
    steps: int = 10,
    hidden: int = 20,
    alpha: float = 0.01,
    gamma: float = 0.9,
    lam: float = 0.7,
) -> State:
    """One network for each site that has a target within reach of its root; steps are episodes.

    `keywords` by information gain over the pages of all the sites. `alpha`, `gamma`, `lam`: step
    size, discount, decay of the traces. Memory O(words of all pages), time O(words) and about
    0.1 ms a move. Raises InputError for a parameter out of its range.
    """
    for name, value, least in (
        ("keywords", keywords, 1),
        ("episodes", episodes, 1),
        ("steps", steps, 1),
        ("hidden", hidden, 0),
    ):
        if not isinstance(value, int) or value < least:
            raise InputError(f"{NAME}: {name} is a whole number from {least} on, not {value!r}")
    for name, share in (("alpha", alpha), ("gamma", gamma), ("lam", lam)):
        if not 0.0 <= share <= 1.0:
            raise InputError(f"{NAME}: {name} lies in [0, 1], not {share!r}")
    useful: list[KnownWeb] = []
    left_out: list[KnownWeb] = []
    for web in webs:
        found = web.graph.targets[walkable(web.graph, web.root)].any()
        (useful if found else left_out).append(web)
    if not useful:
        raise InputError(f"{NAME}: no site has a target that links lead to from its root")

    # A page is 500 binary features: whether each of the keywords that are important for telling
    # relevant pages occurs on it.
    words = [[words_of(web.page(at)) for at in range(len(web.graph.urls))] for web in useful]
    chosen = choose_keywords(
        (
            (found, bool(target))
            for web, pages in zip(useful, words, strict=True)
            for found, target in zip(pages, web.graph.targets.tolist(), strict=True)
        ),
        keywords,
    )
    known = Keywords(chosen)

    # "A separate Neural Network with eligibility traces is trained on each one" (section 5.1).
    networks: list[State] = []
    curves: dict[str, list[dict[str, Any]]] = {}
    walks = Walks(episodes, steps)
    for place, (web, pages, rng) in enumerate(
        zip(useful, words, task.rng.spawn(len(useful)), strict=True)
    ):
        states = [known.ones(found) for found in pages]
        network = Network(len(known), hidden, rng)
        learner = Learner(network, alpha=alpha, gamma=gamma, lam=lam)
        curves[web.name] = learn_walks(
            learner,
            web.graph,
            web.root,
            states,
            walks,
            rng,
            partial(_tell_on, tell, place * episodes, len(useful) * episodes),
        )
        networks.append(network.save())
    return pack_model(
        NAME,
        FEATURES,
        task.topic,
        {"keywords": chosen, "networks": networks},
        params={},
        sites=[web.name for web in useful],
        left_out=[web.name for web in left_out],
        training={
            "keywords": len(chosen),
            "episodes": episodes,
            "steps": steps,
            "hidden": hidden,
            "alpha": alpha,
            "gamma": gamma,
            "lam": lam,
        },
        learning=curves,
    )


def _tell_on(tell: Callable[[int, int], None], before: int, of: int, done: int) -> None:
    tell(before + done, of)


# ---------------------------------------------------------------- crawling mode (section 4)


class TDLambda:
    """Best value first, by the mean of the trained networks.

    `scoring` `inherit`: a link has the value of the page that it stands on, the mean over its
    pages where there are several. `look-ahead`: all pages that a page links to are fetched and
    have their own value; the best of them is expanded next. `add_reward`: a page looked at counts
    r + γ V instead of V, so that a wanted one is expanded at once.
    """

    def __init__(self, task: Task, *, scoring: str = "inherit", add_reward: bool = False) -> None:
        if scoring not in SCORINGS:
            raise InputError(f"{NAME}: scoring is {' or '.join(SCORINGS)}, not {scoring!r}")
        weights = weights_of(task, NAME, FEATURES)
        if weights is None:
            raise InputError(f"{NAME} needs a model: make one by `spoor train {NAME}`")
        assert task.model is not None
        self.look_ahead = scoring == "look-ahead"
        self._gamma = float(task.model["about"]["training"]["gamma"])
        self._add_reward = add_reward
        self._keywords = Keywords(weights["keywords"])
        self._networks = [Network.load(state) for state in weights["networks"]]
        self._queue = HostQueue()
        # inherit: sum of the values of the pages that show a link, and how many they are.
        self._parents: dict[LinkId, tuple[float, int]] = {}
        # look-ahead: values of the pages that are fetched and not expanded.
        self._values: dict[LinkId, float] = {}

    def _value(self, page: Page) -> float:
        """Mean value of the n networks (section 5.1)."""
        ones = self._keywords.ones({*tokens(page.title), *tokens(page.text)})
        return sum(network.value(ones) for network in self._networks) / len(self._networks)

    def observe(self, seen: Sightings) -> None:
        if self.look_ahead or seen.page is None:
            # All of them will be fetched before a choice is made: in the order of discovery.
            for link, host in zip(seen.links, seen.hosts, strict=True):
                self._queue.push(link, host, 0.0)
            return
        value = self._value(seen.page)
        for link, host in dict(zip(seen.links, seen.hosts, strict=True)).items():
            # "They immediately inherit their parent's score"; with more than one parent "the
            # average of all the previous scores is used".
            total, parents = self._parents.get(link, (0.0, 0))
            total, parents = total + value, parents + 1
            self._parents[link] = (total, parents)
            self._queue.push(link, host, total / parents)

    def choose(self, offer: Offer) -> Choice:
        link, value = self._queue.pop(offer)
        _, parents = self._parents.pop(link, (0.0, 0))
        if not parents:
            return Choice(link, 1.0)
        what = f"value of the page it stands on, mean of {parents}"
        return Choice(
            link, 1.0, ((what if parents > 1 else "value of the page it stands on", value),)
        )

    def learn(self, outcome: Outcome) -> None:
        # The networks stay as they were trained; a page looked at is scored once it is here.
        if self.look_ahead and outcome.page is not None:
            value = self._value(outcome.page)
            if self._add_reward:
                value = outcome.reward + self._gamma * value
            self._values[outcome.choice.link] = value

    def expand(self, fetched: Sequence[LinkId]) -> LinkId:
        # arg max V(s_{t+1}) over all pages looked at so far  # eq. (3)
        best = max(fetched, key=self._values.__getitem__)
        del self._values[best]
        return best

    def explain(self) -> list[tuple[str, str, float]]:
        """How far each keyword alone moves the value of an empty page."""
        none = np.array([], dtype=np.int32)
        moved = []
        for at, word in enumerate(self._keywords.words):
            one = np.array([at], dtype=np.int32)
            by = [network.value(one) - network.value(none) for network in self._networks]
            moved.append((word, sum(by) / len(by)))
        moved.sort(key=lambda item: -item[1])
        raising = [("a wanted page is near", word, by) for word, by in moved if by > 0]
        lowering = [("a wanted page is far", word, by) for word, by in reversed(moved) if by < 0]
        return raising + lowering

    def save(self) -> State:
        return {
            "queue": self._queue.save(),
            "parents": [[link, *scores] for link, scores in self._parents.items()],
            "values": [[link, value] for link, value in self._values.items()],
        }

    def load(self, state: State) -> None:
        self._queue.load(state["queue"])
        self._parents = {
            int(link): (float(total), int(parents)) for link, total, parents in state["parents"]
        }
        self._values = {int(link): float(value) for link, value in state["values"]}
