"""When the lists of a site may enter: its search index, and what its own search answers."""

from __future__ import annotations

from spoor.link_filter.held_lists import MOST, TRIED, HeldLists
from spoor.types import Anchor, HeldLink, Link, Page

HOST = "http://a.example"


def search(number: int, name: str = HOST) -> HeldLink:
    return HeldLink(Link(f"{name}/?q=kiln&p={number}", Anchor(), "search"), 0, 0.0, 1, False)


def ended(lists: HeldLists, path: str, *, relevant: bool = False) -> None:
    lists.ended(f"{HOST}{path}", Page(f"{HOST}{path}"), relevant=relevant)


def again(lists: HeldLists) -> HeldLists:
    """As a process that goes on with a crawl has them."""
    loaded = HeldLists()
    loaded.load(lists.save())
    return loaded


def test_a_list_that_is_named_again_and_again_waits_once() -> None:
    """Each process that goes on with a crawl reads its form anew: ten of them had used up what a
    host may be asked for, and the answer then came once for each."""
    lists = HeldLists()
    for _ in range(2 * MOST):
        lists = again(lists)
        lists.hold(search(1))
    ended(lists, "/a")
    ended(lists, "/b")
    assert lists.release(over=False) == [search(1)]
    lists.hold_next_part(f"{HOST}/?q=kiln", search(2), [f"{HOST}/c"])
    ended(lists, "/c", relevant=True)
    assert lists.release(over=False) == [search(2)]


def test_the_lists_that_the_first_page_names_are_those_of_its_host() -> None:
    """A form with a token in it is another one on each page."""
    lists = HeldLists()
    lists.hold(search(1))
    lists.hold(search(2))
    lists = again(lists)
    lists.hold(search(3)._replace(parent=7))
    assert lists.release(over=True) == [search(1), search(2)]
    lists = again(lists)
    lists.hold(search(4)._replace(parent=8))
    assert not lists.release(over=True)


def test_lists_of_many_hosts_do_not_fill_the_memory() -> None:
    lists = HeldLists()
    names = [f"http://h{number}.example" for number in range(11_000)]
    for name in names:
        lists.hold(search(1, name))
    lists = again(lists)
    assert [held.link.url for held in lists.release(over=True)] == [
        search(1, name).link.url for name in names[1_000:]
    ]
    assert not lists.release(over=True)


def test_a_next_part_comes_where_the_pages_of_its_answer_do_not_come() -> None:
    """Robots.txt forbids them, say, or others led to them before."""
    lists = HeldLists()
    listed = [f"{HOST}/{number}" for number in range(TRIED)]
    lists.hold_next_part(f"{HOST}/?q=kiln", search(2), listed)
    ended(lists, "/0", relevant=True)
    lists = again(lists)
    assert not lists.release(over=False)
    assert lists.release(over=True) == [search(2)]
    lists.hold_next_part(f"{HOST}/?q=kiln&p=2", search(3), [f"{HOST}/{number}" for number in "56"])
    ended(lists, "/5")
    assert not lists.release(over=True), "it does not pay"
