"""The laws of a crawl, over random webs, faults and reply orders."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from guards import GUARDS, guard, small, with_sitemaps
from spoor import registry
from spoor.crawl import Crawl
from spoor.errors import CallerError, InputError
from spoor.frontier.memory import MemoryFrontier
from spoor.frontier.sqlite import SqliteFrontier
from spoor.judges.facts import Label
from spoor.learn.state import pack, unpack
from spoor.protocols import Frontier, OpenLinks, Policy, UsesOpenLinks
from spoor.testing.small_worlds import TARGET, SmallWorld, random_web
from spoor.types import (
    Choice,
    Deferred,
    Failed,
    Fetch,
    Fetched,
    Finished,
    InLinks,
    Judgement,
    Outcome,
    Page,
    Reply,
    Sleep,
    State,
    Task,
    Topic,
)

SETTINGS = settings(max_examples=60)


@dataclass(frozen=True)
class Case:
    seed: int
    delay: float
    per_host: int
    in_flight: int
    policy: str
    pages: int | None
    late_after: float = math.inf
    guard: str = ""
    """What holds links back; see `GUARDS`."""


cases = st.builds(
    Case,
    seed=st.integers(0, 10_000),
    delay=st.sampled_from([0.0, 1.0]),
    per_host=st.sampled_from([0, 1, 2]),
    in_flight=st.integers(1, 8),
    policy=st.sampled_from(["random", "breadth-first", "best-first", "look-ahead"]),
    pages=st.sampled_from([None, 7, 30]),
    late_after=st.sampled_from([math.inf, 0.0, 0.5, 2.0]),
    guard=st.sampled_from(["", *GUARDS]),
)


@pytest.fixture(autouse=True, scope="module")
def small_limits() -> Iterator[None]:
    """What holds links back does so in webs of 60 pages."""
    with small():
        yield


class Watched:
    """A policy that notes what it is told."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.chosen: list[int] = []
        self.learned: list[int] = []
        self.left: set[int] = set()
        """What may be chosen again, since it gave way to others."""

    def attach(self, links: OpenLinks) -> None:
        if isinstance(self.policy, UsesOpenLinks):
            self.policy.attach(links)

    def observe(self, seen: InLinks) -> None:
        self.policy.observe(seen)

    def choose(self, offer: object) -> Choice:
        choice = self.policy.choose(offer)  # type: ignore[arg-type]  # whatever the frontier offers
        self.chosen.append(choice.link)
        return choice

    def learn(self, outcome: Outcome) -> None:
        self.learned.append(outcome.choice.link)
        if isinstance(outcome.reply, Failed) and outcome.reply.kind in ("cancelled", "skipped"):
            self.left.add(outcome.choice.link)
        self.policy.learn(outcome)

    def save(self) -> State:
        return self.policy.save()

    def load(self, state: State) -> None:
        self.policy.load(state)


class LooksAhead(Watched):
    """Of the pages that are fetched the last is expanded, once no link is open."""

    look_ahead = True

    def expand(self, fetched: Sequence[int]) -> int:
        return fetched[-1]


class CountingJudge(Label):
    def __init__(self) -> None:
        super().__init__(TARGET)
        self.judged: list[str] = []

    def judge(self, page: Page) -> Judgement:
        self.judged.append(page.url)
        return super().judge(page)


@cache
def pages_of(seed: int) -> list[Page]:
    return [*random_web(np.random.default_rng(seed)).pages.values()]


