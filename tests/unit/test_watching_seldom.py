"""A watch that looks seldom, as one of cron, of a few requests a day, or of a machine that slept:
what happened between two looks is told at the next one."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from daily_passes import BEGIN, LIT, SITE, a_pass, fleet_of, passes, version
from noisy_news import article
from spoor.durations import DAY
from spoor.foragers.fleets import FleetTask, change_rate
from spoor.foragers.revisit import ChangeRate
from spoor.foragers.states import NoStates
from spoor.judges.facts import TextPattern
from spoor.learn.state import pack, unpack
from spoor.live.changes import ChangeTracker, Line
from spoor.live.conditional import SAMPLED, Conditions
from spoor.live.sources import Sources
from spoor.types import Choice, Failed, Fetch, Fetched, Link, Page, Reply, Sleep, State
from spoor.watching.hosts import Hosts
from spoor.watching.once_passes import LEAST_LOOKED_AT
from spoor.watching.page_rates import PRIOR
from spoor.watching.request_budget import RequestBudget
from spoor.watching.soft_404s import Emptied
from spoor.watching.watching import Watching
from spoor.web.exchange import Exchange
from spoor.web.validators import Validators
from spoor.worlds.evolving import EvolvingWorld, Version
from stepping import take


@pytest.mark.parametrize("dated", [True, False], ids=["dated", "undated"])
def test_what_happened_days_before_the_next_pass_is_told(
    dated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that was published, one that was not there yet when it was linked to, and an old page
    that was edited, five days before the watch looks again; and a title that was put right, of a
    page that states when it was published."""
    texts = {name: [*article(number), LIT] for number, name in enumerate("abc")}
    world = EvolvingWorld(
        [
            version(-90 * DAY, "", ["Front."], "a", "b", "old"),
            version(-90 * DAY, "a", texts["a"]),
            version(-90 * DAY, "old", article(7)),
            version(2 * DAY, "", ["Front."], "a", "b", "c", "old"),
            version(2 * DAY, "b", texts["b"]),
            version(2 * DAY, "c", texts["c"]),
            version(2 * DAY, "old", [*article(7), LIT]),
            version(2 * DAY, "a", [*texts["a"], "Its fire has gone out since then."]),
        ],
        roots=[SITE],
        start=BEGIN,
        end=BEGIN + 10 * DAY,
    )
    read = EvolvingWorld.answer

    def published(world: EvolvingWorld, fetch: Fetch) -> Reply:
        reply = read(world, fetch)
        if not isinstance(reply, Fetched):
            return reply
        at = reply.page.modified if dated else None
        if dated and reply.page.url == f"{SITE}a":
            at = BEGIN - 90 * DAY  # its edits are not dated
        return replace(reply, page=replace(reply.page, modified=at))

    monkeypatch.setattr(EvolvingWorld, "answer", published)
    fleet = fleet_of(world, once=True)
    tracker = ChangeTracker(fleet)
    assert a_pass(fleet, world, 0.0, tracker) == []
    again = fleet_of(world, once=True)
    again.load(unpack(pack(fleet.save())))
    lines = a_pass(again, world, 7 * DAY, ChangeTracker(again))
    told = {line["url"].removeprefix(SITE): line["kind"] for line in lines}
    assert told == {"a": "changed", "b": "new", "c": "new", "old": "changed"}
    assert len(lines) == 4
    later = fleet_of(world, once=True)
    later.load(unpack(pack(again.save())))
    assert a_pass(later, world, 9 * DAY, ChangeTracker(later)) == []


def test_an_old_document_on_topic_that_moves_or_goes_is_told_once() -> None:
    """It stood there at the first look, so it was never told; the move is told although its old
    URL would not be asked for in weeks."""
    moves, goes = [*article(1), LIT], [*article(2), LIT]
    world = EvolvingWorld(
        [
            version(-90 * DAY, "", ["Front."], "here", "goes", "other"),
            version(-90 * DAY, "here", moves),
            version(-90 * DAY, "goes", goes),
            version(-90 * DAY, "other", article(3)),
            version(3_600, "", ["Front."], "there"),
            version(3_600, "there", moves),
            version(3_600, "here", [], gone=True),
            version(3_600, "goes", [], gone=True),
            version(3_600, "other", [], gone=True),
            version(3 * DAY, "goes", goes),
        ],
        roots=[SITE],
        start=BEGIN,
        end=BEGIN + 10 * DAY,
    )
    fleet = fleet_of(world, once=True)
    tracker, lines = ChangeTracker(fleet), list[Line]()
    for day in range(6):
        lines += a_pass(fleet, world, day * DAY, tracker)
    told = [(line["kind"], line["url"].removeprefix(SITE), line["title"]) for line in lines]
    assert sorted(told) == [("gone", "goes", "Goes"), ("moved", "there", "There")]
    (moved,) = (line for line in lines if line["kind"] == "moved")
    assert moved["from"] == f"{SITE}here"


