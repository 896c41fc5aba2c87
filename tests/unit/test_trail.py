"""Trail: its guard, and what it makes of a person's correction."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.facts import Label
from spoor.learn.known_links import knowing
from spoor.learn.priority_queue import PriorityQueue
from spoor.learn.state import pack, unpack
from spoor.policies.trail import Trail
from spoor.policies.trail import rows as rows_module
from spoor.policies.trail.columns import BITS, BY_HAND, COLUMNS, DENSE, LINKING_PAGES
from spoor.policies.trail.features import LinkFeatures, _telling_words
from spoor.policies.trail.guard import Guard
from spoor.policies.trail.learners import Learner
from spoor.policies.trail.prior import FILE, read, shipped
from spoor.policies.trail.rows import LinkRows
from spoor.policies.trail.training import train
from spoor.types import (
    NO_PARENT,
    Anchor,
    Failed,
    Fetch,
    Fetched,
    Judgement,
    KnownWeb,
    Link,
    Page,
    Task,
    Topic,
    WebGraph,
)

SITE = "http://a.example/"
EVERY = np.arange(1 << BITS, dtype=np.int32)
"""All slots."""
GOOD, BAD = Judgement(1.0, True, 1.0), Judgement(0.0, False, 0.0)


def link(place: str, number: int, text: str = "") -> Link:
    anchor = Anchor(text or f"item {place}", tag_path=f"html/body/ul.{place}/a", position=number)
    return Link(f"{SITE}{place}/{place}{number}.html", anchor)


def begun(
    links: Sequence[Link], make: type[Trail] = Trail, *, guard: bool = True
) -> tuple[Crawl, Trail]:
    policy = make(Task(np.random.default_rng(0), Topic(name="kiln")), guard=guard)
    crawl = Crawl(policy, Label("good"), MemoryFrontier(), attempts=1)
    crawl.seed([SITE])
    fetch = crawl.next(0.0)
    assert isinstance(fetch, Fetch)
    crawl.receive(Fetched(fetch.ticket, Page(SITE, title="All", links=links)), 0.0)
    return crawl, policy


def step(crawl: Crawl, good: bool | None = None) -> str:
    """Fetch one page; it is relevant if `good`, or if its list is called so."""
    fetch = crawl.next(0.0)
    assert isinstance(fetch, Fetch)
    relevant = "/good/" in fetch.url if good is None else good
    labels = frozenset({"good"} if relevant else ())
    crawl.receive(Fetched(fetch.ticket, Page(fetch.url, labels=labels)), 0.0)
    return fetch.url


def coming(crawl: Crawl, count: int) -> list[str]:
    """What would be chosen next, with nothing learned in between; the crawl itself is unchanged."""
    saved = unpack(pack(crawl.save()))
    urls = []
    for _ in range(count):
        fetch = crawl.next(0.0)
        assert isinstance(fetch, Fetch)
        urls.append(fetch.url)
    crawl.load(saved)
    return urls


def test_lists_that_lead_to_relevant_pages_are_gone_on_with() -> None:
    crawl, _ = begun([link(place, n) for n in range(30) for place in ("good", "poor")])
    urls = [step(crawl) for _ in range(24)]
    assert sum("/good/" in url for url in urls[8:]) >= 14


class Misled(Trail):
    """Is sure, whatever it sees, of every link but those with the words of the topic."""

    def __init__(self, task: Task, *, guard: bool) -> None:
        super().__init__(task, guard=guard)
        self._model.__dict__["odds"] = lambda slots, dense: self._sure(dense)
        score = self._model.score
        self._model.__dict__["score"] = lambda *row: (self._sure(row[1]), score(*row)[1])

    def _sure(self, dense: Any) -> Any:
        return np.where(dense[:, 1] > 0, -3.0, 3.0).astype(np.float32)


def test_where_learning_misleads_the_guard_goes_by_the_prior() -> None:
    links = [link(f"p{n % 6}", n, "kiln kiln" if n % 3 == 0 else f"item {n}") for n in range(90)]
    wanted = {one.url for one in links if "kiln" in one.anchor.text}
    found = {}
    for guard in (True, False):
        crawl, policy = begun(links, Misled, guard=guard)
        for _ in range(30):
            fetch = crawl.next(0.0)
            assert isinstance(fetch, Fetch)
            labels = frozenset({"good"} if fetch.url in wanted else ())
            crawl.receive(Fetched(fetch.ticket, Page(fetch.url, labels=labels)), 0.0)
        found[guard] = crawl.counts.relevant
        learner, blind = policy._guard.losses
        assert learner > blind, "it was worse, and that was measured"
        assert policy.trust == 1.0 if not guard else policy.trust < 0.01
    assert found[True] >= 25
    assert found[False] < 20


def test_values_are_the_priors_where_the_learner_is_not_trusted() -> None:
    _, policy = begun([link("x", n, "kiln") for n in range(3)] + [link("y", 9)])
    assert 0.8 < policy.trust < 1.0, "a head start"
    policy._guard.losses = [60.0, 20.0]
    rows = policy._rows.all()[2]
    assert isinstance(policy._model, Learner)
    slots = np.unique(policy._rows.slots[rows])[1:]
    policy._model.set(slots, np.full(len(slots), 3.0), np.zeros(len(slots)))
    odds, _ = policy._log_odds(policy._rows.slots[rows], policy._rows.dense[rows])
    assert odds == pytest.approx(policy._rows.dense[rows] @ policy._guard.prior, abs=1e-3)


def test_how_rare_relevant_pages_are_makes_the_learner_no_better_than_the_prior() -> None:
    guard = Guard(np.array([-2.0], dtype=np.float32), on=True)
    row, learner = np.ones((1, 1), dtype=np.float32), -2.0
    for _ in range(200):  # The learner knows no more than that nothing is relevant.
        guard.compare(np.array([learner], dtype=np.float32), row, 0.0)
        learner = max(-4.0, learner - 0.05)
    assert guard.trust < 0.97
    assert guard.mix(np.ones(1, dtype=np.float32), row) == pytest.approx(
        guard.trust - 2.0 * (1.0 - guard.trust), abs=1e-5
    )


def test_the_prior_that_ships_is_read_and_checked() -> None:
    task = Task(np.random.default_rng(0), Topic(name="kiln"))
    mean, variance = shipped()
    assert Trail(task, shipped=True)._guard.prior == pytest.approx(mean)
    assert Trail(task, shipped=False)._guard.prior == pytest.approx(BY_HAND.mean)
    assert (variance > 0).all()
    text = FILE.read_text("utf-8")
    damages: tuple[dict[str, Any], ...] = (
        {"features": "link-features 0"},
        {"numbers": {}},
        {"numbers": {name.name: {"mean": 1.0, "variance": 0.0} for name in DENSE}},
        {"numbers": {name.name: {"mean": float("nan"), "variance": 1.0} for name in DENSE}},
    )
    for damage in damages:
        with pytest.raises((ValueError, KeyError)):
            read({**json.loads(text), **damage})


def test_a_correction_moves_what_stands_in_the_same_place_at_once() -> None:
    crawl, _ = begun([link(place, n) for n in range(12) for place in ("b", "c")])
    # Everything looks alike; the first pages of list b are judged relevant, wrongly.
    taken = [step(crawl, good=True) for _ in range(3)]
    place = taken[-1].split("/")[3]
    assert all(f"/{place}/" in url for url in coming(crawl, 3))
    before = crawl.counts.relevant
    for url in taken:
        crawl.relabel(url, GOOD, BAD)
    assert crawl.counts.relevant == before - 3
    assert f"/{place}/" not in coming(crawl, 1)[0], "the other list comes first now"


def test_a_correction_reaches_the_links_of_the_page_itself() -> None:
    crawl, policy = begun([link("b", n) for n in range(3)] + [link("c", n) for n in range(3)])
    fetch = crawl.next(0.0)
    assert isinstance(fetch, Fetch)
    below = [Link(f"{SITE}d/d{n}.html", Anchor("deeper", tag_path="html/p/a")) for n in range(4)]
    crawl.receive(Fetched(fetch.ticket, Page(fetch.url, links=below)), 0.0)
    child = crawl.frontier.find(below[0].url)
    assert child is not None
    weighed = policy.weigh(child)
    assert weighed is not None
    crawl.relabel(fetch.url, BAD, GOOD)
    again = policy.weigh(child)
    assert again is not None
    assert again.why[0][1] > weighed.why[0][1], "its parent is relevant after all"
    policy._settle()  # As every call but `relearn` does first.
    assert policy._queue.value(child) == again.why[0][1]


@pytest.mark.long
def test_a_correction_taken_back_leaves_nearly_what_was() -> None:
    crawl, policy = begun([link(place, n) for n in range(12) for place in ("b", "c")])
    url = step(crawl, good=True)
    assert isinstance(policy._model, Learner)
    weights = policy._model.weights(EVERY)
    crawl.relabel(url, GOOD, BAD)
    policy._settle()
    moved = np.abs(policy._model.weights(EVERY) - weights).max()
    crawl.relabel(url, BAD, GOOD)
    policy._settle()
    assert moved > 0.05
    # All pages are learned anew, each with what it is worth now: its own credit has no turn apart.
    assert np.abs(policy._model.weights(EVERY) - weights).max() < 0.35 * moved
    again = policy._model.weights(EVERY)
    crawl.relabel(url, GOOD, BAD)
    policy._settle()
    crawl.relabel(url, BAD, GOOD)
    policy._settle()
    assert np.abs(policy._model.weights(EVERY) - again).max() < 1e-6
    counts = policy._groups.record(EVERY)
    assert counts.any()
    assert all(tried >= reward >= 0 for tried, reward in counts.tolist())
    crawl.relabel(url, GOOD, GOOD)
    assert (policy._groups.record(EVERY) == counts).all()


@pytest.mark.parametrize("capacity", [500_000, 700])
@pytest.mark.long
def test_rows_are_found_by_the_number_of_their_link(capacity: int) -> None:
    policy = Trail(
        Task(np.random.default_rng(0), Topic(name="kiln")), in_links=3, capacity=capacity
    )
    crawl = Crawl(policy, Label("good"), MemoryFrontier())
    crawl.seed([SITE])
    made = np.random.default_rng(1)
    shown: dict[int, int] = {}
    for _ in range(60):
        fetch = crawl.next(0.0)
        assert isinstance(fetch, Fetch)
        found = [link("xyz"[n % 3], n) for n in made.integers(0, 1_500, 40).tolist()]
        crawl.receive(Fetched(fetch.ticket, Page(fetch.url, title="All", links=found)), 0.0)
        for one in found:
            at = crawl.frontier.find(one.url)
            assert at is not None
            shown[at] = shown.get(at, 0) + 1
        waiting = set(crawl.frontier.open())
        for known in (policy, coming_back(policy)):
            links, counts, rows = known._rows.all()
            assert set(links.tolist()) == waiting
            assert len(set(rows.tolist())) == len(rows) == counts.sum() <= capacity
            for at, count in zip(links.tolist(), counts.tolist(), strict=True):
                assert count == len(known._rows.of_link(at)) <= min(3, shown[at])
                assert capacity < 1_000 or count == min(3, shown[at])
            assert known._rows.known([*links.tolist(), 9_999]) == [*counts.tolist(), -1]
    assert policy._rows.all()[1].max() == 3


@pytest.mark.parametrize(
    ("trained", "given", "most"), [(False, None, 2), (True, None, 3), (True, 1, 1)]
)
def test_a_trained_crawl_looks_at_a_link_once_more(
    trained: bool, given: int | None, most: int
) -> None:
    task = Task(np.random.default_rng(0), Topic(name="kiln"))
    if trained:
        task = replace(task, model=train(task, [small_web()], lambda done, of: None))
    policy = Trail(task, in_links=given)
    crawl = Crawl(policy, Label("good"), MemoryFrontier())
    crawl.seed([SITE])
    links = [link("good", number) for number in range(9)]
    for _ in range(5):
        fetch = crawl.next(0.0)
        assert isinstance(fetch, Fetch)
        crawl.receive(Fetched(fetch.ticket, Page(fetch.url, title="All", links=links)), 0.0)
    counts = policy._rows.all()[1]
    assert counts.tolist() == [most] * crawl.frontier.open_count


def small_web() -> KnownWeb:
    pages = [Page(SITE, links=[link("good", 1), link("poor", 1)])]
    pages += [Page(found.url) for found in pages[0].links]
    graph = WebGraph(
        [page.url for page in pages],
        np.array([0, 2, 2, 2]),
        np.array([1, 2], dtype=np.int32),
        np.array([False, True, False]),
    )
    return KnownWeb("small", graph, 0, pages.__getitem__)


def test_a_crawl_that_is_through_keeps_nothing_of_its_links() -> None:
    crawl, policy = begun([link(place, n) for n in range(40) for place in ("good", "poor")])
    while crawl.frontier.open_count:
        assert len(policy._rows.all()[0]) == crawl.frontier.open_count
        step(crawl)
    assert not len(policy._queue)
    assert not policy._groups.members
    assert len(policy._groups.sweep) == policy._groups.swept == 0
    assert policy._rows.room() == 500_000, "all rows are free"
    saved = policy.save()
    assert not len(saved["links"])
    assert not len(saved["parent"])


def shown_on_three_pages(telling: bool) -> tuple[Crawl, Trail]:
    """Two hubs and the root show the same links by their numbers; the third page to be fetched
    calls one of them by the topic's word."""
    policy = Trail(Task(np.random.default_rng(0), Topic(name="kilns")), telling=telling)
    crawl = Crawl(policy, Label("good"), MemoryFrontier())
    crawl.seed([SITE, f"{SITE}hub1", f"{SITE}hub2"])
    plain = [link("x", number) for number in range(6)]
    named = plain[4]._replace(anchor=Anchor("how a Kiln is fired", tag_path="html/p/a", position=9))
    for shown in (plain, plain, [named, *plain]):
        fetch = crawl.next(0.0)
        assert isinstance(fetch, Fetch)
        crawl.receive(Fetched(fetch.ticket, Page(fetch.url, links=shown)), 0.0)
    return crawl, policy


