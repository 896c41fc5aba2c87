"""What a crawl tells those who watch many programs: Prometheus, and OpenTelemetry.

Both are asked for, need the extra `metrics`, and only read: nothing of a crawl goes by them. What
they say of one page they say after it is committed.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from importlib.metadata import entry_points, version
from typing import Any, Protocol

from spoor.crawl import Crawl
from spoor.display import shown
from spoor.errors import InputError
from spoor.types import Deferred, Failed, Fetch, Fetched, Outcome

SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""Ends of the bins of downloads' times."""

COUNTERS = {
    "pages": "Pages fetched in this run",
    "relevant": "Pages of this run that are wanted",
    "failed": "Links of this run that brought no page",
    "skipped": "Links that were chosen and passed over",
    "requests": "Requests of this run, retries and redirects included",
}
GAUGES: dict[str, tuple[str, Callable[[Crawl], float]]] = {
    "open_links": ("Links that may be chosen", lambda crawl: crawl.frontier.open_count),
    "in_flight": ("Links that were chosen and are waited for", lambda crawl: crawl.in_flight),
    "budget_pages": ("Pages that the run may fetch; 0: no limit", lambda crawl: crawl.pages or 0),
}


class Watcher(Protocol):
    """Hears of each step of a crawl, once it is safe."""

    def step(self, fetch: Fetch, step: Outcome | Deferred) -> None: ...
    def close(self) -> None:
        """Send what is left, and end."""
        ...


def watchers(crawl: Crawl, metrics: str, otel: bool) -> list[Watcher]:
    """Those that a person asked for: `metrics` is ADDRESS:PORT, or empty for none.

    Raises InputError where the extra or an exporter is missing, or nobody can listen there.
    """
    made: list[Watcher] = []
    if metrics:
        made.append(Prometheus(crawl, *listening(metrics)))
    if otel:
        made.append(Telemetry(crawl))
    return made


def listening(place: str) -> tuple[str, int]:
    """Address and port of ADDRESS:PORT. Raises InputError for anything else."""
    address, _, port = place.rpartition(":")
    number = int(port) if port.isascii() and port.isdigit() and len(port) <= 5 else 1 << 16
    if not address or number >= 1 << 16:
        raise InputError(f"--metrics {place!r} is not ADDRESS:PORT, as in 127.0.0.1:9464")
    return address.strip("[]"), number


def _extra(*names: str) -> list[Any]:
    try:
        return [import_module(name) for name in names]
    except ImportError as error:
        raise InputError("metrics need an extra: pip install 'spoor[metrics]'") from error


# ---------------------------------------------------------------- Prometheus


class Prometheus:
    """Serves /metrics in a thread of its own."""

    def __init__(self, crawl: Crawl, address: str, port: int) -> None:
        (client, core) = _extra("prometheus_client", "prometheus_client.core")
        registry = client.CollectorRegistry()
        registry.register(_Counts(crawl, core))
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

    def step(self, fetch: Fetch, step: Outcome | Deferred) -> None:
        if isinstance(step, Deferred):
            return
        if isinstance(step.reply, Failed):
            self._failures.labels(step.reply.kind).inc()
        else:
            self._bytes.inc(step.reply.size)
            self._seconds.observe(step.reply.seconds)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Counts:
    """The crawl's own counts, read when somebody asks."""

    def __init__(self, crawl: Crawl, core: Any) -> None:
        self._crawl = crawl
        self._core = core

    def collect(self) -> Iterator[Any]:
        core, counts = self._core, self._crawl.counts
        for name, what in COUNTERS.items():
            yield core.CounterMetricFamily(f"spoor_{name}", what, value=getattr(counts, name))
        for name, (what, read) in GAUGES.items():
            yield core.GaugeMetricFamily(f"spoor_{name}", what, value=read(self._crawl))


# ---------------------------------------------------------------- OpenTelemetry


class Telemetry:
    """A span for each download, and the counts as metrics, sent where the standard variables say:
    OTEL_TRACES_EXPORTER and OTEL_METRICS_EXPORTER (`otlp`, which is the default, `console` or
    `none`), OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SERVICE_NAME and their like.

    `console` writes to standard error.
    """

    def __init__(self, crawl: Crawl) -> None:
        (resources, metrics, readers, traces, processors, api) = _extra(
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
        self._tracer = self._tracers.get_tracer("spoor", version("spoor"))
        meter = self._meters.get_meter("spoor", version("spoor"))
        observation = import_module("opentelemetry.metrics").Observation

        def observed(read: Callable[[Crawl], float]) -> Callable[[object], Iterable[Any]]:
            return lambda options: [observation(read(crawl))]

        def count(name: str) -> Callable[[Crawl], float]:
            return lambda crawl: getattr(crawl.counts, name)

        for name, what in COUNTERS.items():
            counted = observed(count(name))
            meter.create_observable_counter(f"spoor.{name}", [counted], description=what)
        for name, (what, read) in GAUGES.items():
            value = observed(read)
            meter.create_observable_gauge(f"spoor.{name}", [value], description=what)
        self._seconds = meter.create_histogram(
            "http.client.request.duration",
            unit="s",
            description="Time of one download",
            explicit_bucket_boundaries_advisory=list(SECONDS),
        )

    def step(self, fetch: Fetch, step: Outcome | Deferred) -> None:
        if isinstance(step, Deferred):
            return
        reply = step.reply
        told: dict[str, Any] = {"http.request.method": "GET", "server.address": fetch.host}
        began = time.time() - reply.seconds
        if isinstance(reply, Fetched):
            began = reply.page.fetched_at or began
            told["http.response.status_code"] = reply.page.status
        else:
            told["error.type"] = reply.kind
            if reply.status:
                told["http.response.status_code"] = reply.status
        self._seconds.record(reply.seconds, told)
        if step.judgement is not None:
            told |= {"spoor.score": step.judgement.score, "spoor.relevant": step.judgement.relevant}
        span = self._tracer.start_span(
            "GET",
            kind=self._api.SpanKind.CLIENT,
            start_time=int(began * 1e9),
            attributes={**told, "url.full": shown(fetch.url), "spoor.attempt": fetch.attempt},
        )
        if isinstance(reply, Failed):
            span.set_status(self._api.StatusCode.ERROR, shown(reply.reason or reply.kind))
        span.end(int((began + reply.seconds) * 1e9))

    def close(self) -> None:
        self._tracers.force_flush(5_000)
        self._tracers.shutdown()
        self._meters.shutdown(5_000)


def _resource(resources: Any) -> Any:
    told = {"service.version": version("spoor")}
    named = os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    if not os.environ.get("OTEL_SERVICE_NAME") and "service.name=" not in named:
        told["service.name"] = "spoor"
    return resources.Resource.create(told)


def exporters(kind: str, group: str) -> list[Any]:
    """The exporters that OTEL_`kind`_EXPORTER names. Raises InputError for one that is not
    installed."""
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
        made.append(found[0].load()(**({"out": sys.stderr} if name == "console" else {})))
    return made


def _spellings(name: str) -> Sequence[str]:
    """Names of entry points that stand for an exporter: OTLP goes by one of two protocols."""
    if name != "otlp":
        return (name,)
    ways = ["otlp_proto_http", "otlp_proto_grpc"]
    if os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "") == "grpc":
        ways.reverse()
    return (*ways, "otlp")
