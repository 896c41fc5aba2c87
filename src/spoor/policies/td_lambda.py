"""State values by temporal differences: how soon a relevant page follows a page.

Grigoriadis and Paliouras (2004), "Focused crawling using temporal difference-learning", SETN 2004.
A page is a state, a link an action; a network learns V of pages from random walks over completely
known sites (`spoor.learn.temporal_difference`), and the crawl follows links by the values of pages.
Differences from the paper, and what it leaves open: docs/algorithms/td-lambda.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, InitVar, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from spoor import registry
from spoor.errors import InputError
from spoor.learn.keywords import Keywords, choose_keywords
from spoor.learn.parameters import between, check_parameters, in_range, one_of
from spoor.learn.priority_queue import PriorityQueue
from spoor.learn.saved_attributes import PAIRS, PART, Saved, attributes, rows
from spoor.learn.temporal_difference import Learner, Network, Walks, learn_walks, walkable
from spoor.learn.trained_model import needed_weights, pack_model
from spoor.protocols import Offer
from spoor.types import (
    Anchor,
    Choice,
    InLinks,
    KnownWeb,
    LinkId,
    Outcome,
    Page,
    State,
    Task,
    Topic,
)
from spoor.web.text import STOP_WORDS, tokens

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAME = "td-lambda"
FEATURES = "keywords of title and text, present or not"
SCORINGS = ("inherit", "look-ahead")
MEASURED = 500
"""Training pages on whose links the spread of scores is measured."""


def words_of(page: Page, markup: bool = False) -> set[str]:
    """Distinct words of title and text that may be keywords; with `markup` those of the title and
    of the headings once more, as words of their own (`title:jobs`)."""
    places = [("", page.title), ("", page.text)]
    if markup:
        places += [("title:", page.title), *(("heading:", said) for said in page.headings)]
    return {
        f"{place}{word}"
        for place, text in places
        for word in tokens(text)
        if len(word) > 1 and word not in STOP_WORDS and not word.isdigit()
    }


def _mean_value(networks: Sequence[Network], ones: NDArray[np.int32]) -> float:
    """Mean value of the networks (section 5.1)."""
    return sum(network.value(ones) for network in networks) / len(networks)


# ---------------------------------------------------------------- training mode (section 4)


def train(
    task: Task,
    webs: Sequence[KnownWeb],
    progress: Callable[[int, int], None],
    *,
    keywords: int = 500,
    episodes: int = 1_000,
    steps: int = 10,
    hidden: int = 20,
    alpha: float = 0.003,
    gamma: float = 0.9,
    lam: float = 0.7,
    through: bool = False,
    markup: bool = False,
    links: str = "",
) -> State:
    """One network for each site that has a target within reach of its root; steps are episodes.

    `keywords` by information gain over the pages of all the sites. `alpha`, `gamma`, `lam`: step
    size, discount, decay of the traces. `through`: walks go on from targets. `markup`: a word of
    the title or of a heading is a feature of its own, with its own weights. `links` names another
    policy whose training values single links (`naive-bayes`); its model becomes a part of this one.
    Memory O(words of all pages), time O(words) and about 0.1 ms a move. Raises InputError for a
    parameter out of its range.
    """
    for name, value, least in (
        ("keywords", keywords, 1),
        ("episodes", episodes, 1),
        ("steps", steps, 1),
        ("hidden", hidden, 0),
    ):
        if not isinstance(value, int) or value < least:
            raise InputError(f"{NAME}: {name} is a whole number from {least} on, not {value!r}")
    in_range(NAME, alpha=(alpha, 0, 1), gamma=(gamma, 0, 1), lam=(lam, 0, 1))
    useful: list[KnownWeb] = []
    left_out: list[KnownWeb] = []
    for web in webs:
        reachable = web.graph.targets[walkable(web.graph, *web.every_root)].any()
        (useful if reachable else left_out).append(web)
    if not useful:
        raise InputError(f"{NAME}: no site has a target that links lead to from its root")

    # A page is 500 binary features: whether each keyword that is important for distinguishing
    # relevant pages occurs on it.
    words = [
        [words_of(web.page(number), markup) for number in range(len(web.graph.urls))]
        for web in useful
    ]
    chosen = choose_keywords(
        (
            (words_of_page, bool(target))
            for web, pages in zip(useful, words, strict=True)
            for words_of_page, target in zip(pages, web.graph.targets.tolist(), strict=True)
        ),
        keywords,
    )
    known = Keywords(chosen)

    # "A separate Neural Network with eligibility traces is trained on each one" (section 5.1).
    networks: list[Network] = []
    curves: dict[str, list[dict[str, Any]]] = {}
    walks = Walks(episodes, steps, through)
    for place, (web, pages, rng) in enumerate(
        zip(useful, words, task.rng.spawn(len(useful)), strict=True)
    ):
        states = [known.ones(words_of_page) for words_of_page in pages]
        network = Network(len(known), hidden, rng)
        learner = Learner(network, alpha=alpha, gamma=gamma, lam=lam)
        curves[web.name] = learn_walks(
            learner,
            web.graph,
            web.every_root,
            states,
            walks,
            rng,
            partial(_report, progress, place * episodes, len(useful) * episodes),
        )
        networks.append(network)
    beside: State = {}
    if links:
        model: State = registry.build("trainers", links, task, webs, progress)
        spread = _spread(useful, words, known, networks, _by_words(task.topic, links, model))
        beside = {"policy": links, "model": model, "spread": spread}
    return pack_model(
        NAME,
        FEATURES,
        task.topic,
        {
            "keywords": chosen,
            "markup": markup,
            "networks": [network.save() for network in networks],
            "links": beside,
        },
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
            "through": through,
            "markup": markup,
            "links": links,
        },
        learning=curves,
    )


def _report(progress: Callable[[int, int], None], before: int, of: int, done: int) -> None:
    progress(before + done, of)


# ---------------------------------------------------------------- further work (section 6)


class ValuesLinks(Protocol):
    """A policy that values single links, as CROSSMARC's crawler does by the words near them."""

    def values(self, page: Page, links: Sequence[tuple[str, Anchor]]) -> NDArray[np.float64]:
        """Of links (URL, anchor) of one page, (n,)."""
        ...


