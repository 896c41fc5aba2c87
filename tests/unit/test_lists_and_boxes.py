"""Which links of a page are news: lists of stories, and boxes that show what is old."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisy_news import article
from spoor.durations import DAY, HOUR
from spoor.foragers.fleet import Fleet
from spoor.foragers.fleets import FleetTask, change_rate
from spoor.foragers.states import NoStates
from spoor.isolate.parsing import parse_page
from spoor.judges.facts import TextPattern
from spoor.learn.state import pack, unpack
from spoor.live.changes import ChangeTracker, Line
from spoor.types import Anchor, Failed, Fetch, Fetched, Judgement, Link, Page, Redirected, Sleep
from spoor.watching.hints import Hints, by_lists
from spoor.watching.hosts import Hosts
from spoor.watching.list_moves import CAME, ROSE, WENT, Move, moves, risen
from spoor.watching.teaser_lists import MOST_PAGES, SURE, Age, Boxes, Spot, spots
from spoor.watching.watching import Watching
from spoor.web.dates import date_of_url
from spoor.web.other_ways import narrows
from spoor.web.sentences import content

SITE, HOST = "http://news.example/", "news.example"
NEWS, BOX = Spot(1, 1, True), Spot(2, 2, True)


class Site:
    """Lists of one page as they are looked at, an hour after the other."""

    def __init__(self, old: int = 0, every: float = HOUR) -> None:
        self.boxes, self.now, self.every = Boxes(), 1e9, every
        self.known = dict.fromkeys(range(1000, 1000 + old), 0.0)

    def look(self, orders: frozenset[int] = frozenset(), **lists: list[int]) -> set[int]:
        """Those of the links that came and are believed, at once or since this look."""
        links = [
            (spot, url)
            for name, spot in (("news", NEWS), ("box", BOX))
            for url in lists.get(name, ())
        ]
        before, self.now = self.now, self.now + self.every
        came = [url for _, url in links if url not in self.known]
        self.known.update(dict.fromkeys(came, self.now))

        def age(url: int) -> Age:
            born = self.known[url]
            return "new" if born == self.now else "young" if born else "old"

        found = set(self.boxes.look(7, HOST, links, age, before, self.now, orders))
        for url in found:
            self.boxes.held.pop(url, None)
        for url in came:
            if self.boxes.believes(url):
                found.add(url)
            else:
                self.boxes.held[url] = self.now
        return found


def test_what_comes_first_below_the_heads_of_a_table_is_news() -> None:
    """The heads lead to the same page in another order, and stay."""
    assert narrows(f"{SITE}board?id=5&sort=subject", f"{SITE}board?id=5")
    for other in ("board?id=5", "board?id=6&sort=subject", "thread?id=5&page=2"):
        assert not narrows(f"{SITE}{other}", f"{SITE}board?id=5")
    assert not narrows(f"{SITE}?p=12", SITE), "a page of a weblog"
    heads = frozenset({90, 91})
    for orders, found in ((heads, {6}), (frozenset[int](), set[int]())):
        site = Site()
        site.look(orders, news=[90, 91, 5, 4, 3, 2])
        assert site.look(orders, news=[90, 91, 6, 5, 4, 3]) == found


def test_what_comes_first_in_a_list_that_keeps_the_others_is_news() -> None:
    site = Site()
    site.look(news=[5, 4, 3, 2])
    assert site.look(news=[6, 5, 4, 3]) == {6}
    assert site.look(news=[8, 7, 6, 5]) == {7, 8}
    assert site.look(news=[9, 8, 7, 6, 5]) == {9}  # nothing left
    assert site.look(news=[10, 9, 7, 6, 5]) == {10}, "one was withdrawn"


def test_a_list_with_the_newest_last_grows_too() -> None:
    site = Site()
    site.look(news=[2, 3, 4, 5])
    assert site.look(news=[3, 4, 5, 6]) == {6}


@pytest.mark.parametrize("after", [[1, 9, 3, 4], [9, 2, 3, 4], [4, 3, 9, 1], [7, 8, 9, 10]])
def test_what_comes_in_the_place_of_others_is_held(after: list[int]) -> None:
    site = Site()
    site.look(box=[1, 2, 3, 4])
    assert site.look(box=after) == set()
    assert set(site.boxes.held) == {url for url in after if url > 4}
    site.boxes.moved(after[-1], 99)
    site.boxes.moved(98, 98)
    assert site.boxes.believes(99) == (after[-1] <= 4), "it is held where it redirects to, too"
    assert site.boxes.believes(98)


def test_what_a_list_of_stories_shows_is_news_wherever_it_was_shown_first() -> None:
    site = Site()
    site.look(news=[5, 4, 3, 2], box=[1, 2, 3])
    assert site.look(news=[5, 4, 3, 2], box=[6, 8, 9]) == set()
    assert site.look(news=[6, 5, 4, 3], box=[6, 8, 9]) == {6}
    assert set(site.boxes.held) == {8, 9}


def test_a_box_that_shows_what_is_young_is_believed_and_one_that_shows_what_is_old_is_not() -> None:
    site, told = Site(old=40), set[int]()
    archive, rng = [*range(1_000, 1_040), *range(2_000, 2_040)], Random(3)
    site.look(news=[5, 4, 3, 2], box=rng.sample(archive, 6))
    for number in range(6, 60):
        news = [number, number - 1, number - 2, number - 3]
        told |= site.look(news=news, box=rng.sample(archive, 6))
    assert told == set(range(6, 60))
    hero = Site()
    hero.look(news=[4, 3, 2, 1], box=[5])
    found = [hero.look(news=[at - 1, at - 2, at - 3, at - 4], box=[at]) for at in range(6, 40)]
    assert found[-1] == {39}, "each stood in the list an hour later"
    assert set().union(*found) == set(range(6, 40))


def test_where_a_site_has_no_list_of_stories_its_boxes_are_believed_in_time() -> None:
    """Else nothing would be told of a front page that is made by hand."""
    site = Site()
    site.look(box=[1, 2, 3])
    found = [site.look(box=[at, at + 1, at + 2]) for at in range(10, 130, 3)]
    assert found[0] == set()
    assert set().union(*found) == set(range(10, 130)), "the first ones late"
    weekly = Site(every=7 * DAY)
    weekly.look(box=[1, 2, 3])
    assert weekly.look(box=[4, 5, 6]) == {4, 5, 6}, "none of a week ago is left in any list"


def test_dates_say_which_boxes_show_what_is_young() -> None:
    for young in (True, False):
        site = Site()
        site.look(news=[5, 4, 3, 2], box=[1, 2, 3])
        for at in range(6, 6 + SURE):
            site.look(news=[at, at - 1, at - 2, at - 3], box=[1, 2, 3])
        assert site.look(box=[100, 101, 102]) == set()
        released = [url for at in (100, 101) for url in site.boxes.dated(at, young=young)]
        assert (102 in released) == young


links_of_looks = st.lists(
    st.tuples(st.lists(st.integers(0, 30), max_size=8), st.lists(st.integers(0, 30), max_size=8)),
    max_size=20,
)


@given(links_of_looks)
def test_each_is_believed_or_held_and_a_site_that_was_saved_goes_on_the_same(
    looks: list[tuple[list[int], list[int]]],
) -> None:
    site, told = Site(), set[int]()
    for at, (news, box) in enumerate(looks):
        if at == len(looks) // 2:
            saved = unpack(pack(site.boxes.save()))
            again = Boxes()
            again.load(saved)
            assert pack(again.save()) == pack(site.boxes.save())
            site.boxes = again
        found = site.look(news=news, box=box)
        assert not found & told, "told once"
        told |= found
    assert told.isdisjoint(site.boxes.held)
    site.boxes.leave(range(31))
    assert not site.boxes.held


def test_memory_is_bounded() -> None:
    boxes = Boxes()
    for page in range(MOST_PAGES + 10):
        boxes.look(page, HOST, [(NEWS, page)], lambda _: "old", 0.0, 1.0)
    assert len(boxes.save()["placed"]) == MOST_PAGES


def test_hints_of_few_markups_are_counted_and_those_of_all_pages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Hints, "MOST_MARKUPS", 3)
    hints = Hints()
    for at in range(6):
        for source in (at, by_lists(at, ROSE)):
            hints.add(at, source)
            hints.settle(at, right=True)
    assert hints.counts().keys() == {*range(6), *(by_lists(at, ROSE) for at in (3, 4, 5))}


# -- on pages


def test_where_links_stand_is_told_by_markup_and_heading_and_not_by_item() -> None:
    def placed(body: str) -> dict[str, Spot]:
        page = parse_page(body.encode(), SITE, content_type="text/html", main=True)
        found = spots(page.links, HOST, page.title)
        return {link.url[-1]: spot for link, spot in zip(page.links, found, strict=True)}

    items = "".join(f'<li id="post-{at}" class=n{at}><a href=/{at}>{at}</a></li>' for at in "123")
    more = "".join(f"<li><a href=/{at}>{at}</a></li>" for at in "456")
    its = placed(
        f"<title>Paper</title><h2>Latest</h2><ul>{items}</ul><h2>Most read</h2><ul>{more}</ul>"
    )
    assert len({its[at].list for at in "123"}) == len({its[at].list for at in "456"}) == 1
    assert its["1"].list != its["4"].list
    assert its["1"].path == its["4"].path
    assert spots([Link(SITE, Anchor("no markup"))], HOST, "") == [Spot(0, 0, True)]


class Paper:
    """A site by the clock: each hour a story, and a box with others of its archive."""

    def __init__(self, *, dated: str = "", box: str = "Most read") -> None:
        self.start = self.now = 1_700_000_000.0
        self.dated, self.box = dated, box

    def answer(self, url: str) -> Page:
        name = url.removeprefix(SITE)
        hours = 1_000 + int((self.now - self.start) / HOUR)
        if name:
            number = int(name.rpartition("-")[2])
            text = [*article(number), "The kiln is lit."]
            body = "".join(f"<p>{one}</p>" for one in text)
            at = self.start + (number - 1_000) * HOUR if name[0] == "s" else 1e9
            date = np.datetime64(int(at), "s")
            meta = f'<meta property="article:published_time" content="{date}Z">'
            edited = np.datetime64(int(self.now) - 90, "s")
            meta += f'<meta property="article:modified_time" content="{edited}Z">'
            head, extra = meta if self.dated == "pages" else "", ""
        else:
            links = [f"story-{at}" for at in range(hours, hours - 8, -1)]
            body = self.list_of(links)
            rng = Random(hours)
            extra = f"<h2>{self.box}</h2>" + self.list_of(
                [f"archive-{at}" for at in rng.sample(range(200), 6)]
            )
            head = ""
        html = f"<title>{name or 'Paper'}</title>{head}<h1>{name}</h1><h2>News</h2>{body}{extra}"
        return parse_page(html.encode(), url, content_type="text/html", main=True)

    @staticmethod
    def list_of(names: list[str]) -> str:
        return f"<ul>{''.join(f'<li><a href=/{name}>{name}</a></li>' for name in names)}</ul>"


def watched(paper: Paper, hours: float) -> list[Line]:
    watching = Watching(TextPattern("kiln is lit"))
    hosts = Hosts(delay=1.0, per_host=1, per_day=300)
    task = FleetTask([SITE], NoStates(), np.random.default_rng(0), hosts=hosts, watching=watching)
    fleet: Fleet = change_rate(task)
    tracker, lines, now = ChangeTracker(fleet), list[Line](), paper.start
    while now < paper.start + hours * HOUR:
        step = fleet.next(now)
        if isinstance(step, Sleep):
            now = max(step.until, now + 0.01)
            paper.now = now
            continue
        assert isinstance(step, Fetch)
        reply = Fetched(step.ticket, paper.answer(step.url), 0.1, 1_000)
        lines += tracker.lines(fleet.receive(reply, now), now)
    return lines


@pytest.mark.parametrize("dated", ["", "pages"])
def test_old_stories_of_a_box_are_not_told(dated: str) -> None:
    """Those of `pages` were edited a minute ago, and state when they were published, too."""
    lines = watched(Paper(dated=dated), 30)
    told = {line["url"].removeprefix(SITE) for line in lines if line["kind"] == "new"}
    assert not {name for name in told if name.startswith("archive")}
    assert {f"story-{at}" for at in range(1_001, 1_029)} <= told
    assert {line["kind"] for line in lines} == {"new"}


def test_dates_of_urls() -> None:
    def of(path: str) -> tuple[str, str] | None:
        found = date_of_url(f"http://2024.example/{path}")
        days = None if found is None else [str(np.datetime64(int(at), "s"))[:10] for at in found]
        return None if days is None else (days[0], days[1])

    assert of("2024/03/05/fire") == of("news/2024-03-05-fire") == of("20240305") == (
        "2024-03-05", "2024-03-05"
    )  # fmt: skip
    assert of("a/2024/12/fire") == ("2024-12-01", "2024-12-31")
    for path in (
        "",
        "2024/x",
        "2024/13/01/",
        "1234567890",
        "2024/031",
        "20240399",
        "x?/2024/03/05",
    ):
        assert of(path) is None, path


def test_an_undated_page_is_as_old_as_its_url_says_unless_those_of_its_host_are_wrong() -> None:
    watching, now = Watching(), 1_700_000_000.0  # 14 November 2023
    old, new = f"{SITE}2023/03/05/a", f"{SITE}2023/11/14/b"

    def date(url: str, published: float | None = None) -> float:
        dated = () if published is None else ((url, published),)
        page = Page(url, dated=dated)
        return watching.date(HOST, page, now, first=True, born=now - HOUR)

    assert date(old) < now - 200 * DAY
    assert date(new) == now - HOUR
    for at in range(3):
        assert date(old, now - 2 * HOUR - at) == now - 2 * HOUR - at
    assert date(old) == now - HOUR
    again = Watching()
    again.load(unpack(pack(watching.save())))
    assert again.date(HOST, Page(old), now, first=True, born=now - HOUR) == now - HOUR


def test_a_date_without_a_time_stands_for_its_day() -> None:
    """A story of yesterday, put online this afternoon, is news."""
    watching, now = Watching(), 1_700_000_000.0 // DAY * DAY + 15 * HOUR
    page = Page(SITE, dated=((SITE, now // DAY * DAY - DAY),))
    date = watching.date(HOST, page, now, first=True, born=now - HOUR)
    assert now - DAY < date < now - 15 * HOUR


def read(body: str, url: str = SITE) -> Page:
    html = f"<html><body>{body}</body></html>".encode()
    return parse_page(html, url, content_type="text/html", main=True)


STORY = "".join(f"<p>{one}</p>" for one in article(77))


def test_what_a_page_says_of_others_is_not_judged() -> None:
    box = "<aside><h2>Most read</h2><ul><li><a href=/b>The furnace is lit</a></li></ul></aside>"
    watching = Watching(TextPattern("furnace is lit"))
    story = f"<main><article><h1>News</h1>{STORY}</article></main>"
    watching.take(0, HOST, read(f"{story}{box}"), first=True)
    assert 0 not in watching.wanted
    watching.take(1, HOST, read(story.replace("</h1>", "</h1><p>The furnace is lit.</p>")), True)
    assert 1 in watching.wanted
    watching.take(2, HOST, read("<p>The furnace is lit.</p>"), first=True)
    assert 2 in watching.wanted, "of a page with hardly a main text all counts"
    watching = Watching(Headings())
    its = ("News", "The harbour", "Most read", "Advertisement")
    main = f"News\n{' '.join(article(77))}\nThe harbour is green."
    watching.take(0, HOST, Page(SITE, text=f"{main} Most read", main=main, headings=its), True)
    assert watching.verdicts[0][1] == [["News", 1.0], ["The harbour", 1.0]]


class Headings:
    """A judge that names the headings of a page as its reasons."""

    threshold = 0.5

    def judge(self, page: Page) -> Judgement:
        return Judgement(1.0, True, 1.0, tuple((one, 1.0) for one in page.headings))


def test_a_title_that_a_box_of_its_own_page_shows_is_no_change() -> None:
    def said(*shown: str) -> dict[int, str]:
        items = "".join(f"<li><a href=/{one}>News of the town</a></li>" for one in shown)
        story = f"<main><article><h1>News of the town</h1>{STORY}</article></main>"
        return content(read(f"{story}<aside><ul>{items}</ul></aside>", f"{SITE}a"))

    assert said("a") == said()
    assert said("b") != said()


def test_a_page_of_stories_that_others_showed_first_is_a_list_and_an_article_is_none() -> None:
    """Its changes are told at the stories. The newest ones beside an article make no list of it."""
    task = FleetTask(
        [SITE], NoStates(), np.random.default_rng(0), watching=Watching(TextPattern("lit"))
    )
    known = change_rate(task).known

    def teasers(numbers: range) -> str:
        return "".join(
            f"<li><a href=/{at}><h3>Story {at} of the town</h3></a><p>{article(at, 2)[0]}</p></li>"
            for at in numbers
        )

    def tag(first: int) -> Page:
        return read(f"<main><h1>Kilns</h1><ul>{teasers(range(first, first - 8, -1))}</ul></main>")

    def story(first: int) -> Page:
        newest = f"<aside><ul>{teasers(range(first, first - 8, -1))}</ul></aside>"
        return read(f"<main><article><h1>A kiln</h1>{STORY}</article></main>{newest}", f"{SITE}1")

    for at, first in enumerate((40, 41)):
        now = 1e9 + at * DAY
        for number, page in ((0, tag(first)), (known.number(f"{SITE}1"), story(first))):
            known.see(number, page, now)
            known.links(number, page, now)
    assert known.is_list(0)
    assert not known.is_list(known.number(f"{SITE}1"))


@pytest.mark.parametrize(
    ("before", "now", "rose"),
    [
        ([1, 2, 3, 4, 5, 6], [3, 1, 2, 4, 5, 6], {3}),
        ([*range(1, 10)], [1, 5, 99, 3, *(2, 4, 6, 7, 8, 9)], {1, 5, 3}),  # 1 may have risen
        ([1, 2, 3, 4, 5, 6], [9, 1, 2, 3, 4, 5], set()),
        ([1, 2, 3, 4, 5, 6], [4, 3, 2, 1, 5, 6], set()),  # in any order
        ([1, 2, 3, 4], [3, 1, 2, 4], set()),  # as of a few by chance
    ],
)
def test_what_stands_above_those_in_their_order_rose(
    before: list[int], now: list[int], rose: set[int]
) -> None:
    assert risen(before, now) == rose


def test_moves_in_lists() -> None:
    def of(before: list[int], now: list[int], elsewhere: tuple[int, ...] = ()) -> set[Move]:
        rows = [(8, 9, one) for one in elsewhere]
        its = ([(1, 2, url) for url in one] + rows for one in (before, now))
        return set(moves(*its))

    assert of([1, 2, 3, 4, 5, 6], [3, 1, 2, 4, 5, 6]) == {Move(3, ROSE, 1)}
    assert of([1, 2, 3, 4], [9, 1, 2, 3]) == {Move(9, ROSE, 1)}, "4 left at the end"
    assert of([1, 2, 3, 4], [1, 2, 9, 4]) == {Move(9, CAME, 1), Move(3, WENT, 1)}
    assert of([1, 2, 3, 4], [1, 2, 4], elsewhere=(3,)) == set(), "it is still on the page"
    assert of([1, 2, 3, 4], [4, 3, 2, 1]) == set()


def test_a_list_in_which_a_link_rose_has_grown() -> None:
    """The index of a forum is a list, though nothing comes to it but replies."""
    site = Site()
    site.look(news=[1, 2, 3, 4, 5, 6])
    assert site.boxes.grows(7, [(NEWS, url) for url in (3, 1, 2, 4, 5, 6)]) == {NEWS.list: 5}
    assert site.boxes.grows(7, [(NEWS, url) for url in (1, 2, 3, 4, 5)]) == {}


def test_a_new_story_above_one_that_rose_is_news() -> None:
    """As in a list by the last reply."""
    site = Site()
    site.look(news=[7, 6, 5, 4, 3, 2, 1])
    assert site.look(news=[8, 3, 7, 6, 5, 4, 2]) == {8}


@pytest.mark.parametrize("kind", ["right", "wrong"])
def test_what_moved_in_a_list_is_looked_at_while_that_is_right(kind: str) -> None:
    """Of a document on topic alone, and once for all lists that show the same move."""
    task = FleetTask(
        [SITE], NoStates(), np.random.default_rng(0), watching=Watching(TextPattern("furnace"))
    )
    known, now = change_rate(task).known, 1e9
    names = [f"t{at}" for at in range(8)]

    def look(order: list[str], at: float, name: str = "") -> list[str]:
        rows = "".join(f"<tr><td><a href=/{one}>Talk {one} of it</a></td></tr>" for one in order)
        page = read(f"<h1>Board</h1><table>{rows}</table>", f"{SITE}{name}")
        known.see(known.number(page.url), page, at)
        known.links(known.number(page.url), page, at)
        return [known.urls[url].removeprefix(SITE) for url in known.hints.open]

    def read_again(name: str, at: float, more: str) -> None:
        url = known.number(f"{SITE}{name}")
        words = "The furnace is lit." if name != "t7" else "Nothing."
        known.see(url, Page(known.urls[url], title=name, text=f"{words} {name} says {more}."), at)

    for name in names:
        read_again(name, now - 2.0, "little")
    assert look(names, now) == look(names, now + 1.0, "copy") == []
    order, asked = names, 0
    for at in range(20):
        now += HOUR
        moved = order[4]
        order = ["t7", moved, *(one for one in order if one not in ("t7", moved))]
        hinted = look(order, now)
        if not hinted:
            break
        assert hinted == [moved], "the last one is not on topic"
        asked += 1
        read_again(moved, now + 1.0, f"more {'and more ' * at}" if kind == "right" else "little")
        assert look(order, now + 2.0, "copy") == [], "it was looked at since"
    assert asked == (20 if kind == "right" else 10)
    again = change_rate(task).known
    again.load(unpack(pack(known.save())))
    assert again.hints.counts() == known.hints.counts()


def test_a_hint_at_what_cannot_be_had_is_settled() -> None:
    """Else it would be asked for again and again, before all others."""
    task = FleetTask(
        [SITE], NoStates(), np.random.default_rng(0), hosts=Hosts(), watching=Watching()
    )
    for reply in (
        lambda ticket: Failed(ticket, "absent", "404", 404),
        lambda ticket: Failed(ticket, "http", "500", 500),
        lambda ticket: Redirected(ticket, f"{SITE}b", 302),
    ):
        fleet = change_rate(task)
        url = fleet.known.number(f"{SITE}a")
        fleet.known.see(url, Page(f"{SITE}a", text="It is there. It says something."), 1e9)
        fleet.known.hints.add(url, 0)
        step = fleet.next(1e9 + 1.0)
        assert isinstance(step, Fetch)
        assert step.choice.link == url
        fleet.receive(reply(step.ticket), 1e9 + 2.0)
        assert not fleet.known.hints.open
    assert fleet.known.hints.counts() == {}


def test_what_a_sitemap_lists_no_more_is_looked_at_and_what_it_listed_is_not_new() -> None:
    """Most say no dates."""
    task = FleetTask([SITE], NoStates(), np.random.default_rng(0), watching=Watching())
    known = change_rate(task).known
    for name in "ac":
        number = known.number(f"{SITE}{name}")
        known.see(number, Page(f"{SITE}{name}", text=f"{name} says this."), 1e9)
    url = known.number(f"{SITE}sitemap.xml")
    for at, names in enumerate(("abc", "abcd", "bde")):
        links = [Link(f"{SITE}{name}", kind="listed") for name in names]
        page = Page(known.urls[url], links=links, flags=frozenset({"sitemap"}))
        known.see(url, page, 1e9 + at)
        known.links(url, page, 1e9 + at)
        again = change_rate(task).known
        again.load(unpack(pack(known.save())))
        assert pack(again.save()) == pack(known.save())
        known = again
    assert [known.urls[one] for one in known.hints.open] == [f"{SITE}a", f"{SITE}c"]
    found = {one: known.find(f"{SITE}{one}") for one in "abcde"}
    assert [one for one, number in found.items() if number and known.came(number)] == ["d", "e"]
    second = known.number(f"{SITE}sitemap2.xml")
    for at, names in enumerate(("x", "xbf")):  # what moves on to another one is not new either
        links = [Link(f"{SITE}{name}", kind="listed") for name in names]
        page = Page(known.urls[second], links=links, flags=frozenset({"sitemap"}))
        known.see(second, page, 1e9 + 5 + at)
        known.links(second, page, 1e9 + 5 + at)
    assert [known.find(f"{SITE}{one}") is None for one in "xbf"] == [True, True, False]


def test_entries_of_a_feed_that_are_called_as_documents_tell_of_their_changes() -> None:
    """As those of the changes of a wiki, which lead to what was changed, or of answers."""
    known = change_rate(
        FleetTask([SITE], NoStates(), np.random.default_rng(0), watching=Watching())
    ).known
    feed, now = known.number(f"{SITE}feed"), 1e9
    for name in ("Boron", "Krypton", "Xenon"):
        url = known.number(f"{SITE}{name}")
        known.see(url, Page(f"{SITE}{name}", title=f"{name} - Articles", text=f"{name} is."), now)
    again = change_rate(
        FleetTask([SITE], NoStates(), np.random.default_rng(0), watching=Watching())
    ).known
    again.load(unpack(pack(known.save())))
    for its in (known, again):
        for at, named in enumerate(
            ([], [("Boron", 10.0), ("RE: Xenon", 10.0), ("Krypton", -10.0), ("Tin", 10.0)])
        ):
            links = [
                Link(f"{SITE}view?of={name}", Anchor(name, tag_path="entry/a")) for name, _ in named
            ]
            dated = tuple(
                (link.url, now + day) for link, (_, day) in zip(links, named, strict=True)
            )
            page = Page(its.urls[feed], links=links, dated=dated, flags=frozenset({"feed"}))
            its.see(feed, replace(page, text=f"{at}"), now + 20.0 + at)
            its.links(feed, page, now + 20.0 + at)
        assert [its.urls[one] for one in its.hints.open] == [f"{SITE}Boron", f"{SITE}Xenon"]
