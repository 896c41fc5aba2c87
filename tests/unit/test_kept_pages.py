"""What a judge of words does with pages that show one list again."""

import numpy as np
import pytest

from spoor.judges.kept_pages import KeptPage, views_again


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
