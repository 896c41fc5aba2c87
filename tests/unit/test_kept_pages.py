"""What a judge of words does with pages that show one list again."""

import numpy as np
import pytest

from spoor.judges.kept_pages import KeptPage, copies, views_again
from spoor.judges.spec import judge_of
from spoor.types import Page


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
