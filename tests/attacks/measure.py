"""What a call costs, by the kernel's account; each test notes it for the table of attacks."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

SECONDS = 0.5
MEMORY, PER_BYTE = 64 << 20, 20
"""The law: processor time for an input, bytes, and so many for each of its own."""

SLOW = 4.0
"""Times as long as the law says may a test take, since machines are slow and busy; what it looks
for is quadratic, and takes a hundred times as long. The table says what was measured."""

MEASURED = "SPOOR_ATTACKS" in os.environ
"""Whether the table of attacks is made. What a helper with the bounds of the law reads is not read once
more to be measured otherwise."""

Returned = TypeVar("Returned")
Note = Callable[[str, object], None]


def within_law(call: Callable[[], Returned], size: int, note: Note) -> Returned:
    """What a call returns that is made of an input of `size` bytes. Raises AssertionError where it
    took longer, or more memory, than the law allows."""
    gc.collect()
    status = Path("/proc/self/status")

    def peak() -> int:
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return 1024 * int(line.split()[1])

    Path("/proc/self/clear_refs").write_text("5")
    before, began = peak(), time.process_time()
    returned = call()
    seconds, memory = time.process_time() - began, peak() - before
    note("bound", f"{SECONDS} s, {(MEMORY + PER_BYTE * size) >> 20} MB")
    note("measured", f"{seconds:.2f} s, {memory >> 20} MB")
    assert seconds <= SLOW * SECONDS
    assert memory <= MEMORY + PER_BYTE * size
    return returned
