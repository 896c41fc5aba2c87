"""`spoor ui`: the report of a run, kept up to date while it runs, with buttons to label pages; or a
control room for the runs in a folder."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spoor.files import temporary_folder
from spoor.runs.files import RUNS

if TYPE_CHECKING:
    from spoor.views.server import Ui


def add(app: typer.Typer) -> None:
    app.command()(ui)


def ui(
    run: Annotated[
        Path, typer.Argument(help="Folder of a run, going on or stopped, or a folder of runs.")
    ] = Path(RUNS),
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of this machine; 0: any free one.")
    ] = 0,
    for_seconds: Annotated[
        float | None, typer.Option("--for", min=0, help="End after so many seconds.")
    ] = None,
    browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open it in the browser, at a terminal.")
    ] = True,
) -> None:
    """Show RUN, or a control room for a folder of runs, on this machine, until Ctrl-C."""
    with contextlib.ExitStack() as end:
        asyncio.run(_serve(run, port, for_seconds, browser, end))


async def _serve(
    run: Path, port: int, seconds: float | None, browser: bool, end: contextlib.ExitStack
) -> None:
    from spoor.isolate.helper_pool import ending
    from spoor.views.server import Ui

    page = Ui(run)
    try:
        await _show(page, port, seconds, browser)
    finally:
        page.finish()
        end.enter_context(ending())  # until the threads of this loop have ended, too
        page.close()


async def _show(page: Ui, port: int, seconds: float | None, browser: bool) -> None:
    from spoor.http.world_server import serving

    over = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, over.set)
    async with serving(page, port=port):
        typer.echo(
            f"{page.url}\nopen it in a browser on this machine; whoever knows it sees the run, so "
            "keep it to yourself. Ctrl-C ends it."
        )
        sys.stdout.flush()
        with temporary_folder() as folder:
            if browser and sys.stdout.isatty():
                await asyncio.to_thread(open_in_browser, page.url, folder)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await over.wait()


def open_in_browser(url: str, folder: Path) -> None:
    """Open an address that nobody else may know: by a file that leads there, in a folder that only
    the user can read, since any user of the machine sees what a browser is started with."""
    import webbrowser

    file = folder / "open.html"
    file.write_text(f'<!doctype html><meta http-equiv="refresh" content="0;url={escape(url)}">')
    webbrowser.open(file.as_uri())
