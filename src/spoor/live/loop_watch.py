"""How long an event loop was held: the time in which no reply is read and no request is sent."""

from __future__ import annotations

import asyncio
import time

BEAT = 0.01
"""Seconds between two looks: as much of a hold may go unseen. Costs a thousandth of a core."""


class LoopWatch:
    """Watches the running loop from `start` to `stop`; `longest` is its longest hold in seconds,
    `longest_cpu` the longest in processor time of this process: what the rest of the machine does
    is not in it."""

    def __init__(self) -> None:
        self.longest = 0.0
        self.longest_cpu = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._cpu = time.process_time()
        self._beat_at(self._loop.time() + BEAT)

    def _beat_at(self, at: float) -> None:
        self._timer = self._loop.call_at(at, self._beat, at)

    def _beat(self, expected: float) -> None:
        now, cpu = self._loop.time(), time.process_time()
        self.longest = max(self.longest, now - expected)
        self.longest_cpu = max(self.longest_cpu, min(now - expected, cpu - self._cpu))
        self._cpu = cpu
        self._beat_at(now + BEAT)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
