"""The clock by which a live crawl waits. Records are dated by the machine's clock."""

from __future__ import annotations

import time


class CrawlClock:
    """Unix seconds when it was made, not before `since`; then as many more as really pass, whatever
    becomes of the machine's clock: set back, it would stop a crawl, and set forward, end waits."""

    def __init__(self, since: float = 0.0) -> None:
        self._ahead = max(time.time(), since) - _passed()

    def __call__(self) -> float:
        return _passed() + self._ahead


def _passed() -> float:
    """Seconds that go on while the machine sleeps, where it can tell."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()
