"""`spoor label`: a person labels a page of a run as relevant or not; the crawl learns it."""

from __future__ import annotations

import json
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from spoor.cli.options import AsJson
from spoor.cli.screen import say
from spoor.display import shown


class Verdict(StrEnum):
    """The label of a person for a page."""

    yes = "yes"
    no = "no"


def add(app: typer.Typer) -> None:
    app.command()(label)


def label(
    run: Annotated[Path, typer.Argument(help="Folder of a run, going on or ended.")],
    url: Annotated[str, typer.Argument(help="A page of the run.")],
    verdict: Annotated[Verdict, typer.Argument(help="Whether it is relevant.")],
    as_json: AsJson = False,
) -> None:
    """Label the page URL of RUN as relevant or not; its judge and policy learn that if they
    can."""
    from spoor.runs.reader import Run
    from spoor.runs.recovery import kept_aside
    from spoor.views.html import write_report

    opened = Run(run)
    result = opened.label(url, verdict is Verdict.yes)
    if not (result.running or opened.is_watch):
        write_report(run)
    for aside in result.recovered:
        say(kept_aside(aside))
    for line in result.damaged:
        say(line)
    if as_json:
        typer.echo(json.dumps(asdict(result)))
        return
    now, was = _word(result.relevant), _word(result.was)
    typer.echo(f"{shown(result.url)}: {now}" + ("" if now == was else f", was {was}"))
    typer.echo(f"  {result.follows(is_watch=opened.is_watch)}")


def _word(relevant: bool) -> str:
    return "relevant" if relevant else "not relevant"
