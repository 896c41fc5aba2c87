"""Two runs side by side, also where they are long."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from spoor.runs import files
from spoor.runs.inputs import with_inputs
from spoor.runs.writer import RunWriter
from spoor.settings import Settings
from spoor.views import comparison


def run_of(path: Path, verdicts: str, seed: int) -> None:
    """A run of one page a letter: lower case was not relevant; its URL is the letter's."""
    settings = with_inputs(Settings(topic="pottery", seed=seed), ["http://a.example/"])
    RunWriter(path, settings).close()
    with closing(sqlite3.connect(path / files.DATABASE)) as db, db:
        for number, letter in enumerate(verdicts, 1):
            db.execute(
                "INSERT INTO pages (seq, url, host, relevant, title, ticket, flags, time, seconds, size,"
                " status, score) VALUES (?, ?, 'a.example', ?, ?, ?, '', 1.0, 0.1, 9, 200, 0.5)",
                (
                    *(number, f"http://a.example/{letter.lower()}", letter.isupper()),
                    *(f"Title {letter}", number),
                ),
            )


def words(folder: Path) -> str:
    html = comparison.comparison_page(folder, ["one", "two"])
    html = re.sub(r"<svg.*?</svg>|<style.*?</style>|<[^>]*>", " ", html, flags=re.DOTALL)
    return " ".join(html.split())


def test_what_both_found_and_each_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "SOON", (2, 4))
    run_of(tmp_path / "one", "abCDeF", 1)
    run_of(tmp_path / "two", "FGcDaBHa", 2)
    shown = words(tmp_path)
    for part in (
        *("pages 6 8", "relevant 3 5", "harvest rate 50.0% 62.5%"),
        *("relevant of the first 6 3 4", "pages until 2 found 4 2", "pages until 4 found – 6"),
        *("2 pages were found by both", "one alone: 1 Title C", "two alone: 3 Title G"),
        "seed 1 2",
    ):
        assert part in shown, part
    assert "by their first" not in shown


def test_a_run_longer_than_what_is_compared_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison, "MOST", 4)
    run_of(tmp_path / "one", "abCDeF", 1)
    run_of(tmp_path / "two", "", 2)
    shown = words(tmp_path)
    assert "by their first 4 pages: what came later is not looked at" in shown
    assert "pages 4 0" in shown
    assert "relevant 2 0" in shown
    assert "harvest rate 50.0% –" in shown
