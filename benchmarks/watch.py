"""What a watch tells on sites with noise of eight kinds, and on recorded histories.

    .venv/bin/python benchmarks/watch.py                    generated sites; --seeds 3 4 5: others
    .venv/bin/python benchmarks/watch.py --topic kilns      the same sites by the default judge
    .venv/bin/python benchmarks/watch.py --recorded DATA    a front page and a wiki as they changed
    .venv/bin/python benchmarks/watch.py --windows DATA     the same at many times, taken together

Each fleet has the same requests a day for each site. Told are documents about kilns (or about what
`WANTED` says of a recording). Precision: of the documents told as new, those that are new and on
topic. Recall: of these those told, from the second half day to two hours before the end. Delay:
from publication to the line. Of the changes told those that an editor made are right. A feed reader
asks each site's feed every quarter of an hour and reads what is new in it.

`--topic`: pages are wanted that say it in their own text, which most of the old ones that a box of
the most read shows do, too. None states a date. Told are new documents with it, others (whose box
or advertisement says it), and old ones.

`--windows`: a few documents in one window say little of a median, so those of `WINDOWS` count as
one, each watched twice (500 seconds later, looks fall otherwise). Behind each median stands by how
much that of the first fleet is to be multiplied, with a 95 % interval by drawing windows. "Within
reach": to which a page led at any moment. Numbers of the program were chosen on none of these
windows.
"""

from __future__ import annotations

import argparse
import heapq
import math
import sys
import time
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from random import Random

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from noisy_news import article, page
from spoor import registry
from spoor.durations import DAY, HOUR
from spoor.foragers.fleet import Fleet
from spoor.foragers.fleets import FleetTask
from spoor.foragers.settings import steps_of_a_path
from spoor.foragers.states import SelfTaught
from spoor.isolate.parsing import parse_page
from spoor.judges.facts import TextPattern
from spoor.judges.topic import judge_of_topic, topic_of_phrase
from spoor.live.changes import ChangeTracker, Line
from spoor.protocols import Judge
from spoor.types import (
    Deferred,
    Failed,
    Fetch,
    Fetched,
    Finished,
    LiveReply,
    Outcome,
    Page,
    Sleep,
    Starved,
)
from spoor.watching.hosts import Hosts
from spoor.watching.watching import Watching
from spoor.worlds.evolving import EvolvingWorld
from spoor.worlds.import_evolving import news_front_page, wiki_history

START = 1_600_000_000.0
LATER = (0.0, 500.0)
WINDOWS: dict[str, tuple[str, float, tuple[str, ...]]] = {
    "news_bbc_home": (
        r"covid|vaccin|virus",
        2.0,
        (
            *("2021-08-24", "2021-09-28", "2021-10-26", "2021-11-02", "2021-11-30"),
            *("2021-12-20", "2022-01-04", "2022-02-01", "2022-02-15"),
        ),
    ),
    "site_gitannex": (
        r"assistant|special remote|direct mode",
        4.0,
        (
            *("2012-11-20", "2013-03-19", "2013-04-16", "2013-06-11", "2013-07-01"),
            *("2013-07-30", "2013-10-15", "2013-12-10", "2014-02-18", "2014-04-15"),
        ),
    ),
}
"""Recording → what is wanted, days of a window, and the days on which they begin."""

WANTED = {"news_bbc_home": r"covid|vaccin|virus", "site_gitannex": r"direct mode"}


@dataclass(frozen=True, slots=True)
class Article:
    url: str
    published: float
    text: tuple[str, ...]
    on_topic: bool
    corrected: float
    """When an editor added a sentence; infinite where nobody did."""


