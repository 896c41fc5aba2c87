"""`spoor forget`: takes pages out of a run."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from spoor.cli.options import AsJson
from spoor.display import shown


def add(app: typer.Typer) -> None:
    app.command()(forget)


def forget(
    run: Annotated[Path, typer.Argument(help="Folder of a run that is not going on.")],
    urls: Annotated[list[str], typer.Argument(metavar="URL...", help="Pages of the run.")],
    export: Annotated[
        list[Path] | None,
        typer.Option(help="An export outside of RUN to take them out of, too; may be repeated."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Take the pages URL… out of RUN: rows, archive, results, labels, and exports in its folder."""
    from spoor.runs import forget as forgetting
    from spoor.views.html import write_report

    told = forgetting.forget(run, urls, exports=export or ())
    write_report(run)
    if as_json:
        typer.echo(json.dumps(asdict(told)))
        raise typer.Exit(1 if told.failed else 0)
    typer.echo(
        f"taken out: {told.pages} pages, {told.failures} failures, {told.records} records of the "
        f"archive, {told.labels} labels, {told.saved} saved files"
    )
    if told.requisites:
        typer.echo(f"  {told.requisites} requisites that no other page needs")
    for name, count in told.exports.items():
        typer.echo(f"  {shown(name)}: {count} taken out")
    for why in told.failed.values():
        typer.echo(f"  still there: {shown(why)}", err=True)
    for url in told.not_found:
        typer.echo(f"  nothing of {shown(url)} was there")
    typer.echo(
        "not taken out: that these URLs were requested (they are not fetched again), paths to "
        "other pages through them, what the policy learned, exports elsewhere (--export FILE)"
    )
    raise typer.Exit(1 if told.failed else 0)
