"""Prometheus and OpenTelemetry: what a crawl tells while it runs, and what it refuses."""

from __future__ import annotations

import gzip
import json
import socket
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from loopback import Asked, Loopback, beside, free_ports, page, reply
from spoor.cli.main import run

pytest.importorskip("prometheus_client", reason="the extra metrics is not installed")
pytest.importorskip("opentelemetry.sdk", reason="the extra metrics is not installed")

SEED = "http://pots.example/"
Capture = pytest.CaptureFixture[str]


def command(port: int, out: Path, *more: str) -> list[str]:
    told = ["crawl", SEED, "--topic", "kiln", "--out", str(out), "--delay", "0", "--json"]
    return [*told, "--connect-to", f"127.0.0.1:{port}", "--in-flight", "1", *more]


def pages(asked: Asked) -> bytes:
    if asked.path == "/":
        return page(
            "/a", "/b?token=secret", "/gone", "/last", text="<title>The kiln</title>a kiln, a kiln"
        )
    if asked.path.startswith(("/a", "/b", "/last")):
        return reply(f"<title>{asked.path[1]}</title>{asked.path[1] * 40}")
    return reply("not here", 404)


def samples(text: str) -> dict[str, float]:
    """By the parser of Prometheus's own client, which refuses what Prometheus would."""
    from prometheus_client.parser import text_string_to_metric_families as families

    return {
        f"{one.name}{''.join(f' {key}={value}' for key, value in one.labels.items())}": one.value
        for family in families(text)
        for one in family.samples
    }


def test_prometheus_reads_a_crawl_that_runs(tmp_path: Path, capsys: Capture) -> None:
    (port,), told = free_ports(), list[str]()

    def answer(asked: Asked) -> bytes:
        if asked.path == "/last":
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=100) as got:
                told.append(got.read().decode())
        return pages(asked)

    server = Loopback(answer)
    with beside(server.serving):
        metrics = ("--metrics", f"127.0.0.1:{port}")
        assert run(command(server.port, tmp_path / "run", "--pages", "9", *metrics)) == 0
        summary = json.loads(capsys.readouterr().out)
        found = samples(told[0])
        assert found["spoor_pages_total"] == found["spoor_download_seconds_count"] == 3
        assert found["spoor_relevant_total"] == summary["found"]
        assert found["spoor_failed_total"] == found["spoor_failures_total kind=absent"] == 1
        assert found["spoor_in_flight"] == 1
        assert found["spoor_open_links"] == 0
        assert found["spoor_budget_pages"] == 9
        assert 0.0 <= found["spoor_loop_hold_seconds"] < 60.0
        assert found["spoor_body_bytes_total"] > 80
        assert found["process_resident_memory_bytes"] > 1e6
        assert found["spoor_download_seconds_bucket le=+Inf"] == 3
        with pytest.raises(OSError, match="refused"):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5)
        # The counts are those of the whole run, also when it goes on.
        again = command(server.port, tmp_path / "run", "--pages", "10", *metrics)
        assert run(again) == 0


def objects(text: str) -> Iterator[Any]:
    decoder, at = json.JSONDecoder(), 0
    while (at := text.find("{", at)) >= 0:
        found, at = decoder.raw_decode(text, at)
        yield found


def test_opentelemetry_has_a_span_for_each_download(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("TRACES", "METRICS"):
        monkeypatch.setenv(f"OTEL_{kind}_EXPORTER", "console")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "pots")
    server = Loopback(pages)
    with beside(server.serving):
        assert run(command(server.port, tmp_path / "run", "--otel")) == 0
    out, err = capsys.readouterr()
    summary = json.loads(out)
    assert (summary["fetched"], summary["failed"]) == (4, 1)
    told = list(objects(err))
    spans = [one for one in told if "span_id" in str(one.get("context"))]
    assert len(spans) == 5
    assert all(span["resource"]["attributes"]["service.name"] == "pots" for span in spans)
    assert all(span["end_time"] >= span["start_time"] for span in spans)
    by_url = {span["attributes"]["url.full"]: span for span in spans}
    assert f"{SEED}b?token=***" in by_url, "secrets are masked"
    assert by_url[f"{SEED}gone"]["status"]["status_code"] == "ERROR"
    assert by_url[f"{SEED}gone"]["attributes"]["http.response.status_code"] == 404
    assert by_url[SEED]["attributes"]["spoor.relevant"] is True
    (scope,) = next(one for one in told if "resource_metrics" in one)["resource_metrics"][0][
        "scope_metrics"
    ]
    metrics = {one["name"]: one["data"]["data_points"] for one in scope["metrics"]}
    assert metrics["spoor.pages"][0]["value"] == 4
    assert metrics["spoor.failed"][0]["value"] == 1
    assert sum(point["count"] for point in metrics["http.client.request.duration"]) == 5


