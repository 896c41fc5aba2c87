"""Partial pooling: what all sites say goes far, what one of them says stays there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spoor.learn.hierarchical_regression import SharedWeights, fit

VARIANCE = np.array([0.5, 0.5, 1.0], dtype=np.float32)
MEAN, SPREAD = np.array([-1.0], dtype=np.float32), np.array([1.0], dtype=np.float32)
COMMON, LOCAL, DULL = 1, 2, 3


Rows = tuple[Any, Any, Any, Any]


def rows(sites: int = 3, each: int = 60) -> Rows:
    """COMMON tells on every site, LOCAL on the first only and elsewhere nothing, DULL nowhere."""
    rng = np.random.default_rng(4)
    slots, y, site = [], [], []
    for at in range(sites):
        for n in range(each):
            word = (COMMON, LOCAL, DULL)[n % 3]
            chance = 0.9 if word == COMMON or (word == LOCAL and at == 0) else 0.1
            slots.append((word, 0, 100 + 10 * at + n // 10))
            y.append(float(rng.random() < chance))
            site.append(at)
    return (
        np.array(slots, dtype=np.int32),
        np.ones((len(y), 1), dtype=np.float32),
        np.array(y),
        np.array(site, dtype=np.int64),
    )


def pooled(between: float = 1.0, data: Rows | None = None) -> SharedWeights:
    return fit(
        *(data or rows()), variance=VARIANCE, shared=2, mean=MEAN, spread=SPREAD, between=between
    )


def test_what_all_sites_say_outweighs_what_one_says() -> None:
    learned = pooled()
    assert learned.slots.tolist() == [COMMON, LOCAL, DULL]
    common, local, dull = learned.weights
    assert common > 0.3 > local > dull


def test_groups_and_the_empty_slot_are_not_told() -> None:
    assert all(0 < slot < 100 for slot in pooled().slots.tolist())


def test_the_less_sites_differ_the_more_one_of_them_is_believed() -> None:
    alike, apart = pooled(between=0.01).weights, pooled(between=5.0).weights
    assert np.abs(alike).sum() > np.abs(apart).sum()


def test_one_site_alone_is_shared_out_between_the_word_and_its_departure() -> None:
    """Of one site, the maximum splits a weight in the proportion of the prior variances."""
    slots, dense, y, site = rows()
    data = slots[:60], dense[:60], y[:60], site[:60]
    half = pooled(between=1.0, data=data).weights
    third = pooled(between=2.0, data=data).weights
    whole = pooled(between=0.001, data=data).weights
    assert half == pytest.approx(whole / 2, rel=0.35)
    assert np.all(np.abs(third) < np.abs(half))


def test_nothing_to_learn_from_leaves_the_prior() -> None:
    none = (
        np.zeros((0, 3), dtype=np.int32),
        np.zeros((0, 1), dtype=np.float32),
        np.zeros(0),
        np.zeros(0, dtype=np.int64),
    )
    learned = pooled(data=none)
    assert len(learned.slots) == 0
    assert learned.dense == pytest.approx(MEAN)
    assert learned.spread == pytest.approx(SPREAD)


def test_what_is_sure_of_the_numbers_grows_with_the_rows() -> None:
    few, many = rows(each=9), rows(each=90)
    assert pooled(data=many).spread[0] < pooled(data=few).spread[0] < SPREAD[0]
