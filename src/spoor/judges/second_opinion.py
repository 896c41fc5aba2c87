"""A second opinion: an encoder or a language model is asked about the pages near the threshold of a
cheap judge, which learns from the answers."""

from __future__ import annotations

import math
from bisect import insort
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from spoor.errors import InputError
from spoor.judges.answers import Ask, asked_text
from spoor.judges.asking import AskingJudge
from spoor.judges.no_results import REASONS
from spoor.protocols import Judge, Rejudges, Stateful, TakesLabels
from spoor.types import Judgement, Page, State

_RECENT = 200
"""Pages by which it is known how near the threshold others are."""
_FIRST = 10
"""Pages before the first question: until then nobody knows what is near."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Of what is asked. Raises InputError for a value out of its range."""

    asks: float = 200
    """Most questions of a run."""
    seconds: float = math.inf
    """Most seconds that the answers of a run take in all."""
    cost: float = math.inf
    """Most that they cost in all."""
    share: float = 0.2
    """Of the pages, those nearest to the threshold are asked about: a share in (0, 1]."""
    characters: int = 8000
    """Of a page, with its title."""

    def __post_init__(self) -> None:
        for name in ("asks", "seconds", "cost"):
            if not getattr(self, name) >= 0:
                raise InputError(f"second opinions: {name} is 0 or more, not {getattr(self, name)}")
        if not 0.0 < self.share <= 1.0:
            raise InputError(f"second opinions: share lies in (0, 1], not {self.share}")
        if self.characters < 1:
            raise InputError("second opinions: a page has at least 1 character")


class SecondOpinion(AskingJudge):
    """The verdict of `judge`; near its threshold that of `ask(text, prompt)`, from `threshold` on.

    Near is what is nearer than most of the last 200 pages. An answer counts as a label for the
    judge, if it takes labels: it then judges other pages anew. What was answered stays, unless a
    person says otherwise. Answers are kept and counted as those of `Llm`; where `limits` are
    reached, or no answer comes, the verdict of `judge` stays, and without `list_pages` that of list
    pages which are not relevant (`spoor.web.list_pages`). Of a page that shows again what a result
    has nothing is asked.
    """

    def __init__(
        self,
        judge: Judge,
        ask: Ask,
        *,
        prompt: str = "",
        name: str = "",
        threshold: float = 0.5,
        limits: Limits | None = None,
        list_pages: bool = True,
    ) -> None:
        super().__init__(ask, judge, prompt, name)
        self._limits = limits or Limits()
        self._yes_from, self._list_pages = threshold, list_pages
        self._recent: deque[float] = deque(maxlen=_RECENT)
        """Distances of the last pages from the threshold."""
        self._answered: dict[str, bool] = {}
        """URL → what was answered of the page."""
        self._asked = self._agreed = self._failed = self._left = 0
        self._told = False

    @property
    def threshold(self) -> float | None:
        """That of the cheap judge."""
        return getattr(self._beside, "threshold", None)

    def judge(self, page: Page) -> Judgement:
        judgement = self._beside.judge(page)
        none = "list" in page.flags and not (judgement.relevant or self._list_pages)
        if none or not self._is_near(judgement):
            return judgement
        text = asked_text(page.title, page.text, self._limits.characters)
        settled = not judgement.relevant and any(why in REASONS for why, _ in judgement.why)
        if settled and not self._answers.was_used(text):
            return judgement  # a result beside another one it is not, whatever it says
        if not text or (not self._answers.was_used(text) and self._is_spent()):
            self._left += 1
            return judgement
        answer = self._answers.of(text)
        self._asked += 1
        if answer.failed:
            self._failed += 1
            return self._without(judgement, answer.failed)
        verdict = self._verdict(answer, self._yes_from)
        if settled and verdict.relevant:
            return judgement
        self._agreed += verdict.relevant == judgement.relevant
        self._answered[page.url] = verdict.relevant
        if isinstance(self._beside, TakesLabels):
            self._beside.label(page.url, verdict.relevant)
        return verdict

    def _is_near(self, judgement: Judgement) -> bool:
        """Whether it is among the nearest, by the pages before it."""
        threshold = self.threshold
        distance = abs(judgement.score - (0.5 if threshold is None else threshold))
        near = sorted(self._recent)
        self._recent.append(distance)
        if len(near) < _FIRST:
            return False
        insort(near, distance)
        return distance <= near[math.ceil(self._limits.share * len(near)) - 1]

    def _is_spent(self) -> bool:
        limits, answers = self._limits, self._answers
        spent = (
            (answers.used >= limits.asks, f"{limits.asks:g} questions were asked"),
            (answers.seconds >= limits.seconds, f"{limits.seconds:g} seconds are used"),
            (answers.spent >= limits.cost, f"its budget of {limits.cost:g} is spent"),
        )
        reason = next((reason for reached, reason in spent if reached), "")
        if reason and not self._told:
            self._told = True
            self._report(f"{self._name}: {reason}; no more second opinions")
        return bool(reason)

    def _without(self, judgement: Judgement, reason: str) -> Judgement:
        why = (*judgement.why, (f"without a second opinion: of {self._name} {reason}", 0.0))
        return replace(judgement, why=why)

    # -- what else the cheap judge can do

    def pass_revise(self) -> Sequence[tuple[str, Judgement]]:
        assert isinstance(self._beside, Rejudges)
        return [(url, one) for url, one in self._beside.revise() if url not in self._answered]

    def pass_label(self, url: str, relevant: bool) -> None:
        assert isinstance(self._beside, TakesLabels)
        self._answered.pop(url, None)
        self._beside.label(url, relevant)

    def _own_costs(self) -> Mapping[str, float]:
        """`asked`: pages with an answer; `cost` and `seconds` of all; `agreed`: answers that were
        the cheap judge's own verdict; `fell_back`: pages near the threshold without an answer."""
        return {
            "asked": self._asked,
            "cost": self._answers.spent,
            "fell_back": self._left + self._failed,
            "agreed": self._agreed,
            "seconds": round(self._answers.seconds, 3),
        }

    def save(self) -> State:
        judge = self._beside
        return {
            **self._answers.save(),
            "recent": list(self._recent),
            "answered": self._answered,
            "counts": [self._asked, self._agreed, self._failed, self._left],
            "told": self._told,
            "judge": judge.save() if isinstance(judge, Stateful) else None,
        }

    def load(self, state: State) -> None:
        self._answers.load(state)
        self._recent = deque(state["recent"], maxlen=_RECENT)
        self._answered = dict(state["answered"])
        self._asked, self._agreed, self._failed, self._left = state["counts"]
        self._told = state["told"]
        if isinstance(self._beside, Stateful):
            self._beside.load(state["judge"])
