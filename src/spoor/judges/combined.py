"""Judges made of judges: and, or, not, weighted sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from spoor.errors import InputError
from spoor.protocols import Judge, KeepsAnswers, Stateful
from spoor.types import Judgement, Page, State
from spoor.wrapping import Wrapper


class _Several(Wrapper):
    """Several judges; each sees every page, so that all of them can learn."""

    kind = Judge

    def __init__(self, judges: Sequence[Judge]) -> None:
        if not judges:
            raise InputError("a combined judge needs at least one judge")
        self._judges = list(judges)
        self.hold(*judges)

    def _judge_all(self, page: Page) -> list[Judgement]:
        return [judge.judge(page) for judge in self._judges]

    def pass_save(self) -> State:
        return {
            str(index): judge.save()
            for index, judge in enumerate(self._judges)
            if isinstance(judge, Stateful)
        }

    def pass_load(self, state: State) -> None:
        for index, judge in enumerate(self._judges):
            if isinstance(judge, Stateful):
                judge.load(state[str(index)])

    def pass_keep_answers(self, file: Path, report: Callable[[str], None]) -> None:
        for judge in self._judges:
            if isinstance(judge, KeepsAnswers):
                judge.keep_answers(file, report)

    def pass_costs(self) -> Mapping[str, float]:
        total: dict[str, float] = {}
        for judge in self._judges:
            if isinstance(judge, KeepsAnswers):
                for name, cost in judge.costs().items():
                    total[name] = total.get(name, 0) + cost
        return total


class AllOf(_Several):
    """Relevant if all judges agree; score and reward are the smallest."""

    def judge(self, page: Page) -> Judgement:
        judgements = self._judge_all(page)
        return Judgement(
            min(judgement.score for judgement in judgements),
            all(judgement.relevant for judgement in judgements),
            min(judgement.reward for judgement in judgements),
            tuple(reason for judgement in judgements for reason in judgement.why),
        )


class AnyOf(_Several):
    """Relevant if one of the judges says so; score and reward are the largest."""

    @property
    def threshold(self) -> float | None:
        """The least score of relevant pages, if it is the same for all judges."""
        thresholds = {getattr(judge, "threshold", None) for judge in self._judges}
        return thresholds.pop() if len(thresholds) == 1 else None

    def judge(self, page: Page) -> Judgement:
        judgements = self._judge_all(page)
        best = max(judgements, key=lambda judgement: (judgement.relevant, judgement.score))
        score = max(judgement.score for judgement in judgements)
        reward = max(judgement.reward for judgement in judgements)
        return Judgement(score, best.relevant, reward, best.why)


class Not(_Several):
    """Relevant if the wrapped judge says that it is not."""

    def __init__(self, judge: Judge) -> None:
        super().__init__([judge])

    def judge(self, page: Page) -> Judgement:
        (judgement,) = self._judge_all(page)
        why = tuple((f"not: {reason}", -share) for reason, share in judgement.why)
        score = 1.0 - judgement.score
        why = why or (("nothing speaks for what is not wanted", score),)
        return Judgement(score, not judgement.relevant, float(not judgement.relevant), why)


class WeightedSum(_Several):
    """Score: weighted mean of the scores; relevant if it is `threshold` or more."""

    def __init__(
        self, judges: Sequence[Judge], weights: Sequence[float], *, threshold: float = 0.5
    ) -> None:
        super().__init__(judges)
        if len(weights) != len(judges) or min(weights, default=0) < 0 or not sum(weights):
            raise InputError("a weighted sum needs one weight a judge, none negative, not all 0")
        self._weights = [weight / sum(weights) for weight in weights]
        self.threshold = threshold

    def judge(self, page: Page) -> Judgement:
        judgements = list(zip(self._weights, self._judge_all(page), strict=True))
        score = min(1.0, sum(weight * judgement.score for weight, judgement in judgements))
        relevant = score >= self.threshold
        why = tuple(
            (reason, weight * share)
            for weight, judgement in judgements
            for reason, share in judgement.why
        )
        return Judgement(score, relevant, float(relevant), why)
