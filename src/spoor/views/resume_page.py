"""Going on with a run that has stopped: the page that asks for it, and the command that does it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from spoor.display import command_line
from spoor.errors import InputError
from spoor.runs.lock import is_running
from spoor.runs.reader import Run
from spoor.settings import Settings, described
from spoor.views.commands import Commands
from spoor.views.html import environment
from spoor.views.settings_form import Form, arguments


def page(path: Path, token: str, wrong: str = "") -> str:
    """The page as HTML. Raises InputError where the run cannot be read."""
    run = Run(path)
    settings = run.latest_settings()
    is_crawl = settings.command == "crawl"
    latest = run.latest(1) if is_crawl else []
    fetched = latest[0].seq if latest else 0
    budget = settings.pages or 0
    return (
        environment()
        .get_template("more.html.jinja")
        .render(
            name=path.name,
            token=token,
            wrong=wrong,
            pages=max(fetched, budget) + budget if is_crawl else None,
            fetched=fetched,
            budget=budget,
            reaches=list(_reaching(settings)),
            line=command_of(settings, path),
        )
    )


def command_of(settings: Settings, path: Path) -> str:
    """The command line that goes on with a run, without secrets."""
    command, *given = arguments(settings)
    return command_line(command, "--out", path, *given)


def go_on(path: Path, form: Form, commands: Commands) -> None:
    """Go on with a run as a form asks for it, with as many pages in all. Raises InputError where
    that is no number, where the run goes on already, or where its command refuses."""
    run = Run(path)
    settings = run.latest_settings()
    if is_running(path):
        raise InputError(f"{path.name} is running")
    if any(_reaching(settings)) and form.get("sure") != ["yes"]:
        raise InputError("say that you trust what its settings reach for")
    if settings.command == "crawl":
        one = described(Settings)["pages"]
        pages = one.checked(one.parsed("".join(form.get("pages", ()))), "“pages in all”")
        settings = replace(settings, pages=pages)
    folder = Path(os.path.join(path, settings.folder))
    if not folder.is_dir():
        raise InputError(f"the folder that its files were seen from is gone: {folder}")
    commands.begin_run(arguments(settings), path, folder)


def _reaching(settings: Settings) -> Iterator[str]:
    """`option value` of what names a program, a file or another machine. A run may come from a
    stranger: its user is shown them first."""
    for name, one in Settings.of_command(settings.command).items():
        value = getattr(settings, name)
        files = (text for text in (value if name == "want" else ()) if text.startswith("topic:"))
        if one.path or one.reaches or any(files) or (name == "topic" and "." in value):
            yield from one.arguments(value)
