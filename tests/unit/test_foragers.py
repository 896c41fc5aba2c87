"""Foragers: the algorithms of Palotai et al. (2005) by hand, and the laws of a fleet."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from spoor import registry
from spoor.durations import DAY
from spoor.errors import CallerError, InputError
from spoor.foragers.agent import ReinforcingAgent
from spoor.foragers.colony import Colony
from spoor.foragers.fleet import Fleet
from spoor.foragers.fleets import FleetTask
from spoor.foragers.forager import Forager, Frontier
from spoor.foragers.revisit import ChangeRate
from spoor.foragers.settings import FleetSettings
from spoor.foragers.states import PrTFIDF, SelfTaught, partition, words
from spoor.foragers.weblog import Weblog
from spoor.learn.state import pack, unpack
from spoor.simulation.replay import Replay
from spoor.types import (
    Deferred,
    Failed,
    Fetch,
    Fetched,
    Link,
    Outcome,
    Page,
    Redirected,
    Sleep,
    State,
)
from spoor.watching.hosts import Hosts
from spoor.watching.known_urls import Known
from spoor.watching.urls import NEVER
from spoor.worlds.evolving import EvolvingWorld, Version

PAPER = FleetSettings()


class Letters:
    """States by the first letter of a page's text: `a` is (1, 0), `b` is (0, 1)."""

    size = 2
    settled = True

    def __call__(self, page: Page) -> np.ndarray[Any, np.dtype[np.float32]]:
        return np.array([page.text.startswith("a"), page.text.startswith("b")], dtype=np.float32)

    def save(self) -> State:
        return {}

    def load(self, state: State) -> None:
        pass


def url(name: str) -> str:
    return f"http://news.example/{name}"


def page(name: str, text: str = "", links: str = "", modified: float | None = None) -> Page:
    made = [Link(url(target)) for target in links.split()]
    return Page(url(name), text=text, links=made, modified=modified)


def known_of(*pages: Page, now: float = 0.0) -> Known:
    known = Known(Letters())
    for shown in pages:
        known.see(known.number(shown.url), shown, now)
    return known


def forager(weight: Sequence[float] = (0.0, 0.0), **told: Any) -> Forager:
    settings_ = FleetSettings(**told)
    return Forager(0, Weblog({0: 0.0}), np.array(weight, dtype=np.float32), settings_, 100.0)


# ---------------------------------------------------------------- the algorithms, by hand


def test_algorithm_1_weblog_update() -> None:
    weblog = Weblog({7: 10.0, 8: 4.0})
    # Steps 1, 7, 2 brought 100, −1, 50: sums from each to the end are 149, 49, 50.
    weblog.update([1, 7, 2], [100.0, -1.0, 50.0], PAPER)
    assert weblog.values == {1: 149.0, 2: 50.0, 7: pytest.approx(0.7 * 10 + 0.3 * 49), 8: 4.0}
    assert list(weblog.values) == [1, 2, 7, 8]
    assert weblog.starts(2) == [1, 2]


def test_algorithm_1_keeps_the_first_hundred() -> None:
    weblog = Weblog({})
    weblog.update(list(range(150)), [1.0] * 150, PAPER)
    assert list(weblog.values) == list(range(100))
    assert weblog.values[0] == 150.0
    assert weblog.starts(PAPER.start_size) == list(range(10))


def test_algorithm_3_takes_the_largest_value() -> None:
    states = np.array([[1, 0], [0, 1], [0.5, 0.5]], dtype=np.float32)
    frontier = Frontier([0, 1, 2])
    weight = np.array([1, 3], dtype=np.float32)
    assert [frontier.take_best(states, weight) for _ in range(3)] == [1, 2, 0]
    assert len(frontier) == 0


def test_algorithm_4_ordering_update() -> None:
    known = known_of(page("x", "a"), page("y", "b"))
    learner = forager((2.0, 3.0))
    learner.reinforce(known, 0, 5.0)
    assert learner.weight.tolist() == [2.0, 3.0]  # nothing before the first step
    learner.reinforce(known, 1, 10.0)
    # δ = 10 + 0.9 · 3 − 2 = 10.7; weight += 0.1 · 10.7 · (1, 0)
    assert learner.weight.tolist() == pytest.approx([3.07, 3.0])
    assert learner.rewards == [5.0, 10.0]


