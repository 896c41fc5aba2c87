"""A judge that asks: a language model, a person, a paid service; any function that is not free.

Answers cost, may be different the second time, and may not come at all. So each is kept on the disk
before it is used, under a digest of what was asked; a run that is gone through again uses the same
answers, failures included. What they cost is counted, and from a budget on another judge goes on.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from spoor.errors import InputError, PausedError
from spoor.protocols import Judge, KeepsAnswers, Stateful
from spoor.types import Judgement, Page, State
from spoor.wrapping import Wrapper

_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Answer:
    """What a function that is asked may say, beside a bool or a score."""

    score: float
    """In [0, 1]."""
    cost: float = 1.0
    """In whatever unit the budget is in."""
    why: str = ""


Ask = Callable[[str, str], "bool | float | Answer"]
"""(text, prompt) → a bool, a score in [0, 1] or an Answer; one without a cost costs 1."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """An answer as it is kept; `failed` says why there is none."""

    score: float
    cost: float
    why: str
    failed: str = ""


class Llm(Wrapper):
    """What `ask(text, prompt)` says of a page: its title and the beginning of its text.

    A page whose title and text are those of one before is not asked about again. A question is
    asked as long as the answers used so far cost less than `budget`; after that, where `ask`
    raises or says what is no score, and for pages without a word, `fallback` judges. The cost of
    an answer counts once a run, whether it was asked for now or kept from before, so that a run
    that is gone through again spends the same.

    The crawl waits while `ask` runs. Its time limit and second attempts are its own affair.
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
        self._answers: dict[str, _Kept] = {}
        self._file: Path | None = None
        self._report: Callable[[str], None] = lambda line: None
        self._told: set[str] = set()
        self._used: dict[str, None] = {}
        """Digests of the answers that this run has used, in order."""
        self._spent = 0.0
        self._fell_back = 0
        self.hold(fallback)

    # -- judging

    def judge(self, page: Page) -> Judgement:
        # It sees every page, so that one that learns goes on learning.
        plain = self._fallback.judge(page)
        text = f"{page.title}\n\n{page.text}".strip()[: self._characters]
        # A surrogate that stands alone is no text to a service.
        text = text.encode("utf-8", "replace").decode("utf-8")
        if not any(map(str.isalnum, text)):
            return plain
        digest = self._digest(text)
        if digest not in self._used and self._spent >= self._budget:
            return self._plain(plain, "budget", f"its budget of {self._budget:g} is spent")
        kept = self._answers.get(digest) or self._asked(digest, text)
        if digest not in self._used:
            self._used[digest] = None
            self._spent += kept.cost
        if kept.failed:
            return self._plain(plain, "failed", kept.failed)
        relevant = kept.score >= self.threshold
        why = f"{self._name} says: {kept.why}" if kept.why else f"{self._name} says so"
        return Judgement(kept.score, relevant, float(relevant), ((why, kept.score),))

    def _plain(self, said: Judgement, kind: str, reason: str) -> Judgement:
        self._fell_back += 1
        if kind not in self._told:
            self._told.add(kind)
            self._report(f"{self._name}: {reason}; {self._instead} judges in its place")
        why = (*said.why, (f"judged by {self._instead}, since of {self._name} {reason}", 0.0))
        return Judgement(said.score, said.relevant, said.reward, why)

    def _digest(self, text: str) -> str:
        asked = json.dumps([self._name, self._prompt, text]).encode()
        return hashlib.sha256(asked).hexdigest()[:32]

    def _asked(self, digest: str, text: str) -> _Kept:
        try:
            kept = _checked(self._ask(text, self._prompt))
        except Exception as error:
            said = f"{type(error).__name__}: {error}".splitlines()[0]
            kept = _Kept(0.0, 0.0, "", f"no answer came ({said[:_SHOWN]})")
        self._answers[digest] = kept
        if self._file is not None:
            _append(self._file, digest, kept)
        return kept

    # -- what is kept

    def keep_answers(self, file: Path, report: Callable[[str], None]) -> None:
        """Go on from the answers in this file and add to it; `tell` hears once of a budget that is
        spent, and once of an answer that did not come. Raises InputError for a damaged file."""
        self._answers |= _read(file)
        self._file, self._report = file, report
        if isinstance(self._fallback, KeepsAnswers):
            self._fallback.keep_answers(file, report)

    def costs(self) -> Mapping[str, float]:
        """Answers used, their cost, and pages that the fallback judged; its own costs are added."""
        own = {"asked": len(self._used), "cost": self._spent, "fell_back": self._fell_back}
        if not isinstance(self._fallback, KeepsAnswers):
            return own
        more = self._fallback.costs()
        return {name: own.get(name, 0) + more.get(name, 0) for name in {**own, **more}}

    def save(self) -> State:
        fallback = self._fallback
        return {
            "used": list(self._used),
            "spent": self._spent,
            "fell_back": self._fell_back,
            "told": sorted(self._told),
            "fallback": fallback.save() if isinstance(fallback, Stateful) else None,
        }

    def load(self, state: State) -> None:
        self._used = dict.fromkeys(state["used"])
        self._spent = float(state["spent"])
        self._fell_back = int(state["fell_back"])
        self._told = set(state["told"])
        if isinstance(self._fallback, Stateful):
            self._fallback.load(state["fallback"])


def _checked(said: object) -> _Kept:
    if not isinstance(said, Answer):
        if not isinstance(said, bool | int | float):
            raise ValueError(f"it said {said!r}, which is no verdict, score or Answer")
        said = Answer(float(said))
    score, cost = float(said.score), float(said.cost)
    if not 0.0 <= score <= 1.0:
        raise ValueError(f"it said {score:g}, and scores lie in [0, 1]")
    if not 0.0 <= cost < math.inf:
        raise ValueError(f"it named a cost of {cost:g}")
    return _Kept(score, cost, " ".join(str(said.why).split())[:_SHOWN])


def _read(file: Path) -> dict[str, _Kept]:
    """The answers in a file, if there is one; what a crash left half-written is cut off."""
    try:
        data = file.read_bytes() if file.exists() else b""
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.truncate(file, whole)
    except OSError as error:
        raise InputError(f"cannot use {file}: {error.strerror}") from error
    found: dict[str, _Kept] = {}
    for number, line in enumerate(data[:whole].splitlines(), 1):
        try:
            row = json.loads(line)
            digest = row.pop("digest")
            found[digest] = _Kept(**row)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            raise InputError(
                f"{file} line {number} is no answer of a judge; put the file back as it was, or "
                "delete it to ask again"
            ) from error
    return found


def _append(file: Path, digest: str, kept: _Kept) -> None:
    row = {"digest": digest, "score": kept.score, "cost": kept.cost, "why": kept.why}
    if kept.failed:
        row["failed"] = kept.failed
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
