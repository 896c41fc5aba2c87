"""What is left: the estimate holds on webs that it was not fitted to, and says so in words."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spoor import registry
from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.facts import Label
from spoor.learn.harvest_estimate import NEXT, Estimate, Harvest, Range, in_words
from spoor.live.stop_rule import StopRule
from spoor.settings import Settings
from spoor.simulation.replay import Replay
from spoor.types import Task, Topic
from spoor.worlds.generated import GeneratedSettings, GeneratedWorld

verdicts = st.lists(st.booleans(), min_size=0, max_size=300)


@given(verdicts, st.integers(1, 400))
def test_counts_are_those_of_the_last_pages(hits: list[bool], last: int) -> None:
    harvest = Harvest(hits)
    assert harvest.pages == len(hits)
    assert harvest.relevant == sum(hits)
    assert harvest.last(last) == sum(hits[-last:])


@given(verdicts, st.integers(0, 10_000), st.integers(0, 1000))
@settings(max_examples=200)
def test_an_estimate_is_in_order(hits: list[bool], open_links: int, asked: int) -> None:
    estimate = Harvest(hits).estimate(open_links, asked)
    if len(hits) < 20 or sum(hits) < 5:
        assert estimate is None
        return
    assert estimate is not None
    for low, middle, high in (estimate.left, estimate.next, estimate.share_left):
        assert 0 <= low <= middle <= high
    assert estimate.next.high <= NEXT
    assert estimate.left.high >= estimate.next.high
    assert estimate.share_left.high <= 1
    assert estimate.cost.low <= estimate.cost.middle <= estimate.cost.high
    assert estimate.cost.low >= 1
    if not open_links:
        assert estimate.left == (0, 0, 0)
    assert in_words(estimate)


def test_more_is_left_where_more_was_found_of_late_and_more_stands_open() -> None:
    early, late = [True] * 20 + [False] * 80, [False] * 80 + [True] * 20
    one, other = Harvest(early).estimate(100), Harvest(late).estimate(100)
    assert one is not None
    assert other is not None
    assert one.left.middle < other.left.middle
    assert one.next.middle < other.next.middle
    few, many = Harvest(late).estimate(20), Harvest(late).estimate(2000)
    assert few is not None
    assert many is not None
    assert few.left.middle < many.left.middle
    assert few.left.high < many.left.high


@cache
def generated(seed: int, share: float, noise: float) -> GeneratedWorld:
    """A web, whose pages are made once for all policies."""
    return GeneratedWorld(
        GeneratedSettings(pages=400, hosts=5, seed=seed, target_share=share, anchor_noise=noise)
    )


@pytest.mark.parametrize("policy", ["trail", "best-first", "breadth-first"])
@pytest.mark.long
def test_the_truth_lies_within_on_webs_that_were_not_fitted_to(policy: str) -> None:
    within: list[bool] = []
    coming: list[bool] = []
    for seed, share, noise in ((901, 0.05, 0.3), (902, 0.15, 0.8), (903, 0.03, 0.6)):
        world = generated(seed, share, noise)
        task = Task(np.random.default_rng(0), Topic(name="pottery", keywords=("kiln", "glaze")))
        crawl = Crawl(
            registry.build("policies", policy, task), Label("pottery"), MemoryFrontier(), pages=400
        )
        crawl.seed([world.url_of(0)])
        hits: list[bool] = []
        estimates: list[tuple[int, Estimate]] = []
        harvest = Harvest()
        for outcome in Replay(crawl, world):
            if outcome.judgement is None:
                continue
            hits.append(outcome.judgement.relevant)
            harvest.add(hits[-1])
            if len(hits) % 15 == 0:
                told = harvest.estimate(crawl.frontier.open_count)
                if told is not None:
                    estimates.append((len(hits), told))
        for pages, told in estimates:
            left = sum(hits[pages:])
            within.append(round(told.left.low) <= left <= round(told.left.high))
            if pages + NEXT <= len(hits):
                after = sum(hits[pages : pages + NEXT])
                coming.append(round(told.next.low) <= after <= round(told.next.high))
    assert len(within) > 40
    assert np.mean(within) >= 0.7, f"{np.mean(within):.2f} of {len(within)}"
    assert np.mean(coming) >= 0.7, f"{np.mean(coming):.2f} of {len(coming)}"


def estimate(left: Range, coming: Range, pages: int = 400) -> Estimate:
    return Estimate(left, coming, relevant=90, pages=pages, requests=1.5)


def test_a_run_ends_where_little_is_left_or_little_comes() -> None:
    poor, rich = Range(0, 2, 10), Range(20, 50, 90)
    share = StopRule(Settings(saturation=0.2))
    assert share.estimates
    assert not StopRule(Settings(found=3)).estimates
    assert share.reason(90, [], None) is None
    assert share.reason(90, [], estimate(rich, poor)) is None
    assert share.reason(90, [], estimate(poor, poor, pages=30)) is None
    assert share.reason(90, [], estimate(poor, poor)) == (
        "saturated: at most 10% of the relevant pages is left, by estimate"
    )
    least = StopRule(Settings(least=12))
    assert least.reason(90, [], estimate(rich, rich)) is None
    assert least.reason(90, [], estimate(rich, poor)) == (
        "the next hundred pages will find 10 more at most, by estimate"
    )


def test_words() -> None:
    told = estimate(Range(3, 1234.4, 9999), Range(2, 10, 40))
    assert in_words(told) == [
        "about 1,234 (3 to 9,999) relevant pages, if the rest is like what was seen",
        "about 10 (2 to 40) of the next hundred pages, 15 requests for each",
    ]
    assert told.cost == (3.75, 15.0, 75.0)
    nothing = estimate(Range(0, 0, 0), Range(0, 0, 0))
    assert in_words(nothing) == ["about 0 (0 to 0) relevant pages"]
    assert in_words(nothing, 1_500) == [
        "about 0 (0 to 0) relevant pages, beside what the 1,500 links that are held back lead to"
    ]
    assert math.isinf(nothing.cost.low)