def test_algorithm_4_is_off_without_learning() -> None:
    known = known_of(page("x", "a"), page("y", "b"))
    fixed = forager((2.0, 3.0), learns=False)
    fixed.reinforce(known, 0, 5.0)
    fixed.reinforce(known, 1, 10.0)
    assert fixed.weight.tolist() == [2.0, 3.0]


def test_algorithm_5_new_and_not_marked() -> None:
    now = 10 * DAY
    known = known_of(
        page("new", "1", modified=now - DAY),
        page("old", "2", modified=now - DAY - 1),
        page("undated", "3"),
        now=now,
    )
    watcher = forager()
    assert watcher.new_documents(known, [0, 1, 2], now) == [0]
    assert watcher.new_documents(known, [0, 1, 2], now) == []
    known.see(0, page("new", "1, changed", modified=now), now)
    assert watcher.new_documents(known, [0], now) == []
    by_version = forager(identity="version")
    assert by_version.new_documents(known, [0], now) == [0]
    known.see(0, page("new", "1, once more", modified=now), now)
    assert by_version.new_documents(known, [0], now) == [0]


@given(st.integers(2, 120), st.integers(0, 99))
def test_algorithm_6_divides_the_weblog(size: int, seed: int) -> None:
    values = {at: float(size - at) for at in range(size)}
    parent = Forager(
        0, Weblog(dict(values)), np.ones(2, dtype=np.float32), FleetSettings(learns=False), 250.0
    )
    child = parent.multiply(1, np.random.default_rng(seed))
    assert len(child.weblog.values) == size // 2
    assert {**parent.weblog.values, **child.weblog.values} == values
    assert len(parent.weblog.values) + len(child.weblog.values) == size
    for weblog in (parent.weblog, child.weblog):
        assert list(weblog.values.values()) == sorted(weblog.values.values(), reverse=True)
    assert child.score == 100.0
    assert child.weight.tolist() != [1.0, 1.0]  # drawn anew


def test_algorithm_6_copies_the_weights_of_a_learner() -> None:
    child = forager((0.25, 0.5)).multiply(1, np.random.default_rng(0))
    assert child.weight.tolist() == [0.25, 0.5]
    assert child.weblog.values == {0: 0.0}  # a weblog of one is shared


def test_algorithm_7_first_submitter_is_paid() -> None:
    now = 5 * DAY
    known = known_of(page("x", "1", modified=now - 1), page("y", "2", modified=0.0), now=now)
    agent, first, second = ReinforcingAgent(PAPER), forager(), forager()
    assert agent.manage_url(0, known, now, first) == 100.0
    assert first.score == pytest.approx(100.95)
    assert agent.manage_url(0, known, now, second) == -1.0
    assert second.score == pytest.approx(99.95)
    assert agent.manage_url(1, known, now, second) == -1.0  # too old
    assert (agent.counts.sent, agent.counts.relevant) == (3, 1)
    assert agent.discoveries[0][:4] == (0, 1, now - 1, now)


@pytest.mark.parametrize(
    ("score", "others", "grown", "scores"),
    [
        (200.0, 1, 1, [100.0, 50.0, 100.0]),
        (199.9, 1, 0, [199.9, 50.0]),
        (200.0, 15, 0, [200.0, *[50.0] * 15]),
        (0.0, 2, -1, [50.0, 50.0]),
        (0.0, 1, 0, [0.0, 50.0]),
        (0.1, 2, 0, [0.1, 50.0, 50.0]),
    ],
)
def test_algorithm_8_manage_forager(
    score: float, others: int, grown: int, scores: list[float]
) -> None:
    agent = ReinforcingAgent(PAPER)
    foragers = [forager() for _ in range(1 + others)]
    for at, one in enumerate(foragers):
        one.score = 50.0 if at else score
    done = agent.manage_forager(foragers, 0, lambda: 99, np.random.default_rng(0))
    assert done == grown
    assert [one.score for one in foragers] == scores


