"""Wishes of two words that are the name of one thing, and words that are like one of a wish."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random

from spoor.judges.relevance import Relevance
from spoor.judges.wish import parse
from spoor.types import Page


def other_words(number: int, count: int) -> str:
    random = Random(number)
    return " ".join(f"w{random.randrange(3_000)}" for _ in range(count))


def pages(every: int, wanted: str, words: int, title: str, other: str) -> Iterator[Page]:
    """120 pages: each `every`th says what is wanted, among so many `words`; a third is about
    something else, by title and text."""
    for number in range(120):
        kind, its, said = "others", f"Other {number}", other_words(number, 60)
        if number % every == 0:
            kind, its, said = "wanted", f"Chapter {number}", other_words(number, words)
            said = f"{wanted} {said}"
        elif number % 3 == 1:
            kind, its, said = "something-else", f"{title} {number}", f"{other} {said}"
        yield Page(url=f"http://a.example/{kind}/{number}.html", title=its, text=said)


def of_a_manual() -> Iterator[Page]:
    """Many pages are about one of two words, and some say both side by side."""
    wanted = "The borrow checker rejects this program."
    return pages(12, wanted, 250, "Borrow", " ".join(["Types that borrow data."] * 4))


def of_arithmetic() -> Iterator[Page]:
    """Few pages have the word of a wish, and many another word that looks like a slip of it."""
    wanted = " ".join(["A checker reads this program."] * 2)
    other = " ".join(["Checked addition, which was checked."] * 3)
    return pages(30, wanted, 60, "Addition", other)


def kinds_told(wish: str, pages: Iterable[Page]) -> set[str]:
    """Of which kinds the pages are that are relevant at the end."""
    judge, told = Relevance(parse(wish)), dict[str, bool]()
    for its in pages:
        told[its.url] = judge.judge(its).relevant
    told |= {url: judgement.relevant for url, judgement in judge.revise()}
    return {url.split("/")[3] for url, relevant in told.items() if relevant}


def test_words_that_stand_side_by_side_in_texts_are_a_name() -> None:
    assert kinds_told("borrow checker", of_a_manual()) == {"wanted"}


def test_words_with_another_between_them_are_typed_as_no_name() -> None:
    assert "something-else" in kinds_told("borrow or checker", of_a_manual())


def test_what_is_like_a_known_word_on_many_more_pages_is_another_word() -> None:
    assert kinds_told("checker", of_arithmetic()) == {"wanted"}