def test_a_later_link_that_names_the_topic_takes_the_place_of_one_that_does_not() -> None:
    crawl, policy = shown_on_three_pages(telling=True)
    told = crawl.frontier.find(link("x", 4).url)
    assert told is not None
    assert policy._rows.all()[1].tolist() == [2] * 6, "no link has more rows than before"
    likeness = policy._rows.dense[policy._rows.of_link(told), 1]
    assert sorted(likeness > 0) == [False, True]
    weighed = policy.weigh(told)
    assert weighed is not None
    assert policy._queue.value(told) == weighed.why[0][1], "its value is new at once"
    assert coming(crawl, 6) == coming(crawl, 6)
    assert coming(crawl, 1) == [link("x", 4).url]
    crawl, policy = shown_on_three_pages(telling=False)
    assert not policy._rows.dense[policy._rows.all()[2], 1].any()
    assert coming(crawl, 1) == [link("x", 0).url]


def test_all_rows_of_a_link_tell_how_many_pages_link_to_it() -> None:
    _, policy = shown_on_three_pages(telling=True)
    of_all = policy._rows.dense[policy._rows.all()[2], LINKING_PAGES]
    assert len(of_all) == 12, "two in-links of each are read"
    assert of_all == pytest.approx(math.log(3)), "a page counts once, its row of the newest too"
    _, policy = begun([link("x", 0), link("x", 0), link("x", 1)])
    assert not policy._rows.dense[policy._rows.all()[2], LINKING_PAGES].any(), "of one page"