def test_algorithm_10_and_11_paths_begin_at_a_starting_url() -> None:
    known = known_of(*(page(str(at), "a") for at in range(4)))
    walker = forager(max_step=2)
    rng = np.random.default_rng(0)

    def choose(starts: Sequence[int]) -> int:
        return int(rng.choice(starts))

    assert walker.steps == 3
    assert walker.select(known, (), choose) == 0
    walker.frontier.add([0, 1, 2, 3], walker.visited)
    assert walker.frontier.urls() == [1, 2, 3]  # the visited one stays out
    steps: list[int] = []
    for reward in (0.0, 100.0):
        walker.reinforce(known, 0 if not steps else steps[-1], reward)
        steps.append(walker.select(known, (), choose))
    assert walker.steps == 3
    assert steps == [1, 3]  # equal values: the first of the array, whose last takes its place
    walker.reinforce(known, 3, 100.0)
    assert walker.path == [0, 1, 3]
    # MAX_STEP steps after the start: the weblog learns, and a path begins anew
    assert walker.select(known, (), choose) in {0, 1, 3}
    assert walker.weblog.values == {1: 200.0, 3: 100.0, 0: pytest.approx(0.3 * 200.0)}
    assert (walker.path, walker.steps, len(walker.frontier)) == ([], 1, 0)


# ---------------------------------------------------------------- what a fleet knows


def test_dates_of_pages_that_state_none() -> None:
    known = Known(Letters())
    hub = known.number(url("hub"))
    first = page("hub", "v1", "x")
    known.see(hub, first, 10.0)
    known.links(hub, first, 10.0)
    x = known.number(url("x"))
    known.see(x, page("x", "text"), 11.0)
    assert known.date[x] == NEVER  # it may have stood there for years
    second = page("hub", "v2", "x y")
    known.see(hub, second, 20.0)
    assert known.date[hub] == 20.0  # it changed since the last download
    known.links(hub, second, 20.0)
    y = known.number(url("y"))
    known.see(y, page("y", "text"), 30.0)
    assert known.date[y] == 20.0  # its link was not there before
    assert not known.see(y, page("y", "text"), 40.0)
    assert (known.date[y], known.version[y], known.fetched[y]) == (20.0, 1, 40.0)


def test_self_taught_states_come_with_the_corpus() -> None:
    describe = SelfTaught(after=4, clusters=2)
    known = Known(describe)
    texts = ["kiln glaze clay", "kiln clay wheel", "comet orbit moon", "comet moon lens"]
    pages = [page(str(at), text) for at, text in enumerate(texts)]
    for at, shown in enumerate(pages):
        known.see(known.number(shown.url), shown, float(at))
    assert not known.states[:4].any()
    for at, shown in enumerate(pages):
        assert not known.see(at, shown, 10.0)  # the content is the same, its state is made now
    one, other = known.states[0], known.states[2]
    assert one.argmax() != other.argmax()
    assert known.states[1].argmax() == one.argmax()
    assert np.abs(known.states).max() < 1.0


# ---------------------------------------------------------------- states


def test_partition_splits_what_differs() -> None:
    rows = np.array([[3, 1, 0, 0], [2, 1, 0, 0], [0, 0, 1, 4], [0, 0, 1, 3], [0, 0, 5, 0]])
    label = partition(sparse.csr_array(rows), 3)
    assert label[0] == label[1]
    assert label[2] == label[3]
    assert len({label[0], label[2], label[4]}) == 3


