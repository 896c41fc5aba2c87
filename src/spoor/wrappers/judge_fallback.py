"""A judge with a fallback: where it fails, that is one page's failure, and the live crawl goes on.

In the lab a broken judge ends the experiment; a live crawl of days must not end so, and a resume
would only meet the same page again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from spoor.crawl.plugin_calls import call_plugin, check_judgement, judge_page
from spoor.errors import PluginError, in_one_line
from spoor.protocols import Judge, KeepsAnswers, Rejudges, Stateful, TakesLabels
from spoor.types import Anchor, Judgement, Link, Page, State
from spoor.web.urls import domain_of
from spoor.wrapping import Wrapper

MOST_IN_A_ROW = 10
"""Pages in a row on which a judge may fail before another one takes its place."""
_REPORTED = 3
"""Of these failures, how many are reported."""


class JudgeFallback(Wrapper):
    """The judge itself. A page on which it raises, or for which it returns what is no judgement,
    counts as not relevant. After `MOST_IN_A_ROW` such pages, or where `revise`, `label` or `save`
    fails, the judge that `make()` returns judges the rest of the run; earlier verdicts stand. Pages
    in a row of one domain, in a crawl that has seen others, speak against that domain alone.

    Without `make` the last failure in a row is raised, and so is one on the first page of all: who
    has a judge of their own must hear at once that it does not work.

    Raises PluginError.
    """

    kind = Judge

    def __init__(self, judge: Judge, make: Callable[[], Judge] | None = None) -> None:
        self._judge = judge
        self._make = make
        self.threshold = getattr(judge, "threshold", None)
        """The judge's, if it has one."""
        self._fault = ""
        self._report: Callable[[str], None] = lambda line: None
        self._judged = self._failed = self._in_a_row = 0
        self._domains = set[str]()
        """Of the pages so far, two at most, …"""
        self._failing = set[str]()
        """… and of those in a row on which it failed."""
        self._kept = tuple(kind for kind in (Rejudges, TakesLabels) if isinstance(judge, kind))
        self.hold(judge)

    def passes(self, protocol: type) -> bool:
        return protocol in self._kept or super().passes(protocol)  # the crawl still asks for these

    def fault(self) -> str:
        return self._fault

    def report_fault(self, report: Callable[[str], None]) -> None:
        self._report = report

    def judge(self, page: Page) -> Judgement:
        if len(self._domains) < 2:
            self._domains.add(domain_of(page.url))
        try:
            judgement = judge_page(self._judge, page)
        except PluginError as error:
            return self._not_judged(page, error)
        self._judged += 1
        if self._in_a_row:
            self._in_a_row, self._failing = 0, set()
        return judgement

    def _not_judged(self, page: Page, error: PluginError) -> Judgement:
        self._failed += 1
        self._in_a_row += 1
        if len(self._failing) < 2:
            self._failing.add(domain_of(page.url))
        if self._fault or (self._make is None and not self._judged):
            raise error
        if self._in_a_row >= MOST_IN_A_ROW and len(self._failing) == len(self._domains):
            self._replace(error, f" on {self._in_a_row} pages in a row")
            return self.judge(page)
        if self._failed <= _REPORTED:
            self._report(f"{in_one_line(error)}; {page.url} counts as not relevant")
        return Judgement(0.0, False, 0.0)

    def pass_revise(self) -> Sequence[tuple[str, Judgement]]:
        if not isinstance(self._judge, Rejudges):
            return ()
        try:
            revised: Sequence[tuple[str, Judgement]] = call_plugin(
                self._judge, "revise", self._judge.revise
            )
            for url, judgement in revised:
                check_judgement(self._judge, "revise", url, judgement)
        except PluginError as error:
            self._replace(error)
            return ()
        return revised

    def pass_label(self, url: str, relevant: bool) -> None:
        if isinstance(self._judge, TakesLabels):
            try:
                call_plugin(self._judge, "label", self._judge.label, url, relevant)
            except PluginError as error:
                self._replace(error)

    def save(self) -> State:
        judge = self._judge
        kept = None
        if isinstance(judge, Stateful):
            try:
                kept = call_plugin(judge, "save", judge.save)
            except PluginError as error:
                self._replace(error)
        numbers = [self._judged, self._failed, self._in_a_row]
        return {
            "judge": kept,
            "numbers": numbers,
            "domains": [sorted(self._domains), sorted(self._failing)],
            "fault": self._fault,
        }

    def load(self, state: State | None) -> None:
        if state is None or "numbers" not in state:  # of a version that had no fallback
            state = {"judge": state, "numbers": [1, 0, 0], "fault": ""}
        self._judged, self._failed, self._in_a_row = map(int, state["numbers"])
        self._domains, self._failing = map(set, state.get("domains", ((), ())))
        if state["fault"]:
            self._take_over(str(state["fault"]))
        if isinstance(self._judge, Stateful) and state["judge"] is not None:
            _load(self._judge, state["judge"])

    def _replace(self, error: PluginError, where: str = "") -> None:
        if self._make is None or self._fault:
            raise error
        self._take_over(
            f"{in_one_line(error)}{where}; keywords judge the rest of the run in its place, and "
            "what it said before stands"
        )
        self._report(self._fault)

    def _take_over(self, fault: str) -> None:
        self._fault = fault
        if self._make is not None:
            self._judge = self._make()
            self.hold(self._judge)


_TRIED = Page(
    "http://a.invalid/one/page.html",
    title="A page",
    headings=("A page",),
    text="Words of a page, and some more of them.",
    links=[Link("http://a.invalid/other/page.html", Anchor("other words"))],
)


def _load(judge: Any, state: State) -> None:
    """Load a state into a judge. Raises ValueError for one with which it would fail at the next
    page: it judges a page on trial, and loads the state once more. One that asks is not tried,
    since each answer costs, and neither is one that fails without a state, too."""
    works = not isinstance(judge, KeepsAnswers) and not _fault_of(judge)
    judge.load(state)
    if works:
        if fault := _fault_of(judge):
            raise ValueError(f"what the judge had learned is damaged: {fault}")
        judge.load(state)


def _fault_of(judge: Judge) -> str:
    """Why a judge fails; empty where it judges a page, and can be saved."""
    try:
        with np.errstate(all="ignore"):
            judge_page(judge, _TRIED)
            if isinstance(judge, Rejudges):
                for url, judgement in call_plugin(judge, "revise", judge.revise):
                    check_judgement(judge, "revise", url, judgement)
            if isinstance(judge, Stateful):
                call_plugin(judge, "save", judge.save)
    except PluginError as error:
        return in_one_line(error)
    return ""
