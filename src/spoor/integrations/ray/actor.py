"""The Ray actor of one shard, in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spoor.judges import named
from spoor.live.shard import Shard
from spoor.settings import Settings
from spoor.sharding.coordinator import Report


class ShardActor:
    """A shard whose methods Ray calls."""

    def __init__(self) -> None:
        self._shard: Shard | None = None

    async def open(
        self,
        path: str,
        settings: dict[str, Any],
        number: int,
        report_downloads: bool,
        functions: Sequence[str],
    ) -> Report:
        """Open the shard; if it is open already, report it to a new coordinator. `functions`: those
        of topics that the user has named."""
        named.allow(*functions)
        if self._shard is None:
            self._shard = Shard(
                Path(path),
                Settings.from_dict(settings),
                number,
                report_downloads=report_downloads,
            )
            return {**self._shard.begin(), "process": os.getpid()}
        return {**await self._shard.rejoin(), "process": os.getpid()}

    async def turn(self, order: dict[str, Any]) -> Report:
        """Execute an order of the coordinator, and report."""
        assert self._shard is not None
        return await self._shard.turn(order)

    async def end(self) -> Report:
        """The last report, once nothing is in flight."""
        assert self._shard is not None
        return await self._shard.end()
