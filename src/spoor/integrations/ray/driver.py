"""The Ray driver: an actor a shard, and one process that carries their orders and reports.

Ray starts the processes, puts them on the machines of a cluster, starts them again where they die,
and carries plain values between them. It keeps nothing: an actor that comes back goes on from its
own run folder, and a coordinator that comes back is told everything by the shards.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from spoor.distribution import import_extra
from spoor.errors import InputError, PausedError, SpoorError
from spoor.learn.harvest_estimate import Harvest
from spoor.live.metrics import Watcher, watchers
from spoor.live.shard import Shard
from spoor.live.shard_metrics import numbers_of
from spoor.live.stop_rule import StopRule
from spoor.runs import files
from spoor.runs import shards as run_in_shards
from spoor.runs.database import reading
from spoor.sharding.coordinator import MERGE_PAGES, Coordinator, Report

TURN = 0.25
"""Seconds between two turns of a shard."""

SAY = 2.0
"""Seconds after which it is written down anew how the shards stand."""

AGAIN = 0.5
"""Seconds after which a shard whose process died is opened again."""

DEATHS = 8
"""Times in a row that a shard may die without a page between before the run pauses."""

AWAY = 180.0
"""Seconds that a shard may be away, for want of a machine to run on, before the run pauses."""

ALONE = "this policy cannot tell what it learned: each shard learns by itself"

HEAD_SECONDS = 5
"""Seconds that the parts of a local Ray wait for its head to come back: nobody would start it
again. Ray's own 60 are for heads that move to another machine. One that is only slow keeps its
connection and is waited for as long as ever."""

MEMORY = 80 * 1024 * 1024
"""Bytes of a local Ray's object store: what travels is small."""


class _HeadDiedError(PausedError):
    """Ray's head is no longer there."""


class ShardActor:
    """What Ray makes an actor of: one shard in a process of its own."""

    def __init__(self) -> None:
        self._shard: Shard | None = None

    async def open(
        self,
        path: str,
        settings: dict[str, Any],
        me: int,
        shards: int,
        warc: bool,
        watched: bool,
    ) -> Report:
        """Open the shard, or say where it stands; whoever asks knows nothing of it."""
        if self._shard is None:
            self._shard = Shard(Path(path), settings, me, shards, warc=warc, watched=watched)
            return {**self._shard.begin(), "process": os.getpid()}
        return {**self._shard.anew(), "process": os.getpid()}

    async def turn(self, order: dict[str, Any]) -> Report:
        """One turn with the coordinator."""
        assert self._shard is not None
        return self._shard.turn(order)

    async def end(self) -> Report:
        """The last report, once nothing is in flight."""
        assert self._shard is not None
        return await self._shard.end()


@dataclass
class Watched:
    """What those who look on are shown."""

    coordinator: Coordinator
    began: float = field(default_factory=time.monotonic)
    processes: dict[int, int] = field(default_factory=dict)
    """Shard → its process."""
    said: list[str] = field(default_factory=list)
    """What a user must know, in the order of its coming."""


def crawl(
    path: Path,
    settings: Mapping[str, Any],
    *,
    shards: int = 2,
    cluster: str | None = None,
    stop: StopRule | None = None,
    warc: bool = True,
    merge_pages: int = MERGE_PAGES,
    watch: Callable[[Watched], None] = lambda watched: None,
    metrics: str = "",
    otel: bool = False,
) -> dict[str, Any]:
    """Crawl in `shards` shards, to the end; the same call on the same folder goes on, with another
    number of shards, too. Returns what `spoor crawl --json` prints.

    `settings`: of `drivers.http.plan.run_settings`. `cluster`: the address of a Ray that runs;
    without one Ray is started here and ended with the crawl. `merge_pages`: pages a shard between
    two exchanges of what was learned, more as there are more; 0: each learns by itself. `watch` is
    called a few times a second. `metrics` and `otel`: of `spoor.live.metrics.watchers`;
    this process tells of all shards.

    Raises InputError as a run's folder does, and where Ray is not installed or not there;
    PausedError where a disk is full, or Ray is gone.
    """
    ray = _ray()
    if cluster is not None:
        _knock(cluster)
    rule = stop or StopRule()
    with ExitStack() as undo:
        coordinator = Coordinator(
            shards,
            settings["pages"],
            retired=[one for one in map(files.shard_number, files.shards(path)) if one >= shards],
            merge_pages=merge_pages * shards,
            rule=lambda found, recent: driver.reason(found, recent),
            found=rule.found,
            window=rule.window,
        )
        hearing = watchers(lambda: numbers_of(coordinator, time.monotonic()), metrics, otel)
        for watcher in hearing:
            undo.callback(watcher.close)
        run_in_shards.begin(path, settings, shards, undo)
        undo.enter_context(_started(ray, cluster, len(coordinator.members)))
        watched = Watched(coordinator)
        driver = _Driver(
            ray, path, dict(settings), coordinator, rule, shards, warc, watched, hearing
        )
        if cluster is None:  # that of a cluster may come back
            driver.head = ray.get_runtime_context().gcs_address
        undo.enter_context(_signals(coordinator))
        try:
            driver.run(watch)
        except SpoorError:
            raise
        except ray.exceptions.RayError as error:
            raise _gone(error) from error
        run_in_shards.write_results(path)
        return driver.summary()


