"""`spoor search`: finds words in what a run fetched."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from spoor.cli.options import AsJson
from spoor.cli.screen import progress
from spoor.display import masked, printable, shown


def add(app: typer.Typer) -> None:
    app.command()(search)


def search(
    run: Annotated[Path, typer.Argument(help="Folder of a run, going on or stopped.")],
    words: Annotated[
        str,
        typer.Argument(help='Words that a document holds, all of them; "a phrase" counts as one.'),
    ],
    top: Annotated[int, typer.Option(min=1, max=1_000, help="Documents to print.")] = 10,
    relevant: Annotated[
        bool, typer.Option("--relevant", help="Only among the relevant documents.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Find the documents of RUN that hold WORDS, best first."""
    from spoor.runs import search as index
    from spoor.runs.reader import Run
    from spoor.runs.selection import Selection

    opened = Run(run)
    total = opened.reads(Selection(everything=not opened.is_watch))
    with progress("documents are searched", total, quiet=as_json) as report_progress:
        found = index.search(
            opened, words, limit=top, everything=not relevant, report_progress=report_progress
        )
    if as_json:
        typer.echo(json.dumps([asdict(one) for one in found]))
        return
    if not found:
        typer.echo("no document holds all of these words")
    for one in found:
        verdict = "relevant" if one.relevant else "not relevant"
        typer.echo(f"{shown(one.title) or '(no title)'}  ({verdict}, {one.score:.2f})")
        typer.echo(f"  {shown(one.url)}")
        pieces = [typer.style(text, bold=True) if hit else text for text, hit in _safe(one.snippet)]
        typer.echo(f"  {''.join(pieces)}")


def _safe(snippet: tuple[tuple[str, bool], ...]) -> list[tuple[str, bool]]:
    return [(printable(masked(text)), hit) for text, hit in snippet]
