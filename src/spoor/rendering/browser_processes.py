"""The processes of a browser: their purpose, memory and processor time."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

_LAST = 19
"""The nice value of the lowest priority."""


def come_last(processes: Iterable[int]) -> None:
    """Give these processes, with all their threads, the lowest priority: a new thread has the nice
    value of the one that made it."""
    for process in processes:
        with contextlib.suppress(OSError):
            for thread in Path(f"/proc/{process}/task").iterdir():
                os.setpriority(os.PRIO_PROCESS, int(thread.name), _LAST)


def processes_of(mark: str) -> list[tuple[int, int, str, float]]:
    """(process, bytes it holds alone, what it is for, seconds of processor time) of the browser
    with this mark among its arguments; empty where the system does not say."""
    below: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    root = 0
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            words = (entry / "stat").read_text().rpartition(")")[2].split()
            below.setdefault(int(words[1]), []).append(int(entry.name))
            ticks[int(entry.name)] = int(words[11]) + int(words[12])
            if mark.encode() in (entry / "cmdline").read_bytes():
                root = root or int(entry.name)
    found, left = [], [root] if root else []
    while left:
        process = left.pop()
        left += below.get(process, ())
        with contextlib.suppress(OSError, ValueError, IndexError):
            # A process that Chromium forks has its arguments as one, with blanks between them.
            told = Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").split()
            _, held, shared, *_ = Path(f"/proc/{process}/statm").read_text().split()
            kind = next((w[7:].decode() for w in told if w.startswith(b"--type=")), "browser")
            size = (int(held) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
            found.append((process, size, kind, ticks[process] / os.sysconf("SC_CLK_TCK")))
    return found