def test_each_pass_looks_at_a_share_of_the_known_pages_and_no_more() -> None:
    """200 pages that never change: a first pass of all, then 5 % a pass, until all came again."""
    names = [f"n{number}" for number in range(200)]
    world = EvolvingWorld(
        [
            version(-90 * DAY, "", ["Front."], *names),
            *(version(-90 * DAY, name, article(at)) for at, name in enumerate(names)),
        ],
        roots=[SITE],
        start=BEGIN,
        end=BEGIN + 60 * DAY,
    )
    fleet = fleet_of(world, once=True)
    tracker, asked, counts = ChangeTracker(fleet), Counter[str](), list[int]()
    answer = world.answer

    def count(fetch: Fetch) -> Reply:
        asked[fetch.url] += 1
        return answer(fetch)

    world.answer = count  # type: ignore[method-assign]
    for day in range(25):
        before = asked.total()
        a_pass(fleet, world, day * DAY, tracker)
        counts.append(asked.total() - before)
    assert counts[0] == 201
    assert set(counts[1:]) == {11}
    assert min(asked.values()) >= 2
    small = EvolvingWorld(
        [
            version(-90 * DAY, "", ["Front."], *names[:30]),
            *(version(-90 * DAY, name, article(at)) for at, name in enumerate(names[:30])),
        ],
        roots=[SITE],
        start=BEGIN,
        end=BEGIN + 9 * DAY,
    )
    fleet = fleet_of(small, once=True)
    tracker = ChangeTracker(fleet)
    a_pass(fleet, small, 0.0, tracker)
    first = fleet.counts.requests
    a_pass(fleet, small, DAY, tracker)
    assert fleet.counts.requests - first == LEAST_LOOKED_AT


