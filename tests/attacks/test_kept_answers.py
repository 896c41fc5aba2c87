"""A file of answers that lies beside a stranger's topic, or in his run: nothing is cut off outside,
nothing is waited for, and what it says is checked as a new answer is."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from spoor.errors import InputError, PausedError
from spoor.judges.answers import Answers

ODD: list[Any] = ["x", None, -1e308, float("nan"), float("inf"), []]


def kept(file: Path) -> Answers:
    answers = Answers(lambda text, prompt: 0.5, "mine:ask", "kilns")
    answers.keep(file)
    return answers


@pytest.mark.parametrize("there", ["notes\nof a user, without an end", "one line alone", ""])
def test_no_file_that_a_link_leads_to_is_cut_off_or_written(there: str, tmp_path: Path) -> None:
    mine, file = tmp_path / "mine", tmp_path / "k.topic.answers.jsonl"
    mine.write_text(there)
    file.symlink_to(mine)
    with pytest.raises(InputError, match="symbolic link"):
        kept(file)
    file.unlink()
    answers = kept(file)
    file.symlink_to(mine)  # meanwhile
    with pytest.raises(PausedError):
        answers.of("a page")
    assert mine.read_text() == there


def test_a_pipe_is_not_waited_for_and_a_plain_text_not_cut_off(tmp_path: Path) -> None:
    file = tmp_path / "answers"
    os.mkfifo(file)
    with pytest.raises(InputError, match="not a plain file"):
        kept(file)
    file.unlink()
    file.write_text("one line alone")
    with pytest.raises(InputError, match="line 1 is no answer"):
        kept(file)
    assert file.read_text() == "one line alone"


@pytest.mark.parametrize(
    "more",
    [
        *[{"score": score} for score in ODD],
        *[{"cost": cost} for cost in ODD],
        *[{"why": why} for why in (None, ["a"], 3)],
        *[{"seconds": seconds} for seconds in ODD],
        *[{"failed": failed} for failed in (1, None)],
        {"digest": []},
        {"digest": None},
    ],
)
def test_what_it_says_is_checked(more: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "answers"
    row = {"digest": "d", "score": 1.0, "cost": 1.0, "why": "", **more}
    file.write_text(json.dumps(row) + "\n")
    with pytest.raises(InputError, match="line 1 is no answer"):
        kept(file)


def test_what_was_written_is_read_and_half_a_line_cut_off(tmp_path: Path) -> None:
    file = tmp_path / "answers"
    first = kept(file)
    answer = first.of("a page")
    whole = file.read_bytes()
    for half in (b'{"di', whole[:-9]):
        file.write_bytes(whole + half)
        again = kept(file)
        assert file.read_bytes() == whole
        assert again.of("a page") == answer