def _ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    return import_extra("ray", "crawling in shards", "ray", "ray.exceptions")[0]


def _gone(error: BaseException) -> PausedError:
    what = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return PausedError(f"paused: Ray is gone ({what}); give the same command to go on")


def _knock(cluster: str) -> None:
    """Ray itself would wait for a minute and more."""
    if cluster == "auto":
        return
    name, _, port = cluster.rpartition(":")
    if not name or not port.isascii() or not port.isdigit() or "/" in name:
        raise InputError(
            f"--cluster {cluster!r} is not HOST:PORT, as in 192.0.2.10:6379, or 'auto'"
        )
    try:
        socket.create_connection((name, int(port)), timeout=10.0).close()
    except (OSError, OverflowError) as error:
        what = getattr(error, "strerror", None) or "it does not answer"
        raise InputError(f"no Ray at {cluster}: {what}") from error


@contextmanager
def _started(ray: Any, cluster: str | None, processes: int) -> Iterator[None]:
    common = {
        "include_dashboard": False,
        "log_to_driver": False,
        "configure_logging": True,
        "logging_level": logging.ERROR,
        "namespace": "spoor",
    }
    try:
        if cluster is None:
            # By its environment: here the raylet does not heed `_system_config` (ray issue 62074).
            os.environ.setdefault("RAY_gcs_rpc_server_reconnect_timeout_s", str(HEAD_SECONDS))
            ray.init(
                address="local",
                num_cpus=processes,
                num_gpus=0,
                object_store_memory=MEMORY,
                _node_ip_address="127.0.0.1",
                **common,
            )
        else:
            common.pop("include_dashboard")
            ray.init(address=cluster, **common)
    except Exception as error:  # Ray raises bare ones, too: a start that took too long
        where = "on this machine" if cluster is None else f"at {cluster}"
        what = str(error).strip().splitlines()[0][:200] if str(error).strip() else "no answer"
        if cluster is not None and os.environ.get("RAY_AUTH_MODE") != "token":
            # Ray sends its token to no address that it was told, unless it was told to do that too.
            what += "; one that asks for a token wants RAY_AUTH_MODE=token in the environment"
        raise InputError(f"no Ray {where}: {what}") from error
    try:
        yield
    except _HeadDiedError:
        raise  # what is left of it ends by itself, and where asked would end us before we say why
    except BaseException:
        ray.shutdown()
        raise
    ray.shutdown()


def _listens(address: str) -> bool:
    """Whether somebody is there; who is only slow is."""
    name, _, port = address.rpartition(":")
    try:
        socket.create_connection((name, int(port)), timeout=0.5).close()
    except ConnectionRefusedError:
        return False
    except OSError:
        pass
    return True


