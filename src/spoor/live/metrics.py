"""What a crawl tells those who watch many programs: Prometheus, and OpenTelemetry.

Both are asked for, need the extra `metrics`, and only read: nothing of a crawl goes by them. What
they say of one page they say after it is committed. Of a crawl in shards the coordinator tells all:
its numbers are those of all shards, as of one process, and those of each under names of their own.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, NamedTuple, Protocol, Self

from spoor.crawl import Crawl
from spoor.display import shown
from spoor.distribution import VERSION, import_extra
from spoor.errors import InputError
from spoor.types import Deferred, Fetch, Fetched, Outcome

SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""Ends of the bins of downloads' times."""

COUNTERS = {
    "pages": "Pages fetched in this run",
    "relevant": "Pages of this run that are wanted",
    "failed": "Links of this run that brought no page",
    "skipped": "Links that were chosen and passed over",
    "requests": "Requests of this run, retries and redirects included",
}
GAUGES = {
    "open_links": "Links that may be chosen",
    "in_flight": "Links that were chosen and are waited for",
    "budget_pages": "Pages that the run may fetch; 0: no limit",
}


@dataclass(frozen=True, slots=True)
class Number:
    """One that a crawl tells when it is asked."""

    name: str
    """Dotted, as in `shard.pages`."""
    what: str
    value: float
    grows: bool = False
    """It only ever grows: a counter."""
    shard: int | None = None


Read = Callable[[], Sequence[Number]]
"""The numbers of a crawl as they stand: always the same ones."""


def numbers_of(crawl: Crawl) -> list[Number]:
    """Those of a crawl in one process."""
    stand = (crawl.frontier.open_count, crawl.in_flight, crawl.pages or 0)
    return [
        *(Number(name, what, getattr(crawl.counts, name), True) for name, what in COUNTERS.items()),
        *(
            Number(name, what, value)
            for (name, what), value in zip(GAUGES.items(), stand, strict=True)
        ),
    ]


class Download(NamedTuple):
    """What is told of one download: plain values, which a shard can send."""

    url: str
    host: str
    attempt: int
    began: float
    """Unix seconds."""
    seconds: float
    size: int
    status: int | None
    kind: str
    """Of its failure; empty for a page."""
    reason: str
    score: float | None
    relevant: bool

    @classmethod
    def of(cls, fetch: Fetch, step: Outcome | Deferred) -> Self | None:
        """None where its ticket will be asked for again."""
        if isinstance(step, Deferred):
            return None
        reply, judged = step.reply, step.judgement
        began = time.time() - reply.seconds
        if isinstance(reply, Fetched):
            began = reply.page.fetched_at or began
            size, status, kind, reason = reply.size, reply.page.status, "", ""
        else:
            size, status, kind, reason = 0, reply.status, reply.kind, reply.reason
        return cls(
            *(fetch.url, fetch.host, fetch.attempt, began, reply.seconds, size, status),
            *(kind, reason),
            score=None if judged is None else judged.score,
            relevant=judged is not None and judged.relevant,
        )


class Watcher(Protocol):
    """Hears of each download of a crawl, once it is safe."""

    def step(self, download: Download) -> None: ...
    def close(self) -> None:
        """Send what is left, and end."""
        ...


def watchers(read: Read, metrics: str, otel: bool) -> list[Watcher]:
    """Those that a person asked for: `metrics` is ADDRESS:PORT, or empty for none.

    Raises InputError where the extra or an exporter is missing, or nobody can listen there.
    """
    made: list[Watcher] = []
    if metrics:
        made.append(Prometheus(read, *listening(metrics)))
    if otel:
        made.append(Telemetry(read))
    return made


def listening(place: str) -> tuple[str, int]:
    """Address and port of ADDRESS:PORT. Raises InputError for anything else."""
    address, _, port = place.rpartition(":")
    number = int(port) if port.isascii() and port.isdigit() and len(port) <= 5 else 1 << 16
    if not address or number >= 1 << 16:
        raise InputError(f"--metrics {place!r} is not ADDRESS:PORT, as in 127.0.0.1:9464")
    return address.strip("[]"), number


# ---------------------------------------------------------------- Prometheus


class Prometheus:
    """Serves /metrics in a thread of its own."""

    def __init__(self, read: Read, address: str, port: int) -> None:
        (client, core) = import_extra(
            "metrics", "an exporter of metrics", "prometheus_client", "prometheus_client.core"
        )
        registry = client.CollectorRegistry()
        registry.register(_Numbers(read, core))
        client.ProcessCollector(registry=registry)
        self._failures = client.Counter(
            "spoor_failures",
            "Links that brought no page, by what went wrong, since this process began",
            ["kind"],
            registry=registry,
        )
        self._bytes = client.Counter(
            "spoor_body_bytes", "Bytes of bodies since this process began", registry=registry
        )
        self._seconds = client.Histogram(
            "spoor_download_seconds", "Time of one download", buckets=SECONDS, registry=registry
        )
        try:
            self._server, self._thread = client.start_http_server(port, address, registry)
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise InputError(f"--metrics: cannot listen on {address}:{port}: {why}") from error
        self.port: int = self._server.server_port

    def step(self, download: Download) -> None:
        if download.kind:
            self._failures.labels(download.kind).inc()
        else:
            self._bytes.inc(download.size)
            self._seconds.observe(download.seconds)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Numbers:
    """The crawl's own numbers, read when somebody asks."""

    def __init__(self, read: Read, core: Any) -> None:
        self._read = read
        self._core = core

    def collect(self) -> Iterator[Any]:
        kinds = {True: self._core.CounterMetricFamily, False: self._core.GaugeMetricFamily}
        families: dict[str, Any] = {}
        for one in self._read():
            labels = [] if one.shard is None else ["shard"]
            if one.name not in families:
                name = f"spoor_{one.name.replace('.', '_')}"
                families[one.name] = kinds[one.grows](name, one.what, labels=labels)
            families[one.name].add_metric([str(one.shard)] if labels else [], one.value)
        yield from families.values()


