"""The queue of links by value against one that looks through everything."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from spoor.learn.priority_queue import PriorityQueue
from spoor.learn.state import pack, unpack
from spoor.types import LinkId

HOSTS = ["a", "b", "c"]


class Free:
    """An offer of what waits on free hosts, less what is gone."""

    def __init__(
        self, queue: PriorityQueue, hosts: Collection[str], gone: Collection[LinkId]
    ) -> None:
        self._links = [link for link in queue if queue.host(link) in hosts and link not in gone]
        self._hosts = frozenset(hosts)

    def __len__(self) -> int:
        return len(self._links)

    def __contains__(self, link: object) -> bool:
        return link in self._links

    def draw(self, rng: np.random.Generator, k: int) -> Sequence[LinkId]:
        return [int(at) for at in rng.permutation(self._links)[:k]]

    def hosts(self) -> Collection[str]:
        return self._hosts


class Queues(RuleBasedStateMachine):
    """Link n lives on host n mod 3; few values, so that ties are common."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = PriorityQueue()
        self.model: dict[LinkId, float] = {}
        self.gone: set[LinkId] = set()

    @rule(link=st.integers(0, 30), value=st.sampled_from([0.0, -1.0, 0.5, 2.0, float("inf")]))
    def push(self, link: LinkId, value: float) -> None:
        self.queue.push(link, HOSTS[link % 3], value)
        self.model[link] = value
        self.gone.discard(link)

    @rule(link=st.integers(0, 30))
    def discard(self, link: LinkId) -> None:
        self.queue.discard(link)
        self.model.pop(link, None)

    @rule(link=st.integers(0, 30))
    def is_redirected_to(self, link: LinkId) -> None:
        # Another link led there: no more on offer, though the queue was not told.
        self.gone.add(link)

    @rule(hosts=st.sets(st.sampled_from(HOSTS)), take=st.booleans())
    def pop(self, hosts: set[str], take: bool) -> None:
        offer = Free(self.queue, hosts, self.gone)
        waiting = [
            (-value, link)
            for link, value in self.model.items()
            if HOSTS[link % 3] in hosts and link not in self.gone
        ]
        if not waiting:
            with pytest.raises(LookupError):
                self.queue.peek(offer)
        else:
            value, link = min(waiting)
            assert self.queue.peek(offer) == (link, -value)
            if take:
                assert self.queue.pop(offer) == (link, -value)
                del self.model[link]
        # Links that are gone may be forgotten when they come up.
        for link in self.gone & self.model.keys():
            if link not in self.queue:
                del self.model[link]

    @rule(host=st.sampled_from(HOSTS))
    def best_of_a_host(self, host: str) -> None:
        offer = Free(self.queue, {host}, self.gone)
        waiting = [
            (-value, link)
            for link, value in self.model.items()
            if HOSTS[link % 3] == host and link not in self.gone
        ]
        if waiting:
            value, link = min(waiting)
            assert self.queue.best(host, offer) == (link, -value)
        else:
            with pytest.raises(LookupError):
                self.queue.best(host, offer)
        for link in self.gone & self.model.keys():
            if link not in self.queue:
                del self.model[link]

    @rule()
    def save_and_load(self) -> None:
        state = unpack(pack(self.queue.save()))
        assert state["links"].tolist() == list(self.queue)
        self.queue = PriorityQueue()
        self.queue.load(state)

    @precondition(lambda self: self.model)
    @rule(times=st.integers(60, 200), seed=st.integers(0, 9))
    def many_values_change(self, times: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        links = list(self.model)
        for _ in range(times):
            link = links[int(rng.integers(len(links)))]
            self.push(link, float(rng.integers(4)))

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        assert dict.fromkeys(self.queue) == dict.fromkeys(self.model)
        assert len(self.queue) == len(self.model)
        for link, value in self.model.items():
            assert link in self.queue
            assert self.queue.value(link) == value
            assert self.queue.host(link) == HOSTS[link % 3]
        some = np.array([*range(31), 5_000])
        assert self.queue.among(some).tolist() == [link in self.model for link in some.tolist()]


Queues.TestCase.settings = settings(max_examples=40, stateful_step_count=40)
TestQueues = Queues.TestCase


def test_the_best_link_first_and_ties_by_discovery() -> None:
    queue = PriorityQueue()
    for link, value in enumerate([1.0, 3.0, 3.0, 2.0]):
        queue.push(link, "ab"[link % 2], value)
    taken = []
    while len(queue):
        taken.append(queue.pop(Free(queue, {"a", "b"}, ())))
    assert taken == [(1, 3.0), (2, 3.0), (3, 2.0), (0, 1.0)]


def test_busy_hosts_wait_and_come_back() -> None:
    queue = PriorityQueue()
    queue.push(0, "a", 9.0)
    queue.push(1, "b", 1.0)
    assert queue.pop(Free(queue, {"b"}, ())) == (1, 1.0)
    with pytest.raises(LookupError, match="no link on offer"):
        queue.pop(Free(queue, {"b"}, ()))
    queue.push(2, "a", 10.0)
    assert queue.pop(Free(queue, {"a"}, ())) == (2, 10.0)
    assert queue.pop(Free(queue, {"a"}, ())) == (0, 9.0)
    assert list(queue) == []


def test_what_does_not_wait() -> None:
    queue = PriorityQueue()
    queue.discard(5)
    assert 5 not in queue
    for ask in (queue.value, queue.host):
        with pytest.raises(KeyError):
            ask(5)


def test_entries_that_hold_no_more_are_cleared_away() -> None:
    queue = PriorityQueue()
    for turn in range(200):
        for link in range(10):
            queue.push(link, "a", float((turn * 7 + link) % 13))
    assert sum(map(len, queue._heaps.values())) < 200
    # Links that are entered and forgotten leave nothing behind either.
    for link in range(10, 5_000):
        queue.push(link, "a", -1.0 - link)
        queue.discard(link)
    assert len(queue) == 10
    assert sum(map(len, queue._heaps.values())) < 400


def test_changed_values_order_links_as_pushed_ones_do() -> None:
    one, other = PriorityQueue(), PriorityQueue()
    rng = np.random.default_rng(0)
    links = list(range(200))
    for queue in (one, other):
        for link in links:
            queue.push(link, f"h{link % 7}", float(link % 5))
    for _ in range(20):
        some = rng.choice(links, 30, replace=False).tolist()
        values = rng.integers(0, 6, 30).astype(float).tolist()
        one.change(np.array(some), np.array(values))
        # Some that are not known come in beside those that change.
        some += [2 * max(links) + 1 for _ in range(int(rng.integers(2)))]
        values += [0.5] * (len(some) - len(values))
        links += some[30:]
        one.push_all(some, [f"h{link % 7}" for link in some], np.array(values))
        for link, value in zip(some, values, strict=True):
            other.push(link, f"h{link % 7}", value)
    assert pack(one.save()) == pack(other.save())
    free = Free(one, [f"h{at}" for at in range(7)], ())
    assert len(one) == len(other) > 200
    for _ in range(len(one)):
        assert one.pop(free) == other.pop(free)


def test_values_come_back_as_they_were_and_stand_in_their_order() -> None:
    tiny, huge = 5e-324, 1.7976931348623157e308
    values = [float("inf"), huge, 3.5, 1.0, tiny, 0.0, -tiny, -1.0, -3.5, -huge, -float("inf")]
    queue = PriorityQueue()
    for link in reversed(range(len(values))):
        queue.push(link, "a", values[link])
    again = PriorityQueue()
    again.load(unpack(pack(queue.save())))
    for one in (queue, again):
        assert [one.value(link) for link in range(len(values))] == values
        taken = [one.pop(Free(one, {"a"}, ())) for _ in values]
        assert taken == list(enumerate(values))
    queue.push(1, "a", -0.0)
    queue.push(0, "a", 0.0)
    assert queue.pop(Free(queue, {"a"}, ())) == (0, 0.0), "−0 is no less than 0"
    queue.push(2, "a", float("nan"))
    assert np.isnan(queue.value(2))


def test_a_link_that_comes_back_on_another_host_stands_there() -> None:
    queue = PriorityQueue()
    queue.push(0, "a", 1.0)
    queue.push(1, "a", 0.5)
    queue.discard(0)
    queue.push(0, "b", 1.0)
    assert queue.pop(Free(queue, {"a"}, ())) == (1, 0.5)
    assert queue.pop(Free(queue, {"b"}, ())) == (0, 1.0)


@given(
    st.lists(st.tuples(st.sampled_from("pad"), st.integers(0, 399), st.integers(0, 299))),
    st.integers(1, 4),
)
def test_hosts_without_links_give_up_their_numbers(
    steps: list[tuple[str, int, int]], spread: int
) -> None:
    """Many hosts come and go; a queue that was saved and loaded is the same to the byte."""
    queue, waits = PriorityQueue(), dict[int, str]()
    for link in range(300):
        queue.push(link, f"h{link // spread}", 1.0)
        waits[link] = f"h{link // spread}"
    for link in range(0, 300, 2):
        queue.discard(link)
        del waits[link]
    for step, link, at in steps:
        if step == "d":
            queue.discard(link)
            waits.pop(link, None)
        else:
            links = [link] if step == "p" else [link, link + 1]
            queue.push_all(links, [f"h{at}"] * len(links), np.full(len(links), 1.0 + at))
            waits |= dict.fromkeys(links, f"h{at}")
        if at % 7 == 0:
            queue.load(unpack(pack(queue.save())))
    assert {link: queue.host(link) for link in queue} == waits
    saved = queue.save()
    other = PriorityQueue()
    other.load(saved)
    assert pack(other.save()) == pack(saved)
    assert len(saved["hosts"]) <= 2 * len(set(waits.values())) + 130
