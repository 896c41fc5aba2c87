"""What counts as a change of a page, as a date, and as a request of a day."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from noisy_news import KINDS, article, page, sentence
from spoor import registry
from spoor.durations import DAY
from spoor.errors import InputError
from spoor.foragers.fleet import Fleet
from spoor.foragers.fleets import FleetTask, change_rate
from spoor.foragers.revisit import ChangeRate
from spoor.foragers.settings import steps_of_a_path
from spoor.foragers.states import NoStates
from spoor.isolate.parsing import parse_page
from spoor.judges.facts import TextPattern
from spoor.learn.state import pack, unpack
from spoor.live import changes
from spoor.live.changes import ChangeTracker, Line
from spoor.live.news import by_turns
from spoor.runs.assemble_fleet import make_fleet
from spoor.settings import Settings
from spoor.types import Failed, Fetch, Fetched, Judgement, Link, Page, Redirected, Reply
from spoor.watching import watched_links
from spoor.watching.contents import Contents
from spoor.watching.hosts import Hosts
from spoor.watching.idle_parameters import IdleParameters
from spoor.watching.request_budget import RequestBudget
from spoor.watching.urls import NEVER
from spoor.watching.watching import Watching
from spoor.web import sentences as sentence_module
from spoor.web.sentences import plain, sentences
from spoor.worlds.evolving import EvolvingWorld, Version
from stepping import run, take

SITE = "http://news.example/"


def read(title: str, text: list[str], visit: int, kinds: tuple[str, ...] = KINDS) -> Page:
    body = page(title, text, visit, kinds)
    return parse_page(body, f"{SITE}a", content_type="text/html", main=True)


@pytest.mark.parametrize("kinds", [*((kind,) for kind in KINDS), KINDS], ids="+".join)
def test_noise_is_no_change_and_news_in_it_is(kinds: tuple[str, ...]) -> None:
    contents, text = Contents(), article(7)
    for visit in range(1, 6):
        assert contents.see(0, "h", read("The kiln", text, visit, kinds)) is None, visit
    wrong = text[4]
    text[4] = wrong.replace("the old", "the very old")
    change = contents.see(0, "h", read("The kiln", text, 6, kinds))
    assert change is not None
    assert (change.added, change.removed) == ((text[4],), (wrong,))
    assert 0 < change.share < 0.2
    text.append("One sentence more was added at the end of it.")
    change = contents.see(0, "h", read("The kiln", text, 7, kinds))
    assert change is not None
    assert (change.added, change.removed) == ((text[-1],), ())
    change = contents.see(0, "h", read("The great kiln", text, 8, kinds))
    assert change is not None
    assert change.title_before == "The kiln"
    again = Contents()
    again.load(unpack(pack(contents.save())))
    assert again.see(0, "h", read("The great kiln", text, 9, kinds)) is None
    assert pack(again.save()) != pack(contents.save())  # it has looked once more


@pytest.mark.parametrize("site", ["", " - The Town News", " – News | The Town"])
@pytest.mark.parametrize("end", [".", ""], ids=["sentence", "before the first"])
def test_a_corrected_title_is_told_as_a_title_also_where_the_text_has_it(
    end: str, site: str
) -> None:
    contents, rest = Contents(), "A kiln was lit in the town last night. Potters sleep now."
    for heading in ("News of the town", "Corrected: news from the town"):
        page = Page("http://h/", title=heading + site, main=f"{heading}{end} {rest}", text="…")
        change = contents.see(0, "h", page)
    assert change is not None
    assert change.title_before == f"News of the town{site}"
    assert (change.added, change.removed) == ((), ())
    more = replace(page, title="Kilns", main=f"Kilns{end} {rest} It rained on all of them at noon.")
    change = contents.see(0, "h", more)
    assert change is not None
    assert (change.added, change.removed) == (("It rained on all of them at noon.",), ())


def test_what_an_extractor_lets_through_is_learned_by_page_and_by_host() -> None:
    """Pages without markup: only the sentences tell."""
    contents, random = Contents(), Random(3)
    pool = [sentence(random) for _ in range(4)]

    def seen(url: int, text: list[str]) -> bool:
        shown = Page(f"{SITE}{url}", title="A title", text=" ".join(text))
        return contents.see(url, "h", shown) is not None

    text = article(1)
    # A teaser that returns after it went, and a place that differs at each look.
    told = [seen(0, [*text, pool[visit % 2], sentence(random)]) for visit in range(12)]
    assert not any(told[5:])
    text.insert(3, "At last there is some real news in it.")
    assert seen(0, [*text, pool[0]])
    # A sentence on several pages of a host is that of their frame.
    for url in range(1, 5):
        seen(url, [*article(url + 50), pool[3]])
    assert not seen(0, [*text, pool[3]])
    # A number that was corrected is news; one that counts is not for long.
    assert [seen(9, [*article(9), f"In all {n} people came to see it again."]) for n in range(8)] == [
        False, True, True, False, False, False, False, False
    ]  # fmt: skip


@given(st.text("ab8f: ./٣mayjan", max_size=60))
@example("may a be fa deadbeefdeadbeef")
def test_what_says_nothing_is_left_out_with_and_without_digits(text: str) -> None:
    """A sentence without a digit is searched for less."""
    words = re.findall(r"\w+", sentence_module._ID.sub(" ", sentence_module._TIMES.sub(" ", text)))
    if len(words) <= sentence_module.SHORT:
        words = [word for word in words if not word.isdecimal()]
    assert plain(text) == " ".join(words)


@pytest.mark.parametrize("when", ["Less than a minute ago", "about 1 hour ago", "5 minutes ago"])
def test_how_long_something_is_ago_says_nothing(when: str) -> None:
    assert plain(f"Added by Ann {when}, with words") == "added by ann with words"
    assert plain(f"It was long ago, in {when[:4]}").startswith("it was long ago")


@given(st.text(max_size=400))
@hypothesis_settings(max_examples=100, deadline=None)
def test_any_text_has_sentences(text: str) -> None:
    found = sentences(text)
    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(plain(one) == plain(one.upper().lower()) or one for one in found)


# ---------------------------------------------------------------- requests a day


def test_a_budget_holds_over_ten_days_with_a_kill_every_hour() -> None:
    """The watch asks as often as it may, for what is new and for what is known; robots.txt is asked
    for again after each kill."""
    hosts = ["a.example", "b.example", "c.example"]
    budget, sent = RequestBudget(60, 100), list[tuple[float, str]]()
    now, killed, known = 0.0, 0.0, set[str]()
    random = Random(1)
    while now < 10 * DAY:
        if now - killed >= 3600:
            state = unpack(pack(budget.save()))
            budget = RequestBudget(60, 100)
            budget.load(state)
            budget.restarted()
            killed, known = now, set()
        for name in random.sample(hosts, 3):
            new = random.random() < 0.3
            if budget.free_at(name, now, new=new) <= now:
                budget.take(name, now, new=new)
                sent += [(now, name)] * (1 if name in known else 2)
                known.add(name)
        now += 97.0
    for name, most in [("", 100), *((name, 60) for name in hosts)]:
        times = np.array([at for at, host in sent if host == name or not name])
        within = np.searchsorted(times, times + DAY) - np.arange(len(times))
        assert within.max() <= most
    assert len(sent) > 0.85 * 10 * 100
    with pytest.raises(InputError, match="2 or more"):
        RequestBudget(1)


# ---------------------------------------------------------------- a watch


def fleet_of(
    world: EvolvingWorld,
    watching: Watching,
    *,
    delay: float = 1.0,
    per_day: int = 0,
    seeds: list[str] | None = None,
) -> Fleet:
    hosts = Hosts(delay=delay, per_host=1, per_day=per_day)
    rng = np.random.default_rng(0)
    task = FleetTask(seeds or world.roots(), NoStates(), rng, hosts=hosts, watching=watching)
    return change_rate(task)


def version(at: float, name: str, text: list[str], *links: str, gone: bool = False) -> Version:
    targets = tuple(f"{SITE}{link}" for link in links)
    return Version(at, f"{SITE}{name}", name.title(), " ".join(text), targets, gone)


def test_what_appeared_is_new_when_it_is_told_first_and_an_old_page_has_changed() -> None:
    """Both came to be on topic by an edit."""
    begin, lit = 1e9, "The kiln is lit."
    world = EvolvingWorld(
        [
            version(begin - 9 * DAY, "", ["Front."], "old"),
            version(begin - 9 * DAY, "old", article(1)),
            version(begin + 2_000, "", ["Front."], "old", "young"),
            version(begin + 2_000, "young", article(2)),
            version(begin + 5_000, "old", [*article(1), lit]),
            version(begin + 5_000, "young", [*article(2), lit]),
        ],
        roots=[SITE],
        start=begin,
        end=begin + DAY,
    )
    fleet = fleet_of(world, Watching(TextPattern("kiln is lit")), delay=20.0)
    lines = run(fleet, world, begin + 10_000, ChangeTracker(fleet))
    told = {line["url"].removeprefix(SITE): line for line in lines}
    assert {name: line["kind"] for name, line in told.items()} == {"old": "changed", "young": "new"}
    assert len(lines) == 2


def test_a_front_page_that_comes_to_be_on_topic_by_its_new_links_is_no_news() -> None:
    """It is a list at the look that shows three of them, and not only at the next one."""
    begin, kiln = 1e9, [*article(2), "The kiln is lit."]
    fewer = ["a", "b"]
    for names in (["a", "b", "c"], fewer):
        world = EvolvingWorld(
            [
                version(begin - 9 * DAY, "", ["Front."], "old"),
                version(begin - 9 * DAY, "old", article(1)),
                version(begin + 2_000, "", ["Front.", "The kiln is lit."], "old", *names),
                *(version(begin + 2_000, name, [*kiln, f"So says {name}."]) for name in names),
            ],
            roots=[SITE],
            start=begin,
            end=begin + DAY,
        )
        fleet = fleet_of(world, Watching(TextPattern("kiln is lit")), delay=20.0)
        told = run(fleet, world, begin + 6_000, ChangeTracker(fleet))
        kinds = {line["url"].removeprefix(SITE): line["kind"] for line in told}
        own = {"": "changed"} if names is fewer else {}
        assert kinds == {**own, **dict.fromkeys(names, "new")}


def test_only_documents_on_topic_are_told_and_what_becomes_of_them() -> None:
    first, second = article(1), article(2)
    kiln = [*first, "The kiln is lit."]
    begin = 1e9
    world = EvolvingWorld(
        [
            version(begin - 5, "", ["Front."], "a"),
            version(begin - 5, "a", article(5)),
            version(begin + 100, "", ["Front."], "a", "b", "c"),
            version(begin + 90, "b", kiln),
            version(begin + 95, "c", second),
            version(begin + 1_500, "b", [*kiln, "Its fire has gone out since then."]),
            version(begin + 4_000, "", ["Front."], "a", "c", "d"),
            version(begin + 4_000, "b", [], gone=True),
            version(begin + 4_000, "d", [*kiln, "Its fire has gone out since then."]),
            version(begin + 8_000, "d", [], gone=True),
            version(begin + 12_000, "d", [*kiln, "Its fire has gone out since then."]),
        ],
        roots=[SITE],
        start=begin,
        end=begin + DAY,
    )
    watching = Watching(TextPattern("kiln is lit"))
    fleet = fleet_of(world, watching, delay=20.0)
    tracker = ChangeTracker(fleet)
    lines = run(fleet, world, begin + 15_000, tracker)
    # It may have been gone for a while before it was found elsewhere.
    lines = [line for line in lines if (line["kind"], line["url"]) != ("gone", f"{SITE}b")]
    told = [(line["kind"], line["url"].removeprefix(SITE)) for line in lines]
    assert told == [("new", "b"), ("changed", "b"), ("moved", "d"), ("gone", "d")]
    new, changed, moved, _ = lines
    assert new["score"] == 1.0
    assert new["why"]
    assert changed["added"] == ("Its fire has gone out since then.",)
    assert moved["from"] == f"{SITE}b"
    assert len({line["id"] for line in lines}) == 4
    assert new["story"] == new["id"]
    # The front page paid, and its visits did; the others did not.
    rates = fleet.crew.pages.pay(begin + 15_000)  # type: ignore[attr-defined]
    assert rates[0] > 3 * rates[fleet.known.find(f"{SITE}a")]


@pytest.mark.parametrize("crew", ["change-rate", "WLRL"])
def test_links_of_a_stranger_take_neither_places_nor_turns(
    crew: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another site links to more new addresses at each look than may wait."""
    monkeypatch.setattr(watched_links, "MOST_WAITING", 50)
    monkeypatch.setattr(watched_links, "MOST_OF_A_STRANGER", 10)
    begin, other = 1e9, "http://evil.example/"
    versions, expected = [version(begin - 5, "", ["Front."], "n0", "n1")], set[str]()
    versions += [version(begin - 5, f"n{number}", article(number)) for number in range(2)]
    for number in range(60):
        links = tuple(f"{SITE}z{number}/{one}" for one in range(80))
        # It knows all addresses of what will be, too.
        links = (*(f"{SITE}n{one}" for one in range(8)), *links) if number == 0 else links
        versions.append(Version(begin - 5 + 100 * number, other, "E", f"List {number}.", links))
    for number in range(2, 8):
        at = begin + 500 + 600 * number
        versions.append(version(at - 10, f"n{number}", article(number)))
        names = [f"n{one}" for one in range(number + 1)]
        versions.append(version(at, "", [f"Front {number}."], *names))
        expected.add(f"n{number}")
    world = EvolvingWorld(versions, roots=[SITE, other], start=begin, end=begin + DAY)
    hosts = Hosts(delay=10.0, per_host=1)
    rng = np.random.default_rng(0)
    task = FleetTask([SITE, other], NoStates(), rng, hosts=hosts, watching=Watching())
    fleet: Fleet = registry.build("fleets", crew, task)
    tracker, now, asked, lines = ChangeTracker(fleet), world.now, list[str](), list[Line]()
    saved = False
    while now < begin + 6_000:
        step = fleet.next(now)
        if isinstance(step, Fetch) and step.host == "news.example":
            asked.append(step.url)
        now, told = take(step, fleet, world, now, tracker)
        lines += told
        if not saved and now > begin + 1_000:  # another process goes on
            saved = True
            state = unpack(pack({"fleet": fleet.save(), "tracker": tracker.save()}))
            before = fleet.known
            task = FleetTask([SITE, other], NoStates(), rng, hosts=hosts, watching=Watching())
            fleet = registry.build("fleets", crew, task)
            fleet.load(state["fleet"])
            assert fleet.known.strangers == before.strangers != {}
            assert +fleet.known.of_strangers == +before.of_strangers
            assert fleet.known.waiting == {**before.waiting}
            tracker = ChangeTracker(fleet)
            tracker.load(state["tracker"])
    told_new = {line["url"].removeprefix(SITE) for line in lines if line["kind"] == "new"}
    assert told_new == expected
    assert asked.index(f"{SITE}n0") < 4
    foreign = [url for url in asked if "/z" in url]
    assert 0 < len({*foreign}) <= len(asked) / 8
    assert len(foreign) <= len(asked) / 7
    assert max(fleet.known.of_strangers.values()) <= 10


