"""docs/duel.md and the crawls that are kept say the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spoor.cli.main import run

ROOT = Path(__file__).parents[2]
DUEL = ROOT / "benchmarks" / "duel"


def test_the_page_has_the_figures_that_spoor_lab_score_gives(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Of ByteCrawl, on each task of docs/duel.md."""
    scores: dict[str, dict[str, Any]] = {}
    for pages in (100, 300):
        log = DUEL / "crawls" / f"bytecrawl-{pages}-0.jsonl.xz"
        assert run(["lab", "score", str(log), str(DUEL / "dataset"), "--json"]) == 0
        scores |= {one["task"]: one for one in json.loads(capsys.readouterr().out)["scores"]}
    lines = (ROOT / "docs" / "duel.md").read_text("utf-8").splitlines()
    table = lines[lines.index("### Each task") + 2 :]
    names = [name.strip() for name in table[0].split("|")]
    shown = {}
    for line in table[2 : table.index("")]:
        cells = [cell.strip() for cell in line.split("|")]
        shown[cells[1]] = dict(zip(names, cells, strict=True))
    compared = [name for name in scores if name in shown]
    assert len(compared) >= 30
    for name in compared:
        recall = scores[name]["recall"]
        budgets = ("30", "100") if shown[name]["kind"] == "gold" else ("100", "300")
        figures = " · ".join(f"{recall[budget]:.2f}" for budget in budgets)
        assert shown[name]["ByteCrawl"] == figures, name
