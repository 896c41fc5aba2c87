"""A crawl in a thread of its own, which goes on while its caller does something else."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spoor.crawl import Crawl
from spoor.errors import SpoorError
from spoor.live.driver import GRACE, HttpDriver
from spoor.live.live_crawl import LiveCrawl
from spoor.process_memory import without_frames
from spoor.protocols import HostClocks
from spoor.runs.assemble import make_crawl
from spoor.runs.documents import RunDocument
from spoor.runs.reader import Run
from spoor.runs.refreshed_run import came
from spoor.runs.writer import RunWriter
from spoor.settings import Settings
from spoor.types import Deferred, Fetch, Fetched, Outcome


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a crawl has come."""

    fetched: int = 0
    found: int = 0
    bytes: int = 0
    """Of the bodies that this process received, decompressed."""
    last: str = ""
    """URL of the page that was fetched last."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one crawl in the background may take, beside what its settings say."""

    bytes: int | None = None
    """Of all bodies, decompressed; it stops at the page that goes beyond."""
    seconds: float | None = None
    """By the clock of the machine."""
    used: Callable[[], int] | None = None
    """How many of the bytes others have taken, who share them. Called in the crawl's thread."""
    allows: Callable[[str], bool] = lambda url: True
    """Whether parts of rendered pages may be asked for by a URL."""
    rests: Mapping[str, float] = field(default_factory=dict)
    """Host, with its port if it has one → seconds for which it is left alone at first, since others
    asked it."""


class BackgroundCrawl:
    """A live crawl in a thread and an event loop of its own: it works in a script, in a thread, and
    where an event loop runs already. It begins at once.

    `on_page` gets each fetched document, whether relevant or not, once it is on the disk, in the
    crawl's own thread, which waits for it. Where it raises, the crawl ends with its error.

    Whoever makes it calls `wait_until_open` next, and can `cancel` it meanwhile.
    """

    def __init__(
        self,
        path: Path,
        settings: Settings,
        *,
        on_page: Callable[[RunDocument], object] | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.path = path
        self.progress = Progress()
        self.rests: Mapping[str, float] = {}
        """Once it is over: host, with its port if it has one → until when it is to be left alone,
        by `time.monotonic`."""
        self._settings = settings
        self._on_page = on_page
        self._limits = Limits() if limits is None else limits
        self._told = 0
        self._bytes = 0
        # Both are gone once it is over: a server of agents keeps hundreds of crawls that ended.
        self._engine: Crawl | None = None
        self._driver: HttpDriver | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._cancelled, self._grace = "", GRACE
        self._opened, self._lock = threading.Event(), threading.Lock()
        self._ended = threading.Event()
        self._fault: BaseException | None = None
        self._summary: Mapping[str, Any] = {}
        self._thread = threading.Thread(target=self._work, name="spoor", daemon=True)
        self._thread.start()

    def wait_until_open(self) -> None:
        """Wait until its run can be read. An interrupt meanwhile cancels it. Raises InputError
        where the settings or the folder cannot be used."""
        try:
            self._opened.wait()
        except BaseException:
            self.cancel("interrupted")
            raise
        if self.is_over:
            self.wait()

    @property
    def is_over(self) -> bool:
        """Whether it has ended, one way or the other."""
        return self._ended.is_set()

    def cancel(self, reason: str = "cancelled", grace: float = GRACE) -> None:
        """Request nothing new; what is in flight comes in, so many seconds at most. From any
        thread. The run can go on later."""
        with self._lock:
            self._cancelled, self._grace = self._cancelled or reason, min(self._grace, grace)
            if self._loop is not None and self._driver is not None:
                with suppress(RuntimeError):  # the loop has just been closed
                    self._loop.call_soon_threadsafe(self._driver.stop, self._cancelled, self._grace)

    def wait(self, seconds: float | None = None) -> bool:
        """Whether it has ended within so many seconds (None: however long it takes). Raises what
        ended it, where that was an error."""
        if not self._ended.wait(seconds):
            return False
        self._thread.join()
        if self._fault is not None:
            raise self._fault
        return True

    @property
    def nothing_came(self) -> str:
        """Why no page ever came, in one line; empty where one did, and for a crawl that goes on or
        was cancelled."""
        summary = self._summary
        if not summary or summary["stopped_because"] == self._cancelled:
            return ""
        if came(summary) or not summary["last_failure"]:
            return ""
        return f"no seed brought a page: {summary['last_failure']}"

    @property
    def summary(self) -> Mapping[str, Any]:
        """What `spoor crawl --json` prints; empty before the end."""
        return self._summary

    # -- in its own thread

    def _work(self) -> None:
        try:
            self._engine = engine = make_crawl(self._settings)
            folder = RunWriter(self.path, self._settings)
            try:
                live = LiveCrawl(folder, engine, on_step=self._step)
                self._told = engine.counts.pages
                self._note("")
                self._opened.set()
                reason = asyncio.run(self._serve(live))
                self._tell()
                self._summary = live.summary(reason)
            finally:
                folder.close()
        except BaseException as error:
            if isinstance(error, SpoorError):
                without_frames(error)
            self._fault = error
        finally:
            with self._lock:
                self._engine = self._driver = None
            self._ended.set()
            self._opened.set()  # where it never was

    async def _serve(self, live: LiveCrawl) -> str:
        driver = live.driver()
        driver.allows = self._limits.allows
        for host, rest in self._limits.rests.items():
            driver.hold(host, rest)
        with self._lock:
            self._loop, self._driver = asyncio.get_running_loop(), driver
            if self._cancelled:
                driver.stop(self._cancelled, self._grace)
        timer = None
        if self._limits.seconds is not None:
            reason = f"limit of {self._limits.seconds:g} s reached"
            timer = self._loop.call_later(self._limits.seconds, driver.stop, reason)
        try:
            return await live.serve(driver)
        finally:
            if timer is not None:
                timer.cancel()
            with self._lock:
                self._loop = None
            self.rests = self._rests(live.now())

    def _rests(self, now: float) -> dict[str, float]:
        """`now`: by the crawl's clock."""
        assert self._engine is not None
        frontier, at, found = self._engine.frontier, time.monotonic(), dict[str, float]()
        assert isinstance(frontier, HostClocks)
        for name, _, in_flight, free_at in frontier.hosts():
            rest = free_at - now if math.isfinite(free_at) else 0.0
            found[name] = at + max(rest, frontier.delay(name) if in_flight else 0.0)
        return found

    def _step(self, fetch: Fetch, step: Outcome | Deferred) -> None:
        """Called once it is durable."""
        # Of failures too, of scripts and of robots.txt.
        self._bytes = 0 if self._driver is None else self._driver.received
        fetched = isinstance(step, Outcome) and isinstance(step.reply, Fetched)
        self._note(fetch.url if fetched else self.progress.last)
        limit = self._limits.bytes
        used = self._bytes if self._limits.used is None else self._bytes + self._limits.used()
        if limit is not None and used > limit:
            self.cancel(f"limit of {limit} bytes reached")
        if fetched:
            self._tell()

    def _note(self, url: str) -> None:
        assert self._engine is not None
        counts = self._engine.counts
        self.progress = Progress(counts.pages, counts.relevant, self._bytes, url)

    def _tell(self) -> None:
        if self._on_page is not None:
            run = Run(self.path)
            for row in run.pages(after=self._told):
                self._told = row.seq
                self._on_page(run.document_of(row))
