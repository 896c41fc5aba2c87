"""A watch that leaves what is at rest tells what one tells that keeps everything."""

from __future__ import annotations

import gc
import time
from collections import Counter
from dataclasses import replace
from itertools import chain
from random import Random
from typing import Any

import numpy as np
import pytest

from noisy_news import article
from spoor import registry
from spoor.durations import DAY, HOUR
from spoor.foragers.fleet import Fleet
from spoor.foragers.fleets import FleetTask
from spoor.foragers.scouts import Scouts
from spoor.foragers.settings import steps_of_a_path
from spoor.foragers.states import NoStates
from spoor.hashing import hash64
from spoor.judges.facts import TextPattern
from spoor.learn.state import pack, unpack
from spoor.live.changes import ChangeTracker, Line
from spoor.types import Fetch, Link, Page
from spoor.watching import compaction, compactions, crowding
from spoor.watching.hosts import Hosts
from spoor.watching.known_urls import Known
from spoor.watching.retired_documents import Memory
from spoor.watching.watching import Watching
from spoor.web.urls import host
from spoor.worlds.evolving import EvolvingWorld, Version
from stepping import run, take

pytestmark = pytest.mark.long

SITE = "http://paper.example/"
BEGIN = 20_000 * DAY
DAYS = 9


def paper(seed: int) -> EvolvingWorld:
    """A front page with the newest five of four stories a day. Some are corrected, some are taken
    away; days later the front page links to an old one again, and shows the text of another under a
    new address."""
    random, versions, listed = Random(seed), list[Version](), list[str]()
    texts: dict[str, list[str]] = {}

    def show(at: float, url: str, text: list[str], links: tuple[str, ...] = ()) -> None:
        versions.append(Version(at, url, url[-9:], " ".join(text), links))

    def front(at: float, *more: str) -> None:
        newest = (*listed[:-6:-1], f"{SITE}about", *more)
        show(at, SITE, [f"All that is new, {len(versions)}."], newest)

    show(BEGIN - DAY, f"{SITE}about", article(999), (f"{SITE}imprint",))
    show(BEGIN - DAY, f"{SITE}imprint", article(998))
    front(BEGIN - DAY)
    for number in range(4 * DAYS - 8):
        at = BEGIN + 6 * HOUR * number + random.uniform(HOUR, 3 * HOUR)
        url, text = f"{SITE}story/{number}", article(1_000 * seed + number)
        if number % 7 == 3 or random.random() < 0.6:
            text.insert(2, "The kiln is lit.")
        texts[url] = text
        show(at, url, text, (SITE, *listed[:-3:-1]))
        listed.append(url)
        again = number > 20 and random.random() < 0.6
        more = [random.choice(listed[:8])] if again else []
        if again and random.random() < 0.5:
            more.append(f"{SITE}copy/{number}")
            show(at, more[-1], texts[random.choice(listed[:3] + listed[4:8])])
        front(at + 1, *more)
        if number % 7 == 3:
            versions.append(Version(at + 5 * HOUR, url, gone=True))
        elif random.random() < 0.4:
            show(at + 4 * HOUR, url, [*text, "An earlier version named the wrong potter."])
    return EvolvingWorld(versions, roots=[SITE], start=BEGIN, end=BEGIN + DAYS * DAY)


def fleet_of(name: str, kept_for: float, per_day: int = 100) -> Fleet:
    task = FleetTask(
        [SITE],
        NoStates(),
        np.random.default_rng(0),
        hosts=Hosts(delay=1.0, per_host=1, per_day=per_day),
        watching=Watching(TextPattern("kiln is lit")),
    )
    values = {"max_step": steps_of_a_path(200)} if name == "WLRL" else {}
    fleet: Fleet = registry.build("fleets", name, task, settings=values)
    fleet.compactions.kept_for = kept_for
    if name == "WLRL" and isinstance(fleet.crew, Scouts):
        # What its foragers start from stays: here little.
        colony = fleet.crew.colony
        colony.settings = replace(colony.settings, weblog_size=3)
        for forager in colony.foragers:
            forager._settings = colony.settings
    return fleet


def told(lines: list[Line]) -> set[tuple[object, ...]]:
    return {(line["kind"], line["url"], line.get("added"), line.get("from")) for line in lines}


