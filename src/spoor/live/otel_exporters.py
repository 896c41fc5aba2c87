"""Exporters of OpenTelemetry, as its standard variables name them, within bounds.

A collector is a server of somebody: nothing of its answers is read but the status, and what the
exporters say of them is printed as text, once.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from inspect import signature
from io import BytesIO
from typing import Any

from spoor.display import shown
from spoor.errors import InputError

LOGGER = "opentelemetry"
"""The SDK and its exporters log below it."""
MOST_SAID = 10
"""Different messages that are printed."""
_LONGEST = 300


def exporters(kind: str, group: str) -> list[Any]:
    """The exporters that OTEL_`kind`_EXPORTER names. Raises InputError for one that is not
    installed, or does not work as it is set up."""
    variable = f"OTEL_{kind}_EXPORTER"
    made: list[Any] = []
    for name in os.environ.get(variable, "otlp").split(","):
        name = name.strip()
        if name in ("", "none"):
            continue
        points = [
            point for entry in _entries_of(name) for point in entry_points(group=group, name=entry)
        ]
        if not points:
            how = "pip install opentelemetry-exporter-otlp, or " if name == "otlp" else ""
            raise InputError(
                f"--otel: no exporter {name!r} is installed; {how}set {variable} to console or none"
            )
        arguments: dict[str, Any] = {"out": sys.stderr} if name == "console" else {}
        try:
            make = points[0].load()
            if "session" in signature(make).parameters and not _has_credentials():
                arguments["session"] = _session()
            made.append(make(**arguments))
        except Exception as error:  # somebody else's code, by somebody's variables
            raise InputError(f"--otel: the exporter {name!r} cannot be used: {error}") from error
    return made


def _entries_of(name: str) -> Sequence[str]:
    """Entry points of an exporter: OTLP has two protocols."""
    if name != "otlp":
        return (name,)
    protocols = ["otlp_proto_http", "otlp_proto_grpc"]
    if os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "") == "grpc":
        protocols.reverse()
    return (*protocols, "otlp")


def _has_credentials() -> bool:
    """Whether a variable names a session of the user's own."""
    return any(name.endswith("_CREDENTIAL_PROVIDER") for name in os.environ)


def _session() -> Any:
    """A session of `requests` that reads no body of an answer, however long it is unpacked."""
    import requests

    class WithoutBodies(requests.Session):
        def get_redirect_target(self, resp: Any) -> None:
            return None

        def send(self, request: Any, **kwargs: Any) -> Any:
            answer = super().send(request, **{**kwargs, "stream": True})
            answer.raw.close()
            answer.raw = BytesIO()
            return answer

    return WithoutBodies()


class _Once(logging.Handler):
    """Prints each message once, fit for a terminal: it may hold words of a server."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._said = set[str]()

    def emit(self, record: logging.LogRecord) -> None:
        text = shown(record.getMessage())[:_LONGEST]
        if record.msg not in self._said and len(self._said) < MOST_SAID:
            self._said.add(str(record.msg))
            sys.stderr.write(f"--otel: {text}\n")


def say_once() -> Callable[[str], None]:
    """Print what the SDK and its exporters log, each message once; returns what prints another."""
    logger = logging.getLogger(LOGGER)
    for handler in [one for one in logger.handlers if isinstance(one, _Once)]:
        logger.removeHandler(handler)
    logger.addHandler(_Once())
    return logging.getLogger(f"{LOGGER}.spoor").warning
