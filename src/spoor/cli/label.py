"""`spoor label`: a person says whether a page of a run is wanted; the crawl learns it."""

from __future__ import annotations

import json
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from spoor.cli.options import AsJson
from spoor.display import shown


class Verdict(StrEnum):
    """What a person says of a page."""

    yes = "yes"
    no = "no"


def add(app: typer.Typer) -> None:
    app.command()(label)


def label(
    run: Annotated[Path, typer.Argument(help="Folder of a run, going on or ended.")],
    url: Annotated[str, typer.Argument(help="A page of the run.")],
    verdict: Annotated[Verdict, typer.Argument(help="Whether it is wanted.")],
    as_json: AsJson = False,
) -> None:
    """Say that the page URL of RUN is wanted or is not; its policy learns that where it can."""
    from spoor.runs.labels import label as say
    from spoor.views.reading import report_of_run

    told = say(run, url, verdict is Verdict.yes)
    if not told.running:
        report_of_run(run)
    if as_json:
        typer.echo(json.dumps(asdict(told)))
        return
    now, was = _word(told.relevant), _word(told.was)
    typer.echo(f"{shown(told.url)}: {now}" + ("" if now == was else f", was {was}"))
    if told.running:
        typer.echo("  the crawl that is running takes it in within a second")
    else:
        typer.echo("  its results and report follow")
    if not told.learned:
        typer.echo("  its policy does not learn from it: it cannot take a judgement back")
    elif not told.running:
        typer.echo("  its policy learns it when the crawl goes on")


def _word(relevant: bool) -> str:
    return "relevant" if relevant else "not relevant"
