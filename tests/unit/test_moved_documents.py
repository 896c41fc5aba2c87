"""A document that moves is one document, however it is led to and whatever is edited meanwhile; and
one that says nearly what another says is not always that."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import daily_passes
from daily_passes import BEGIN, FEW, LIT, OLD, SITE, STORY, a_pass, told, watched
from noisy_news import article
from spoor.durations import DAY
from spoor.foragers.fleets import FleetTask, change_rate
from spoor.foragers.states import NoStates
from spoor.judges.facts import TextPattern
from spoor.learn.state import pack, unpack
from spoor.live.changes import ChangeTracker
from spoor.protocols import Judge
from spoor.types import Fetch, Fetched, Redirected, Reply
from spoor.watching.hosts import Hosts
from spoor.watching.redirects import MOST_HOPS, MOST_LEADING, Redirects
from spoor.watching.watching import Watching
from spoor.worlds.evolving import EvolvingWorld, Version

AROUND = ["Sign up for our letter of the morning.", "Monday, 2 November 2026."]
TITLE = "A kiln in the old town"
REWRITTEN = [*article(60, 6), *STORY[-7:]]
"""Says a third of what both say."""

MOVES = 2.5 * DAY


class Leads(NamedTuple):
    """From then on a URL leads to another one: from when the story has moved, if not told. With
    status 200 it shows that, and names its URL as its own."""

    to: str
    status: int = 301
    since: float = MOVES
    """Seconds."""


Answers = Callable[..., None]


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    """Lets a world redirect, and its pages say when they were published."""
    answer = EvolvingWorld.answer

    def let(leads: Mapping[str, Leads], published: Mapping[str, float] | None = None) -> None:
        def answered(world: EvolvingWorld, fetch: Fetch) -> Reply:
            name = fetch.url.removeprefix(SITE)
            to, status, since = leads.get(name, ("", 0, math.inf))
            if world.now > BEGIN + since and status == 200:
                its_own = fetch.url if "//" in to else f"{SITE}{to}"
                shown = answer(world, replace(fetch, url=its_own))
                assert isinstance(shown, Fetched)
                canonical = to if "//" in to else its_own
                return replace(shown, page=replace(shown.page, url=fetch.url, canonical=canonical))
            if world.now > BEGIN + since:
                return Redirected(fetch.ticket, to if "//" in to else f"{SITE}{to}", status)
            reply = answer(world, fetch)
            if published and name in published and isinstance(reply, Fetched):
                dated = ((fetch.url, BEGIN + published[name]),)
                return replace(reply, page=replace(reply.page, dated=dated))
            return reply

        monkeypatch.setattr(EvolvingWorld, "answer", answered)

    return let


def page(
    at: float, name: str, text: list[str], title: str = TITLE, *links: str, gone: bool = False
) -> Version:
    url = name if "//" in name else f"{SITE}{name}"
    targets = tuple(f"{SITE}{link}" for link in links)
    return Version(BEGIN + at, url, title, " ".join(text), targets, gone)


def site(*more: Version, links: tuple[str, ...] = ("a",)) -> EvolvingWorld:
    """30 old pages, and a story that appears after half a day."""
    return daily_passes.site(*more, links=links, old=FEW)


def front(at: float, *links: str, old: Sequence[str] = FEW) -> Version:
    return page(at, "", ["Front."], "", *links, *old)


MOVES_OF_A_STORY = ("404", "redirects", "chain", "both", "both, then 404", "named")
TEXTS_OF_IT = {
    "same": STORY,
    "more around it": [AROUND[0], *STORY],
    "another day above": ["Tuesday, 3 November 2026.", *STORY],
    "less of it": STORY[4:],
    "a third of it": REWRITTEN,
}


@pytest.mark.parametrize(
    ("how", "text", "shown"),
    [
        pytest.param(how, text, shown, id=f"{how}, {name}, {'' if shown else 'not '}linked")
        for how in MOVES_OF_A_STORY
        for name, text in TEXTS_OF_IT.items()
        for shown in (True, False)
        # What the text is and whether a link leads to it meet in two of the ways.
        if shown or name == "same" or how in ("404", "redirects")
    ],
)
def test_a_story_that_moved_is_one_document(
    how: str, text: list[str], answers: Answers, *, shown: bool
) -> None:
    story = [AROUND[1], *STORY] if text[0].startswith("Tuesday") else STORY
    versions = [page(DAY / 2, "a", story), page(MOVES, "b", text)]
    versions.append(front(MOVES, *("b",) * shown))
    if how == "404":
        versions.append(page(MOVES, "a", [], gone=True))
    elif how == "both, then 404":
        versions.append(page(4.5 * DAY, "a", [], gone=True))
    answers(
        {
            "redirects": {"a": Leads("b")},
            "named": {"a": Leads("b", 200)},
            "chain": {"a": Leads("m1"), "m1": Leads("m2", 302), "m2": Leads("b")},
        }.get(how, {})
    )
    lines = watched(site(*versions), 8)
    moved = [("moved", "b")] if how != "both" else []
    if not shown and how not in ("redirects", "chain", "named"):
        # Nothing leads to its new URL.
        assert lines == [("new", "a"), *([("gone", "a")] if how != "both" else [])]
    elif text in (STORY[4:], REWRITTEN) and how.startswith("both"):
        # Another document says some of the same: nobody knows that it is one before the other went.
        assert lines[:2] == [("new", "a"), ("new", "b")]
    else:
        assert lines == [("new", "a"), *moved]


@pytest.mark.parametrize(
    ("to", "since", "text"),
    [
        ("b", 0.0, STORY),
        (f"{SITE}old7", MOVES, STORY),
        ("http://other.example/b", MOVES, STORY),
        ("b", MOVES, [*article(9), LIT]),
    ],
    ids=["as ever", "one that was read", "of another site", "with another text"],
)
def test_a_page_that_names_another_url_has_not_moved(
    to: str, since: float, text: list[str], answers: Answers
) -> None:
    """As one under two URLs always does, or each page after a mistake in a template."""
    answers({"a": Leads(to, 200, since)})
    lines = watched(site(page(DAY / 2, "a", STORY), page(DAY / 2, "b", text)), 8)
    assert lines == [("new", "a"), *([("changed", "a")] if text != STORY else [])]


def test_a_story_that_moves_is_one_though_the_judge_does_not_want_it_there_yet(
    answers: Answers,
) -> None:
    answers({})
    versions = [page(DAY / 2, "a", STORY), page(MOVES, "a", [], gone=True)]
    versions += [page(MOVES, "b", [one for one in STORY if one != LIT]), front(MOVES, "b")]
    lines = watched(site(*versions), 8)
    assert lines == [("new", "a"), ("moved", "b")]


def test_another_story_at_the_time_at_which_one_goes_is_new(answers: Answers) -> None:
    """It says a third of the same, under a title of its own."""
    answers({})
    versions = [page(DAY / 2, "a", STORY), page(MOVES, "a", [], gone=True)]
    versions += [page(MOVES, "b", [*REWRITTEN, LIT], "Another fire"), front(MOVES, "b")]
    assert sorted(watched(site(*versions), 8)) == [("gone", "a"), ("new", "a"), ("new", "b")]


def test_a_story_that_moves_to_another_host_of_its_site_is_one(answers: Answers) -> None:
    answers({"a": Leads("http://www.news.example/a")})
    versions = [page(DAY / 2, "a", STORY), page(MOVES, "http://www.news.example/a", STORY)]
    _, moved = told(site(*versions), 8)
    assert (moved["kind"], moved["from"]) == ("moved", f"{SITE}a")


@pytest.mark.parametrize("status", [301, 302])
@pytest.mark.parametrize("to", ["", "old7", "nothing"])
def test_a_story_that_leads_to_what_it_is_not_is_gone(
    to: str, status: int, answers: Answers
) -> None:
    """To the front page, another page or nothing, for good; what leads elsewhere for a while, as a
    site does that is mended, is not."""
    answers({"a": Leads(to, status)})
    lines = watched(site(page(DAY / 2, "a", STORY)), 8)
    gone = status == 301 or to == "nothing"
    assert lines == [("new", "a"), *([("gone", "a")] if gone else [])]


MANY = {name: Leads("") for name in OLD}
"""Pages that a site has taken away, and which lead to its front page since."""
LATER = 9.5 * DAY


def test_where_many_lead_to_the_front_page_the_next_that_does_is_gone_too(answers: Answers) -> None:
    answers({**MANY, "a": Leads("", since=LATER)})
    world = daily_passes.site(page(DAY / 2, "a", STORY))
    assert watched(world, 14) == [("new", "a"), ("gone", "a")]


def test_where_many_lead_to_the_front_page_what_is_no_copy_is_told_too(answers: Answers) -> None:
    """A page that says half of what a story says waits until it is known whether that is there; it
    leads to the front page, as many others do."""
    answers({**MANY, "a": Leads("", since=LATER)})
    versions = [page(DAY / 2, "a", STORY), page(LATER, "b", STORY[4:])]
    many = daily_passes.site(*versions, front(LATER, "b", old=OLD))
    lines = watched(many, 14)
    answers({"a": Leads("", since=LATER)})
    assert watched(site(*versions, front(LATER, "b")), 14) == lines


OTHER = "http://other.example/"
COMING = "Weekly report 13 – The Town"


@pytest.mark.parametrize("wish", [None, TextPattern("kiln is lit")], ids=["all", "a topic"])
def test_no_other_site_says_that_a_document_was_its_own(
    wish: Judge | None, answers: Answers
) -> None:
    """A page has the title that the next report of another site will have, and leads to where it
    will stand."""
    answers({f"{OTHER}x": Leads("b")})
    trap = page(-DAY, f"{OTHER}x", [*article(70), LIT], COMING)
    begin = page(-DAY, OTHER, ["Others."], "")._replace(links=(f"{OTHER}x",))
    world = site(trap, begin, page(MOVES, "b", STORY, COMING), front(MOVES, "b"), links=())
    assert ("new", f"{SITE}b") in of_two_sites(world, wish)


def test_a_story_that_moves_is_one_though_another_site_has_it_too(answers: Answers) -> None:
    """As those that print what an agency writes."""
    answers({})
    begin = page(-DAY, OTHER, ["Others."], "")
    reprint = page(DAY * 1.1, f"{OTHER}x", STORY, TITLE)
    shows = begin._replace(time=reprint.time, links=(f"{OTHER}x",))
    moves = [page(MOVES, "a", [], gone=True), page(MOVES, "b", [AROUND[0], *STORY])]
    world = site(page(DAY / 2, "a", STORY), *moves, front(MOVES, "b"), begin, reprint, shows)
    lines = of_two_sites(world, TextPattern("kiln is lit"))
    assert lines == [("new", f"{SITE}a"), ("new", f"{OTHER}x"), ("moved", f"{SITE}b")]


def of_two_sites(world: EvolvingWorld, wish: Judge | None) -> list[tuple[str, str]]:
    """The kinds and URLs that passes over both tell."""
    hosts, watching = Hosts(delay=0.1, per_host=1), Watching(wish)
    rng = np.random.default_rng(0)
    task = FleetTask([SITE, OTHER], NoStates(), rng, hosts=hosts, watching=watching)
    fleet = change_rate(task)
    fleet.crew.only_due = True  # type: ignore[attr-defined]
    tracker = ChangeTracker(fleet)
    lines = [line for day in range(8) for line in a_pass(fleet, world, day * DAY, tracker)]
    return [(line["kind"], line["url"]) for line in lines]


NEXT = [*STORY[:-1], "The kiln is lit, and it burns for the second week."]
"""Says nine tenths of what the story says."""


@pytest.mark.parametrize(
    ("title", "published", "new"),
    [
        ("Weekly report 13 – The Town", {}, True),
        ("Weekly report 12 – The Town", {}, False),
        ("Weekly report 12 (print) – The Town", {}, False),
        ("Weekly report 12 – Sports – The Town", {}, False),
        ("Weekly report 12 – The Town", {"a": 0.4 * DAY, "b": 2.4 * DAY}, True),
        ("Weekly report 12 – The Town", {"a": 0.4 * DAY, "b": 0.4 * DAY}, False),
    ],
    ids=["another number", "same", "print", "section", "another day", "same day"],
)
def test_what_says_nine_tenths_of_another_is_new_by_its_title_or_its_day(
    title: str, published: dict[str, float], answers: Answers, *, new: bool
) -> None:
    answers({}, published)
    first = page(DAY / 2, "a", STORY, "Weekly report 12 – The Town")
    lines = watched(site(first, page(MOVES, "b", NEXT, title), front(MOVES, "b", "a")), 6)
    assert lines == [("new", "a"), *([("new", "b")] if new else [])]


def test_what_stands_in_place_of_documents_is_told_by_their_titles(answers: Answers) -> None:
    """A site shows all its articles to subscribers alone; each has a second URL, too."""
    answers({})
    notice = [LIT, "Subscribe to read on.", "It costs a coin."]
    first, second = page(DAY / 2, "a", notice, "Kilns"), page(MOVES, "b", notice, "Glazes")
    again = page(MOVES + DAY, "b?print", notice, "Glazes")
    world = site(first, second, front(MOVES, "b", "a"), again, front(MOVES + DAY, "b?print", "b"))
    assert watched(world, 8) == [("new", "a"), ("new", "b")]


def test_stories_that_say_nearly_the_same_of_two_things_are_two(answers: Answers) -> None:
    """The report of a day has the words of the one before, and both are there."""
    answers({})
    second = page(MOVES, "b", [*STORY[2:], *article(7, 3)])
    lines = watched(site(page(DAY / 2, "a", STORY), front(MOVES, "b", "a"), second), 5)
    assert lines == [("new", "a"), ("new", "b")]


# ---------------------------------------------------------------- which leads to which


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(-1, 12), st.booleans()), max_size=60))
def test_what_leads_to_a_url_is_what_ends_there(
    steps: list[tuple[int, int, bool]],
) -> None:
    """−1: it answers itself. Rings end somewhere, too."""
    redirects, targets = Redirects(), dict[int, tuple[int, bool]]()
    for url, target, lasting in steps:
        if target in (-1, url):
            redirects.forget(url)
            targets.pop(url, None)
        else:
            redirects.note(url, target, lasting=lasting)
            targets[url] = target, lasting
    saved = Redirects()
    saved.load(unpack(pack(redirects.save())))
    for its in (redirects, saved):
        assert dict(its.items()) == {url: target for url, (target, _) in targets.items()}
        assert {(url, its.next(url)) for url in its} == {*its.items()}
        for url in range(13):
            way = [url]
            while way[-1] in targets and len(way) <= MOST_HOPS:
                way.append(targets[way[-1]][0])
            assert its.end(url) == way[-1]
        for end in range(13):
            for lasting in (False, True):
                leads = its.leading_to(end, lasting=lasting)
                assert len(set(leads)) == len(leads)
                for url in leads:
                    way, for_good = [url], True
                    while way[-1] != end:
                        target, lasts = targets[way[-1]]
                        for_good &= lasts
                        way.append(target)
                    assert for_good or not lasting
                if not lasting:
                    ending = {url for url in range(13) if url != end and its.end(url) == end}
                    assert ending <= set(leads)
    redirects.leave({3, 4})
    assert not {3, 4} & {one for pair in redirects.items() for one in pair}


def test_that_many_lead_to_one_url_costs_no_more_than_that_some_do() -> None:
    redirects = Redirects()
    for url in range(1, 100_000):
        redirects.note(url, 0)
    assert redirects.leading_to(0) == [*range(99_999, 99_999 - MOST_LEADING, -1)]
