"""The Ray driver: an actor for each shard, and one process that sends orders and receives reports.

Ray starts the processes on the machines of a cluster, restarts those that die, and transports plain
values between them. It stores nothing: a restarted actor continues from its own run folder, and the
shards report everything to a new coordinator.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from spoor.errors import InputError, PausedError, SpoorError
from spoor.integrations.ray.actor import ShardActor
from spoor.integrations.ray.cluster import (
    HeadDiedError,
    check_reachable,
    import_ray,
    listens,
    ray_is_gone,
    started,
)
from spoor.integrations.ray.reports import misfit_of
from spoor.judges import named
from spoor.learn.harvest_estimate import Harvest
from spoor.live.exporters import Exporter, exporters
from spoor.live.metrics import shard_metrics
from spoor.live.stop_rule import StopRule
from spoor.runs import shards as run_in_shards
from spoor.runs.reader import Run
from spoor.runs.stop_request import take_request
from spoor.settings import Settings
from spoor.sharding.coordinator import MERGE_PAGES, Coordinator, Report
from spoor.types import LeftOut

TURN_SECONDS = 0.25
"""Seconds between two turns of a shard."""

FEW = 64
"""Open links of a shard near the end of the crawl, up to which its turns come sooner."""

STATUS_SECONDS = 2.0
"""Seconds between two writes of the status of the shards."""

REOPEN_SECONDS = 0.5
"""Seconds after which a shard whose process died is opened again."""

MAX_DEATHS = 8
"""Deaths of a shard in a row, without a page in between, before the run pauses."""

MAX_AWAY_SECONDS = 180.0
"""Seconds that a shard may be away before the run pauses; it may wait for a free machine."""

SILENT_SECONDS = 60.0
"""Seconds without an answer of a shard after which the user is told so."""

MAX_SILENT_SECONDS = 600.0
"""Seconds without an answer of a shard after which the run pauses: its process may hang. Sixteen
replies may wait for a judge that takes half a minute each."""

LEARNS_ALONE = "this policy cannot share what it learned: each shard learns by itself"


@dataclass
class Progress:
    """The state of a crawl in shards, for a screen."""

    coordinator: Coordinator
    began: float = field(default_factory=time.monotonic)
    before: int | None = None
    """Pages that earlier parts of the run had fetched, once all shards have said theirs."""
    processes: dict[int, int] = field(default_factory=dict)
    """Shard → ID of its process."""
    messages: list[str] = field(default_factory=list)
    """Messages for the user, oldest first."""

    @property
    def new(self) -> int:
        """Pages of this part of the run."""
        return self.coordinator.fetched - (self.before or 0)

    @property
    def rate(self) -> float:
        """Pages a second of this part of the run."""
        return self.new / max(time.monotonic() - self.began, 1e-9)


def crawl(
    path: Path,
    settings: Settings,
    *,
    merge_pages: int = MERGE_PAGES,
    on_start: Callable[[], None] = lambda: None,
    watch: Callable[[Progress], None] = lambda progress: None,
) -> dict[str, Any]:
    """Crawl in `settings.shards` shards (2 if that is 0) until the end; the same call on the same
    folder continues the run, also with another number of shards. Returns what `spoor crawl --json`
    prints.

    `settings.cluster` is the address of a running Ray; without it, Ray is started on this machine
    and ends with the crawl. `merge_pages`: pages a shard before the first merge of models; 0: each
    shard learns by itself. `on_start` is called once all is checked and Ray is there, `watch` a few
    times a second.

    Raises InputError for a run folder that cannot be used, and if Ray is not installed or cannot be
    reached; PausedError if a disk is full or the connection to Ray is lost.
    """
    ray = import_ray()
    shards, cluster = settings.shards or 2, settings.cluster or None
    settings = replace(settings, shards=shards)
    if settings.pages is None:
        raise InputError("a crawl in shards needs a budget: pages is a whole number from 1 on")
    if cluster is not None:
        check_reachable(cluster)
    with ExitStack() as undo:
        coordinator = Coordinator(
            shards,
            settings.pages,
            retired=[number for number in run_in_shards.numbers(path) if number >= shards],
            merge_pages=merge_pages * shards,
            rule=lambda found, recent: driver.reason(found, recent),
            found=settings.found,
            window=settings.window,
            max_bytes=settings.max_bytes,
        )
        exporting = exporters(
            lambda: shard_metrics(coordinator, time.monotonic()), settings.metrics, settings.otel
        )
        for exporter in exporting:
            undo.callback(exporter.close)
        run_in_shards.begin(path, settings, undo)
        undo.enter_context(started(ray, cluster, len(coordinator.members)))
        progress = Progress(coordinator)
        driver = _Driver(ray, path, settings, coordinator, progress, exporting)
        if cluster is None:  # the head of a cluster may be restarted
            driver.head = ray.get_runtime_context().gcs_address
        undo.enter_context(_signals(coordinator))
        on_start()
        try:
            driver.run(watch)
        except SpoorError:
            raise
        except ray.exceptions.RayError as error:
            raise ray_is_gone(error) from error
        run_in_shards.write_results(path)
        return driver.summary()


@contextmanager
def _signals(coordinator: Coordinator) -> Iterator[None]:
    """The first SIGINT or SIGTERM stops the run, the second ends it at once."""

    def interrupt(number: int, frame: object) -> None:
        if coordinator.reason is not None:
            raise KeyboardInterrupt
        coordinator.stop("interrupted")

    try:
        before = {
            number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)
        }
    except ValueError:  # not the main thread: signals are not ours
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Driver:
    """Sends orders and receives reports until all shards have ended."""

    def __init__(
        self,
        ray: Any,
        path: Path,
        settings: Settings,
        coordinator: Coordinator,
        progress: Progress,
        exporting: Sequence[Exporter],
    ) -> None:
        self._rule = rule = StopRule(settings)
        known = rule.estimates and run_in_shards.numbers(path)
        self._harvest = Harvest(Run(path).verdicts() if known else ())
        self._ray = ray
        self._path = path.absolute()
        self._settings = settings
        self._coordinator = coordinator
        self._progress = progress
        self._exporters = exporting
        self._began = time.monotonic()
        self._crawled = run_in_shards.seconds(path) if settings.max_time else 0.0
        """Seconds that the run went on in earlier parts."""
        self._joined = 0.0
        """When all shards were open: none fetches a page before."""
        self._pending: dict[Any, tuple[int, str]] = {}
        self._next = dict.fromkeys(coordinator.members, 0.0)
        self._idle_deaths = dict.fromkeys(coordinator.members, 0)
        self._silent = dict.fromkeys(coordinator.members, 0.0)
        """Shard → seconds without an answer, but for those in which this process stood still."""
        self._since = dict.fromkeys(coordinator.members, 0.0)
        """Shard → time from which it is away; 0 while it is alive."""
        self._last_pages = dict.fromkeys(coordinator.members, 0)
        self._last: dict[int, Report] = {}
        self._fault: SpoorError | None = None
        self.head = ""
        """Address of the head of a local Ray, which nobody restarts."""
        actor = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=0)(ShardActor)
        spread = actor.options(scheduling_strategy="SPREAD")
        self._actors = {shard: spread.remote() for shard in coordinator.members}

    def run(self, watch: Callable[[Progress], None]) -> None:
        """Run until the end. If a shard fails, raises its error once the others have ended."""
        shown = written = 0.0
        while not self._coordinator.over:
            now = time.monotonic()
            if (over := self._rule.used(self._seconds(), 0)) is not None:
                self._coordinator.stop(over, at_once=True)
            for shard, time_due in self._next.items():
                if time_due <= now:
                    self._send_order(shard)
                    self._next[shard] = float("inf")
            soonest = min(self._next.values())
            wait = min(max(0.001, soonest - now), TURN_SECONDS, max(0.001, self._left()))
            ready = []
            if self._pending:
                ready, _ = self._ray.wait(
                    list(self._pending), num_returns=len(self._pending), timeout=0
                )
            if not ready:
                if self._pending:
                    ready, _ = self._ray.wait(list(self._pending), num_returns=1, timeout=wait)
                else:
                    time.sleep(wait)
            for reference in ready:
                self._receive(reference)
            if now - shown > TURN_SECONDS:
                shown = now
                watch(self._progress)
            if now - written > STATUS_SECONDS:
                written = now
                self._look_for_silent()
                self._write_status()
                if take_request(self._path) and self._coordinator.reason is None:
                    self._coordinator.stop("interrupted")
                if self.head and not listens(self.head):
                    raise HeadDiedError(
                        "paused: Ray is gone (its head died); give the same command to go on"
                    )
        watch(self._progress)
        self._write_status()
        if self._fault is not None:
            raise self._fault

    def _seconds(self) -> float:
        """For which the run went on, in all its parts."""
        return self._crawled + (time.monotonic() - self._joined if self._joined else 0.0)

    def _left(self) -> float:
        """Seconds until its time is over."""
        most = self._settings.max_time
        return max(0.0, most - self._seconds()) if most else math.inf

    def reason(self, found: int, recent: Sequence[bool]) -> str | None:
        """Why to end now, by the rules of the run."""
        estimate = None
        if self._rule.estimates:
            reports = [member.last_report for member in self._coordinator.members.values()]
            open_links = sum(report["open"] for report in reports)
            estimate = self._harvest.estimate(
                open_links, sum(report["requests"] for report in reports)
            )
        return self._rule.reason(found, recent, estimate)

    def _write_status(self) -> None:
        """Write the status of the shards for displays. The shards themselves report a full disk."""
        coordinator, traffic = self._coordinator, self._coordinator.traffic
        rows = [asdict(row) for row in coordinator.statuses(time.monotonic())]
        exchange = {"links": traffic.links, "bytes": traffic.bytes, "merges": traffic.merges}
        with suppress(OSError):
            run_in_shards.write_status(
                self._path, {"at": time.time(), "shards": rows, "exchange": exchange}
            )

    def _send_order(self, shard: int) -> None:
        member, actor = self._coordinator.members[shard], self._actors[shard]
        if member.ended:
            return
        if not member.alive:
            opened = actor.open.remote(
                *(str(self._path), self._settings.to_dict(secret=True), shard),
                report_downloads=bool(self._exporters),
                functions=named.allowed(),
            )
            self._pending[opened] = (shard, "open")
        elif member.stopping:
            self._pending[actor.end.remote()] = (shard, "end")
        else:
            order = self._coordinator.order(shard)
            order["seconds"] = self._seconds() if self._settings.max_time else None
            self._pending[actor.turn.remote(order)] = (shard, "turn")

    def _look_for_silent(self) -> None:
        """Tell of a shard that does not answer, and in the end wait for it no longer: what it has
        is in its folder. How long one takes to open is a matter of that folder."""
        for shard, call in self._pending.values():
            self._silent[shard] += STATUS_SECONDS
            member, silent = self._coordinator.members[shard], self._silent[shard]
            if silent >= SILENT_SECONDS and not member.silent:
                member.silent = True
                self._progress.messages.append(
                    f"shard {shard} has not answered for a minute; the others go on, and the run "
                    f"pauses after {MAX_SILENT_SECONDS / 60:g} minutes without an answer"
                )
            ending = call != "open" or self._coordinator.reason is not None
            if silent >= MAX_SILENT_SECONDS and ending and not member.ended:
                said = f"paused: shard {shard} does not answer; give the same command to go on"
                self._failed(shard, PausedError(said))

    def _receive(self, reference: Any) -> None:
        shard, call = self._pending.pop(reference)
        member = self._coordinator.members[shard]
        member.silent, self._silent[shard] = False, 0.0
        now = time.monotonic()
        errors = self._ray.exceptions
        try:
            report = self._ray.get(reference)
        except errors.RayTaskError as error:
            self._failed(shard, error.cause)
            return
        except (errors.RayActorError, errors.WorkerCrashedError) as error:
            self._away(shard, error, now)
            return
        if misfit := misfit_of(report, call, self._coordinator.members):
            other = f"shard {shard} reports what this Spoor does not read ({misfit})"
            mend = "install the same version on all machines, and give the same command to go on"
            self._failed(shard, PausedError(f"paused: {other}; {mend}"))
            return
        self._since[shard] = 0.0
        if report["pages"] > self._last_pages[shard]:
            self._idle_deaths[shard] = 0
        self._last_pages[shard] = report["pages"]
        self._last[shard] = report
        for verdict in report["verdicts"]:
            self._harvest.add(verdict)
        for download in report.pop("downloads"):
            for exporter in self._exporters:
                exporter.add(download)
        self._progress.messages += report.pop("notes", ())
        if call == "open":
            self._progress.processes[shard] = report["process"]
            self._coordinator.joined(shard, report, now)
            if self._progress.before is None and len(self._last) == len(self._coordinator.members):
                self._progress.before = self._coordinator.fetched
                self._joined = now
        else:
            self._coordinator.report(shard, report, now)
        if report["fault"] and report["fault"] not in self._progress.messages:
            self._progress.messages.append(report["fault"])
        if self._coordinator.learns_alone and LEARNS_ALONE not in self._progress.messages:
            self._progress.messages.append(LEARNS_ALONE)
        member.ended = call == "end"
        starved = report["open"] and report["in_flight"] + report["pages"] >= report["grant"]
        starved = starved or report["bytes"]["wanted"]
        # Its last links are few at a time, and all shards wait for one another in between.
        starved = starved or (self._coordinator.nearly_over and report["open"] <= FEW)
        soon = call == "open" or member.stopping or (starved and self._coordinator.reason is None)
        self._next[shard] = now + (TURN_SECONDS / 5 if soon else TURN_SECONDS)

    def _away(self, shard: int, error: Any, now: float) -> None:
        """The process of a shard died, or has not restarted yet."""
        if self._coordinator.members[shard].alive:
            self._coordinator.lost(shard)
            self._idle_deaths[shard] += 1
        since = self._since[shard] = self._since[shard] or now
        lost = now - since > MAX_AWAY_SECONDS or not any(
            node["Alive"] for node in self._ray.nodes()
        )
        if lost or self._idle_deaths[shard] > MAX_DEATHS:
            self._failed(shard, ray_is_gone(error))
        self._next[shard] = now + REOPEN_SECONDS

    def _failed(self, shard: int, error: Any) -> None:
        """A shard ended with an error: the run cannot continue without its hosts."""
        if self._fault is None:
            self._fault = (
                error
                if isinstance(error, SpoorError)
                else PausedError(f"paused: shard {shard} failed ({type(error).__name__}: {error})")
            )
        self._coordinator.members[shard].ended = True
        self._coordinator.stop("a shard failed")

    def summary(self) -> dict[str, Any]:
        """The summary of the crawl for `--json`."""
        coordinator, last = self._coordinator, [self._last[shard] for shard in sorted(self._last)]
        seconds = time.monotonic() - self._began
        pages, found = coordinator.fetched, coordinator.relevant
        new = max(1, self._progress.new)
        each = [report["summary"] for report in last]
        traffic = coordinator.traffic
        return {
            "out": str(self._path),
            "resumed": any(summary["resumed"] for summary in each),
            "stopped_because": coordinator.reason,
            "fetched": pages,
            "found": found,
            "judged_anew": sum(summary["judged_anew"] for summary in each),
            **{
                key: sum(report[key] for report in last)
                for key in ("failed", "skipped", "requests")
            },
            "harvest_rate": round(found / pages, 4) if pages else 0.0,
            "open_links": sum(report["open"] for report in last),
            **{
                key: next(filter(None, (summary[key] for summary in each)), "")
                for key in ("last_failure", "policy_fault", "judge_fault")
            },
            "seconds": round(seconds, 2),
            "pages_per_second": round(self._progress.new / max(seconds, 1e-9), 2),
            "judge": _summed([summary["judge"] for summary in each]),
            **LeftOut.of(*each).as_json(),
            "shards": self._settings.shards,
            "learned_together": traffic.merges > 0,
            "learns_alone": coordinator.learns_alone,
            "exchange": {
                "orders_per_page": round(traffic.orders / new, 4),
                "links": traffic.links,
                "bytes_per_page": round(traffic.bytes / new, 1),
                "merges": traffic.merges,
                "model_bytes_per_page": round(traffic.model_bytes / new, 1),
                "cpu_ms_per_page": round(1000 * sum(report["busy"] for report in last) / new, 3),
                "coordinator_cpu_s": round(time.process_time(), 2),
                "deaths": sum(member.deaths for member in coordinator.members.values()),
            },
            "each": [
                {
                    "shard": shard,
                    "pages": self._last[shard]["pages"],
                    "found": self._last[shard]["relevant"],
                    "hosts": self._last[shard]["hosts"],
                    "links_out": self._last[shard]["posted"],
                    "links_in": self._last[shard]["entered"],
                    "cpu_s": round(self._last[shard]["cpu"], 2),
                }
                for shard in sorted(self._last)
            ],
        }


def _summed(accounts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The sums of the costs of the judges of all shards."""
    keys = dict.fromkeys(key for account in accounts for key in account)
    return {key: sum(account.get(key, 0.0) for account in accounts) for key in keys}
