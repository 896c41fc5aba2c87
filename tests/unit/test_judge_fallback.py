"""A judge that breaks on a page, or for good, ends no live crawl; the judge of a user says so at once."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from loopback import ADDRESS, Asked, Loopback, beside, page, reply
from spoor.cli.main import run
from spoor.errors import PausedError, PluginError
from spoor.judges.keywords import Keywords
from spoor.judges.relevance import Relevance
from spoor.judges.wish import parse
from spoor.protocols import Judge, Rejudges, Stateful, TakesLabels
from spoor.runs.assemble import judge_and_topic
from spoor.settings import Settings
from spoor.testing.judges import ordinary_pages
from spoor.types import Judgement, Page
from spoor.wrappers.judge_fallback import MOST_IN_A_ROW, JudgeFallback

YES = Judgement(1.0, True, 1.0)


class Breaks:
    """Breaks on pages whose text says so, and in the calls that it is told."""

    def __init__(self, *calls: str) -> None:
        self.calls = calls
        self.saved = 0

    def judge(self, page: Page) -> Judgement:
        if page.text == "breaks":
            raise KeyError("฿")
        if page.text == "pauses":
            raise PausedError("the disk is full")
        return YES if page.text != "odd" else Judgement(7.0, True, 1.0)

    def _call(self, name: str) -> None:
        if name in self.calls:
            raise ValueError(name)

    def revise(self) -> Sequence[tuple[str, Judgement]]:
        self._call("revise")
        return [("http://h/", YES)]

    def label(self, url: str, relevant: bool) -> None:
        self._call("label")

    def save(self) -> dict[str, Any]:
        self._call("save")
        return {"saved": 3}

    def load(self, state: dict[str, Any]) -> None:
        self.saved = state["saved"]


def made(judge: Judge, make: Callable[[], Judge] | None, told: list[str]) -> JudgeFallback:
    guarded = JudgeFallback(judge, make)
    guarded.report_fault(told.append)
    return guarded


def kiln() -> Judge:
    return Keywords(["kiln"])


def judged(judge: Judge, *texts: str) -> list[bool]:
    return [
        judge.judge(Page(f"http://h/{at}", text=text)).relevant for at, text in enumerate(texts)
    ]


def test_one_page_is_not_relevant_and_the_next_are_judged() -> None:
    told: list[str] = []
    judge = made(Breaks(), kiln, told)
    assert judged(judge, *["fine", "breaks", "odd", "fine"] * 20) == [True, False, False, True] * 20
    assert told[0] == ("Breaks.judge raised KeyError: '฿'; http://h/1 counts as not relevant")
    assert "returned score 7.0" in told[1]
    assert len(told) == 3
    assert not judge.fault()
    with pytest.raises(PausedError):
        judged(judge, "pauses")


def test_what_fails_on_and_on_is_replaced_and_stays_so() -> None:
    told: list[str] = []
    judge = made(Breaks(), kiln, told)
    texts = ["breaks"] * MOST_IN_A_ROW
    assert not any(judged(judge, *texts))
    assert judge.fault() == told[-1]
    assert judge.fault().startswith(
        f"Breaks.judge raised KeyError: '฿' on {MOST_IN_A_ROW} pages in a row; keywords judge"
    )
    assert judged(judge, "a kiln, a kiln, a kiln", "breaks") == [True, False]
    assert isinstance(judge, Rejudges)
    assert isinstance(judge, TakesLabels)
    assert not judge.revise()
    judge.label("http://h/", True)
    again = made(Breaks(), kiln, told)
    again.load(judge.save())
    assert again.fault() == judge.fault()
    assert judged(again, "a kiln, a kiln, a kiln", "fine") == [True, False]


def test_pages_of_one_domain_replace_it_for_no_other() -> None:
    told: list[str] = []
    judge = made(Breaks(), kiln, told)

    def breaks(site: str) -> None:
        judge.judge(Page(f"http://www.{site}/", text="breaks"))

    judge.judge(Page("http://fine.example/", text="fine"))
    for _ in range(5 * MOST_IN_A_ROW):
        breaks("evil.example")
    assert not judge.fault()
    again = made(Breaks(), kiln, told)
    again.load(judge.save())
    judge = again
    breaks("evil.example")
    assert not judge.fault()
    breaks("fine.example")
    assert "pages in a row" in judge.fault()


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise ValueError


@pytest.mark.parametrize(
    "given",
    [
        *(("1", True, 1.0), (1.0, True, None), (1.0, True, 10**400), (1.0, True, 1.0, 3)),
        *((1.0, True, 1.0, why) for why in (("a",), (("a", math.nan),), ((1, 1.0),))),
        (1.0, True, 1.0, (("a" * 70_000, 1.0),)),
        UnspeakableError(),
    ],
)
def test_whatever_is_no_judgement_is_the_failure_of_a_page(given: Any) -> None:
    """Some ended the crawl in a traceback, others made rows that no reader of a run takes."""

    class Odd(Breaks):
        def judge(self, page: Page) -> Judgement:
            if page.text == "fine":
                return YES
            if isinstance(given, Exception):
                raise given
            return Judgement(*given)

    told: list[str] = []
    assert judged(made(Odd(), None, told), "fine", "odd", "fine") == [True, False, True]
    assert told[0].startswith("Odd.judge ")


@pytest.mark.parametrize("call", ["revise", "label", "save"])
def test_other_calls_that_fail_replace_it(call: str) -> None:
    told: list[str] = []
    judge = made(Breaks(call), kiln, told)
    assert judged(judge, "fine") == [True]
    arguments = ("http://h/", True) if call == "label" else ()
    getattr(judge, call)(*arguments)
    assert judge.fault().startswith(f"Breaks.{call} raised ValueError: {call}; keywords judge")
    assert told == [judge.fault()]
    alone = made(Breaks(call), None, told)
    with pytest.raises(PluginError, match=rf"Breaks\.{call} raised"):
        getattr(alone, call)(*arguments)


def test_the_judge_of_a_user_fails_at_once_or_in_a_row() -> None:
    told: list[str] = []
    with pytest.raises(PluginError, match=r"Breaks\.judge raised KeyError"):
        judged(made(Breaks(), None, told), "breaks")
    judge = made(Breaks(), None, told)
    assert judged(judge, "fine", *["breaks"] * (MOST_IN_A_ROW - 1), "fine")[-1]
    again = made(Breaks(), None, told)
    assert not any(judged(judge, *["breaks"] * (MOST_IN_A_ROW - 1)))
    again.load(judge.save())
    assert isinstance(again, Stateful)
    with pytest.raises(PluginError):
        judged(again, "breaks")


def test_the_state_of_a_version_without_it_goes_on() -> None:
    inner = Breaks()
    made(inner, kiln, []).load({"saved": 5})
    assert inner.saved == 5
    judge = made(kiln(), None, [])
    judge.load(None)
    assert judge.save() == {
        "judge": None,
        "numbers": [1, 0, 0],
        "domains": [[], []],
        "fault": "",
    }


def test_a_damaged_state_is_told_when_it_is_loaded() -> None:
    """And not by ten pages that count as not relevant."""
    judge = made(Relevance(parse("kiln")), None, [])
    for one in ordinary_pages():
        judge.judge(one)
    state = judge.save()
    made(Relevance(parse("kiln")), None, []).load(state)
    read = state["judge"]["read"]
    damaged = {**state, "judge": {**state["judge"], "read": {**read, "known": read["known"][:0]}}}
    with pytest.raises(ValueError, match="what the judge had learned is damaged"):
        made(Relevance(parse("kiln")), None, []).load(damaged)


def test_a_judge_that_fails_without_a_state_is_not_called_damaged() -> None:
    class OnNone(Breaks):
        def judge(self, page: Page) -> Judgement:
            raise LookupError("no page of this host")

    inner = OnNone()
    made(inner, kiln, []).load({"saved": 5})
    assert inner.saved == 5


def test_the_state_of_a_version_that_counted_no_domains_goes_on() -> None:
    judge = made(kiln(), None, [])
    state = {"judge": None, "numbers": [7, 2, 1], "fault": ""}
    judge.load(state)
    assert judge.save() == {**state, "domains": [[], []]}


def test_only_a_judge_of_words_has_another_one() -> None:
    for settings, has in (
        (Settings(seeds=("http://h/",), topic="kiln"), True),
        (Settings(seeds=("http://h/",), topic="kiln", want=("url:kiln",)), False),
    ):
        judge, _ = judge_and_topic(settings)
        assert isinstance(judge, JudgeFallback)
        judge._judge = Breaks()
        if has:
            assert judged(judge, *["breaks"] * MOST_IN_A_ROW, "kiln kiln kiln")[-1]
        else:
            with pytest.raises(PluginError):
                judged(judge, "breaks")


@pytest.mark.server
def test_a_crawl_goes_on_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The learning of the default judge breaks: nearly all of it is done by arrays."""

    def answer(asked: Asked) -> bytes:
        number = asked.path.strip("/")
        if not number.isdigit() and number:
            return reply("", 404)
        links = [f"/{at}" for at in range(1, 60)] if not number else []
        return page(*links, text="kiln " * 9 if not number or int(number) % 2 else "nothing here")

    def broken(self: Relevance) -> None:
        raise FloatingPointError("of no use")

    monkeypatch.setattr(Relevance, "_learn", broken)
    server, out = Loopback(answer), str(tmp_path / "run")
    crawl = ["crawl", "http://kilns.example/", "--topic", "kiln", "--out", out, "--json"]
    with beside(server.serving):
        crawl += ["--connect-to", f"{ADDRESS}:{server.port}", "--delay", "0", "--traps"]
        assert run([*crawl, "--pages", "40"]) == 0
        summary = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert summary["fetched"] == 40
        assert summary["found"] >= 15
        assert "raised FloatingPointError: of no use; keywords judge" in summary["judge_fault"]
        assert not summary["policy_fault"]
        crawl.remove("--json")
        assert run([*crawl, "--pages", "60"]) == 0
    end = capsys.readouterr()
    assert "\n  judge    Relevance." in end.out + end.err
    assert "keywords judge the rest" in (tmp_path / "run" / "report.html").read_text("utf-8")


def test_nothing_changes_for_a_judge_that_works() -> None:
    plain = Relevance(parse("kiln"))
    guarded: Any = JudgeFallback(Relevance(parse("kiln")), kiln)
    for at in range(40):
        seen = Page(f"http://h/{at}", title="kiln" if at % 3 else "", text="clay " * at)
        assert plain.judge(seen) == guarded.judge(seen)
    assert list(plain.revise()) == list(guarded.revise())
