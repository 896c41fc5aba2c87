"""The lock of a run: one process writes it, any number look on."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Self

from spoor.errors import InputError
from spoor.runs import files


class BusyError(InputError):
    """Another process holds the folder."""


class Lock:
    """The lock of a run: its lock file; its folder as well, which nobody can delete while the run
    goes on; and, where one is written, the database itself, under whatever name it is opened.
    Making it makes a folder that is missing.

    Raises OSError, and InputError where the lock file is a device.
    """

    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._file = files.open_own(path / files.LOCK, os.O_RDWR | os.O_CREAT)
        self._folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        self._database = -1

    def hold(self) -> None:
        """Take file and folder until it is closed. Raises BusyError where another process has it,
        InputError where the file system knows no locks."""
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

    def hold_database(self) -> None:
        """Take the database, too, before SQLite opens it; made where it is missing. By another name
        (a hard link) it is not opened a second time then. Raises as `hold` does, and OSError."""
        with _changes:
            opened = _descriptor(self._path / files.DATABASE)
            if opened in _held:
                raise self._busy()
            try:
                _lock_byte(opened, locked=True)
            except OSError as error:
                if error.errno in (errno.EAGAIN, errno.EACCES):
                    raise self._busy() from None
                raise InputError(
                    f"cannot lock {self._path / files.DATABASE} ({error.strerror}); choose an "
                    "--out on a local disk"
                ) from error
            _held.add(opened)
        self._database = opened

    def _take(self, opened: int) -> None:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise self._busy() from None

    def _busy(self) -> BusyError:
        return BusyError(f"{self._path} is in use by another process; wait for it or end it")

    def close(self) -> None:
        """Release it; after SQLite has closed the database."""
        if self._database >= 0:
            with _changes:
                with suppress(OSError):
                    _lock_byte(self._database, locked=False)
                _held.discard(self._database)
            self._database = -1
        for opened in (self._file, self._folder):
            with suppress(OSError):
                os.close(opened)
        self._file = self._folder = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


_BYTE = 1 << 62
"""Which byte of a database is locked: far from those that SQLite locks, and no file is as long."""

_MOST_KEPT = 32

_descriptors: dict[tuple[int, int], int] = {}
"""Databases that this process wrote, by device and number, and their descriptors. They are kept
open: closing one would release the locks of SQLite on all others that this process has of it."""

_held: set[int] = set()
"""Those that are locked."""

_changes = threading.Lock()
"""Held while one of these two changes: shards and notebooks have runs in several threads."""


def _descriptor(file: Path) -> int:
    for key, opened in list(_descriptors.items()):
        gone = not os.fstat(opened).st_nlink or len(_descriptors) >= _MOST_KEPT
        if gone and opened not in _held:
            os.close(_descriptors.pop(key))
    with suppress(FileNotFoundError):
        known = os.stat(file, follow_symlinks=False)
        if (known.st_dev, known.st_ino) in _descriptors:
            return _descriptors[known.st_dev, known.st_ino]
    opened = files.open_own(file, os.O_RDWR | os.O_CREAT)
    made = os.fstat(opened)
    return _descriptors.setdefault((made.st_dev, made.st_ino), opened)


def _lock_byte(opened: int, *, locked: bool) -> None:
    """By a lock that belongs to a descriptor and not, as SQLite's own, to the process: the only
    kind that stands beside those. Systems without one have the locks of folder and file alone."""
    if sys.platform == "linux":
        kind = fcntl.F_WRLCK if locked else fcntl.F_UNLCK
        fcntl.fcntl(opened, fcntl.F_OFD_SETLK, struct.pack("hhqqi", kind, 0, _BYTE, 1, 0))


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
