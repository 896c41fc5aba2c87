"""A trained policy that does worse here than breadth-first says so, and trail may take over."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.keywords import Keywords
from spoor.learn.priority_queue import PriorityQueue
from spoor.learn.saved_attributes import PART, attributes
from spoor.learn.state import pack, unpack
from spoor.policies.best_first import BestFirst
from spoor.policies.breadth_first import BreadthFirst
from spoor.policies.trail import Trail
from spoor.protocols import Offer, Policy
from spoor.simulation.replay import Replay
from spoor.types import Choice, InLinks, Outcome, Task, Topic
from spoor.worlds.generated import GeneratedSettings, GeneratedWorld
from spoor.wrappers import compared
from spoor.wrappers.compared import Compared

WORLD = GeneratedWorld(GeneratedSettings(pages=600, hosts=2, seed=3, target_share=0.3))
WORDS = ("kiln", "glaze", "clay", "pottery")


def task() -> Task:
    return Task(np.random.default_rng(0), Topic("pottery", keywords=WORDS))


class Misled(BreadthFirst):
    """What a model of another web may do: what looks like the topic comes last."""

    SAVED = attributes(_queue=PART)

    def __init__(self) -> None:
        super().__init__(task())
        self._queue = PriorityQueue()

    def observe(self, seen: InLinks) -> None:
        for link in seen:
            if link.first:
                alike = seen.parent_score + sum(word in link.url for word in WORDS)
                self._queue.push(link.link, link.host, -alike)

    def choose(self, offer: Offer) -> Choice:
        link, value = self._queue.pop(offer)
        return Choice(link, 1.0, (("value", value),))


def crawled(policy: Policy, pages: int = 400) -> list[Outcome]:
    engine = Crawl(policy, Keywords(WORDS), MemoryFrontier(), pages=pages)
    engine.seed([WORLD.url_of(0)])
    return list(Replay(engine, WORLD, in_flight=2))


def wanted(done: list[Outcome]) -> int:
    return sum(one.judgement is not None and one.judgement.relevant for one in done)


def trail() -> Policy:
    return Trail(task())


@pytest.mark.parametrize("make", [None, trail])
def test_a_model_that_misleads_is_told_of_once(make: Callable[[], Policy] | None) -> None:
    told: list[str] = []
    policy = Compared(Misled(), "naive-bayes", make)
    policy.report_fault(told.append)
    done = crawled(policy)
    assert told == [policy.fault()]
    assert told[0].startswith("the model of naive-bayes misleads here: of ")
    assert "oldest open links" in told[0], "what it chose brought too little to compare orders"
    assert isinstance(policy.policy, Trail if make else Misled)
    probes = [one.choice.why == compared.WHY for one in done]
    assert not any(probes[:100])
    assert any(probes[100:])
    if make:
        assert wanted(done) > 20 * wanted(crawled(Misled()))
    assert len([row for row in policy.explain() if row[0] == compared.PROMISES]) == 3


class Shuffled(BestFirst):
    """What it chooses is good, what it promises of it means the reverse."""

    def choose(self, offer: Offer) -> Choice:
        choice = super().choose(offer)
        return Choice(choice.link, None, (("value", -sum(share for _, share in choice.why)),))


def test_promises_that_are_wrong_are_told_of_without_a_request() -> None:
    policy = Compared(Shuffled(task()), "naive-bayes")
    done = crawled(policy)
    assert "worse than breadth-first's order does" in policy.fault()
    assert [one.choice.link for one in done] == [
        one.choice.link for one in crawled(BestFirst(task()))
    ]
    rows = [row for row in policy.explain() if row[0] == compared.PROMISES]
    assert rows[0][2] < rows[2][2], "what it promised most of brought least"


def test_a_model_that_leads_well_is_left_alone() -> None:
    policy = Compared(BestFirst(task()), "best-first", trail)
    done = crawled(policy)
    assert policy.fault() == ""
    assert [one.choice for one in done] == [one.choice for one in crawled(BestFirst(task()))]


@pytest.mark.parametrize("pages", [90, 300])
def test_it_goes_on_where_it_was(pages: int) -> None:
    """Before it was told, and after trail took over."""

    def policy() -> Compared:
        return Compared(Misled(), "naive-bayes", trail)

    first = Crawl(policy(), Keywords(WORDS), MemoryFrontier(), pages=pages)
    first.seed([WORLD.url_of(0)])
    list(Replay(first, WORLD))
    again = Crawl(policy(), Keywords(WORDS), MemoryFrontier(), pages=pages + 60)
    again.load(unpack(pack(first.save())))
    whole = Crawl(policy(), Keywords(WORDS), MemoryFrontier(), pages=pages + 60)
    whole.seed([WORLD.url_of(0)])
    rest = [one.choice for one in Replay(again, WORLD)]
    assert rest == [one.choice for one in Replay(whole, WORLD)][-60:]
    for one, other in ((again, whole),):
        assert isinstance(one.policy, Compared)
        assert isinstance(other.policy, Compared)
        assert one.policy.fault() == other.policy.fault()
        assert one.policy.explain() == other.policy.explain()


def test_areas_by_hand() -> None:
    """Two wanted, two not: three pairs of four in order by the first score; by the second, one and
    two ties."""
    wanted = np.array([True, True, False, False])
    one, other = np.array([4.0, 2.0, 3.0, 1.0]), np.array([1.0, 2.0, 2.0, 1.0])
    ours, theirs, error = compared.areas(one, other, wanted)
    assert (ours, theirs) == (0.75, 0.5)
    # Differences of each wanted page: 1 − .25, .5 − .75; of each other: .5 − .25, 1 − .75.
    assert error == pytest.approx((np.var([0.75, -0.25], ddof=1) / 2 + 0.0) ** 0.5)
    assert compared.areas(one, one, wanted)[2] == 0.0


def test_fishers_test_by_hand() -> None:
    # 3 hits of 3 against 0 of 3: one way of the 20 to give three hits to six.
    assert compared.by_chance(3, 3, 0, 3) == pytest.approx(1 / 20)
    assert compared.by_chance(2, 3, 1, 3) == pytest.approx((9 + 1) / 20)
    assert compared.by_chance(0, 3, 3, 3) == pytest.approx(1.0)
