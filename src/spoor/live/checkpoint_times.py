"""When a crawl's next checkpoint is due.

Nothing is lost between two checkpoints: each only shortens the journal that is replayed after a
crash. A checkpoint writes nearly the whole state of the crawl, so what one costs grows with the
crawl, and so does the time between two.
"""

from __future__ import annotations

from collections import deque

REPLAY_SECONDS = 1.2
"""CPU seconds of replay from which the journal is to be shortened."""

REPLAY_SHARE = 0.08
"""At most this share of the CPU goes into checkpoints that keep the replay short (more than half of
it is for what came since the last one, and would be spent later), and the crawl waits for them at
most `WAIT_SHARE` of the time. Where other programs want the same cores, a checkpoint takes many
times its CPU, but so does the replay."""

WAIT_SHARE = 0.1

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
        self._waits = deque[float](maxlen=2)
        """Seconds that the last two checkpoints took, and CPU seconds. The lesser counts: the
        other may have met a burst of another program."""
        self._costs = deque[float](maxlen=2)
        self._before = 0.0

    def replayed(self, cpu: float) -> None:
        """The crawl's journal was replayed since it was opened, which took until `cpu`: another
        process would have to do the same until the next checkpoint."""
        self._before, self._cpu = cpu - self._cpu, cpu

    def made(self, began: float, now: float, cost: float, cpu: float) -> None:
        """A checkpoint was made from `began` to `now`, with `cost` CPU seconds of its thread."""
        self.saved, self._cpu, self._before = now, cpu, 0.0
        self._waits.append(now - began)
        self._costs.append(cost)

    def replay(self, cpu: float) -> float:
        """About how many CPU seconds a replay would take now."""
        return self._before + REPLAY_PART * (cpu - self._cpu)

    def due(self, now: float, cpu: float, least: float, share: float) -> bool:
        """Whether a checkpoint is due: `least` seconds after the last where checkpoints then take
        at most `share` of the time; sooner where a replay would take more than `REPLAY_SECONDS` and
        checkpoints then take no more than `REPLAY_SHARE` and `WAIT_SHARE` allow."""
        since, wait = now - self.saved, min(self._waits, default=0.0)
        if since > max(least, wait / share):
            return True
        if self.replay(cpu) <= REPLAY_SECONDS or since <= wait / WAIT_SHARE:
            return False
        return self._before + cpu - self._cpu > min(self._costs, default=0.0) / REPLAY_SHARE