def test_own_links_are_entered_however_many_of_a_stranger_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watched_links, "MOST_WAITING", 20)
    other = "http://evil.example/"
    world = EvolvingWorld([version(0, "", ["Front."])], roots=[SITE], start=1e9, end=1e9 + DAY)
    urls = fleet_of(world, Watching(), seeds=[SITE, other]).known
    seed, evil = urls.find(SITE), urls.find(other)
    assert seed is not None
    assert evil is not None
    foreign = [Link(f"{SITE}z{number}") for number in range(30)]
    urls.links(evil, Page(other, links=foreign), 1e9)
    own = [Link(f"{SITE}{number}") for number in range(15)]
    links = urls.links(seed, Page(SITE, links=[*own, *foreign[:2]]), 1e9)
    assert len(links) == 17
    assert not set(links) & set(urls.strangers)


def test_what_strangers_linked_first_is_new_when_its_own_site_links_to_it() -> None:
    """Though it was read before, and states no date."""
    begin, other = 1e9, "http://evil.example/"
    versions = [
        version(begin - 5, "", ["Front."]),
        version(begin - 5, "n", article(1)),
        Version(begin - 5, other, "E", "List.", (f"{SITE}n",)),
        version(begin + 1_000, "", ["Front n."], "n"),
    ]
    world = EvolvingWorld(versions, roots=[SITE, other], start=begin, end=begin + DAY)
    answer = world.answer

    def undated(fetch: Fetch) -> Reply:
        reply = answer(fetch)
        if isinstance(reply, Fetched):
            return replace(reply, page=replace(reply.page, modified=None))
        return reply

    world.answer = undated  # type: ignore[method-assign]
    fleet = fleet_of(world, Watching(), delay=20.0, seeds=[SITE, other])
    tracker = ChangeTracker(fleet)
    assert run(fleet, world, begin + 900, tracker) == []
    assert fleet.known.looked[fleet.known.find(f"{SITE}n") or 0] > begin, "it was read"
    lines = run(fleet, world, begin + 5_000, tracker)
    assert [line["url"] for line in lines if line["kind"] == "new"] == [f"{SITE}n"]


