"""The processes of a browser: their purpose, memory and processor time, and which of them is ended
where they take too much."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

Process = tuple[int, int, str, float]
"""(process, bytes it holds alone, what it is for, seconds of processor time)."""

_LAST = 19
"""The nice value of the lowest priority."""

SETTLES = 1.0
"""Seconds until the memory of a process that was ended is free: those that it sent something to
keep that for a moment."""

_SHARE = 1 / 8
"""Of all memory, which a page has that is ended for what it holds itself."""

_MUCH = 1 / 2
"""Of all memory, which others have that are ended with it."""

_DRIVER = b"run-driver"
"""Among the arguments of what Playwright sends its commands through."""


class MemoryBound:
    """Says which pages are ended where a browser with all its processes takes more than `most`
    bytes: the one that holds most, and each other that holds half of that room, as long as they
    take too much. Where none holds much, since what it sent lies in the browser or its driver, it
    is the one that took most processor time. One that was not to blame would be the next, so there
    is none until `SETTLES` is over, or they take more than when the last one was ended."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._ended_at = 0.0
        self._had = 0
        """Bytes when the last one was ended; 0 once there is room again."""

    @property
    def is_over(self) -> bool:
        """Whether they took too much when they were looked at last."""
        return self._had > 0

    def to_end(self, processes: Iterable[Process], now: float) -> list[int]:
        """The processes of those pages, at `now` by a clock that never goes back."""
        found = [*processes]
        total = sum(size for _, size, *_ in found)
        if total <= self._most:
            self._had = 0
            return []
        pages = [one for one in found if one[2] == "renderer"]
        large = [one for one in pages if one[1] >= self._most * _SHARE]
        settling = self._had > 0 and (not large or now - self._ended_at < SETTLES)
        if not pages or (settling and total <= 1.1 * self._had):
            return []
        self._had, self._ended_at = total, now
        if not large:
            return [max(pages, key=lambda one: one[3])[0]]
        ended = list[int]()
        for process, size, *_ in sorted(large, key=lambda one: -one[1]):
            if not ended or (total > self._most and size >= self._most * _MUCH):
                ended.append(process)
                total -= size
        return ended


def come_last(processes: Iterable[int]) -> None:
    """Give these processes, with all their threads, the lowest priority: a new thread has the nice
    value of the one that made it."""
    for process in processes:
        with contextlib.suppress(OSError):
            for thread in Path(f"/proc/{process}/task").iterdir():
                os.setpriority(os.PRIO_PROCESS, int(thread.name), _LAST)


def processes_of(mark: str) -> list[Process]:
    """The processes of the browser with this mark among its arguments, and its driver; empty where
    the system does not say."""
    below: dict[int, list[int]] = {}
    above: dict[int, int] = {}
    ticks: dict[int, int] = {}
    root = 0
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            words = (entry / "stat").read_text().rpartition(")")[2].split()
            above[int(entry.name)] = int(words[1])
            below.setdefault(int(words[1]), []).append(int(entry.name))
            ticks[int(entry.name)] = int(words[11]) + int(words[12])
            if mark.encode() in (entry / "cmdline").read_bytes():
                root = root or int(entry.name)
    found: list[Process] = []
    left = [root, above[root]] if root else []
    while left:
        process = left.pop()
        with contextlib.suppress(OSError, ValueError, IndexError):
            # A process that Chromium forks has its arguments as one, with blanks between them.
            told = Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").split()
            if process == above[root]:
                if _DRIVER not in told:
                    continue
                kind = "driver"
            else:
                left += below.get(process, ())
                kind = next((w[7:].decode() for w in told if w.startswith(b"--type=")), "browser")
            _, held, shared, *_ = Path(f"/proc/{process}/statm").read_text().split()
            size = (int(held) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
            found.append((process, size, kind, ticks[process] / os.sysconf("SC_CLK_TCK")))
    return found
