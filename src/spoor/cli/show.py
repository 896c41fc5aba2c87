"""`spoor show`: prints one document of a run as Markdown, or what a watch has told."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from spoor.cli.options import AsJson
from spoor.display import indented
from spoor.errors import InputError

_COLUMNS = ("markdown", "kind", "language", "date", "author", "licence")
"""Of what the document says itself, those that are printed as JSON."""


def add(app: typer.Typer) -> None:
    app.command()(show)


def show(
    run: Annotated[Path, typer.Argument(help="Folder of a run, going on or stopped.")],
    url: Annotated[str | None, typer.Argument(help="A document of the run.")] = None,
    plain: Annotated[
        bool, typer.Option("--plain", help="As it is written, also at a terminal.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print the document URL of RUN as Markdown; without URL what a watch has told, its sources and
    where it looks next."""
    from spoor.runs import files
    from spoor.runs.reader import Run
    from spoor.views import watch_text
    from spoor.views.document import as_lines

    known = Run(run)
    if url is None:
        if not known.is_watch:
            raise InputError(
                f"{run} is a crawl: name a document of it; its {files.REPORT} tells of all"
            )
        told = watch_text.summary(known)
        lines = [json.dumps(told)] if as_json else map(indented, watch_text.summary_in_lines(told))
        for line in lines:
            typer.echo(line)
        return
    try:
        document = known.document(known.named(url))
    except ValueError as error:
        raise InputError(str(error)) from None
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
