"""A judge that asks a function that costs: a language model, a person, a paid service.

Answers cost something, may differ from call to call, and may fail. So each answer is written to
disk before it is used, under a digest of the question; a replayed run uses the same answers,
including failures. Their cost is counted, and once a budget is spent, another judge replaces this
one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from spoor.errors import InputError
from spoor.judges.answers import Answer, Ask, asked_text
from spoor.judges.asking import AskingJudge
from spoor.protocols import Judge, Rejudges, Stateful
from spoor.types import Judgement, Page, State

__all__ = ["Answer", "Ask", "Llm"]


class Llm(AskingJudge):
    """Asks `ask(text, prompt)` about each page, with its title and the beginning of its text.

    Pages with the same title and text are asked about once. `fallback` judges pages without a word,
    pages for which `ask` raises or returns no score, and all new pages once the answers used so far
    cost `budget` or more. The cost of an answer counts once a run, whether it is new or was saved
    before, so that a replayed run spends the same.

    The crawl waits while `ask` runs. Time limits and retries are up to `ask`.
    """

    def __init__(
        self,
        ask: Ask,
        fallback: Judge,
        *,
        prompt: str = "",
        name: str = "",
        instead: str = "the other judge",
        budget: float = math.inf,
        characters: int = 8000,
        threshold: float = 0.5,
    ) -> None:
        if not budget >= 0:
            raise InputError(f"the budget of a judge that is asked is 0 or more, not {budget}")
        if characters < 1:
            raise InputError(f"a judge is asked about at least 1 character, not {characters}")
        super().__init__(ask, fallback, prompt, name)
        self._instead = instead
        self._budget = budget
        self._characters = characters
        self.threshold = threshold
        self._reported: set[str] = set()
        self._fell_back = 0
        self._left: dict[str, None] = {}
        """URLs of the pages that the fallback judged; only where it judges anew."""

    # -- judging

    def judge(self, page: Page) -> Judgement:
        # The fallback sees every page, so that it can learn from all.
        fallback = self._beside.judge(page)
        text = asked_text(page.title, page.text, self._characters)
        if not text:
            if isinstance(self._beside, Rejudges):
                self._left[page.url] = None
            return fallback
        if not self._answers.was_used(text) and self._answers.spent >= self._budget:
            reason = f"its budget of {self._budget:g} is spent"
            return self._fall_back(page.url, fallback, "budget", reason)
        answer = self._answers.of(text)
        if answer.failed:
            return self._fall_back(page.url, fallback, "failed", answer.failed)
        return self._verdict(answer, self.threshold)

    def _fall_back(self, url: str, judgement: Judgement, kind: str, reason: str) -> Judgement:
        self._fell_back += 1
        if isinstance(self._beside, Rejudges):
            self._left[url] = None
        if kind not in self._reported:
            self._reported.add(kind)
            self._report(f"{self._name}: {reason}; {self._instead} judges in its place")
        why = (*judgement.why, (f"judged by {self._instead}, since of {self._name} {reason}", 0.0))
        return replace(judgement, why=why)

    # -- saving

    def _own_costs(self) -> Mapping[str, float]:
        """Answers used, their cost, and pages that the fallback judged."""
        used, spent = self._answers.used, self._answers.spent
        return {"asked": used, "cost": spent, "fell_back": self._fell_back}

    def pass_revise(self) -> Sequence[tuple[str, Judgement]]:
        assert isinstance(self._beside, Rejudges)
        return [(url, judgement) for url, judgement in self._beside.revise() if url in self._left]

    def save(self) -> State:
        fallback = self._beside
        return {
            **self._answers.save(),
            "fell_back": self._fell_back,
            "left": list(self._left),
            "told": sorted(self._reported),
            "fallback": fallback.save() if isinstance(fallback, Stateful) else None,
        }

    def load(self, state: State) -> None:
        self._answers.load(state)
        self._fell_back = int(state["fell_back"])
        self._left = dict.fromkeys(state["left"])
        self._reported = set(state["told"])
        if isinstance(self._beside, Stateful):
            self._beside.load(state["fallback"])