@pytest.mark.parametrize("size", [100, 200])
def test_the_principal_direction_is_exact_where_two_are_nearly_alike(size: int) -> None:
    # One word a document: n + 1, n and n documents, with m = 3n + 1. The scatter along the
    # direction (0, 1, -1) is n; the rest, m - ((n + 1)² + 2n²) / m - n = n + (2/3 - a little), is
    # along (2, -1, -1): the first group against the other two. n = 200 goes by Lanczos.
    rows = np.repeat(np.eye(3), [size + 1, size, size], axis=0)
    label = partition(sparse.csr_array(rows), 2)
    assert label.tolist() == [label[0]] * (size + 1) + [1 - label[0]] * (2 * size)
    # The same for texts of a few random words, by the singular vectors.
    rng = np.random.default_rng(size)
    rows = rng.poisson(0.06, (3 * size, 40)) + np.eye(40)[rng.integers(40, size=3 * size)]
    centred = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    centred -= centred.mean(axis=0)
    side = np.linalg.svd(centred, full_matrices=False)[0][:, 0] > 0
    assert _rand(partition(sparse.csr_array(rows), 2), side) == 1.0
    # What sixty rounds of power iteration made of it.
    along = np.cos(np.arange(1.0, len(rows) + 1.0))
    for _ in range(60):
        direction = centred.T @ along
        along = centred @ (direction / np.linalg.norm(direction))
    assert _rand(along > 0, side) < 0.95


def _rand(one: np.ndarray, other: np.ndarray) -> float:
    """Rand index: the share of pairs of documents that both put together or both apart."""
    pairs = np.triu_indices(len(one), 1)
    alike = [(label[:, None] == label)[pairs] for label in (one, other)]
    return float((alike[0] == alike[1]).mean())


@given(st.integers(1, 30), st.integers(1, 12), st.integers(0, 50))
@settings(max_examples=40)
def test_partition_is_one(documents: int, clusters: int, seed: int) -> None:
    rows = np.random.default_rng(seed).poisson(0.4, (documents, 9))
    label = partition(sparse.csr_array(rows), clusters)
    sizes = np.bincount(label)
    assert len(label) == documents
    assert len(sizes) <= min(clusters, documents)
    assert sizes.min() > 0
    assert (label == partition(sparse.csr_array(rows), clusters)).all()


def test_prtfidf_by_hand() -> None:
    # Two clusters of one document each, and one document of general text.
    model = PrTFIDF.fit([["kiln", "clay"], ["moon", "moon"]], [["kiln", "moon"]], clusters=2)
    clay, kiln = model.outputs(["clay"]), model.outputs(["kiln"])
    # P(w | C) P(C): clay stands in one cluster only; kiln has 1/2 there and 1/2 in general text.
    at = int(clay.argmax())
    assert clay[at] == pytest.approx(1.0)
    assert kiln[at] == pytest.approx(0.5)
    # moon: 1 in the other cluster and 1/2 in general text
    assert model.outputs(["moon"])[1 - at] == pytest.approx(2 / 3)
    assert model.outputs(["clay", "moon"]).tolist()[at] == pytest.approx(0.5)
    assert not model.outputs(["comet"]).any()
    # z-scores over the two documents, which have 3/4 and 0 in the first cluster and 0 and 2/3 in the
    # other: of the first, means 3/8 and 1/3 and deviations 3/8 and 1/3.
    assert model.outputs(["kiln", "clay"])[at] == pytest.approx(3 / 4)
    state = model(Page(url("x"), text="clay"))
    assert state[at] == pytest.approx(math.tanh((1 - 3 / 8) / (3 / 8)))
    assert state[1 - at] == pytest.approx(math.tanh(-1.0))
    assert not model(Page(url("x"), text="comet")).any(), "no known word, no state"
    other = PrTFIDF((), np.zeros((0, 2), dtype=np.float32))
    other.load(model.save())
    assert (other(Page(url("x"), text="clay")) == state).all()


@pytest.mark.filterwarnings("error")
def test_weights_stay_finite_however_large_states_are() -> None:
    """α |s|² is 5 here: steps of the paper's size would multiply the error by −4 each time."""
    known = Known(Letters())
    known.states = np.full((2, 50), 1.0, dtype=np.float32)
    forager = Forager(0, Weblog({}), np.zeros(50, dtype=np.float32), FleetSettings(), 100.0)
    for step in range(400):
        forager.reinforce(known, step % 2, 100.0)
    # Every step brings 100 at γ = .9, so a state is worth 1,000.
    assert known.states[0] @ forager.weight == pytest.approx(1000.0, rel=0.01)


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=8), min_size=1, max_size=12))
@settings(max_examples=40)
def test_outputs_are_probabilities(corpus: list[list[str]]) -> None:
    model = PrTFIDF.fit(corpus, clusters=3)
    for text in corpus:
        outputs = model.outputs(text)
        assert outputs.min() >= 0
        assert outputs.sum() <= 1 + 1e-5