# ---------------------------------------------------------------- OpenTelemetry


class Telemetry:
    """A span for each download, and the counts as metrics, sent where the standard variables say:
    OTEL_TRACES_EXPORTER and OTEL_METRICS_EXPORTER (`otlp`, which is the default, `console` or
    `none`), OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SERVICE_NAME and their like.

    `console` writes to standard error.
    """

    def __init__(self, read: Read) -> None:
        (resources, metrics, readers, traces, processors, api) = import_extra(
            "metrics",
            "an exporter of metrics",
            "opentelemetry.sdk.resources",
            "opentelemetry.sdk.metrics",
            "opentelemetry.sdk.metrics.export",
            "opentelemetry.sdk.trace",
            "opentelemetry.sdk.trace.export",
            "opentelemetry.trace",
        )
        measuring = [
            readers.PeriodicExportingMetricReader(exporter)
            for exporter in exporters("METRICS", "opentelemetry_metrics_exporter")
        ]
        tracing = [
            processors.BatchSpanProcessor(exporter)
            for exporter in exporters("TRACES", "opentelemetry_traces_exporter")
        ]
        resource = _resource(resources)
        self._meters = metrics.MeterProvider(measuring, resource, shutdown_on_exit=False)
        self._tracers = traces.TracerProvider(resource=resource, shutdown_on_exit=False)
        for processor in tracing:
            self._tracers.add_span_processor(processor)
        self._api = api
        self._tracer = self._tracers.get_tracer("spoor", VERSION)
        meter = self._meters.get_meter("spoor", VERSION)
        observation = import_module("opentelemetry.metrics").Observation

        def observed(name: str) -> Callable[[object], Iterable[Any]]:
            return lambda options: [
                observation(one.value, None if one.shard is None else {"spoor.shard": one.shard})
                for one in read()
                if one.name == name
            ]

        kinds = {True: meter.create_observable_counter, False: meter.create_observable_gauge}
        for one in {one.name: one for one in read()}.values():
            kinds[one.grows](f"spoor.{one.name}", [observed(one.name)], description=one.what)
        self._seconds = meter.create_histogram(
            "http.client.request.duration",
            unit="s",
            description="Time of one download",
            explicit_bucket_boundaries_advisory=list(SECONDS),
        )

    def step(self, download: Download) -> None:
        told: dict[str, Any] = {"http.request.method": "GET", "server.address": download.host}
        if download.kind:
            told["error.type"] = download.kind
        if download.status:
            told["http.response.status_code"] = download.status
        self._seconds.record(download.seconds, told)
        if download.score is not None:
            told |= {"spoor.score": download.score, "spoor.relevant": download.relevant}
        span = self._tracer.start_span(
            "GET",
            kind=self._api.SpanKind.CLIENT,
            start_time=int(download.began * 1e9),
            attributes={**told, "url.full": shown(download.url), "spoor.attempt": download.attempt},
        )
        if download.kind:
            why = shown(download.reason or download.kind)
            span.set_status(self._api.StatusCode.ERROR, why)
        span.end(int((download.began + download.seconds) * 1e9))

    def close(self) -> None:
        self._tracers.force_flush(5_000)
        self._tracers.shutdown()
        self._meters.shutdown(5_000)


def _resource(resources: Any) -> Any:
    told = {"service.version": VERSION}
    named = os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    if not os.environ.get("OTEL_SERVICE_NAME") and "service.name=" not in named:
        told["service.name"] = "spoor"
    return resources.Resource.create(told)


def exporters(kind: str, group: str) -> list[Any]:
    """The exporters that OTEL_`kind`_EXPORTER names. Raises InputError for one that is not
    installed, or does not work as it is set up."""
    variable = f"OTEL_{kind}_EXPORTER"
    made: list[Any] = []
    for name in os.environ.get(variable, "otlp").split(","):
        name = name.strip()
        if name in ("", "none"):
            continue
        found = [
            point for wanted in _spellings(name) for point in entry_points(group=group, name=wanted)
        ]
        if not found:
            how = "pip install opentelemetry-exporter-otlp, or " if name == "otlp" else ""
            raise InputError(
                f"--otel: no exporter {name!r} is installed; {how}set {variable} to console or none"
            )
        told = {"out": sys.stderr} if name == "console" else {}
        try:
            made.append(found[0].load()(**told))
        except Exception as error:  # somebody else's code, by somebody's variables
            raise InputError(f"--otel: the exporter {name!r} cannot be used: {error}") from error
    return made


def _spellings(name: str) -> Sequence[str]:
    """Names of entry points that stand for an exporter: OTLP goes by one of two protocols."""
    if name != "otlp":
        return (name,)
    ways = ["otlp_proto_http", "otlp_proto_grpc"]
    if os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "") == "grpc":
        ways.reverse()
    return (*ways, "otlp")
