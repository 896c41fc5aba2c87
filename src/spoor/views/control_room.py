"""The control room: the runs in a folder, new crawls and watches, and two runs compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from spoor.errors import InputError
from spoor.runs import files
from spoor.setting import LIVE
from spoor.settings import Settings, described
from spoor.views.commands import Commands
from spoor.views.comparison import comparison_page
from spoor.views.html import environment
from spoor.views.run_list import has_run, run_names, runs_page
from spoor.views.settings_form import (
    FIRST,
    Form,
    arguments,
    fields,
    groups,
    secrets,
    settings_of_form,
    value_of,
)

TRIED = ("prefer", "delay", "contact", "allow_private", "connect_to")
"""Settings that `spoor topic test` takes, too."""

MOST_TRIED = 10
"""Pages that words are tried on at once."""

OFFERED = 100
"""Runs that a watch can be begun from, the latest ones."""


class ControlRoom:
    """What a person can do with a folder of runs. Raises InputError if it cannot be read."""

    def __init__(self, folder: Path, token: str, commands: Commands) -> None:
        self.folder = folder
        self._token = token
        self._commands = commands
        run_names(folder)

    def table(self, page: int) -> str:
        """The table of runs; `page` counts from 1."""
        return runs_page(self.folder, page)

    def compare(self, names: Sequence[str]) -> str:
        """Two runs side by side. Raises InputError for other than two, or what is no run here."""
        if len(names) != 2 or names[0] == names[1]:
            raise InputError("check two runs to compare them")
        if not all(has_run(self.folder, name) for name in names):
            raise InputError("there is no such run")
        return comparison_page(self.folder, names)

    def form(
        self,
        command: str,
        form: Form | None = None,
        *,
        from_run: str = "",
        wrong: str = "",
        tried: Mapping[str, Any] | None = None,
    ) -> str:
        """The form of a new crawl or watch, with its values, what is wrong with them, and the
        result of trying its words."""
        every = fields(command, form)
        given = form or {}
        return (
            environment()
            .get_template("new.html.jinja")
            .render(
                command=command,
                token=self._token,
                wrong=wrong,
                tried=tried,
                seeds="\n".join(given.get("seeds", ())),
                **{"try": "\n".join(given.get("try", ()))},
                from_run="".join(given.get("from", ())) or from_run,
                runs=run_names(self.folder)[:OFFERED] if command == "watch" else (),
                first=[field for name in FIRST for field in every if field.name == name],
                more=groups(every),
            )
        )

    def try_words(self, form: Form) -> Mapping[str, Any]:
        """What `spoor topic test` says of the pages that the form names. Raises InputError."""
        command = command_of(form)
        known = described(Settings)
        text = {field.name: field.text.strip() for field in fields(command, form)}
        topic = text["topic"] or text["topic_file"]
        if not topic:
            raise InputError("give a “topic” in words to try, or a topic file")
        pages = (
            " ".join([*form.get("try", ())]).split() or " ".join(form.get("seeds", ())).split()[:1]
        )
        if not pages:
            raise InputError("name a page to try the words on")
        options = []
        for name in TRIED:
            one = known[name]
            given = value_of(one, form.get(name, ()))
            options += one.arguments(one.checked(given, name.replace("_", " ")))
        return self._commands.answer(["topic", "test", *options, "--", topic, *pages[:MOST_TRIED]])

    def begin(self, form: Form) -> str:
        """Begin the crawl or watch of a form; returns the name of its run. Raises InputError for
        settings that it refuses, and with the command's own words where that did."""
        command = command_of(form)
        from_run = "".join(form.get("from", ())) if command == "watch" else ""
        if from_run and not has_run(self.folder, from_run):
            raise InputError("there is no such run to watch from")
        settings = settings_of_form(command, form, seeded=bool(from_run))
        given = arguments(settings)
        if from_run:
            given.insert(1, f"--from={(self.folder / from_run).absolute()}")
        path = files.new_run("watch-" if command == "watch" else "", self.folder)
        try:
            self._commands.begin_run(given, path, Path(), secrets(settings))
        except InputError:
            with suppress(OSError):
                path.rmdir()
            raise
        return path.name


def command_of(form: Form) -> str:
    """`crawl` or `watch`, as a form says. Raises InputError for anything else."""
    command = "".join(form.get("command", ())) or "crawl"
    if command not in LIVE:
        raise InputError("a new run is a crawl or a watch")
    return command
