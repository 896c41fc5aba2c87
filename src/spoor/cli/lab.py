"""`spoor lab`: experiments, which are data, and what came of them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from spoor.cli.screen import progress

if TYPE_CHECKING:
    from spoor.lab.experiment import Experiment


def add(app: typer.Typer) -> None:
    lab = typer.Typer(no_args_is_help=True, help="Run experiments that compare policies.")
    lab.command("list")(list_)
    lab.command()(run)
    app.add_typer(lab, name="lab")


def list_(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """List the experiments that come with Spoor."""
    from spoor.lab.experiment import packaged, read

    known = [read(path, name) for name, path in packaged().items()]
    if as_json:
        typer.echo(json.dumps({item.name: {"title": item.title} for item in known}))
        return
    width = max(len(item.name) for item in known)
    for item in known:
        typer.echo(f"{item.name:<{width}}  {item.title}")


def run(
    experiments: Annotated[
        list[str], typer.Argument(help="Names (`spoor lab list`) or TOML files of your own.")
    ],
    jobs: Annotated[int, typer.Option(min=0, help="Processes; 0: one a core.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for cells, tables and pictures.")] = Path(
        "lab-out"
    ),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Run EXPERIMENTS; what is finished is kept, and a run that was cut goes on."""
    from spoor.lab import results, sweep
    from spoor.lab.experiment import find

    found = [experiment for name in experiments for experiment in find(name)]
    told: list[dict[str, Any]] = []
    for experiment in found:
        if experiment.kind == "fleets":
            told.append(run_fleets(experiment, out, jobs or os.cpu_count() or 1, as_json))
            continue
        if experiment.kind == "tasks":
            told.append(run_tasks(experiment, out, jobs or os.cpu_count() or 1, as_json))
            continue
        plan = sweep.plan(experiment, out)
        with progress(f"cells of {experiment.name}", len(plan), quiet=as_json) as tell:
            cells = sweep.run(plan, out, jobs=jobs or os.cpu_count() or 1, tell=tell)
        told.append({"experiment": experiment.name, "cells": cells})
        results.write(out / experiment.name, experiment, cells)
        folder = write_pages(experiment.name, experiment.title, experiment.about, cells, out)
        if not as_json:
            show(experiment.title, cells)
            typer.echo(f"\nTable, pictures and cells.csv: {folder}\n")
    if as_json:
        typer.echo(json.dumps(told[0] if len(told) == 1 else {"experiments": told}))


def run_fleets(experiment: Experiment, out: Path, jobs: int, as_json: bool) -> dict[str, Any]:
    """Run an experiment with fleets on evolving webs, and show or write what it says."""
    from spoor.lab import fleet_experiment as fleets
    from spoor.lab import results

    plan = fleets.plan(experiment)
    with progress(f"cells of {experiment.name}", len(plan), quiet=as_json) as tell:
        cells = fleets.run(plan, out, jobs=jobs, tell=tell)
    results.write(out / experiment.name, experiment, cells)
    folder = fleets.write_pages(experiment, cells, out)
    if not as_json:
        typer.echo(f"{experiment.title}\n\n{fleets.table(cells)}\n\n{fleets.claims(cells)}")
        typer.echo(f"\nTable, pictures and cells.csv: {folder}\n")
    return {"experiment": experiment.name, "cells": cells}


def run_tasks(experiment: Experiment, out: Path, jobs: int, as_json: bool) -> dict[str, Any]:
    """Run an experiment whose policies keep what they learned from task to task."""
    from spoor.lab import results
    from spoor.lab import task_experiment as tasks

    plan = tasks.plan(experiment, out)
    with progress(f"trials of {experiment.name}", len(plan), quiet=as_json) as tell:
        rows = tasks.run(plan, out, jobs=jobs, tell=lambda done: tell(done, 0))
    results.write(out / experiment.name, experiment, rows)
    folder = tasks.write_pages(experiment, rows, out)
    if not as_json:
        typer.echo(f"{experiment.title}\n\n{tasks.table(rows)}")
        typer.echo(f"\nTable and pictures: {folder}\n")
    return {"experiment": experiment.name, "tasks": rows}


def write_pages(name: str, title: str, about: str, cells: list[dict[str, Any]], out: Path) -> Path:
    """Write `table.md` and one picture a web and target; returns their folder."""
    from spoor.lab.pictures import curves
    from spoor.lab.tables import markdown, mean_curves, overall, rows

    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    table = rows(cells)
    parts = [f"# {title}", about.strip(), markdown(table)]
    ranked = overall(table)
    if ranked:
        lines = [f"| {who} | {mean:.3f} | {worst:.3f} |" for who, mean, worst, _ in ranked]
        head = "| policy | mean gap closed | worst web and target |\n| --- | --- | --- |"
        parts.append("\n".join([head, *lines]))
    for web, target in dict.fromkeys((cell["web"], cell["target"]) for cell in cells):
        mine = [cell for cell in cells if (cell["web"], cell["target"]) == (web, target)]
        picture = f"{web}-{target}.svg".replace(" ", "-").replace("/", "-")
        drawn = curves(
            mean_curves(mine), x="% of the reachable pages fetched", y="% of the targets found"
        )
        (folder / picture).write_text(drawn, encoding="utf-8")
        parts.append(f"![{target} on {web}]({picture})")
    (folder / "table.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return folder


def show(title: str, cells: list[dict[str, Any]]) -> None:
    """The table of an experiment, on a terminal or in plain text."""
    from spoor.lab.tables import overall, rows

    table = rows(cells)
    console = Console(width=None if Console().is_terminal else 160)
    grid = Table(title=title, box=None, pad_edge=False)
    for name in ("web", "target", "policy"):
        grid.add_column(name, overflow="fold")
    for name in ("gap closed", "95 %", "AUC", "to 50 %", "to 75 %", "to 90 %", "ms/page"):
        grid.add_column(name, justify="right")
    for row in table:
        between = "" if row.low is None else f"{row.low:.2f} … {row.high:.2f}"
        numbers = (row.gap, None, row.auc, row.half, row.three_quarters, row.nine_tenths)
        shown = ["–" if value is None else f"{value:.3f}" for value in numbers]
        shown[1] = between
        grid.add_row(row.web, row.target, row.contender, *shown, f"{row.milliseconds:.2f}")
    console.print(grid)
    if len({(row.web, row.target) for row in table}) > 1:
        console.print("\nMean of the gaps closed over webs and targets (worst of them):")
        for who, mean, worst, _ in overall(table):
            console.print(f"  {mean:6.3f}  ({worst:.3f})  {who}", highlight=False)
