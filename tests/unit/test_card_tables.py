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
        "requests_to": {"5": to, "90": to},
        "targets_reachable": reachable,
    }


def test_a_table_by_hand() -> None:
    rows = [row("a", "x", 0.5, 0.1), row("a", "x", 0.7, 0.3), row("a", "y", 0.9, None)]
    rows += [
        row("b", "x", 0.25, 0.2),
        row("b", "y", 0.75, 0.4),
        row("b", "y", 0.0, 0.0, reachable=0),
    ]
    text = card_tables.kept(Results("p/e", "harvest", "T", "", rows, {"spoor": "1", "code": "c"}))
    assert text.splitlines()[0] == "# p/e, Spoor 1, code c"
    assert card_tables.table(text, "auc").splitlines() == [
        "|  | x | y | mean |",
        "| --- | --- | --- | --- |",
        "| a | .600 | .900 | .750 |",
        "| b | .250 | .750 | .500 |",
    ]
    with pytest.raises(InputError, match="no measure 'found'"):
        card_tables.table(text, "found")


def test_pages_and_the_files_of_their_runs_say_the_same() -> None:
    named = list(card_tables.pages(DOCS))
    assert DOCS / "algorithms/naive-bayes.md" in named
    for page in named:
        text = page.read_text("utf-8")
        assert card_tables.filled(text, DOCS) == text, (
            f"{page}: python -m spoor.lab.card_tables fill"
        )
