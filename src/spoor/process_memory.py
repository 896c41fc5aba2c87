"""The memory of the process: how often Python collects garbage, what the C library and errors keep,
and a bound for what is read with a library that has none; and how many files it may open."""

from __future__ import annotations

import ctypes
import gc
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

THRESHOLDS = (10_000, 10, 50)
"""New objects before the youngest generation is collected, and how often each before the next one.
All threads wait meanwhile: 100,000 objects take some 10 ms, so the second never has more."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""Numbers of options of `mallopt`."""

MOST_FILES = 1 << 14
"""Files and connections that this process, and those that it starts, may have open."""

_FREE = 1 << 22
"""Bytes that may stay free at the end of the heap. The tree of a page takes some MB for a moment;
if they were given back at once, the system would clear them again for the next page."""

_LARGE = 1 << 20
"""Blocks of this many bytes are allocated apart from the heap and given back when they are freed.
By default the library raises this to the largest block that was freed; arrays of some MB then leave
holes in the heap. Far below it there are so many blocks that clearing new ones costs more than what
is computed in them."""


@contextmanager
def few_collections() -> Iterator[None]:
    """Within it, collect garbage seldom, and never what was there before. A page leaves hardly any
    garbage, and a collection visits all live objects: it took 1/15 of the time of a live crawl, and
    1/9 of a replay's."""
    before = gc.get_threshold()
    gc.set_threshold(*THRESHOLDS)
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)


def share_heap() -> None:
    """Let all threads use one heap, which keeps `_FREE` bytes, and give blocks above `_LARGE` back
    at once. Call it before there are threads. If each thread had its own heap, one could not use
    what another freed; only one thread runs at a time, so none waits for another. Does nothing with
    another C library than GNU's."""
    with suppress(OSError, AttributeError):
        for option, value in (
            (_ARENA_MAX, 1),
            (_TRIM_THRESHOLD, _FREE),
            (_MMAP_THRESHOLD, _LARGE),
        ):
            ctypes.CDLL(None).mallopt(option, value)


def allow_many_files() -> None:
    """Let this process open up to `MOST_FILES` files and connections, as far as the system allows
    it. Many systems begin at 256 or 1,024, and hosts that do not answer hold eight times as many as
    a crawl has requests in flight."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_FILES if hard == resource.RLIM_INFINITY else min(MOST_FILES, hard)
    # Another kernel's own bound may be lower than the hard limit.
    while soft != resource.RLIM_INFINITY and soft < most:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            return
        most //= 2


def release_memory() -> None:
    """Give free memory back to the system, which the library would keep in fragments."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def without_frames(error: BaseException) -> None:
    """Let an error that was dealt with refer to no frames. Who keeps it (a connection the error
    that ended it) would keep what all of them held, and if that is the keeper too, as a connection
    and half of its document are, until Python looks for cycles."""
    errors: list[BaseException | None] = [error]
    while errors:
        one = errors.pop()
        if one is not None and one.__traceback__ is not None:
            one.__traceback__ = None
            errors += one.__cause__, one.__context__


def used() -> int:
    """Bytes of this process's data, as the kernel counts them. Linux."""
    with open("/proc/self/status", encoding="ascii") as status:
        line = next(line for line in status if line.startswith("VmData:"))
    return 1024 * int(line.split()[1])


@contextmanager
def at_most(room: int) -> Iterator[None]:
    """Within it, the process can allocate `room` more bytes than it has now; further allocations
    fail. Linux; elsewhere nothing is bounded."""
    if sys.platform != "linux":
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (used() + room, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