@pytest.mark.parametrize("listed", [0, 6])
@pytest.mark.parametrize("by", ["link", "old date", "date of today", "later link"])
def test_who_links_to_documents_before_they_exist_does_not_make_them_old(
    listed: int, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another host links to the addresses of news to come, and may say of what day they are."""
    begin, other = 1e9, "http://evil.example/"
    names = [f"n{number}" for number in range(6)]
    to_come = tuple(f"{SITE}{name}" for name in names[:listed])
    versions = [
        version(begin - 5, "", ["Front."]),
        Version(begin - 5, other, "E", "List.", () if by == "later link" else to_come),
        Version(begin + 60, other, "E", "More.", to_come),
    ]
    if "date" in by:
        day = begin - (5 * DAY if by == "old date" else 3_600)
        read = EvolvingWorld.answer

        def dated(world: EvolvingWorld, fetch: Fetch) -> Reply:
            reply = read(world, fetch)
            if isinstance(reply, Fetched) and reply.page.url == other:
                page = replace(reply.page, dated=tuple((url, day) for url in to_come))
                return replace(reply, page=page)
            return reply

        monkeypatch.setattr(EvolvingWorld, "answer", dated)
    for number, name in enumerate(names):
        at = begin + 1_000 + 600 * number
        versions.append(version(at - 10, name, article(number)))
        versions.append(version(at, "", [f"Front {name}."], *names[: number + 1]))
    world = EvolvingWorld(versions, roots=[SITE, other], start=begin, end=begin + DAY)
    fleet = fleet_of(world, Watching(), delay=20.0, seeds=[SITE, other])
    lines = run(fleet, world, begin + 5_000, ChangeTracker(fleet))
    told = {line["url"].removeprefix(SITE) for line in lines if line["kind"] == "new"}
    assert told == {*names}
    dates = [fleet.known.date[fleet.known.find(f"{SITE}{name}") or 0] for name in names]
    assert min(dates) > begin + 900


def test_an_endless_site_harms_no_other_and_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(changes, "MOST_TOLD", 40)
    begin, other = 1e9, "http://quiet.example/"
    flood = tuple(f"{SITE}n{number}" for number in range(600))
    versions = [version(begin - 5, "", ["Front."]), Version(begin - 5, other, "Quiet", "Quiet.")]
    versions.append(Version(begin + 50, SITE, "Front", "Front now.", flood))
    versions += [Version(begin + 50, url, "N", f"Sentence {url}. Other.") for url in flood]
    for number in range(20):
        at = begin + 60 + 25 * number
        links = tuple(f"{other}q{n}" for n in range(number + 1))
        versions.append(Version(at, other, "Quiet", f"Quiet no more {number}.", links))
        versions.append(Version(at, f"{other}q{number}", "Q", " ".join(article(number))))
    world = EvolvingWorld(versions, roots=[SITE, other], start=begin, end=begin + 3_000)
    fleet = fleet_of(world, Watching(), seeds=[SITE, other])
    lines = run(fleet, world, begin + 600, ChangeTracker(fleet))
    quiet = [line for line in lines if line["url"].startswith(other) and line["kind"] == "new"]
    loud = [line for line in lines if line["url"].startswith(SITE)]
    assert len([line for line in quiet if "/q" in line["url"]]) == 20
    assert len(loud) == 40 + 1
    assert [line["kind"] for line in loud].count("flood") == 1
    # As soon as they would have been without the flood: two of its requests lie between.
    late = [fleet.known.fetched[fleet.known.find(f"{other}q{n}") or 0] for n in range(20)]
    assert np.median(np.array(late)) < begin + 600


def test_one_domain_of_many_hosts_takes_no_places_of_what_others_tell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its hosts together are told as often as one would be; of changes that wait, and in feeds and
    digest, each domain keeps its places."""
    monkeypatch.setattr(changes, "MOST_TOLD", 40)
    monkeypatch.setattr(changes, "MOST_PENDING", 40)
    begin, other = 1e9, "http://quiet.example/"
    loud = [f"http://h{number}.loud.co.uk/" for number in range(60)]
    versions = [version(begin - 5, "", ["Front."])]
    versions += [Version(begin - 5, url, "N", f"Sentence {url}. Other.") for url in [*loud, other]]
    versions.append(Version(begin + 50, SITE, "Front", "Front now.", (other, *loud)))
    world = EvolvingWorld(versions, roots=[SITE], start=begin, end=begin + 3_000)
    fleet = fleet_of(world, Watching(), seeds=[SITE])
    tracker = ChangeTracker(fleet)
    lines = run(fleet, world, begin + 150, tracker)
    told = [line for line in lines if "loud" in line["url"]]
    assert [line["kind"] for line in told] == ["new"] * 40 + ["flood"]
    quiet = next(line for line in lines if line["url"] == other)

    number = fleet.known.find
    tracker._pending = {number(url): {} for url in (other, *loud)}  # type: ignore[misc]
    while len(tracker._pending) > 40:
        tracker._forget_pending()
    assert [*tracker._pending] == [number(url) for url in (other, *loud[21:])]

    everything = [quiet, *(line for line in lines if line != quiet)] * 10
    assert [line for line in by_turns(everything, 100) if line == quiet] == [quiet] * 10
    assert by_turns(told, 20) == told[-20:]
    old = {**quiet, "found_at": "2001-09-01T00:00:00Z"}
    assert old not in by_turns([old, *everything], 100)


def test_no_front_page_starves_beside_pages_that_pay_all_the_time() -> None:
    """Another host has no page but its seed, so that the hosts are free in a fixed order; a section
    links to something on topic each hour, the archive has more than can be read. The front page is
    not on topic, and links to something that is every twenty hours."""
    begin, hour, other = 1e9, 3_600.0, "http://other.example/"
    old = [f"old{number}" for number in range(400)]
    versions = [Version(begin - 5, other, "Other", "Nothing here.")]
    versions += [version(begin - 2 * DAY, name, [f"{name} was read."]) for name in old]
    versions.append(version(begin - 5, "", ["Front."], "section", *old))
    versions.append(version(begin - 5, "section", ["Nothing yet."]))
    shown, news = list[str](), list[str]()
    for number in range(48):
        at = begin + hour * number + 60
        if number in (20, 40):
            news.append(f"story{number}")
            versions.append(version(at, "", [f"Front {number}."], "section", *old, *news))
            versions.append(version(at, news[-1], [*article(1_000 + number), "The kiln is lit."]))
        shown.append(f"section/{number}")
        versions.append(version(at, "section", [f"Section {number}."], *shown))
        versions.append(version(at, shown[-1], [*article(number), "The kiln is lit."]))
    world = EvolvingWorld(versions, roots=[SITE, other], start=begin, end=begin + 48 * hour)
    looks, answer = list[float](), world.answer

    def noted(fetch: Fetch) -> Reply:
        if fetch.url == SITE:
            looks.append(world.now)
        return answer(fetch)

    world.answer = noted  # type: ignore[method-assign]
    fleet = fleet_of(world, Watching(TextPattern("kiln is lit")), per_day=200, seeds=[SITE, other])
    tracker = ChangeTracker(fleet)
    lines = run(fleet, world, begin + 24 * hour, tracker)
    section = fleet.known.find(f"{SITE}section")
    assert section is not None
    changes = fleet.crew.pages.changes  # type: ignore[attr-defined]
    assert changes[section] > 15
    changes[section] = 10**8  # nothing pays like it
    lines += run(fleet, world, world.end, tracker)
    told = {line["url"].removeprefix(SITE) for line in lines if line["kind"] == "new"}
    assert {*news, *shown[12:44]} <= told
    assert np.diff([*looks, world.end]).max() < 3 * hour


@pytest.mark.parametrize("name", ["RL", "WLRL"])
def test_foragers_find_what_is_new_with_few_requests(name: str) -> None:
    """The front page has 300 links at the first look, more than a day has requests."""
    begin, hour = 1e9, 3_600.0
    old = [f"old{number}" for number in range(300)]
    versions = [version(begin - DAY, one, article(number)) for number, one in enumerate(old)]
    versions.append(version(begin - 5, "", ["Front."], *old))
    news = list[str]()
    for number in range(22):
        news.append(f"story{number}")
        at = begin + hour * number + 60
        versions.append(version(at, "", [f"Front {number}."], *news[::-1], *old))
        versions.append(version(at, news[-1], [*article(1_000 + number), "The kiln is lit."]))
    world = EvolvingWorld(versions, roots=[SITE], start=begin, end=begin + 24 * hour)
    task = FleetTask(
        world.roots(),
        NoStates(),
        np.random.default_rng(0),
        hosts=Hosts(delay=1.0, per_host=1, per_day=200),
        watching=Watching(TextPattern("kiln is lit")),
    )
    values = {"max_step": steps_of_a_path(200)}
    fleet: Fleet = registry.build("fleets", name, task, settings=values)
    lines = run(fleet, world, world.end, ChangeTracker(fleet))
    told = {line["url"].removeprefix(SITE) for line in lines if line["kind"] == "new"}
    assert len(told & {*news}) >= 18
    assert told <= {*news}
    assert fleet.counts.requests <= 200


def test_foragers_walk_on_over_what_is_known() -> None:
    """A step on a page that was asked for long ago waits for no look at it: they go on from there
    to what it links to, while the list would ask for all that the start links to first."""
    begin, count = 1e9, 40
    old = [f"old{number}" for number in range(count)]
    deep = [f"deep{number}" for number in range(count)]
    versions = [version(begin - 5, "", ["Front."], *old)]
    for number, (one, below) in enumerate(zip(old, deep, strict=True)):
        versions.append(version(begin - DAY, one, article(number), below))
        versions.append(version(begin - DAY, below, article(count + number)))
    world = EvolvingWorld(versions, roots=[SITE], start=begin, end=begin + DAY)
    hosts, rng = Hosts(delay=1.0, per_host=1, per_day=100), np.random.default_rng(0)
    watching = Watching(TextPattern("kiln is lit"))
    task = FleetTask([SITE], NoStates(), rng, hosts=hosts, watching=watching)
    fleet: Fleet = registry.build("fleets", "RL", task)
    run(fleet, world, world.end, ChangeTracker(fleet))
    asked = {url for url in range(len(fleet.known)) if fleet.known.fetched[url] > NEVER}
    beyond = sum("deep" in fleet.known.urls[url] for url in asked)
    assert beyond >= len(asked) / 4


def test_a_host_to_which_only_strangers_link_is_asked_beside_one_with_much_to_ask() -> None:
    """Nothing of its own is known there, so nobody else wants its turns; else the watch would make
    batches in vain, four a second."""
    begin, named = 1e9, "http://www.other.example/"
    old = [f"old{number}" for number in range(300)]
    versions = [version(begin - DAY, one, article(number)) for number, one in enumerate(old)]
    versions.append(version(begin - 5, "", ["Front."], *old))
    foreign = "http://other.example/a"
    versions.append(Version(begin - 5, f"{SITE}old0", links=(foreign,)))
    versions += [Version(begin - DAY, url, text="There.") for url in (named, foreign)]
    world = EvolvingWorld(versions, roots=[SITE, named], start=begin, end=begin + 600)
    hosts, rng = Hosts(delay=1.0, per_host=1, per_day=300), np.random.default_rng(0)
    watching = Watching(TextPattern("kiln is lit"))
    fleet = change_rate(FleetTask(world.roots(), NoStates(), rng, hosts=hosts, watching=watching))
    now, steps = begin, 0
    while now < world.end:
        now, _ = take(fleet.next(now), fleet, world, now, ChangeTracker(fleet))
        steps += 1
    number = fleet.known.find(foreign)
    assert number is not None
    assert fleet.known.fetched[number] > NEVER
    assert steps < 300


@pytest.mark.parametrize("every", [1, 11])
@pytest.mark.parametrize("name", ["RL", "WLRL"])
def test_foragers_take_no_looks_of_lists_that_bring_something(name: str, every: int) -> None:
    """Nor of a front page that has brought too little yet to be a list, and will bring more."""
    begin, hour = 1e9, 3_600.0
    old = [f"old{number}" for number in range(20)]
    versions = [version(begin - DAY, one, article(number)) for number, one in enumerate(old)]
    versions.append(version(begin - 5, "", ["Front."], *old))
    for number in range(0, 22, every):
        at = begin + hour * number + 60
        news = [f"story{one}" for one in range(number, -1, -every)]
        versions.append(version(at, "", [f"Front {number}."], *news, *old))
        versions.append(version(at, news[0], [*article(1_000 + number), "The kiln is lit."]))

    def looks(fleet_name: str) -> int:
        world = EvolvingWorld(versions, roots=[SITE], start=begin, end=begin + 24 * hour)
        task = FleetTask(
            world.roots(),
            NoStates(),
            np.random.default_rng(0),
            hosts=Hosts(delay=1.0, per_host=1, per_day=300),
            watching=Watching(TextPattern("kiln is lit")),
        )
        values = {"max_step": steps_of_a_path(300)}
        settings = {} if fleet_name == "change-rate" else values
        fleet: Fleet = registry.build("fleets", fleet_name, task, settings=settings)
        answer, asked = world.answer, list[str]()

        def count(fetch: Fetch) -> Reply:
            asked.append(fetch.url)
            return answer(fetch)

        world.answer = count  # type: ignore[method-assign]
        run(fleet, world, world.end, ChangeTracker(fleet))
        return asked.count(SITE)

    assert looks(name) >= 0.9 * looks("change-rate")


def test_a_new_url_of_a_document_at_each_look_takes_no_looks_of_its_list() -> None:
    """A copy says nothing new of the document, so what a day's requests leave is the list's."""
    begin, hour = 1e9, 3_600.0
    old = [f"old{number}" for number in range(20)]
    told = [*article(1_000), "The kiln is lit."]
    versions = [version(begin - DAY, one, article(number)) for number, one in enumerate(old)]
    versions.append(version(begin - 5, "", ["Front."], *old))

    def looks(*, anew: bool) -> tuple[int, int]:
        """At the list, and at URLs of the document again."""
        world = EvolvingWorld(versions, roots=[SITE], start=begin, end=begin + 48 * hour)
        task = FleetTask(
            world.roots(),
            NoStates(),
            np.random.default_rng(0),
            hosts=Hosts(delay=1.0, per_host=1, per_day=100),
            watching=Watching(TextPattern("kiln is lit")),
        )
        fleet: Fleet = registry.build("fleets", "change-rate", task)
        answer, asked = world.answer, list[str]()

        def reply(fetch: Fetch) -> Reply:
            asked.append(fetch.url)
            seen = asked.count(SITE)
            name = f"story-{seen if anew else 1}"
            if fetch.url == SITE and seen > 1:
                links = tuple(Link(f"{SITE}{one}") for one in (name, *old))
                return Fetched(fetch.ticket, Page(SITE, text=f"Front. {name}", links=links))
            if "story-" in fetch.url:
                page = Page(fetch.url, title=told[0], text="\n".join(told))
                return Fetched(fetch.ticket, page)
            return answer(fetch)

        world.answer = reply  # type: ignore[method-assign]
        run(fleet, world, world.end, ChangeTracker(fleet))
        stories = [url for url in asked if "story-" in url]
        return asked.count(SITE), len(stories) - len(set(stories))

    alone, beside = looks(anew=False), looks(anew=True)
    # Half of what is left after the first look at all that stood there is for the new URLs.
    assert alone[0] >= 90
    assert beside[0] >= 60
    assert beside[1] <= 40, "each is as the first one was, and at rest"


def test_a_page_that_promises_to_stay_is_left_alone_where_that_is_true() -> None:
    """Both hosts promise a day; one of them has something new every half hour."""
    begin, calm, liar = 1e9, "http://calm.example/", "http://liar.example/"
    pages = [f"{calm}{number}" for number in range(20)]
    versions = [Version(begin - 5, calm, "Calm", "Calm.", tuple(pages))]
    versions += [Version(begin - 5, url, "A", " ".join(article(n))) for n, url in enumerate(pages)]
    stories = [f"{liar}{number}" for number in range(40)]
    for number, url in enumerate(stories):
        at = begin + 1_800.0 * number
        versions.append(Version(at, liar, "Front", f"{number}.", tuple(stories[: number + 1])))
        versions.append(Version(at, url, "S", " ".join(article(100 + number))))

    def asked(promise: float) -> tuple[int, set[str]]:
        world = EvolvingWorld(versions, roots=[calm, liar], start=begin, end=begin + DAY)
        fleet = fleet_of(world, Watching(), per_day=400, seeds=[calm, liar])
        answer, count = world.answer, 0

        def promised(fetch: Fetch) -> Reply:
            nonlocal count
            count += fetch.url.startswith(calm)
            reply = answer(fetch)
            return replace(reply, fresh_for=promise) if isinstance(reply, Fetched) else reply

        world.answer = promised  # type: ignore[method-assign]
        lines = run(fleet, world, begin + DAY * 0.8, ChangeTracker(fleet))
        saved = unpack(pack(fleet.save()))
        again = fleet_of(world, Watching(), per_day=400, seeds=[calm, liar])
        again.load(saved)
        assert pack(again.save()) == pack(fleet.save())
        return count, {line["url"] for line in lines if line["kind"] == "new"}

    often, told = asked(0.0)
    seldom, also_told = asked(DAY)
    assert told == also_told
    assert len(told) >= 37
    assert seldom < 0.7 * often


def test_include_and_exclude_hold_beside_the_scope() -> None:
    settings = Settings.of({"include": ["/docs/*"], "exclude": ["*.pdf"]}, "watch")
    fleet = make_fleet(settings, [SITE])
    known = fleet.known
    listed = ["docs/a", "docs/b.pdf", "other", "docs/feed.xml"]
    links = [Link(f"{SITE}{name}") for name in listed[:3]]
    links.append(Link("http://elsewhere.org/docs/a"))
    front = Page(SITE, text="Front.", links=links, feeds=(f"{SITE}{listed[3]}", f"{SITE}feed.xml"))
    known.see(0, front, 1.0)
    found = {known.urls[number] for number in known.links(0, front, 1.0)}
    assert found == {f"{SITE}docs/a", f"{SITE}docs/feed.xml"}
    assert not known.admits(f"{SITE}other"), "nor does a redirect lead there"


def test_the_feed_of_comments_of_a_post_is_not_asked_for() -> None:
    """What it names beside that is of its comments; a section that says no date has its own."""
    known = make_fleet(Settings.of({}, "watch"), [SITE]).known
    feeds = f"{SITE}feed.xml", f"{SITE}post/feed.xml"
    dated = ((f"{SITE}post", 1.0),)
    for name, its, named in (
        ("lone", Page(f"{SITE}lone", feeds=feeds[1:], dated=((f"{SITE}lone", 1.0),)), feeds[1:]),
        ("", Page(SITE, feeds=feeds[:1]), feeds[:1]),
        ("post", Page(f"{SITE}post", feeds=(*feeds, f"{SITE}new"), dated=dated), feeds),
        ("section", Page(f"{SITE}section", feeds=(*feeds, f"{SITE}new")), (*feeds, f"{SITE}new")),
        (
            "tag",
            Page(
                f"{SITE}tag",
                feeds=(*feeds, f"{SITE}t"),
                dated=((f"{SITE}tag", 1.0),),
                flags=frozenset({"list"}),
            ),
            (*feeds, f"{SITE}t"),
        ),
    ):
        url = known.number(f"{SITE}{name}", 1.0)
        known.see(url, its, 1.0)
        assert {known.urls[number] for number in known.links(url, its, 1.0)} == {*named}


def test_where_a_link_redirects_to_its_page_is_paid() -> None:
    fleet = fleet_of(EvolvingWorld([version(0, "", [])], roots=[SITE], start=0, end=1), Watching())
    known = fleet.known
    for at, links in ((10.0, []), (20.0, [Link(f"{SITE}go")])):
        step = fleet.next(at)
        assert isinstance(step, Fetch)
        fleet.receive(Fetched(step.ticket, Page(SITE, text="Front.", links=links)), at)
    step = fleet.next(30.0)
    assert isinstance(step, Fetch)
    assert step.url == f"{SITE}go"
    fleet.receive(Redirected(step.ticket, f"{SITE}page"), 30.0)
    step = fleet.next(40.0)
    assert isinstance(step, Fetch)
    fleet.receive(Fetched(step.ticket, Page(f"{SITE}page", text="A page.")), 40.0)
    crew, page = fleet.crew, known.find(f"{SITE}page")
    assert isinstance(crew, ChangeRate)
    assert page is not None
    assert known.fresh(page, 40.0, DAY)
    assert (known.parent[page], crew.save()["changes"][0]) == (0, 1)
    assert crew.save()["prior"][page] < crew.save()["prior"][0]  # it is no start


def test_dates_are_checked() -> None:
    watching = Watching()
    hour, now = 3600.0, 1e9

    def date(stated: float | None, *, born: float = NEVER, at: float = now) -> float:
        shown = Page(SITE, modified=stated)
        return watching.date("h", shown, at, first=True, born=born)

    assert date(now - hour) == now - hour
    assert date(now + hour, born=now - 60) == now - 60  # the future is nobody's date
    assert date(now - 1) == NEVER  # made with the reply
    assert date(now - hour, born=now - 2 * hour) == now - 2 * hour  # a link was there before
    assert date(None, born=now - 60) == now - 60
    assert [date(now - 5 * hour + 7) for _ in range(5)] == [*[now - 5 * hour + 7] * 3, NEVER, NEVER]
    day = now // DAY * DAY  # which more pages share than a second
    assert [date(day) for _ in range(12)] == [*[day] * 10, NEVER, NEVER]


class Changing:
    """A judge that says what it is told to."""

    threshold = 0.5

    def __init__(self) -> None:
        self.relevant = False

    def judge(self, page: Page) -> Judgement:
        return Judgement(float(self.relevant), self.relevant, float(self.relevant))


def test_a_page_that_the_judge_wants_only_now_is_no_news_unless_it_was_edited() -> None:
    rng, judge = Random(7), Changing()
    watching = Watching(judge)
    text = [sentence(rng) for _ in range(12)]

    def look(visit: int, text: list[str], *, relevant: bool, first: bool = False) -> bool:
        judge.relevant = relevant
        return watching.take(1, "h", read("Clay", text, visit, ()), first)

    assert look(0, text, relevant=False, first=True)
    assert not look(1, text, relevant=True), "the judge learned, and nobody wrote"
    assert not look(2, text, relevant=False)
    assert not look(3, text, relevant=True)
    assert not look(4, text, relevant=False)
    edited = [*text[1:], sentence(rng)]
    assert not look(5, edited, relevant=False), "not wanted as yet"
    assert not look(6, edited, relevant=True), "the edit was before it was wanted"
    assert not look(7, edited, relevant=False)
    assert look(8, [*edited[1:], sentence(rng)], relevant=True), "it is wanted for what it says now"


def test_an_edit_of_a_page_whose_link_stood_there_before_does_not_make_it_new() -> None:
    """It is asked for first after the edit, and states when that was (`Last-Modified`)."""
    task = FleetTask([SITE], NoStates(), np.random.default_rng(0), watching=Watching())
    known = change_rate(task).known
    links = [Link(f"{SITE}{name}") for name in ("old", "young")]
    now, minute = 1e9, 60.0
    known.see(0, Page(SITE, text="Front.", links=links), now)
    known.links(0, Page(SITE, text="Front.", links=links), now)
    for name, stated in (("old", now + 30 * minute), ("young", now - 30 * minute)):
        url = known.find(f"{SITE}{name}")
        assert url is not None
        text = " ".join(article(len(name)))
        known.see(url, Page(f"{SITE}{name}", text=text, modified=stated), now + 60 * minute)
        assert known.fresh(url, now + 60 * minute, DAY) == (name == "young")


def test_what_a_start_links_to_is_looked_at_before_short_paths_further_on() -> None:
    """The list stands two folders deep, one link from the start; behind another such page are 200
    URLs of one part each."""
    begin = 1e9
    names = [f"page{number}" for number in range(200)]
    first = [f"about/{letter}" for letter in "abc"] + ["footer/news"]
    world = EvolvingWorld(
        [
            version(begin - 9 * DAY, "", ["Front."], *first),
            version(begin - 9 * DAY, "about/a", ["All."], *names),
            *(version(begin - 9 * DAY, name, article(at)) for at, name in enumerate(names)),
            *(version(begin - 9 * DAY, name, article(900)) for name in first[1:]),
        ],
        roots=[SITE],
        start=begin,
        end=begin + DAY,
    )
    fleet = fleet_of(world, Watching(), per_day=100)
    run(fleet, world, begin + 7_200, ChangeTracker(fleet))
    known = fleet.known
    asked = {url for url, at in zip(known.urls, known.fetched, strict=True) if at > NEVER}
    assert {f"{SITE}{name}" for name in first} <= asked
    assert len(asked) < 30


def test_urls_that_differ_in_what_says_nothing_are_one() -> None:
    known, again = IdleParameters(), IdleParameters()

    def left(path: str) -> str:
        """As both leave it, once they are the same."""
        again.load(unpack(pack(known.save())))
        both = {one.without(f"{SITE}{path}", "h") for one in (known, again)}
        return both.pop().removeprefix(SITE) if len(both) == 1 else str(both)

    for path in "wxy":
        for session in "abc":
            assert left(f"{path}?id=1&sid={session}") == f"{path}?id=1&sid={session}"
            known.see(f"{SITE}{path}?id=1&sid={session}", "h", ord(path))
            known.see(f"{SITE}{path}?id={session}", "h", ord(session))
        assert left(f"{path}?id=1&sid=q") == f"{path}?id=1"
        assert left(f"{path}?id=8&sid=q") == f"{path}?id=8"
    # What it does at another path is asked there, though one copy is enough.
    assert left("z?id=1&sid=q") == "z?id=1&sid=q"
    known.see(f"{SITE}z?sid=a", "h", 9)
    known.see(f"{SITE}z?sid=b", "h", 9)
    assert left("z?id=1&sid=q") == "z?id=1"
    assert known.without(f"{SITE}x?id=1&sid=q", "other") == f"{SITE}x?id=1&sid=q"
    for number in range(3):
        known.see(f"{SITE}z?sid={number}", "h", 10 + number)
    assert left("z?id=1&sid=q") == "z?id=1&sid=q", "it says something now and then"


@pytest.mark.long
@pytest.mark.parametrize("listed", [0, 20])
def test_copies_at_one_path_take_no_news_of_another(listed: int) -> None:
    """A page of the site, or of another site, links to one page by many numbers; news are told
    apart by such numbers."""
    begin, other = 1e9, "http://evil.example/"
    for linking in (SITE, other):
        copies = [f"about?id={number}" for number in range(listed)]
        versions = [version(begin - DAY, name, article(99)) for name in copies]
        urls = tuple(f"{SITE}{name}" for name in copies)
        versions.append(Version(begin - 5, f"{linking}list", "E", "List.", urls))
        versions.append(version(begin - 5, "", ["Front."], "list"))
        versions.append(Version(begin - 5, other, "E", "Front.", (f"{other}list",)))
        names = [f"news?id={number}" for number in range(6)]
        for number, name in enumerate(names):
            at = begin + 1_000 + 600 * number
            versions.append(version(at - 10, name, article(number)))
            versions.append(version(at, "", [f"Front {name}."], "list", *names[: number + 1]))
        world = EvolvingWorld(versions, roots=[SITE, other], start=begin, end=begin + DAY)
        fleet = fleet_of(world, Watching(), delay=20.0, seeds=[SITE, other])
        lines = run(fleet, world, begin + 6_000, ChangeTracker(fleet))
        told = {line["url"].removeprefix(SITE) for line in lines if line["kind"] == "new"}
        assert told == {*names}, linking


def test_a_feed_says_where_to_look() -> None:
    """A page that it says has changed goes first; one that is always wrong is believed no more."""
    fleet = fleet_of(EvolvingWorld([version(0, "", [])], roots=[SITE], start=0, end=1), Watching())
    known, source = fleet.known, fleet.known.number(f"{SITE}feed")
    pages = [known.number(f"{SITE}p{n}") for n in range(12)]
    for at in pages:
        known.see(at, Page(known.urls[at], text=f"Sentence {at} here. Another one."), 100.0)
    feed = Page(
        f"{SITE}feed",
        flags=frozenset({"feed"}),
        text="feed",
        links=[],
        dated=tuple((known.urls[at], 200.0) for at in pages),
    )
    known.see(source, feed, 300.0)
    hinted = known.links(source, feed, 300.0)
    assert hinted == []  # it has no links, only dates
    for at in pages:
        known.hints.add(at, source)
    step = fleet.next(400.0)
    assert isinstance(step, Fetch)
    assert step.choice.link == pages[0]
    fleet.receive(Fetched(step.ticket, Page(step.url, text="Sentence 2 here. Another one.")), 401.0)
    for at in pages:
        known.unchanged(at, 500.0)
    assert not known.hints.open
    assert not known.hints.believed(source)


@pytest.mark.parametrize("quiet", [0, 20])
@pytest.mark.parametrize("who", ["writer {0}", "ann", "{1} with {0}"])
def test_a_line_of_numbers_that_is_another_one_now_and_then_is_told_a_few_times(
    who: str, quiet: int
) -> None:
    """As one of who wrote most today, also after a quiet night; what comes beside it is told."""
    contents, text = Contents(), article(3)

    def line(at: int) -> str:
        writer = who.format(at // 2, ("ann", "bob", "cas")[at // 4 % 3])
        return f"Those who have written are nine in ten of us and now {at // 2} and it is {writer}."

    told = list[bool]()
    for at in range(24 + quiet):
        its = [*text, line(max(0, at - quiet)), "And so on."]
        page = Page(f"{SITE}a", title="Numbers", text=" ".join(its))
        told.append(contents.see(0, "h", page) is not None)
    assert sum(told) <= 2
    its = [*text, "A new one is here.", line(24)]
    change = contents.see(0, "h", Page(f"{SITE}a", title="Numbers", text=" ".join(its)))
    assert change is not None
    assert change.added == ("A new one is here.",)


def test_a_table_of_which_another_row_changes_at_each_second_look_is_told_a_few_times() -> None:
    """As the index of a board, with the counts and the last thread of each part: no row changes
    often by itself, and the index was told whenever anybody had written anywhere."""
    contents, random, told = Contents(), Random(7), 0
    parts = "Plants Birds Food Geology Mammals Railways Writers Rivers Insects Towns".split()
    rows = {one: (30 + at, 80 + at, sentence(random).split()[:2]) for at, one in enumerate(parts)}

    def table(more: str = "") -> Page:
        lines = [
            f"{one} {one} {threads} {posts} {' '.join(last)} by {last[0]}y."
            for one, (threads, posts, last) in rows.items()
        ]
        return Page(f"{SITE}a", title="A board", text=" ".join([*lines, more, "And so on."]))

    for at in range(80):
        if at % 2:
            one = random.choice(parts)
            threads, posts, _ = rows[one]
            rows[one] = threads + at % 4 // 2, posts + 1, sentence(random).split()[:2]
        told += contents.see(0, "h", table()) is not None
    assert told <= 8
    change = contents.see(0, "h", table("A part for kilns is new here, says the admin."))
    assert change is not None
    assert change.added == ("A part for kilns is new here, says the admin.",)


def test_an_article_is_told_each_time_that_a_sentence_of_it_is_corrected() -> None:
    """Its corrections are no numbers, though as many and as often as those of a table."""
    contents, random, told = Contents(), Random(8), 0
    text = [sentence(random) for _ in range(12)]
    for at in range(24):
        if at % 2:
            words = text[at // 2].split()
            text[at // 2] = " ".join([*words[:-2], "another", words[-1]])
        page = Page(f"{SITE}a", title="Kilns", text=" ".join(text))
        told += contents.see(0, "h", page) is not None
    assert told == 12


def test_what_gives_way_to_something_else_at_each_second_look_is_news_and_a_counter_is_none() -> (
    None
):
    """Also one that stands now here, now there."""
    contents, random, told, counted = Contents(), Random(5), 0, 0
    for at in range(20):
        if at % 2 == 0:
            some = sentence(random)
        page = Page(f"{SITE}a", title="Kilns", text=" ".join([*article(3), some, "And so on."]))
        told += contents.see(0, "h", page) is not None
        text = article(4)
        text.insert(1 + at // 2 % 2 * 4, f"In all {at // 2} people came to see it here today.")
        counter = Page(f"{SITE}b", title="Numbers", text=" ".join(text))
        counted += contents.see(1, "h", counter) is not None
    assert (told, counted) == (9, 2)


@pytest.mark.parametrize("every", [2, 6])
def test_a_sentence_that_is_edited_now_and_then_is_news_each_time(every: int) -> None:
    contents, text, told = Contents(), article(3), 0
    for at in range(8 * every):
        its = " ".join(
            [*text, f"By now {at // every} are lit, as the potters say, of these kilns."]
        )
        page = Page(f"{SITE}a", title="Kilns", text=f"{its} And so on.")
        told += contents.see(0, "h", page) is not None
    assert told == (7 if every == 6 else 2)


NOTICE = "The specified talk does not exist. Log in or look for others."


@pytest.mark.parametrize("whole", [True, False], ids=["a page", "the site"])
def test_a_document_of_which_nothing_is_left_is_gone_while_its_site_is_there(whole: bool) -> None:
    """Once, and with status 200, too; while all of the site says that little, none of it is."""
    begin, kiln = 1e9, [*article(1), "The kiln is lit."]
    at = begin + 5_000.0
    world = EvolvingWorld(
        [
            version(begin - 5, "", ["Front.", *article(5)], "a"),
            version(begin + 100, "", ["Front.", *article(5)], "a", "b"),
            version(begin + 90, "b", kiln),
            version(begin - 5, "a", article(6)),
            Version(at, f"{SITE}b", "The board", NOTICE),
            *([] if whole else [Version(at, f"{SITE}{one}", "The board", NOTICE) for one in "a"]),
            *([] if whole else [Version(at, SITE, "The board", NOTICE)]),
            version(begin + 40_000.0, "b", kiln),
        ],
        roots=[SITE],
        start=begin,
        end=begin + DAY,
    )
    fleet = fleet_of(world, Watching(TextPattern("kiln is lit")), delay=200.0)
    tracker = ChangeTracker(fleet)
    lines = run(fleet, world, begin + 39_000.0, tracker)
    told = [(line["kind"], line["url"].removeprefix(SITE)) for line in lines]
    assert told == [("new", "b"), ("gone", "b")][: 1 + whole]
    again = fleet_of(world, Watching(TextPattern("kiln is lit")), delay=200.0)
    again.load(unpack(pack(fleet.save())))
    assert pack(again.save()) == pack(fleet.save())
    lines = run(fleet, world, begin + 50_000.0, tracker)
    assert lines == [], "what returns is not new"


def test_a_document_that_says_nothing_is_looked_at_once_more_ten_minutes_later() -> None:
    """Not where its server says by then that nothing is there."""
    world = EvolvingWorld([version(0, "", [])], roots=[SITE], start=0, end=1)
    known = fleet_of(world, Watching(TextPattern("kiln is lit"))).known
    url, text = known.number(f"{SITE}b"), " ".join([*article(1), "The kiln is lit."])
    known.see(url, Page(f"{SITE}b", title="Kilns", text=text), 1e9)
    empty = Fetched(0, Page(f"{SITE}b", title="The board", text=NOTICE))
    assert isinstance(known.without_lost(empty, url, 1e9 + 100), Failed)
    known.tried(url, 1e9 + 100)
    assert known.again == {url: 1e9 + 700}
    known.absent(url, 1e9 + 700)
    known.tried(url, 1e9 + 700)
    assert not known.again


def test_a_document_where_nothing_was_is_told_though_elsewhere_nothing_is_either() -> None:
    """With status 200, as a forum says of each number that it has not given yet."""
    begin = 1e9
    pages = [Version(begin - 5, f"{SITE}{one}", "The board", NOTICE) for one in "xy"]
    pages.append(version(begin + 5_000.0, "y", [*article(1), "The kiln is lit."]))
    front = version(begin - 5, "", ["Front.", *article(5)], "x", "y")
    world = EvolvingWorld([front, *pages], roots=[SITE], start=begin, end=begin + DAY)
    fleet = fleet_of(world, Watching(TextPattern("kiln is lit")), delay=200.0)
    lines = run(fleet, world, begin + 39_000.0, ChangeTracker(fleet))
    assert [line["url"] for line in lines] == [f"{SITE}y"]


def test_what_changes_on_a_page_that_lists_others_is_told_where_it_leads() -> None:
    begin = 1e9
    fleet = fleet_of(
        EvolvingWorld([version(0, "", [])], roots=[SITE], start=0, end=1),
        Watching(TextPattern("kiln")),
    )
    tracker, told = ChangeTracker(fleet), list[list[Line]]()
    for name, flags in (("list", frozenset({"list"})), ("page", frozenset[str]())):
        for at in range(3):
            text = " ".join([*article(len(flags)), f"The kiln number {at} is lit in the morning."])
            its = Page(f"{SITE}{name}", title=name, text=text, flags=flags)
            url = fleet.known.number(its.url)
            fleet._flights[at] = (url, 0)
            step = fleet.receive(Fetched(at, its), begin + at)
            told.append(tracker.lines(step, begin + at))
    assert [[line["kind"] for line in lines] for lines in told] == [
        [], [], [], [], ["changed"], ["changed"]
    ]  # fmt: skip


def test_a_sitemap_that_is_not_there_takes_no_turns_of_others() -> None:
    """Every site is asked for one."""
    world = EvolvingWorld(
        [version(-5, "", ["Front."], "a"), version(-5, "a", article(5))],
        roots=[SITE],
        start=0,
        end=10 * DAY,
    )
    fleet = fleet_of(world, Watching(), delay=2_000.0)
    sitemap = fleet.known.number(f"{SITE}sitemap.xml", parent=0)
    fleet.known.sitemaps.add(sitemap)
    asked, answer = Counter[str](), world.answer

    def noted(fetch: Fetch) -> Reply:
        asked[fetch.url.removeprefix(SITE)] += 1
        return answer(fetch)

    world.answer = noted  # type: ignore[method-assign]
    run(fleet, world, 5 * DAY, ChangeTracker(fleet))
    assert 0 < asked["sitemap.xml"] < 0.2 * asked[""]


@pytest.mark.parametrize("front", [frozenset[str](), frozenset({"noindex"})])
def test_a_view_that_is_not_for_search_engines_is_not_told(front: frozenset[str]) -> None:
    """As a version of a page of a wiki, also where that is read first. Where all of a site is not
    for them, that says nothing."""
    world = EvolvingWorld([version(0, "", [])], roots=[SITE], start=0, end=1)
    fleet = fleet_of(world, Watching(TextPattern("kiln")))
    tracker, told = ChangeTracker(fleet), list[str]()
    closed = frozenset({"noindex", "nofollow"})
    pages = (
        ("", front, 0),
        ("a", front, 1),
        ("a?version=2", closed, 2),
        ("b?version=1", closed, 3),
    )
    for at, (name, flags, content) in enumerate((*pages, ("b", front, 3))):
        text = " ".join([*article(content), "The kiln is lit in the morning."])
        url = fleet.known.number(f"{SITE}{name}", 1e9 if at else NEVER, at and 0, 1e9)
        fleet._flights[at] = (url, 0)
        its = Page(f"{SITE}{name}", title=name, text=text, flags=flags)
        lines = tracker.lines(fleet.receive(Fetched(at, its), 1e9 + at), 1e9 + at)
        told += [line["url"].removeprefix(SITE) for line in lines]
    assert told == ["a", *(["a?version=2", "b?version=1"] if front else ["b"])]


def test_the_page_of_all_tags_of_a_site_is_told_neither_as_new_nor_as_changed() -> None:
    """It has the words of all topics. Who says that it is wanted is told of it."""
    world = EvolvingWorld([version(0, "", [])], roots=[SITE], start=0, end=1)
    fleet, told = fleet_of(world, Watching(TextPattern("kiln"))), list[str]()
    tracker = ChangeTracker(fleet)
    for at, name in enumerate(["", "tags/", "tags/", "tags/kilns/", "page"]):
        text = " ".join([*article(at), "The kiln is lit in the morning."])
        url = fleet.known.number(f"{SITE}{name}", 1e9 if at else NEVER, at and 0, 1e9)
        fleet._flights[at] = (url, 0)
        its = Fetched(at, Page(f"{SITE}{name}", title=name, text=text))
        lines = tracker.lines(fleet.receive(its, 1e9 + at), 1e9 + at)
        told += [line["url"].removeprefix(SITE) for line in lines]
    assert told == ["tags/kilns/", "page"]
    for _ in range(2):
        fleet.relabel(f"{SITE}tags/", True, 1e9 + 5)
        told += [line["url"].removeprefix(SITE) for line in tracker.found(1e9 + 5)]
    assert told[2:] == ["tags/"]
