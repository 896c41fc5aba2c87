"""`spoor explain`: what a model or a run has learned, or why a page was fetched, in words."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from spoor.cli.options import AsJson
from spoor.display import indented, shown


def add(app: typer.Typer) -> None:
    app.command()(explain)


def explain(
    source: Annotated[
        Path, typer.Argument(metavar="MODEL|RUN", help="What `spoor train` wrote, or a run.")
    ],
    url: Annotated[str | None, typer.Argument(help="A page of the run, or an open link.")] = None,
    top: Annotated[int, typer.Option(min=1, help="Features of each group, and open links.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Print what MODEL or RUN has learned and what a RUN would ask for next, or why URL was chosen
    or waits; of a watch, why it told of URL or did not, and when it looks there next."""
    from spoor.views import explain as views

    if url is not None:
        row = views.of_page(source, url)
        for line in [json.dumps(views.as_json(row))] if as_json else views.in_lines(row):
            typer.echo(line if as_json else indented(line))
        return
    known = views.of_run(source, top) if os.path.isdir(source) else views.of_model(source, top)
    if as_json:
        typer.echo(json.dumps(asdict(known)))
        return
    typer.echo(f"{known.policy} for {known.topic!r}, over {known.features}")
    if known.paid.lead:
        typer.echo(f"\nwhich links paid\n  {known.paid.lead}")
    for kind in [*known.paid.pays, *known.paid.fails]:
        typer.echo(f"  {kind.sentence}")
        for example in kind.examples:
            typer.echo(f"    {shown(example.url)}  {shown(example.title)}")
    for name, features in known.learned.items():
        typer.echo(f"\n{name}")
        named = [(shown(feature) or "(none)", weight) for feature, weight in features]
        width = max(len(feature) for feature, _ in named)
        for feature, weight in named:
            typer.echo(f"  {feature:<{width}}  {weight:+.5g}")
    if known.next:
        typer.echo("\nwhat it would ask for next")
    for link in known.next:
        typer.echo(f"  {shown(link.url)}")
        for reason, share in link.why[:3]:
            typer.echo(f"    {shown(reason)}  {share:+.2f}")