def check(known: Known) -> None:
    """Nothing that is known leads to a number that is free."""
    free = set(known.free())
    assert free == {number for number, url in enumerate(known.urls) if not url}
    assert known.names() == list(dict.fromkeys(name for name in known.hosts if name))
    links = {url: known.links_before(url) for url in range(len(known.urls))}
    assert not free & {link for targets in links.values() for link in targets}
    cited = Counter(link for targets in links.values() for link in targets)
    assert [cited[url] for url in range(len(known.urls))] == list(known.cited)
    assert not any(links[url] or known.parent[url] >= 0 or known.version[url] for url in free)
    assert not free & {*known.parent, *chain(*known.redirects.items())}
    watching = known.watching
    assert watching is not None
    assert not free & {*watching.wanted, *watching.verdicts, *watching.copy_of}
    assert not free & {*watching.copy_of.values()}
    had = {url: key for url, key in enumerate(watching._newest) if key}
    assert not free & {*had}
    assert [watching._same.find(key) for key in had.values()] == list(had)
    assert len(watching._same) == len(had)
    assert known.waiting[host(SITE)] == sum(
        bool(url) and at < 0 for url, at in zip(known.urls, known.fetched, strict=True)
    )


@pytest.mark.parametrize("name", ["change-rate", "WLRL"])
def test_whatever_comes_between_two_slices_is_told_and_leads_nowhere_else(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One URL a slice, and slices as long apart as most requests: a compaction takes as long as
    there is between two."""
    monkeypatch.setattr(compaction, "MOST_LEFT", 1)
    monkeypatch.setattr(compaction, "MOST_LINKS", 10)
    monkeypatch.setattr(compactions, "SLICED", 0.4 * HOUR)
    world = paper(2)
    everything = fleet_of(name, float("inf"))
    expected = run(everything, world, world.end, ChangeTracker(everything))
    world.rewind()
    fleet, lines, slices = fleet_of(name, 2 * DAY), list[Line](), 0
    tracker, now = ChangeTracker(fleet), BEGIN
    while now < world.end:
        slices += fleet.known.compacts and now >= fleet.compactions.at
        step = fleet.next(now)
        check(fleet.known)
        now, new = take(step, fleet, world, now, tracker)
        lines += new
        if fleet.known.compacts and slices % 20 == 7:
            # Another process goes on with the same slice, and does what this one would have done.
            saved = unpack(pack({"fleet": fleet.save(), "tracker": tracker.save()}))
            fleet = fleet_of(name, 2 * DAY)
            fleet.load(saved["fleet"])
            tracker = ChangeTracker(fleet)
            tracker.load(saved["tracker"])
            again = {"fleet": fleet.save(), "tracker": tracker.save()}
            assert pack(again) == pack(saved)
        check(fleet.known)
    assert slices > 60
    assert len(fleet.known.left) > 4
    if name == "change-rate":  # foragers begin elsewhere, with other numbers
        assert told(lines) == told(expected)
    news = [line["url"] for line in lines if line["kind"] == "new"]
    assert len(news) == len(set(news)) > 8


def test_what_anything_new_leads_to_does_not_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though it was at rest when the compaction began."""
    monkeypatch.setattr(compaction, "MOST_LINKS", 30)
    monkeypatch.setattr(compaction, "MOST_LEFT", 5)
    left = []
    for linked in (False, True):
        fleet, now = large(300), BEGIN + 61 * DAY
        known = fleet.known
        while not len(known.left):
            fleet._compact(now)
            now += compactions.SLICED
        assert known._compaction is not None
        number = known._compaction.stays.rindex(0)
        url = known.urls[number]
        if linked:
            page = Page(SITE, text="An old one again.", links=[Link(url)])
            known.see(0, page, now)
            assert known.links(0, page, now) == [number]
        while known.compacts:
            fleet._compact(now)
            now += compactions.SLICED
        check(known)
        left.append(known.find(url) is None)
    assert left == [True, False]


def test_no_slice_of_a_compaction_holds_a_watch_for_long() -> None:
    """Of 20,000 URLs half are at rest. The least of three tries: other processes take time, too."""
    longest = []
    for _ in range(3):
        fleet = large(20_000)
        known, slices, now = fleet.known, list[float](), BEGIN + 61 * DAY
        gc.disable()  # as a watch has few collections, none of which is for these
        try:
            while not slices or known.compacts:
                began = time.thread_time()
                fleet._compact(now)
                slices.append(time.thread_time() - began)
                now += compactions.SLICED
        finally:
            gc.enable()
        assert len(known) < 12_000 < 9_000 + len(known.left)
        assert len(slices) > 40
        longest.append(max(slices))
        if longest[-1] <= 0.03:
            return
    raise AssertionError(f"the longest slices took {longest}")


def large(count: int) -> Fleet:
    """A watch that has seen so many stories in sixty days, each with links to ten before it."""
    fleet = fleet_of("change-rate", 30 * DAY)
    known = fleet.known
    steps = np.random.default_rng(0).integers(200, size=(count, 10))
    before = np.maximum(1, np.arange(count)[:, None] - steps).tolist()
    fleet.next(BEGIN)
    for number in range(count):
        at = BEGIN + number / count * 60 * DAY
        url = known.number(f"{SITE}story/{number}", at, 0, at)
        text = f"Story {name_of(number)} is told in one sentence."
        text += " The kiln is lit." * (number % 4 == 0)
        known.see(url, Page(known.urls[url], text=text), at)
        known._links.note(url, 0, 0, sorted({*before[number]} - {url}))
    known._count_links()
    fleet.crew.save()  # takes in what was entered all at once
    return fleet


def name_of(number: int) -> str:
    """Letters: digits would be searched for dates."""
    return str(number).translate(str.maketrans("0123456789", "oabcdefghi"))


@pytest.mark.parametrize("seed", range(3))
def test_exactly_the_same_is_told_as_without(seed: int) -> None:
    world = paper(seed)
    everything = fleet_of("change-rate", float("inf"))
    expected = run(everything, world, world.end, ChangeTracker(everything))
    world.rewind()
    fleet = fleet_of("change-rate", 2 * DAY)
    tracker = ChangeTracker(fleet)
    lines = run(fleet, world, BEGIN + 0.7 * DAYS * DAY, tracker)
    # Another process goes on with the state, and does what this one does.
    other = fleet_of("change-rate", 2 * DAY)
    saved = unpack(pack({"fleet": fleet.save(), "tracker": tracker.save()}))
    other.load(saved["fleet"])
    follower = ChangeTracker(other)
    follower.load(saved["tracker"])
    here = world.now
    more = run(fleet, world, world.end, tracker)
    world.rewind()
    world.advance(here)
    assert run(other, world, world.end, follower) == more
    assert pack(other.save()) == pack(fleet.save())
    assert told([*lines, *more]) == told(expected)
    assert {line["kind"] for line in expected} >= {"new", "changed", "gone"}
    news = [line["url"] for line in [*lines, *more] if line["kind"] == "new"]
    assert len(news) == len(set(news)) > 8
    known = fleet.known
    assert len(known.left) > 8
    assert len(known) < 0.75 * len(everything.known)
    assert known.find(f"{SITE}imprint"), "the site itself stays, however little is new about it"


@pytest.mark.parametrize("name", ["RL", "mixed"])
def test_foragers_go_on_as_if_nothing_had_happened(name: str) -> None:
    world = paper(2)
    fleet = fleet_of(name, 2 * DAY)
    tracker = ChangeTracker(fleet)
    run(fleet, world, BEGIN + 3.5 * DAY, tracker)
    other = fleet_of(name, 2 * DAY)
    saved = unpack(pack({"fleet": fleet.save(), "tracker": tracker.save()}))
    other.load(saved["fleet"])
    follower = ChangeTracker(other)
    follower.load(saved["tracker"])
    here = world.now
    more = run(fleet, world, BEGIN + 5 * DAY, tracker)
    world.rewind()
    world.advance(here)
    assert run(other, world, BEGIN + 5 * DAY, follower) == more
    assert more
    assert pack(other.save()) == pack(fleet.save())


@pytest.mark.parametrize("name", ["round-robin", "WLRL"])
def test_any_fleet_leaves_what_is_at_rest(name: str) -> None:
    world = paper(1)
    fleet = fleet_of(name, 2 * DAY)
    left = list[str]()
    fleet.on_left = left.extend
    lines = run(fleet, world, world.end, ChangeTracker(fleet))
    assert len(fleet.known.left) > 4
    memory = fleet.known.left
    assert {hash64(url) for url in left} == set(memory.save()["keys"].tolist())
    news = [line["url"] for line in lines if line["kind"] == "new"]
    assert len(news) == len(set(news)) > 8
    again = fleet_of(name, 2 * DAY)
    again.load(unpack(pack(fleet.save())))
    assert pack(again.save()) == pack(fleet.save())


def test_what_was_left_longest_ago_is_forgotten_first() -> None:
    memory, random = Memory(most=6), Random(4)
    keys = [random.getrandbits(64) for _ in range(9)]
    assert memory.find(keys[0]) is None
    memory.add(keys[:4], [True, False, False, False], DAY)
    memory.add([], [], DAY)
    memory.add([keys[0], *keys[4:7]], [False] * 4, 3 * DAY)
    assert len(memory) == 6
    assert memory.find(keys[0]) == (3 * DAY, True), "told stays told"
    assert all(memory.find(key) == (3 * DAY, False) for key in keys[4:7])
    assert sum(memory.find(key) is not None for key in keys[1:4]) == 2
    again = Memory(most=6)
    again.load(unpack(pack(memory.save())))
    assert [again.find(key) for key in keys] == [memory.find(key) for key in keys]
    assert memory.find(keys[8]) is None


def test_killed_every_hour_for_ten_days_it_keeps_its_budget_and_tells_each_once() -> None:
    """Its state is that of the last call, as the journal brings it back; robots.txt is asked for
    anew by each process."""
    world, sent, lines = paper(2), list[float](), list[Line]()
    state: dict[str, Any] = {}
    now, per_day = BEGIN, 96
    while now < BEGIN + 10 * DAY:
        fleet = fleet_of("change-rate", 2 * DAY, per_day)
        tracker = ChangeTracker(fleet)
        if state:
            kept = unpack(pack(state))
            fleet.load(kept["fleet"])
            tracker.load(kept["tracker"])
            fleet.reissue(now)
        until, first = now + HOUR, True
        while now < until:
            step = fleet.next(now)
            if isinstance(step, Fetch):
                sent += [now] * (2 if first else 1)
                first = False
                if len(sent) % 7 == 0:
                    break  # killed with a request in flight
            now, new_lines = take(step, fleet, world, now, tracker)
            lines += new_lines
        state = {"fleet": fleet.save(), "tracker": tracker.save()}
        now = max(now, until)
    times = np.array(sent)
    assert (np.searchsorted(times, times + DAY) - np.arange(len(times))).max() <= per_day
    assert len(sent) > 0.8 * 10 * per_day
    assert len(told(lines)) == len(lines)
    news = [line["url"] for line in lines if line["kind"] == "new"]
    whole = fleet_of("change-rate", 2 * DAY)
    world.rewind()
    expected = run(whole, world, world.end, ChangeTracker(whole))
    assert {line["url"] for line in expected if line["kind"] == "new"} == set(news)


def test_of_a_site_without_end_only_so_much_is_known_and_nothing_is_told_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Sixty documents in half a day beside a quiet site, of which all stays known; a process
    that goes on in the middle does what this one does."""
    loud, random, versions = "http://loud.example/", Random(3), list[Version]()
    for site, count in ((SITE, 5), (loud, 60)):
        listed = list[str]()
        for number in range(count):
            at, url = BEGIN + (number + 1) / count * 0.5 * DAY, f"{site}story/{number}"
            text = [*article(random.randrange(1 << 30)), "The kiln is lit."]
            versions.append(Version(at, url, f"Story {number}", " ".join(text), (site,)))
            listed.append(url)
            versions.append(Version(at, site, "Front", f"Front of {number}.", (*listed[:-6:-1],)))
        versions.append(Version(BEGIN - DAY, site, "Front", "Front."))
    world = EvolvingWorld(versions, roots=[SITE, loud], start=BEGIN, end=BEGIN + 0.6 * DAY)

    def fleet() -> Fleet:
        hosts = Hosts(delay=1.0, per_host=1, per_day=300)
        watching = Watching(TextPattern("kiln is lit"))
        rng = np.random.default_rng(0)
        task = FleetTask([SITE, loud], NoStates(), rng, hosts=hosts, watching=watching)
        made: Fleet = registry.build("fleets", "change-rate", task)
        return made

    everything = fleet()
    expected = run(everything, world, world.end, ChangeTracker(everything))
    monkeypatch.setattr(crowding, "MOST_KNOWN", 25)
    world.rewind()
    bounded = fleet()
    tracker = ChangeTracker(bounded)
    lines = run(bounded, world, BEGIN + 0.35 * DAY, tracker)
    here, other = world.now, fleet()
    saved = unpack(pack({"fleet": bounded.save(), "tracker": tracker.save()}))
    other.load(saved["fleet"])
    follower = ChangeTracker(other)
    follower.load(saved["tracker"])
    more = run(bounded, world, world.end, tracker)
    world.rewind()
    world.advance(here)
    assert run(other, world, world.end, follower) == more
    assert pack(other.save()) == pack(bounded.save())
    assert told([*lines, *more]) == told(expected)
    assert len([*lines, *more]) == len(expected) == 65
    known = bounded.known
    check(known)
    assert len(everything.known) > 65
    assert len(known) <= 40
    assert len(known.left) > 30
    assert all(known.find(f"{SITE}story/{number}") is not None for number in range(5))


def test_a_long_sleep_is_no_rest() -> None:
    world = paper(1)
    fleet = fleet_of("change-rate", 2 * DAY)
    run(fleet, world, BEGIN + 1.9 * DAY, ChangeTracker(fleet))
    known, now = len(fleet.known), BEGIN + 60 * DAY
    fleet.next(now)
    fleet.next(now + 1.5 * DAY)
    assert (len(fleet.known), len(fleet.known.left)) == (known, 0)
