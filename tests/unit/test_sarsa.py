"""sarsa against plain code: the synchronous order, the moderated update, saving, training."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spoor import registry
from spoor.crawl import Crawl
from spoor.errors import InputError
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.facts import Label
from spoor.learn.relevance import TENTHS, Relevance
from spoor.learn.state import pack, unpack
from spoor.policies.sarsa import Sarsa
from spoor.policies.sarsa.categories import find_categories
from spoor.policies.sarsa.relevance import FIRST_VECTORS
from spoor.policies.sarsa.states import change_bucket
from spoor.policies.sarsa.values import ENCODINGS, GRID, Values
from spoor.simulation.replay import Replay
from spoor.testing.policies import CASES, check_policy
from spoor.testing.small_worlds import TARGET, SmallWorld, random_web
from spoor.types import (
    NO_PARENT,
    Anchor,
    Choice,
    InLinks,
    KnownWeb,
    Link,
    Outcome,
    State,
    Task,
    Topic,
)
from spoor.web.text import Vectors

TOPIC = Topic(
    "kiln pottery", categories={"earth": "clay granite orchard", "trade": "ledger engine"}
)
WORDS = (
    "kiln glaze clay pottery stoneware ledger harbour engine orchard census violin granite ferry"
).split()


def vectors(seed: int = 7) -> Vectors:
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(len(WORDS), 6)) + 0.4
    matrix[:5] += 1.5 * rng.normal(size=6)
    return Vectors(WORDS, matrix, source="drawn at random")


def task(seed: int, **given: Any) -> Task:
    return Task(np.random.default_rng(seed), TOPIC, vectors=vectors(), **given)


def crawl_with(
    policy: Any, world: SmallWorld, *, pages: int | None = None, in_flight: int = 1
) -> list[str]:
    crawl = Crawl(policy, Label(TARGET), MemoryFrontier(), pages=pages)
    crawl.seed([next(iter(world.pages))])
    replay = Replay(crawl, world, in_flight=in_flight)
    return [o.page.url for o in replay if o.page is not None]


# ---------------------------------------------------------------- the naive method


def five(relevance: float) -> int:
    return min(4, int(relevance * 5 + 1e-9))


def six(relevance: float) -> int:
    return min(5, int(relevance * 5 + 0.5 + 1e-9))


@dataclass
class NaivePage:
    relevant: bool
    relevance: float
    categories: list[float]
    weighted: float
    distance: int
    state: tuple[int, ...] = ()


@dataclass
class NaiveLink:
    host: str
    parents: list[NaivePage] = field(default_factory=list)
    last: int = -2
    in_links: list[tuple[NaivePage, tuple[int, ...]]] = field(default_factory=list)


class Naive:
    """Algorithm 1 with every feature and every value worked out anew at every step.

    Only the relevance of texts comes from the policy. Weights are a dictionary from (feature,
    bucket) to number.
    """

    def __init__(self, task: Task, *, encoding: str = "one-hot", alpha: float, epsilon: float):
        self.measure = Sarsa(task).relevance
        self.rng = task.rng
        self.encoding, self.alpha, self.epsilon = encoding, alpha, epsilon
        self.w: dict[Any, float] = {}
        self.links: dict[int, NaiveLink] = {}
        self.open: dict[int, None] = {}
        self.order: dict[tuple[Any, Any, str], int] = {}
        self.live: list[tuple[Any, Any, str]] = []
        self.flying: dict[int, tuple[Any, Any, str]] = {}
        self.seeds: list[int] = []
        self.seen: InLinks | None = None

    # features

    def parents_of(self, link: NaiveLink) -> tuple[int, ...]:
        def mean(values: list[float]) -> float:
            return sum(values) / len(values) if values else 0.0

        every = mean([page.relevance for page in link.parents])
        relevant = mean([page.relevance for page in link.parents if page.relevant])
        return five(every), six(every), five(relevant), six(relevant)

    def x(self, pair: tuple[Any, Any, str]) -> list[tuple[Any, float]]:
        state, action, _ = pair
        sizes = {"change": 5, "distance": 10}
        names = ["rel5", "rel6", "change", *("c5", "c6") * 2, "a5", "a6", "r5", "r6", "distance"]
        names += ["rel5", "rel6", *("c5", "c6") * 2, "a5", "a6", "r5", "r6"]
        found: list[tuple[Any, float]] = []
        for at, (name, bucket) in enumerate(zip(names, (*state, *action), strict=True)):
            size = sizes.get(name) or int(name[-1])
            if self.encoding == "one-hot":
                found.append(((at, bucket), 1.0))
            else:
                found.append(((at, 0), bucket / size))
        return found

    def q(self, pair: tuple[Any, Any, str]) -> float:
        total = 0.0
        for key, x in reversed(self.x(pair)):
            total += round(self.w.get(key, 0.0) * x * GRID) / GRID
        return total

    def pairs(self) -> dict[tuple[Any, Any, str], list[int]]:
        found: dict[tuple[Any, Any, str], list[int]] = {}
        for number in self.open:
            link = self.links[number]
            parents = self.parents_of(link)
            for page, predicted in link.in_links:
                pair = (page.state, (*predicted, *parents), link.host)
                links = found.setdefault(pair, [])
                if number not in links:
                    links.append(number)
        return found

    # the calls of a crawl

    def observe(self, seen: InLinks) -> None:
        if seen.parent == NO_PARENT:
            self.seeds += list(seen.links)
        else:
            self.seen = seen

    def choose(self, offer: Any) -> Choice:
        if self.seeds:
            return Choice(self.seeds.pop(0), 1.0)
        pairs = self.pairs()
        # Draws are made from the pairs as they stand in a list that fills the gap of one that goes.
        pair = max(pairs, key=lambda pair: (self.q(pair), -self.order[pair]))
        if self.rng.random() < self.epsilon:
            pair = self.live[int(self.rng.integers(len(self.live)))]
        link = min(pairs[pair])
        del self.open[link]
        left = [p for p in self.stands_in(link) if pairs[p] == [link]]
        for gone in left:
            self.forget(gone)
        self.flying[link] = pair
        return Choice(link)

    def stands_in(self, number: int) -> list[tuple[Any, Any, str]]:
        link = self.links[number]
        parents = self.parents_of(link)
        return list(
            dict.fromkeys(
                (page.state, (*predicted, *parents), link.host) for page, predicted in link.in_links
            )
        )

    def forget(self, pair: tuple[Any, Any, str]) -> None:
        at, last = self.live.index(pair), self.live.pop()
        if last != pair:
            self.live[at] = last

    def enter(self, pair: tuple[Any, Any, str]) -> None:
        self.order.setdefault(pair, len(self.order))
        if pair not in self.live:
            self.live.append(pair)

    def learn(self, outcome: Outcome) -> None:
        number, page, judgement = outcome.choice.link, outcome.page, outcome.judgement
        assert page is not None
        assert judgement is not None
        seen, self.seen = self.seen, None
        own = self.links.get(number, NaiveLink(""))
        (near, relevance), _ = self.measure.of_page("", f"{page.title} {page.text}", None)
        categories = [int(tenth) / 10 for tenth in f"{near:03d}"[1:]]
        before = max((parent.weighted for parent in own.parents), default=relevance)
        change = relevance - before
        sign = 0 if abs(change) <= 0.1 else (1 if change > 0 else 3) + (abs(change) > 0.3)
        nearest = min((parent.distance for parent in own.parents), default=9)
        this = NaivePage(
            judgement.relevant,
            relevance,
            categories,
            0.4 * relevance + 0.6 * before,
            0 if judgement.relevant else min(9, nearest + 1),
        )
        of_categories = [bucket for near in categories for bucket in (five(near), six(near))]
        this.state = (
            *(five(relevance), six(relevance), sign),
            *of_categories,
            *self.parents_of(own),
            this.distance,
        )
        outlinks: list[tuple[int, tuple[int, ...]]] = []
        if seen is not None:
            outlinks = self.see(seen, number, this)
        pair = self.flying.pop(number, None)
        if pair is not None:
            reward = (
                30
                if judgement.relevant
                else 30
                if relevance > 0.5
                else 20
                if relevance > 0.4
                else -1
            )
            actions = [
                (this.state, (*predicted, *self.parents_of(self.links[link])), "")
                for link, predicted in outlinks
            ]
            q = self.q(pair)
            target = float(reward)
            if not judgement.relevant and actions:
                if self.rng.random() < self.epsilon:
                    target += 0.9 * self.q(actions[int(self.rng.integers(len(actions)))])
                else:
                    target += 0.9 * max(map(self.q, actions))
            amount = round(self.alpha * (target - q) * GRID) / GRID
            for key, x in self.x(pair):
                value = self.w.get(key, 0.0) + amount * x
                self.w[key] = round(value * GRID) / GRID
        for link, predicted in outlinks:
            self.open[link] = None
            self.links[link].in_links.append((this, predicted))
            parents = self.parents_of(self.links[link])
            self.enter((this.state, (*predicted, *parents), self.links[link].host))

    def see(self, seen: InLinks, parent: int, this: NaivePage) -> list[tuple[int, tuple[int, ...]]]:
        _, predicted = self.measure.of_page("", "", seen)
        hosts = dict(zip(seen.links, seen.hosts, strict=True))
        for number in dict.fromkeys(seen.links):
            link = self.links.setdefault(number, NaiveLink(hosts[number]))
            waits = number in self.open
            old = self.stands_in(number) if waits else []
            link.parents.append(this)
            new = self.stands_in(number) if waits else []
            if old != new:
                stay = self.pairs()
                for pair in old:
                    if pair not in stay:
                        self.forget(pair)
                for pair in new:
                    self.enter(pair)
        found = []
        for number, near in zip(seen.links, predicted, strict=True):
            if number not in self.flying and number not in self.seeds:
                tenths = map(int, f"{self.measure.tenths[near]:03d}")
                digits = tuple(b for tenth in tenths for b in (tenth // 2, (tenth + 1) // 2))
                found.append((number, digits))
        return found

    def save(self) -> State:
        raise NotImplementedError

    def load(self, state: State) -> None:
        raise NotImplementedError


@pytest.mark.parametrize("encoding", ["one-hot", "index"])
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.long
def test_the_synchronous_order_is_that_of_recomputing_every_value(seed: int, encoding: str) -> None:
    world = random_web(np.random.default_rng(seed), pages=90, degree=7, target_share=0.2)
    fast = Sarsa(task(seed), update="synchronous", encoding=encoding, alpha=0.01, epsilon=0.15)
    naive = Naive(task(seed), encoding=encoding, alpha=0.01, epsilon=0.15)
    assert crawl_with(fast, world) == crawl_with(naive, world)
    held = fast.values.w.any()
    assert held, "nothing was learned"


def test_other_updates_choose_in_another_order() -> None:
    world = random_web(np.random.default_rng(3), pages=90, degree=7, target_share=0.2)
    orders = [
        crawl_with(Sarsa(task(3), update=update, alpha=0.01, epsilon=0.0), world)
        for update in ("synchronous", "asynchronous", "moderated")
    ]
    assert len({tuple(order) for order in orders}) == 3
    assert len({frozenset(order) for order in orders}) == 1


@pytest.mark.parametrize(
    ("update", "within"),
    [("synchronous", "oldest"), ("asynchronous", "nearest"), ("moderated", "oldest")],
)
@pytest.mark.long
def test_the_laws_hold_with_vectors(
    update: str, within: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On two webs: delays and faults of others are tried without vectors, and are no other then."""
    monkeypatch.setattr("spoor.testing.policies.CASES", CASES[:2])
    check_policy(Sarsa, update=update, within=within, vectors=vectors())


