"""`spoor export`: the documents of a run in a form for another program."""

from __future__ import annotations

import shutil
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from spoor.cli.screen import progress
from spoor.display import shown
from spoor.errors import InputError
from spoor.files import temporary_folder


def add(app: typer.Typer) -> None:
    app.command()(export)


def export(
    run: Annotated[Path, typer.Argument(help="Folder of a run, going on or stopped.")],
    target: Annotated[
        str | None,
        typer.Argument(
            help="File or folder to write, or s3:// or gs://, or - for standard output; one of an "
            "earlier export is replaced."
        ),
    ] = None,
    out: Annotated[str | None, typer.Option(help="The same, as an option.")] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="jsonl, csv, parquet, log, bulk, warc, wacz, sqlite, passages, or in a folder "
            "markdown or text; jsonl.gz, jsonl.zst; else as the name says.",
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All pages, not only the relevant ones.")
    ] = False,
    min_score: Annotated[
        float | None, typer.Option(help="Only documents with this score or more, in [0, 1].")
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="Only documents fetched since a date or time (ISO 8601).")
    ] = None,
    copies: Annotated[
        bool,
        typer.Option(
            "--copies/--no-copies",
            help="Leave out near-copies: of several, one of a seed's domain stays, else the one "
            "that was fetched first.",
        ),
    ] = True,
    language: Annotated[
        list[str] | None,
        typer.Option(
            help="Only documents whose text is in this language (de, German); several are or-ed."
        ),
    ] = None,
    not_in: Annotated[
        list[Path] | None,
        typer.Option(help="Without the documents of this earlier export (jsonl, csv, parquet)."),
    ] = None,
    rows_per_file: Annotated[
        int | None,
        typer.Option(
            help="A folder of files with so many rows each: part-00000.jsonl, …",
            min=1,
            max=1_000_000_000,
        ),
    ] = None,
    by_seed: Annotated[
        bool,
        typer.Option(
            "--by-seed",
            help="A table of the seeds: the best page of the site of each, or why none counts.",
        ),
    ] = False,
    sites: Annotated[
        Path | None,
        typer.Option(
            "--list",
            help="The same for each row of the list of sites that the crawl began with, in its "
            "order and with its columns.",
        ),
    ] = None,
    requests: Annotated[
        bool,
        typer.Option(
            "--requests",
            help="A table of all requests that ended, failures and their reasons included; a "
            "name that ends in .log: a log as Heritrix writes it.",
        ),
    ] = False,
    text: Annotated[bool, typer.Option("--text", help="With the main text.")] = False,
    columns: Annotated[
        str,
        typer.Option(
            "--with",
            help="More columns, with commas between: text, markdown, kind, language, date, author, "
            "licence, keywords, words, text-language, links, json-ld, microdata, tables.",
        ),
    ] = "",
    field: Annotated[
        list[str] | None,
        typer.Option(
            help="A column by a selector: NAME=CSS or NAME=xpath:XPATH; NAME[]=… for all values."
        ),
    ] = None,
    index: Annotated[str, typer.Option(help="Index of bulk lines.")] = "spoor",
) -> None:
    """Write the relevant documents of RUN to a file or folder for another program."""
    from spoor.judges.languages import language_code
    from spoor.runs.export import export_run
    from spoor.runs.reader import Run
    from spoor.runs.selection import Selection, moment

    if (target is None) == (out is None):
        raise InputError("name one file or folder to write: spoor export RUN FILE")
    place = out if target is None else target
    if not place:
        raise InputError("the name of the file or folder to write is empty")
    opened = Run(run)
    asked = [name for name in columns.split(",") if name.strip()]
    after = None if since is None else moment(since)
    languages = tuple(map(language_code, language or ()))
    selection = Selection(everything, min_score, after, copies, languages)
    by_seed = by_seed or sites is not None
    total = len(opened.settings.seeds) if by_seed else opened.reads(selection)
    piped = place == "-"
    with (
        progress("seeds" if by_seed else "documents are read", total) as report_progress,
        temporary_folder() if piped else nullcontext() as folder,
    ):
        if folder is not None:
            form = form or "jsonl"
            place = str(folder / "export")
        exported = export_run(
            opened,
            place,
            form,
            selection=selection,
            columns=[*asked, *(("text",) if text else ())],
            fields=field or (),
            index=index,
            by_seed=by_seed,
            sites=sites,
            requests=requests,
            not_in=not_in or (),
            rows_per_file=rows_per_file,
            report_progress=report_progress,
        )
        if folder is not None:
            _pipe(Path(place))
            place = "standard output"
    what = "requests" if requests or exported.form == "log" else "pages"
    if by_seed:
        what = "seeds" if sites is None else "rows"
    less = [
        *([f"{exported.copies} near-copies"] if exported.copies else ()),
        *([f"{exported.others} others"] if exported.others else ()),
    ]
    copied = f" ({' and '.join(less)} left out)" if less else ""
    typer.echo(f"{exported.pages} {what}: {place}{copied}", err=piped)
    if left_out := exported.left_out.count:
        rows = "1 page is" if left_out == 1 else f"{left_out:,} pages are"
        first = "" if left_out == 1 else "the first: "
        typer.echo(f"{rows} left out, {first}{shown(exported.left_out.first)}", err=True)


def _pipe(made: Path) -> None:
    """Print a whole export. Raises InputError where it is a folder, or where there is no standard
    output."""
    if sys.stdout is None:
        raise InputError("standard output is closed; give the name of a file")
    if made.is_dir():
        raise InputError("a folder of files cannot go to standard output; give --format jsonl, say")
    with made.open("rb") as file:
        shutil.copyfileobj(file, sys.stdout.buffer)
    sys.stdout.buffer.flush()
