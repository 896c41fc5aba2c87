"""What a watch tells of pages that have no word of its topic."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from spoor.judges.relevance import WORDLESS, Relevance
from spoor.judges.wish import parse
from spoor.types import Judgement, Page
from spoor.watching.watching import Watching

CLAY = [f"clay{number}" for number in range(30)]
TOWN = [f"town{number}" for number in range(300)]


def story(number: int, share: float, *, named: bool) -> Page:
    """Words of potters by that share, and of the town."""
    random = Random(number)
    words = [random.choice(CLAY if random.random() < share else TOWN) for _ in range(80)]
    text = " ".join(["The kiln was lit, a kiln of brick." if named else "It was lit.", *words])
    return Page(f"http://news.example/{number}", title=f"Story {number}", text=text)


def read(judge: Relevance) -> dict[str, float]:
    """The scores of what it tells of stories without the word, which say more and more of
    potters."""
    for number in range(200):
        judge.judge(story(number, 0.9 * (number % 5 == 0), named=number % 5 == 0))
    judge.revise()
    pages = [story(1_000 + at, at / 100, named=False) for at in range(100)]
    told = {page.url: said.score for page in pages if (said := judge.judge(page)).relevant}
    told |= {url: said.score for url, said in judge.revise() if said.relevant}
    return {page.url: told[page.url] for page in pages if page.url in told}


def test_a_watch_tells_a_page_without_a_word_of_the_topic_only_where_it_is_sure() -> None:
    crawl, watch = Relevance(parse("kiln")), Relevance(parse("kiln"))
    watch.tells_once = True
    in_crawl, in_watch = read(crawl), read(watch)
    assert any(score < WORDLESS for score in in_crawl.values())
    assert in_watch
    assert all(score >= WORDLESS for score in in_watch.values())
    assert in_watch == {url: score for url, score in in_crawl.items() if score >= WORDLESS}


class Counting:
    """Counts the pages that it has judged whenever it is asked for newer verdicts."""

    threshold = 0.5

    def __init__(self) -> None:
        self.pages, self.asked = 0, list[int]()

    def judge(self, page: Page) -> Judgement:
        self.pages += 1
        return Judgement(0.0, False, 0.0)

    def revise(self) -> list[tuple[str, Judgement]]:
        self.asked.append(self.pages)
        return []


def test_a_document_that_is_new_does_not_wait_until_twice_as_many_are_known() -> None:
    judge = Counting()
    watching, page = Watching(judge), Page("http://news.example/", title="Kilns", text="Lit.")
    for look in range(11_000):
        watching.take(0, "news.example", page, first=not look)
        watching.revise(lambda _: None)
    points = judge.asked
    assert points[:4] == [16, 32, 64, 128]
    waits = {at: later - at for at, later in pairwise(points[3:])}
    assert all(wait <= max(16, at / 8) and wait <= 1_000 for at, wait in waits.items())
    assert all(wait >= min(at // 8, 1_000) for at, wait in waits.items())
