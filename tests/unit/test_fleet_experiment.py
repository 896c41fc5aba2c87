"""Experiments with fleets: planned, kept, summed up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spoor.cli.main import run as spoor
from spoor.errors import InputError
from spoor.lab import compare
from spoor.lab.cells import run_cells
from spoor.lab.experiment import find, read
from spoor.lab.kinds.fleets import KIND, plan, run_fleet
from spoor.lab.reports.fleets import MEASURES, claims
from spoor.lab.results import Results

SMALL = """
kind = "fleets"
title = "Small"
seeds = 2
[settings]
days = 0.15
fleets = ["WL", "RL", { fleet = "round-robin", seeds = 1 }]
[settings.webs]
plain = { news = { days = 1.0, backlog_days = 1.0, sections = 3, words = 10 } }
mixed = { news = { days = 1.0, backlog_days = 1.0, sections = 3, words = 10 }, rewired = 1 }
"""


def experiment_file(folder: Path, text: str = SMALL) -> Path:
    file = folder / "small.toml"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.long
def test_an_experiment_is_run_once_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = experiment_file(tmp_path), tmp_path / "out"
    assert spoor(["lab", "run", str(file), "--out", str(out), "--jobs", "1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    cells = told["cells"]
    assert [(c["web"], c["params"]["fleet"], c["seed"]) for c in cells] == [
        (web, fleet, seed)
        for web in ("plain", "mixed")
        for fleet, seed in (("WL", 0), ("WL", 1), ("RL", 0), ("RL", 1), ("round-robin", 0))
    ]
    names = "downloaded sent relevant found_urls download_efficiency sent_efficiency"
    names += " relative_found_url freshness age_hours"
    assert all(name in cell for name in names.split() for cell in cells)
    kept = {path.name: path.stat().st_mtime_ns for path in (out / "cells").iterdir()}
    assert len(kept) == 10
    experiment = read(file, "small")
    again = run_cells(KIND, plan(experiment, out), out)
    assert again == cells
    assert {path.name: path.stat().st_mtime_ns for path in (out / "cells").iterdir()} == kept
    page = (out / "small" / "report.md").read_text("utf-8")
    assert "| plain | sent efficiency |" in page
    drawn = {path.name for path in (out / "small").glob("*.svg")}
    assert {"plain-fig1.svg", "plain-fig2.svg", "mixed-fig3-age.svg"} <= drawn
    assert all(f"({name})" in page for name in drawn)


def test_fleets_are_compared_over_webs_and_not_over_runs() -> None:
    def cell(fleet: str, drawn: int, sent: float, age: float) -> dict[str, Any]:
        zero = dict.fromkeys(MEASURES, 0.0) | {"sent_efficiency": sent, "age_hours": age}
        return {**zero, "web": "w", "drawn": drawn, "fleet": fleet, "seed": drawn}

    def told(rows: list[dict[str, Any]]) -> dict[str, list[str]]:
        lines = claims(Results("x", "fleets", "", "", rows)).rows
        return {line[1]: list(line[-2:]) for line in lines}

    cells = [
        cell(*row)
        for web in range(6)
        for row in (("WL", web, 0.5 + web / 100, 1.0), ("RL", web, 0.3, 1.5 + (web % 2 - 0.5) * 2))
    ]
    found = told(cells)
    assert found["sent efficiency"] == ["6", "WL"]
    assert found["age hours"] == ["6", compare.UNTOLD]
    assert told([{**row, "drawn": 0} for row in cells])["sent efficiency"] == ["1", compare.UNTOLD]
    younger = [row | {"age_hours": row["age_hours"] - (row["fleet"] == "WL")} for row in cells]
    assert told(younger)["age hours"][1] == "WL", "the younger is better"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SMALL.replace("days = 0.15", "day = 0.25"), "unknown setting 'day'"),
        (SMALL.replace('"WL"', '"Wl"'), "unknown fleet 'Wl'"),
        (SMALL.replace("[settings.webs]", "[settings.web]"), "unknown setting 'web'"),
        ('kind = "fleets"\ntitle = "x"\n', "settings name webs and fleets"),
    ],
)
def test_bad_experiments(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        plan(read(experiment_file(tmp_path, text), "small"), tmp_path)


def test_weights_states_and_starts_of_a_run() -> None:
    web = {"news": {"days": 1.0, "backlog_days": 1.0, "sections": 3, "words": 10}}
    params = {"web": web, "fleet": "WL", "days": 0.25, "name": "w"}

    def found(**more: Any) -> str:
        row = run_fleet({**params, **more})
        return str([row[name] for name in ("found_urls", "sent", "relevant", "delay_hours")])

    plain = found()
    assert found() == plain
    others = [found(weights=1), found(states="shares"), found(starts=1)]
    assert len({plain, *others}) == 4
    with pytest.raises(InputError, match="states is"):
        found(states="share")


def test_the_papers_experiments_are_planned(tmp_path: Path) -> None:
    found = {
        experiment.name: [cell.params for cell in plan(experiment, tmp_path)]
        for experiment in find("palotai2005")
    }
    names = ("causes", "fig2", "fig3", "mixed", "rewired", "table2", "weights")
    assert set(found) == {f"palotai2005/{name}" for name in names}
    assert all("rewired" in params["web"] for params in found["palotai2005/rewired"])
    assert {params["fleet"] for params in found["palotai2005/table2"]} >= {"WL", "RL", "WLRL"}
