"""What a watch of months keeps: rows, bytes of its state, and how long it takes to leave what is at
rest.

    .venv/bin/python benchmarks/months.py [--days 120] [--a-day 40] [--keep-all]
    .venv/bin/python benchmarks/months.py --known 100000     a checkpoint, two compactions
    .venv/bin/python benchmarks/months.py --flood 100000     a site with so many new ones in an hour

A site with a front page, eight sections and articles that link to those before them, in simulated
time; `--keep-all` leaves nothing, to compare. One line for 15 days: URLs that are known whole, URLs
of which 64 bits are kept, documents told and told again, the state as a checkpoint has it, and the
longest slice of a compaction so far. Seconds are of CPU.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from zlib import crc32

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from noisy_news import article
from spoor.durations import DAY
from spoor.foragers.fleet import Fleet
from spoor.foragers.fleets import FleetTask, change_rate
from spoor.foragers.states import NoStates
from spoor.judges.facts import TextPattern
from spoor.learn.state import pack
from spoor.live.changes import ChangeTracker
from spoor.live.loop_watch import LoopWatch
from spoor.types import Failed, Fetch, Fetched, Link, Page, Sleep
from spoor.watching.compactions import COMPACTED, SLICED
from spoor.watching.hosts import Hosts
from spoor.watching.watching import Watching

BEGIN = 20_000 * DAY
SITE = "http://paper.example/"
SECTIONS = 8


class Paper:
    """So many articles a day, evenly; every fourth is about kilns."""

    def __init__(self, a_day: int) -> None:
        self.a_day = a_day

    def published(self, now: float) -> int:
        return 40 * SECTIONS + int((now - BEGIN) / DAY * self.a_day)

    def answer(self, fetch: Fetch, now: float) -> Fetched | Failed:
        newest = self.published(now) - 1
        kind, _, number = fetch.url.removeprefix(SITE).partition("/")
        if not kind:
            links = [f"{SITE}section/{n}" for n in range(SECTIONS)]
            links += [f"{SITE}story/{n}" for n in range(newest, newest - 30, -1)]
            text = f"The newest of all is {newest}."
        elif kind == "section":
            first = newest - (newest - int(number)) % SECTIONS
            listed = range(first, first - 30 * SECTIONS, -SECTIONS)
            links = [SITE, *(f"{SITE}story/{n}" for n in listed)]
            text = f"Section {number} and its newest, which is {first}."
        elif kind == "story" and int(number) <= newest:
            story = int(number)
            before = range(story - SECTIONS, max(-1, story - 9 * SECTIONS), -SECTIONS)
            links = [SITE, f"{SITE}section/{story % SECTIONS}"]
            links += [f"{SITE}story/{n}" for n in before]
            sentences = article(story)
            if story % 4 == 0:
                sentences.insert(1, "The kiln is lit.")
            text = " ".join(sentences)
        else:
            return Failed(fetch.ticket, "absent", status=404)
        shown = Page(fetch.url, title=f"{kind} {number}", text=text, links=list(map(Link, links)))
        return Fetched(fetch.ticket, shown, 0.5, len(text))


def make(per_day: int, seeds: Sequence[str] = (SITE,)) -> Fleet:
    hosts = Hosts(delay=1.0, per_host=1, per_day=per_day)
    watching = Watching(TextPattern("kiln is lit"))
    rng = np.random.default_rng(0)
    return change_rate(FleetTask(seeds, NoStates(), rng, hosts=hosts, watching=watching))


def months(days: int, a_day: int, keep_all: bool) -> None:
    fleet, paper = make(4 * a_day), Paper(a_day)
    if keep_all:
        fleet.compactions.kept_for = float("inf")
    tracker, now, longest = ChangeTracker(fleet), BEGIN, 0.0
    told, twice, told_urls, shown = 0, 0, set[int](), BEGIN
    print(" day  known whole   64 bits     told  again  state MB  to pack  longest slice")
    while now < BEGIN + days * DAY:
        began = time.process_time()
        compacts = now >= fleet.compactions.at > 0
        step = fleet.next(now)
        if compacts:
            longest = max(longest, time.process_time() - began)
        if isinstance(step, Fetch):
            reply = paper.answer(step, now)
            now += 0.5
            for line in tracker.lines(fleet.receive(reply, now), now):
                if line["kind"] == "new":
                    key = hash(line["url"])
                    told, twice = told + 1, twice + (key in told_urls)
                    told_urls.add(key)
        else:
            assert isinstance(step, Sleep)
            now = max(step.until, now + 0.05)
        if now >= shown + 15 * DAY:
            shown += 15 * DAY
            began = time.process_time()
            state = len(pack({"fleet": fleet.save(), "tracker": tracker.save()}))
            took = time.process_time() - began
            known = fleet.known
            print(
                f"{(shown - BEGIN) / DAY:>4.0f} {len(known):>12,} {len(known.left):>9,} "
                f"{told:>8,} {twice:>6} {state / 1e6:>9.2f} {took:>6.2f} s {longest:>11.3f} s",
                flush=True,
            )


def one(known: int) -> None:
    """Half of the documents are at rest."""
    fleet, random = make(0), Random(0)
    rows, watching = fleet.known, fleet.known.watching
    assert watching is not None
    fleet.next(BEGIN)
    for number in range(known):
        at = BEGIN + (number / known) * 60 * DAY
        url = rows.number(f"{SITE}story/{number}", at, 0, at)
        text = [f"Story {number} is told in one sentence."]
        text += ["The kiln is lit."] * (number % 4 == 0)
        before = [Link(f"{SITE}story/{random.randrange(number + 1)}") for _ in range(10)]
        shown = Page(rows.urls[url], title=str(number), text=" ".join(text), links=before)
        rows.see(url, shown, at)
        rows._links.note(url, 0, 0, [max(1, number - back) for back in range(10)])
    now = BEGIN + 60 * DAY + COMPACTED
    fleet.crew.save()  # it takes in what was entered here all at once
    gc.collect()
    gc.disable()  # a crawl has few collections, and none for these
    asyncio.run(checkpointed(fleet))
    for again in ("first", "second"):
        slices = list[float]()
        while not slices or rows.compacts:
            began = time.thread_time()
            fleet._compact(now)
            slices.append(time.thread_time() - began)
            now += SLICED
        print(
            f"the {again} compaction of {known:,}: {len(slices)} slices, the longest "
            f"{1e3 * max(slices):.0f} ms, {sum(slices):.2f} s in all; {len(rows):,} are known "
            f"whole, of {len(rows.left):,} 64 bits",
            flush=True,
        )
        now += COMPACTED


async def checkpointed(fleet: Fleet) -> None:
    """What a checkpoint of all that is known costs, beside a loop that looks at the clock."""
    watch = LoopWatch()
    watch.start()
    await asyncio.sleep(0.1)
    began = time.process_time()
    state = await asyncio.to_thread(lambda: pack(fleet.save()))
    took = time.process_time() - began
    await asyncio.sleep(0.1)
    watch.stop()
    print(
        f"a checkpoint of {len(fleet.known):,}: {len(state) / 1e6:.1f} MB, {took:.2f} s in a "
        f"thread; it held the loop for {1e3 * watch.longest_cpu:.0f} ms at most",
        flush=True,
    )


class Flooded:
    """A quiet paper with a story each ten minutes beside one that brings `flood` in an hour, of
    which its front page links to the newest 3,000. All are about kilns."""

    def __init__(self, flood: int) -> None:
        self.rates = {SITE: 6, "http://loud.example/": flood}

    def answer(self, fetch: Fetch, now: float) -> Fetched:
        site = f"{fetch.url[: fetch.url.index('/', 8)]}/"
        count = max(0, int((now - BEGIN - 600) / 3_600 * self.rates[site]))
        if fetch.url == site:
            links = [f"{site}{n}" for n in range(count, max(0, count - 3_000), -1)]
            text = f"Front page with {count}."
        else:
            sentences = [*article(crc32(fetch.url.encode())), "The kiln is lit."]
            links, text = [site], " ".join(sentences)
        shown = Page(fetch.url, title=fetch.url, text=text, links=list(map(Link, links)))
        return Fetched(fetch.ticket, shown, 0.5, len(text))


def flooded(flood: int) -> None:
    """For an hour and ten minutes, with and without the loud one."""
    for rate in (0, flood):
        world, now, lines = Flooded(rate), BEGIN, list[tuple[str, str, float]]()
        fleet = make(5_000, sorted(world.rates))
        tracker, began, longest = ChangeTracker(fleet), time.process_time(), 0.0
        while now < BEGIN + 4_200:
            before = time.process_time()
            step = fleet.next(now)
            longest = max(longest, time.process_time() - before)
            if isinstance(step, Fetch):
                now += 0.5
                for line in tracker.lines(fleet.receive(world.answer(step, now), now), now):
                    lines.append((str(line["kind"]), str(line["url"]), now))
            else:
                assert isinstance(step, Sleep)
                now = max(step.until, now + 0.05)
        quiet = {url: at for kind, url, at in lines if kind == "new" and url.startswith(SITE)}
        delays = [
            at - BEGIN - 600 - 600 * int(url.removeprefix(SITE))
            for url, at in quiet.items()
            if url != SITE
        ]
        state = len(pack({"fleet": fleet.save(), "tracker": tracker.save()}))
        loud = [kind for kind, url, _ in lines if not url.startswith(SITE)]
        print(
            f"{rate:,} an hour: {fleet.counts.requests} requests; of the loud site "
            f"{loud.count('new')} told and {loud.count('flood')} line for the rest, "
            f"{len(fleet.known):,} URLs known, {sum(fleet.known.left_out.values()):,} links "
            f"left out; of the quiet one {len(delays)} told, after {np.median(delays) / 60:.1f} "
            f"min; state {state / 1e6:.1f} MB, longest step {longest:.2f} s, "
            f"{time.process_time() - began:.0f} s of CPU",
            flush=True,
        )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--days", type=int, default=120)
    options.add_argument("--a-day", type=int, default=40)
    options.add_argument("--keep-all", action="store_true")
    options.add_argument("--known", type=int, default=0)
    options.add_argument("--flood", type=int, default=0)
    chosen = options.parse_args()
    if chosen.known:
        one(chosen.known)
    elif chosen.flood:
        flooded(chosen.flood)
    else:
        months(chosen.days, chosen.a_day, chosen.keep_all)


if __name__ == "__main__":
    main()
