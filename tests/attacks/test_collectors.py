"""A collector of OpenTelemetry, which the user named, neither holds a crawl nor fills its memory."""

from __future__ import annotations

import logging
import socket
import threading
from typing import Any

import pytest

pytest.importorskip("opentelemetry.sdk", reason="the extra metrics is not installed")

from spoor.live import opentelemetry, otel_exporters
from spoor.live.metrics import Download


class Mute:
    """An exporter whose server never takes anything."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.asked = threading.Event()

    def export(self, batch: object) -> None:
        self.asked.set()
        self.over.wait(60)

    def shutdown(self) -> None:
        self.over.wait(60)

    def force_flush(self, timeout_millis: int = 0) -> bool:
        return True


def test_a_collector_that_takes_nothing_does_not_hold_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mute = Mute()

    def made(kind: str, group: str) -> list[Any]:
        return [mute] if kind == "TRACES" else []

    monkeypatch.setattr(opentelemetry, "exporters", made)
    told = opentelemetry.OpenTelemetry(list)
    told.add(
        Download("http://pots.example/", "pots.example", 1, 1e9, 0.1, 9, 200, "", "", 1.0, True)
    )
    ended = threading.Thread(target=told.close, args=(0.2,), daemon=True)
    ended.start()
    assert mute.asked.wait(30)
    ended.join(30)
    try:
        assert not ended.is_alive()
    finally:
        mute.over.set()
    assert "did not take the rest" in capsys.readouterr().err


def test_words_of_a_collector_are_printed_as_text_and_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    otel_exporters.say_once()
    logger = logging.getLogger("opentelemetry.exporter.otlp")
    for _ in range(5):
        logger.error("Failed to export %s, reason: %s", "spans", "\x1b]0;PWN\x07RED" + "x" * 9_000)
    for number in range(50):
        logger.error(f"another {number}")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == otel_exporters.MOST_SAID
    assert lines[0].startswith("--otel: Failed to export spans, reason: �]0;PWN�REDxxx")
    assert all(line.isprintable() and len(line) < 400 for line in lines)


def test_no_body_of_a_collectors_answer_is_read() -> None:
    """It has no end, and a redirect leads nowhere."""
    pytest.importorskip("requests", reason="no exporter over HTTP is installed")
    listening = socket.create_server(("127.0.0.1", 0))
    sent = list[int]()

    def answer() -> None:
        for status in (b"200 OK", b"307 Elsewhere\r\nLocation: http://127.0.0.1:1/"):
            at, _ = listening.accept()
            with at:
                at.settimeout(30)
                while not at.recv(65_536).endswith(b"spans"):
                    pass
                at.sendall(b"HTTP/1.1 " + status + b"\r\n\r\n")
                count = 0
                try:
                    while count < 1 << 28:
                        count += at.send(b"x" * 65_536)
                except OSError:
                    pass
                sent.append(count)

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    session = otel_exporters._session()
    url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1/traces"
    answers = [session.post(url, data=b"spans", timeout=30) for _ in range(2)]
    assert [(one.status_code, one.content) for one in answers] == [(200, b""), (307, b"")]
    thread.join(30)
    listening.close()
    assert len(sent) == 2
    assert max(sent) < 1 << 26
