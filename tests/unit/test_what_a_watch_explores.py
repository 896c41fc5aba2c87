"""Of what stood there at the first look, a watch explores lists and what is likely to be on topic."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from kiln_watch import LIT, fleet_of
from noisy_news import article
from spoor.durations import DAY
from spoor.foragers.revisit import ChangeRate
from spoor.foragers.states import NoStates
from spoor.judges.facts import TextPattern
from spoor.learn.state import pack, unpack
from spoor.types import Anchor, Fetch, Link, Page, Sleep
from spoor.watching.known_urls import Known
from spoor.watching.urls import NEVER
from spoor.watching.watching import Watching
from spoor.web.url_groups import shape
from spoor.worlds.evolving import EvolvingWorld, Version

SITE = "http://blog.example/"
BEGIN = 1e9
TAGS, POSTS = 150, 150


def blog() -> EvolvingWorld:
    """A front page with all tags of a weblog, each a short path and linked often, and ten pages of
    posts, a third of which is on topic; no tag is."""
    posts = [f"{SITE}2024/{1 + number % 12:02}/post{number}/" for number in range(POSTS)]
    tags = [f"{SITE}tag/word{chr(97 + number % 26)}{number}/" for number in range(TAGS)]
    pages = [f"{SITE}page/{number}/" for number in range(10)]
    versions = [Version(BEGIN - DAY, SITE, "Front", "Front.", (*pages, *tags))]
    for number, url in enumerate(pages):
        shown = tuple(posts[number::10])
        versions.append(Version(BEGIN - DAY, url, url, f"Page {number}.", (*shown, *tags)))
    for number, url in enumerate(posts):
        text = " ".join([*article(number), *([LIT] if number % 3 == 0 else [])])
        versions.append(Version(BEGIN - 90 * DAY, url, url, text, tuple(tags[:9])))
    for number, url in enumerate(tags):
        versions.append(Version(BEGIN - 90 * DAY, url, url, f"Tag {number}.", (posts[number],)))
    return EvolvingWorld(versions, roots=[SITE], start=BEGIN, end=BEGIN + DAY)


def test_what_is_likely_to_be_on_topic_is_explored_beside_lists() -> None:
    """All tags came first, as short paths that many pages link to, so that no document that stood
    there was known, and none of its edits."""
    world, fleet, now, first = blog(), fleet_of(SITE, 600), BEGIN, Counter[str]()
    while now < world.end and first.total() < 120:
        step = fleet.next(now)
        if isinstance(step, Sleep):
            now = step.until
            world.advance(min(now, world.end))
            continue
        assert isinstance(step, Fetch)
        known = fleet.known
        if known.fetched[known.number(step.url)] == NEVER:
            first[step.url.removeprefix(SITE)[:3]] += 1
        now += 0.5
        fleet.receive(world.answer(step), now)
        if fleet.counts.requests % 40 == 0:
            before, fleet = fleet, fleet_of(SITE, 600)
            fleet.load(unpack(pack(before.save())))  # it goes on as it was
    assert first["202"] >= 40
    assert first["tag"] >= 40


@pytest.mark.parametrize(("linking", "fresh"), [(6, True), (3, False)], ids=["all", "some"])
def test_old_pages_that_link_to_a_document_make_it_older_unless_all_do(
    linking: int, fresh: bool
) -> None:
    """A weblog names its newest posts beside each of its posts: of six old ones that are read
    first after a new one came, all link to it. It came, and was told as old, to whoever read an old
    post before the front page was looked at again."""
    known = Known(NoStates(), None, Watching(TextPattern("kiln is lit")))
    new, olds = f"{SITE}new/", [f"{SITE}old{number}/" for number in range(12)]

    def look(url: str, at: float, published: float, *links: str) -> int:
        number = known.number(url)
        text = f"{' '.join(article(len(url)))} {url} {LIT}"
        dated = ((url, published),)
        targets = [Link(link) for link in links]
        page = Page(url, text=text, main=text, links=targets, modified=published, dated=dated)
        known.see(number, page, at)
        known.links(number, page, at)
        return number

    look(SITE, BEGIN, BEGIN - 90 * DAY, *olds)
    for at, url in enumerate(olds[:6]):
        look(url, BEGIN + 100 + at, BEGIN - (40 + at) * DAY)
    came = BEGIN + 1_000
    for at, url in enumerate(olds[6:]):
        links = [new] if at < linking else []
        look(url, came + 100 + at, BEGIN - (60 + at) * DAY, *links)
    number = look(new, came + 200, came)
    assert known.fresh(number, came + 200, DAY) is fresh


def test_what_a_kind_of_pages_brings_corrects_what_is_expected_of_the_others() -> None:
    """Less of each archive where none of many has brought anything for a day, and more of each
    document where others are edited; of the archive that brought something as much as before."""
    fleet = fleet_of(SITE, 600)
    crew, known = fleet.crew, fleet.known
    assert isinstance(crew, ChangeRate)
    rates, watching = crew.pages, known.watching
    assert watching is not None
    lists = [known.number(f"{SITE}list{number}", NEVER, 0) for number in range(40)]
    texts = [known.number(f"{SITE}text{number}", NEVER, 0) for number in range(40)]
    for at in lists:
        known.introduced[at] = 30
    for at in texts:
        page = Page(known.urls[at], text=f"{LIT} {at}")
        watching.take(at, "blog.example", page, first=True)

    def look(pages: list[int], now: float) -> None:
        for at in pages:
            known.version[at] = max(1, known.version[at])
            rates.catch_up()
            rates.shown(at, now, fetched=True)
            rates.asked(at, now, fetched=True)

    look([*lists, *texts], BEGIN)
    before = rates.pay(BEGIN)
    rates.changes[lists[0]] += 1
    paying = rates.pay(BEGIN)[lists[0]]
    for at in texts[1:9]:
        known.version[at] = 2
    look([*lists, *texts], BEGIN + DAY)
    after = 2 * rates.pay(BEGIN + DAY)  # over two days, the one that is assumed among them
    assert after[lists[1]] < before[lists[1]] / 10
    assert after[lists[0]] > 0.75 * paying
    assert after[texts[0]] > 3 * before[texts[0]]
    again = fleet_of(SITE, 600)
    again.load(unpack(pack(fleet.save())))
    assert again.crew.pages.pay(BEGIN + DAY) == pytest.approx(rates.pay(BEGIN + DAY))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("tag/kilns/", "tag/wine/", True),
        ("2024/03/05/a-fire/", "2023/11/30/wine/", True),
        ("tag/kilns/", "category/kilns/", False),
        ("2024/03/", "2024/03/05/a-fire/", False),
        ("wiki/Kiln", "wiki/Category:Kilns", False),
        ("showthread.php?tid=3", "showthread.php?tid=17", True),
        ("showthread.php?tid=3", "showthread.php?pid=3&tid=3", False),
        ("news/kiln.html", "news/kiln.pdf", False),
    ],
)
def test_urls_of_one_template_have_one_shape(one: str, other: str, alike: bool) -> None:
    assert (shape(SITE + one) == shape(SITE + other)) is alike


@pytest.mark.parametrize("by", ["list", "feed", "old list", "old feed"])
def test_what_another_page_shows_first_is_new_once_its_list_shows_it(by: str) -> None:
    """A post without a date comes, and a page of a tag that is explored just then shows it before
    the front page, or the feed, is looked at again. It was taken for one that had always been
    there, and never told. One that the front page or the feed was not asked about since it came to
    be known is old."""
    known = Known(NoStates(), None, Watching(TextPattern("kiln is lit")))
    hub, tag, new = f"{SITE}hub/", f"{SITE}tag/kilns/", f"{SITE}new/"
    olds = [f"{SITE}old{number}/" for number in range(12)]
    dates = {url: BEGIN - (at + 1) * DAY for at, url in enumerate(olds)} | {new: BEGIN + 900}

    def look(url: str, at: float, *links: str, text: str = "") -> int:
        number = known.number(url)
        placed = [
            Link(link, Anchor(f"Post {link}", tag_path="html/body/main/ul/li/a", region="main"))
            for link in links
        ]
        page = Page(url, text=text, main=text, links=placed)
        if url == hub and "feed" in by:
            flags = frozenset({"feed", "not-html"})
            page = replace(page, flags=flags, dated=tuple((link, dates[link]) for link in links))
        known.see(number, page, at)
        known.links(number, page, at)
        return number

    look(hub, BEGIN, *olds[:10])
    if "old" in by:
        look(tag, BEGIN + 500, new, *olds[:5])
        look(hub, BEGIN + 600, *olds[:10])
    else:
        look(tag, BEGIN + 1_000, new, *olds[:5])
    number = look(new, BEGIN + 1_100, text=f"{' '.join(article(3))} {LIT}")
    assert not known.fresh(number, BEGIN + 1_100, DAY)
    look(hub, BEGIN + 1_200, new, *olds[:9])
    is_new = "old" not in by
    assert known.fresh(number, BEGIN + 1_200, DAY) is is_new
    assert known.released == ([number] if is_new else [])


def test_what_is_young_and_off_topic_is_looked_at_again_as_long_as_some_come_to_the_topic() -> None:
    """A comment brought 18 of 32 documents that a watch missed to the topic, within a day or two
    of their coming: they had been read once, and were asked for again after days."""
    fleet = fleet_of(SITE, 600)
    crew, known = fleet.crew, fleet.known
    assert isinstance(crew, ChangeRate)
    rates = crew.pages
    old = known.number(f"{SITE}old", NEVER, 0)
    young = [known.number(f"{SITE}young{number}", BEGIN, 0, BEGIN) for number in range(40)]

    def look(pages: list[int], now: float) -> None:
        for at in pages:
            known.see(at, Page(known.urls[at], text=f"Salt {at}."), now)
            rates.catch_up()
            rates.asked(at, now, fetched=True)
            rates.shown(at, now, fetched=True)

    look([old, *young], BEGIN)
    before = rates.pay(BEGIN)
    assert before[young[0]] > 20 * before[old]
    look(young, BEGIN + DAY)
    barren = rates.pay(BEGIN + DAY)
    assert barren[young[0]] < before[young[0]] / 3, "none of forty came to it in a day"
    look(young, BEGIN + 3 * DAY)
    assert rates.prior[young[0]] == rates.prior[old], "none is young any more"


def test_young_pages_get_few_of_the_looks_before_one_came_to_the_topic() -> None:
    fleet = fleet_of(SITE, 600)
    crew, known = fleet.crew, fleet.known
    assert isinstance(crew, ChangeRate)
    rates, watching = crew.pages, known.watching
    assert watching is not None
    young = [known.number(f"{SITE}young{number}", BEGIN, 0, BEGIN) for number in range(40)]

    def look(page: int, now: float, text: str) -> None:
        known.see(page, Page(known.urls[page], text=text), now)
        rates.catch_up()
        rates.asked(page, now, fetched=True)
        rates.shown(page, now, fetched=True)

    def share(now: float) -> float:
        visits = np.sqrt(rates.explored(known.host_numbers(), now))
        return float(visits[young[1:]].sum() / visits.sum())

    for page in young:
        look(page, BEGIN, f"Salt {page}.")
    look(known.number(SITE), BEGIN, "Front.")
    assert share(BEGIN) < 0.06
    look(young[0], BEGIN + 3_600, f"Salt. {LIT}")
    assert share(BEGIN + 3_600) > 0.3


def test_what_is_like_pages_that_led_to_nothing_new_is_explored_last() -> None:
    """Each of 384 tags of a weblog has a feed, which was explored beside its pages."""
    fleet = fleet_of(SITE, 600)
    crew, known = fleet.crew, fleet.known
    assert isinstance(crew, ChangeRate)
    known.number(SITE)
    feeds = [known.number(f"{SITE}tag/word{at}/feed", NEVER, 0) for at in range(20)]
    pages = [known.number(f"{SITE}a/b/c/d/page{at}.html", NEVER, 0) for at in range(20)]
    known.tried(0, BEGIN)

    def first() -> set[int]:
        return set(crew._turns._fresh(known.host_numbers())[0][:15].tolist())

    assert first() <= set(feeds), "the shorter paths first"
    for feed in feeds[:5]:
        known.tried(feed, BEGIN)
        crew._turns.read(feed)
    assert len(first() & set(pages)) >= 10
