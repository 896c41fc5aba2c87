"""TD(λ): gradients and traces against numerical differences, values against dynamic programming."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from spoor.learn.keywords import Keywords, choose_keywords, information_gain
from spoor.learn.temporal_difference import (
    Learner,
    Network,
    Walks,
    exact_values,
    learn_walks,
    walkable,
)
from spoor.types import WebGraph

Ones = NDArray[np.int32]


def graph_of(links: Sequence[Sequence[int]], targets: Sequence[int]) -> WebGraph:
    indptr = np.cumsum([0, *map(len, links)]).astype(np.int64)
    indices = np.array([at for row in links for at in row], dtype=np.int32)
    mask = np.zeros(len(links), dtype=bool)
    mask[list(targets)] = True
    return WebGraph([f"http://w/{at}" for at in range(len(links))], indptr, indices, mask)


def one_hot(pages: int) -> list[Ones]:
    return [np.array([at], dtype=np.int32) for at in range(pages)]


def drawn_network(features: int, hidden: int, seed: int) -> Network:
    rng = np.random.default_rng(seed)
    network = Network(features, hidden, rng)
    network.weights[:] = rng.normal(0.0, 0.7, len(network.weights))
    return network


def numerical_gradient(network: Network, ones: Ones) -> NDArray[np.float64]:
    step = 1e-6
    gradient = np.zeros_like(network.weights)
    for at in range(len(gradient)):
        kept = network.weights[at]
        network.weights[at] = kept + step
        above = network.value(ones)
        network.weights[at] = kept - step
        below = network.value(ones)
        network.weights[at] = kept
        gradient[at] = (above - below) / (2 * step)
    return gradient


# ---------------------------------------------------------------- gradients, traces, updates

states = st.lists(st.integers(0, 6), unique=True, max_size=7).map(
    lambda ones: np.array(sorted(ones), dtype=np.int32)
)


@given(hidden=st.integers(0, 4), seed=st.integers(0, 1000), ones=states)
@settings(max_examples=60)
def test_the_gradient_is_that_of_the_value(hidden: int, seed: int, ones: Ones) -> None:
    network = drawn_network(7, hidden, seed)
    gradient = np.zeros_like(network.weights)
    value = network.add_gradient(ones, gradient)
    assert value == pytest.approx(network.value(ones), abs=1e-12)
    np.testing.assert_allclose(gradient, numerical_gradient(network, ones), atol=1e-7)


@given(
    hidden=st.integers(0, 3),
    seed=st.integers(0, 1000),
    walk=st.lists(states, min_size=2, max_size=5),
    gamma=st.floats(0.0, 1.0),
    lam=st.floats(0.0, 1.0),
)
@settings(max_examples=40)
def test_traces_and_weights_follow_their_equations_step_by_step(
    hidden: int, seed: int, walk: list[Ones], gamma: float, lam: float
) -> None:
    network = drawn_network(7, hidden, seed)
    twin = drawn_network(7, hidden, seed)
    learner = Learner(network, alpha=0.05, gamma=gamma, lam=lam)
    learner.trace[:] = 9.0
    learner.begin()
    trace = np.zeros_like(twin.weights)
    for at, state in enumerate(walk):
        after = walk[at + 1] if at + 1 < len(walk) else None
        reward = float(after is None)
        future = twin.value(after) if after is not None else 0.0
        delta = reward + gamma * future - twin.value(state)
        trace = gamma * lam * trace + numerical_gradient(twin, state)
        twin.weights += 0.05 * delta * trace
        assert learner.step(state, reward, after) == pytest.approx(delta, abs=1e-5)
        np.testing.assert_allclose(learner.trace, trace, atol=1e-5)
        np.testing.assert_allclose(network.weights, twin.weights, atol=1e-5)


def test_two_moves_by_hand() -> None:
    network = Network(2, 0, np.random.default_rng(0))
    learner = Learner(network, alpha=0.5, gamma=0.8, lam=0.5)
    a, b = one_hot(2)
    learner.begin()
    assert learner.step(a, 0.0, b) == 0.0
    assert learner.trace.tolist() == [1.0, 0.0, 1.0]
    assert learner.step(b, 1.0, None) == 1.0
    # e = 0.4 · (1, 0, 1) + (0, 1, 1)
    assert learner.trace == pytest.approx([0.4, 1.0, 1.4])
    assert network.weights == pytest.approx([0.2, 0.5, 0.7])


def test_a_network_comes_back_from_its_state() -> None:
    network = drawn_network(5, 3, 1)
    ones = np.array([0, 3], dtype=np.int32)
    assert Network.load(network.save()).value(ones) == network.value(ones)


def test_a_new_network_values_everything_at_0() -> None:
    assert Network(9, 4, np.random.default_rng(3)).value(np.arange(9, dtype=np.int32)) == 0.0


# ---------------------------------------------------------------- exact values


@given(
    links=st.lists(st.lists(st.integers(0, 5), max_size=4, unique=True), min_size=6, max_size=6),
    targets=st.sets(st.integers(0, 5), max_size=3),
    gamma=st.floats(0.0, 0.95),
)
@settings(max_examples=60)
def test_exact_values_solve_the_bellman_equations(
    links: list[list[int]], targets: set[int], gamma: float
) -> None:
    graph = graph_of(links, sorted(targets))
    move = np.zeros((6, 6))
    for page, row in enumerate(links):
        if page not in targets:
            for after in row:
                move[page, after] = 1.0 / len(row)
    solved = np.linalg.solve(np.eye(6) - gamma * move, move @ graph.targets)
    np.testing.assert_allclose(exact_values(graph, gamma), solved, atol=1e-9)


def test_exact_values_where_walks_go_through_targets() -> None:
    # 0 → 1 (a target) → 0: at 0 the next move is rewarded, and every second one after it.
    graph = graph_of([[1], [0]], [1])
    assert exact_values(graph, 0.5, through=True) == pytest.approx([1 / 0.75, 0.5 / 0.75])
    assert exact_values(graph, 0.5).tolist() == [1.0, 0.0]


def test_exact_values_of_a_chain_by_hand() -> None:
    # 0 → 1 → 2 (a target); 3 has no way on.
    graph = graph_of([[1], [2, 3], [0], []], [2])
    assert exact_values(graph, 0.5).tolist() == [0.25, 0.5, 0.0, 0.0]


# ---------------------------------------------------------------- TD(λ) converges to them

FIVE = graph_of([[], [0, 2], [1, 3], [2, 4], [3, 5], [4, 6], []], [6])
"""Sutton and Barto's five-state walk, example 6.2: ends at 0 (nothing) or at 6 (the target)."""

