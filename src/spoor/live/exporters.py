"""The exporters of metrics that a person asked for."""

from __future__ import annotations

from typing import Protocol

from spoor.distribution import import_extra
from spoor.errors import InputError
from spoor.live.metrics import Download, Read


class Exporter(Protocol):
    """Exports each download of a crawl, once it is durable."""

    def add(self, download: Download) -> None: ...
    def close(self) -> None:
        """Send what is left, and end."""
        ...


def exporters(read: Read, metrics: str, otel: bool) -> list[Exporter]:
    """Those that a person asked for: `metrics` is ADDRESS:PORT, or empty for none.

    Raises InputError where the extra or an exporter is missing, or nobody can listen there.
    """
    made: list[Exporter] = []
    if metrics:
        import_extra("metrics", "an exporter of metrics", "prometheus_client")
        from spoor.live.prometheus import Prometheus

        made.append(Prometheus(read, *address_and_port(metrics)))
    if otel:
        import_extra("metrics", "an exporter of metrics", "opentelemetry.sdk")
        from spoor.live.opentelemetry import OpenTelemetry

        made.append(OpenTelemetry(read))
    return made


def address_and_port(text: str) -> tuple[str, int]:
    """Those of ADDRESS:PORT. Raises InputError for anything else."""
    address, _, port = text.rpartition(":")
    number = int(port) if port.isascii() and port.isdigit() and len(port) <= 5 else 1 << 16
    if not address or number >= 1 << 16:
        raise InputError(f"--metrics {text!r} is not ADDRESS:PORT, as in 127.0.0.1:9464")
    return address.strip("[]"), number