def test_of_equal_links_the_one_that_more_pages_link_to_comes_first() -> None:
    policy = Trail(Task(np.random.default_rng(0), Topic(name="kilns")), grain=0.0)
    crawl = Crawl(policy, Label("good"), MemoryFrontier())
    crawl.seed([SITE, f"{SITE}hub"])
    for shown in ([link("x", number) for number in range(6)], [link("x", 4)]):
        fetch = crawl.next(0.0)
        assert isinstance(fetch, Fetch)
        crawl.receive(Fetched(fetch.ticket, Page(fetch.url, links=shown)), 0.0)
    assert coming(crawl, 1) == [link("x", 4).url]


def fail(crawl: Crawl, kind: str, *, transient: bool = False) -> str:
    fetch = crawl.next(0.0)
    assert isinstance(fetch, Fetch)
    crawl.receive(Failed(fetch.ticket, kind, transient=transient), 0.0)
    return fetch.url


@pytest.mark.parametrize("kind", ["absent", "robots", "unreadable", "duplicate"])
def test_failures_lead_away_from_their_place(kind: str) -> None:
    crawl, policy = begun([link(place, n) for place in ("poor", "good") for n in range(20)])
    assert policy._failures.save() is None, "it costs nothing as long as nothing fails"
    urls = [fail(crawl, kind) for _ in range(6)]
    assert "/poor/" in urls[0], "the first of equal links is taken first"
    assert "/good/" in urls[-1], "the other list is tried soon"
    saved = unpack(pack(crawl.save()))
    there = coming(crawl, 5)
    crawl.load(saved)
    assert coming(crawl, 5) == there


