"""`spoor lab`: runs experiments, compares and reports their results."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spoor.cli.options import AsJson, ModelFile, Param, Seed
from spoor.cli.screen import progress
from spoor.display import shown
from spoor.distribution import import_extra
from spoor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spoor.lab.results import Results


def add(app: typer.Typer) -> None:
    lab = typer.Typer(no_args_is_help=True, help="Run experiments, compare, report.")
    lab.callback()(_needs)
    lab.command("list")(list_)
    lab.command()(run)
    lab.command()(compare)
    lab.command()(report)
    lab.command()(whatif)
    lab.command()(score)
    app.add_typer(lab, name="lab")


def _needs() -> None:
    import_extra("lab", "spoor lab", "scipy")


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
    short: Annotated[
        bool, typer.Option("--short", help="The short form of experiments that have one.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run EXPERIMENTS; an interrupted run continues without the finished cells.

    A cell that cannot be run is left out, the others go on, and the exit code is 1.
    """
    from spoor.errors import taking_in
    from spoor.files import subfolder
    from spoor.lab import pages, papers, results
    from spoor.lab.cells import CELLS, Failure, cells_of, run_cells
    from spoor.lab.experiment import find

    chosen = [experiment for name in experiments for experiment in find(name, short=short)]
    printed: list[dict[str, Any]] = []
    all_failed: list[Failure] = []
    for experiment in chosen:
        name = experiment.name
        kind, cells = cells_of(experiment, out)
        failed: list[Failure] = []
        with progress(f"cells of {name}", len(cells), quiet=as_json) as report_progress:
            rows = run_cells(
                kind,
                cells,
                out,
                jobs=jobs or os.cpu_count() or 1,
                progress=report_progress,
                failed=failed.append,
            )
        all_failed += failed
        folder = subfolder(out, *Path(name).parts)
        more = {"failed": [failure._asdict() for failure in failed]} if failed else {}
        with taking_in(str(out / CELLS), "remove that folder and run the experiment again"):
            results.write(folder, experiment, rows, {**kind.facts(experiment), **more})
        page = pages.write(papers.page_of(folder), folder)
        printed.append({"experiment": name, kind.row_name: rows, **more})
        if not as_json:
            show(results.read(folder))
            typer.echo(f"\nReport, pictures and cells.csv: {page}\n")
    for parent in dict.fromkeys(out / experiment.name.rpartition("/")[0] for experiment in chosen):
        if parent != out:
            page = pages.write(papers.page_of(parent), parent)
            if not as_json:
                typer.echo(f"All of {parent.name} on one page: {page}")
    if as_json:
        typer.echo(json.dumps(printed[0] if len(printed) == 1 else {"experiments": printed}))
    for failure in all_failed:
        typer.echo(shown(f"spoor: not run: {failure.cell}: {failure.error}"), err=True)
    if all_failed:
        raise typer.Exit(1)


def compare(
    one: Annotated[str, typer.Argument(metavar="A", help="A policy, or a folder of results.")],
    other: Annotated[
        str | None,
        typer.Argument(metavar="[B]", help="The same; without it, all in folder A are compared."),
    ] = None,
    within: Annotated[
        Path | None, typer.Option("--in", help="The folder of results, if A and B are policies.")
    ] = None,
    measure: Annotated[str, typer.Option(help="A column of cells.csv, such as auc.")] = "",
    pairs: Annotated[str, typer.Option(help="What is paired: crawl, site or seed.")] = "crawl",
    correct: Annotated[
        str, typer.Option(help="Correction for many tests: holm, fdr or none.")
    ] = "holm",
    as_json: AsJson = False,
) -> None:
    """Say whether A is better than B: two policies of one experiment, or two folders of results."""
    from dataclasses import asdict

    from spoor.lab import compare as compared
    from spoor.lab import results

    for value, allowed, option in (
        (pairs, compared.PAIRS, "--pairs"),
        (correct, compared.CORRECTIONS, "--correct"),
    ):
        if value not in allowed:
            raise InputError(
                f"{option} is {', '.join(allowed[:-1])} or {allowed[-1]}, not {value!r}"
            )
    how: dict[str, str] = {"measure": measure, "by": pairs, "correct": correct}
    with results.taking_in_results(within or Path(one)):
        if other is None:
            table = compared.matrix(list(results.read_all(Path(one))), **how)
            comparisons = [item for (a, b), item in table.items() if (b, a) not in table or a < b]
        elif within is not None:
            comparisons = compared.contenders(list(results.read_all(within)), one, other, **how)
        elif Path(one).is_dir() and Path(other).is_dir():
            ours, theirs = (list(results.read_all(Path(name))) for name in (one, other))
            comparisons = compared.folders(ours, theirs, **how)
        else:
            raise InputError(
                f"{one!r} and {other!r} are no two folders; for two policies name the folder of "
                "their experiment: --in lab-out/NAME"
            )
    if as_json:
        rows = [{**asdict(item), "verdict": item.verdict} for item in comparisons]
        typer.echo(json.dumps({"comparisons": rows}))
        return
    show_table(compared.HEAD, [compared.line(item) for item in comparisons])


