"""What a person says of pages moves the cut of the default judge to where it parts the answers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spoor.judges.relevance.cut import Answers, otsu, parted
from spoor.judges.relevance.frequencies import Floats

VALUES = st.lists(st.floats(0.0, 3.0), min_size=3, max_size=60).map(np.array)
ANSWER = st.tuples(st.floats(0.0, 3.0), st.sampled_from([1.0, -1.0]))
ANSWERS = st.lists(ANSWER, min_size=1, max_size=20)


def cut(values: Floats, answers: list[tuple[float, float]]) -> float:
    its = np.array(answers)
    return otsu(values, np.ones(len(values)), Answers(its[:, 0], its[:, 1]))


@given(VALUES, ANSWERS, st.floats(0.0, 3.0))
def test_a_further_yes_lowers_the_cut_and_a_no_raises_it(
    values: Floats, answers: list[tuple[float, float]], value: float
) -> None:
    before = cut(values, answers)
    assert values.min() - 1e-9 <= before <= values.max() + 1e-9
    if np.ptp(values) < 1e-6:
        return  # they are one value
    assert cut(values, [*answers, (value, 1.0)]) <= before + 1e-6
    assert cut(values, [*answers, (value, -1.0)]) >= before - 1e-6


@given(VALUES, st.integers(1, 400))
def test_answers_that_deny_one_another_leave_a_cut(values: Floats, times: int) -> None:
    its = cut(values, [(1.0, 1.0), (1.0, -1.0), (0.0, 1.0), (3.0, -1.0)] * times)
    assert values.min() - 1e-9 <= its <= values.max() + 1e-9


def test_answers_find_the_cut_in_a_slope_without_a_gap() -> None:
    values = np.linspace(0.0, 2.0, 201)
    ones = np.ones(len(values))
    (without,) = parted(values, ones, [0.0])
    assert 0.8 < without < 1.2
    answers = Answers(np.array([1.0, 1.2, 1.4, 1.7, 1.8]), np.array([-1.0, -1.0, -1.0, 1.0, 1.0]))
    (its,) = parted(values, ones, [0.0], answers)
    assert without + 0.2 < its < 1.7