def test_a_host_that_cannot_be_reached_tells_of_itself_alone() -> None:
    other = [Link(f"http://b.example/poor/{n}.html", link("poor", n).anchor) for n in range(20)]
    crawl, policy = begun([*[link("poor", n) for n in range(20)], *other])
    fail(crawl, "timeout", transient=True)
    rows = policy._rows.all()[2]
    chances = np.exp(policy._failures.log_chances(policy._rows.slots[rows]))
    assert len(set(np.round(chances, 4))) == 2, "the host of the dead link, and the other one"
    assert chances.max() == pytest.approx(1 / (1 + np.exp(-3.0)))
    hosts = [fail(crawl, "connection", transient=True).split("/")[2] for _ in range(2)]
    assert "b.example" in hosts
    before = pack(policy.save()["failures"])
    for kind in ("cancelled", "moved", "skipped"):
        fail(crawl, kind)
    assert pack(policy.save()["failures"]) == before, "what was never requested teaches nothing"


def coming_back(policy: Trail) -> Trail:
    other = Trail(Task(np.random.default_rng(0), Topic(name="kiln")), in_links=3)
    other.load(unpack(pack(policy.save())))
    return other


def test_a_saved_state_goes_on_the_same() -> None:
    def driven(reload: bool) -> list[str]:
        policy = Trail(Task(np.random.default_rng(0), Topic(name="kiln")), in_links=3)
        crawl, chosen = Crawl(policy, Label("good"), MemoryFrontier()), list[str]()
        crawl.seed([SITE])
        made = np.random.default_rng(1)
        for step in range(80):
            if reload and step % 20 == 19:
                other = Trail(Task(np.random.default_rng(0), Topic(name="kiln")), in_links=3)
                other.load(unpack(pack(crawl.policy.save())))
                crawl.policy = other
            fetch = crawl.next(0.0)
            assert isinstance(fetch, Fetch)
            chosen.append(fetch.url)
            found = [link("xyz"[n % 3], n) for n in made.integers(0, 600, 20).tolist()]
            crawl.receive(Fetched(fetch.ticket, Page(fetch.url, title="All", links=found)), 0.0)
        return chosen

    assert driven(True) == driven(False)


