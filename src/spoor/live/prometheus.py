"""Metrics of a crawl for Prometheus, by its own client (extra `metrics`)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future

from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from spoor.errors import InputError
from spoor.http.listening import listening
from spoor.live.metrics import SECONDS, Download, Read

MOST_CONNECTIONS = 16
"""Of those who ask, as Prometheus does, once in a while."""


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
        self._registry = registry
        self._loop = asyncio.new_event_loop()
        self._over = asyncio.Event()
        begun = Future[None]()
        self._thread = threading.Thread(
            target=self._run, args=(address, port, begun), name="metrics", daemon=True
        )
        self._thread.start()
        try:
            begun.result()
        except InputError as error:
            self._thread.join()
            raise InputError(f"--metrics: {error}") from None

    def _run(self, address: str, port: int, begun: Future[None]) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve(address, port, begun))

    async def _serve(self, address: str, port: int, begun: Future[None]) -> None:
        try:
            async with listening(self._answer, address, port, most=MOST_CONNECTIONS):
                begun.set_result(None)
                await self._over.wait()
        except InputError as error:
            begun.set_exception(error)

    async def _answer(self, request: web.BaseRequest) -> web.Response:
        if request.path != "/metrics":
            return web.Response(status=404, text="metrics are at /metrics\n")
        text = generate_latest(self._registry)
        return web.Response(body=text, headers={"Content-Type": CONTENT_TYPE_LATEST})

    def add(self, download: Download) -> None:
        if download.kind:
            self._failures.labels(download.kind).inc()
        else:
            self._bytes.inc(download.size)
            self._seconds.observe(download.seconds)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
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
