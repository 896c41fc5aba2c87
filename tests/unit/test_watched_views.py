"""A document that its site shows under several URLs is one document of a watch."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kiln_watch import LIT, fleet_of
from noisy_news import article
from spoor.durations import DAY
from spoor.foragers.states import NoStates
from spoor.judges.facts import TextPattern
from spoor.learn.state import pack, unpack
from spoor.live.changes import ChangeTracker
from spoor.types import Anchor, Fetch, Fetched, Link, Page, Reply
from spoor.watching.known_urls import Known
from spoor.watching.watching import Watching
from spoor.web.sentences import content
from spoor.web.view_relations import Relations
from spoor.worlds.evolving import EvolvingWorld, Version
from stepping import run

SITE = "http://forum.example/"
BEGIN = 1e9
BOARD, LITE = f"{SITE}board?fid=2", f"{SITE}lite/?forum-2.html"


def thread(number: int) -> str:
    return f"{SITE}show?tid={number}"


def lite(number: int) -> str:
    return f"{SITE}lite/?thread-{number}.html"


def known_of() -> Known:
    return Known(NoStates(), None, Watching(TextPattern("kiln is lit")))


def look(known: Known, url: str, at: float, *links: str, text: str = "") -> int:
    number = known.number(url)
    placed = [
        Link(link, Anchor(f"Post {link}", tag_path="html/body/main/ul/li/a", region="main"))
        for link in links
    ]
    page = Page(url, title=text[:20], text=text, main=text, links=placed)
    known.see(number, page, at)
    known.links(number, page, at)
    return number


def post(number: int) -> str:
    return f"{' '.join(article(number))} {LIT}"


def read_pairs(known: Known, count: int, *, alike: bool = True) -> None:
    """A board, its lite form, and so many threads and lite views of them."""
    numbers = range(1, count + 1)
    look(known, BOARD, BEGIN, *map(thread, numbers))
    look(known, f"{SITE}board?fid=2&sort=author", BEGIN, *map(thread, numbers))
    look(known, LITE, BEGIN + 1, *map(lite, numbers))
    for number in numbers:
        look(known, lite(number), BEGIN + 2, text=post(number if alike else 50 + number))
        look(known, thread(number), BEGIN + 3, text=f"Rating: none. {post(number)}")


def test_a_view_whose_url_is_told_by_those_of_others_is_not_asked_for() -> None:
    """Lite views of threads were told beside the threads, or in their place, and each was asked
    for. Where one is linked first, the thread is what is new."""
    known = known_of()
    read_pairs(known, 4)
    watching = known.watching
    assert watching is not None
    copies = {known.urls[one]: known.urls[other] for one, other in watching.copy_of.items()}
    assert copies == {lite(number): thread(number) for number in range(1, 5)}
    again = known_of()
    again.load(unpack(pack(known.save())))
    look(again, LITE, BEGIN + 900, *map(lite, [9, 1, 2, 3, 4]))
    assert again.find(lite(9)) is None
    new = again.find(thread(9))
    assert new is not None
    assert again.appeared(new)
    look(again, thread(9), BEGIN + 1_000, text=post(9))
    assert again.fresh(new, BEGIN + 1_000, DAY)


def test_where_the_thread_is_gone_its_view_is_looked_at_itself() -> None:
    known = known_of()
    look(known, LITE, BEGIN - 1, *map(lite, range(1, 8)))
    read_pairs(known, 4)
    look(known, BOARD, BEGIN + 9, *map(thread, range(1, 8)))
    known.absent(known.number(thread(6)), BEGIN + 10)
    views = [known.number(lite(number)) for number in (6, 7)]
    assert [known.superseded(view) for view in views] == [False, True]


@pytest.mark.parametrize("reason", ["few", "others"])
def test_what_only_has_the_same_numbers_is_a_document_of_its_own(reason: str) -> None:
    known = known_of()
    read_pairs(known, 2 if reason == "few" else 4, alike=reason == "few")
    assert known.plain(lite(9)) == lite(9)
    watching = known.watching
    assert watching is not None
    assert len(watching.copy_of) == (2 if reason == "few" else 0)


def test_a_view_that_strangers_chose_says_nothing_of_others() -> None:
    relations = Relations()
    for number in range(1, 5):
        relations.count_twins(thread(number), lite(number), holds=True)
    assert relations.whole_of(lite(12)) == thread(12)
    assert relations.whole_of(f"{SITE}lite/?thread-12-2.html") == ""
    assert relations.whole_of("http://other.example/lite/?thread-12.html") == ""
    for number in range(5, 9):
        relations.count_twins(thread(number), lite(number), holds=False)
    assert relations.whole_of(lite(12)) == ""


def test_urls_that_more_than_their_numbers_tell_apart_make_no_others() -> None:
    relations = Relations()
    for number, name in enumerate(
        ("a1b2c3d4e5f6a7b8c9", "f9e8d7c6b5a4f3e2d1", "0a1b2c3d4e5f60718"), 1
    ):
        page = f"{SITE}show/{name}/x?at={number}"
        relations.count_twins(page, f"{SITE}lite/{name}/x?at={number}", holds=True)
    assert relations.whole_of(f"{SITE}lite/1b2c3d4e5f6a7b8c9d0/x?at=7") == ""


def test_the_newest_thread_that_the_index_of_a_forum_names_is_no_change_of_it() -> None:
    """Each reply changed a row of it: 19 of 55 lines of a forum told that."""
    known = known_of()

    def index(newest: str, replies: int, at: float) -> int:
        names = [("Pots", "board?fid=2"), (newest, "show?tid=7"), ("ann", "user?id=3")]
        links = [Link(f"{SITE}{to}", Anchor(said)) for said, to in names]
        row = f"\tPots Pots\t38\t{replies}\t{newest} Today , 10:12 AM by ann"
        main = f"{LIT}\nForum\tThreads\tPosts\tLast Post\n{row}\nAll about clay and glazes."
        number = known.number(SITE)
        known.see(number, Page(SITE, title="Forum", text=main, main=main, links=links), at)
        return number

    number = index("Old kilns", 85, BEGIN)
    index("A salt glaze", 86, BEGIN + 900)
    index("Of T. S. Potter", 86, BEGIN + 1_800)
    assert known.version[number] == 1


@pytest.mark.parametrize("stood_there", [True, False])
def test_replies_on_a_further_page_of_a_thread_are_changes_of_the_thread(
    *, stood_there: bool
) -> None:
    """Its second page was told as a new document."""
    first, second, other = thread(7), f"{thread(7)}&page=2", post(8)
    at = BEGIN - DAY if stood_there else BEGIN + DAY / 4
    old = (first, *([second] if stood_there else []))
    versions = [
        Version(BEGIN - DAY, BOARD, "Board", "Board.", (first,)),
        Version(BEGIN - DAY, first, "Salt", post(7), old[1:]),
        Version(BEGIN + DAY / 4, first, "Salt", post(7), (second,)),
        Version(at, second, "Salt", post(9), (first,)),
        Version(BEGIN + DAY / 2, second, "Salt", f"{post(9)} {other}", (first,)),
    ]
    world = EvolvingWorld(versions, roots=[BOARD], start=BEGIN, end=BEGIN + DAY)
    answer = world.answer

    def with_first(fetch: Fetch) -> Reply:
        reply = answer(fetch)
        if not isinstance(reply, Fetched) or fetch.url != second:
            return reply
        links = [Link(first, Anchor("1"))]
        return replace(reply, page=replace(reply.page, links=links))

    world.answer = with_first  # type: ignore[method-assign]
    fleet = fleet_of(BOARD, 600)
    lines = run(fleet, world, world.end, ChangeTracker(fleet))
    assert {(line["kind"], line["url"]) for line in lines} == {("changed", first)}
    assert len({line["id"] for line in lines}) == len(lines) == 2 - stood_there
    assert any(other[:40] in " ".join(line["added"]) for line in lines)


def test_a_thread_whose_view_was_told_is_not_told_again_and_is_gone_once() -> None:
    """The lite list is looked at first, when nothing is known of views yet."""
    came, left = BEGIN + DAY / 8, BEGIN + DAY / 2
    versions = [
        Version(BEGIN - DAY, LITE, "Lite", "Lite.", (BOARD,)),
        Version(came, LITE, "Lite", "Lite.", (BOARD, lite(7))),
        Version(BEGIN - DAY, BOARD, "Board", "Board."),
        Version(came + 7_200, BOARD, "Board", "Board.", (thread(7), f"{BOARD}&sort=author")),
        Version(came + 7_200, f"{BOARD}&sort=author", "Board", "All.", (thread(7),)),
        Version(came, lite(7), "Salt", post(7)),
        Version(came, thread(7), "Salt", f"Rating: none. {post(7)}"),
        Version(left, lite(7), "", "", gone=True),
        Version(left, thread(7), "", "", gone=True),
    ]
    world = EvolvingWorld(versions, roots=[LITE], start=BEGIN, end=BEGIN + DAY)
    fleet = fleet_of(LITE, 600)
    lines = run(fleet, world, world.end, ChangeTracker(fleet))
    assert sorted(line["kind"] for line in lines) == ["gone", "new"]


def test_a_row_or_a_counted_line_of_links_says_nothing_of_its_own() -> None:
    links = [Link(f"{SITE}{at}", Anchor(said)) for at, said in enumerate(("Old kilns", "Salt"))]
    lines = ["Old kilns (3 replies)", "\tOld kilns\t12\tby\tSalt"]
    main = "\n".join(
        [*lines, "\tOld kilns\tA kiln of brick\tSalt", "Salt is not cheap (at 3 a pound)"]
    )
    said = list(content(Page(SITE, text=main, main=main, links=links)).values())
    assert said == ["Old kilns\tA kiln of brick\tSalt", "Salt is not cheap (at 3 a pound)"]
