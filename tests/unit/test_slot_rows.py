"""Slots have rows, each its own, whoever enters them first."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spoor.learn.mixed_effects_regression import MixedEffectsRegression
from spoor.learn.slot_rows import EMPTY, NOTHING, SlotRows


@given(st.lists(st.lists(st.integers(0, 4095), min_size=1, max_size=60), max_size=60))
def test_each_slot_has_a_row_of_its_own_which_it_keeps(calls: list[list[int]]) -> None:
    rows, given_to = SlotRows(12), {0: EMPTY}
    for slots in calls:
        assert all(rows.of(np.array([slot]))[0] == NOTHING for slot in set(slots) - given_to.keys())
        for slot, row in zip(slots, rows.enter(np.array(slots)).tolist(), strict=True):
            assert given_to.setdefault(slot, row) == row
    assert len(set(given_to.values())) == len(given_to)
    assert NOTHING not in given_to.values()
    assert max(given_to.values()) < rows.room
    known = np.array(list(given_to.values()))
    assert rows.slots(known).tolist() == list(given_to)
    again = SlotRows(12)
    again.enter(np.array([7, 9]))
    again.load(rows.save())
    assert again.of(np.arange(4096)).tolist() == rows.of(np.arange(4096)).tolist()


def test_rows_beyond_two_bytes_are_kept() -> None:
    rows, slots = SlotRows(18), np.random.default_rng(0).permutation(1 << 18)[:100_000]
    given_to = np.concatenate([rows.enter(part).astype(int) for part in np.split(slots, 50)])
    assert len(set(given_to.tolist())) == len(slots)
    assert rows.of(slots).tolist() == given_to.tolist()
    assert rows.slots(rows.of(slots)).tolist() == slots.tolist()


def test_two_models_by_the_same_rows_know_nothing_of_one_another() -> None:
    rows, one = SlotRows(12), np.ones(1, np.float32)
    first, other = (MixedEffectsRegression(rows, one, one, one) for _ in range(2))
    slots = np.arange(1, 4000, dtype=np.int32)[:, None]
    for row in slots[:1500]:
        first.update(row, one, 1.0)
    assert first.held().tolist() == list(range(1, 1501))
    assert other.held().tolist() == []
    assert not other.weights(slots).any(), "rows were given meanwhile"
    other.update(slots[2000], one, 0.0)
    assert (first.weights(slots)[1500:] == 0.0).all()
    assert (first.weights(slots)[:1500] > 0.0).all()
    assert other.held().tolist() == [2001]
    back = MixedEffectsRegression(SlotRows(12), one, one, one)
    back.load(first.save())
    assert (back.odds(slots, one) == first.odds(slots, one)).all()
