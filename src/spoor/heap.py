"""The memory of the process: what the C library keeps (with another library than GNU's nothing
happens), and a bound for what is read with a library that has none."""

from __future__ import annotations

import ctypes
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""Numbers of options of `mallopt`."""
_FREE = 1 << 22
"""Bytes that may be free at the heap's end. The tree of a page takes some MB for a moment: were
they given back at once, the system would have to clear them again for the next page."""
_LARGE = 1 << 20
"""Bytes of a block that lies apart from the heap, and is given back when it is freed. By itself the
library raises this to the largest block that was freed, and arrays of some MB then lie in the heap
and leave holes in it; blocks that are much smaller are so many that each new one costs more to
clear than what is computed in it."""


def share_heap() -> None:
    """Let all threads take their memory from one heap, which keeps `_FREE` bytes, and give blocks
    above `_LARGE` back at once. To be called before there are threads. With a heap for each thread,
    what one frees another cannot use; only one runs at a time, so none waits for another."""
    with suppress(OSError, AttributeError):
        for option, value in (
            (_ARENA_MAX, 1),
            (_TRIM_THRESHOLD, _FREE),
            (_MMAP_THRESHOLD, _LARGE),
        ):
            ctypes.CDLL(None).mallopt(option, value)


def release_memory() -> None:
    """Give memory that is free back to the system; the library would keep it in fragments."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def used() -> int:
    """Bytes of this process's data, as the kernel counts them. Linux."""
    with open("/proc/self/status", encoding="ascii") as status:
        line = next(line for line in status if line.startswith("VmData:"))
    return 1024 * int(line.split()[1])


@contextmanager
def at_most(room: int) -> Iterator[None]:
    """Within it the process gets `room` bytes more than it has; what asks for more gets none.
    Elsewhere than on Linux nothing is bounded."""
    if sys.platform != "linux":
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (used() + room, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