@given(st.floats(0, 1))
def test_a_tenth_holds_both_discretisations(relevance: float) -> None:
    if min(abs(relevance * 10 - edge) for edge in range(11)) > 1e-6:
        k = TENTHS[int(relevance * 10 + 1e-9)]
        assert k // 2 == np.searchsorted([0.2, 0.4, 0.6, 0.8], relevance)
        assert (k + 1) // 2 == np.searchsorted([0.1, 0.3, 0.5, 0.7, 0.9], relevance)


@pytest.mark.parametrize(
    ("change", "bucket"),
    [(0.0, 0), (0.1, 0), (-0.1, 0), (0.2, 1), (0.3, 1), (0.31, 2), (-0.3, 3), (-0.31, 4)],
)
def test_relevance_change(change: float, bucket: int) -> None:
    assert change_bucket(change, 0.1, 0.3) == bucket


@settings(max_examples=30)
@given(
    st.sampled_from(ENCODINGS),
    st.lists(st.tuples(st.integers(0, 10**7 - 1), st.integers(0, 10**5 - 1), st.floats(-3, 3))),
)
def test_values_of_all_at_once_are_those_one_by_one(
    encoding: str, steps: list[tuple[int, int, float]]
) -> None:
    values = Values(2, encoding)
    for state, action, amount in steps:
        # The change has five buckets only.
        key = state - state // 10**5 % 10 * 10**5 + state // 10**5 % 5 * 10**5
        values.step(values.states[key], values.actions[action], amount)
    f, g = values.all()
    assert f.tolist() == [values.f(at) for at in range(len(values.states.places))]
    assert g.tolist() == [values.g(at) for at in range(len(values.actions.places))]
    # The weights alone give the same values.
    again = Values(2, encoding)
    list(map(again.states.__getitem__, values.states))
    list(map(again.actions.__getitem__, values.actions))
    again.set(values.w)
    for told, expected in zip(again.all(), (f, g), strict=True):
        assert told.tolist() == expected.tolist()


