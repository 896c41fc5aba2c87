"""Learners that tell one another what they learned: halves make a whole, nothing counts twice."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from spoor import registry
from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.facts import Label
from spoor.learn.mixed_effects_regression import MixedEffectsRegression
from spoor.learn.posterior_updates import (
    InitialPosterior,
    PosteriorUpdate,
    apply_updates,
    combine,
    own_update,
)
from spoor.learn.slot_rows import SlotRows
from spoor.learn.state import pack, unpack
from spoor.policies.intelligent_crawling import Candidate, IntelligentCrawling, log_ratio
from spoor.policies.sarsa import Sarsa
from spoor.policies.trail import Trail
from spoor.policies.trail.columns import BITS
from spoor.policies.trail.learners import Learner
from spoor.simulation.replay import Replay
from spoor.testing.policies import generated_web
from spoor.types import Task, Topic

ALL = np.ones(4, dtype=bool)


def model() -> MixedEffectsRegression:
    return MixedEffectsRegression(
        SlotRows(12),
        np.array([0.4, 0.4, 0.4, 1.0], dtype=np.float32),
        np.array([-1.0, 0.5], dtype=np.float32),
        np.array([1.0, 0.5], dtype=np.float32),
    )


def stream(rng: np.random.Generator, count: int) -> list[tuple[Any, Any, float]]:
    """Examples of a logistic law over 4 of 200 features and 2 numbers."""
    truth = np.random.default_rng(1).normal(0.0, 1.0, 200)
    rows = []
    for _ in range(count):
        slots = np.array([50 * at + rng.integers(50) for at in range(4)], dtype=np.int32)
        dense = np.array([1.0, rng.normal()], dtype=np.float32)
        odds = truth[slots].sum() - 0.5 + 0.8 * dense[1]
        rows.append((slots + 1, dense, float(rng.random() < 1 / (1 + math.exp(-odds)))))
    return rows


def taught(rows: list[tuple[Any, Any, float]]) -> MixedEffectsRegression:
    made = model()
    for row in rows:
        made.update(*row)
    return made


def loss(of: MixedEffectsRegression, rows: list[tuple[Any, Any, float]]) -> float:
    slots, dense = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    odds = of.score(slots, dense)[0].astype(float)
    y = np.array([row[2] for row in rows])
    return float(np.mean(np.logaddexp(0.0, odds) - y * odds))


def test_two_halves_are_near_the_whole() -> None:
    rng = np.random.default_rng(0)
    rows, fresh, start = stream(rng, 1200), stream(rng, 2000), InitialPosterior(model())
    whole, half, other = taught(rows), taught(rows[:600]), taught(rows[600:])
    own = own_update(half, start, None, ALL)
    apply_updates(half, start, own, own_update(other, start, None, ALL))
    one, both, together_ = loss(other, fresh), loss(whole, fresh), loss(half, fresh)
    assert both < one
    assert together_ < one
    assert together_ - both < 0.35 * (one - both), (one, both, together_)
    learned, at_once = (made.precisions(made.held()).sum() for made in (half, whole))
    assert np.allclose(learned, at_once, rtol=0.1)


def test_what_was_received_is_not_shared_again() -> None:
    rng, start = np.random.default_rng(3), InitialPosterior(model())
    a, b = taught(stream(rng, 300)), taught(stream(rng, 300))
    of_a, of_b = own_update(a, start, None, ALL), own_update(b, start, None, ALL)
    apply_updates(a, start, of_a, of_b)
    again = own_update(a, start, of_b, ALL)
    assert again.same(of_a)
    apply_updates(b, start, of_b, again)
    every = np.arange(1, 1 << 12)
    assert np.allclose(a.weights(every), b.weights(every), atol=1e-4)
    assert np.allclose(a.precisions(every), b.precisions(every), atol=1e-3)
    before = a.weights(every)
    apply_updates(a, start, again, of_b, of_b)
    assert np.allclose(a.weights(every), before, atol=1e-5)
    # A shard that is gone is forgotten.
    apply_updates(a, start, of_a, combine([], 2), of_b)
    assert own_update(a, start, None, ALL).same(of_a)


def test_updates_are_beyond_the_initial_posterior_of_a_trained_model() -> None:
    rng = np.random.default_rng(5)
    trained = taught(stream(rng, 200))
    start = InitialPosterior(trained)
    one, other, whole = (model() for _ in range(3))
    for made in (one, other, whole):
        made.load(trained.save())
    rows = stream(rng, 200)
    for at, row in enumerate(rows):
        (one if at % 2 else other).update(*row)
        whole.update(*row)
    assert not len(own_update(trained, start, None, ALL).slots)
    apply_updates(
        one, start, own_update(one, start, None, ALL), own_update(other, start, None, ALL)
    )
    every = np.arange(1 << 12)
    one_w, whole_w, trained_w = (its.weights(every) for its in (one, whole, trained))
    spread = float(np.abs(whole_w - trained_w).mean())
    assert float(np.abs(one_w - whole_w).mean()) < 0.5 * spread
    assert PosteriorUpdate.load(own_update(one, start, None, ALL).save()).same(
        own_update(one, start, None, ALL)
    )


def crawled(seed: int) -> Trail:
    policy = crawl_with("trail", seed)
    assert isinstance(policy, Trail)
    return policy


def crawl_with(
    name: str, seed: int, settings: Mapping[str, Any] | None = None, pages: int = 80
) -> Any:
    world, root, wanted = generated_web(seed)
    task = Task(np.random.default_rng(seed), Topic(name="pottery", keywords=("kiln", "glaze")))
    policy = registry.build("policies", name, task, settings=settings or {})
    crawl = Crawl(policy, Label(wanted), MemoryFrontier(), pages=pages)
    crawl.seed([root])
    for _ in Replay(crawl, world):
        pass
    return policy


@pytest.mark.long
def test_trails_tell_one_another() -> None:
    one, other = crawled(1), crawled(2)
    shared, saved = other.share(), other.save()
    assert len(pack(shared)) < 0.5 * len(pack(saved))
    twin = crawled(1)
    one.merge([unpack(pack(shared))])
    twin.merge([unpack(pack(saved))])
    assert pack(one.share()) == pack(twin.share())
    words = {word for _, word, _ in one.explain()}
    assert words >= {word for _, word, _ in other.explain() if word}
    # The same again, or its own: nothing more.
    assert isinstance(one._model, Learner)
    every = np.arange(1 << BITS)
    before = one._model.weights(every)
    one.merge([shared, one.share()])
    after = one._model.weights(every)
    assert np.allclose(after, before, atol=1e-4)
    assert np.isfinite(after).all()
    # A state that was saved after a merge goes on alike.
    back = crawled(1)
    back.load(unpack(pack(one.save())))
    assert pack(back.share()) == pack(one.share())


@pytest.mark.parametrize("column", ["list", "page"])
def test_groups_of_pages_stay_with_their_shard(column: str) -> None:
    from spoor.policies.trail.columns import START

    told = crawled(1).share()["learned"]["columns"]
    assert START[column] not in told.tolist()
    assert START["host"] in told.tolist()


def test_host_bandits_count_together() -> None:
    one, other = crawl_with("host-bandit", 1), crawl_with("host-bandit", 2)
    alone = one.share()
    one.merge([other.share()])
    saved = one.save()
    assert sum(saved["pages"]) == sum(alone["pages"]) + sum(other.share()["pages"])
    one.merge([unpack(pack(other.save())), one.share()])
    assert sorted(one.save()["counts"]) == sorted(saved["counts"])
    assert sorted(one.share()["counts"]) == sorted(alone["counts"])
    other.merge([one.save()])
    assert sorted(other.save()["counts"]) == sorted(saved["counts"])


def counting(kiln: tuple[int, int], pages: tuple[int, int]) -> IntelligentCrawling:
    """A crawl of so many (pages, relevant ones); URLs of these of them spoke of a kiln."""
    made = IntelligentCrawling(Task(np.random.default_rng(0)))
    for at in range(kiln[0]):
        made._ratios.learn("URL ‘kiln’", at < kiln[1])
    made._pages, made._found = pages
    return made


def test_interest_ratios_are_counted_together() -> None:
    one, other = counting((3, 2), (40, 5)), counting((9, 6), (60, 10))
    own, theirs, share = one.share(), unpack(pack(other.share())), 16 / 102
    assert one._ratios.log("URL ‘kiln’", share) == pytest.approx(log_ratio(3, 2, share))
    one.merge([theirs])
    assert one._ratios.log("URL ‘kiln’", share) == pytest.approx(log_ratio(12, 8, share))
    candidate = Candidate("a.example", ["URL ‘kiln’"])
    assert one._parts(candidate)[1] == pytest.approx(log_ratio(12, 8, share))
    saved = pack(one.save())
    # The same again, and its own: nothing more; what it heard it tells to nobody.
    one.merge([theirs, unpack(pack(theirs)), one.share()])
    assert pack(one.save()) == saved
    assert one.share() == own
    back = counting((0, 0), (0, 0))
    back.load(unpack(saved))
    assert pack(back.save()) == saved
    assert back._parts(candidate) == one._parts(candidate)
    # A shard that is gone is forgotten.
    one.merge([])
    assert one._parts(candidate)[1] == pytest.approx(log_ratio(3, 2, 6 / 42))


@pytest.mark.parametrize("update", ["synchronous", "asynchronous"])
@pytest.mark.parametrize("encoding", ["one-hot", "index"])
@pytest.mark.long
def test_steps_of_others_are_added_to_the_weights(update: str, encoding: str) -> None:
    settings = {"update": update, "encoding": encoding}
    one, other, third = (crawl_with("sarsa", seed, settings, pages=40) for seed in (1, 2, 3))
    begun = crawl_with("sarsa", 4, settings, pages=0)
    assert isinstance(one, Sarsa)
    assert isinstance(begun, Sarsa)
    own = one.share()
    theirs, more = ({**unpack(pack(it.share())), "of": own["of"]} for it in (other, third))
    assert all(state["added"].any() for state in (own, theirs, more))
    one.merge([theirs, more])
    first = begun.values.w
    expected = first + own["added"] + theirs["added"] + more["added"]
    assert np.array_equal(one.values.w, expected)
    saved = pack(one.save())
    one.merge([more, one.share(), theirs, unpack(pack(theirs))])
    assert pack(one.save()) == saved, "in any order, and once"
    assert np.array_equal(one.share()["added"], own["added"])
    begun.load(unpack(saved))
    assert pack(begun.save()) == saved
    # A shard that goes by other categories tells what is not of them.
    one.merge([{**theirs, "of": {"Elsewhere": "boats"}}])
    of_categories = ["category" in name for name in one.values.features]
    assert any(of_categories)
    apart = theirs["added"].copy()
    apart[of_categories] = 0.0
    assert np.array_equal(one.values.w, first + own["added"] + apart)
    one.merge([])
    assert np.array_equal(one.values.w, first + own["added"])
