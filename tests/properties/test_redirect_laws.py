"""Chains of redirects: a page is got wherever a link leads to it by few enough of them, whatever
other links led by longer ways to what lies between."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spoor import registry
from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.facts import Label
from spoor.learn.state import pack, unpack
from spoor.testing.small_worlds import TARGET, SmallWorld, random_web
from spoor.types import Anchor, Deferred, Fetch, Finished, Link, Outcome, Sleep, Task, Topic
from spoor.web.urls import domain_of

HOPS, CROSSINGS = 10, 3
"""On a domain, and from one domain to another."""


def chained(rng: np.random.Generator) -> SmallWorld:
    """A small web with long chains, to whose middles pages and other chains lead."""
    world = random_web(rng, hosts=4, pages=30)
    urls = list(world.pages)
    middles: list[str] = []
    for chain in range(int(rng.integers(1, 5))):
        hosts = [f"r{chain}.example"] * int(rng.integers(1, 26))
        if rng.random() < 0.5:
            hosts = [f"r{int(rng.integers(6))}.example" for _ in hosts]
        steps = [f"http://{name}/{chain}/{at}" for at, name in enumerate(hosts)]
        ends = [*urls[1:], *middles, steps[0]]
        steps.append(ends[int(rng.integers(len(ends)))] if rng.random() < 0.7 else _new(world))
        world.redirects |= dict(pairwise(steps))
        middles += steps[:-1]
    for _ in range(int(rng.integers(3, 20))):
        page = world.pages[urls[int(rng.integers(len(urls)))]]
        to = middles[int(rng.integers(len(middles)))]
        links = [*page.links, Link(to, Anchor("moved", position=len(page.links)))]
        world.pages[page.url] = replace(page, links=links)
    return world


def _new(world: SmallWorld) -> str:
    """A page that nothing else leads to."""
    old = next(iter(world.pages.values()))
    url = f"http://new.example/{len(world.pages)}"
    world.pages[url] = replace(old, url=url, links=[])
    return url


def lands(world: SmallWorld, url: str) -> str | None:
    """Where a link to a URL leads, by the plainest code."""
    hops = crossed = 0
    while url in world.redirects:
        to = world.redirects[url]
        same = domain_of(to) == domain_of(url)
        hops, crossed = (hops + 1, crossed) if same else (0, crossed + 1)
        if hops > HOPS or crossed > CROSSINGS:
            return None
        url = to
    return url if url in world.pages else None


def reachable(world: SmallWorld) -> set[str]:
    """Pages that some link leads to."""
    found = dict.fromkeys([next(iter(world.pages))])
    todo = list(found)
    for url in todo:
        for link in world.pages[url].links:
            target = lands(world, link.url)
            if target is not None and target not in found:
                found[target] = None
                todo.append(target)
    return set(found)


@dataclass
class Driver:
    """Answers in random order; now and then the crawl is saved and loaded."""

    seed: int
    policy: str
    in_flight: int
    world: SmallWorld = field(init=False)
    got: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.world = chained(np.random.default_rng(self.seed))

    def crawl(self) -> Crawl:
        task = Task(np.random.default_rng(self.seed), Topic("pottery"))
        policy = registry.build("policies", self.policy, task)
        return Crawl(policy, Label(TARGET), MemoryFrontier())

    def run(self) -> None:
        rng, now = np.random.default_rng(self.seed + 1), 0.0
        crawl = self.crawl()
        crawl.seed([next(iter(self.world.pages))])
        flying: list[Fetch] = []
        for _ in range(20_000):
            now += 1.0
            if rng.random() < 0.02:
                state = unpack(pack(crawl.save()))
                crawl = self.crawl()
                crawl.load(state)
            step = crawl.next(now) if len(flying) < self.in_flight else Sleep(now)
            if isinstance(step, Finished):
                return
            if isinstance(step, Fetch):
                flying.append(step)
            elif flying:
                fetch = flying.pop(int(rng.integers(len(flying))))
                outcome = crawl.receive(self.world.answer(fetch), now)
                assert isinstance(outcome, Outcome | Deferred)
                if isinstance(outcome, Outcome) and outcome.page is not None:
                    self.got.append(outcome.page.url)
        raise AssertionError("the crawl does not end")


@given(
    seed=st.integers(0, 100_000),
    policy=st.sampled_from(["breadth-first", "random"]),
    in_flight=st.integers(1, 6),
)
@example(seed=32, policy="breadth-first", in_flight=3)  # a link to the middle, too late
@example(seed=145, policy="random", in_flight=2)
@example(seed=366, policy="breadth-first", in_flight=1)  # two ways, each shorter in its own way
@settings(max_examples=50)
def test_a_long_chain_takes_no_page_from_a_shorter_one(
    seed: int, policy: str, in_flight: int
) -> None:
    driver = Driver(seed, policy, in_flight)
    driver.run()
    got = Counter(driver.got)
    assert set(got.values()) <= {1}, "a page was fetched twice"
    lost = reachable(driver.world) - set(got)
    assert not lost
    asked = Counter(driver.world.asked)
    assert max(asked.values()) <= 12
