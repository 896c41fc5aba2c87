"""Corrections in mid-crawl: counted once, the same each time, and saved with everything else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spoor import registry
from spoor.crawl import Crawl
from spoor.errors import CallerError
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.facts import Label
from spoor.learn.state import pack, unpack
from spoor.simulation.replay import Replay
from spoor.testing.small_worlds import TARGET, random_web
from spoor.types import Judgement, Task, Topic

YES, NO = Judgement(1.0, True, 1.0), Judgement(0.0, False, 0.0)

said = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), st.booleans()), max_size=12)
"""(after how many pages, which of them, relevant)."""


def made(seed: int, policy: str) -> Crawl:
    task = Task(np.random.default_rng(seed), Topic(name="pottery"))
    return Crawl(
        registry.build("policies", policy, task), Label(TARGET), MemoryFrontier(), pages=30
    )


def crawled(
    seed: int, policy: str, labels: list[tuple[int, int, bool]], cut: int | None = None
) -> tuple[Crawl, list[str], dict[str, bool]]:
    """The crawl, its pages in order, and how each is judged in the end; saved and loaded in a new
    one after `cut` pages."""
    world = random_web(np.random.default_rng(seed))
    crawl = made(seed, policy)
    crawl.seed([next(iter(world.pages))])
    order: list[str] = []
    judged: dict[str, bool] = {}
    replay = Replay(crawl, world)
    while True:
        for outcome in replay:
            if outcome.page is None or outcome.judgement is None:
                continue
            order.append(outcome.page.url)
            judged[outcome.page.url] = outcome.judgement.relevant
            for after, which, relevant in labels:
                if after == len(order) and which < len(order):
                    url = order[which]
                    before = YES if judged[url] else NO
                    crawl.relabel(url, before, YES if relevant else NO)
                    judged[url] = relevant
            if len(order) == cut:
                break
        else:
            return crawl, order, judged
        state = unpack(pack(crawl.save()))
        crawl = made(seed, policy)
        crawl.load(state)
        replay = Replay(crawl, world, start=replay.now, flying=replay.flying)
        cut = None


@settings(max_examples=25)
@given(
    seed=st.integers(0, 500),
    policy=st.sampled_from(["trail", "best-first", "host-bandit"]),
    labels=said,
    cut=st.integers(1, 25),
)
def test_a_corrected_crawl_counts_right_and_goes_on_alike(
    seed: int, policy: str, labels: list[tuple[int, int, bool]], cut: int
) -> None:
    crawl, order, judged = crawled(seed, policy, labels)
    assert crawl.counts.relevant == sum(judged.values())
    assert crawl.counts.reward == sum(judged.values())
    assert len(set(order)) == len(order)
    # The same corrections, the same crawl, also saved and loaded in between.
    resumed = crawled(seed, policy, labels, cut)
    assert resumed[1] == order
    assert pack(resumed[0].save()) == pack(crawl.save())


def test_a_url_that_is_not_known_is_the_callers_fault() -> None:
    with pytest.raises(CallerError, match="cannot be judged again"):
        made(0, "trail").relabel("http://nowhere.example/", NO, YES)
