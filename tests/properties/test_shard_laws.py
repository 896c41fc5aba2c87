"""The laws of a crawl in shards: nothing is fetched twice, nothing is lost, the budget holds."""

from __future__ import annotations

import shutil
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from guards import guard, small, with_sitemaps
from spoor import registry
from spoor.crawl import Crawl
from spoor.errors import InputError
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.facts import Label
from spoor.learn.state import FAST, pack, unpack
from spoor.protocols import ListsHosts
from spoor.runs import files
from spoor.runs import shards as run_in_shards
from spoor.runs.writer import RunWriter
from spoor.settings import Settings
from spoor.sharding import commands
from spoor.sharding.budgets import ByteBudget, PageBudget
from spoor.sharding.coordinator import Coordinator, Report
from spoor.sharding.outbox import PASSED_ON, Outbox, pack_batches, unpack_batches
from spoor.sharding.worker import Worker
from spoor.testing.small_worlds import TARGET, SmallWorld, random_web
from spoor.types import Anchor, Fetch, Link, LinkBatch, Outcome, Page, Redirected, Task, Topic
from spoor.web.urls import shard_of

SETTINGS = settings(max_examples=60)
GUARDED = st.sampled_from(["", "shares of domains", "sitemaps", "depth", "depth and shares"])
"""What holds links back the same wherever hosts are, and move."""


# ---------------------------------------------------------------- the budgets