@dataclass
class Bench:
    """A crawl with a driver that answers in random order."""

    case: Case
    frontier: Callable[..., Frontier] = MemoryFrontier
    world: SmallWorld = field(init=False)
    now: float = 0.0
    requests: list[tuple[float, float, str]] = field(default_factory=list)
    flying: list[tuple[float, str, Reply]] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.case.seed)
        self.world = SmallWorld(pages_of(self.case.seed % 50))
        urls = list(self.world.pages)
        for _ in range(4):
            a, b, c, d = (urls[int(at)] for at in rng.choice(len(urls), 4, replace=False))
            self.world.redirects[a] = b if a != urls[0] else f"{b}?moved"
            times = int(rng.integers(1, 5))
            self.world.failures[c] = times if times < 3 else 99
            if d != urls[0]:
                self.world.pages.pop(d, None)
        if "sitemaps" in GUARDS.get(self.case.guard, ({}, {}))[1]:
            with_sitemaps(self.world, rng)
        self.order = np.random.default_rng(self.case.seed + 1)
        self.make()

    def make(self) -> None:
        case, root = self.case, next(iter(self.world.pages))
        self.policy: Watched
        task = Task(np.random.default_rng(case.seed), Topic(name="pottery clay"))
        if case.policy == "look-ahead":
            self.policy = LooksAhead(registry.build("policies", "breadth-first", task))
        else:
            self.policy = Watched(registry.build("policies", case.policy, task))
        self.judge = CountingJudge()
        frontier = self.frontier(delay=case.delay, per_host=case.per_host)
        self.crawl = Crawl(
            self.policy,
            self.judge,
            frontier,
            pages=case.pages,
            backoff=2.0,
            late_after=case.late_after,
            link_filter=guard(case.guard, root),
        )

    def start(self) -> None:
        self.crawl.seed([next(iter(self.world.pages))])

    def step(self) -> bool:
        """One move of the driver; False once the crawl is over."""
        wake = None
        while len(self.flying) < self.case.in_flight:
            answer = self.crawl.next(self.now)
            if isinstance(answer, Fetch):
                reply = self.world.answer(answer)
                self.flying.append((self.now, answer.host, reply))
                continue
            if isinstance(answer, Finished):
                # Those that gave way are not awaited.
                assert not self.flying or self.case.late_after < math.inf
                assert not self.crawl.in_flight
                return False
            wake = answer.until if isinstance(answer, Sleep) else None
            break
        if self.flying and (wake is None or self.order.random() < 0.7):
            started, host, reply = self.flying.pop(int(self.order.integers(len(self.flying))))
            self.now += float(self.order.random())
            self.requests.append((started, self.now, host))
            outcome = self.crawl.receive(reply, self.now)
            if not isinstance(outcome, Deferred):
                self.outcomes.append(outcome)
        else:
            assert wake is not None, "nothing in flight, and nothing to wait for"
            assert wake > self.now or not self.flying
            self.now = max(self.now, wake)
        return True

    def run(self) -> None:
        steps = 0
        while self.step():
            steps += 1
            assert steps < 5_000, "the crawl does not end"


@SETTINGS
@given(cases)
def test_each_choice_is_learned_once_and_each_page_judged_once(case: Case) -> None:
    bench = Bench(case)
    bench.start()
    bench.run()
    assert_hosts_are_spared(bench)
    assert sorted(bench.policy.chosen) == sorted(bench.policy.learned)
    ended = [link for link in bench.policy.learned if link not in bench.policy.left]
    assert len(set(ended)) == len(ended)
    fetched = [o.page.url for o in bench.outcomes if o.page]
    assert bench.judge.judged == fetched
    assert len(set(fetched)) == len(fetched), "a page was fetched twice"
    assert bench.crawl.counts.pages == len(fetched)
    assert bench.crawl.counts.requests == len(bench.world.asked)


@SETTINGS
@given(cases)
def test_the_budget_holds_exactly_and_nothing_is_forgotten(case: Case) -> None:
    bench = Bench(case)
    lands = landing(bench.world)
    bench.start()
    bench.run()
    got = [o.page.url for o in bench.outcomes if o.page]
    assert len(got) == bench.crawl.counts.pages
    if case.pages is not None and len(got) >= case.pages:
        assert len(got) == case.pages
        bench.flying.clear()  # what gave way is not received
        bench.crawl.pages = None  # a larger budget goes on with what was left
        bench.run()
        got = [o.page.url for o in bench.outcomes if o.page]
    assert_nothing_is_lost(bench, lands, set(got))


