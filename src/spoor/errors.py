"""Errors that say whose fault it was.

`InputError` is the user's or the data's: the command line prints its one line and exits with 2.
`PluginError` is a plug-in's: it names the class and the call. `CallerError` is ours or that of the
program that drives the core: a call that its protocol forbids. `PausedError` is the machine's, and
`DiskError` too, whoever named the file: the command line exits with 1, since trying again helps.
"""

from __future__ import annotations

import errno
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager


class SpoorError(Exception):
    """Any error that Spoor raises on purpose."""


class InputError(SpoorError):
    """What the user gave, or a file that the user named, cannot be used.

    The message is one line: what, where, and how to mend it.
    """


DAMAGED = (
    *(ValueError, TypeError, LookupError, AttributeError, ArithmeticError),
    *(AssertionError, RecursionError, MemoryError, struct.error, zlib.error),
)
"""What reading values of a file from a stranger may raise, since any value may be in any place."""


@contextmanager
def taking_in(what: str, mend: str, *more: type[Exception]) -> Iterator[None]:
    """Within it, errors of `DAMAGED` and `more` are due to the values of a file, which may come
    from a stranger. Each becomes an InputError: `what` cannot be used, and how to `mend` it."""
    try:
        yield
    except more + DAMAGED as error:
        why = in_one_line(f"{type(error).__name__}: {error}")
        raise InputError(f"{what} cannot be used ({why}); {mend}") from error


def in_one_line(what: object, most: int = 200) -> str:
    """What an error says, in one line of at most so many characters."""
    return " ".join(str(what).split())[:most]


def is_of_contents(error: Exception) -> bool:
    """Whether SQLite failed for what stands in its file, as a text that is no UTF-8 or a table that
    lacks a column: room, and rights to write, would not mend it."""
    code = getattr(error, "sqlite_errorcode", None)  # of SQLite itself; else it is Python's
    return code == _SQLITE_ERROR or (code is None and "decode to UTF-8" in str(error))


_SQLITE_ERROR = 1
"""A statement that does not fit the tables; all that the disk does has a code of its own."""


class PluginError(SpoorError):
    """A policy, judge, frontier or world broke its protocol."""

    def __init__(self, plugin: object, call: str, what: str) -> None:
        name = plugin if isinstance(plugin, str) else type(plugin).__name__
        super().__init__(f"{name}.{call} {what}")
        self.plugin = name
        self.call = call
        self._what = what

    def __reduce__(self) -> tuple[type[PluginError], tuple[str, str, str]]:
        # An error is rebuilt from its message alone, unless it says how it was made.
        return type(self), (self.plugin, self.call, self._what)


class CallerError(SpoorError):
    """The driver called the core in a way that its protocol forbids."""


TOO_MANY_FILES = (
    "paused: too many open files; raise `ulimit -n` or lower --in-flight, and give the same "
    "command to go on"
)
"""Message of a PausedError if this process may open no more files and connections."""

TOO_LITTLE_MEMORY = (
    "paused: this machine has no memory left; lower --in-flight, or end something else, and "
    "give the same command to go on"
)
"""Message of a PausedError if the machine has no memory left."""


class PausedError(SpoorError):
    """The machine cannot go on for now: its disk is full, for example. What was committed is safe,
    and the same command goes on once the cause is mended. The message names the cause and the
    mend."""


class DiskError(PausedError, InputError):
    """A file cannot be written, or not be read without writing, since the disk is full or fails:
    nothing is wrong with what the user gave, and the same command works once that is mended."""


ROOM = "make room, and give the same command again"
FAILING = "mend the disk, and give the same command again"
"""What mends a `DiskError`."""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""The latter where a process may write no more."""


def mend_of_disk(error: OSError) -> str:
    """What mends the disk to which an error is due; empty where it is due to no disk."""
    return ROOM if error.errno in _FULL else FAILING if error.errno == errno.EIO else ""


def cannot_write(path: object, error: OSError) -> InputError:
    """Of a file or folder that the user named: a DiskError where its disk is full or fails."""
    line, mend = f"cannot write {path}: {error.strerror}", mend_of_disk(error)
    return DiskError(f"{line}; {mend}") if mend else InputError(line)
