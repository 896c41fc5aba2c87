"""Wishes of two words that are the name of one thing, and words that are like one of a wish."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from spoor.judges.relevance import Relevance
from spoor.judges.wish import parse
from spoor.types import Page


def other_words(number: int, count: int) -> str:
    random = Random(number)
    return " ".join(f"w{random.randrange(3_000)}" for _ in range(count))


def page(kind: str, number: int, title: str, text: str) -> Page:
    return Page(url=f"http://a.example/{kind}/{number}.html", title=title, text=text)


def of_a_manual(number: int) -> Page:
    """Pages of a manual: some on one of two words, and some that say both side by side."""
    if number % 12 == 0:
        said = f"The borrow checker rejects this program. {other_words(number, 250)}"
        return page("wanted", number, f"Chapter {number}", said)
    if number % 3 == 1:
        said = f"{'Types that borrow data. ' * 4}{other_words(number, 60)}"
        return page("one-word", number, f"Borrow {number}", said)
    return page("others", number, f"Other {number}", other_words(number, 60))


def of_arithmetic(number: int) -> Page:
    """Few pages have the word of a wish, and many another word that looks like a slip of it."""
    if number % 30 == 0:
        said = f"{'A checker reads this program. ' * 2}{other_words(number, 60)}"
        return page("wanted", number, f"Chapter {number}", said)
    if number % 3 == 1:
        said = f"{'Checked addition, which was checked. ' * 3}{other_words(number, 60)}"
        return page("like-it", number, f"Addition {number}", said)
    return page("others", number, f"Other {number}", other_words(number, 60))


def kinds_told(wish: str, make: Callable[[int], Page]) -> set[str]:
    """Of which kinds the pages are that are relevant at the end."""
    judge, told = Relevance(parse(wish)), dict[str, bool]()
    for number in range(120):
        its = make(number)
        told[its.url] = judge.judge(its).relevant
    told |= {url: judgement.relevant for url, judgement in judge.revise()}
    return {url.split("/")[3] for url, relevant in told.items() if relevant}


def test_words_that_stand_side_by_side_in_texts_are_a_name() -> None:
    assert kinds_told("borrow checker", of_a_manual) == {"wanted"}


def test_words_with_another_between_them_are_typed_as_no_name() -> None:
    assert "one-word" in kinds_told("borrow or checker", of_a_manual)


def test_what_is_like_a_known_word_on_many_more_pages_is_another_word() -> None:
    assert kinds_told("checker", of_arithmetic) == {"wanted"}
