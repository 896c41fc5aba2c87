"""Tables of cards are those of the files of their runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from spoor.errors import InputError
from spoor.lab import card_tables
from spoor.lab.results import Results

DOCS = Path(__file__).parents[2] / "docs"


def row(
    contender: str, target: str, auc: float, to: float | None, reachable: int = 3
) -> dict[str, object]:
    return {
        "contender": contender,
        "web": "w",
        "target": target,
        "site": "s",
        "seed": 0,
        "auc": auc,
        "requests_to": dict.fromkeys(("5", "50", "75", "90"), to),
        "targets_reachable": reachable,
    }


def test_a_table_by_hand() -> None:
    rows = [row("a", "x", 0.5, 0.1), row("a", "x", 0.7, 0.3), row("a", "y", 0.9, None)]
    rows += [
        row("b", "x", 0.25, 0.2),
        row("b", "y", 0.75, 0.4),
        row("b", "y", 0.0, 0.0, reachable=0),
    ]
    text = card_tables.kept(Results("p/e", "harvest", "T", "", rows))
    assert text.splitlines()[0] == "# p/e"
    short = {"shortened": ["seeds: 1 instead of 3"]}
    again = card_tables.kept(Results("p/e", "harvest", "T", "", rows, settings=short))
    assert again.splitlines()[0] == "# p/e, short form: seeds: 1 instead of 3"
    assert card_tables.table(text, "auc").splitlines() == [
        "|  | x | y | mean |",
        "| --- | --- | --- | --- |",
        "| a | .600 | .900 | .750 |",
        "| b | .250 | .750 | .500 |",
    ]
    with pytest.raises(InputError, match="no measure 'found'"):
        card_tables.table(text, "found")


def test_tasks_are_kept_by_trial() -> None:
    tasks = [
        {"contender": "a", "web": "w", "topic": "t", "seed": seed, "task": task, "found": found}
        for seed, task, found in ((0, 1, 10), (0, 2, 20), (1, 1, 30), (1, 2, 40))
    ]
    text = card_tables.kept(Results("p/e", "tasks", "T", "", tasks))
    assert text.splitlines()[2:] == ["a,w,t,,0,15,10,20", "a,w,t,,1,35,30,40"]
    assert card_tables.table(text, "found").splitlines()[2:] == ["| a | 25 |"]
    assert card_tables.table(text, "last").splitlines()[2:] == ["| a | 30 |"]


def test_pages_and_the_files_of_their_runs_say_the_same() -> None:
    named = list(card_tables.pages(DOCS))
    assert DOCS / "algorithms/naive-bayes.md" in named
    for page in named:
        text = page.read_text("utf-8")
        assert card_tables.filled(text, DOCS) == text, (
            f"{page}: python -m spoor.lab.card_tables fill"
        )
