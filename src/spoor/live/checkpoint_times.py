"""When a crawl's next checkpoint is due.

Nothing is lost between two checkpoints: each only shortens the journal that is replayed after a
crash. A checkpoint writes nearly the whole state of the crawl, so what one costs grows with the
crawl, and so does the time between two.
"""

from __future__ import annotations

REPLAY_SECONDS = 2.0
"""CPU seconds of replay from which the journal is to be shortened."""

REPLAY_SHARE = 0.03
"""At most this share of the time goes into checkpoints that keep the replay short."""

REPLAY_PART = 0.7
"""CPU of a replay as a part of the CPU that the process used for the same pages: nothing is
requested, archived or written once more (`benchmarks/start.py --resume`)."""


class CheckpointTimes:
    """Begins when a crawl is opened, at `now` in seconds of a clock that does not go back, with
    `cpu` seconds used by the process."""

    def __init__(self, now: float, cpu: float) -> None:
        self.saved = now
        """When the last checkpoint was made, or the crawl was opened."""
        self._cpu = cpu
        self._cost = 0.0
        self._before = 0.0

    def replayed(self, cpu: float) -> None:
        """The crawl's journal was replayed since it was opened, which took until `cpu`: another
        process would have to do the same until the next checkpoint."""
        self._before, self._cpu = cpu - self._cpu, cpu

    def made(self, began: float, now: float, cpu: float) -> None:
        """A checkpoint was made from `began` to `now`."""
        self.saved, self._cpu, self._before = now, cpu, 0.0
        self._cost = now - began

    def replay(self, cpu: float) -> float:
        """About how many CPU seconds a replay would take now."""
        return self._before + REPLAY_PART * (cpu - self._cpu)

    def due(self, now: float, cpu: float, least: float, share: float) -> bool:
        """Whether a checkpoint is due: `least` seconds after the last where checkpoints then take
        at most `share` of the time; sooner where a replay would take more than `REPLAY_SECONDS` and
        checkpoints then take at most `REPLAY_SHARE` of the time."""
        since = now - self.saved
        if since > max(least, self._cost / share):
            return True
        return self.replay(cpu) > REPLAY_SECONDS and since > self._cost / REPLAY_SHARE
