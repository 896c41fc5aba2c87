"""`spoor lab`: experiments, which are data, and what came of them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spoor.cli.options import AsJson, ModelFile, Param, Seed
from spoor.cli.screen import progress
from spoor.errors import InputError

if TYPE_CHECKING:
    from spoor.lab.experiment import Experiment


def add(app: typer.Typer) -> None:
    lab = typer.Typer(no_args_is_help=True, help="Run experiments, compare, report.")
    lab.command("list")(list_)
    lab.command()(run)
    lab.command()(compare)
    lab.command()(report)
    lab.command()(whatif)
    app.add_typer(lab, name="lab")


def list_(
    as_json: AsJson = False,
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
    as_json: AsJson = False,
) -> None:
    """Run EXPERIMENTS; what is finished is kept, and a run that was cut goes on."""
    from spoor.lab import (
        fleet_experiment,
        pages,
        papers,
        results,
        shard_experiment,
        sweep,
        task_experiment,
    )
    from spoor.lab.experiment import find

    jobs = jobs or os.cpu_count() or 1
    told: list[dict[str, Any]] = []
    found = [experiment for name in experiments for experiment in find(name)]
    for experiment in found:
        more: dict[str, Any] = {}
        name = experiment.name
        plans: Any
        if experiment.kind == "fleets":
            plans = fleet_experiment.plan(experiment)
            with progress(f"cells of {name}", len(plans), quiet=as_json) as tell:
                cells = fleet_experiment.run(plans, out, jobs=jobs, tell=tell)
            more["graphs"] = fleet_experiment.graphs(experiment.settings["webs"])
        elif experiment.kind == "tasks":
            plans = task_experiment.plan(experiment, out)
            with progress(f"trials of {name}", len(plans), quiet=as_json) as tell:
                cells = task_experiment.run(plans, out, jobs=jobs, tell=tell)
        elif experiment.kind == "shards":
            plans = shard_experiment.plan(experiment, out)
            with progress(f"cells of {name}", len(plans), quiet=as_json) as tell:
                cells = shard_experiment.run(plans, out, jobs=jobs, tell=tell)
        else:
            plans = sweep.plan(experiment, out)
            with progress(f"cells of {name}", len(plans), quiet=as_json) as tell:
                cells = sweep.run(plans, out, jobs=jobs, tell=tell)
        told.append({"experiment": name, TOLD.get(experiment.kind, "cells"): cells})
        results.write(out / name, experiment, cells, more)
        page = pages.write(papers.page_of(out / name), out / name)
        if not as_json:
            show(experiment, cells)
            typer.echo(f"\nReport, pictures and cells.csv: {page}\n")
    for parent in dict.fromkeys(out / experiment.name.rpartition("/")[0] for experiment in found):
        if parent != out:
            page = pages.write(papers.page_of(parent), parent)
            if not as_json:
                typer.echo(f"All of {parent.name} on one page: {page}")
    if as_json:
        typer.echo(json.dumps(told[0] if len(told) == 1 else {"experiments": told}))


TOLD = {"tasks": "tasks"}
"""What `--json` calls the rows, where they are no cells."""


def compare(
    one: Annotated[str, typer.Argument(metavar="A", help="A policy, or a folder of results.")],
    other: Annotated[
        str | None, typer.Argument(metavar="[B]", help="The same; left out: all in folder A.")
    ] = None,
    within: Annotated[
        Path | None, typer.Option("--in", help="Where A and B are policies: folder of results.")
    ] = None,
    measure: Annotated[str, typer.Option(help="A column of cells.csv; else auc, say.")] = "",
    pairs: Annotated[str, typer.Option(help="What is paired: crawl, site or seed.")] = "crawl",
    correct: Annotated[str, typer.Option(help="For many tests: holm, fdr or none.")] = "holm",
    as_json: AsJson = False,
) -> None:
    """Say whether A is better than B: two policies of one experiment, or two folders of results."""
    from dataclasses import asdict

    from spoor.lab import compare as compared
    from spoor.lab import results

    for given, known, name in (
        (pairs, compared.PAIRS, "--pairs"),
        (correct, compared.CORRECTIONS, "--correct"),
    ):
        if given not in known:
            raise InputError(f"{name} is {', '.join(known[:-1])} or {known[-1]}, not {given!r}")
    how: dict[str, str] = {"measure": measure, "by": pairs, "correct": correct}
    if other is None:
        table = compared.matrix(list(results.found(Path(one))), **how)
        done = [told for (a, b), told in table.items() if (b, a) not in table or a < b]
    elif within is not None:
        done = compared.contenders(list(results.found(within)), one, other, **how)
    elif Path(one).is_dir() and Path(other).is_dir():
        ours, theirs = (list(results.found(Path(name))) for name in (one, other))
        done = compared.folders(ours, theirs, **how)
    else:
        raise InputError(
            f"{one!r} and {other!r} are no two folders; for two policies name the folder of their "
            "experiment: --in lab-out/NAME"
        )
    if as_json:
        rows = [{**asdict(told), "verdict": told.verdict} for told in done]
        typer.echo(json.dumps({"comparisons": rows}))
        return
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if Console().is_terminal else 160)
    grid = Table(box=None, pad_edge=False)
    for name in compared.HEAD:
        grid.add_column(name, overflow="fold")
    for told in done:
        grid.add_row(*compared.line(told))
    console.print(grid)


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="An experiment's, or a paper's.")],
    docs: Annotated[
        Path | None, typer.Option(help="Write NAME.md and its pictures into this folder instead.")
    ] = None,
) -> None:
    """Write DIR/report.html and report.md of what `spoor lab run` left there."""
    from spoor.lab import pages, papers

    page = papers.page_of(folder)
    if docs is not None:
        typer.echo(str(pages.write_docs(page, docs, folder.resolve().name)))
    else:
        typer.echo(str(pages.write(page, folder)))


def whatif(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a crawl.")],
    policy: Annotated[str, typer.Option(help="What might have crawled; see `spoor policies`.")],
    param: Param = None,
    model: ModelFile = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Estimate what another policy would have found in RUN's place."""
    from spoor.lab import whatif as off_policy
    from spoor.learn.state import read
    from spoor.registry import parse_params

    log = off_policy.read_log(folder)
    told = off_policy.estimate(
        log,
        policy,
        params=parse_params(param or []),
        model=read(model) if model else None,
        seed=seed,
    )
    typer.echo(off_policy.as_json(told) if as_json else off_policy.describe(told, str(folder)))


