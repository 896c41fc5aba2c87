"""`spoor stop`: ends a run that another process goes on with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def add(app: typer.Typer) -> None:
    app.command()(stop)


def stop(
    run: Annotated[Path, typer.Argument(help="Folder of a crawl or a watch that is going on.")],
) -> None:
    """End RUN as Ctrl-C in its terminal does: requests in flight are finished; it can go on."""
    from spoor.runs.stop_request import request_stop

    request_stop(run)
    typer.echo(f"{run} ends as soon as its requests in flight are finished")
