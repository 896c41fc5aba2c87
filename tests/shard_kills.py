"""A crawl in shards whose processes die where a plan says: what the test and the benchmark share.

A plan is a list of deaths, `[POINT, TIMES]` at the TIMESth time that a process comes to a point, or
`["after", SECONDS]`. `python -c "import shard_kills; shard_kills.main()" FOLDER ROOT PORT CLUSTER`
crawls as `spoor crawl --shards 2` does, on the Ray at CLUSTER, or on one of its own where that is
empty. Its workers take their deaths from `FOLDER.worker-N`, and it takes its own from
`FOLDER.coordinator`: each is taken out of the plan by the process that is about to die of it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

from kills import TOPIC
from spoor.live.shard import Shard
from spoor.runs.inputs import with_inputs
from spoor.settings import Settings

SHARDS = 2
IN_FLIGHT = 16
COORDINATOR_POINTS = ("shard joined", "order sent", "report received", "status written", "stopped")


def settings_of(root: str, port: int, **more: Any) -> Settings:
    """Of a crawl of the web served at this port, in shards."""
    given = Settings(
        **{
            "topic": TOPIC,
            "pages": 100_000,
            "scope": "anywhere",
            "connect_to": f"127.0.0.1:{port}",
            "traps": True,
            "shards": SHARDS,
            **more,
        }
    )
    return with_inputs(given, [root])


class Plan:
    """The deaths of one process, and of those that replace it."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._deaths: list[list[Any]] = json.loads(file.read_text()) if file.exists() else []
        self._left = 0
        if self._deaths:
            point, self._left = self._deaths[0]
            if point == "after":
                timer = threading.Timer(self._left, self._die)
                timer.daemon = True
                timer.start()

    def at(self, point: str) -> None:
        """The process came to a point."""
        if self._deaths and self._deaths[0][0] == point:
            self._left -= 1
            if self._left <= 0:
                self._die()

    def _die(self) -> None:
        part = self._file.with_name(self._file.name + ".part")
        part.write_text(json.dumps(self._deaths[1:]))
        part.replace(self._file)
        os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    from spoor.integrations.ray import actor, driver

    folder, root, port, cluster = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
    plan = Plan(folder.with_name(f"{folder.name}.coordinator"))

    class KilledActor(actor.ShardActor):
        async def open(
            self, path: str, settings: dict[str, Any], number: int, *rest: Any, **more: Any
        ) -> Any:
            if self._shard is None:
                own = Plan(folder.with_name(f"{folder.name}.worker-{number}"))
                setattr(actor, "Shard", partial(Shard, failpoint=own.at))  # noqa: B010
            return await super().open(path, settings, number, *rest, **more)

    class KilledDriver(driver._Driver):
        def _send_order(self, shard: int) -> None:
            super()._send_order(shard)
            plan.at("order sent")

        def _receive(self, reference: Any) -> None:
            call = self._pending[reference][1]
            super()._receive(reference)
            plan.at("shard joined" if call == "open" else "report received")
            if self._coordinator.reason is not None:
                plan.at("stopped")

        def _write_status(self) -> None:
            super()._write_status()
            plan.at("status written")

    setattr(driver, "ShardActor", KilledActor)  # noqa: B010
    setattr(driver, "_Driver", KilledDriver)  # noqa: B010
    settings = settings_of(root, port, cluster=cluster, delay=0.2, per_host=1, in_flight=IN_FLIGHT)
    driver.crawl(folder, settings)
