"""Traces and metrics of a crawl for OpenTelemetry, by its SDK (extra `metrics`)."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, StatusCode

from spoor.display import shown
from spoor.distribution import VERSION
from spoor.live.metrics import SECONDS, Download, Read
from spoor.live.otel_exporters import exporters, say_once

END_SECONDS = 10.0
"""For what is left at the end of a crawl; a collector may take it a byte at a time."""


class OpenTelemetry:
    """A span for each download, and the counts as metrics, sent where the standard variables say:
    OTEL_TRACES_EXPORTER and OTEL_METRICS_EXPORTER (`otlp`, which is the default, `console` or
    `none`), OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SERVICE_NAME and their like.

    `console` writes to standard error.
    """

    def __init__(self, read: Read) -> None:
        self._say = say_once()
        readers = [
            PeriodicExportingMetricReader(exporter)
            for exporter in exporters("METRICS", "opentelemetry_metrics_exporter")
        ]
        processors = [
            BatchSpanProcessor(exporter)
            for exporter in exporters("TRACES", "opentelemetry_traces_exporter")
        ]
        resource = _resource()
        self._meters = MeterProvider(readers, resource, shutdown_on_exit=False)
        self._tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
        for processor in processors:
            self._tracers.add_span_processor(processor)
        self._tracer = self._tracers.get_tracer("spoor", VERSION)
        meter = self._meters.get_meter("spoor", VERSION)

        def observe(name: str) -> Callable[[CallbackOptions], Iterable[Observation]]:
            return lambda options: [
                Observation(one.value, None if one.shard is None else {"spoor.shard": one.shard})
                for one in read()
                if one.name == name
            ]

        for one in {one.name: one for one in read()}.values():
            create = (
                meter.create_observable_counter if one.counter else meter.create_observable_gauge
            )
            create(f"spoor.{one.name}", [observe(one.name)], description=one.help)
        self._seconds = meter.create_histogram(
            "http.client.request.duration",
            unit="s",
            description="Time of one download",
            explicit_bucket_boundaries_advisory=list(SECONDS),
        )

    def add(self, download: Download) -> None:
        attributes: dict[str, Any] = {
            "http.request.method": "GET",
            "server.address": download.host,
        }
        if download.kind:
            attributes["error.type"] = download.kind
        if download.status:
            attributes["http.response.status_code"] = download.status
        self._seconds.record(download.seconds, attributes)
        if download.score is not None:
            attributes |= {"spoor.score": download.score, "spoor.relevant": download.relevant}
        attributes |= {"url.full": shown(download.url), "spoor.attempt": download.attempt}
        span = self._tracer.start_span(
            "GET",
            kind=SpanKind.CLIENT,
            start_time=int(download.began * 1e9),
            attributes=attributes,
        )
        if download.kind:
            span.set_status(StatusCode.ERROR, shown(download.reason or download.kind))
        span.end(int((download.began + download.seconds) * 1e9))

    def close(self, seconds: float = END_SECONDS) -> None:
        """Send what is left, for so many seconds at most: the SDK waits for its exporters without a
        bound. Their threads end with the process."""
        ends = [
            threading.Thread(target=end, daemon=True) for end in (self._end_spans, self._end_counts)
        ]
        for thread in ends:
            thread.start()
        deadline = time.monotonic() + seconds
        for thread in ends:
            thread.join(max(0.0, deadline - time.monotonic()))
        if any(thread.is_alive() for thread in ends):
            self._say(f"its collector did not take the rest within {seconds:.0f} seconds")

    def _end_spans(self) -> None:
        self._tracers.force_flush(5_000)
        self._tracers.shutdown()

    def _end_counts(self) -> None:
        self._meters.shutdown(5_000)


def _resource() -> Resource:
    attributes = {"service.version": VERSION}
    named = os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    if not os.environ.get("OTEL_SERVICE_NAME") and "service.name=" not in named:
        attributes["service.name"] = "spoor"
    return Resource.create(attributes)