TANGLE = graph_of([[1, 2, 3], [0, 4], [4, 5, 6], [0, 2, 6], [7, 1], [], [3, 5, 7], [0]], [7])


def settled(graph: WebGraph, root: int, hidden: int, gamma: float, lam: float) -> float:
    """Largest distance from the exact values, of the mean values over the last of many walks.

    With a constant step size single values keep moving around their mean, the more the larger λ.
    """
    pages = len(graph.urls)
    states = one_hot(pages)
    known = [at for at in walkable(graph, root) if not graph.targets[at]]
    shown = [states[at] for at in known]
    network = Network(pages, hidden, np.random.default_rng(5))
    rng = np.random.default_rng(7)
    for alpha, episodes in ((0.1, 500), (0.02, 1000)):
        learner = Learner(network, alpha=alpha, gamma=gamma, lam=lam)
        learn_walks(learner, graph, [root], states, Walks(episodes, 500), rng)
    learner = Learner(network, alpha=0.005, gamma=gamma, lam=lam)
    total = np.zeros(len(known))
    for _ in range(50):
        learn_walks(learner, graph, [root], states, Walks(100, 500), rng)
        total += network.values(shown)
    return float(np.abs(total / 50 - exact_values(graph, gamma)[known]).max())


@pytest.mark.parametrize("lam", [0.0, 1.0])
@pytest.mark.long
def test_td_converges_to_exact_values_on_the_five_state_walk(lam: float) -> None:
    assert exact_values(FIVE, 1.0)[1:6] == pytest.approx([1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6])
    assert settled(FIVE, 3, 0, 1.0, lam) < 0.03


@pytest.mark.long
def test_td_converges_to_exact_values_with_cycles_and_dead_ends() -> None:
    assert settled(TANGLE, 0, 0, 0.8, 0.6) < 0.03


@pytest.mark.long
def test_the_network_converges_too() -> None:
    assert settled(TANGLE, 0, 12, 0.8, 0.6) < 0.03


@given(seed=st.integers(0, 10_000))
@settings(max_examples=2)
@pytest.mark.long
def test_td_converges_on_any_small_web(seed: int) -> None:
    rng = np.random.default_rng(seed)
    links = [sorted({(at + 1) % 6, *rng.integers(0, 6, 2).tolist()} - {at}) for at in range(6)]
    assert settled(graph_of(links, [4]), 0, 0, 0.7, 0.5) < 0.05


# ---------------------------------------------------------------- walks


