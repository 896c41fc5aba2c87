"""Asks a run to end that another process holds, on this machine or another that shares its folder.

A file in the run's folder says so; the process that holds the folder looks for it once a second,
takes it away and ends as Ctrl-C would end it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from spoor.display import command_line
from spoor.errors import InputError, cannot_write
from spoor.runs import files
from spoor.runs.lock import is_running

LISTEN_SECONDS = 1.0
"""Between two looks."""


def request_stop(path: Path) -> None:
    """Ask a run to end. Raises InputError where there is none, or no process holds it."""
    if not files.is_run(path):
        raise InputError(f"{path} is no run: it has no {files.SETTINGS}")
    whole = path.absolute().parent
    if files.is_run(whole) and path.name in {shard.name for shard in files.shards(whole)}:
        raise InputError(
            f"{path} is a shard, which ends with its run: {command_line('stop', whole)}"
        )
    if not is_running(path):
        raise InputError(f"{path} is not running")
    try:
        os.close(files.open_own(path / files.STOP, os.O_WRONLY | os.O_CREAT))
    except OSError as error:
        raise cannot_write(path / files.STOP, error) from error


def take_request(path: Path) -> bool:
    """Whether somebody asked a run to end; the request is gone then. For its own process."""
    with suppress(OSError):
        os.unlink(path / files.STOP)
        return True
    return False
