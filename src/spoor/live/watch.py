"""A live watch: a fleet, its folder and the network.

The folder is that of any run (`spoor.runs.files`), with a line for each document that is found or
changed, and the newest of them as RSS. As for a crawl, a journal is kept of all that goes into the
fleet, and committed before anything is requested; a line is written after the commit of what it
reports. After a crash the calls since the last checkpoint are made again and give the same lines:
those that are missing are written.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from spoor.clock import CrawlClock
from spoor.errors import InputError
from spoor.foragers.crew import Abreast, Steady
from spoor.foragers.fleet import Fleet
from spoor.hashing import KEY_SIZE
from spoor.http.failures import in_words
from spoor.learn.state import FAST, pack
from spoor.live.changes import Line, TrackedFleet
from spoor.live.conditional import Conditions
from spoor.live.deliveries import Deliveries, receivers
from spoor.live.driver import HttpDriver
from spoor.live.labels_and_stops import run_listening
from spoor.live.news import NewsFiles
from spoor.live.renders import Renders
from spoor.live.signals import stop_on_signals
from spoor.protocols import FallsBack, KeepsAnswers, KeepsSample, TakesLabels
from spoor.runs import files
from spoor.runs.journal import Journal
from spoor.runs.labels import JUDGE_LEARNS
from spoor.runs.recovery import going_on, telling
from spoor.runs.renders import all_renders
from spoor.runs.writer import RunWriter
from spoor.settings import Settings
from spoor.types import Deferred, Failed, Fetch, Fetched, Judgement, Outcome
from spoor.watching.hosts import Hosts
from spoor.web.exchange import Exchange
from spoor.web.urls import host
from spoor.web.validators import Validators

CHECKPOINT_SECONDS = 5.0
"""Nothing is lost between two: they shorten what is replayed after a crash, and renew the feed."""

CHECKPOINT_SHARE = 0.05
"""At most this share of the time goes into checkpoints."""

COMMIT_SECONDS = 0.025
"""Between two commits: what arrives meanwhile shares one, and one wait for the disk."""

SHARE_SENT = (
    "each host was asked as often as may be at once, a tenth of --requests-per-day; the next pass "
    "goes on"
)
"""Why a pass ends before it has looked at all."""

DATED_WITHIN = 10.0
"""Seconds between the clock of the calls and the machine's that are no difference."""

TOLD_OF = ("new", "changed", "moved")
"""Kinds of lines whose documents are there."""

MOST_FAILED = 20
"""Starts of which it is told that nothing came yet."""

DELIVERY_SECONDS = 5.0
"""That a watch which ends waits for its receivers."""


