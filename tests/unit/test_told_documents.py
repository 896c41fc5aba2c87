"""What becomes of documents that were told: each pass looks at those of the last days, and one that
moved is one document, whatever stands around it at its new URL."""

from __future__ import annotations

import numpy as np
import pytest

from daily_passes import BEGIN, LIT, SITE, a_pass, fleet_of, passes, version
from noisy_news import article
from spoor.foragers.fleet import Fleet
from spoor.foragers.passes import LEAST_LOOKED_AT, LEAST_TOLD
from spoor.foragers.request_budget import DAY
from spoor.learn.state import pack, unpack
from spoor.live.changes import ChangeTracker, Line
from spoor.types import Fetch, Judgement, Page, Redirected, Reply
from spoor.web.sentences import plain
from spoor.worlds.evolving import EvolvingWorld, Version

STORY = [*article(1), LIT]
OLD = [f"old{number}" for number in range(300)]


def site(*more: Version, links: tuple[str, ...] = ("a",)) -> EvolvingWorld:
    """300 old pages, and a story that appears after half a day."""
    return EvolvingWorld(
        [
            version(-90 * DAY, "", ["Front."], *OLD),
            *(version(-90 * DAY, name, article(100 + at)) for at, name in enumerate(OLD)),
            version(DAY / 2, "", ["Front."], *links, *OLD),
            *more,
        ],
        roots=[SITE],
        start=BEGIN,
        end=BEGIN + 100 * DAY,
    )


def watched(world: EvolvingWorld, days: int) -> list[tuple[str, str]]:
    """What daily passes tell; each goes on from its saved state."""
    fleet: Fleet = fleet_of(world, once=True, delay=0.1)
    tracker, lines = ChangeTracker(fleet), list[Line]()
    for day in range(days):
        lines += a_pass(fleet, world, day * DAY, tracker)
        saved, told = unpack(pack(fleet.save())), unpack(pack(tracker.save()))
        fleet = fleet_of(world, once=True, delay=0.1)
        fleet.load(saved)
        tracker = ChangeTracker(fleet)
        tracker.load(told)
    return [(line["kind"], line["url"].removeprefix(SITE)) for line in lines]


AROUND = ["Sign up for our letter of the morning.", "Monday, 2 November 2026."]


@pytest.mark.parametrize("answers", ["404", "redirects", "both", "both, then 404"])
@pytest.mark.parametrize(
    "text",
    [STORY, [AROUND[0], *STORY], ["Tuesday, 3 November 2026.", *STORY], STORY[4:]],
    ids=["same", "more around it", "another day above", "less of it"],
)
def test_a_story_that_moved_is_one_document(
    answers: str, text: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    story = [AROUND[1], *STORY] if text[0].startswith("Tuesday") else STORY
    versions = [
        version(DAY / 2, "a", story),
        version(2.5 * DAY, "", ["Front."], "b", *OLD),
        version(2.5 * DAY, "b", text),
    ]
    if answers == "404":
        versions.append(version(2.5 * DAY, "a", [], gone=True))
    elif answers == "both, then 404":
        versions.append(version(4.5 * DAY, "a", [], gone=True))
    world, answer = site(*versions), EvolvingWorld.answer

    def redirects(world: EvolvingWorld, fetch: Fetch) -> Reply:
        if answers == "redirects" and fetch.url == f"{SITE}a" and world.now > BEGIN + 2.5 * DAY:
            return Redirected(fetch.ticket, f"{SITE}b", 301)
        return answer(world, fetch)

    monkeypatch.setattr(EvolvingWorld, "answer", redirects)
    told = watched(world, 8)
    moved = [("moved", "b")] if answers != "both" else []
    if text == STORY[4:] and answers.startswith("both"):
        # Another document says some of the same: nobody knows that it is one before the other went.
        assert told[:2] == [("new", "a"), ("new", "b")]
    else:
        assert told == [("new", "a"), *moved]


def test_stories_that_say_nearly_the_same_of_two_things_are_two() -> None:
    """The report of a day has the words of the one before, and both are there."""
    told = watched(
        site(
            version(DAY / 2, "a", STORY),
            version(2.5 * DAY, "", ["Front."], "b", "a", *OLD),
            version(2.5 * DAY, "b", [*STORY[2:], *article(7, 3)]),
        ),
        5,
    )
    assert told == [("new", "a"), ("new", "b")]


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