@pytest.mark.parametrize(
    "damage",
    [
        {"places": np.array([0, 0], np.int32)},
        {"free": np.array([1], np.int32)},
        {"free": np.array([-1], np.int32)},
        {"counts": np.array([3, 1, 1], np.int32)},
    ],
)
def test_rows_of_two_links_or_none_are_refused(damage: dict[str, Any]) -> None:
    _, policy = begun([link("x", n, "kiln") for n in range(3)])
    with pytest.raises(ValueError, match=r".*"):
        policy.load({**unpack(pack(policy.save())), **damage})


@pytest.mark.parametrize(
    "damage",
    [
        {"links": np.array([0, 1, 1 << 30], np.int32)},
        {"parent": np.array([NO_PARENT, 1 << 30, 0], np.int32)},
        {"links": np.array([0, 1, -2], np.int32)},
        {"counts": np.array([9, 0, 0], np.int32), "places": np.arange(9, dtype=np.int32)},
    ],
)
def test_links_that_nobody_knows_take_no_memory(damage: dict[str, Any]) -> None:
    _, policy = begun([link("x", n, "kiln") for n in range(3)])
    state = unpack(pack(policy.save()))
    with knowing([*"a" * 99].__getitem__):
        policy.load(state)
        with pytest.raises((ValueError, IndexError)):
            policy.load({**state, **damage})
        queue = PriorityQueue()
        queue.push(2, "a.example", 1.0)
        saved = queue.save()
        queue.load(saved)
        with pytest.raises(IndexError):
            queue.load({**saved, "links": np.array([1 << 30], np.uint32)})