def test_words_are_stems_without_stop_words() -> None:
    assert words(Page(url("x"), title="The Kilns", text="were firing")) == ["kiln", "fire"]


# ---------------------------------------------------------------- a fleet


def small_world() -> EvolvingWorld:
    """A hub whose links roll over: one new story every 100 s, each linking to the one before."""
    versions = []
    for at in range(40):
        time = 100.0 * at
        name = f"story{at}"
        before = (url(f"story{at - 1}"),) if at else ()
        text = f"{'ab'[at % 2]} {at}"
        versions.append(Version(time, url(name), name, text, (url(""), *before)))
        newest = tuple(url(f"story{other}") for other in range(at, max(-1, at - 5), -1))
        versions.append(Version(time, url(""), "hub", f"hub {at}", newest))
    return EvolvingWorld(versions, roots=[url("")], start=500.0, end=3900.0, seconds=2.0)


def fleet_on(world: EvolvingWorld, name: str = "WLRL", **told: Any) -> Fleet:
    task = FleetTask(world.roots(), Letters(), np.random.default_rng(3))
    made: Fleet = registry.build("fleets", name, task, settings=told)
    return made


def drive(
    fleet: Fleet, world: EvolvingWorld, rounds: int, *, now: float, in_flight: int = 1
) -> tuple[float, list[str]]:
    """(time, URLs asked for); replies come in turn, oldest first."""
    asked: list[str] = []
    flying: list[Fetch] = []
    while len(asked) < rounds:
        step = fleet.next(now) if len(flying) < in_flight else None
        if isinstance(step, Fetch):
            asked.append(step.url)
            flying.append(step)
            continue
        assert flying or isinstance(step, Sleep)
        if not flying:
            assert isinstance(step, Sleep)
            now = step.until
            continue
        reply = world.answer(flying.pop(0))
        now += reply.seconds
        world.advance(now)
        fleet.receive(reply, now)
    for fetch in flying:
        fleet.receive(world.answer(fetch), now)
    return now, asked


def test_a_step_downloads_a_page_and_all_it_links_to() -> None:
    world = small_world()
    fleet = fleet_on(world, max_step=3)
    _, asked = drive(fleet, world, 6, now=500.0)
    assert asked == [url(""), *(url(f"story{at}") for at in (5, 4, 3, 2, 1))]
    assert fleet.counts.steps == 1
    # All that it saw is new by the stated dates: hub and five stories, sent once each.
    assert fleet.agent.counts.sent == 6
    assert fleet.agent.counts.relevant == 6
    assert isinstance(fleet.crew, Colony)
    forager_ = fleet.crew.foragers[0]
    assert (forager_.path, forager_.rewards) == ([0], [600.0])
    assert forager_.score == pytest.approx(100 + 6 * 0.95)
    assert sorted(forager_.frontier.urls()) == [1, 2, 3, 4, 5]


def test_time_slices_let_a_step_end() -> None:
    world = small_world()
    fleet = fleet_on(world, slice_seconds=20.0)
    assert isinstance(fleet.crew, Colony)
    now, begun = 500.0, dict[int, tuple[float, int]]()
    for _ in range(80):
        step = fleet.next(now)
        assert isinstance(step, Fetch)
        began = begun.setdefault(fleet.counts.steps, (now, fleet.crew.turn))
        assert began[1] == fleet.crew.turn  # one forager for a whole step
        reply = world.answer(step)
        now += 2.0
        world.advance(now)
        fleet.receive(reply, now)
    over, turn = 520.0, 0
    for began_at, whose in begun.values():
        if began_at >= over:
            over, turn = began_at + 20.0, 1 - turn
        assert whose == turn
    assert {whose for _, whose in begun.values()} == {0, 1}