def show(experiment: Experiment, cells: list[dict[str, Any]]) -> None:
    """What an experiment says, on a terminal or in plain text."""
    from spoor.lab import fleet_experiment as fleets
    from spoor.lab import shard_experiment as split
    from spoor.lab import task_experiment as tasks

    if experiment.kind == "fleets":
        typer.echo(f"{experiment.title}\n\n{fleets.table(cells)}\n\n{fleets.claims(cells)}")
    elif experiment.kind == "tasks":
        typer.echo(f"{experiment.title}\n\n{tasks.table(cells)}")
    elif experiment.kind == "shards":
        show_grid(experiment.title, split.harvest(cells))
    else:
        show_harvest(experiment.title, cells)


def show_grid(title: str, rows: list[list[str]]) -> None:
    """A table on a terminal or in plain text; its first row is the head."""
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if Console().is_terminal else 160)
    grid = Table(*rows[0], title=title, box=None, pad_edge=False)
    for row in rows[1:]:
        grid.add_row(*row)
    console.print(grid)


def show_harvest(title: str, cells: list[dict[str, Any]]) -> None:
    """The table of an experiment, on a terminal or in plain text."""
    from spoor.lab.tables import overall, rows

    table = rows(cells)
    from rich.console import Console
    from rich.table import Table

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