def test_vectors_and_categories_are_learned_from_the_crawl_where_none_are_given() -> None:
    world = random_web(np.random.default_rng(1), pages=120, target_share=0.3)
    policy = Sarsa(Task(np.random.default_rng(1), Topic("pottery")), categories=2)
    assert policy.relevance.source.startswith("counts of words")
    assert policy.relevance.categories == {}
    crawl_with(policy, world, pages=FIRST_VECTORS + 5)
    assert policy.relevance.source == f"word vectors: learned from {FIRST_VECTORS} texts"
    assert len(policy.relevance.categories) == 2
    assert ("relevance is measured by", policy.relevance.source, 1.0) in policy.explain()
    # They go with the weights, which mean nothing without them.
    model = unpack(pack(policy.model()))
    later = Sarsa(Task(np.random.default_rng(2), Topic("pottery"), model=model))
    assert later.relevance.source == policy.relevance.source
    near, of_first = (of.relevance.of_page("", "kiln glaze", None) for of in (later, policy))
    assert near == of_first


def test_a_topic_without_a_vector_is_measured_by_counts() -> None:
    policy = Sarsa(Task(np.random.default_rng(0), Topic("zither"), vectors=vectors()))
    assert "no word of the topic is in drawn at random" in policy.relevance.source


def test_words_that_were_read_are_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    relevance = Relevance(["kiln pottery"], vectors())
    read: list[Any] = []
    of_words = relevance._of_words

    def noted(texts: Any) -> Any:
        read.append(texts)
        return of_words(texts)

    monkeypatch.setattr(relevance, "_of_words", noted)

    def shown(*urls: str, before: str = "") -> InLinks:
        links = [Link(url, Anchor("glaze ledger", before)) for url in urls]
        numbers = list(range(len(links)))
        hosts = ["a.example"] * len(links)
        return InLinks(links, numbers, numbers, [True] * len(links), 0, 0.0, 1, urls, hosts)

    first = shown("http://a.example/", "http://b.example/")
    page, (one, other) = relevance.of_page("clay kiln", "", first)
    assert [len(texts) for texts in read] == [3]
    assert relevance.cosines[one] == relevance.cosines[other]
    # A page of the same title, the same links: nothing is left to do.
    assert relevance.of_page("clay kiln", "", first) == (page, [one, other])
    assert len(read) == 1
    # What stands around a link is read with it.
    beside = shown("http://a.example/", before="harbour")
    _, (around,) = relevance.of_page("clay kiln", "", beside)
    assert [len(texts) for texts in read] == [3, 1]
    assert relevance.cosines[around] != relevance.cosines[one]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_prior_goes_by_the_words_of_the_link_alone(encoding: str) -> None:
    values = Values(2, encoding)
    values.begin(30.0)
    worth = [values.g(values.actions[10_000 * tenth + 1_234]) for tenth in range(10)]
    assert worth[0] == 0.0
    assert worth[9] == pytest.approx(30.0, abs=1e-6)
    assert worth == sorted(worth)
    assert values.f(values.states[9_399_999]) == 0.0