def test_new_documents_are_paid_once_in_the_fleet() -> None:
    world = small_world()
    for name in registry.names("fleets"):
        world.rewind()
        fleet = fleet_on(world, name)
        drive(fleet, world, 600, now=world.start)
        found = [entry.url for entry in fleet.agent.discoveries]
        assert len(found) == len(set(found))
        assert fleet.agent.counts.relevant == len(found) >= 10
        assert fleet.agent.counts.sent >= len(found)
        scores = getattr(fleet.crew, "foragers", [])
        assert all(one.weblog is not None for one in scores)


@pytest.mark.parametrize("name", registry.names("fleets"))
@pytest.mark.parametrize("in_flight", [1, 4])
def test_same_seed_same_run(name: str, in_flight: int) -> None:
    runs = []
    for _ in range(2):
        world = small_world()
        fleet = fleet_on(world, name)
        _, asked = drive(fleet, world, 300, now=world.start, in_flight=in_flight)
        runs.append((asked, pack(fleet.save())))
    assert runs[0] == runs[1]


@pytest.mark.parametrize("name", registry.names("fleets"))
@given(st.integers(1, 120))
@settings(max_examples=12)
def test_saved_and_loaded_it_goes_on_bit_for_bit(name: str, cut: int) -> None:
    told: dict[str, Any] = {} if name in ("round-robin", "change-rate") else {"slice_seconds": 30.0}
    whole_world = small_world()
    whole = fleet_on(whole_world, name, **told)
    now, _ = drive(whole, whole_world, cut, now=whole_world.start)
    other_world = small_world()
    other_world.advance(now)
    other = fleet_on(other_world, name, **told)
    other.load(unpack(pack(whole.save())))
    assert pack(other.save()) == pack(whole.save())
    end, rest = drive(whole, whole_world, 150, now=now)
    other_end, other_rest = drive(other, other_world, 150, now=now)
    assert (rest, end) == (other_rest, other_end)
    assert pack(other.save()) == pack(whole.save())


@pytest.mark.parametrize("name", registry.names("fleets"))
def test_replay_drives_a_fleet_too(name: str) -> None:
    world = small_world()
    fleet = fleet_on(world, name)
    _, asked = drive(fleet, world, 300, now=world.start)
    other_world = small_world()
    other = fleet_on(other_world, name)
    replay = Replay(other, other_world, start=other_world.start)
    outcomes = [outcome for _, outcome in zip(range(300), replay, strict=False)]
    assert [other.known.urls[outcome.choice.link] for outcome in outcomes] == asked
    assert other.agent.counts == fleet.agent.counts


def test_saved_with_requests_in_flight() -> None:
    world = small_world()
    fleet = fleet_on(world)
    first = fleet.next(500.0)
    assert isinstance(first, Fetch)
    other = fleet_on(world)
    other.load(unpack(pack(fleet.save())))
    assert isinstance(other.receive(world.answer(first), 502.0), Outcome)
    lost = fleet_on(world)
    lost.load(unpack(pack(fleet.save())))
    assert lost.reissue(510.0) == 1
    again = lost.next(510.0)
    assert isinstance(again, Fetch)
    assert (again.url, again.ticket) == (first.url, first.ticket)
    with pytest.raises(CallerError, match="not in flight"):
        fleet.receive(Failed(77, "absent"), 502.0)


