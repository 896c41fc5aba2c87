"""What a person says of pages moves the cut of the default judge to where it parts the labels."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spoor.judges.relevance.cut import Labels, otsu, parted
from spoor.judges.relevance.frequencies import Floats

VALUES = st.lists(st.floats(0.0, 3.0), min_size=3, max_size=60).map(np.array)
LABEL = st.tuples(st.floats(0.0, 3.0), st.sampled_from([1.0, -1.0]))
SLOPE = np.linspace(0.0, 2.0, 201)


def labels_of(*labels: tuple[float, float]) -> Labels:
    its = np.array(labels)
    return Labels(its[:, 0], its[:, 1])


def cut(values: Floats, *labels: tuple[float, float]) -> float:
    return otsu(values, np.ones(len(values)), labels_of(*labels))


@given(VALUES, st.lists(LABEL, min_size=1, max_size=20), st.integers(1, 40))
def test_whatever_is_said_the_cut_lies_among_the_values(
    values: Floats, labels: list[tuple[float, float]], times: int
) -> None:
    its = cut(values, *labels * times)
    assert values.min() - 1e-9 <= its <= values.max() + 1e-9


@given(VALUES, st.lists(st.floats(0.0, 3.0), min_size=1, max_size=10))
def test_the_cut_is_lower_where_the_same_pages_are_wanted_than_where_they_are_not(
    values: Floats, labelled: list[float]
) -> None:
    if np.ptp(values) < 1e-6:
        return  # they are one value
    wanted, refused = ([(value, sign) for value in labelled] for sign in (1.0, -1.0))
    assert cut(values, *wanted) <= cut(values, *refused) + 1e-6


def test_one_label_moves_the_cut_less_than_four_like_it() -> None:
    low = [(0.3, 1.0), (0.35, 1.0), (0.4, 1.0), (0.45, 1.0)]
    without = otsu(SLOPE, np.ones(len(SLOPE)))
    assert abs(cut(SLOPE, low[0]) - without) < 0.05
    assert cut(SLOPE, *low) < without - 0.1


def test_labels_find_the_cut_in_a_slope_without_a_gap() -> None:
    ones = np.ones(len(SLOPE))
    (without,) = parted(SLOPE, ones, [0.0])
    assert 0.8 < without < 1.2
    said = labels_of((1.0, -1.0), (1.2, -1.0), (1.4, -1.0), (1.7, 1.0), (1.8, 1.0), (1.9, 1.0))
    (its,) = parted(SLOPE, ones, [0.0], said)
    assert without + 0.2 < its < 1.7


def test_who_only_says_no_of_what_is_told_moves_the_cut_less() -> None:
    refused = [(1.5, -1.0), (1.6, -1.0), (1.7, -1.0), (1.8, -1.0)]
    alone = cut(SLOPE, *refused)
    beside = cut(SLOPE, *refused, (0.3, -1.0), (0.4, -1.0), (1.9, 1.0), (1.95, 1.0))
    assert alone < beside - 0.2
