"""`spoor export`: the pages of a run as JSON lines, CSV, Parquet, WARC or bulk lines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def add(app: typer.Typer) -> None:
    app.command()(export)


def export(
    run: Annotated[Path, typer.Argument(help="Folder of a run, going on or stopped.")],
    out: Annotated[Path, typer.Option(help="File to write; one that is there is replaced.")],
    kind: Annotated[
        str | None,
        typer.Option(
            "--format", help="jsonl, csv, parquet, warc or bulk; else as the file's name says."
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All pages, not only the relevant ones.")
    ] = False,
    text: Annotated[
        bool, typer.Option("--text", help="With the visible text, out of the archive.")
    ] = False,
    index: Annotated[str, typer.Option(help="Index of bulk lines.")] = "spoor",
) -> None:
    """Write the relevant pages of RUN to a file for another program."""
    from spoor.runs.reader import Run

    count = Run(run).export(out, kind, everything=everything, text=text, index=index)
    typer.echo(f"{count} pages: {out}")
