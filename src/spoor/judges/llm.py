"""A judge that asks a function that costs: a language model, a person, a paid service.

Answers cost something, may differ from call to call, and may fail. So each answer is written to
disk before it is used, under a digest of the question; a replayed run uses the same answers,
including failures. Their cost is counted, and once a budget is spent, another judge replaces this
one.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from spoor.errors import InputError, PausedError
from spoor.protocols import Judge, KeepsAnswers, Rejudges, Stateful
from spoor.types import Judgement, Page, State
from spoor.wrapping import Wrapper

_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a function; instead of it a function may return a bool or a score."""

    score: float
    """In [0, 1]."""
    cost: float = 1.0
    """In the unit of the budget."""
    why: str = ""


Ask = Callable[[str, str], "bool | float | Answer"]
"""(text, prompt) → a bool, a score in [0, 1] or an Answer; one without a cost costs 1."""


@dataclass(frozen=True, slots=True)
class _Saved:
    """An answer as it is saved; `failed`: why there is none."""

    score: float
    cost: float
    why: str
    failed: str = ""


class Llm(Wrapper):
    """Asks `ask(text, prompt)` about each page, with its title and the beginning of its text.

    Pages with the same title and text are asked about once. `fallback` judges pages without a word,
    pages for which `ask` raises or returns no score, and all new pages once the answers used so far
    cost `budget` or more. The cost of an answer counts once a run, whether it is new or was saved
    before, so that a replayed run spends the same.

    The crawl waits while `ask` runs. Time limits and retries are up to `ask`.
    """

    kind = Judge

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
        self._ask = ask
        self._fallback = fallback
        self._prompt = prompt
        self._name = name or getattr(ask, "__name__", "the function")
        self._instead = instead
        self._budget = budget
        self._characters = characters
        self.threshold = threshold
        self._answers: dict[str, _Saved] = {}
        self._file: Path | None = None
        self._report: Callable[[str], None] = lambda line: None
        self._reported: set[str] = set()
        self._used: dict[str, None] = {}
        """Digests of the answers that this run has used, in order."""
        self._spent = 0.0
        self._fell_back = 0
        self._left: dict[str, None] = {}
        """URLs of the pages that the fallback judged; only where it judges anew."""
        self.hold(fallback)

    # -- judging

    def judge(self, page: Page) -> Judgement:
        # The fallback sees every page, so that it can learn from all.
        fallback = self._fallback.judge(page)
        text = f"{page.title}\n\n{page.text}".strip()[: self._characters]
        # Services reject lone surrogates.
        text = text.encode("utf-8", "replace").decode("utf-8")
        if not any(map(str.isalnum, text)):
            if isinstance(self._fallback, Rejudges):
                self._left[page.url] = None
            return fallback
        digest = self._digest(text)
        if digest not in self._used and self._spent >= self._budget:
            return self._fall_back(
                page.url, fallback, "budget", f"its budget of {self._budget:g} is spent"
            )
        answer = self._answers.get(digest) or self._ask_and_save(digest, text)
        if digest not in self._used:
            self._used[digest] = None
            self._spent += answer.cost
        if answer.failed:
            return self._fall_back(page.url, fallback, "failed", answer.failed)
        relevant = answer.score >= self.threshold
        why = f"{self._name} says: {answer.why}" if answer.why else f"{self._name} says so"
        return Judgement(answer.score, relevant, float(relevant), ((why, answer.score),))

    def _fall_back(self, url: str, judgement: Judgement, kind: str, reason: str) -> Judgement:
        self._fell_back += 1
        if isinstance(self._fallback, Rejudges):
            self._left[url] = None
        if kind not in self._reported:
            self._reported.add(kind)
            self._report(f"{self._name}: {reason}; {self._instead} judges in its place")
        why = (*judgement.why, (f"judged by {self._instead}, since of {self._name} {reason}", 0.0))
        return Judgement(judgement.score, judgement.relevant, judgement.reward, why)

    def _digest(self, text: str) -> str:
        question = json.dumps([self._name, self._prompt, text]).encode()
        return hashlib.sha256(question).hexdigest()[:32]

    def _ask_and_save(self, digest: str, text: str) -> _Saved:
        try:
            answer = _checked(self._ask(text, self._prompt))
        except Exception as error:
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            answer = _Saved(0.0, 0.0, "", f"no answer came ({reason[:_SHOWN]})")
        self._answers[digest] = answer
        if self._file is not None:
            _append(self._file, digest, answer)
        return answer

    # -- saving

    def keep_answers(self, file: Path, report: Callable[[str], None]) -> None:
        """Use the answers in this file, and append new ones. `report` is called when the budget is
        spent, and when an answer first fails. Raises InputError for a damaged file."""
        self._answers |= _read(file)
        self._file, self._report = file, report
        if isinstance(self._fallback, KeepsAnswers):
            self._fallback.keep_answers(file, report)

    def costs(self) -> Mapping[str, float]:
        """Answers used, their cost, and pages that the fallback judged; plus its own costs."""
        own = {"asked": len(self._used), "cost": self._spent, "fell_back": self._fell_back}
        if not isinstance(self._fallback, KeepsAnswers):
            return own
        more = self._fallback.costs()
        return {name: own.get(name, 0) + more.get(name, 0) for name in {**own, **more}}

    def pass_revise(self) -> Sequence[tuple[str, Judgement]]:
        assert isinstance(self._fallback, Rejudges)
        return [(url, judgement) for url, judgement in self._fallback.revise() if url in self._left]

    def save(self) -> State:
        fallback = self._fallback
        return {
            "used": list(self._used),
            "spent": self._spent,
            "fell_back": self._fell_back,
            "left": list(self._left),
            "told": sorted(self._reported),
            "fallback": fallback.save() if isinstance(fallback, Stateful) else None,
        }

    def load(self, state: State) -> None:
        self._used = dict.fromkeys(state["used"])
        self._spent = float(state["spent"])
        self._fell_back = int(state["fell_back"])
        self._left = dict.fromkeys(state.get("left", ()))
        self._reported = set(state["told"])
        if isinstance(self._fallback, Stateful):
            self._fallback.load(state["fallback"])