def test_weights_are_kept_from_task_to_task() -> None:
    world = random_web(np.random.default_rng(5), pages=80, target_share=0.2)
    graph = world.graph()
    web = KnownWeb("small", graph, 0, lambda number: world.pages[graph.urls[number]])
    told: list[tuple[int, int]] = []
    model = registry.build(
        "trainers",
        "sarsa",
        task(2),
        [web],
        lambda done, of: told.append((done, of)),
        settings={"episodes": 3, "pages": 40, "alpha": 0.01},
    )
    model = unpack(pack(model))
    assert told == [(1, 3), (2, 3), (3, 3)]
    policy = Sarsa(task(9, model=model))
    assert policy.values.w.any()
    rows = policy.explain()
    weights = {(group, bucket): weight for group, bucket, weight in rows}
    assert weights["page: distance", "0 from a relevant page"] == policy.values.w[6, 0]
    assert [text for group, text, _ in rows if group == "category"] == [
        "earth: clay granite orchard",
        "trade: ledger engine",
    ]
    # Without a topic of its own a task has the categories of the model.
    bare = Sarsa(Task(np.random.default_rng(0), Topic("pottery kiln"), model=model))
    assert bare.relevance.categories == TOPIC.categories
    with pytest.raises(InputError, match="not of 'sarsa'"):
        Sarsa(task(9, model={**model, "policy": "td-lambda", "weights": {}}))
    with pytest.raises(InputError, match="index"):
        Sarsa(task(9, model=model), encoding="index")
    topic = Topic("pottery kiln")
    with pytest.raises(InputError, match="trained with categories = 2, not 4"):
        Sarsa(Task(np.random.default_rng(0), topic, model=model), categories=4)
    # Its training refuses what only a crawl has, and what it has is checked as the crawl's.
    for crawls, message in (
        ({"halving": 5}, "has no parameter 'halving'"),
        ({"beta": 0.9}, "has no parameter 'beta'"),
        ({"epsilon": 7}, "epsilon lies in"),
    ):
        with pytest.raises(InputError, match=message):
            registry.build("trainers", "sarsa", task(2), [web], settings=crawls)