@given(st.lists(st.integers(0, 5), min_size=40, max_size=40))
@settings(max_examples=25)
def test_hosts_are_left_alone(order: list[int]) -> None:
    """Never two requests for a host at a time, never earlier than its delay, in any reply order."""
    links = " ".join(f"//{host}/{at}" for at in range(4) for host in "xyz")
    hub = Page(url(""), text="a hub", links=[Link(f"http:{link}") for link in links.split()])
    task = FleetTask(
        [url("")], Letters(), np.random.default_rng(0), hosts=Hosts(delay=5.0, per_host=1)
    )
    fleet: Fleet = registry.build("fleets", "WLRL", task)
    now = 0.0
    flying: list[Fetch] = []
    ended: dict[str, float] = {}
    for pick in order:
        step = fleet.next(now)
        if isinstance(step, Fetch):
            assert all(step.host != other.host for other in flying)
            assert now >= ended.get(step.host, -math.inf) + 5.0
            flying.append(step)
        elif flying:
            fetch = flying.pop(pick % len(flying))
            now += 0.5
            ended[fetch.host] = now
            shown = hub if fetch.url == url("") else Page(fetch.url, text="b")
            fleet.receive(Fetched(fetch.ticket, shown), now)
        else:
            assert isinstance(step, Sleep)
            assert step.until > now
            now = step.until


def test_redirects_stand_under_the_url_that_answers() -> None:
    task = FleetTask([url("old")], Letters(), np.random.default_rng(0))
    fleet: Fleet = registry.build("fleets", "WLRL", task)
    first = fleet.next(0.0)
    assert isinstance(first, Fetch)
    step = fleet.receive(Redirected(first.ticket, url("front")), 1.0)
    assert isinstance(step, Deferred)
    again = fleet.next(1.0)
    assert isinstance(again, Fetch)
    assert (again.url, again.ticket, again.attempt) == (url("front"), first.ticket, 2)
    fleet.receive(Fetched(again.ticket, page("front", "a", "old x")), 2.0)
    # `old` is known to lead to the front page itself: only x is asked for
    linked = fleet.next(2.0)
    assert isinstance(linked, Fetch)
    assert linked.url == url("x")
    turned = fleet.receive(Redirected(linked.ticket, url("front")), 3.0)
    assert isinstance(turned, Outcome)
    assert isinstance(turned.reply, Failed)
    assert turned.reply.kind == "duplicate"


def test_the_rl_fleet_starts_from_the_first_ten_visited() -> None:
    world = small_world()
    fleet = fleet_on(world, "RL")
    drive(fleet, world, 600, now=500.0)
    assert isinstance(fleet.crew, Colony)
    starts = fleet.crew.save()["starts"]
    assert len(starts) == 10
    assert starts[0] == 0
    assert all(one.weblog.values.keys() <= {0} for one in fleet.crew.foragers)


def test_recheck_spares_pages_downloaded_lately() -> None:
    world = small_world()
    often = fleet_on(world, recheck=0.0)
    drive(often, world, 300, now=500.0)
    world.rewind()
    seldom = fleet_on(world, recheck=300.0)
    drive(seldom, world, 300, now=500.0)
    assert seldom.counts.steps > 2 * often.counts.steps
    assert seldom.agent.counts.relevant > 0


def test_settings_that_no_fleet_can_have() -> None:
    task = FleetTask([url("")], Letters(), np.random.default_rng(0))
    for told in ({"identity": "page"}, {"min_foragers": 0}, {"new_hours": 0}, {"min_foragers": 17}):
        with pytest.raises(InputError):
            registry.build("fleets", "WL", task, settings=told)
    with pytest.raises(InputError, match="did you mean 'max_foragers'"):
        registry.build("fleets", "WL", task, settings={"max_forager": 3})
    with pytest.raises(InputError, match="needs a URL"):
        registry.build("fleets", "WL", FleetTask([], Letters(), np.random.default_rng(0)))


def test_change_rates_by_hand() -> None:
    known = Known(Letters())
    known.number(url("x"))
    crew = ChangeRate(known, PAPER)
    for at in range(5):
        assert crew.visit(100.0 * at) == 0
        known.see(0, page("x", f"text {min(at, 2)}"), 100.0 * at)  # changes twice, then never
        crew.end_step(0, [], [0], 100.0 * at)
    # two changes in four revisits, 100 s apart: −ln((4 − 2 + 0.5) / 5) / 100
    assert crew.rates()[0] == pytest.approx(-math.log(0.5) / 100)
    rate = crew.rates()[0]
    x = rate * 50.0
    assert crew.worth(450.0)[0] == pytest.approx((1 - (1 + x) * math.exp(-x)) / rate)


