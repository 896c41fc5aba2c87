"""Metrics of a crawl for Prometheus, by its own client (extra `metrics`)."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    start_http_server,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from spoor.errors import InputError
from spoor.live.metrics import SECONDS, Download, Read


class Prometheus:
    """Serves /metrics in a thread of its own."""

    def __init__(self, read: Read, address: str, port: int) -> None:
        registry = CollectorRegistry()
        registry.register(_CrawlCollector(read))
        ProcessCollector(registry=registry)
        self._failures = Counter(
            "spoor_failures",
            "Links that failed, by kind of failure, since this process began",
            ["kind"],
            registry=registry,
        )
        self._bytes = Counter(
            "spoor_body_bytes", "Bytes of bodies since this process began", registry=registry
        )
        self._seconds = Histogram(
            "spoor_download_seconds", "Time of one download", buckets=SECONDS, registry=registry
        )
        try:
            self._server, self._thread = start_http_server(port, address, registry)
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise InputError(f"--metrics: cannot listen on {address}:{port}: {why}") from error

    def add(self, download: Download) -> None:
        if download.kind:
            self._failures.labels(download.kind).inc()
        else:
            self._bytes.inc(download.size)
            self._seconds.observe(download.seconds)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _CrawlCollector(Collector):
    """The crawl's own metrics, read when Prometheus asks."""

    def __init__(self, read: Read) -> None:
        self._read = read

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        families: dict[str, CounterMetricFamily | GaugeMetricFamily] = {}
        for metric in self._read():
            if metric.name not in families:
                kind = CounterMetricFamily if metric.counter else GaugeMetricFamily
                labels = [] if metric.shard is None else ["shard"]
                name = f"spoor_{metric.name.replace('.', '_')}"
                families[metric.name] = kind(name, metric.help, labels=labels)
            values = [] if metric.shard is None else [str(metric.shard)]
            families[metric.name].add_metric(values, metric.value)
        yield from families.values()
