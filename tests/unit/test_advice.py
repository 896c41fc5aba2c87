"""What a user is told of a wish by the pages seen."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Container

import pytest

from spoor.http.failures import with_advice
from spoor.judges.advice import VOCABULARY_PAGES, Advice, Advisor, NearPage, _is_meant
from spoor.judges.no_results import Verdict
from spoor.judges.wish import parse
from spoor.runs.topic_advice import new_advisor
from spoor.settings import Settings
from spoor.types import Page

TEXTS = (
    "Pottery for beginners: a kiln is hot, and the glaze melts on the page.",
    "The wheel and the clay. More of pottery on the next page.",
    "数据库安装指南 on the page",
    "The harbour page: ferries and ropes.",
)


def advised(
    typed: str,
    scores: list[float],
    *,
    pages: int = 80,
    none_after: int = 60,
    settled: Container[int] = (),
) -> Advice:
    """Of pages with these texts in turn; relevant from .5."""
    advisor = Advisor(parse(typed) if typed else None)
    rows = []
    for at in range(pages):
        url = f"http://pots.example/{at}"
        advisor.see(Page(url, title=f"Part {at}", text=TEXTS[at % len(TEXTS)]))
        score = scores[at % len(scores)]
        rows.append(Verdict(url, f"Part {at}", score, score >= 0.5, at in settled))
    return advisor.advice(rows, none_after=none_after)


def test_words_that_the_pages_have_not_and_the_nearest() -> None:
    advice = advised("potery, klin", [0.0])
    assert advice.unknown == {"potery": ("pottery",), "klin": ("kiln",)}
    assert advice.suggestion == "pottery, kiln"
    assert advice.warning.startswith("none of 80 pages is relevant: they have no word of the topic")
    assert advised("glass", [0.0]).suggestion == "", "*glaze* is near, but no slip of it"
    assert advice.tells
    assert advice.lines()[:2] == [
        "words    the pages have 0 of 2 words of the topic: no *potery* (nearest: pottery), "
        "no *klin* (nearest: kiln)",
        "         did you mean pottery, kiln?",
    ]
    assert (
        advised('"potery kiln" -klin lang:de', [0.0]).suggestion == '"pottery kiln" -klin lang:de'
    )


def test_forms_and_scripts_of_words_are_known() -> None:
    advice = advised("kilns, beginner, 安装, 陶芸", [0.9, 0.1])
    assert list(advice.known) == ["kilns", "beginner", "安装"]
    assert advice.unknown == {"陶芸": ()}
    assert advice.suggestion == ""
    assert not advice.warning


def test_a_word_that_comes_late_is_known() -> None:
    advisor = Advisor(parse("lighthouse, 灯台"))
    for at in range(VOCABULARY_PAGES + 5):
        advisor.see(Page(f"http://x.example/{at}", text="nothing of it"))
    assert set(advisor.advice([]).unknown) == {"lighthouse", "灯台"}
    advisor.see(Page("http://x.example/late", title="Lighthouses", text="灯台の歴史"))
    assert set(advisor.advice([]).unknown) == {"灯台"}
    advisor.see(Page("http://x.example/later", text="灯台の歴史"))
    assert not advisor.advice([]).unknown


def test_a_warning_says_why_nothing_is_found() -> None:
    together = advised("kiln wheel", [0.2]).warning
    assert "no page has all words; put commas between them" in together
    assert "they lack a word" in advised("kiln zeppelin", [0.2]).warning
    assert "write fewer or broader words" in advised("kiln glaze", [0.2]).warning
    assert "describe the topic otherwise" in advised("", [0.2]).warning
    assert not advised("kiln wheel", [0.2], pages=40).warning
    lost = advised("zeppelin", [0.2, 0.3, 0.1, 0.0])
    assert lost.best is not None
    assert (lost.best.url, lost.best.score) == ("http://pots.example/1", 0.3)
    assert {"pottery", "beginners"} <= set(lost.site_words)
    assert "page" not in lost.site_words, "nearly every page has it"
    seed = lost.lines()
    assert any(line.startswith("nearest  0.30 http://pots.example/1") for line in seed)
    assert any(line.startswith("seed     another page may be nearer") for line in seed)
    found = advised("pottery", [0.9, 0.2])
    assert (found.best, found.site_words) == (None, ())
    assert lost.news == advised("zeppelin", [0.2], pages=100).news != found.news
    one = Advisor(parse("zeppelin"))
    rows = [Verdict(f"http://a.example/{at}", "", float(at == 3), at == 3) for at in range(50)]
    assert one.advice(rows).warning.startswith("only 1 of 50 pages is relevant")
    assert advised("kiln wheel", [0.2], pages=5, none_after=5).warning


def test_a_crawl_that_ended_with_few_is_told_what_may_bring_more() -> None:
    rows = [Verdict(f"http://a.example/{at}", "", at < 3 or 0.3, at < 3) for at in range(50)]
    advisor = Advisor(parse("kiln"))
    advice = advisor.advice(rows, over=True)
    assert advice.warning.startswith("only 3 of 50 pages are relevant: if more should be, say yes")
    assert not advice.near[-1].relevant
    assert not advisor.advice(rows).warning, "it goes on"
    assert not advisor.advice(rows[:49], over=True).warning
    assert not Advisor(parse("lang:is")).advice(rows, over=True).warning
    assert not advisor.advice(
        [*rows, Verdict("http://a.example/x", "", 0.9, True)], over=True
    ).warning


def test_a_crawl_that_ended_with_nothing_is_told_so_however_short_it_was() -> None:
    advisor = Advisor(parse("potery, klin"))
    rows = [Verdict(f"http://pots.example/{at}", "", 0.1 * at, False) for at in range(5)]
    for (url, *_), text in zip(rows, 2 * TEXTS, strict=False):
        advisor.see(Page(url, text=text))
    assert not advisor.advice(rows).warning, "it goes on"
    advice = advisor.advice(rows, over=True)
    assert advice.warning.startswith("none of 5 pages is relevant: they have no word of the topic")
    assert advice.best is not None
    assert advice.best.url.endswith("/4")
    assert "pottery" in advice.site_words
    assert not advisor.advice([], over=True).warning, "no page came"
    assert "words are not the cause" in advisor.advice(rows[:1], over=True).warning
    assert not advisor.advice(
        [*rows, Verdict("http://pots.example/5", "", 0.9, True)], over=True
    ).warning


def test_a_warning_where_nearly_all_is_relevant() -> None:
    advice = advised("the, page", [0.9])
    assert advice.warning.startswith("80 of 80 pages are relevant, nearly all: *the* and *page*")
    assert "if that is too many" in advised("", [0.9]).warning
    assert not advised("the, page", [0.9, 0.9, 0.1]).warning
    rows = [Verdict(f"http://a.example/{at}", "", 1.0, True) for at in range(50)]
    assert new_advisor(Settings(want=("url:.", "text:kiln"))).advice(rows).warning
    assert not new_advisor(Settings(want=("url:.", "type:*/*"))).advice(rows).warning, "a rule"


def test_a_wish_without_words_is_told_nothing_of_words() -> None:
    """Every page of a folder may be in the language that is wanted."""
    assert not advised("lang:pt", [0.9]).warning
    advice = advised("lang:pt", [0.0])
    assert advice.warning == (
        "none of 80 pages is relevant: begin at a page nearer to what you want, or widen --scope"
    )
    assert not advice.site_words


def test_a_shell_takes_a_pasted_command_as_it_is() -> None:
    """Names of hosts may hold as much as paths."""
    url = "http://$(touch$IFS$9x).example/p;a=1&b=$(touch$IFS$9x)'!"
    near = NearPage(url, "", 0.4, relevant=False)
    line = Advice(near=[near]).lines("my runs/one")[-1]
    command = line.partition("if it should: ")[2]
    assert shlex.split(command) == ["spoor", "label", "my runs/one", url, "yes"]
    run = subprocess.check_output(["sh", "-c", f"printf '%s\\n' {command}"], text=True)
    assert run.splitlines() == ["spoor", "label", "my runs/one", url, "yes"]
    blocked = with_advice("blocked", "$(x).example is not a public address")
    assert "--allow-private '$(x).example' " in blocked


def test_pages_near_the_threshold_with_the_command() -> None:
    advice = advised("kiln", [0.9, 0.6, 0.4, 0.1, 0.0, 1.0], pages=6)
    assert [(page.score, page.relevant) for page in advice.near] == [
        (0.6, True),
        (0.9, True),
        (0.4, False),
        (0.1, False),
    ]
    lines = advice.lines("runs/pots")
    assert lines[-2] == (
        "check    0.40 http://pots.example/2 does not count; "
        "if it should: spoor label runs/pots http://pots.example/2 yes"
    )
    assert not any("spoor label" in line for line in advice.lines())
    assert advice.as_json()["near"][0]["url"] == "http://pots.example/1"


def test_a_page_that_is_no_result_wherever_the_threshold_lies_is_not_near_it() -> None:
    """A list of documents, or what shows a result again: all of these have the same score."""
    scores = [0.9, 0.6, 0.4, 0.1]
    near = advised("kiln", scores, pages=12, settled=range(2, 12, 4)).near
    assert [page.score for page in near] == [0.6, 0.6, 0.1, 0.1]


@pytest.mark.parametrize(
    ("word", "other", "meant"),
    [
        ("potery", "pottery", True),
        ("klin", "kiln", True),
        ("glaxe", "glaze", True),
        ("synchronisaton", "synchronization", True),
        ("thread", "read", False),
        ("brass", "grasps", False),
    ],
)
def test_what_takes_more_than_a_slip_is_not_proposed(word: str, other: str, meant: bool) -> None:
    assert _is_meant(word, other) is meant