@SETTINGS
@given(cases.filter(lambda case: case.guard != ""))
@example(Case(0, 0.0, 1, 2, "random", None, guard="depth"))
def test_what_was_left_out_adds_up_with_what_was_seen(case: Case) -> None:
    """Each URL that pages lead to was asked for or is told once, by one reason; beside those, only
    where a redirect leads may be told."""
    bench = Bench(replace(case, pages=None))
    bench.start()
    bench.run()
    link_filter = bench.crawl.link_filter
    assert link_filter is not None
    told = link_filter.left_out()
    count = sum(told.rules.values()) + sum(links for _, links, _ in told.held)
    world = bench.world
    got = [outcome.page for outcome in bench.outcomes if outcome.page]
    seen = {link.url for page in got for link in page.links} - set(world.asked)
    led = {world.redirects[url] for url in world.asked if url in world.redirects}
    assert len(seen) <= count <= len(seen | (led - set(world.asked)))


def assert_nothing_is_lost(bench: Bench, lands: Callable[[str], str | None], got: set[str]) -> None:
    """All that pages link to was fetched, or why not is told."""
    link_filter, world = bench.crawl.link_filter, bench.world
    root = next(iter(world.pages))
    if not bench.case.guard:
        assert got == set(distances(world, lands))
        return
    of_scope, of_filter = GUARDS[bench.case.guard]
    away = distances(world, lands)
    most = of_scope.get("max_depth", math.inf)
    near = {url for url, depth in away.items() if depth <= most}
    assert got <= near
    kept_out = {"per_host", "per_domain", "found_per_host", "traps"}
    exact = of_filter.get("per_domain", 1_000) == 1_000 and not of_filter.keys() & (
        kept_out - {"per_domain"}
    )
    followed = [link.url for page in got if away[page] < most for link in world.pages[page].links]
    for url in {root, *followed}:
        if (page := lands(url)) is not None and page not in got:
            assert link_filter is not None
            steps = [url]
            while steps[-1] in world.redirects:
                steps.append(world.redirects[steps[-1]])
            whys = [why for step in steps if (why := link_filter.explained(step))]
            assert whys, f"{page} is lost"
            assert not exact, f"{page} is left out: {whys}"
    if exact:
        assert got == near


def landing(world: SmallWorld) -> Callable[[str], str | None]:
    """Where a URL leads in the end, by the plainest code; three time-outs lose a page."""
    failures = dict(world.failures)

    def land(url: str) -> str | None:
        for _ in range(11):
            if failures.get(url, 0) >= 3:
                return None
            if url not in world.redirects:
                return url if url in world.pages else None
            url = world.redirects[url]
        return None

    return land


def distances(world: SmallWorld, lands: Callable[[str], str | None]) -> dict[str, int]:
    """Pages that a crawl can get → how many links they are from the root."""
    root = lands(next(iter(world.pages)))
    found = {} if root is None else {root: 0}
    todo = list(found)
    for url in todo:
        for link in world.pages[url].links:
            target = lands(link.url)
            if target is not None and target not in found:
                found[target] = found[url] + 1
                todo.append(target)
    return found


def assert_hosts_are_spared(bench: Bench) -> None:
    """No host is asked too often or too early."""
    case = bench.case
    by_host: dict[str, list[tuple[float, float]]] = {}
    for started, ended, host in bench.requests:
        by_host.setdefault(host, []).append((started, ended))
    for spans in by_host.values():
        spans.sort()
        for at, (started, _) in enumerate(spans):
            if case.per_host:
                busy = sum(begin <= started < end for begin, end in spans if begin != started)
                assert busy < case.per_host
            if at and case.delay:
                before = spans[at - 1]
                since = before[1] if case.per_host == 1 else before[0]
                assert started - since >= case.delay - 1e-9


@SETTINGS
@given(cases, st.integers(0, 40))
def test_a_crawl_saved_and_loaded_goes_on_as_if_nothing_had_happened(case: Case, at: int) -> None:
    """And the same seed gives the same crawl: the two are made alike."""
    whole = Bench(case)
    whole.start()
    whole.run()
    broken = Bench(case)
    broken.start()
    for _ in range(at):
        if not broken.step():
            break
    state = unpack(pack(broken.crawl.save()))
    broken.make()
    broken.crawl.load(state)
    broken.run()
    assert broken.world.asked == whole.world.asked
    assert pack(broken.crawl.save()) == pack(whole.crawl.save())


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("frontier") / "frontier.db"


