"""How long an event loop was held: the time in which no reply is read and no request is sent."""

from __future__ import annotations

import asyncio

BEAT = 0.01
"""Seconds between two looks: as much of a hold may go unseen. Costs a thousandth of a core."""


class LoopWatch:
    """Watches the running loop from `start` to `stop`; `longest` is its longest hold in seconds."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._beat_at(self._loop.time() + BEAT)

    def _beat_at(self, at: float) -> None:
        self._timer = self._loop.call_at(at, self._beat, at)

    def _beat(self, expected: float) -> None:
        now = self._loop.time()
        self.longest = max(self.longest, now - expected)
        self._beat_at(now + BEAT)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
