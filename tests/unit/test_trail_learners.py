"""Trail with a trained model: an untrained learner beside it, weighed by how well each foretells."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from spoor.learn.hedge import Hedge
from spoor.policies.trail.columns import BY_HAND, COLUMNS, DENSE, START
from spoor.policies.trail.learners import Learner, TwoLearners


def losses_of(chances: Sequence[float], wanted: bool) -> list[float]:
    return [-math.log(chance if wanted else 1.0 - chance) for chance in chances]


@pytest.mark.parametrize("worse", ["chance", "always sure", "the other way round"])
def test_the_mixture_is_above_the_best_by_no_more_than_ln_2(worse: str) -> None:
    above = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        hedge, mixture, each = Hedge(2), 0.0, [0.0, 0.0]
        for _ in range(300):
            truth = float(np.clip(rng.beta(0.5, 1.5), 0.01, 0.99))
            wanted = bool(rng.random() < truth)
            other = {"chance": float(rng.uniform(0.01, 0.99)), "always sure": 0.99}
            chances = [truth, other.get(worse, 1.0 - truth)]
            mixed = sum(w * c for w, c in zip(hedge.weights, chances, strict=True))
            mixture += losses_of([mixed], wanted)[0]
            losses = losses_of(chances, wanted)
            each = [total + loss for total, loss in zip(each, losses, strict=True)]
            hedge.compare(losses)
        above.append(mixture - min(each))
    assert max(above) <= math.log(2) + 1e-6
    assert max(above) > 0.0, "it does not know beforehand which is better"


def test_one_that_was_wrong_for_long_comes_back() -> None:
    hedge = Hedge(2)
    for _ in range(500):
        hedge.compare([0.1, 3.0])
    assert hedge.weights[1] == pytest.approx(0.0, abs=1e-9)
    for _ in range(20):
        hedge.compare([3.0, 0.1])
    assert hedge.weights[1] > 0.99


def row(word: int, group: int) -> np.ndarray:
    slots = np.zeros((1, COLUMNS), dtype=np.int32)
    slots[0, START["anchor"]], slots[0, START["list"]] = word, group
    return slots


def two(weight: float) -> TwoLearners:
    """The trained one expects this much of the links with word 7."""
    held = np.array([7])
    trained = {
        "slots": held,
        "w": np.array([weight], dtype=np.float32),
        "h": np.array([1e-6], dtype=np.float32),
        "a": BY_HAND.mean,
        "b": BY_HAND.variance,
    }
    return TwoLearners(Learner(weights=trained), Learner())


EIGHT = np.array([8])
ONE = np.array([[1.0] + [0.0] * (len(DENSE) - 1)], dtype=np.float32)


@pytest.mark.parametrize(("weight", "wanted"), [(5.0, True), (5.0, False), (-3.0, True)])
def test_the_one_that_foretells_better_is_believed(weight: float, wanted: bool) -> None:
    both = two(weight)
    assert both.trust == 0.5
    assert both.odds(row(7, 9), ONE)[0] == pytest.approx(BY_HAND.mean[0] + weight / 2)
    for page in range(3):
        slots = row(7, 10 + page)
        both.compare(slots, ONE, float(wanted))
        both.update(slots[0], ONE[0], float(wanted))
    trained_is_right = (weight > 0) == wanted
    assert both.trust > 0.8 if trained_is_right else both.trust < 0.2
    mean, _ = both.score(row(7, 9), ONE)
    assert mean == pytest.approx(both.odds(row(7, 9), ONE))
    shown = float(both.weights_of(np.array([7]))[0] + both.a[0])
    assert shown == pytest.approx(float(mean[0]))


def test_both_are_shared_and_merged() -> None:
    one, other, whole = two(2.0), two(2.0), two(2.0)
    rng = np.random.default_rng(0)
    for at in range(60):
        slots, reward = row(7 + int(rng.integers(5)), 20), float(rng.random() < 0.3)
        for both in (whole, one if at % 2 else other):
            both.update(slots[0], ONE[0], reward)
    one.merge([other.share(), one.share()])
    alone = np.abs(two(2.0).odds(row(8, 20), ONE) - whole.odds(row(8, 20), ONE))
    merged = np.abs(one.odds(row(8, 20), ONE) - whole.odds(row(8, 20), ONE))
    assert merged < 0.5 * alone
    for mine, its in ((one.trained, whole.trained), (one.untrained, whole.untrained)):
        assert mine.weights(EIGHT) == pytest.approx(its.weights(EIGHT), abs=0.2)
    fresh = two(2.0)
    fresh.restore(one.state())
    assert fresh.odds(row(8, 20), ONE) == one.odds(row(8, 20), ONE)
    assert fresh.share()["untrained"].keys() == one.share()["untrained"].keys()