def test_a_walk_that_is_cut_learns_nothing_of_its_last_state() -> None:
    graph = graph_of([[1], [2], [3], [0]], [3])
    network = Network(4, 0, np.random.default_rng(0))
    network.weights[:] = [0.0, 0.0, 0.4, 0.0, 0.0]
    learner = Learner(network, alpha=0.5, gamma=1.0, lam=0.0)
    learn_walks(learner, graph, [0], one_hot(4), Walks(1, 2), np.random.default_rng(0))
    # δ of the first move is 0; the second bootstraps from page 2, whose weight stays.
    assert network.weights == pytest.approx([0.0, 0.2, 0.4, 0.0, 0.2])


def test_a_walk_through_targets_converges_to_its_own_values() -> None:
    graph = graph_of([[1], [0]], [1])
    network = Network(2, 0, np.random.default_rng(0))
    learner = Learner(network, alpha=0.05, gamma=0.5, lam=0.5)
    walks = Walks(200, 20, through=True)
    curve = learn_walks(learner, graph, [0], one_hot(2), walks, np.random.default_rng(0))
    assert network.values(one_hot(2)) == pytest.approx([1 / 0.75, 0.5 / 0.75], abs=0.01)
    assert curve[-1]["error"] < 0.01
    assert curve[-1]["reached"] == 1.0


def test_a_page_without_links_ends_a_walk_with_nothing() -> None:
    graph = graph_of([[1], [], [0]], [2])
    network = Network(3, 0, np.random.default_rng(0))
    network.weights[1] = 0.8
    learner = Learner(network, alpha=0.5, gamma=0.5, lam=0.0)
    learn_walks(learner, graph, [0], one_hot(3), Walks(60, 10), np.random.default_rng(0))
    assert network.values(one_hot(3)[:2]) == pytest.approx([0.0, 0.0], abs=1e-3)


def test_every_root_begins_a_walk_in_turn() -> None:
    # 0 → 1, which is wanted, and 2 → 3 → 2. The first walk is of one move from 0: δ = 1, so that the
    # feature of 0 and the bias are 1/2. The second is from 2: V(2) = V(3) = 1/2, δ = 1/4 - 1/2.
    graph = graph_of([[1], [], [3], [2]], [1])
    network = Network(4, 0, np.random.default_rng(0))
    learner = Learner(network, alpha=0.5, gamma=0.5, lam=0.0)
    network.weights[:] = 0.0
    curve = learn_walks(learner, graph, [0, 2], one_hot(4), Walks(2, 1), np.random.default_rng(0))
    assert [point["reached"] for point in curve] == [1.0, 0.0]
    assert network.weights.tolist() == [0.5, 0.0, -0.125, 0.0, 0.375]


def test_the_learning_curve_ends_with_the_last_episode_and_falls() -> None:
    network = Network(8, 0, np.random.default_rng(0))
    learner = Learner(network, alpha=0.02, gamma=0.8, lam=0.3)
    told: list[int] = []
    walks = Walks(400, 100)
    curve = learn_walks(
        learner, TANGLE, [0], one_hot(8), walks, np.random.default_rng(1), told.append
    )
    assert told == list(range(1, 401))
    assert [point["episode"] for point in curve] == list(range(16, 401, 16))
    assert curve[-1]["error"] < curve[0]["error"] / 2
    assert all(0.0 <= point["reached"] <= 1.0 for point in curve)


# ---------------------------------------------------------------- keywords


def test_information_gain_is_mutual_information() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(2)
    wanted = rng.random(200) < 0.2
    having = rng.random((200, 6)) < np.where(wanted[:, None], 0.6, rng.random(6))
    counts = np.stack(
        [(having & ~wanted[:, None]).sum(0), (having & wanted[:, None]).sum(0)], axis=1
    )
    gain = information_gain(counts, np.array([(~wanted).sum(), wanted.sum()]))
    theirs = [metrics.mutual_info_score(wanted, column) / np.log(2) for column in having.T]
    assert gain == pytest.approx(theirs, abs=1e-12)


def test_the_most_telling_words_are_chosen() -> None:
    pages = [({"board", "home", f"n{at}"}, True) for at in range(4)]
    pages += [({"home", "news", f"m{at}"}, False) for at in range(4)]
    pages += [({"home", "press"}, False)] * 2 + [({"home"}, True)]
    # `news` is missing from one class, `board` from the other; `home` tells nothing; the rest is rare.
    assert choose_keywords(pages, 2) == ["board", "news"]
    assert choose_keywords(pages, 10) == ["board", "news", "home"]
    assert choose_keywords(pages, 10, least=2) == ["board", "news", "press", "home"]


def test_keywords_are_numbers_in_order_each_once() -> None:
    known = Keywords(["news", "board", "staff"])
    assert known.ones(["staff", "other", "news", "staff"]).tolist() == [0, 2]
    assert known.ones([]).dtype == np.int32