def _checked(answer: object) -> _Saved:
    if not isinstance(answer, Answer):
        if not isinstance(answer, bool | int | float):
            raise ValueError(f"it said {answer!r}, which is no verdict, score or Answer")
        answer = Answer(float(answer))
    score, cost = float(answer.score), float(answer.cost)
    if not 0.0 <= score <= 1.0:
        raise ValueError(f"it said {score:g}, and scores lie in [0, 1]")
    if not 0.0 <= cost < math.inf:
        raise ValueError(f"it named a cost of {cost:g}")
    return _Saved(score, cost, " ".join(str(answer.why).split())[:_SHOWN])


def _read(file: Path) -> dict[str, _Saved]:
    """The answers in a file, if it exists; cuts off a line that a crash left incomplete."""
    try:
        data = file.read_bytes() if file.exists() else b""
        end = data.rfind(b"\n") + 1
        if end < len(data):
            os.truncate(file, end)
    except OSError as error:
        raise InputError(f"cannot use {file}: {error.strerror}") from error
    answers: dict[str, _Saved] = {}
    for number, line in enumerate(data[:end].splitlines(), 1):
        try:
            row = json.loads(line)
            digest = row.pop("digest")
            answers[digest] = _Saved(**row)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            raise InputError(
                f"{file} line {number} is no answer of a judge; put the file back as it was, or "
                "delete it to ask again"
            ) from error
    return answers


def _append(file: Path, digest: str, answer: _Saved) -> None:
    row = {"digest": digest, "score": answer.score, "cost": answer.cost, "why": answer.why}
    if answer.failed:
        row["failed"] = answer.failed
    try:
        with file.open("ab") as out:
            out.write(json.dumps(row).encode() + b"\n")
            out.flush()
            os.fsync(out.fileno())
    except OSError as error:
        raise PausedError(
            f"paused: cannot write {file} ({error.strerror}); make room and give the same command "
            "to go on"
        ) from error
