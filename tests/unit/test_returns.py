"""Q of hyperlinks: against a slow version that is plain to see, by hand, and its error bound."""

from __future__ import annotations

import math
from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoor.errors import InputError
from spoor.learn.returns import error_bound, horizon_of, link_values
from spoor.types import WebGraph


def web(links: list[list[int]], targets: set[int]) -> WebGraph:
    indptr = np.cumsum([0, *map(len, links)]).astype(np.int64)
    indices = np.array([target for row in links for target in row], dtype=np.int32)
    mask = np.array([page in targets for page in range(len(links))], dtype=bool)
    return WebGraph(
        [f"http://s.example/{page}" for page in range(len(links))], indptr, indices, mask
    )


# ---------------------------------------------------------------- the oracle, for small webs


def distances_from(links: list[list[int]], start: int) -> dict[int, int]:
    distance = {start: 0}
    queue = deque([start])
    while queue:
        page = queue.popleft()
        for target in links[page]:
            if target not in distance:
                distance[target] = distance[page] + 1
                queue.append(target)
    return distance


def slow_value(links: list[list[int]], targets: set[int], start: int, gamma: float) -> float:
    """The sequence of section 2.3 as it is told, to its end."""
    far = [distances_from(links, page) for page in range(len(links))]
    fetched, time = [start], 0
    total = 1.0 if start in targets else 0.0
    while True:
        ways = [
            (far[page][target], order, target)
            for order, page in enumerate(fetched)
            for target in targets
            if target not in fetched and target in far[page]
        ]
        if not ways:
            return total
        _, order, goal = min(ways)
        here = fetched[order]
        while here != goal:
            left = far[here][goal]
            here = next(page for page in links[here] if far[page].get(goal, math.inf) == left - 1)
            fetched.append(here)
            time += 1
        total += gamma**time


@st.composite
def small_webs(draw: st.DrawFn) -> tuple[list[list[int]], set[int]]:
    pages = draw(st.integers(1, 14))
    page = st.integers(0, pages - 1)
    links = draw(st.lists(st.lists(page, max_size=5, unique=True), min_size=pages, max_size=pages))
    return links, draw(st.sets(page))


@given(small_webs(), st.sampled_from([0.3, 0.5, 0.8]))
def test_equals_the_slow_version_where_the_horizon_lies_behind_the_end(
    small: tuple[list[list[int]], set[int]], gamma: float
) -> None:
    links, targets = small
    values = link_values(web(links, targets), gamma, horizon=len(links))
    slow = [slow_value(links, targets, page, gamma) for page in range(len(links))]
    assert values == pytest.approx(slow, abs=1e-12)


@given(small_webs(), st.sampled_from([0.3, 0.5, 0.8]), st.integers(0, 6))
def test_a_horizon_takes_no_more_than_its_bound(
    small: tuple[list[list[int]], set[int]], gamma: float, horizon: int
) -> None:
    links, targets = small
    values = link_values(web(links, targets), gamma, horizon=horizon)
    whole = np.array([slow_value(links, targets, page, gamma) for page in range(len(links))])
    assert (values <= whole + 1e-12).all()
    assert (values >= whole - error_bound(gamma, horizon) - 1e-12).all()


@given(small_webs())
def test_with_one_target_q_is_gamma_to_the_distance(
    small: tuple[list[list[int]], set[int]],
) -> None:
    links, _ = small
    values = link_values(web(links, {0}), horizon=20)
    for page in range(len(links)):
        distance = distances_from(links, page).get(0)
        assert values[page] == (0.0 if distance is None else 0.5**distance)


@given(small_webs())
def test_a_link_to_a_target_is_worth_at_least_1_and_any_other_less(
    small: tuple[list[list[int]], set[int]],
) -> None:
    links, targets = small
    values = link_values(web(links, targets))
    for page in range(len(links)):
        assert (values[page] >= 1) == (page in targets)


# ---------------------------------------------------------------- by hand


def test_the_way_back_to_an_earlier_page_of_the_sequence_costs_nothing() -> None:
    # 0 → 1, 2; 1 → 3 (target); 2 → 4 (target). From 0: fetch 1, 3 (step 2), then 2, 4 (step 4):
    # page 2 is followed from page 0, although the sequence stands on page 3.
    values = link_values(web([[1, 2], [3], [4], [], []], {3, 4}))
    assert values.tolist() == [0.5**2 + 0.5**4, 0.5, 0.5, 1.0, 1.0]


def test_a_page_on_the_way_is_fetched_and_its_links_join_the_fringe() -> None:
    # 0 → 1 → 2 (target); 1 → 3 → 4 (target), 5 (target). From 0: 1, 2 (2), 3, 4 (4), 5 (5).
    values = link_values(web([[1], [2, 3], [], [4, 5], [], []], {2, 4, 5}))
    assert values[0] == 0.5**2 + 0.5**4 + 0.5**5


def test_how_ties_are_broken_changes_q() -> None:
    # 0 → 1 → 3 (target) and 0 → 2 → 3 are equally short; only page 2 shows target 4.
    one = link_values(web([[1, 2], [3], [3, 4], [], []], {3, 4}))
    other = link_values(web([[2, 1], [3], [3, 4], [], []], {3, 4}))
    assert one[0] == 0.5**2 + 0.5**4
    assert other[0] == 0.5**2 + 0.5**3


def test_the_horizon_is_the_last_step_that_counts() -> None:
    assert horizon_of(0.5) == 13
    assert 0.5**13 >= 1e-4 > 0.5**14
    assert error_bound(0.5, 13) < 1.3e-4
    assert horizon_of(0.0) == 0
    assert horizon_of(0.1) == 4  # 0.1 ** 4 is 1e-4 up to rounding
    chain = web([[page + 1] for page in range(20)] + [[]], {20})
    values = link_values(chain)
    assert values[20 - 13] == 0.5**13
    assert values[20 - 14] == 0.0


def test_a_web_without_targets_or_links_has_values_all_the_same() -> None:
    assert link_values(web([[1], [0]], set())).tolist() == [0.0, 0.0]
    assert link_values(web([[], []], {1})).tolist() == [0.0, 1.0]
    assert link_values(web([], set())).tolist() == []


@pytest.mark.parametrize("gamma", [-0.1, 1.0, 2.0])
def test_a_discount_that_is_none_is_refused(gamma: float) -> None:
    with pytest.raises(InputError, match="gamma"):
        link_values(web([[]], set()), gamma)