@pytest.mark.parametrize(("living", "dead"), [(50, 250), (150, 150), (250, 50), (8, 30)])
def test_dead_links_take_no_more_than_a_tenth_of_a_pass(
    living: int, dead: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing changes; pages have dead links. The rest of the share is that of pages, each of which
    is seen again in as many passes as they take by themselves."""
    names, each = [f"p{at}" for at in range(living)], -(-dead // living)
    missing = [f"x{at}" for at in range(dead)]
    world = EvolvingWorld(
        [
            version(-90 * DAY, "", ["Front."], *names),
            *(
                version(-90 * DAY, name, article(at), *missing[at * each : (at + 1) * each])
                for at, name in enumerate(names)
            ),
        ],
        roots=[SITE],
        start=BEGIN,
        end=BEGIN + 60 * DAY,
    )
    first, *later = passes(world, 30, monkeypatch)
    assert len(first) == 1 + living + dead
    share = max(LEAST_LOOKED_AT, -(-(1 + living + dead) // 20))
    counts = [sum(name in missing for name in asked) for asked in later]
    assert max(counts) == share // 10
    seen = [set(asked) - set(missing) for asked in later]
    needed = -(-living // (share - share // 10 - 1)) + 1
    for at in range(30 - 1 - needed):
        assert len(set().union(*seen[at : at + needed])) == living + 1


def test_a_dead_link_rests_for_longer_each_time_and_comes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One that never was; a page that changed each day until it went; and one that comes back."""
    world = EvolvingWorld(
        [
            version(-90 * DAY, "", ["Front."], "never", "goes", "back"),
            *(
                version((day - 0.5) * DAY, "goes", [*article(1), f"Day {day}. {LIT}"])
                for day in range(10)
            ),
            version(9.5 * DAY, "goes", [], gone=True),
            version(-90 * DAY, "back", article(2)),
            version(3.5 * DAY, "back", [], gone=True),
            version(20.5 * DAY, "back", article(2)),
        ],
        roots=[SITE],
        start=BEGIN,
        end=BEGIN + 300 * DAY,
    )
    asked = passes(world, 290, monkeypatch)

    def days(name: str) -> list[int]:
        return [day for day, names in enumerate(asked) if name in names]

    never, goes, back = days("never"), days("goes"), days("back")
    rests = np.diff(never)
    assert never[:2] == [0, 1]
    assert all(1.5 * before <= rest <= 2.5 * before for before, rest in pairwise(rests[:7]))
    assert rests[-1] == 64
    assert len(rests) == 9
    assert goes[:11] == [*range(11)]
    assert len(goes) < 25
    # It is found again, and looked at as any page is from then on.
    assert 20 < next(day for day in back if day > 20) <= 40
    assert back[-30:] == [*range(260, 290)]


def test_what_was_in_flight_when_a_batch_was_made_is_not_asked_for_twice() -> None:
    """A slow answer: the next pages are chosen while it is awaited."""
    world = EvolvingWorld(
        [
            version(-9 * DAY, "", ["Front."], "a", "b"),
            version(-9 * DAY, "a", article(1)),
            version(-9 * DAY, "b", article(2)),
        ],
        roots=[SITE],
        start=BEGIN,
        end=BEGIN + DAY,
    )
    world.advance(BEGIN)
    fleet = fleet_of(world, delay=0.01)
    asked, now = list[str](), BEGIN
    while now < BEGIN + 30:
        step = fleet.next(now)
        if isinstance(step, Fetch):
            asked.append(step.url.removeprefix(SITE))
            if step.url == f"{SITE}a":
                for later in (6.0, 6.5):  # another batch is made
                    fleet.next(now + later)
                now += 7.0
            fleet.receive(world.answer(step), now)
        now += 0.02
    first = asked.index("a")
    assert asked[first + 1] == "b"


def test_validators_that_lie_are_found_out_in_passes_of_one_page() -> None:
    """Each process asks for one page, by validators that never change, and the page changes."""
    liar = Validators('"1"')
    state: State = {}
    for _ in range(3):
        conditions = Conditions(lambda url: liar)
        if state:
            conditions.load(unpack(pack(state)))
        if conditions.validators(SITE, "news.example") is None:
            conditions.received(exchange_with(liar))
            conditions.judged(SITE, "news.example", changed=True)
        state = conditions.save()
    assert conditions.liars == {"news.example"}
    again = Conditions(lambda url: liar)
    again.load(state)
    assert again.validators(SITE, "news.example") is None
    # Passes of forty pages do not test the same page each time.
    conditions, tested = Conditions(lambda url: liar), Counter[str]()
    for _ in range(50):
        for number in range(SAMPLED):
            url = f"{SITE}{number}"
            tested[url] += conditions.validators(url, "news.example") is None
    assert 25 < tested.total() < 100
    assert max(tested.values()) <= 6


def exchange_with(validators: Validators) -> Exchange:
    headers = CIMultiDictProxy(CIMultiDict({"ETag": validators.etag}))
    return Exchange(SITE, 200, "", (), headers, b"a", b"a", 1.0, 0.1)


def test_lines_of_one_pass_are_no_rhythm() -> None:
    sources = Sources()
    for at in range(40):
        sources.told("a.example", "new", float(at))
    sources.asked("a.example", 3 * DAY)
    assert sources.silences() == []
    for day in range(1, 8):  # a pass a day, which tells three
        for at in range(3):
            sources.told("b.example", "new", day * DAY + at)
    sources.asked("b.example", 10 * DAY)
    assert sources.silences() == []
    sources.asked("b.example", 14 * DAY)
    (silence,) = sources.silences()
    assert silence == "b.example has told nothing for 7 days; it told 3 a day before"
    again = Sources()
    again.load(unpack(pack(sources.save())))
    assert again.silences() == [silence]


@pytest.mark.parametrize("once", [True, False])
def test_a_site_that_has_nothing_to_do_slows_no_other(once: bool) -> None:
    """Its page asks to be left alone for long, and so says when to come again; the other site is
    asked as often as its delay allows."""
    other = "http://other.example/"
    hosts, rng = Hosts(delay=0.1, per_host=1), np.random.default_rng(0)
    watching = Watching(TextPattern("kiln is lit"))
    task = FleetTask([SITE, other], NoStates(), rng, hosts=hosts, watching=watching)
    fleet = change_rate(task)
    fleet.crew.only_due = once  # type: ignore[attr-defined]
    now, asked = BEGIN, list[str]()
    while now < BEGIN + 3.0:
        step = fleet.next(now)
        if isinstance(step, Fetch):
            asked.append(step.url)
            if step.url.startswith(other):
                links = [Link(f"{other}{number}") for number in range(40)]
                page = Page(step.url, text=f"{step.url} {LIT}", links=links)
                fleet.receive(Fetched(step.ticket, page, 0.0, 1), now)
            else:
                busy = Failed(step.ticket, "http", "busy", 503, retry_after=3_600.0)
                fleet.receive(busy, now)
        else:
            assert isinstance(step, Sleep)
            assert step.until > now
            now = step.until
    assert sum(url.startswith(other) for url in asked) >= 25


def test_a_budget_keeps_requests_for_what_is_new() -> None:
    """Of 30 that may be sent at once a page that is known has 27; what is new needs to wait for
    none. Beside as much that is new as may be asked for, every second request is for what is known.
    """
    for budget in (RequestBudget(300), RequestBudget(0, 300)):
        now, sent = BEGIN, Counter[bool]()
        budget.take("a.example", now, new=False)  # and its robots.txt
        for new in (False, True):
            while budget.free_at("a.example", now, new=new) <= now:
                budget.take("a.example", now, new=new)
                sent[new] += 1
        assert sent == {False: 25, True: 3}
        budget.load(unpack(pack(budget.save())))
        between = DAY / 270
        at = budget.free_at("a.example", now, new=False)
        assert at == pytest.approx(now + 2 * between)
        assert budget.free_at("a.example", now) == pytest.approx(now + between)
        sent.clear()
        while now < BEGIN + DAY:
            for new in (False, True):
                if budget.free_at("a.example", now, new=new) <= now:
                    budget.take("a.example", now, new=new)
                    sent[new] += 1
            now += 10.0
        assert sent[False] == pytest.approx(135, abs=4)
        assert sent.total() == pytest.approx(270, abs=8)
        # Where nothing is new for a while, all of them are for what is known.
        now += 7 * between
        while budget.free_at("a.example", now, new=False) <= now:
            budget.take("a.example", now, new=False)
        assert budget.free_at("a.example", now, new=False) == pytest.approx(now + between, abs=20)


def test_a_watch_whose_budget_was_lifted_goes_on_each_time() -> None:
    budget = RequestBudget(300)
    budget.take("a.example", BEGIN)
    for per_host in (0, 0, 300):
        again = RequestBudget(per_host)
        again.load(unpack(pack(budget.save())))
        assert again.free_at("a.example", BEGIN + 1.0) <= BEGIN + DAY / 270
        budget = again


def test_what_appears_is_asked_for_at_once_though_the_budget_is_small() -> None:
    """An article an hour, three requests an hour, and a hundred known pages that want looks."""
    old = [f"old{number}" for number in range(100)]
    names = [f"n{number}" for number in range(48)]
    versions = [version(-90 * DAY, name, [*article(at), LIT]) for at, name in enumerate(old)]
    versions.append(version(-5, "", ["Front."], *old))
    for number, name in enumerate(names):
        at = 3_600.0 * (number + 1)
        versions.append(version(at, name, [*article(200 + number), LIT]))
        versions.append(version(at, "", [f"Front {name}."], *names[: number + 1]))
    world = EvolvingWorld(versions, roots=[SITE], start=BEGIN, end=BEGIN + 3 * DAY)
    world.advance(BEGIN)
    hosts, rng = Hosts(delay=1.0, per_host=1, per_day=75), np.random.default_rng(0)
    task = FleetTask([SITE], NoStates(), rng, hosts=hosts, watching=Watching(None))
    fleet = change_rate(task)
    tracker, lines, fronts, asked = (
        ChangeTracker(fleet),
        list[Line](),
        list[float](),
        dict[str, float](),
    )
    now = BEGIN
    while now < BEGIN + 49 * 3_600:
        step = fleet.next(now)
        if isinstance(step, Fetch):
            asked.setdefault(step.url.removeprefix(SITE), now)
            if step.url == SITE:
                fronts.append(now)
        now, told = take(step, fleet, world, now, tracker)
        lines += told
    shown = [min(at for at in fronts if at >= BEGIN + 3_600.0 * (1 + n)) for n in range(46)]
    waited = [asked[name] - at for name, at in zip(names, shown, strict=False)]
    assert np.median(waited) < 5.0
    assert len({line["url"] for line in lines if line["url"] != SITE}) >= 46


def test_a_host_with_many_known_pages_keeps_no_list_of_others_out() -> None:
    """All of them wait for an hour by then, and are worth more than a list that was just looked at;
    the other site is asked as often as its delay allows all the same."""
    other, names = "http://quiet.example/", [f"n{number}" for number in range(600)]
    versions = [version(-9 * DAY, name, [f"{name} was fired."]) for name in names]
    versions.append(version(-5, "", ["Front."], *names))
    versions.append(Version(BEGIN - 5, other, "Quiet", "Nothing yet."))
    world = EvolvingWorld(versions, roots=[SITE], start=BEGIN, end=BEGIN + DAY)
    world.advance(BEGIN)
    hosts, rng = Hosts(delay=0.01, per_host=1), np.random.default_rng(0)
    hosts.pace("quiet.example", 1.0)
    task = FleetTask([SITE, other], NoStates(), rng, hosts=hosts, watching=Watching(None))
    fleet, now, asked = change_rate(task, batch=10), BEGIN, list[str]()
    tracker = ChangeTracker(fleet)
    while len(fleet.known) < 600 or fleet.known.waiting["news.example"]:
        now, _ = take(fleet.next(now), fleet, world, now, tracker)
    now += 3_600.0
    end = now + 20.0
    while now < end:
        step = fleet.next(now)
        if isinstance(step, Fetch):
            asked.append(step.url)
        now, _ = take(step, fleet, world, now, tracker)
    assert asked.count(other) >= 12
    assert len(asked) > 100


def test_what_a_look_costs_that_brings_nothing_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch of a host that is busy is gone through once, the kind of a page is that of one among
    many, and a page that says what it said is not read for what is left of it."""
    names = [f"n{number}" for number in range(30)]
    versions = [version(-DAY, name, [*article(3), LIT]) for name in names]
    versions.append(version(-5, "", ["Front."], *names))
    world = EvolvingWorld(versions, roots=[SITE], start=BEGIN, end=BEGIN + DAY)
    world.advance(BEGIN)
    hosts, rng = Hosts(delay=0.01, per_host=1), np.random.default_rng(0)
    watching = Watching(TextPattern("kiln is lit"))
    task = FleetTask([SITE], NoStates(), rng, hosts=hosts, watching=watching)
    fleet, now = change_rate(task), BEGIN
    crew, known, tracker = fleet.crew, fleet.known, ChangeTracker(fleet)
    assert isinstance(crew, ChangeRate)
    while len(known) < 30 or known.waiting["news.example"]:
        now, _ = take(fleet.next(now), fleet, world, now, tracker)

    tried, read = Counter[int](), list[int]()

    def free(url: int) -> bool:
        tried[url] += 1
        return False

    for batch in (1, 1, 2):
        assert crew.next_visit(free, (), now + 5.0 * batch) == -1
    assert len(tried) >= 30
    assert set(tried.values()) == {3}

    pages, priors = crew.pages, [*PRIOR.values(), 0.15, 0.3, 0.5]
    pages.prior[: len(priors)] = priors
    numbers = np.arange(30)
    for later in (now, now + 3 * DAY, now + 30 * DAY):
        assert [pages._kind_of(one, later) for one in range(30)] == [*pages._kinds(numbers, later)]

    def says_nothing(_: Emptied, url: int, *others: object) -> bool:
        read.append(url)
        return False

    monkeypatch.setattr(Emptied, "_says_nothing", says_nothing)
    url = known.number(f"{SITE}n7")
    fetch = Fetch(7, known.urls[url], "news.example", Choice(url))
    again = world.answer(fetch)
    assert isinstance(again, Fetched)
    assert known.without_lost(again, url, now) is again
    assert not read
    other = replace(again, page=replace(again.page, text="Nothing."))
    assert known.without_lost(other, url, now) is other
    assert read == [url]