class Collector(ThreadingHTTPServer):
    """Takes OTLP over HTTP on loopback and keeps what it was sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Taking)
        self.told: list[tuple[str, str, bytes]] = []
        """(path, media type, body)"""


class _Taking(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        self.server.told.append((self.path, self.headers["Content-Type"], body))
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        working = Thread(target=server.serve_forever, args=(0.01,))
        working.start()
        try:
            yield server
        finally:
            server.shutdown()
            working.join()


def test_a_collector_is_sent_spans_and_counts(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, collector: Collector
) -> None:
    """OTLP over HTTP, as docs/guides/reports.md sets it up: by the standard variables alone."""
    need = "pip install opentelemetry-exporter-otlp-proto-http"
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason=need)
    traces = import_module("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
    metrics = import_module("opentelemetry.proto.collector.metrics.v1.metrics_service_pb2")
    monkeypatch.delenv("OTEL_TRACES_EXPORTER", raising=False)
    monkeypatch.delenv("OTEL_METRICS_EXPORTER", raising=False)
    place = f"http://127.0.0.1:{collector.server_port}"
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", place)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
    server = Loopback(pages)
    with beside(server.serving):
        assert run(command(server.port, tmp_path / "run", "--otel")) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["fetched"], summary["failed"]) == (4, 1)
    assert {kind for _, kind, _ in collector.told} == {"application/x-protobuf"}
    spans: list[Any] = []
    counts: dict[str, Any] = {}
    for path, _, body in collector.told:
        if path == "/v1/traces":
            for resource in traces.ExportTraceServiceRequest.FromString(body).resource_spans:
                named = {one.key: one.value.string_value for one in resource.resource.attributes}
                assert named["service.name"] == "spoor"
                spans += [span for scope in resource.scope_spans for span in scope.spans]
        else:
            assert path == "/v1/metrics"
            for resource in metrics.ExportMetricsServiceRequest.FromString(body).resource_metrics:
                for scope in resource.scope_metrics:
                    counts |= {metric.name: metric for metric in scope.metrics}
    urls = [
        one.value.string_value for span in spans for one in span.attributes if one.key == "url.full"
    ]
    assert sorted(urls) == sorted(
        [SEED, *(f"{SEED}{name}" for name in ("a", "b?token=***", "gone", "last"))]
    )
    assert counts["spoor.pages"].sum.data_points[0].as_int == 4
    assert (
        sum(point.count for point in counts["http.client.request.duration"].histogram.data_points)
        == 5
    )


REFUSED: dict[str, tuple[list[str], str]] = {
    "no address": (["--metrics", "9464"], "'9464' is not ADDRESS:PORT, as in 127.0.0.1:9464"),
    "no port": (["--metrics", "127.0.0.1:"], "is not ADDRESS:PORT"),
    "a port too many": (["--metrics", "127.0.0.1:70000"], "is not ADDRESS:PORT"),
    "an address of others": (["--metrics", "192.0.2.1:9464"], "cannot listen on 192.0.2.1:9464"),
    "an exporter that is not there": (["--otel"], "no exporter 'pigeons' is installed"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_leaves_nothing_behind(
    case: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "pigeons")
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")
    arguments, message = REFUSED[case]
    assert run(command(9, tmp_path / "run", *arguments)) == 2
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert message in err
    assert not (tmp_path / "run").exists()


def test_a_port_in_use_is_told(tmp_path: Path, capsys: Capture) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        place = f"127.0.0.1:{held.getsockname()[1]}"
        assert run(command(9, tmp_path / "run", "--metrics", place)) == 2
    assert "Address already in use" in capsys.readouterr().err