@settings(max_examples=30)
@given(cases, st.integers(0, 40), st.sampled_from(["at once", "later", "twice"]))
def test_a_crawl_is_the_same_with_its_frontier_on_disk(
    file: Path, case: Case, at: int, moved: str
) -> None:
    """From the first link on, or from some moment on; also closed and opened again."""
    if case.seed % 2:
        case = replace(case, policy="online-svm")  # it looks at the words of all open links
    opened: list[SqliteFrontier] = []

    def on_disk(*, delay: float, per_host: int) -> SqliteFrontier:
        opened.append(SqliteFrontier(file, delay=delay, per_host=per_host, buffer=20))
        return opened[-1]

    whole = Bench(case)
    whole.start()
    whole.run()
    other = Bench(case, on_disk if moved == "at once" else MemoryFrontier)
    other.start()
    for _ in range(2 if moved == "twice" else 1):
        for _ in range(at):
            if not other.step():
                break
        state = unpack(pack(other.crawl.save()))
        for frontier in opened:
            frontier.close()
        other.frontier = on_disk
        other.make()
        other.crawl.load(state)
    other.run()
    assert other.world.asked == whole.world.asked
    states = [unpack(pack(bench.crawl.save())) for bench in (whole, other)]
    for key in states[0].keys() - {"frontier"}:
        assert pack({key: states[0][key]}) == pack({key: states[1][key]}), key
    links = range(len(states[0]["frontier"]["urls"]))
    ones, others = whole.crawl.frontier, other.crawl.frontier
    for link in links:
        assert ones.url(link) == others.url(link)
        assert ones.path(link) == others.path(link)
        assert ones.depth(link) == others.depth(link)
        assert ones.in_links(link) == others.in_links(link)
    assert sorted(ones.done()) == sorted(others.done())
    for frontier in opened:
        frontier.close()


def test_a_crawl_that_another_version_saved_is_refused() -> None:
    bench = Bench(Case(0, 0.0, 0, 1, "breadth-first", None))
    bench.start()
    state = dict(bench.crawl.save())
    for version in (state["format"] - 1, state["format"] + 1):
        with pytest.raises(InputError, match=f"is of format {version}; this Spoor reads"):
            bench.crawl.load({**state, "format": version})


def test_a_ticket_is_answered_once() -> None:
    bench = Bench(Case(0, 0.0, 0, 1, "breadth-first", None))
    bench.start()
    fetch = bench.crawl.next(0.0)
    assert isinstance(fetch, Fetch)
    page = bench.world.pages[fetch.url]
    bench.crawl.receive(Fetched(fetch.ticket, page), 0.0)
    with pytest.raises(CallerError, match="not in flight"):
        bench.crawl.receive(Fetched(fetch.ticket, page), 0.0)


def one_page_of_two() -> tuple[Crawl, Fetch]:
    """A crawl with a budget of one page, and its request to the slow one of two hosts."""
    policy = registry.build("policies", "breadth-first", Task(np.random.default_rng(0), Topic()))
    crawl = Crawl(policy, CountingJudge(), MemoryFrontier(), pages=1, late_after=5.0)
    crawl.seed(["http://slow.example/", "http://good.example/"])
    slow = crawl.next(0.0)
    assert isinstance(slow, Fetch)
    assert crawl.next(0.0) == Sleep(5.0)
    return crawl, slow