@pytest.mark.parametrize(
    "given",
    [
        {"update": "sometimes"},
        {"encoding": "binary"},
        {"within": "best"},
        {"epsilon": 1.5},
        {"rewards": (1.0,)},
        {"categories": 13},
        {"background": "no/such/file"},
    ],
)
def test_settings_out_of_range_are_said_in_one_line(given: dict[str, Any]) -> None:
    with pytest.raises(InputError) as error:
        Sarsa(Task(np.random.default_rng(0), Topic("pottery")), **given)
    assert "\n" not in str(error.value)


# ---------------------------------------------------------------- categories found


def test_categories_come_from_a_background() -> None:
    texts = [
        *(["kiln", "glaze", "stoneware", "and", "ledger"] for _ in range(20)),
        *(["ferry", "harbour", "ledger", "and"] for _ in range(60)),
    ]
    found = find_categories("kiln", 2, None, texts)
    assert set(found) == {"glaze", "stoneware"}
    by_file = find_categories("kiln", 2, vectors(), texts)
    assert "kiln" not in " ".join(by_file.values())


def test_categories_come_from_vectors_alone() -> None:
    assert len(find_categories("kiln", 3, vectors())) == 3
    assert find_categories("zither", 3, vectors()) == {}
    assert find_categories("kiln", 3, None) == {}


@pytest.mark.data
def test_categories_of_a_real_topic() -> None:
    folder = Path(os.environ.get("SPOOR_DATA", Path(__file__).parents[2] / "../shared/data"))
    file = folder / "word_vectors/minilm_static.npz"
    if not file.exists():
        pytest.skip(f"{file} is missing; SPOOR_DATA names the folder of recorded data")
    found = find_categories("olympics", 3, Vectors.read(file))
    assert "sports" in found