class NoisySites:
    """News sites whose pages differ at every look."""

    def __init__(self, sites: int, days: float, a_day: float, seed: int = 0) -> None:
        self.start, self.now = START, START
        self.end = START + days * DAY
        self.visits = 0
        self.hosts = [f"http://site{chr(97 + number)}.example/" for number in range(sites)]
        self.articles: dict[str, list[Article]] = {}
        self.by_url: dict[str, Article] = {}
        for number, host in enumerate(self.hosts):
            self.articles[host] = list(self._write(host, Random(1_000 * seed + number), a_day))
            self.by_url |= {one.url: one for one in self.articles[host]}

    def _write(self, host: str, random: Random, a_day: float) -> Iterator[Article]:
        at, number = self.start - DAY, 0
        while (at := at + random.expovariate(a_day / DAY)) < self.end:
            number += 1
            on_topic = random.random() < 0.25
            text = article(random.randrange(1 << 30))
            if on_topic:
                text[2:2] = [
                    "The new kiln was fired for the first time.",
                    "Potters praise the kiln.",
                ]
            edited = at + random.uniform(1, 8) * HOUR if random.random() < 0.3 else float("inf")
            yield Article(f"{host}{number}.html", at, tuple(text), on_topic, edited)

    def advance(self, now: float) -> None:
        self.now = max(self.now, now)

    def answer(self, fetch: Fetch) -> Fetched | Failed:
        url, _, _ = fetch.url.partition("?")
        host = url[: url.index("/", 8) + 1]
        told = [one for one in self.articles[host] if one.published <= self.now]
        self.visits += 1
        if url == f"{host}feed.xml":
            return self._reply(fetch, feed(told), "application/rss+xml")
        if url == host:
            links = [one.url for one in told[:-9:-1]]
            return self._reply(fetch, page(f"Paper {host}", [], self.visits, links=links))
        if "/story/" in url:
            return self._reply(fetch, page(f"Old {url}", article(hash_of(url)), self.visits))
        if (one := self.by_url.get(url)) is None or one.published > self.now:
            return Failed(fetch.ticket, "absent", status=404)
        text = list(one.text)
        if self.now >= one.corrected:
            text.append("Correction: an earlier version named another town.")
        return self._reply(fetch, page(" ".join(text[0].split()[:6]), text, self.visits))

    def _reply(self, fetch: Fetch, body: bytes, kind: str = "text/html") -> Fetched:
        if kind == "text/html":
            alternate = b'<head><link rel=alternate type="application/rss+xml" href="/feed.xml">'
            body = body.replace(b"<head>", alternate, 1)
        made = parse_page(body, fetch.url, content_type=kind, main=True)
        return Fetched(fetch.ticket, made, 0.5, len(body))


class Recorded:
    """A recorded history. Pages that list others (of the front page that and its sections, which
    its importer makes by rule) state no date of their own, and are no documents."""

    def __init__(self, world: EvolvingWorld) -> None:
        self.world, self.start, self.end = world, world.start, world.end
        news = "bbc" in world.roots()[0]
        self.stood = {one.url for one in world.versions if one.time <= world.start}
        """Pages that were there when it began: nobody who begins then can tell that they are
        new."""
        self.lists = {
            one.url
            for one in world.versions
            if news and ("/section/" in one.url or one.url in world.roots())
        }

    def advance(self, now: float) -> None:
        self.world.advance(now)

    def answer(self, fetch: Fetch) -> LiveReply:
        reply = self.world.answer(fetch)
        if isinstance(reply, Fetched) and reply.page.url in self.lists:
            return replace(reply, page=replace(reply.page, modified=None))
        return reply


def hash_of(url: str) -> int:
    """The same in every process."""
    return sum((at + 1) * ord(letter) for at, letter in enumerate(url))


def feed(told: list[Article]) -> bytes:
    """The newest ten as RSS, but every fifth article, which the editors forget."""
    items = "".join(
        f"<item><title>Story</title><link>{one.url}</link><pubDate>"
        f"{time.strftime('%a, %d %b %Y %H:%M:%S GMT', time.gmtime(one.published))}</pubDate></item>"
        for number, one in list(enumerate(told))[:-11:-1]
        if number % 5
    )
    head = '<?xml version="1.0"?><rss version="2.0"><channel><title>Feed</title>'
    return f"{head}{items}</channel></rss>".encode()


def watch(fleet: Fleet, world: NoisySites | Recorded) -> list[Line]:
    """The lines of a fleet, one download after the other."""
    tracker, lines, now = ChangeTracker(fleet), list[Line](), world.start
    while now < world.end:
        step = fleet.next(now)
        if isinstance(step, Sleep):
            now = max(step.until, now + 0.05)
            world.advance(min(now, world.end))
            continue
        if isinstance(step, Starved | Finished):
            break
        reply = world.answer(step)
        now += 0.5
        world.advance(min(now, world.end))
        outcome: Outcome | Deferred = fleet.receive(reply, now)
        for line in tracker.lines(outcome, now):
            lines.append({**line, "at": now})
    return lines


