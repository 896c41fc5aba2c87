"""`spoor web`: recorded and generated webs."""

from __future__ import annotations

import typer

web = typer.Typer(name="web", help="Recorded and generated webs.", no_args_is_help=True)


def add(app: typer.Typer) -> None:
    app.add_typer(web)
