"""The memory that the C library keeps for the process. With another library than GNU's nothing
happens here."""

from __future__ import annotations

import ctypes
from contextlib import suppress

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
