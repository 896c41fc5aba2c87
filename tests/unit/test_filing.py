"""What a site files pages under, and lists that are named by the wish, for the judge and policies."""

from __future__ import annotations

from spoor.judges.no_results import LEADS
from spoor.judges.relevance import Relevance
from spoor.judges.wish import parse
from spoor.types import Judgement, Page

WORDS = (
    "kiln clay glaze wheel bowl plate vase ember ash smoke wax slip cone brick lid spout".split()
)


def text(at: int, more: str = "") -> str:
    """A text that no other page has."""
    return " ".join(f"{word}{at}" for word in WORDS) + f" {more}"


def page(at: int, *filed: str, more: str = "") -> Page:
    url = f"http://a.example/{at}"
    return Page(url, title=f"Item {at}", text=text(at, more), keywords=filed)


def told(judge: Relevance, pages: list[Page]) -> dict[str, Judgement]:
    found = {one.url: judge.judge(one) for one in pages}
    return found | dict(judge.revise())


def pages(filed: int) -> list[Page]:
    """Of which so many are filed under food, and others say the word of something else."""
    under = [page(at, "Food") for at in range(filed)]
    kinds = ("Birds", "Games", "Law")
    others = [page(at, kinds[at % 3], more="food and worms") for at in range(20, 44)]
    return [*under, *others]


def test_what_is_filed_under_something_else_is_about_that_once_several_are_filed() -> None:
    said = page(60, "Birds", more="food food food")
    both = page(61, "Birds", "Farms", more="food food food")
    titled = Page("http://a.example/62", title="Food of birds", text=text(62), keywords=("Birds",))
    for filed in (3, 5):
        verdicts = told(Relevance(parse("food")), [*pages(filed), said, both, titled])
        right = {url for url, its in verdicts.items() if its.relevant}
        assert {f"http://a.example/{at}" for at in range(filed)} <= right
        assert {both.url, titled.url} <= right
        assert (said.url in right) == (filed == 3)


def test_breadcrumbs_pass_through_what_holds_what_is_wanted() -> None:
    under = [page(at, "Manual", "Food") for at in range(6)]
    said = page(60, "Manual", more="food food food")
    others = [page(at, "Guide") for at in range(20, 44)]
    assert told(Relevance(parse("food")), [*under, *others, said])[said.url].relevant


def test_a_saved_judge_knows_what_was_filed() -> None:
    judge, again = Relevance(parse("food")), Relevance(parse("food"))
    told(judge, pages(5))
    again.load(judge.save())
    more = [page(80, "Birds", more="food " * 3), page(81, "Food")]
    assert [judge.judge(one) for one in more] == [again.judge(one) for one in more]
    assert not judge.judge(more[0]).relevant
    assert judge.judge(more[1]).relevant


def test_the_keyword_of_the_first_pages_is_no_keyword_of_the_site() -> None:
    judge = Relevance(parse("food"))
    verdicts = told(judge, [page(at, "Food") for at in range(25)])
    assert all(its.relevant for its in verdicts.values())


def test_links_of_a_list_that_is_named_by_the_wish_inherit_that() -> None:
    judge = Relevance(parse("old kilns"))
    tag = Page("http://a.example/?tag=old+kilns", title="Tags", flags=frozenset({"list"}))
    month = Page("http://a.example/2024/05", title="May", text="old kilns", flags=tag.flags)
    of_tag, of_month = judge.judge(tag), judge.judge(month)
    assert (of_tag.relevant, of_tag.leads, of_tag.of_links) == (False, LEADS, LEADS)
    assert (of_month.leads, of_month.of_links) == (0.0, of_month.score)
