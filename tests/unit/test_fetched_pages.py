"""Rows of fetched pages in arrays: as a dictionary of them would have them, and a state is a copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoor.policies.trail.columns import COLUMNS, DENSE
from spoor.policies.trail.fetched_pages import FetchedPages

LIMIT = 8


def page(number: int, rows: int) -> tuple[Any, Any, float]:
    return (
        np.full((rows, COLUMNS), number, np.int32),
        np.full((rows, len(DENSE)), number + 0.5, np.float32),
        float(number),
    )


def same(pages: FetchedPages, expected: dict[int, tuple[Any, Any, float]]) -> None:
    assert list(pages) == list(expected)
    assert len(pages) == len(expected)
    for link, (slots, dense, worth) in expected.items():
        assert link in pages
        assert pages.worth(link) == worth
        assert (pages.rows(link)[0] == slots).all()
        assert (pages.rows(link)[1] == dense).all()
        assert pages.rows(link)[0].shape == slots.shape


@given(st.lists(st.tuples(st.integers(1, 4), st.booleans(), st.booleans()), max_size=60))
def test_the_latest_pages_are_kept(steps: list[tuple[int, bool, bool]]) -> None:
    pages, expected = FetchedPages(LIMIT), dict[int, tuple[Any, Any, float]]()
    saved = pages.save()
    before = dict(expected)
    for link, (rows, saves, worth) in enumerate(steps):
        pages.put(link, *page(link, rows))
        expected[link] = page(link, rows)
        if len(expected) > LIMIT:
            gone = next(iter(expected))
            del expected[gone]
            assert pages.worth(gone) is None
        if worth:
            pages.set_worth(link, 0.25)
            expected[link] = (*expected[link][:2], 0.25)
        same(pages, expected)
        if saves:
            saved, before = pages.save(), dict(expected)
    back = FetchedPages(LIMIT)
    back.load(saved)
    same(back, before)
    back.put(1000, *page(1000, 2))
    assert (back.rows(1000)[0] == 1000).all()


@pytest.mark.parametrize(
    "damage",
    [
        {"worth": np.zeros(1)},
        {"links": np.array([1, 1])},
        {"counts": np.array([3, -1], np.int32)},
        {"counts": np.array([1, 2], np.int32)},
    ],
)
def test_columns_that_do_not_fit_are_refused(damage: dict[str, Any]) -> None:
    pages = FetchedPages(LIMIT)
    for link in (1, 2):
        pages.put(link, *page(link, 1))
    state = pages.save()
    pages.load(state)
    with pytest.raises(ValueError, match="fetched pages"):
        pages.load({**state, **damage})