@given(budget=st.integers(1, 3_000), shards=st.integers(1, 5), seed=st.integers(0, 10_000))
@SETTINGS
def test_a_byte_budget_ends_with_the_one_document_that_reaches_it(
    budget: int, shards: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    byte_budget = ByteBudget(budget, shards)
    used, grant, wanted = [0] * shards, [0] * shards, [0] * shards
    idle = {at for at in range(1, shards) if rng.random() < 0.3}
    sizes: list[int] = []

    def tell(shard: int) -> None:
        byte_budget.report(shard, grant=grant[shard], used=used[shard], wanted=wanted[shard])

    for at in range(shards):
        tell(at)
    for _ in range(2_000):
        if byte_budget.used >= budget:
            break
        shard = int(rng.integers(shards))
        if rng.random() < 0.03:  # its process died with what it had been told last
            byte_budget.offer(shard)
            grant[shard], wanted[shard] = used[shard], 0
            tell(shard)
            continue
        grant[shard] = max(byte_budget.offer(shard), used[shard])
        if rng.random() < 0.5:  # it reports before it goes on
            tell(shard)
        for _ in range(0 if shard in idle else int(rng.integers(4))):
            size = wanted[shard] or int(rng.integers(1, 400))
            wanted[shard] = 0
            if used[shard] + size > grant[shard]:
                wanted[shard] = size
                break
            used[shard] += size
            sizes.append(size)
        tell(shard)
    assert sum(sizes[:-1]) < budget <= sum(sizes)


@given(
    budget=st.integers(1, 300),
    shards=st.integers(1, 6),
    seed=st.integers(0, 10_000),
    ceiling=st.sampled_from([None, 5, 40]),
)
@SETTINGS
def test_the_ledger_lends_all_pages_and_not_one_more(
    budget: int, shards: int, seed: int, ceiling: int | None
) -> None:
    rng = np.random.default_rng(seed)
    page_budget = PageBudget(budget, shards)
    page_budget.ceiling = ceiling
    # What an earlier run with another budget left them with.
    used = [int(pages) for pages in rng.multinomial(budget // 3, [1 / shards] * shards)]
    grant = [pages + int(rng.integers(0, 2 * budget)) * int(rng.integers(2)) for pages in used]
    begun: set[int] = set()
    turns: set[int] = set()
    idle = {at for at in range(shards) if rng.random() < 0.3}
    idle.discard(int(rng.integers(shards)))

    def tell(shard: int) -> None:
        page_budget.report(
            shard, grant=grant[shard], used=used[shard], wants_more=shard not in idle
        )

    for at in range(shards):
        tell(at)
    for _ in range(5_000):
        shard = int(rng.integers(shards))
        if rng.random() < 0.05:  # its process died with what it had been told last
            page_budget.offer(shard)
            begun.discard(shard)
            tell(shard)
            continue
        grant[shard] = max(page_budget.offer(shard), used[shard])
        begun.add(shard)
        if shard not in idle:
            used[shard] += int(rng.integers(0, grant[shard] - used[shard] + 1))
        elif rng.random() < 0.02 and len(idle) > 1:
            idle.discard(shard)
        tell(shard)
        assert sum(grant[at] if at in begun else used[at] for at in range(shards)) <= budget
        assert sum(used) <= budget
        turns.add(shard)
        if ceiling is not None and len(turns) == shards and len(begun) == shards:
            lent = sum(grant[at] - used[at] for at in range(shards) if at not in idle)
            assert lent <= max(ceiling, shards) + shards
        if sum(used) == budget:
            break
    assert sum(used) == budget


# ---------------------------------------------------------------- the outbox


def _page(url: str, links: list[str]) -> Page:
    return Page(
        url,
        title="Kilns",
        text="clay " * 300,
        links=[Link(link, Anchor(f"to {link}", position=at)) for at, link in enumerate(links)],
    )


@given(seed=st.integers(0, 10_000), shards=st.integers(2, 5))
@settings(max_examples=15)
def test_links_arrive_once_whatever_is_lost_on_the_way(seed: int, shards: int) -> None:
    rng = np.random.default_rng(seed)
    sender = Outbox(0, shards)
    receivers = {at: Outbox(at, shards) for at in range(1, shards)}
    entered: dict[int, list[str]] = {at: [] for at in receivers}
    durable = {at: (pack(outbox.save()), 0) for at, outbox in receivers.items()}
    saved = pack(sender.save())
    told: Counter[str] = Counter()
    for step in range(120):
        if step < 60:
            urls = [f"http://h{rng.integers(12)}.example/{rng.integers(40)}" for _ in range(6)]
            page = _page(f"http://h0.example/{step}", urls)
            kept = sender.keep(page, page.links, 0.5, 2, lambda: ["http://h0.example/"])
            assert all(shard_of(link.url.split("/")[2], shards) == 0 for link in kept)
            for url in urls:
                if shard_of(url.split("/")[2], shards) != 0:
                    told[url] += 1
            sender.seal()
            saved = pack(sender.save())
        at = int(rng.integers(1, shards))
        outbox = receivers[at]
        fate = rng.random()
        if fate < 0.1:  # the sender is started anew
            sender = Outbox(0, shards)
            sender.load(unpack(saved))
            sender.seal()
        elif fate < 0.2:  # whoever carries is started anew
            sender.resend()
        elif fate < 0.3:  # the receiver is started anew, with what was durable
            state, count = durable[at]
            receivers[at] = Outbox(at, shards)
            receivers[at].load(unpack(state))
            del entered[at][count:]
            sender.resend()
        first, batches = sender.outgoing(at, int(rng.integers(1, 30)))
        outbox = receivers[at]
        if rng.random() < 0.7 and first <= outbox.expects(0):
            for batch in outbox.arrived(0, first, unpack_batches(pack_batches(batches))):
                assert batch.path == ("http://h0.example/",)
                entered[at] += [link.url for link in batch.links]
            if rng.random() < 0.7:
                durable[at] = (pack(outbox.save()), len(entered[at]))
                sender.delivered(at, outbox.expects(0))
                saved = pack(sender.save())
        else:
            sender.resend()
    for at, outbox in receivers.items():
        sender.resend()
        first, batches = sender.outgoing(at, 1_000_000)
        for batch in outbox.arrived(0, first, batches):
            entered[at] += [link.url for link in batch.links]
        sender.delivered(at, outbox.expects(0))
        mine = {url: min(times, 2) for url, times in told.items() if _owner(url, shards) == at}
        assert Counter(entered[at]) == mine
    assert sender.waiting == 0


def _owner(url: str, shards: int) -> int:
    return shard_of(url.split("/")[2], shards)


# ---------------------------------------------------------------- the whole crawl


@dataclass
class Process:
    """One shard with what it made durable: all calls up to its last report."""

    me: int
    shards: int
    world: SmallWorld
    policy: str
    root: str
    guard: str = ""
    """What holds links back."""
    durable: bytes = b""
    pages: list[str] = field(default_factory=list)
    safe: int = 0
    now: float = 0.0

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        """In a new process: what was not durable is forgotten."""
        outbox = Outbox(self.me, self.shards)
        policy = registry.build(
            "policies", self.policy, Task(np.random.default_rng(self.me), Topic("pottery"))
        )
        frontier = MemoryFrontier(per_host=1)
        self.crawl = Crawl(
            policy,
            Label(TARGET),
            frontier,
            pages=0,
            backoff=1.0,
            outbox=outbox,
            link_filter=guard(self.guard, self.root),
        )
        self.worker = Worker(self.crawl, self.crawl, self.call)
        self.flying: list[Fetch] = []
        del self.pages[self.safe :]
        if not self.durable:
            self.crawl.seed([self.root])
        else:
            self.crawl.load(unpack(self.durable))
            self.crawl.reissue(self.now)
            if outbox.shards != self.shards:
                self.call("split", self.now, self.shards)

    def call(self, name: str, now: float, *told: object, body: bytes = b"") -> None:
        commands.apply(self.crawl, name, now, told, body)

    def keep(self) -> None:
        self.durable = pack(self.crawl.save(), FAST)
        self.safe = len(self.pages)

    def report(self, order: dict[str, Any] | None, *, dies: bool) -> Report:
        """All that it reports has to be durable; where it `dies` before it reports next, it is."""
        if dies:
            self.keep()
        self.worker.outbox.seal()
        return self.worker.report(order, [])

    def work(self, now: float, rng: np.random.Generator) -> None:
        """Ask for something, and take in a reply or two in any order."""
        self.now = now
        while len(self.flying) < 3 and isinstance(answer := self.worker.next(now), Fetch):
            self.flying.append(answer)
        for _ in range(int(rng.integers(0, 3))):
            if self.flying:
                fetch = self.flying.pop(int(rng.integers(len(self.flying))))
                outcome = self.worker.receive(self.world.answer(fetch), now)
                if isinstance(outcome, Outcome) and outcome.page is not None:
                    self.pages.append(outcome.page.url)


class Fates:
    """Which process comes next, and what befalls it. Where processes die, that is drawn ahead."""

    def __init__(self, processes: list[int], deaths: float, rng: np.random.Generator) -> None:
        self._processes, self._deaths = processes, deaths
        self._rng = np.random.default_rng(rng.integers(1 << 30)) if deaths else rng
        self._ahead: deque[tuple[int, float]] = deque()

    def next(self) -> tuple[int, float]:
        return self._ahead.popleft() if self._ahead else self._draw()

    def die(self, at: int) -> bool:
        """Whether a process dies before it reports next."""
        for place in count():
            if not self._deaths:
                break
            if place == len(self._ahead):
                self._ahead.append(self._draw())
            other, fate = self._ahead[place]
            if other == at and fate < self._deaths:
                return True
            if self._deaths <= fate < (0.6 if other == at else 1.5 * self._deaths):
                break
        return False

    def _draw(self) -> tuple[int, float]:
        return int(self._rng.choice(self._processes)), self._rng.random()


def _crawl(
    processes: dict[int, Process],
    shards: int,
    pages: int,
    rng: np.random.Generator,
    *,
    deaths: float,
    until: int = 100_000,
) -> Coordinator:
    def new_hub() -> Coordinator:
        coordinator = Coordinator(
            shards, pages, retired=[at for at in processes if at >= shards], merge_pages=10
        )
        for at, process in processes.items():
            process.worker.held = True
            process.worker.outbox.resend()
            coordinator.joined(at, process.report(None, dies=fates.die(at)), now)
        return coordinator

    fates = Fates(list(processes), deaths, rng)
    now = max([0.0, *(process.now for process in processes.values())])
    coordinator = new_hub()
    for _ in range(until):
        now += 0.25
        at, fate = fates.next()
        process = processes[at]
        if fate < deaths:
            coordinator.order(at)  # was told, and died before it could say so
            coordinator.lost(at)
            process.start()
            coordinator.joined(at, process.report(None, dies=fates.die(at)), now)
        elif fate < 1.5 * deaths:
            coordinator = new_hub()
        elif fate < 0.6:
            order = coordinator.order(at)
            process.worker.execute(order, now)
            coordinator.report(at, process.report(order, dies=fates.die(at)), now)
            if coordinator.reason is not None:
                return coordinator
        else:
            process.work(now, rng)
        assert sum(len(one.pages) + one.crawl.in_flight for one in processes.values()) <= pages
    return coordinator


def _world(seed: int, failures: bool = True, guard: str = "") -> SmallWorld:
    """Where processes die nothing else fails: a request that was cut counts as an attempt."""
    rng = np.random.default_rng(seed)
    world = random_web(rng, hosts=9)
    urls = list(world.pages)
    for _ in range(3):
        a, b, c = (urls[int(at)] for at in rng.choice(len(urls), 3, replace=False))
        if a != urls[0]:
            world.redirects[a] = b
        world.failures[c] = int(rng.integers(1, 3)) * failures
    if guard == "sitemaps":
        with_sitemaps(world, rng)
    return world


def with_traps(world: SmallWorld) -> None:
    """Each of three hosts has pages that say the same, each of which leads to two more."""
    home = next(iter(world.pages.values()))
    entrances = list(home.links)
    for name in ("h1.example", "h2.example", "h3.example"):
        urls = [f"http://{name}/cal/{at}" for at in range(20)]
        entrances.append(Link(urls[0], Anchor("calendar")))
        for at, url in enumerate(urls):
            links = [Link(to, Anchor("on", position=at)) for to in urls[at + 1 : at + 3]]
            world.pages[url] = Page(url, title="Calendar", text="nothing then", links=links)
    world.pages[home.url] = replace(home, links=entrances)


@pytest.fixture(scope="module")
def small_limits() -> Iterator[None]:
    """What holds links back does so in webs of 60 pages."""
    with small():
        yield


def _alone(seed: int, guard: str = "") -> set[str]:
    world = _world(seed, guard=guard)
    root = next(iter(world.pages))
    process = Process(0, 1, world, "breadth-first", root, guard)
    rng = np.random.default_rng(seed)
    coordinator = _crawl({0: process}, 1, 1_000, rng, deaths=0.0)
    assert coordinator.reason == "no open link left"
    return set(process.pages)


@given(
    seed=st.integers(0, 10_000),
    shards=st.integers(1, 5),
    policy=st.sampled_from(["breadth-first", "best-first", "random", "trail"]),
    deaths=st.sampled_from([0.0, 0.1]),
    guard=GUARDED,
)
@example(seed=66, shards=5, policy="random", deaths=0.0, guard="depth and shares")
@settings(max_examples=8)
def test_shards_fetch_what_one_crawl_fetches_each_page_once(
    small_limits: None, seed: int, shards: int, policy: str, deaths: float, guard: str
) -> None:
    world = _world(seed, not deaths, guard)
    root = next(iter(world.pages))
    processes = {at: Process(at, shards, world, policy, root, guard) for at in range(shards)}
    coordinator = _crawl(processes, shards, 1_000, np.random.default_rng(seed), deaths=deaths)
    assert coordinator.reason == "no open link left"
    fetched = Counter(url for process in processes.values() for url in process.pages)
    assert fetched == Counter(_alone(seed, guard))
    for process in processes.values():
        assert all(_owner(url, shards) == process.me for url in process.pages)
        for url in process.pages:
            link = process.crawl.frontier.find(url)
            assert link is not None
            assert process.crawl.path(link)[0] == root


@given(
    seed=st.integers(0, 10_000),
    divisions=st.lists(
        st.tuples(st.integers(1, 4), st.integers(0, 150), st.booleans()), min_size=2, max_size=5
    ),
    deaths=st.sampled_from([0.0, 0.1]),
    guard=GUARDED,
)
@example(
    seed=3,
    divisions=[(1, 81, True), (3, 36, True), (4, 43, True)],
    deaths=0.0,
    guard="shares of domains",
)
@example(
    seed=106, divisions=[(4, 79, True), (1, 62, True), (4, 131, True)], deaths=0.0, guard="depth"
)
@example(
    seed=44,
    divisions=[(2, 101, True), (4, 15, True), (3, 230, True)],
    deaths=0.0,
    guard="depth and shares",
)
# A redirect, half-way.
@example(seed=508, divisions=[(2, 58, True), (4, 0, True)], deaths=0.0, guard="")
@settings(max_examples=10)
def test_the_number_of_shards_may_change_and_nothing_is_lost_or_fetched_again(
    small_limits: None,
    seed: int,
    divisions: list[tuple[int, int, bool]],
    deaths: float,
    guard: str,
) -> None:
    """Also where a division ends before each shard was opened with it."""
    world = _world(seed, False, guard)
    root = next(iter(world.pages))
    rng = np.random.default_rng(seed)
    processes: dict[int, Process] = {}
    members = 0
    for number, (shards, turns, whole) in enumerate(divisions, 1):
        members = max(members, shards)
        whole = whole or number == len(divisions)
        for at in range(members):
            if not whole and rng.random() < 0.5:
                continue
            if at in processes:
                processes[at].shards = shards
                processes[at].start()
            else:
                policy = ("best-first", "breadth-first", "host-bandit")[seed % 3]
                processes[at] = Process(at, shards, world, policy, root, guard)
            processes[at].keep()
        if not whole:
            continue
        until = 100_000 if number == len(divisions) else turns
        coordinator = _crawl(processes, shards, 1_000, rng, deaths=deaths, until=until)
        for process in processes.values():
            process.keep()
    assert coordinator.reason == "no open link left"
    fetched = Counter(url for process in processes.values() for url in process.pages)
    assert fetched == Counter(_alone(seed, guard))
    for process in processes.values():
        for url in process.pages:
            link = process.crawl.frontier.find(url)
            assert link is not None
            assert process.crawl.path(link)[0] == root


@given(
    seed=st.integers(0, 10_000),
    shards=st.integers(1, 4),
    deaths=st.sampled_from([0.0, 0.1]),
    guard=st.sampled_from(["traps", "traps and shares"]),
)
@settings(max_examples=8)
def test_a_crawl_ends_once_no_shard_keeps_anything_for_its_end(
    small_limits: None, seed: int, shards: int, deaths: float, guard: str
) -> None:
    """What traps hold back depends on the order of the pages; and some are never asked for."""
    world = _world(seed, failures=False)
    root = next(iter(world.pages))
    with_traps(world)
    processes = {at: Process(at, shards, world, "random", root, guard) for at in range(shards)}
    coordinator = _crawl(processes, shards, 1_000, np.random.default_rng(seed), deaths=deaths)
    assert coordinator.reason == "no open link left"
    fetched = Counter(url for process in processes.values() for url in process.pages)
    assert max(fetched.values()) == 1
    for process in processes.values():
        process.crawl.last_resort()
        assert not process.crawl.frontier.open_count
        assert not process.worker.outbox.waiting


@given(seed=st.integers(0, 10_000), pages=st.integers(1, 50), shards=st.integers(1, 4))
@settings(max_examples=10)
def test_the_budget_of_all_shards_holds_to_the_page(seed: int, pages: int, shards: int) -> None:
    world = _world(seed, failures=False)
    root = next(iter(world.pages))
    processes = {at: Process(at, shards, world, "random", root) for at in range(shards)}
    coordinator = _crawl(processes, shards, pages, np.random.default_rng(seed), deaths=0.02)
    fetched = sum(len(process.pages) for process in processes.values())
    assert fetched == min(pages, len(_alone(seed)))
    assert coordinator.reason in (f"budget of {pages} pages reached", "no open link left")


def test_a_host_that_moves_is_left_alone_for_as_long() -> None:
    """What it asked for with Retry-After holds, by the clock of the shard that owns it then."""
    names = [f"h{number}.example" for number in range(20)]
    outbox = Outbox(0, 1)
    before, after = _crawl_of(outbox), _crawl_of(Outbox(1, 2))
    before.seed([f"http://{name}/" for name in names])
    for number, name in enumerate(names):
        before.frontier.hold(name, 1_000.0 + 10_000.0 * number)
    commands.apply(before, "split", 100.0, [2], b"")
    outbox.seal()
    first, batches = outbox.outgoing(1, 10_000)
    assert batches[0].rests
    commands.apply(after, "links", 7.0, [0, first], pack_batches(batches))
    moved = [name for name in names if shard_of(name, 2) == 1]
    assert 2 < len(moved) < len(names)
    assert isinstance(after.frontier, ListsHosts)
    assert {name: free_at - 7.0 for name, *_, free_at in after.frontier.hosts()} == {
        name: min(86_400.0, 900.0 + 10_000.0 * names.index(name)) for name in moved
    }
    with pytest.raises(InputError, match="no time to rest"):
        unpack_batches(pack_batches([replace(batches[0], rests=(("a.example", float("inf")),))]))


def _crawl_of(outbox: Outbox) -> Crawl:
    policy = registry.build("policies", "breadth-first", Task(np.random.default_rng(0)))
    outbox.grant = 99
    return Crawl(policy, Label(TARGET), MemoryFrontier(), pages=99, outbox=outbox)


def _asked(crawl: Crawl, now: float) -> list[Fetch]:
    return [step for _ in range(3) if isinstance(step := crawl.next(now), Fetch)]


def test_what_came_from_another_shard_is_passed_on_each_time() -> None:
    """Its owner may have closed it when it sent it away, by a division that is over. But two shards
    that each take the other one for its owner stop at some time."""
    outbox = Outbox(0, 2, owner=lambda name, shards: 1)
    crawl = _crawl_of(outbox)
    batch = LinkBatch(None, 0.5, 1, (), (Link("http://a.example/"),))
    for times in range(1, 300):
        crawl.enter(batch)
        assert outbox.posted == min(times, PASSED_ON)


def test_a_redirect_that_left_and_came_back_is_not_done_by_the_name_of_its_source() -> None:
    outbox = Outbox(0, 1, owner=lambda name, shards: int(shards == 2 and name == "b.example"))
    crawl = _crawl_of(outbox)
    crawl.seed(["http://a.example/"])
    (fetch,) = _asked(crawl, 0.0)
    crawl.receive(Redirected(fetch.ticket, "http://b.example/", 302), 1.0)
    for shards in (2, 1):
        commands.apply(crawl, "split", 2.0, [shards], b"")
    crawl.enter(LinkBatch(None, 0.5, 1, (), (Link("http://b.example/"),)))
    crawl.enter(LinkBatch(None, 0.0, 0, (), (), done=("http://a.example/",)))
    assert [fetch.url for fetch in _asked(crawl, 9.0)] == ["http://b.example/"]


@pytest.mark.parametrize("end", [1, 4])
def test_folders_of_other_times_are_found_by_what_they_have_of_one_another(end: int) -> None:
    """One lacks links that the other keeps no more, which nobody would miss, or has too many."""
    outbox = Outbox(0, 2)
    crawl = _crawl_of(outbox)
    for number in range(3):
        outbox.send(1, LinkBatch(None, 0.5, 1, (), (Link(f"http://a.example/{number}"),)))
    outbox.delivered(1, 2)

    def call(name: str, now: float, *told: object, body: bytes = b"") -> None:
        commands.apply(crawl, name, now, told, body)

    worker = Worker(crawl, crawl, call)
    order: dict[str, Any] = {"delivered": {1: end}, "resend": False, "links": []}
    with pytest.raises(InputError, match="shards 0 and 1 do not fit each other"):
        worker.execute(order, 1.0)


@pytest.mark.parametrize("name", ["number", "shards", "grant", "posted", "entered", "out", "in"])
@pytest.mark.parametrize("other", [-1, 1 << 62, 0.5, [[7, -1, []]], [[0, None]]], ids=repr)
def test_a_state_that_no_shard_saved_is_refused(name: str, other: Any) -> None:
    """A shard of another number owned nothing, and sent its links to itself without end."""
    outbox = Outbox(1, 2)
    outbox.load(outbox.save())
    with pytest.raises((ValueError, TypeError)):
        outbox.load({**outbox.save(), name: other})


def test_each_shard_has_its_folder_before_one_opens(tmp_path: Path) -> None:
    """Else a crawl that dies while they open, and goes on with fewer, has links for none."""
    with ExitStack() as undo:
        run_in_shards.begin(tmp_path, Settings(shards=3), undo)
        assert run_in_shards.numbers(tmp_path) == [0, 1, 2]


def test_a_shard_of_another_run_is_told_though_its_batches_fit(tmp_path: Path) -> None:
    """What it fetched is not what its hosts had open in this run, and nobody would miss that."""
    kept = Settings(shards=2, topic="kiln", seeds=("http://a.example/",))
    runs = [tmp_path / name for name in ("one", "other")]
    for run in runs:
        with ExitStack() as undo:
            run_in_shards.begin(run, kept, undo)
            for folder in files.shards(run):
                RunWriter(folder, kept).close()
    first, other = (files.shard(run, 1) for run in runs)
    shutil.rmtree(first)
    shutil.copytree(other, first)
    for look in (run_in_shards.begun, lambda run: RunWriter(files.shard(run, 1), kept)):
        with pytest.raises(InputError, match=r"shard-1 holds what a shard of another run fetched"):
            look(runs[0])
    (runs[0] / files.IDENTITY).unlink()
    with ExitStack() as undo, pytest.raises(InputError, match="of another run"):
        run_in_shards.begin(runs[0], kept, undo)
