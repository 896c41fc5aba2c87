"""The lock of a run: one process writes it, any number look on."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from spoor.errors import InputError
from spoor.runs import files


class BusyError(InputError):
    """Another process holds the folder."""


class Lock:
    """The lock of a run: its lock file, and its folder as well, which nobody can delete while the
    run goes on. (The database is not locked this way: closing a second descriptor of it would
    release the locks that SQLite holds on it.) Making it makes a folder that is missing.

    Raises OSError, and InputError where the lock file is a device.
    """

    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._file = files.open_own(path / files.LOCK, os.O_RDWR | os.O_CREAT)
        self._folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)

    def hold(self) -> None:
        """Take it until it is closed. Raises BusyError where another process has it, InputError
        where the file system knows no locks."""
        with suppress(OSError):
            # Some network file systems lock files only.
            self._take(self._folder)
        try:
            self._take(self._file)
        except OSError as error:
            raise InputError(
                f"cannot lock {self._path} ({error.strerror}); choose an --out on a local disk"
            ) from error
        with suppress(OSError):  # it was asked of whoever held it before
            os.unlink(self._path / files.STOP)

    def _take(self, opened: int) -> None:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyError(
                f"{self._path} is in use by another process; wait for it or end it"
            ) from None

    def close(self) -> None:
        """Release it."""
        for opened in (self._file, self._folder):
            with suppress(OSError):
                os.close(opened)
        self._file = self._folder = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def is_running(path: Path) -> bool:
    """Whether a process holds the run, or a shard of it."""
    if any(map(is_running, files.shards(path))):
        return True
    return _is_locked(path, os.O_DIRECTORY) or _is_locked(path / files.LOCK, os.O_NOFOLLOW)


def _is_locked(path: Path, flag: int) -> bool:
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flag)
    except OSError:
        return False
    try:
        fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(opened)
    return False
