"""What becomes of documents that were told: each pass looks at those of the last days."""

from __future__ import annotations

import numpy as np
import pytest

from daily_passes import (
    BEGIN,
    LIT,
    OLD,
    SITE,
    STORY,
    a_pass,
    fleet_of,
    passes,
    site,
    version,
    watched,
)
from noisy_news import article
from spoor.durations import DAY
from spoor.live.changes import ChangeTracker, Line
from spoor.types import Judgement, Page
from spoor.watching.once_passes import LEAST_LOOKED_AT, LEAST_TOLD
from spoor.web.sentences import plain
from spoor.worlds.evolving import EvolvingWorld, Version


def test_a_day_of_the_week_is_part_of_a_date() -> None:
    assert plain("Monday 02 November 2026") == plain("Tuesday, 3 November 2026") == ""
    assert plain("The fair is on Monday, 2 November, in the hall.") == "the fair is on in the hall"
    assert plain("Monday is a good day to fire a kiln") == "monday is a good day to fire a kiln"


@pytest.mark.parametrize("event", ["corrected", "renamed", "gone"])
def test_what_becomes_of_what_was_told_lately_is_told_by_the_next_passes(event: str) -> None:
    """Of 300 known pages 16 have a turn in a pass; the story is looked at in each."""
    after = {
        "corrected": version(4.5 * DAY, "a", [*STORY, "The name of the potter was misspelt here."]),
        "renamed": Version(BEGIN + 4.5 * DAY, f"{SITE}a", "Another name", " ".join(STORY)),
        "gone": version(4.5 * DAY, "a", [], gone=True),
    }[event]
    told = watched(site(version(DAY / 2, "a", STORY), after), 5 + 1 + (event == "gone"))
    assert told == [("new", "a"), ("gone" if event == "gone" else "changed", "a")]


def test_what_was_told_has_turns_more_seldom_with_its_age(monkeypatch: pytest.MonkeyPatch) -> None:
    """In each of ten daily passes, then in every second …, and the others keep their share."""
    asked = passes(site(version(DAY / 2, "a", STORY)), 60, monkeypatch)
    days = [day for day, names in enumerate(asked) if "a" in names]
    assert days[:10] == [*range(1, 11)]
    rests = np.diff(days)
    assert set(rests[days[:-1] > np.int64(13)]) <= {2, 3, 4, 5, 6}
    assert rests[-1] >= 5
    share = -(-302 // 20)
    assert all(len(set(names) - {"a"}) <= share + 1 for names in asked[2:])
    assert set(OLD) <= set().union(*asked[2:26])


def test_many_told_documents_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """A site that told 120 of 420: 50 in a pass at most, each again after three."""
    names = [f"n{number}" for number in range(120)]
    stories = [version(DAY / 2, name, [*article(500 + at), LIT]) for at, name in enumerate(names)]
    asked = passes(site(*stories, links=tuple(names)), 12, monkeypatch)
    assert set(names) <= set(asked[1])
    for at in range(2, 9):
        assert len(set(names) & set(asked[at])) == LEAST_TOLD
        assert set(names) <= set().union(*asked[at : at + 3])
    assert all(len(its) <= LEAST_TOLD + -(-301 // 20) + 1 for its in asked[2:])


def test_a_small_site_is_looked_at_whole_however_much_of_it_was_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = [f"n{number}" for number in range(LEAST_LOOKED_AT - 1)]
    world = EvolvingWorld(
        [
            version(-90 * DAY, "", ["Front."]),
            version(DAY / 2, "", ["Front."], *names),
            *(version(DAY / 2, name, [*article(at), LIT]) for at, name in enumerate(names)),
        ],
        roots=[SITE],
        start=BEGIN,
        end=BEGIN + 100 * DAY,
    )
    asked = passes(world, 60, monkeypatch)
    assert all(set(its) == {"", *names} for its in asked[2:])


class Late:
    """Wants stories about kilns, and says so when it is asked anew."""

    threshold = 0.5

    def __init__(self) -> None:
        self.seen = dict[str, bool]()

    def judge(self, page: Page) -> Judgement:
        wanted = LIT in page.text and page.url in self.seen
        self.seen[page.url] = LIT in page.text
        return Judgement(float(wanted), wanted, 1.0, (("kiln", 1.0),))

    def revise(self) -> list[tuple[str, Judgement]]:
        its = Judgement(1.0, True, 1.0, (("kiln", 1.0),))
        return [(url, its) for url, wanted in self.seen.items() if wanted]


def test_a_title_of_what_was_told_when_the_judge_judged_anew_is_told_as_a_title() -> None:
    world = site(
        version(DAY / 2, "a", ["A.", *STORY]),
        Version(BEGIN + 1.5 * DAY, f"{SITE}a", "Another name", " ".join(["Another name.", *STORY])),
    )
    fleet = fleet_of(world, once=True, delay=0.1)
    assert fleet.known.watching is not None
    fleet.known.watching.judge = Late()
    tracker, lines = ChangeTracker(fleet), list[Line]()
    for day in range(3):
        lines += a_pass(fleet, world, day * DAY, tracker)
        assert fleet.revise(BEGIN + day * DAY + 3_600)
        lines += tracker.found(BEGIN + day * DAY + 3_600)
    new, changed = lines
    assert (new["kind"], new["title"]) == ("new", "A")
    assert (changed["kind"], changed["title"]) == ("changed", "Another name")
    assert changed["title_before"] == "A"
    assert changed["added"] == changed["removed"] == ()
