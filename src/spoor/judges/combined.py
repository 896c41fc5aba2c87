"""Judges made of judges: and, or, not, weighted sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from spoor.errors import InputError
from spoor.protocols import Judge, KeepsAnswers, Stateful
from spoor.types import Judgement, Page, State
from spoor.wrapping import Wrapper


class _Several(Wrapper):
    """Judges side by side; all of them see every page, so that those that learn go on learning."""

    kind = Judge

    def __init__(self, judges: Sequence[Judge]) -> None:
        if not judges:
            raise InputError("a combined judge needs at least one judge")
        self._judges = list(judges)
        self.hold(*judges)

    def _all(self, page: Page) -> list[Judgement]:
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
    """Relevant where all are; score and reward are the smallest."""

    def judge(self, page: Page) -> Judgement:
        said = self._all(page)
        why = tuple(reason for one in said for reason in one.why)
        relevant = all(one.relevant for one in said)
        return Judgement(
            min(one.score for one in said), relevant, min(one.reward for one in said), why
        )


class AnyOf(_Several):
    """Relevant where one is; score and reward are the largest."""

    @property
    def threshold(self) -> float | None:
        """The score from which on a page is relevant, where that is the same for all of them."""
        found = {getattr(judge, "threshold", None) for judge in self._judges}
        return found.pop() if len(found) == 1 else None

    def judge(self, page: Page) -> Judgement:
        said = self._all(page)
        best = max(said, key=lambda one: (one.relevant, one.score))
        reward = max(one.reward for one in said)
        return Judgement(max(one.score for one in said), best.relevant, reward, best.why)


class Not(_Several):
    """Relevant where the other is not."""

    def __init__(self, judge: Judge) -> None:
        super().__init__([judge])

    def judge(self, page: Page) -> Judgement:
        (said,) = self._all(page)
        why = tuple((f"not: {reason}", -share) for reason, share in said.why)
        score = 1.0 - said.score
        why = why or (("nothing speaks for what is not wanted", score),)
        return Judgement(score, not said.relevant, float(not said.relevant), why)


class WeightedSum(_Several):
    """Score: mean of the scores by their weights; relevant from `threshold` on."""

    def __init__(
        self, judges: Sequence[Judge], weights: Sequence[float], *, threshold: float = 0.5
    ) -> None:
        super().__init__(judges)
        if len(weights) != len(judges) or min(weights, default=0) < 0 or not sum(weights):
            raise InputError("a weighted sum needs one weight a judge, none negative, not all 0")
        self._weights = [weight / sum(weights) for weight in weights]
        self.threshold = threshold

    def judge(self, page: Page) -> Judgement:
        said = list(zip(self._weights, self._all(page), strict=True))
        score = min(1.0, sum(weight * one.score for weight, one in said))
        relevant = score >= self.threshold
        why = tuple((reason, weight * share) for weight, one in said for reason, share in one.why)
        return Judgement(score, relevant, float(relevant), why)
