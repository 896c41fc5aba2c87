"""How often a crawl makes a checkpoint, by clocks that the tests turn."""

from __future__ import annotations

import pytest

from spoor.live import live_crawl
from spoor.live.checkpoint_times import REPLAY_SECONDS, REPLAY_SHARE, CheckpointTimes

LEAST, SHARE = live_crawl.CHECKPOINT_SECONDS, live_crawl.CHECKPOINT_SHARE


def crawled(page: float, cpu: float, cost: float, pages: int = 100_000) -> tuple[float, float]:
    """The longest replay, and the share of the time in checkpoints, of a crawl whose pages take so
    many seconds and CPU seconds each, and its checkpoints `cost`. The first one, before which nobody
    knows what one costs, is left out of the share."""
    times = CheckpointTimes(0.0, 0.0)
    now = used = longest = spent = 0.0
    for _ in range(pages):
        now, used = now + page, used + cpu
        longest = max(longest, times.replay(used))
        if times.due(now, used, LEAST, SHARE):
            began, now, used = now, now + cost, used + cost
            spent += cost
            times.made(began, now, used)
    return longest, (spent - cost) / now


def test_a_crawl_without_delay_has_a_short_replay() -> None:
    longest, share = crawled(page=0.007, cpu=0.006, cost=0.1)
    assert longest <= REPLAY_SECONDS + 0.01
    assert share <= REPLAY_SHARE


@pytest.mark.parametrize("cost", [0.5, 2.0, 10.0])
def test_checkpoints_take_a_bounded_share_of_the_time(cost: float) -> None:
    longest, share = crawled(page=0.007, cpu=0.006, cost=cost)
    assert REPLAY_SHARE / 2 < share <= REPLAY_SHARE
    assert REPLAY_SECONDS < longest <= cost / REPLAY_SHARE


def test_a_crawl_that_mostly_waits_makes_no_more_checkpoints() -> None:
    longest, share = crawled(page=1.0, cpu=0.006, cost=0.1, pages=2_000)
    assert longest < REPLAY_SECONDS
    assert share == pytest.approx(0.1 / (LEAST + 1.0), rel=0.1)


def test_what_was_replayed_counts_until_the_next_checkpoint() -> None:
    short, long = (CheckpointTimes(0.0, 1.0) for _ in range(2))
    short.replayed(1.0 + 0.5 * REPLAY_SECONDS)
    long.replayed(1.0 + 1.5 * REPLAY_SECONDS)
    assert short.replay(1.0 + 0.5 * REPLAY_SECONDS) == 0.5 * REPLAY_SECONDS
    assert not short.due(0.1, 1.0 + 0.5 * REPLAY_SECONDS, LEAST, SHARE)
    assert long.due(0.1, 1.0 + 1.5 * REPLAY_SECONDS, LEAST, SHARE)
    long.made(0.1, 0.2, 10.0)
    assert long.replay(10.0) == 0.0
    assert not long.due(0.3, 10.1, LEAST, SHARE)
