"""What a person says of the page of a watch stands, teaches its judge, and takes no line back."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import numpy as np
import pytest

from noisy_news import article
from spoor.durations import DAY, HOUR
from spoor.foragers.crew import Weighs
from spoor.foragers.fleet import Fleet
from spoor.foragers.fleets import FleetTask, change_rate
from spoor.foragers.states import NoStates
from spoor.learn.state import pack, unpack
from spoor.live.changes import ChangeTracker, Line
from spoor.runs.pending_rows import PendingRows
from spoor.runs.recovery import Ends
from spoor.runs.rows import PageRow
from spoor.runs.schema import TABLES
from spoor.types import Judgement, Page, State
from spoor.watching.hosts import Hosts
from spoor.watching.watching import Watching
from spoor.worlds.evolving import EvolvingWorld, Version
from stepping import run

SITE = "http://news.example/"
BEGIN = 1e9
KILN, OVEN, OTHER = f"{SITE}kiln", f"{SITE}oven", f"{SITE}oven2"


class ByTitle:
    """Wants pages whose title begins with a word that it was told of."""

    def __init__(self) -> None:
        self._titles: dict[str, str] = {}
        self._words = {"Kiln": True}

    def _verdict(self, title: str) -> Judgement:
        wanted = self._words.get(title.partition(" ")[0], False)
        return Judgement(0.9 * wanted, wanted, float(wanted))

    def judge(self, page: Page) -> Judgement:
        self._titles[page.url] = page.title
        return self._verdict(page.title)

    def label(self, url: str, relevant: bool) -> None:
        self._words[self._titles[url].partition(" ")[0]] = relevant

    def revise(self) -> Sequence[tuple[str, Judgement]]:
        return [(url, self._verdict(title)) for url, title in self._titles.items()]

    def save(self) -> State:
        return {"titles": self._titles, "words": self._words}

    def load(self, state: State) -> None:
        self._titles, self._words = dict(state["titles"]), dict(state["words"])


def site() -> EvolvingWorld:
    """Three stories appear, and all are corrected a day later."""
    urls = (KILN, OVEN, OTHER)
    versions = [Version(BEGIN - DAY, SITE, "Front", "Front.", (f"{SITE}about",))]
    versions += [Version(BEGIN - DAY, f"{SITE}about", "About", "About the paper.")]
    versions += [Version(BEGIN + HOUR, SITE, "Front", "Front.", (*urls, f"{SITE}about"))]
    for number, (url, title) in enumerate(zip(urls, ("Kiln A", "Oven B", "Oven C"), strict=True)):
        text = article(number)
        versions.append(Version(BEGIN + HOUR, url, title, " ".join(text)))
        text.append(f"It was corrected for the {title} of the town.")
        versions.append(Version(BEGIN + DAY, url, title, " ".join(text)))
    return EvolvingWorld(versions, roots=[SITE], start=BEGIN, end=BEGIN + 2 * DAY)


def begun() -> tuple[Fleet, ChangeTracker]:
    hosts = Hosts(delay=1.0, per_host=1, per_day=300)
    task = FleetTask(
        [SITE], NoStates(), np.random.default_rng(0), hosts=hosts, watching=Watching(ByTitle())
    )
    fleet = change_rate(task)
    return fleet, ChangeTracker(fleet)


def told(lines: list[Line]) -> list[tuple[str, str]]:
    return [(line["kind"], line["url"]) for line in lines]


def test_a_label_makes_new_what_came_and_silences_what_comes() -> None:
    world, (fleet, tracker) = site(), begun()
    lines = run(fleet, world, BEGIN + 12 * HOUR, tracker)
    assert told(lines) == [("new", KILN)]
    fleet.relabel(OVEN, True, world.now)
    assert told(tracker.found(world.now)) == [("new", OVEN)]
    fleet.relabel(KILN, False, world.now)
    assert not tracker.found(world.now), "no line takes one back"

    # The process dies before the judge was asked again.
    again, followed = begun()
    again.load(unpack(pack(fleet.save())))
    followed.load(unpack(pack(tracker.save())))
    assert again.revise(world.now)
    assert told(followed.found(world.now)) == [("new", OTHER)], "what the judge says of others"
    assert not again.revise(world.now)
    assert not run(again, world, BEGIN + DAY, followed)
    for url in (KILN, OVEN, OTHER):
        again.known.hints.add(again.known.number(url), 0)
    later = told(run(again, world, BEGIN + DAY + HOUR, followed))
    assert sorted(later) == [("changed", OVEN), ("changed", OTHER)], "and nothing of the other"


def test_a_label_stands_whatever_the_judge_says() -> None:
    world, (fleet, tracker) = site(), begun()
    run(fleet, world, BEGIN + 12 * HOUR, tracker)
    watching = fleet.known.watching
    assert watching is not None
    fleet.relabel(OTHER, True, world.now)
    fleet.relabel(OVEN, False, world.now)  # the last one counts for the words of both
    newer = list[int]()
    watching.on_verdict = lambda url, judgement: newer.append(url)
    assert fleet.revise(world.now)
    numbers = {url: fleet.known.number(url) for url in (KILN, OVEN, OTHER)}
    assert numbers[OTHER] in watching.wanted
    assert numbers[OVEN] not in watching.wanted
    assert numbers[KILN] in newer
    assert not {numbers[OTHER], numbers[OVEN]} & {*newer}


def test_a_watch_says_why_it_looks_again() -> None:
    world, (fleet, tracker) = site(), begun()
    run(fleet, world, BEGIN + 12 * HOUR, tracker)
    known, crew, now = fleet.known, fleet.crew, world.now
    assert isinstance(crew, Weighs)
    front, about, kiln, oven = map(known.number, (SITE, f"{SITE}about", KILN, OVEN))
    assert "first 1 paid" in crew.why(front, now), "of the three that it showed one was wanted"
    assert "a document on topic: of " in crew.why(kiln, now)
    known.promises.rest(kiln, now + 99.0)
    assert "asks to be left alone" in crew.why(kiln, now)
    known.again[oven] = now + 9.0
    assert "looked at once more" in crew.why(oven, now)
    known.hints.add(about, front)
    assert "says that something about it is new" in crew.why(about, now)
    assert "0 other URLs" not in crew.why(known.number(f"{SITE}never"), now)


def seen(url: str, title: str, flags: Sequence[str] = ()) -> PendingRows:
    rows = PendingRows()
    row = (url, "h", 200, 1.0, None, 9, 0.5, 1, title, "[]", "[]", None, "[]", None, None, None)
    rows.see(row, flags)
    return rows


@pytest.mark.parametrize("is_told", [False, True])
def test_a_page_has_one_row_which_leaves_with_it_unless_it_was_told(is_told: bool) -> None:
    ends = Ends(0, 0, 0, {})
    with sqlite3.connect(":memory:") as db:
        db.executescript(TABLES)
        seen("http://a.example/", "one").write(db, ends)
        told = PendingRows()
        told.told |= {"http://a.example/", "http://never.example/"} if is_told else set()
        told.write(db, ends)
        twice = seen("http://a.example/", "two", ["login"])
        twice.judged_anew("http://a.example/", Judgement(0.9, True, 1.0, (("why", 0.5),)))
        twice.write(db, ends)
        left = PendingRows()
        left.forget(["http://a.example/"])
        db.row_factory = sqlite3.Row
        (row,) = map(PageRow.of, db.execute("SELECT * FROM pages"))
        assert (row.title, row.score, row.seq) == ("two", 0.9, 2)
        assert row.flags == (["login", "told"] if is_told else ["login"])
        left.write(db, ends)
        assert len(db.execute("SELECT * FROM pages").fetchall()) == is_told
        gone = int(dict(db.execute("SELECT * FROM meta").fetchall())["forgotten pages"])
        assert ends.pages == is_told + gone