def _by_words(topic: Topic, policy: str, model: State) -> ValuesLinks:
    """The policy whose values of links are used; through the registry, as any policy is found."""
    task = Task(np.random.default_rng(0), topic, model=model)
    made = registry.build("policies", policy, task)
    if not hasattr(made, "values"):
        raise InputError(
            f"{NAME}: {policy} does not value single links; links = 'naive-bayes' does"
        )
    values: ValuesLinks = made
    return values


def _spread(
    webs: Sequence[KnownWeb],
    words: Sequence[Sequence[set[str]]],
    known: Keywords,
    networks: Sequence[Network],
    by_words: ValuesLinks,
) -> list[float]:
    """Standard deviations, over links of up to `MEASURED` training pages, of the value of a link's
    page and of that by its words: the units in which the two are added."""
    pages = [
        (web, number, words_of_page)
        for web, sets in zip(webs, words, strict=True)
        for number, words_of_page in enumerate(sets)
    ]
    of_page: list[float] = []
    of_words: list[float] = []
    for web, number, words_of_page in pages[:: max(1, len(pages) // MEASURED)]:
        page = web.page(number)
        links = [(link.url, link.anchor) for link in page.links]
        if links:
            of_page += [_mean_value(networks, known.ones(words_of_page))] * len(links)
            of_words += by_words.values(page, links).tolist()
    return [float(np.std(values)) or 1.0 if values else 1.0 for values in (of_page, of_words)]


# ---------------------------------------------------------------- crawling mode (section 4)


@dataclass(eq=False)
class TDLambda(Saved):
    """Best value first, by the mean of the trained networks.

    `scoring` `inherit`: a link has the value of its page, the mean over its pages where there
    are several. `look-ahead`: all pages that a page links to are fetched and
    have their own value; the best of them is expanded next. `add_reward`: a page looked at counts
    r + γ V instead of V, so that a relevant one is expanded at once.

    `links` in [0, 1] is the weight of a link's own words beside its page, for a model trained with
    `links`, in `inherit`; each is measured in its standard deviation over the training sites.
    Raises InputError without a model, and for parameters that do not go together.
    """

    task: InitVar[Task]
    _: KW_ONLY
    scoring: str = one_of(SCORINGS, "inherit")
    add_reward: bool = False
    links: float = between(0, 1, 0.0)

    SAVED = attributes(_queue=PART, _parents=rows(), _values=PAIRS)

    def __post_init__(self, task: Task) -> None:
        check_parameters(NAME, self)
        links, scoring = self.links, self.scoring
        weights = needed_weights(task, NAME, FEATURES)
        assert task.model is not None
        if links and scoring == "look-ahead":
            raise InputError(f"{NAME}: links goes with scoring = 'inherit' only")
        if links and not weights["links"]:
            raise InputError(
                f"{NAME}: the model knows no words of links; train it with links = 'naive-bayes'"
            )
        self.look_ahead = scoring == "look-ahead"
        self._gamma = float(task.model["about"]["training"]["gamma"])
        self._keywords = Keywords(weights["keywords"])
        self._markup = bool(weights.get("markup", False))
        self._networks = [Network.load(state) for state in weights["networks"]]
        self._links: ValuesLinks | None = None
        self._unit = (1.0, 0.0)
        if links:
            beside = weights["links"]
            self._links = _by_words(task.topic, beside["policy"], beside["model"])
            of_page, of_words = beside["spread"]
            self._unit = ((1.0 - links) / of_page, links / of_words)
        self._queue = PriorityQueue()
        # inherit: sum of the values of the pages that show a link, and how many they are.
        self._parents: dict[LinkId, tuple[float, int]] = {}
        # look-ahead: values of the pages that are fetched and not expanded.
        self._values: dict[LinkId, float] = {}

    def _value(self, page: Page) -> float:
        return _mean_value(self._networks, self._keywords.ones(words_of(page, self._markup)))

    def observe(self, seen: InLinks) -> None:
        if self.look_ahead or seen.page is None:
            # All of them will be fetched before a choice is made: in the order of discovery.
            for link, host in zip(seen.links, seen.hosts, strict=True):
                self._queue.push(link, host, 0.0)
            return
        for link, (host, value) in self._scores(seen, seen.page).items():
            # "They immediately inherit their parent's score"; with more than one parent "the
            # average of all the previous scores is used".
            total, parents = self._parents.get(link, (0.0, 0))
            total, parents = total + value, parents + 1
            self._parents[link] = (total, parents)
            self._queue.push(link, host, total / parents)

    def _scores(self, seen: InLinks, page: Page) -> dict[LinkId, tuple[str, float]]:
        """Host and score of each target that a page shows; the best where it shows it twice."""
        value = self._value(page)
        if self._links is None:
            return {link: (host, value) for link, host in zip(seen.links, seen.hosts, strict=True)}
        by_words = self._links.values(
            page, [(url, seen.anchor(index)) for index, url in enumerate(seen.urls)]
        )
        share, words = self._unit
        scores: dict[LinkId, tuple[str, float]] = {}
        for link, host, own in zip(seen.links, seen.hosts, by_words.tolist(), strict=True):
            score = share * value + words * own
            if link not in scores or score > scores[link][1]:
                scores[link] = (host, score)
        return scores

    def choose(self, offer: Offer) -> Choice:
        link, value = self._queue.pop(offer)
        _, parents = self._parents.pop(link, (0.0, 0))
        if not parents:
            return Choice(link, 1.0)
        reason = "value of its page" if self._links is None else "value of its page and its words"
        return Choice(
            link, 1.0, ((reason if parents == 1 else f"{reason}, mean of {parents}", value),)
        )

    def learn(self, outcome: Outcome) -> None:
        # The networks stay as they were trained; a page looked at is scored once it is here.
        if self.look_ahead and outcome.page is not None:
            value = self._value(outcome.page)
            if self.add_reward:
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
        for column, word in enumerate(self._keywords.words):
            word_row = np.array([column], dtype=np.int32)
            by = [network.value(word_row) - network.value(none) for network in self._networks]
            moved.append((word, sum(by) / len(by)))
        moved.sort(key=lambda item: -item[1])
        raising = [("a wanted page is near", word, by) for word, by in moved if by > 0]
        lowering = [("a wanted page is far", word, by) for word, by in reversed(moved) if by < 0]
        return raising + lowering
