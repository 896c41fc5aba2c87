"""The lock of a run: one process writes it, any number look on."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import TextIO

from spoor.errors import InputError
from spoor.runs import files


class BusyError(InputError):
    """Another process holds the folder."""


def open_lock(path: Path) -> TextIO:
    """The lock file of a run, whose folder is made where it is missing. Raises OSError."""
    path.mkdir(parents=True, exist_ok=True)
    return (path / files.LOCK).open("w")


def hold(lock: TextIO, path: Path) -> None:
    """Take the lock until its file is closed. Raises BusyError where another process has it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise BusyError(f"{path} is in use by another process; wait for it or end it") from None


def is_running(path: Path) -> bool:
    """Whether a process holds the run, or a shard of it."""
    if any(map(is_running, files.shards(path))):
        return True
    try:
        with (path / files.LOCK).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
