"""Time and bytes of a crawl in shards end it as exactly as in one process."""

from __future__ import annotations

import asyncio
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from kills import CountedWeb, served
from shard_kills import SHARDS, settings_of
from spoor.live.shard import Shard
from spoor.runs.database import reading
from spoor.runs.shards import begin, seconds
from spoor.settings import Settings
from spoor.sharding.coordinator import Coordinator

pytestmark = pytest.mark.server


def crawled_by(path: Path, settings: Settings, stop_after: float = 0.0) -> Coordinator:
    """A crawl in `SHARDS` shards to its end."""

    async def run() -> Coordinator:
        coordinator = Coordinator(SHARDS, 100_000, max_bytes=settings.max_bytes)
        shards = [Shard(path, settings, number) for number in range(SHARDS)]
        for number, shard in enumerate(shards):
            coordinator.joined(number, shard.begin(), 0.0)
        before, began = seconds(path), time.monotonic()
        while not coordinator.over:
            used = before + time.monotonic() - began
            if stop_after and used >= stop_after:
                coordinator.stop("time is over", at_once=True)
            for number, (member, shard) in enumerate(
                zip(coordinator.members.values(), shards, strict=True)
            ):
                if member.stopping and not member.ended:
                    coordinator.report(number, await shard.end(), 0.0)
                    member.ended = True
                elif not member.ended:
                    order = coordinator.order(number)
                    order["seconds"] = used if settings.max_time else None
                    coordinator.report(number, await shard.turn(order), 0.0)
            await asyncio.sleep(0.02)
        return coordinator

    with ExitStack() as undo:
        begin(path, settings, undo)
        return asyncio.run(run())


def crawled(path: Path, web: CountedWeb, stop_after: float = 0.0, **budget: Any) -> str | None:
    """A crawl to its end; the reason."""
    settings = settings_of(web.root, web.port, in_flight=4, **budget)
    return crawled_by(path, settings, stop_after).reason


def rows(path: Path) -> list[Any]:
    with reading(path) as db:
        return db.execute("SELECT url, size, time FROM pages ORDER BY time").fetchall()


def test_bytes(tmp_path: Path) -> None:
    with served(120, hosts=8) as web:
        for most in (20_000, 20_001, 60_000):  # begun, gone on with hardly more, and with more
            told = crawled(tmp_path / "run", web, delay=0.0, max_bytes=most)
            assert told == f"budget of {most} bytes reached"
            known = rows(tmp_path / "run")
            total = sum(row["size"] for row in known)
            # All but one document, the last, are below the budget.
            assert total - max(row["size"] for row in known) < most <= total or most == 20_001
        assert len({row["url"] for row in known}) == len(known)
        assert len(known) < 120
        assert crawled(tmp_path / "run", web, delay=0.0) == "no open link left"
        assert len(rows(tmp_path / "run")) == 120


def test_time(tmp_path: Path) -> None:
    with served(120, hosts=8) as web:
        # Each shard ends by itself: here nobody tells them that the time is over.
        crawled(tmp_path / "run", web, stop_after=1.5, delay=0.2, max_time=0.8)
        known = rows(tmp_path / "run")
        assert 0 < len(known) < 120
        asked = sum(web.asked.values())
        # By requests, which a busy machine makes fewer: in 1.5 s each host would be asked 8 times.
        assert asked <= 8 * 6
        assert seconds(tmp_path / "run") >= 0.8
        # The time is used: the same command asks for nothing.
        crawled(tmp_path / "run", web, stop_after=0.8, delay=0.2, max_time=0.8)
        assert sum(web.asked.values()) == asked
        assert len(rows(tmp_path / "run")) == len(known)
