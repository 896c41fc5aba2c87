"""What a judge of words does with pages that show one list again."""

import numpy as np
import pytest

from spoor.judges.relevance.kept_pages import KeptPage, copies, further_parts, views_again
from spoor.judges.relevance.matching import Matcher
from spoor.judges.relevance.reading import Reader
from spoor.judges.relevance.url_numbers import as_id, number_of_url
from spoor.judges.relevance.url_places import places_of
from spoor.judges.spec import judge_of
from spoor.judges.wish import parse
from spoor.types import Anchor, Link, Page
from spoor.web.parts import first_part


@pytest.mark.parametrize(
    ("paths", "again"),
    [
        (["films/?sort_by=name", "films/"], [True, False]),
        (["films/?selected_facets=a", "films/?selected_facets=b"], [False, True]),
        (["films/?selected_facets=a", "books/?selected_facets=a", "books/"], [False, True, False]),
        (["films/?id=1", "films/?id=2"], [False, False]),
        (["films/?id=1", "films/?id=1&sort=name"], [False, True]),
        (["films/", "books/"], [False, False]),
        ([], []),
    ],
)
def test_of_the_views_of_a_list_one_may_be_a_sure_page(paths: list[str], again: list[bool]) -> None:
    empty = np.zeros(0, np.uint32), np.zeros(0, np.uint8), 0, np.zeros((0, 2))
    pages = [KeptPage(f"http://s.example/{path}", *empty) for path in paths]
    assert views_again(pages).tolist() == again


def test_of_copies_one_that_may_speak_speaks() -> None:
    """Also where one that may not came first, or has a label."""
    empty = np.zeros(0, np.uint32), np.zeros(0, np.uint8), 0, np.zeros((0, 2))
    pages = [
        KeptPage(f"http://s.example/{at}", *empty, content=7, label=-(at == 1)) for at in range(4)
    ]
    first, shares = copies(pages, np.array([False, False, True, True]))
    assert first.tolist() == [False, False, True, False]
    assert shares.tolist() == [0.25] * 4


@pytest.mark.parametrize(("path", "flags"), [("films/0", ["list"]), ("films/?sort_by=name", [])])
def test_a_site_that_says_the_same_everywhere_is_judged(path: str, flags: list[str]) -> None:
    """Also where its first page is none that speaks for others: a list, or one of its views."""
    judge = judge_of(["query:salt kiln"])
    others = ["films/", *(f"films/{at}" for at in range(1, 20))]
    for at, name in enumerate([path, *others]):
        its = frozenset(() if at else flags)
        page = Page(f"http://s.example/{name}", title="Films", text="salt kiln films", flags=its)
        judge.judge(page)
    assert judge.judge(Page("http://s.example/x", text="salt kiln films")).relevant


@pytest.mark.parametrize(
    ("path", "first", "says", "is_part"),
    [
        ("kilns/2/", "kilns/", "1", True),
        ("kilns/page/3", "kilns", "Page 1", True),
        ("kilns/page-3/", "kilns/", "« 1", True),
        ("t.php?t=7&page=2", "t.php?t=7", "1", True),
        ("?p=7&page=2", "?p=7", "01", True),
        ("kilns-2.html", "kilns.html", "1", True),
        ("lite/?forum-4-3.html", "lite/?forum-4.html", "1", True),
        ("kilns-1.html", "kilns.html", "1", False),
        ("kilns/2/", "kilns/", "Kilns", False),  # as a menu does
        ("kilns/2/", "salt/", "1", False),
        ("kilns/1/", "kilns/", "1", False),
        ("kilns/two/", "kilns/", "1", False),
        ("kilns/salt/2/x/", "kilns/", "1", False),
        ("t.php?t=7&page=2", "t.php?t=8", "1", False),
    ],
)
def test_a_part_of_a_document_names_the_first_one(
    path: str, first: str, says: str, is_part: bool
) -> None:
    link = Link(f"http://s.example/{first}", Anchor(says))
    found = first_part(Page(f"http://s.example/{path}", links=[link]))
    assert found == (link.url if is_part else "")


def test_of_the_parts_of_a_document_the_first_speaks() -> None:
    """Also where it comes later; where it does not come, each does."""
    empty = np.zeros(0, np.uint32), np.zeros(0, np.uint8), 0, np.zeros((0, 2))
    urls = [f"http://s.example/{path}" for path in ("kilns/2/", "kilns/", "salt/2/")]
    firsts = ["http://s.example/kilns/", "", "http://s.example/salt/"]
    pages = [
        KeptPage(url, *empty, first_part=number_of_url(first) if first else 0)
        for url, first in zip(urls, firsts, strict=True)
    ]
    assert further_parts(pages).tolist() == [True, False, False]


def test_a_date_in_a_url_is_no_place() -> None:
    """Posts of one month are about anything."""
    of_december = {*places_of("http://s.example/2022/12/13/kilns/")}
    assert of_december & {*places_of("http://s.example/2022/12/15/salt/")} == {
        *places_of("http://s.example/")
    }
    shared = {*places_of("http://s.example/kilns/a")} & {*places_of("http://s.example/kilns/b")}
    assert len(shared) == 2


@pytest.mark.parametrize("flags", [frozenset[str](), frozenset({"dated"})])
def test_the_menu_of_what_is_dated_leads_to_its_neighbours_in_time(flags: frozenset[str]) -> None:
    wish = parse("salt kiln")
    reader = Reader(wish, Matcher(wish))
    urls = [f"http://s.example/{name}" for name in "abc"]
    regions = ["nav", "main", "nav"]
    links = [Link(url, Anchor(url, region=its)) for url, its in zip(urls, regions, strict=True)] + [
        Link(urls[2], Anchor("in the text"))
    ]
    kept, *_ = reader.read(Page("http://s.example/x", text="salt kiln", links=links, flags=flags))
    those = urls[1:] if flags else urls
    assert {*kept.links.tolist()} == {*map(number_of_url, those)}
    assert {*map(as_id, map(number_of_url, those))} <= {*kept.ids.tolist()}