def feed_reader(world: NoisySites) -> tuple[list[Line], int]:
    """What a reader of the feeds finds, and its requests."""
    lines, requests, seen = list[Line](), 0, set[str]()
    pattern = TextPattern("praise the kiln")
    for host in world.hosts:
        world.now = world.start
        while world.now < world.end:
            reply = world.answer(Fetch(0, f"{host}feed.xml", host, None, 0))  # type: ignore[arg-type]
            requests += 1
            for url, published in reply.page.dated if isinstance(reply, Fetched) else ():
                if url in seen:
                    continue
                seen.add(url)
                got = world.answer(Fetch(0, url, host, None, 0))  # type: ignore[arg-type]
                requests += 1
                on_topic = isinstance(got, Fetched) and pattern.judge(got.page).relevant
                if on_topic and published >= world.start:
                    lines.append({"kind": "new", "url": url, "at": world.now})
            world.now += 900.0
    return lines, requests


Truth = tuple[dict[str, float], dict[str, list[float]]]
"""New documents that are wanted and when each came, and when which page was edited."""


def truth_of(world: Recorded, wanted: str) -> Truth:
    """Of a recording."""
    pattern = TextPattern(wanted)
    truth, edited, there = dict[str, float](), dict[str, list[float]](), set[str]()
    for version in world.world.versions:
        if version.time < world.start - DAY or version.url in world.lists:
            there.add(version.url)  # no new document, whatever it comes to say
        if version.url in there or version.url in truth:
            edited.setdefault(version.url, []).append(version.time)
            continue
        page = Page(version.url, title=version.title, text=version.text)
        if not version.gone and pattern.judge(page).relevant:
            truth[version.url] = version.time
    return truth, edited


def in_reach(world: Recorded) -> set[str]:
    """The URLs that one comes to who looks at every page that he knows of at every moment: nobody
    finds others, however many requests he has."""
    spans: dict[str, list[tuple[float, float, tuple[str, ...]]]] = {}
    for version in reversed(world.world.versions):
        its = spans.setdefault(version.url, [])
        until = its[-1][0] if its else math.inf
        its.append((max(world.start, version.time), until, version.links))
    known: dict[str, float] = {}
    waiting = [(world.start, root) for root in world.world.roots()]
    while waiting:
        at, url = heapq.heappop(waiting)
        if url in known:
            continue
        known[url] = at
        for begin, until, links in spans.get(url, ()):
            if until > max(at, begin):
                for link in links:
                    heapq.heappush(waiting, (max(at, begin), link))
    return set(known)


@dataclass(slots=True)
class Found:
    """What a fleet told in several windows."""

    told: int = 0
    right: int = 0
    asked: int = 0
    in_reach: int = 0
    """Of these, to which a page led at any moment (`in_reach`)."""
    stood: int = 0
    """Of these, that stood there when the window began, and came to be wanted."""
    otherwise: int = 0
    """Of these, that were not told as new, but as moved or changed: they stood at another URL, or
    were there and came to be wanted."""
    changes: int = 0
    edits: int = 0
    """Changes that were told, and those of which where an editor made one."""
    delays: list[list[float]] = field(default_factory=list)
    """Minutes, of each window."""

    def add(
        self,
        lines: list[Line],
        truth: Truth,
        begin: float,
        end: float,
        reach: Container[str] = (),
        stood: Container[str] = (),
    ) -> list[float]:
        """Count the lines of a watch from `begin` to `end`; minutes of what was found. A change
        that is told is right where an editor made one since the line before it."""
        new, edited = truth
        told, before = dict[str, float](), dict[str, float]()
        otherwise = set[str]()
        for line in lines:
            url, at = line["url"], line["at"]
            if line["kind"] == "new":
                told.setdefault(url, at)
            elif line["kind"] == "changed":
                since = before.get(url, begin)
                self.changes += 1
                self.edits += any(since < edit <= at for edit in edited.get(url, ()))
            if line["kind"] in ("changed", "moved") and at >= new.get(url, math.inf):
                otherwise.add(url)
            before[url] = at
        asked = {url for url, at in new.items() if begin + DAY / 2 <= at < end - 2 * HOUR}
        right = {url for url in told if new.get(url, 0.0) >= begin - DAY}
        self.told, self.right = self.told + len(told), self.right + len(right)
        self.asked += len(asked)
        self.in_reach += sum(url in reach for url in asked)
        self.stood += sum(url in stood for url in asked)
        self.otherwise += len(asked & otherwise - right)
        return [(told[url] - new[url]) / 60 for url in sorted(asked & right)]

    def row(self) -> str:
        """Of the table."""
        delays = [one for of in self.delays for one in of]
        return (
            f"{self.told:>5} {self.right / max(1, self.told):>9.3f} "
            f"{len(delays) / max(1, self.asked):>7.3f} {_median(delays):>7.1f} min "
            f"{self.edits:>6} of {self.changes}"
        )