class Watch:
    """A fleet over HTTP, kept in a run's folder; `on_line` sees each line as it is written."""

    def __init__(
        self,
        folder: RunWriter,
        fleet: Fleet,
        *,
        title: str,
    ) -> None:
        self.folder = folder
        self.fleet = fleet
        self.on_line: Callable[[Line], None] = lambda line: None
        self.on_interrupt: Callable[[], None] = lambda: None
        self.on_fault: Callable[[str], None] = lambda line: None
        """Called with a line about a start that cannot be had, a receiver that cannot be told, a
        judge that fell back, or a clock that was wrong."""
        self.last_failure = ""
        self._failed = set[str]()
        """Starts of which nothing came yet."""
        settings = folder.settings
        self._receivers = receivers(settings.on_new, settings.webhook)
        self._driver: HttpDriver | None = None
        self._renders: Renders | None = None
        self._began = self._saved = time.monotonic()
        self._cost = 0.0
        self.now = CrawlClock()
        """Unix seconds, never fewer than before."""
        self._conditions = Conditions(folder.validators)
        self._tracked = TrackedFleet(fleet, settings.changes, self._conditions)
        watching = fleet.known.watching
        judge = None if watching is None else watching.judge
        if judge is not None and isinstance(judge, KeepsAnswers):
            judge.keep_answers(folder.path / files.ANSWERS, lambda line: self.on_fault(line))
        if judge is not None and isinstance(judge, FallsBack):
            judge.report_fault(lambda line: self.on_fault(line))
        self.journal = Journal(self._tracked, folder, self._resume)
        self._going_on: Callable[[], AbstractContextManager[None]] = nullcontext
        """Tells what fails since the state was not as it should be."""
        state = folder.state()
        self._configure(settings)
        if state is not None:
            self._configure(folder.checkpoint_settings)
            with telling(folder.path):
                self._tracked.load(state)
                self.journal.replay(state)
                # What cannot be saved or told again is found out here, and not after a request.
                pack(self._tracked.save(), FAST)
                self._tracked.tracker.sources.silences()
            self._going_on = partial(going_on, folder.path)
            with self._going_on():
                # The clock of a fleet never goes back, even where the machine's does.
                self.now = CrawlClock(self.journal.last)
                self.journal.resume(self.now(), folder.settings.to_dict(fixed=False))
        self._news = NewsFiles(folder.path, title, next(iter(settings.seeds), ""))
        with telling(folder.path):  # the place where the file ended, too, stands in the state
            end = int(self._tracked.news_end)
        self._news.recover(self._tracked.lines, end)
        folder.closing.append(self._news.open())
        self._deliveries = Deliveries(
            folder.path, self._receivers, lambda line: self.on_fault(line)
        )
        if watching is not None:
            watching.on_verdict = self._judged_anew
            folder.note(JUDGE_LEARNS, "yes" if isinstance(judge, TakesLabels) else "")
        self._before = self._so_far()
        if state is None:
            if judge is not None and isinstance(judge, KeepsSample):
                judge.key_sample(secrets.token_bytes(KEY_SIZE))
            self._checkpoint()

    def _configure(self, settings: Settings) -> None:
        configure_hosts(self.fleet.frontier, settings)
        crew = self.fleet.crew
        if isinstance(crew, Steady):
            crew.only_due = settings.once
        elif settings.once:
            raise InputError(
                "--once needs a fleet that visits pages one by one, as those of Spoor do; leave "
                "it out, or choose another --fleet"
            )
        if isinstance(self.fleet.crew, Abreast) and "abreast" not in self.folder.settings.params:
            self.fleet.crew.abreast = settings.in_flight

    def _resume(self, now: float, changeable: Mapping[str, Any]) -> None:
        """This process takes over; its politeness may differ."""
        self._configure(Settings.from_dict(changeable))
        if isinstance(self.fleet.crew, Steady):
            self.fleet.crew.began = now
        self.fleet.reissue(now)

    @property
    def lines(self) -> int:
        """Lines told so far, by all processes of this watch."""
        return self._news.count

    def run(self, seconds: float | None) -> str:
        """For so many seconds, or until it is stopped, or, with the setting `once`, until no page
        is worth a visit now; returns why it ended."""
        self._date_documents()
        self._renders = self._renderer()
        self._driver = driver = HttpDriver(
            self.journal,
            self.folder.settings,
            clock=self.now,
            wall=time.time,
            record=self._record,
            on_step=self._step,
            commit=self._commit,
            gather=COMMIT_SECONDS,
            kept_cookies=self.folder.path / files.COOKIES,
            validators=self._validators,
            whole=self._whole,
            renders=self._renders,
        )
        self._deliveries.start()
        self._deliveries.written(self._news.size)
        with self.folder.pausing(), self._going_on():
            try:
                self.take_labels()
                reason = asyncio.run(self._supervise(driver, seconds))
                if reason != "aborted":
                    self.take_labels()
                    self.journal.revise(self.now())
                    self._checkpoint()
            finally:
                self._deliveries.stop(DELIVERY_SECONDS)
        return reason

    def _date_documents(self) -> None:
        """By the machine's clock, as the rest of the world: the calls are ordered by one that never
        goes back, and that is ahead for as long as the machine's once was."""
        now, before = self.now(), self.fleet.known.ahead
        ahead = now - time.time()
        if abs(ahead) < DATED_WITHIN:
            ahead = 0.0
        if abs(ahead - before) < DATED_WITHIN and (ahead or not before):
            return
        self.journal.date_from(ahead, now)
        apart = f"{timedelta(0, round(abs(ahead)))} {'behind' if ahead > 0.0 else 'ahead of'}"
        self.on_fault(
            f"the machine's clock is {apart} that of the watch, so one of the two was wrong; "
            "documents are dated by the machine's"
            if ahead
            else "the machine's clock agrees with that of the watch again"
        )

    def _renderer(self) -> Renders | None:
        """What renders pages, by the settings."""
        folder, known = self.folder, self.fleet.known
        if folder.settings.render == "never":
            return None
        counts, agent = self.fleet.counts, self.fleet.agent
        return Renders(
            folder.settings,
            known=lambda url: known.find(url) is not None or not known.admits(url),
            harvest=lambda: agent.counts.relevant / max(1, counts.pages),
            note=folder.note_render,
            later=True,
            earlier=all_renders(folder.path),
            visits=folder.rendered(),
            note_visit=folder.note_rendered,
            report=lambda line: self.on_fault(line),
        )

    def _validators(self, url: str) -> Validators | None:
        if self._renders is not None and self._renders.needs(url):
            return None  # the shell of a page may be as it was, and its data new
        return self._conditions.validators(url, host(url))

    def _whole(self, url: str) -> bool:
        known = self.fleet.known
        number = known.find(url)
        return number is not None and bool(known.digests[number]) and not self.folder.broke_off(url)

    def _record(self, fetch: Fetch, exchange: Exchange) -> bool:
        self._conditions.received(exchange)
        return self.journal.record(fetch, exchange)

    async def _supervise(self, driver: HttpDriver, seconds: float | None) -> str:
        stop_on_signals(driver, self.on_interrupt)
        if seconds is not None:
            asyncio.get_running_loop().call_later(seconds, driver.stop, "time is over")
        return await run_listening(driver, self)

    def take_labels(self) -> None:
        """Those that were given since, and what the judge makes of these."""
        watching, given = self.fleet.known.watching, self.folder.has_labels()
        if given:
            self._commit()  # labels concern rows that are committed
            for url, relevant in self.folder.labels():
                changed = self.folder.relabel(url, relevant)
                if changed is not None:
                    self.journal.relabel(url, *changed, self.now())
        if watching is not None and watching.labelled:  # also while no process held the folder
            self.journal.revise(self.now())
            given = True
        if given:
            self._commit()

    def _judged_anew(self, url: int, judgement: Judgement) -> None:
        self.folder.judged_anew(self.fleet.known.urls[url], judgement)

    def _step(self, fetch: Fetch, step: Outcome | Deferred) -> None:
        watching, known = self.fleet.known.watching, self.fleet.known
        taken = None if watching is None else watching.taken
        if taken is None or not isinstance(step, Outcome) or not isinstance(step.reply, Fetched):
            self.folder.describe(fetch, step)
        else:
            number = step.choice.link
            path = [known.urls[one] for one in known.path(number)]
            self.folder.see(fetch, step, taken, path, known.dated(known.fetched[number]))
        if watching is not None and isinstance(step, Outcome):
            self._conditions.judged(fetch.url, fetch.host, watching.change is not None)
        if isinstance(step, Outcome) and isinstance(step.reply, Failed) and step.reply.counts:
            self.last_failure = f"{fetch.url}: {in_words(step.reply)}"
            self._tell_failed(fetch.url, step.choice.link)

    def _tell_failed(self, url: str, number: int) -> None:
        """Tell once that a start cannot be had: else its watch would be silent for good."""
        known = self.fleet.known
        begins = known.parent[number] < 0 and number not in known.sitemaps
        if not begins or url in self._failed or len(self._failed) >= MOST_FAILED:
            return
        self._failed.add(url)
        if not known.digests[number]:
            self.on_fault(f"nothing came yet: {self.last_failure}")
            return
        last = datetime.fromtimestamp(known.dated(known.looked[number]), UTC)
        self.on_fault(f"{self.last_failure}; it was there at {last:%Y-%m-%d %H:%M} UTC")

    def _commit(self) -> None:
        """Make durable all that was done; then report it."""
        if time.monotonic() - self._saved > max(CHECKPOINT_SECONDS, self._cost / CHECKPOINT_SHARE):
            self._checkpoint()
            return
        self._forget_left()
        self._note_told()
        self.journal.commit()
        self._write_lines()
        self._end_once()

    def _forget_left(self) -> None:
        """What is kept of URLs that are asked for no more would be kept for ever."""
        if self._tracked.left:
            self.folder.forget_urls(self._tracked.left)
            hosts = self.fleet.known.counted_hosts()
            for url in self._tracked.left:
                name = host(url)
                self._conditions.forget(url, name, last=name not in hosts)
            if self._renders is not None:
                self._renders.forget_visits(self._tracked.left)
            self._tracked.left.clear()

    def _note_told(self) -> None:
        told = (line["url"] for line in self._tracked.lines if line["kind"] in TOLD_OF)
        self.folder.tell(told)

    def _end_once(self) -> None:
        """A pass is over once no page is worth a visit, or only pages of hosts are to which no more
        requests may be sent at once."""
        crew, now = self.fleet.crew, self.now()
        if not self.folder.settings.once or self._driver is None or self.fleet.in_flight:
            return
        assert isinstance(crew, Steady)
        if not crew.due(now):
            self._driver.stop("all was looked at")
        elif not crew.due(now, self.fleet.spent(now)):
            self._driver.stop(SHARE_SENT)

    def _write_lines(self) -> None:
        lines, self._tracked.lines = self._tracked.lines, []
        with self.folder.pausing():
            size = self._news.append(lines)
        if lines:
            self.folder.failpoint("news written")
            self._deliveries.written(size)
        for line in lines:
            self.on_line(line)

    def _checkpoint(self) -> None:
        began = time.monotonic()
        if self._driver is not None:
            self._date_documents()
        self._forget_left()
        self._note_told()
        self.journal.commit()
        self._write_lines()
        with self.folder.pausing():
            self._news.publish(self._tracked.tracker.sources)
        self._tracked.news_end = self._news.size
        self.journal.checkpoint(time.time(), self.now())
        self._saved = time.monotonic()
        self._cost = self._saved - began

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
            "known_urls": len(self.fleet.known),
            "sent": agent.sent,
            "found": agent.relevant,
            "lines": self.lines,
            "foragers": len(getattr(self.fleet.crew, "foragers", [None])),
            "this_time": {
                name: count - self._before[name] for name, count in self._so_far().items()
            },
            "silent": self._tracked.tracker.sources.silences(),
            "rendered": None if self._renders is None else self._renders.as_json(),
            "last_failure": self.last_failure,
            "seconds": round(time.monotonic() - self._began, 2),
        }

    def _so_far(self) -> dict[str, int]:
        """Since the watch began, by all its processes."""
        counts = self.fleet.counts
        return {"requests": counts.requests, "fetched": counts.pages, "lines": self.lines}


def configure_hosts(hosts: Hosts, settings: Settings) -> None:
    """The politeness of a watch."""
    hosts.configure(
        delay=settings.delay,
        per_host=settings.per_host,
        per_day=settings.requests_per_day,
        total_per_day=settings.total_requests_per_day,
        robots_age=settings.robots_max_age,
    )
