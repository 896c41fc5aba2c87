"""The runs in a folder, as a table to choose from."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from spoor.display import few, to_the_minute
from spoor.errors import InputError, SpoorError
from spoor.runs import files
from spoor.runs.reader import Run
from spoor.views.html import environment, one_page

ON_A_PAGE = 50
"""Runs that are shown at once."""
MOST = 10_000
"""Folders that are looked at."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run in the table."""

    name: str
    """Of its folder."""
    sought: str = ""
    """What it looks for."""
    pages: int = 0
    """Fetched."""
    budget: int | None = None
    state: str = ""
    """`running`, why it ended, or what is wrong with it."""
    latest: str = ""
    """When its last page was fetched, in UTC."""
    address: str = ""
    """Of its page, from that of the table; empty where it has none."""


def run_names(folder: Path) -> list[str]:
    """Names of the runs in a folder, the one that was changed last first; a name that is no text is
    left out. Raises InputError where the folder cannot be read."""
    found = []
    try:
        with os.scandir(folder) as entries:
            for entry in [entry for entry, _ in zip(entries, range(MOST), strict=False)]:
                if entry.is_dir(follow_symlinks=False) and entry.name.isprintable():
                    settings = Path(entry.path) / files.SETTINGS
                    if settings.exists():
                        found.append((-max(_changed(settings), _changed(entry)), entry.name))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError(f"cannot list the runs in {folder}: {error.strerror}") from error
    return [name for _, name in sorted(found)]


def has_run(folder: Path, name: str) -> bool:
    """Whether a run of this name lies in a folder, itself and no link to one elsewhere; at the cost
    of one look, however many there are."""
    if name in ("", ".", "..") or "/" in name or not name.isprintable():
        return False
    try:
        return stat.S_ISDIR(os.lstat(folder / name).st_mode) and files.is_run(folder / name)
    except (OSError, InputError):
        return False


def _changed(path: os.PathLike[str]) -> float:
    return os.stat(path).st_mtime


def run_row(folder: Path, name: str) -> RunRow:
    """What the table says of a run; a damaged one says what is wrong with it. Milliseconds, however
    long the run is, but for a run in shards."""
    address = f"run/{quote(name, safe='')}/"
    try:
        run = Run(folder / name)
        settings = run.settings
        sought = settings.topic or settings.topic_file or ", ".join(settings.want)
        if settings.command != "crawl":
            state = "a watch, running" if run.is_running else "a watch"
            return RunRow(name, sought or few(settings.seeds), state=state, address=address)
        with run.at_once():
            latest, ended, budget = run.latest(1), run.noted("stopped"), run.budget()
        state = "running" if run.is_running else ended or "stopped"
        if not latest:
            return RunRow(name, sought, 0, budget, state, "", address)
        when = to_the_minute(latest[0].time)
        return RunRow(name, sought, latest[0].seq, budget, state, when, address)
    except SpoorError as error:
        return RunRow(name, state=str(error))


def runs_page(folder: Path, page: int = 1) -> str:
    """The table as HTML, `ON_A_PAGE` runs at a time; `page` counts from 1. Raises InputError as
    `run_names` does."""
    shown = one_page(run_names(folder), page, ON_A_PAGE)
    shown["rows"] = [run_row(folder, name) for name in shown["rows"]]
    return environment().get_template("runs.html.jinja").render(folder=str(folder), **shown)
