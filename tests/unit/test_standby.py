"""A policy that breaks on a live crawl is replaced, once, and nothing is lost."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from loopback import ADDRESS, Loopback, page, site
from spoor.crawl import Crawl
from spoor.errors import PluginError
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.keywords import Keywords
from spoor.live.driver import HttpDriver
from spoor.policies.best_first import BestFirst
from spoor.policies.breadth_first import BreadthFirst
from spoor.policies.trail import Trail
from spoor.protocols import Offer, Policy
from spoor.settings import Settings
from spoor.simulation.replay import Replay
from spoor.types import Choice, InLinks, Outcome, State, Task, Topic
from spoor.worlds.generated import GeneratedSettings, GeneratedWorld
from spoor.wrappers.fallback import Fallback

pytestmark = pytest.mark.server

WORLD = GeneratedWorld(GeneratedSettings(pages=60, hosts=2, seed=3, target_share=0.3))
FAULTS = ("nan value", "nan probability", "foreign link", "no choice", "choose", "observe", "learn")
AFTER = 10


def task() -> Task:
    return Task(np.random.default_rng(0), Topic("clay", keywords=("kiln", "glaze")))


def best_first() -> Policy:
    return BestFirst(task())


def told_by(policy: Policy, told: list[str]) -> Fallback:
    """A fallback for a policy, which says there what happens."""
    made = Fallback(policy, best_first)
    made.report_fault(told.append)
    return made


class Broken(BreadthFirst):
    """Works for a while."""

    def __init__(self, fault: str) -> None:
        super().__init__(task())
        self.fault = fault
        self.calls = dict.fromkeys(("choose", "observe", "learn", "save"), 0)

    def _breaks(self, call: str) -> bool:
        self.calls[call] += 1
        if self.calls[call] > AFTER and self.fault == call:
            raise ZeroDivisionError(f"in {call}\nand more")
        return self.calls[call] > AFTER

    def observe(self, seen: InLinks) -> None:
        self._breaks("observe")
        super().observe(seen)

    def choose(self, offer: Offer) -> Any:
        late = self._breaks("choose")
        choice = super().choose(offer)
        if late and self.fault == "nan value":
            return Choice(choice.link, None, (("value", math.nan),))
        if late and self.fault == "nan probability":
            return Choice(choice.link, math.nan)
        if late and self.fault == "foreign link":
            return Choice(999_999)
        return None if late and self.fault == "no choice" else choice

    def learn(self, outcome: Outcome) -> None:
        self._breaks("learn")
        super().learn(outcome)

    def save(self) -> State:
        if self.fault == "save":
            raise ZeroDivisionError
        return super().save()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_policy_is_told_of_once_and_replaced(fault: str) -> None:
    told: list[str] = []
    policy = told_by(Broken(fault), told)
    engine = Crawl(policy, Keywords(["kiln"]), MemoryFrontier())
    engine.seed([WORLD.url_of(0)])
    done = list(Replay(engine, WORLD, in_flight=4))
    assert len({outcome.page.url for outcome in done if outcome.page}) == len(done) == 60
    assert len(told) == 1
    assert told[0].startswith("Broken.")
    assert "\n" not in told[0]
    assert isinstance(policy.policy, BestFirst)
    assert done[-1].choice.why[0][0] == "likeness of its words to the topic"


def test_over_http_too() -> None:
    told: list[str] = []
    server = Loopback(site({"/": page(*(f"/{at}" for at in range(30))), **numbered(30)}))
    engine = Crawl(told_by(Broken("nan value"), told), Keywords(["clay"]), MemoryFrontier())

    async def crawl() -> None:
        async with server.serving():
            engine.seed(["http://a.example/"])
            await HttpDriver(
                engine, Settings(per_host=100, connect_to=f"{ADDRESS}:{server.port}")
            ).run()

    asyncio.run(crawl())
    assert len(server.pages) == len(set(server.pages)) == 31
    assert len(told) == 1
    assert "no number" in told[0]


def numbered(pages: int) -> dict[str, bytes]:
    return {f"/{at}": page(text=f"clay {at}") for at in range(pages)}


def test_a_state_that_cannot_be_saved_is_a_fault_too() -> None:
    told: list[str] = []
    engine = Crawl(told_by(Broken("save"), told), Keywords(["kiln"]), MemoryFrontier())
    engine.seed([WORLD.url_of(0)])
    replay = Replay(engine, WORLD)
    steps = iter(replay)
    for _ in range(5):
        next(steps)
    state = engine.save()
    assert len(told) == 1
    again = Crawl(told_by(Broken("save"), told), Keywords(["kiln"]), MemoryFrontier())
    again.load(state)
    rest = [outcome.choice.link for outcome in Replay(again, WORLD)]
    assert rest == [outcome.choice.link for outcome in steps]
    assert len(rest) == 55
    assert len(told) == 1, "a run that goes on does not say it again"


def test_a_policy_that_works_is_left_alone() -> None:
    def order(policy: Policy) -> Sequence[int]:
        engine = Crawl(policy, Keywords(["kiln"]), MemoryFrontier())
        engine.seed([WORLD.url_of(0)])
        return [outcome.choice.link for outcome in Replay(engine, WORLD, in_flight=3)]

    told: list[str] = []
    assert order(told_by(Trail(task()), told)) == order(Trail(task()))
    assert not told


def test_the_lab_still_fails_loudly() -> None:
    engine = Crawl(Broken("nan probability"), Keywords(["kiln"]), MemoryFrontier())
    engine.seed([WORLD.url_of(0)])
    with pytest.raises(PluginError, match="probability nan"):
        list(Replay(engine, WORLD))
