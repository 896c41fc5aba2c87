"""`spoor show`: prints one document of a run as Markdown."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from spoor.cli.options import AsJson
from spoor.errors import InputError

_COLUMNS = ("markdown", "kind", "language", "date", "author", "licence")
"""Of what the document says itself, those that are printed as JSON."""


def add(app: typer.Typer) -> None:
    app.command()(show)


def show(
    run: Annotated[Path, typer.Argument(help="Folder of a run, going on or stopped.")],
    url: Annotated[str, typer.Argument(help="A document of the run.")],
    plain: Annotated[
        bool, typer.Option("--plain", help="As it is written, also at a terminal.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print the document URL of RUN as Markdown."""
    from spoor.runs import files
    from spoor.runs.reader import Run
    from spoor.views.document import as_lines

    try:
        known = Run(run)
        document = known.document(known.named(url))
    except ValueError as error:
        raise InputError(str(error)) from None
    if document is None and known.settings.command == "watch":
        raise InputError(
            f"{run} is a watch, whose pages stand in its {files.archive(0)} alone; this shows those"
            " of a crawl"
        )
    if document is None:
        raise InputError(f"{run} has no document {url}; its documents are those that were fetched")
    if as_json:
        exported = document.exported(_COLUMNS)
        del exported["archive"]
        typer.echo(json.dumps(exported))
        return
    text = "\n".join(as_lines(document))
    if plain or not sys.stdout.isatty():
        typer.echo(text)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(text, hyperlinks=False))
