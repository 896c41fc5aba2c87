"""How often a crawl makes a checkpoint, by clocks that the tests turn."""

from __future__ import annotations

import pytest

from spoor.live import live_crawl
from spoor.live.checkpoint_times import (
    REPLAY_PART,
    REPLAY_SECONDS,
    REPLAY_SHARE,
    WAIT_SHARE,
    CheckpointTimes,
)

LEAST, SHARE = live_crawl.CHECKPOINT_SECONDS, live_crawl.CHECKPOINT_SHARE


def crawled(
    page: float, cpu: float, cost: float, wait: float | None = None, pages: int = 100_000
) -> tuple[float, float]:
    """The longest replay, and the share of the time in checkpoints, of a crawl whose pages take so
    many seconds and CPU seconds each, and its checkpoints `wait` (or as many) and `cost`. The first
    one, before which nobody knows what one costs, is left out of the share."""
    wait = cost if wait is None else wait
    times = CheckpointTimes(0.0, 0.0)
    now = used = longest = spent = 0.0
    for _ in range(pages):
        now, used = now + page, used + cpu
        longest = max(longest, times.replay(used))
        if times.due(now, used, LEAST, SHARE):
            began, now, used = now, now + wait, used + cost
            spent += wait
            times.made(began, now, cost, used)
    return longest, (spent - wait) / now


def test_a_crawl_without_delay_has_a_short_replay() -> None:
    longest, share = crawled(page=0.007, cpu=0.006, cost=0.04)
    assert longest <= REPLAY_SECONDS + 0.01
    assert share <= REPLAY_SHARE


@pytest.mark.parametrize("cost", [0.5, 2.0, 5.0])
def test_checkpoints_take_a_bounded_share_of_the_time(cost: float) -> None:
    longest, share = crawled(page=0.007, cpu=0.006, cost=cost)
    assert REPLAY_SHARE / 2 < share <= REPLAY_SHARE
    assert REPLAY_SECONDS < longest <= cost / REPLAY_SHARE


def test_where_others_want_the_cores_checkpoints_come_after_as_much_cpu() -> None:
    cost = 0.2
    longest, share = crawled(page=0.042, cpu=0.006, cost=cost, wait=1.1)
    assert longest <= REPLAY_PART * cost / REPLAY_SHARE + 0.01
    assert share <= WAIT_SHARE


def test_a_crawl_waits_for_a_slow_disk_a_bounded_share_of_the_time() -> None:
    longest, share = crawled(page=0.007, cpu=0.006, cost=0.02, wait=1.0)
    assert WAIT_SHARE / 2 < share <= WAIT_SHARE
    assert longest > REPLAY_SECONDS


def test_one_checkpoint_that_stands_still_puts_off_no_other() -> None:
    times = CheckpointTimes(0.0, 0.0)
    for began in (10.0, 20.0):
        times.made(began, began + 0.1, 0.02, began)
    times.made(30.0, 48.0, 0.02, 48.0)
    assert times.due(50.0, 50.0, LEAST, SHARE)


def test_a_crawl_that_mostly_waits_makes_no_more_checkpoints() -> None:
    longest, share = crawled(page=1.0, cpu=0.006, cost=0.1, pages=2_000)
    assert longest < REPLAY_SECONDS
    assert share == pytest.approx(0.1 / (LEAST + 1.0), rel=0.1)


def test_what_was_replayed_counts_until_the_next_checkpoint() -> None:
    short, long = (CheckpointTimes(0.0, 1.0) for _ in range(2))
    short.replayed(1.0 + 0.5 * REPLAY_SECONDS)
    long.replayed(1.0 + 1.5 * REPLAY_SECONDS)
    assert short.replay(1.0 + 0.5 * REPLAY_SECONDS) == pytest.approx(0.5 * REPLAY_SECONDS)
    assert not short.due(0.1, 1.0 + 0.5 * REPLAY_SECONDS, LEAST, SHARE)
    assert long.due(0.1, 1.0 + 1.5 * REPLAY_SECONDS, LEAST, SHARE)
    long.made(0.1, 0.2, 0.1, 10.0)
    assert long.replay(10.0) == 0.0
    assert not long.due(0.3, 10.1, LEAST, SHARE)
