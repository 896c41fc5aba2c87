"""One shard of a live crawl: its crawl, its own run folder, and the network.

An object of one event loop, whatever process that runs in; its turns with the coordinator come from
there.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from spoor.live.live_crawl import LiveCrawl
from spoor.live.metrics import Download
from spoor.protocols import HostClocks
from spoor.runs import files
from spoor.runs.assemble import make_crawl
from spoor.runs.lock import BusyError
from spoor.runs.recovery import kept_aside
from spoor.runs.writer import RunWriter
from spoor.settings import Settings
from spoor.sharding.coordinator import Order, Report
from spoor.sharding.outbox import Outbox
from spoor.sharding.worker import Worker
from spoor.types import Deferred, Fetch, Outcome

POINTS = ("order executed", "reported")
"""Steps of a turn with the coordinator, passed to `failpoint` as those of `RunWriter` are."""

BUSY_SECONDS = 30.0
"""How long a shard waits for the process before it to let go of its folder."""


PARTS_LEFT_OUT = (
    "rendered pages lack scripts and data of hosts that another shard asks; a crawl without "
    "--shards has them"
)

COUNT_SECONDS = 2.0
"""How often a shard counts its hosts."""


class Shard:
    """Number `number` of the shards of the run whose folder is `path`. Opening it is going on.
    `report_downloads`: its reports hold each download.

    Raises as RunWriter and Run do.
    """

    def __init__(
        self,
        path: Path,
        settings: Settings,
        number: int,
        *,
        report_downloads: bool = False,
        failpoint: Callable[[str], None] = lambda step: None,
    ) -> None:
        shards = settings.shards
        crawl = make_crawl(settings, Outbox(number, shards))
        folder = _folder(files.shard(path, number), settings, failpoint)
        try:
            self.run = LiveCrawl(folder, crawl)
            self.worker = Worker(crawl, self.run.journal, self.run.journal.call)
            if self.worker.outbox.shards != shards:
                self.run.journal.call("split", self.run.now(), shards)
                self.run.commit()
        except BaseException:
            folder.close()
            raise
        self._verdicts: list[bool] = []
        self._report_downloads = report_downloads
        self._downloads: list[Download] = []
        self.run.on_step = self._seen
        # A part that another shard asks for is not handed over: it is of no use but in the browser
        # that waits for it.
        self._driver = self.run.driver(self.worker, self.worker.outbox.owns)
        self._ending: asyncio.Task[str] | None = None
        self._busy = 0.0
        self._counted, self._hosts = -COUNT_SECONDS, 0

    def _seen(self, fetch: Fetch, step: Outcome | Deferred) -> None:
        if isinstance(step, Outcome) and step.judgement is not None:
            self._verdicts.append(step.judgement.relevant)
        if self._report_downloads and (download := Download.of(fetch, step)) is not None:
            self._downloads.append(download)

    def begin(self) -> Report:
        """Start to crawl, in the loop that runs; the first report, with `notes` for the user."""
        self.worker.outbox.seal()
        self._time_over = asyncio.get_running_loop().call_soon(lambda: None)
        self._ending = asyncio.get_running_loop().create_task(self.run.serve(self._driver))
        return {
            **self._report(None),
            "notes": [kept_aside(file) for file in self.run.folder.recovered],
        }

    async def rejoin(self) -> Report:
        """A first report to another coordinator, which knows nothing of earlier reports."""
        return await self._apart(self._rejoin)

    def _rejoin(self) -> Report:
        self.worker.held = True
        self.worker.outbox.resend()
        self._commit()
        return self._report(None)

    async def _apart(self, call: Callable[[], Report]) -> Report:
        """Call a function between two turns of the driver; raises what the crawl ended with, if it
        did."""
        ending = self._ending
        assert ending is not None
        if ending.done() and not ending.cancelled():
            ending.result()
        return await self._driver.apart(call)

    async def turn(self, order: Order) -> Report:
        """Execute an order durably, and report. Raises what the crawl ended with, if it did."""
        report = await self._apart(lambda: self._turn(order))
        if order["stop"] is not None:
            (self._driver.abort if order["at_once"] else self._driver.stop)(order["stop"])
        if order.get("seconds") is not None:
            # By its own clock, so that no shard is told too late that the time is over.
            self._time_over.cancel()
            left = self.run.folder.settings.max_time - order["seconds"]
            loop = asyncio.get_running_loop()
            self._time_over = loop.call_later(left, self.run.end, "time is over")
        self._driver.wake()
        return report

    def _turn(self, order: Order) -> Report:
        began = time.thread_time()
        # Between two turns of the driver all steps that were taken are committed.
        self.worker.outbox.seal()
        durable = self.worker.execute(order, self.run.now())
        if order.get("seconds") is not None:
            self.run.used_time(order["seconds"])
        if order["bytes"] is not None:
            self.run.bytes.extend(order["bytes"])
        self.run.folder.failpoint("order executed")
        if durable:
            self._commit()
        report = self._report(order)
        self.run.folder.failpoint("reported")
        self._busy += time.thread_time() - began
        return report

    async def end(self) -> Report:
        """Wait for what is in flight, and close the folder; the last report."""
        assert self._ending is not None
        try:
            await self._ending
            return {**self._report(None), "summary": self.run.summary("")}
        finally:
            self._time_over.cancel()
            self.run.folder.close()

    def _commit(self) -> None:
        self.run.commit()
        self.worker.outbox.seal()

    def _report(self, order: Order | None) -> Report:
        verdicts, self._verdicts = self._verdicts, []
        report = self.worker.report(order, verdicts)
        now = time.monotonic()
        if now > self._counted + COUNT_SECONDS:
            frontier = self.run.crawl.frontier
            assert isinstance(frontier, HostClocks)
            own = self.worker.outbox.owns_host
            self._counted, self._hosts = now, sum(own(name) for name, *_ in frontier.hosts())
        report["hosts"] = self._hosts
        report["bytes"] = self.run.bytes.report()
        report["cpu"] = time.process_time()
        report["busy"] = self._busy
        report["fault"] = self.run.fault or PARTS_LEFT_OUT * self._driver.left_out_parts
        report["loop_hold"] = self.run.loop_watch.longest
        report["downloads"], self._downloads = self._downloads, []
        return report


def _folder(path: Path, settings: Settings, failpoint: Callable[[str], None]) -> RunWriter:
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return RunWriter(path, settings, failpoint=failpoint)
        except BusyError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)