def test_a_page_that_failed_comes_back_ever_less_often() -> None:
    """A dead URL beside a live one, twenty steps an hour apart; it answers from the tenth on."""
    known = Known(Letters())
    for name in ("dead", "live"):
        known.number(url(name))
    crew = ChangeRate(known, PAPER, batch=1)
    asked = []
    for step in range(40):
        now = 3600.0 * step
        number = crew.visit(now)
        asked.append(number)
        answers = number == 1 or step >= 30
        if answers:
            known.see(number, page(("dead", "live")[number], f"text {step}"), now)
        crew.end_step(0, [], [number] if answers else [], now)
    failed = [step for step, number in enumerate(asked[:30]) if number == 0]
    assert 3 <= len(failed) <= 10
    gaps = np.diff(failed)
    assert gaps[-1] >= gaps[0]
    assert 0 in asked[30:]
    # Alone it comes back too, and one that answers at last counts from then on.
    alone = Known(Letters())
    alone.number(url("dead"))
    crew = ChangeRate(alone, PAPER)
    for step in range(3):
        assert crew.visit(100.0 * step) == 0
        crew.end_step(0, [], [], 100.0 * step)
    alone.see(0, page("dead", "text"), 300.0)
    assert crew.visit(300.0) == 0
    crew.end_step(0, [], [0], 300.0)
    assert crew.rates()[0] == pytest.approx(math.log(2) / DAY)


@pytest.mark.parametrize("name", ["round-robin", "change-rate"])
def test_revisits_ask_hosts_abreast(name: str) -> None:
    """With four a step, three go abreast after its first; everything is found."""
    hosts = [f"http://{host}.example/" for host in "wxyz"]
    versions = [
        Version(float(at), host + str(at) if at else host, text=f"{host} {at}", links=tuple(hosts))
        for host in hosts
        for at in range(0, 400, 50)
    ]
    hubs = [
        Version(float(at), host, text=f"hub {at}", links=(*hosts, host + str(at)))
        for host in hosts
        for at in range(50, 400, 50)
    ]
    world = EvolvingWorld([*versions, *hubs], roots=hosts, start=1.0, end=400.0, seconds=2.0)
    task = FleetTask(hosts, Letters(), np.random.default_rng(0), hosts=Hosts(delay=1.0, per_host=1))
    fleet: Fleet = registry.build("fleets", name, task, settings={"abreast": 4})
    busiest = 0
    replay = Replay(fleet, world, in_flight=8, start=1.0)
    for _ in replay:
        flying = [reply.ticket for _, _, reply in replay.flying]
        busiest = max(busiest, len(flying) + 1)
        if replay.now > 380:
            break
    assert busiest == 3
    assert fleet.agent.counts.relevant >= 4 * 8 - 4


# ---------------------------------------------------------------- pages hold together


def test_packed_states_hold_no_infinity() -> None:
    """A checkpoint is JSON and arrays: what is never is no number of JSON."""
    world = small_world()
    fleet = fleet_on(world)

    def plain(value: Any) -> None:
        if isinstance(value, dict):
            for item in value.values():
                plain(item)
        elif isinstance(value, list):
            for item in value:
                plain(item)
        elif not isinstance(value, np.ndarray):
            json.dumps(value, allow_nan=False)

    plain(fleet.save())
    drive(fleet, world, 50, now=500.0)
    plain(fleet.save())


def test_the_card_names_every_fleet_and_parameter() -> None:
    card = Path(__file__).parents[2] / "docs/algorithms/foragers.md"
    text = card.read_text("utf-8")
    for name in registry.names("fleets"):
        assert f"`{name}`" in text
        for parameter, told in registry.parameters(registry.find("fleets", name)).items():
            row = next(
                line
                for line in text.splitlines()
                if line.startswith("| `") and f"`{parameter}`" in line
            )
            shown = json.dumps(told.default) if isinstance(told.default, str) else str(told.default)
            assert f"`{shown}`" in row
