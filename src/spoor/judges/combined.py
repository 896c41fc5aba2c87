"""Judges made of judges: and, or, not, weighted sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from spoor.errors import InputError
from spoor.protocols import (
    GivesUpAnswers,
    Judge,
    KeepsAnswers,
    KeepsSample,
    LeavesOutViews,
    Rejudges,
    Stateful,
    TakesLabels,
)
from spoor.types import Judgement, Page, State
from spoor.wrapping import Wrapper


class _Several(Wrapper):
    """Several judges; each sees every page, so that all of them can learn."""

    kind = Judge

    def __init__(self, judges: Sequence[Judge]) -> None:
        if not judges:
            raise InputError("a combined judge needs at least one judge")
        self._judges = list(judges)
        self._said: dict[str, list[Judgement]] = {}
        """URL → what each judge says of the page; only where one of them judges anew."""
        self.hold(*judges)

    def _judge_all(self, page: Page) -> Judgement:
        judgements = [judge.judge(page) for judge in self._judges]
        if self.passes(Rejudges):
            self._said[page.url] = [replace(judgement, why=()) for judgement in judgements]
        return self._combined(judgements)

    def _combined(self, judgements: Sequence[Judgement]) -> Judgement:
        """What all judgements of one page say together."""
        raise NotImplementedError

    def pass_revise(self) -> Sequence[tuple[str, Judgement]]:
        before: dict[str, list[Judgement]] = {}
        now: dict[str, list[Judgement]] = {}
        for index, judge in enumerate(self._judges):
            if isinstance(judge, Rejudges):
                for url, judgement in judge.revise():
                    if (said := self._said.get(url)) is not None:
                        before.setdefault(url, list(said))
                        now.setdefault(url, list(said))[index] = judgement
                        said[index] = replace(judgement, why=())
        revised = []
        for url in (url for url in self._said if url in now) if now else ():
            was, judgement = self._combined(before[url]), self._combined(now[url])
            if (was.score, was.relevant) != (judgement.score, judgement.relevant):
                revised.append((url, judgement))
        return revised

    def pass_label(self, url: str, relevant: bool) -> None:
        for judge in self._judges:
            if isinstance(judge, TakesLabels):
                judge.label(url, relevant)

    def pass_save(self) -> State:
        saved: dict[str, Any] = {
            str(index): judge.save()
            for index, judge in enumerate(self._judges)
            if isinstance(judge, Stateful)
        }
        if self.passes(Rejudges):
            saved["said"] = {
                url: [[one.score, one.relevant, one.reward, one.topic] for one in said]
                for url, said in self._said.items()
            }
        return saved

    def pass_load(self, state: State) -> None:
        for index, judge in enumerate(self._judges):
            if isinstance(judge, Stateful):
                judge.load(state[str(index)])
        self._said = {
            url: [
                Judgement(score, relevant, reward, topic=topic)
                for score, relevant, reward, topic in said
            ]
            for url, said in state.get("said", {}).items()
        }

    def pass_keep_answers(self, file: Path, report: Callable[[str], None]) -> None:
        for judge in self._judges:
            if isinstance(judge, KeepsAnswers):
                judge.keep_answers(file, report)

    def pass_give_up_answers(self) -> None:
        for judge in self._judges:
            if isinstance(judge, GivesUpAnswers):
                judge.give_up_answers()

    def pass_key_sample(self, key: bytes) -> None:
        for judge in self._judges:
            if isinstance(judge, KeepsSample):
                judge.key_sample(key)

    def pass_views_by(self, view_of: Callable[[str], Sequence[str]]) -> None:
        for judge in self._judges:
            if isinstance(judge, LeavesOutViews):
                judge.views_by(view_of)

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
        return self._judge_all(page)

    def _combined(self, judgements: Sequence[Judgement]) -> Judgement:
        return Judgement(
            min(judgement.score for judgement in judgements),
            all(judgement.relevant for judgement in judgements),
            min(judgement.reward for judgement in judgements),
            tuple(reason for judgement in judgements for reason in judgement.why),
            next((judgement.topic for judgement in judgements if judgement.topic), ""),
        )


class AnyOf(_Several):
    """Relevant if one of the judges says so; score and reward are the largest. `names` are those of
    the judges, the topic of what each wants where it names none itself."""

    def __init__(self, judges: Sequence[Judge], names: Sequence[str] = ()) -> None:
        super().__init__(judges)
        self._names = list(names) or [""] * len(self._judges)

    @property
    def threshold(self) -> float | None:
        """The least score of relevant pages, if it is the same for all judges."""
        thresholds = {getattr(judge, "threshold", None) for judge in self._judges}
        return thresholds.pop() if len(thresholds) == 1 else None

    def judge(self, page: Page) -> Judgement:
        return self._judge_all(page)

    def _combined(self, judgements: Sequence[Judgement]) -> Judgement:
        named = zip(judgements, self._names, strict=True)
        best, name = max(named, key=lambda one: (one[0].relevant, one[0].score))
        score = max(judgement.score for judgement in judgements)
        reward = max(judgement.reward for judgement in judgements)
        topic = best.topic or name if best.relevant else ""
        return Judgement(score, best.relevant, reward, best.why, topic)


class Not(_Several):
    """Relevant if the wrapped judge says that it is not."""

    def __init__(self, judge: Judge) -> None:
        super().__init__([judge])

    def judge(self, page: Page) -> Judgement:
        return self._judge_all(page)

    def _combined(self, judgements: Sequence[Judgement]) -> Judgement:
        (judgement,) = judgements
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
        return self._judge_all(page)

    def _combined(self, judgements: Sequence[Judgement]) -> Judgement:
        weighed = list(zip(self._weights, judgements, strict=True))
        score = min(1.0, sum(weight * judgement.score for weight, judgement in weighed))
        relevant = score >= self.threshold
        why = tuple(
            (reason, weight * share)
            for weight, judgement in weighed
            for reason, share in judgement.why
        )
        _, most = max(weighed, key=lambda one: one[0] * one[1].score)
        return Judgement(score, relevant, float(relevant), why, most.topic)