def windows(data: Path, per_day: int, fleets: list[str], sources: list[str]) -> None:
    """Medians over many windows of the recordings."""
    for source in sources:
        wanted, days, begins = WINDOWS[source]
        history = news_front_page if source == "news_bbc_home" else wiki_history
        found = {name: Found() for name in fleets}
        for day in begins:
            begin = datetime.fromisoformat(f"{day}T00:00Z").timestamp()
            minutes: dict[str, list[float]] = {name: [] for name in fleets}
            for later in LATER:
                recording = history(data / source, start=begin + later, days=days)
                world = Recorded(recording)
                truth, reach = truth_of(world, wanted), in_reach(world)
                for name in fleets:
                    recording.rewind()
                    fleet = fleet_named(name, recording.roots(), wanted, per_day)
                    span = world.start, world.end
                    minutes[name] += found[name].add(
                        watch(fleet, world), truth, *span, reach, world.stood
                    )
            for name in fleets:
                found[name].delays.append(minutes[name])
                rounded = [round(one, 1) for one in minutes[name]]
                print(f"    {day} {name}: {rounded} min", flush=True)
        print(f"{source}, {len(begins)} windows of {days:g} days, twice each")
        first = found[fleets[0]].delays
        for name, its in found.items():
            delays = [one for of in its.delays for one in of]
            print(
                f"{name:<12} told {its.told:>4}, right {its.right:>4}; found {len(delays):>4} "
                f"of {its.asked}, {its.otherwise} more told as moved or changed, {its.in_reach} "
                f"within reach, {its.stood} stood there; "
                f"median {_median(delays):6.1f} min, mean "
                f"{np.mean(delays or [np.nan]):6.1f}; {_times(its.delays, first)}; "
                f"changes right {its.edits} of {its.changes}",
                flush=True,
            )


def _times(its: list[list[float]], first: list[list[float]]) -> str:
    """By how much a median is to be multiplied, with an interval by drawing windows."""
    drawn = np.random.default_rng(0).integers(len(first), size=(2_000, len(first)))
    low, high = np.nanpercentile([_ratio(its, first, draw) for draw in drawn], [2.5, 97.5])
    return f"× {_ratio(its, first, range(len(first))):.2f} ({low:.2f} to {high:.2f})"


def _median(delays: list[float]) -> float:
    return float(np.median(delays)) if delays else float("nan")


def _ratio(its: list[list[float]], first: list[list[float]], chosen: Iterable[int]) -> float:
    mine, others = ([one for at in chosen for one in of[at]] for of in (its, first))
    return _median(mine) / _median(others)


def fleet_named(
    name: str, seeds: list[str], wanted: str | Judge, per_day: int, seed: int = 0
) -> Fleet:
    hosts = Hosts(delay=1.0, per_host=1, per_day=per_day)
    watching = Watching(TextPattern(wanted) if isinstance(wanted, str) else wanted)
    rng = np.random.default_rng(seed)
    task = FleetTask(seeds, SelfTaught(), rng, hosts=hosts, watching=watching)
    offered = registry.parameters(registry.find("fleets", name))  # as `spoor watch` does
    settings = {"max_step": steps_of_a_path(per_day)} if "max_step" in offered else {}
    fleet: Fleet = registry.build("fleets", name, task, settings=settings)
    return fleet


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--topic")
    options.add_argument("--recorded", type=Path)
    options.add_argument("--windows", type=Path)
    options.add_argument("--sources", nargs="+", choices=WINDOWS, default=list(WINDOWS))
    options.add_argument("--sites", type=int, default=4)
    options.add_argument("--seeds", nargs="+", type=int, default=[0])
    options.add_argument("--days", type=float, default=2.0)
    options.add_argument("--per-day", type=int, default=300)
    options.add_argument("--fleets", nargs="+", default=sorted(registry.names("fleets")))
    chosen = options.parse_args()
    if chosen.topic:
        topical(chosen.seeds, chosen)
        return
    print(f"{'fleet':<12} {'requests':>8} {'told':>5} precision  recall    delay  changes right")
    if chosen.windows:
        windows(chosen.windows, chosen.per_day, chosen.fleets, chosen.sources)
        return
    if chosen.recorded:
        recorded(chosen.recorded, chosen.days, chosen.per_day, chosen.fleets)
        return
    generated(chosen.seeds, chosen.sites, chosen.days, chosen.per_day, chosen.fleets)