@pytest.mark.parametrize("first", ["slow", "good"])
def test_a_slow_request_does_not_hold_up_the_end_of_a_crawl(first: str) -> None:
    """After `late_after` seconds another one is made; whichever page comes first is the last, and
    what is in flight then is left, and is open again."""
    crawl, slow = one_page_of_two()
    assert crawl.next(4.9) == Sleep(5.0)
    good = crawl.next(5.0)
    assert isinstance(good, Fetch)
    asked = [slow, good] if first == "slow" else [good, slow]
    pages = [Fetched(one.ticket, Page(one.url)) for one in asked]
    crawl.receive(pages[0], 6.0)
    if first == "good":  # both come before the crawl is asked again
        late = crawl.receive(pages[1], 6.0)
        assert isinstance(late, Outcome)
        assert isinstance(late.reply, Failed)
        assert late.reply.kind == "cancelled"
        assert late.judgement is None
    assert crawl.next(6.0) == Finished("budget of 1 pages reached")
    assert (crawl.counts.pages, crawl.in_flight) == (1, 0)
    assert crawl.counts.failed == 0, "what was left did not fail"
    assert [crawl.frontier.url(link) for link in crawl.frontier.open()] == [asked[1].url]
    crawl.pages = 2
    again = crawl.next(6.0)
    assert isinstance(again, Fetch)
    assert again.url == asked[1].url


def test_a_request_that_waits_to_be_made_again_does_not_hold_up_the_end_of_a_crawl() -> None:
    crawl, slow = one_page_of_two()
    crawl.receive(Failed(slow.ticket, "timeout", transient=True), 4.0)
    assert crawl.next(4.0) == Sleep(5.0)
    good = crawl.next(5.0)
    assert isinstance(good, Fetch)
    assert good.host == "good.example"
    crawl.receive(Fetched(good.ticket, Page(good.url)), 6.0)
    assert crawl.next(6.0) == Finished("budget of 1 pages reached")
    assert [crawl.frontier.url(link) for link in crawl.frontier.open()] == [slow.url]


def test_hosts_that_are_asked_again_keep_no_other_from_the_last_place() -> None:
    """A request that gave way got a place when it was made again, or was chosen anew: beside sixty
    slow hosts the last page of a budget took three minutes."""
    policy = registry.build("policies", "breadth-first", Task(np.random.default_rng(0), Topic()))
    crawl = Crawl(policy, CountingJudge(), MemoryFrontier(), pages=1, late_after=5.0)
    crawl.seed([f"http://{name}.example/" for name in ("slow", "slow-too", "good")])
    steps: list[str | Sleep] = []
    for now in (0.0, 4.0, 5.0, 9.0, 9.0, 10.0):
        step = crawl.next(now)
        steps.append(step.host if isinstance(step, Fetch) else step)  # type: ignore[arg-type]
        if now == 0.0:
            assert isinstance(step, Fetch)
            crawl.receive(Failed(step.ticket, "timeout", transient=True), 4.0)
    assert steps[:2] == ["slow.example", Sleep(5.0)]
    assert steps[2:4] == ["slow-too.example", "slow.example"], "again, and without a place"
    assert steps[4:] == [Sleep(10.0), "good.example"]


class Doubting(CountingJudge):
    """Every page is relevant, and none is once it is judged anew."""

    def judge(self, page: Page) -> Judgement:
        super().judge(page)
        return Judgement(1.0, True, 1.0)

    def revise(self) -> Sequence[tuple[str, Judgement]]:
        return [(url, Judgement(0.0, False, 0.0)) for url in self.judged]

    def save(self) -> State:
        return {"urls": self.judged}

    def load(self, state: State) -> None:
        self.judged = list(state["urls"])


def test_a_host_that_has_not_had_its_finds_after_all_is_asked_on() -> None:
    """The judge says so when the crawl is about to end."""
    world = random_web(np.random.default_rng(1), pages=12)
    root = next(iter(world.pages))
    task = Task(np.random.default_rng(0), Topic(name="pottery"))
    crawl = Crawl(
        registry.build("policies", "breadth-first", task),
        Doubting(),
        MemoryFrontier(),
        link_filter=guard("limit of finds", root),
    )
    crawl.seed([root])
    now = 0.0
    while not isinstance(answer := crawl.next(now), Finished):
        now += 1.0
        if isinstance(answer, Fetch):
            crawl.receive(world.answer(answer), now)
    assert crawl.counts.pages == len(world.pages)
    assert crawl.counts.relevant == 0
