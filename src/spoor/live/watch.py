"""A live watch: a fleet, its folder and the network.

The folder is that of any run (`spoor.runs.files`), with a line for each document that is found or
changed, and the newest of them as RSS. As for a crawl, a journal is kept of all that goes into the
fleet, and committed before anything is requested; a line is written after the commit of what it
reports. After a crash the calls since the last checkpoint are made again and give the same lines:
those that are missing are written.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from spoor.errors import InputError
from spoor.files import write_whole
from spoor.foragers.fleet import Abreast, Fleet
from spoor.formats.feeds import rss
from spoor.http.failures import in_words
from spoor.live.changes import Line, TrackedFleet, json_line
from spoor.live.clock import CrawlClock
from spoor.live.driver import HttpDriver, stop_on_signals
from spoor.runs import files
from spoor.runs.journal import Journal
from spoor.runs.writer import RunWriter
from spoor.settings import Settings
from spoor.types import Deferred, Failed, Fetch, Outcome

CHECKPOINT_SECONDS = 5.0
"""Nothing is lost between two: they shorten what is replayed after a crash, and renew the feed."""

CHECKPOINT_SHARE = 0.05
"""At most this share of the time goes into checkpoints."""

COMMIT_SECONDS = 0.025
"""Between two commits: what arrives meanwhile shares one, and one wait for the disk."""

FEED_ITEMS = 200


class Watch:
    """A fleet over HTTP, kept in a run's folder; `on_line` sees each line as it is written."""

    def __init__(
        self,
        folder: RunWriter,
        fleet: Fleet,
        *,
        title: str,
        on_line: Callable[[Line], None] = lambda line: None,
    ) -> None:
        self.folder = folder
        self.fleet = fleet
        self.on_line = on_line
        self.on_interrupt: Callable[[], None] = lambda: None
        self.last_failure = ""
        self.lines = 0
        self._title = title
        self._began = self._saved = time.monotonic()
        self._cost = 0.0
        self.now = CrawlClock()
        """Unix seconds, never fewer than before."""
        self._recent: deque[Line] = deque(maxlen=FEED_ITEMS)
        self._fed = -1
        self._tracked = TrackedFleet(fleet, folder.settings.changes)
        self.journal = Journal(self._tracked, folder, self._resume)
        state = folder.state()
        if state is not None:
            self._configure(folder.checkpoint_settings)
            self._tracked.load(state)
            self.journal.replay()
            # The clock of a fleet never goes back, even where the machine's does.
            self.now = CrawlClock(self.journal.last)
            self.journal.resume(self.now(), folder.settings.to_dict(fixed=False))
        self._recover_lines(folder.path / files.NEWS)
        try:
            self._news = (folder.path / files.NEWS).open("ab")
            folder.closing.append(self._news.close)
        except OSError as error:
            raise InputError(f"cannot write {folder.path}: {error.strerror}") from error
        if state is None:
            self._checkpoint()

    def _configure(self, settings: Settings) -> None:
        self.fleet.frontier.configure(delay=settings.delay, per_host=settings.per_host)
        if isinstance(self.fleet.crew, Abreast) and "abreast" not in self.folder.settings.params:
            self.fleet.crew.abreast = settings.in_flight

    def _resume(self, now: float, changeable: Mapping[str, Any]) -> None:
        """This process takes over; its politeness may differ."""
        self._configure(Settings.from_dict(changeable))
        self.fleet.reissue(now)

    def _recover_lines(self, path: Path) -> None:
        """Of the lines that the journal gave again, drop those that an earlier process has written;
        whatever else is at the end of the file is cut off."""
        data, saved = path.read_bytes() if path.exists() else b"", self._tracked.news_end
        valid = data[: data.rfind(b"\n", 0, saved) + 1]
        lines = self._tracked.lines
        while lines and len(valid) >= saved:
            raw = json_line(lines[0])
            if not data.startswith(raw, len(valid)):
                break
            valid += raw
            del lines[0]
        if len(valid) < len(data):
            os.truncate(path, len(valid))
        for raw in valid.splitlines():
            try:
                self._recent.append(json.loads(raw))
            except ValueError as error:
                raise InputError(f"{path}: damaged line; move it away to go on") from error
            self.lines += 1

    def run(self, seconds: float | None) -> str:
        """For so many seconds, or until it is stopped; returns why it ended."""
        driver = HttpDriver(
            self.journal,
            self.folder.settings,
            clock=self.now,
            wall=time.time,
            record=self.journal.record,
            on_step=self._step,
            commit=self._commit,
            gather=COMMIT_SECONDS,
            kept_cookies=self.folder.path / files.COOKIES,
        )
        with self.folder.pausing(), self._news:
            reason = asyncio.run(self._supervise(driver, seconds))
            if reason != "aborted":
                self._checkpoint()
        return reason

    async def _supervise(self, driver: HttpDriver, seconds: float | None) -> str:
        stop_on_signals(driver, self.on_interrupt)
        if seconds is not None:
            asyncio.get_running_loop().call_later(seconds, driver.stop, "time is over")
        return (await driver.run()).reason

    def _step(self, fetch: Fetch, step: Outcome | Deferred) -> None:
        self.folder.describe(fetch, step)
        if isinstance(step, Outcome) and isinstance(step.reply, Failed):
            self.last_failure = f"{fetch.url}: {in_words(step.reply)}"

    def _commit(self) -> None:
        """Make durable all that was done; then report it."""
        if time.monotonic() - self._saved > max(CHECKPOINT_SECONDS, self._cost / CHECKPOINT_SHARE):
            self._checkpoint()
            return
        self.journal.commit()
        self._write_lines()

    def _write_lines(self) -> None:
        lines, self._tracked.lines = self._tracked.lines, []
        with self.folder.pausing():
            for line in lines:
                self._news.write(json_line(line))
            self._news.flush()
        if lines:
            self.folder.failpoint("news written")
        for line in lines:
            self._recent.append(line)
            self.lines += 1
            self.on_line(line)

    def _checkpoint(self) -> None:
        began = time.monotonic()
        self.journal.commit()
        self._write_lines()
        with self.folder.pausing():
            self._write_feed()
        self._tracked.news_end = os.fstat(self._news.fileno()).st_size
        self.journal.checkpoint(time.time())
        self._saved = time.monotonic()
        self._cost = self._saved - began

    def _write_feed(self) -> None:
        self._news.flush()
        os.fsync(self._news.fileno())
        if self._fed != self.lines:
            write_whole(self.folder.path / files.FEED, rss(list(self._recent), self._title))
            self._fed = self.lines

    def summary(self, reason: str) -> dict[str, Any]:
        """What was done, for `--json`."""
        counts, agent = self.fleet.counts, self.fleet.agent.counts
        return {
            "out": str(self.folder.path),
            "resumed": self.folder.resumed,
            "stopped_because": reason,
            "fetched": counts.pages,
            "failed": counts.failed,
            "requests": counts.requests,
            "known_urls": len(self.fleet.known.urls),
            "sent": agent.sent,
            "found": agent.relevant,
            "lines": self.lines,
            "foragers": len(getattr(self.fleet.crew, "foragers", [None])),
            "last_failure": self.last_failure,
            "seconds": round(time.monotonic() - self._began, 2),
        }