@contextmanager
def _signals(coordinator: Coordinator) -> Iterator[None]:
    """The first SIGINT or SIGTERM stops the run, the second ends it at once."""

    def interrupt(number: int, frame: object) -> None:
        if coordinator.reason is not None:
            raise KeyboardInterrupt
        coordinator.stop("interrupted")

    try:
        before = {one: signal.signal(one, interrupt) for one in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # not the main thread: signals are not ours
        yield
        return
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


class _Driver:
    """Carries orders and reports until all shards have ended."""

    def __init__(
        self,
        ray: Any,
        path: Path,
        settings: dict[str, Any],
        coordinator: Coordinator,
        rule: StopRule,
        shards: int,
        warc: bool,
        watched: Watched,
        hearing: Sequence[Watcher],
    ) -> None:
        self._rule = rule
        self._harvest = Harvest(_verdicts(path) if rule.estimates else ())
        self._ray = ray
        self._path = path.absolute()
        self._settings = settings
        self._coordinator = coordinator
        self._shards = shards
        self._warc = warc
        self._watched = watched
        self._hearing = hearing
        self._began = time.monotonic()
        self._before: int | None = None
        self._pending: dict[Any, tuple[int, str]] = {}
        self._next = dict.fromkeys(coordinator.members, 0.0)
        self._idle_deaths = dict.fromkeys(coordinator.members, 0)
        self._since = dict.fromkeys(coordinator.members, 0.0)
        """When a shard went away; 0 while it is there."""
        self._last_pages = dict.fromkeys(coordinator.members, 0)
        self._last: dict[int, Report] = {}
        self._fault: SpoorError | None = None
        self.head = ""
        """Address of Ray's head, where nobody would start it again."""
        actor = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=0)(ShardActor)
        spread = actor.options(scheduling_strategy="SPREAD")
        self._actors = {at: spread.remote() for at in coordinator.members}

    def run(self, watch: Callable[[Watched], None]) -> None:
        """To the end. Raises what a shard ended with, once the others have ended."""
        shown = said = 0.0
        while not self._coordinator.over:
            now = time.monotonic()
            for shard, at in self._next.items():
                if at <= now:
                    self._ask(shard)
                    self._next[shard] = float("inf")
            soonest = min(self._next.values())
            wait = min(max(0.001, soonest - now), TURN)
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
            for one in ready:
                self._answered(one)
            if now - shown > TURN:
                shown = now
                watch(self._watched)
            if now - said > SAY:
                said = now
                self._say()
                if self.head and not _listens(self.head):
                    raise _HeadDiedError(
                        "paused: Ray is gone (its head died); give the same command to go on"
                    )
        watch(self._watched)
        self._say()
        if self._fault is not None:
            raise self._fault

    def reason(self, found: int, recent: Sequence[bool]) -> str | None:
        """Why to end now, by the rules of the run."""
        estimate = None
        if self._rule.estimates:
            told = [member.told for member in self._coordinator.members.values()]
            open_links = sum(report["open"] for report in told)
            estimate = self._harvest.estimate(open_links, sum(one["requests"] for one in told))
        return self._rule.reason(found, recent, estimate)

    def _say(self) -> None:
        """For whoever looks at the run's folder; a full disk is for the shards to tell."""
        coordinator, traffic = self._coordinator, self._coordinator.traffic
        rows = [asdict(row) for row in coordinator.rows(time.monotonic())]
        exchange = {"links": traffic.links, "bytes": traffic.bytes, "merges": traffic.merges}
        with suppress(OSError):
            run_in_shards.write_status(
                self._path, {"at": time.time(), "shards": rows, "exchange": exchange}
            )

    def _ask(self, shard: int) -> None:
        member, actor = self._coordinator.members[shard], self._actors[shard]
        if member.ended:
            return
        if not member.alive:
            opened = actor.open.remote(
                *(str(self._path), self._settings, shard, self._shards, self._warc),
                watched=bool(self._hearing),
            )
            self._pending[opened] = (shard, "open")
        elif member.stopping:
            self._pending[actor.end.remote()] = (shard, "end")
        else:
            self._pending[actor.turn.remote(self._coordinator.order(shard))] = (shard, "turn")

    def _answered(self, one: Any) -> None:
        shard, what = self._pending.pop(one)
        member = self._coordinator.members[shard]
        now = time.monotonic()
        errors = self._ray.exceptions
        try:
            report = self._ray.get(one)
        except errors.RayTaskError as error:
            self._failed(shard, error.cause)
            return
        except (errors.RayActorError, errors.WorkerCrashedError) as error:
            self._away(shard, error, now)
            return
        self._since[shard] = 0.0
        if report["pages"] > self._last_pages[shard]:
            self._idle_deaths[shard] = 0
        self._last_pages[shard] = report["pages"]
        self._last[shard] = report
        for verdict in report["verdicts"]:
            self._harvest.add(verdict)
        for download in report.pop("downloads"):
            for watcher in self._hearing:
                watcher.step(download)
        if what == "open":
            self._watched.processes[shard] = report["process"]
            self._coordinator.joined(shard, report, now)
            if self._before is None and len(self._last) == len(self._coordinator.members):
                self._before = self._coordinator.fetched
        else:
            self._coordinator.report(shard, report, now)
        if report["fault"] and report["fault"] not in self._watched.said:
            self._watched.said.append(report["fault"])
        if self._coordinator.alone and ALONE not in self._watched.said:
            self._watched.said.append(ALONE)
        member.ended = what == "end"
        hungry = report["open"] and report["flying"] + report["pages"] >= report["grant"]
        soon = what == "open" or member.stopping or (hungry and self._coordinator.reason is None)
        self._next[shard] = now + (TURN / 5 if soon else TURN)

    def _away(self, shard: int, error: Any, now: float) -> None:
        """A shard's process died, or is not there again yet."""
        if self._coordinator.members[shard].alive:
            self._coordinator.lost(shard)
            self._idle_deaths[shard] += 1
        since = self._since[shard] = self._since[shard] or now
        lasts = now - since > AWAY or not any(node["Alive"] for node in self._ray.nodes())
        if lasts or self._idle_deaths[shard] > DEATHS:
            self._failed(shard, _gone(error))
        self._next[shard] = now + AGAIN

    def _failed(self, shard: int, error: Any) -> None:
        """A shard ended with an error: the run cannot go on without its hosts."""
        if self._fault is None:
            self._fault = (
                error
                if isinstance(error, SpoorError)
                else PausedError(f"paused: shard {shard} failed ({type(error).__name__}: {error})")
            )
        self._coordinator.members[shard].ended = True
        self._coordinator.stop("a shard failed")

    def summary(self) -> dict[str, Any]:
        """What was done, for `--json`."""
        coordinator, last = self._coordinator, [self._last[at] for at in sorted(self._last)]
        seconds = time.monotonic() - self._began
        pages, found = coordinator.fetched, coordinator.found
        new = max(1, pages - (self._before or 0))
        each = [report["summary"] for report in last]
        traffic = coordinator.traffic
        return {
            "out": str(self._path),
            "resumed": any(one["resumed"] for one in each),
            "stopped_because": coordinator.reason,
            "fetched": pages,
            "found": found,
            **{
                key: sum(report[key] for report in last)
                for key in ("failed", "skipped", "requests")
            },
            "harvest_rate": round(found / pages, 4) if pages else 0.0,
            "open_links": sum(report["open"] for report in last),
            "last_failure": next(filter(None, (one["last_failure"] for one in each)), ""),
            "policy_fault": next(filter(None, (one["policy_fault"] for one in each)), ""),
            "seconds": round(seconds, 2),
            "pages_per_second": round((pages - (self._before or 0)) / max(seconds, 1e-9), 2),
            "judge": _together([one["judge"] for one in each]),
            "shards": self._shards,
            "learned_together": traffic.merges > 0,
            "learns_alone": coordinator.alone,
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
                    "shard": at,
                    "pages": self._last[at]["pages"],
                    "found": self._last[at]["relevant"],
                    "hosts": self._last[at]["hosts"],
                    "links_out": self._last[at]["posted"],
                    "links_in": self._last[at]["entered"],
                    "cpu_s": round(self._last[at]["cpu"], 2),
                }
                for at in sorted(self._last)
            ],
        }


def _verdicts(path: Path) -> list[bool]:
    """Of all pages so far, in the order of time."""
    if not files.shards(path):
        return []
    with reading(path) as db:
        return [bool(row[0]) for row in db.execute("SELECT relevant FROM pages ORDER BY seq")]


def _together(accounts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """What the judges of all shards asked and spent."""
    keys = dict.fromkeys(key for account in accounts for key in account)
    return {key: sum(account.get(key, 0.0) for account in accounts) for key in keys}