def generated(seeds: list[int], sites: int, days: float, per_day: int, fleets: list[str]) -> None:
    """Medians over the sites of several seeds."""
    found = {name: Found() for name in [*fleets, "feed reader"]}
    requests = dict.fromkeys(found, 0)
    began = time.process_time()
    for seed in seeds:
        world = NoisySites(sites, days, 24.0, seed)
        truth: Truth = (
            {url: one.published for url, one in world.by_url.items() if one.on_topic},
            {url: [one.corrected] for url, one in world.by_url.items()},
        )
        for name, its in found.items():
            world.now, world.visits = world.start, 0
            if name == "feed reader":
                lines, sent = feed_reader(world)
            else:
                fleet = fleet_named(name, world.hosts, "praise the kiln", per_day, seed)
                lines, sent = watch(fleet, world), fleet.counts.requests
            its.delays.append(its.add(lines, truth, world.start, world.end))
            requests[name] += sent
            minutes = sorted(round(one, 1) for one in its.delays[-1])
            cpu = time.process_time() - began
            print(f"    seed {seed} {name}: {minutes} min ({cpu:.0f} s of CPU)", flush=True)
    best = min(fleets, key=lambda name: _median([one for of in found[name].delays for one in of]))
    for name, its in found.items():
        times = "" if name == "feed reader" else _times(its.delays, found[best].delays)
        print(f"{name:<12} {requests[name]:>8} {its.row()}   {times}", flush=True)


def topical(seeds: list[int], options: argparse.Namespace) -> None:
    """What the judge that a topic has tells, where old pages are on topic, too."""
    word = options.topic.rstrip("s")
    for name in options.fleets:
        new, told, old, found, asked = 0, 0, 0, 0, 0
        for seed in seeds:
            world = NoisySites(options.sites, options.days, 24.0, seed)
            judge = judge_of_topic(topic_of_phrase(options.topic))
            fleet = fleet_named(name, world.hosts, judge, options.per_day, seed)
            urls = {line["url"] for line in watch(fleet, world) if line["kind"] == "new"}
            its = {url for url, one in world.by_url.items() if word in " ".join(one.text)}
            begin, end = world.start + DAY / 2, world.end - 2 * HOUR
            due = {url for url in its if begin <= world.by_url[url].published < end}
            told, old = told + len(urls), old + len(urls - world.by_url.keys())
            new, found, asked = new + len(urls & its), found + len(urls & due), asked + len(due)
        print(f"{name:<12} told {told}, new and with the word {new}, old {old}; {found} of {asked}")


def recorded(data: Path, days: float, per_day: int, fleets: list[str]) -> None:
    """The same on histories that nobody here made."""
    worlds = {
        "news_bbc_home": news_front_page(data / "news_bbc_home", start=1_640_000_000.0, days=days),
        "site_gitannex": wiki_history(data / "site_gitannex", start=1_372_636_800.0, days=days),
    }
    for source, recording in worlds.items():
        world = Recorded(recording)
        truth = truth_of(world, WANTED[source])
        print(source, len(recording), "pages")
        for name in fleets:
            recording.rewind()
            fleet = fleet_named(name, recording.roots(), WANTED[source], per_day)
            its = Found()
            its.delays.append(its.add(watch(fleet, world), truth, world.start, world.end))
            print(f"{name:<12} {fleet.counts.requests:>8} {its.row()}", flush=True)


if __name__ == "__main__":
    main()