def report(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder of an experiment or a paper.")
    ],
    docs: Annotated[
        Path | None, typer.Option(help="Write NAME.md and its pictures into this folder instead.")
    ] = None,
) -> None:
    """Write DIR/report.html and report.md of what `spoor lab run` left there."""
    from spoor.lab import pages, papers, results

    page = papers.page_of(folder)
    with results.taking_in_results(folder):
        if docs is not None:
            written = pages.write_docs(page, docs, folder.resolve().name)
        else:
            written = pages.write(page, folder)
    typer.echo(str(written))


def whatif(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a crawl.")],
    policy: Annotated[str, typer.Option(help="The other policy; see `spoor policies`.")],
    param: Param = None,
    model: ModelFile = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Estimate what another policy would have found in RUN's place."""
    from spoor.lab.whatif import estimate as off_policy
    from spoor.lab.whatif.run_log import read_log
    from spoor.learn.state import read
    from spoor.registry import parse_params

    log = read_log(folder)
    estimate = off_policy.estimate(
        log,
        policy,
        params=parse_params(param or []),
        model=read(model) if model else None,
        seed=seed,
    )
    typer.echo(
        off_policy.as_json(estimate) if as_json else off_policy.describe(estimate, str(folder))
    )


def score(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="URLs in order, or JSON lines.")],
    tasks: Annotated[Path, typer.Argument(metavar="TASKS", help="The folder of a data set.")],
    task: Annotated[str, typer.Option(help="The task, if the lines of LOG name none.")] = "",
    as_json: AsJson = False,
) -> None:
    """Score any crawler's LOG of requests on the tasks of the duel."""
    from dataclasses import asdict

    from spoor.lab.duel import dataset
    from spoor.lab.duel.score import HEAD, line, score_file

    scores = score_file(log, dataset.read(tasks), task)
    if as_json:
        typer.echo(json.dumps({"scores": [asdict(item) for item in scores]}))
        return
    show_table(HEAD, [line(item) for item in scores], names=1)


def show(results: Results) -> None:
    """The main tables of an experiment, on a terminal or in plain text."""
    from spoor.lab.pages import Grid, Prose
    from spoor.lab.reports.report import report_of

    title = results.title
    for block in report_of(results).summary(results):
        if isinstance(block, Grid):
            show_table(block.head, block.rows, title=title, names=block.names)
        elif isinstance(block, Prose):
            for line in (title, *block.text.split("\n")) if title else block.text.split("\n"):
                typer.echo(shown(line))
        title = ""


def show_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, title: str = "", names: int | None = None
) -> None:
    """A table on a terminal or in plain text; columns after the first `names` are aligned right."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(width=None if Console().is_terminal else 160)
    grid = Table(title=Text(shown(title)) if title else None, box=None, pad_edge=False)
    for number, name in enumerate(head):
        right = names is not None and number >= names
        grid.add_column(Text(shown(name)), overflow="fold", justify="right" if right else "left")
    for row in rows:
        grid.add_row(*(Text(shown(cell)) for cell in row))
    console.print(grid)
