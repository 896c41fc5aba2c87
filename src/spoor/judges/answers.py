"""Answers of functions that cost: a language model, a person, a paid service.

Answers cost something, may differ from call to call, and may fail. So each answer is written to
disk before it is used, under a digest of the question; a replayed run uses the same answers,
including failures. Their cost is counted once a run.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from spoor.errors import DAMAGED, InputError, PausedError
from spoor.files import open_unlinked
from spoor.legible import legible
from spoor.stopwatch import CallsApart, timed
from spoor.types import State

_SHOWN = 200
_MOST = 1 << 28
"""Bytes of a file of answers."""
_LONGEST = 1 << 16
"""Bytes of a line of it."""
_BEGIN = b'{"digest": "'


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
class SavedAnswer:
    """An answer as it is saved; `failed`: why there is none."""

    score: float
    cost: float
    why: str
    failed: str = ""
    seconds: float = 0.0
    """That it took."""


class Answers:
    """The answers of one function to one prompt, and what those that a run has used cost."""

    def __init__(self, ask: Ask, name: str, prompt: str = "") -> None:
        self.name = name
        self._ask = ask
        self._prompt = prompt
        self._waits = CallsApart()
        self._known: dict[str, SavedAnswer] = {}
        self._file: Path | None = None
        self._used: dict[str, None] = {}
        """Digests of the answers that this run has used, in order."""
        self.spent = 0.0
        self.seconds = 0.0

    @property
    def used(self) -> int:
        """Answers that this run has used."""
        return len(self._used)

    def was_used(self, text: str) -> bool:
        """Whether this run has used the answer for a text."""
        return self._digest(text) in self._used

    def of(self, text: str) -> SavedAnswer:
        """The answer for a text: one that is known, or a new one, which is written first."""
        digest = self._digest(text)
        answer = self._known.get(digest) or self._ask_and_save(digest, text)
        if digest not in self._used:
            self._used[digest] = None
            self.spent += answer.cost
            self.seconds += answer.seconds
        return answer

    def _digest(self, text: str) -> str:
        question = json.dumps([self.name, self._prompt, text]).encode()
        return hashlib.sha256(question).hexdigest()[:32]

    def _ask_and_save(self, digest: str, text: str) -> SavedAnswer:
        def asked() -> SavedAnswer:
            try:
                return _checked(self._waits.call(partial(self._ask, text, self._prompt)))
            except Exception as error:
                reason = f"{type(error).__name__}: {error}".splitlines()[0]
                return SavedAnswer(0.0, 0.0, "", f"no answer came ({reason[:_SHOWN]})")

        answer, seconds = timed(asked)
        answer = replace(answer, seconds=round(seconds, 3))
        self._known[digest] = answer
        if self._file is not None:
            _append(self._file, digest, answer)
        return answer

    def give_up(self) -> None:
        """Wait for no answer any more: none came."""
        self._waits.give_up()

    def keep(self, file: Path) -> None:
        """Use the answers in this file, and append new ones. Raises InputError where it is
        damaged."""
        self._known |= _read(file)
        self._file = file

    def save(self) -> State:
        """What was used, and what it cost."""
        return {"used": list(self._used), "spent": self.spent, "seconds": self.seconds}

    def load(self, state: State) -> None:
        self._used = dict.fromkeys(state["used"])
        self.spent, self.seconds = float(state["spent"]), float(state["seconds"])


def asked_text(title: str, text: str, characters: int) -> str:
    """What a function is asked about, without letters that nobody sees; empty where a page has no
    word."""
    # Nor lone surrogates, which services reject.
    asked = legible(f"{title}\n\n{text}".strip()[:characters])
    return asked if any(map(str.isalnum, asked)) else ""


def _checked(answer: object) -> SavedAnswer:
    if not isinstance(answer, Answer):
        if not isinstance(answer, bool | int | float):
            raise ValueError(f"it said {answer!r}, which is no verdict, score or Answer")
        answer = Answer(float(answer))
    score, cost = float(answer.score), float(answer.cost)
    if not 0.0 <= score <= 1.0:
        raise ValueError(f"it said {score:g}, and scores lie in [0, 1]")
    if not 0.0 <= cost < math.inf:
        raise ValueError(f"it named a cost of {cost:g}")
    return SavedAnswer(score, cost, " ".join(str(answer.why).split())[:_SHOWN])


def _read(file: Path) -> dict[str, SavedAnswer]:
    """The answers in a file, if it exists; cuts off a line that a crash left incomplete."""
    answers: dict[str, SavedAnswer] = {}
    number = 1
    try:
        with open(open_unlinked(file, os.O_RDWR), "r+b") as opened:
            if os.fstat(opened.fileno()).st_size > _MOST:
                raise InputError(f"{file} has more than {_MOST:,} bytes; delete it to ask again")
            end = 0
            for line in iter(lambda: opened.readline(_LONGEST), b""):
                if not line.endswith(b"\n"):
                    if not line.startswith(_BEGIN[: len(line)]):
                        raise ValueError("it is no part of an answer")
                    break
                digest, answers[digest] = _row(line)
                end += len(line)
                number += 1
            opened.truncate(end)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise InputError(f"cannot use {file}: {error.strerror}") from error
    except DAMAGED as error:
        raise InputError(
            f"{file} line {number} is no answer of a judge; put the file back as it was, or "
            "delete it to ask again"
        ) from error
    return answers


def _row(line: bytes) -> tuple[str, SavedAnswer]:
    """The digest of a question and its answer, of a line that may be a stranger's. Raises one of
    DAMAGED."""
    row = json.loads(line)
    score, cost, seconds = (float(row.get(name, 0.0)) for name in ("score", "cost", "seconds"))
    why, failed = row["why"], row.get("failed", "")
    if not (isinstance(row["digest"], str) and isinstance(why, str) and isinstance(failed, str)):
        raise TypeError("a text of it is none")
    if not 0.0 <= seconds < math.inf:
        raise ValueError("it took no time that there is")
    checked = _checked(Answer(score, cost, why))
    return row["digest"], replace(checked, why=why, failed=failed, seconds=seconds)


def _append(file: Path, digest: str, answer: SavedAnswer) -> None:
    row: dict[str, object] = {"digest": digest, "score": answer.score, "cost": answer.cost}
    row["why"] = answer.why
    row |= {"failed": answer.failed} if answer.failed else {}
    row |= {"seconds": answer.seconds} if answer.seconds else {}
    try:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        with open(open_unlinked(file, flags), "ab") as out:
            out.write(json.dumps(row).encode() + b"\n")
            out.flush()
            os.fsync(out.fileno())
    except OSError as error:
        raise PausedError(
            f"paused: cannot write {file} ({error.strerror}); make room and give the same command "
            "to go on"
        ) from error
