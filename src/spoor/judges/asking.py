"""What judges have in common that ask a function beside another judge: its answers, and their
costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from spoor.judges.answers import Answers, Ask, SavedAnswer
from spoor.protocols import GivesUpAnswers, Judge, KeepsAnswers
from spoor.types import Judgement
from spoor.wrapping import Wrapper


class AskingJudge(Wrapper):
    """Asks `ask(text, prompt)` beside another judge, which sees every page."""

    kind = Judge

    def __init__(self, ask: Ask, beside: Judge, prompt: str, name: str) -> None:
        self._name = name or getattr(ask, "__name__", "the function")
        self._answers = Answers(ask, self._name, prompt)
        self._beside = beside
        self._report: Callable[[str], None] = lambda line: None
        self.hold(beside)

    def _verdict(self, answer: SavedAnswer, yes_from: float) -> Judgement:
        """What an answer says of a page."""
        relevant = answer.score >= yes_from
        why = f"{self._name} says: {answer.why}" if answer.why else f"{self._name} says so"
        return Judgement(answer.score, relevant, float(relevant), ((why, answer.score),))

    def _own_costs(self) -> Mapping[str, float]:
        """Its costs by name, without those of the judge beside it."""
        raise NotImplementedError

    def keep_answers(self, file: Path, report: Callable[[str], None]) -> None:
        """Use the answers in this file, and append new ones. `report` is called with a line where
        answers are no longer asked for, or one fails. Raises InputError for a damaged file."""
        self._answers.keep(file)
        self._report = report
        if isinstance(self._beside, KeepsAnswers):
            self._beside.keep_answers(file, report)

    def give_up_answers(self) -> None:
        self._answers.give_up()
        if isinstance(self._beside, GivesUpAnswers):
            self._beside.give_up_answers()

    def costs(self) -> Mapping[str, float]:
        """Its own, plus those of the judge beside it."""
        own = self._own_costs()
        if not isinstance(self._beside, KeepsAnswers):
            return own
        more = self._beside.costs()
        return {name: own.get(name, 0) + more.get(name, 0) for name in {**own, **more}}