@pytest.mark.parametrize("pages", [[7], [7, 2, 500], [9, 7, 2]])
def test_the_links_that_pages_were_the_first_to_show(pages: list[int]) -> None:
    rows = LinkRows(1_000)
    rows.parent[[3, 4, 8, 11, 12]] = [2, 7, 7, NO_PARENT, 2]
    links, of = rows.children(pages)
    expected = {2: [3, 12], 7: [4, 8]}
    assert links.tolist() == [link for page in pages for link in expected.get(page, [])]
    assert [pages[at] for at in of] == [rows.parent[link] for link in links.tolist()]


def test_rows_that_links_left_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "LEAST", 64)
    rows, expected, made = LinkRows(1_000), dict[int, list[int]](), np.random.default_rng(0)
    most, value = 0, 0
    for step in range(400):
        if (expected and step % 200 >= 100) or made.random() < 0.3:
            gone = list(expected)[: 1 + int(made.integers(4))]
            for link in gone:
                rows.free(link, rows.of_link(link))
                del expected[link]
        else:
            links = [4 * step + n for n in range(4) for _ in range(2)]
            values = np.arange(value, value + 8, dtype=np.int32)
            value += 8
            numbers = np.zeros((8, len(DENSE)), np.float32)
            rows.enter(links, [0, 1] * 4, np.repeat(values[:, None], COLUMNS, axis=1), numbers)
            for link, one in zip(links, values.tolist(), strict=True):
                expected.setdefault(link, []).append(one)
        most = max(most, rows._used)
        for link, its in expected.items():
            assert rows.slots[rows.of_link(link), 0].tolist() == its
        assert rows.room() == 1_000 - 2 * len(expected)
        again = LinkRows(1_000)
        again.load(unpack(pack(rows.save())))
        assert pack(again.save()) == pack(rows.save())
        rows = again if step % 7 == 0 else rows
    assert most > 300
    assert rows._used <= max(64, 8 * len(expected))


LOADED = """
import resource
import numpy as np
from spoor import registry
from spoor.learn.state import pack, unpack
from spoor.testing.policies import TOPIC
from spoor.types import Task

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()

first, second = (registry.build("policies", "trail", Task(np.random.default_rng(0), TOPIC)) for _ in "12")
state = unpack(pack(first.save()))
before = resident()
second.load(state)
print(resident() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_what_is_loaded_takes_memory_for_what_it_holds() -> None:
    """Its tables have places for a million features each."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED], check=True, capture_output=True, text=True
    )
    assert int(done.stdout) < 4 << 20


def test_a_letter_before_a_hyphen_is_no_word_of_a_topic() -> None:
    assert _telling_words("sending e-mail", "english") == {"send", "email", "mail"}
    assert _telling_words("functions of C", "english") == {"function", "c"}


def test_an_ideograph_of_the_topic_counts_within_runs_of_characters() -> None:
    features = LinkFeatures(Topic("茶"), BITS)

    def anchor(text: str) -> tuple[float, int]:
        _, like, mentions = features._tongues["english"].anchors[text]
        return round(like, 2), mentions

    assert anchor("窯の話") == (0.0, 0)
    assert anchor("緑茶") == (0.71, 1)  # two terms, 緑茶 and 茶
    assert anchor("茶") == (1.0, 1)
    assert anchor("茶道と緑茶")[1] == 2
