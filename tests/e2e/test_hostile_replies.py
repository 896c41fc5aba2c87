"""No reply ends a crawl, and a resume never stumbles twice over the same one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import spoor
from loopback import ADDRESS, Asked, Loopback, beside, page, reply
from spoor.cli.main import run
from spoor.isolate import helper_pool

HEAVY = "<b>" * 8 + "<p>x" * 1_000_000
HEAD = b"HTTP/1.1 %s\r\nContent-Length: 2\r\nConnection: close\r\n%s\r\nhi"
ODD = {
    "/reason": HEAD % (b"500 \xff\xfe", b""),
    "/fine-reason": HEAD % (b"200 \xff\xfe\xe4", b"Content-Type: text/html\r\n"),
    "/type": HEAD % (b"200 OK", b"Content-Type: text/\xff\xfe; charset=\xff\r\n"),
    "/location": HEAD % (b"302 \xff", b"Location: /\xff\xfe\xed\xa0\x80\r\n"),
    "/robots-tag": HEAD % (b"200 OK", b"Content-Type: text/html\r\nX-Robots-Tag: \xed\xa0\x80\r\n"),
    "/retry": HEAD % (b"503 \xff", b"Retry-After: \xff\xb2\r\n"),
    "/modified": HEAD % (b"200 OK", b"Content-Type: text/html\r\nLast-Modified: \xff, 99\r\n"),
    "/half-a-pair": reply('{"title": "\\ud800 kiln", "a": "\\ud800"}', media="application/json"),
    "/encoding": HEAD % (b"200 OK", b"Content-Type: text/html\r\nContent-Encoding: \xff\r\n"),
}


def answer(asked: Asked) -> bytes:
    if asked.path == "/":
        return page("/heavy", *ODD, *(f"/good/{number}" for number in range(5)), text="kiln")
    if asked.path == "/heavy":
        return reply(HEAVY)
    if asked.path.startswith("/good/"):
        return page("/more", text=f"kiln {asked.path}")
    return ODD.get(asked.path, reply("not here", 404))


def crawl(path: Path, port: int, pages: int) -> int:
    return run(
        [
            *("crawl", "http://hostile.example/", "--topic", "kiln", "--out", str(path), "--json"),
            *("--connect-to", f"{ADDRESS}:{port}", "--delay", "0", "--pages", str(pages)),
            *("--backoff", "0.1"),
        ]
    )


def test_hostile_replies_are_failures_and_the_crawl_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Loopback(answer)
    with beside(server.serving):
        assert crawl(tmp_path / "run", server.port, 4) == 0
        assert crawl(tmp_path / "run", server.port, 100) == 0
        summary = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert summary["stopped_because"] == "no open link left"
        failures = {failure.url: failure for failure in spoor.open(tmp_path / "run").failures()}
        heavy = failures["http://hostile.example/heavy"]
        assert (heavy.kind, heavy.reason) == ("limit", "parsing it takes over 140 MB")
        assert server.pages.count("/heavy") == 1
        good = [row for row in spoor.open(tmp_path / "run").pages() if "/good/" in row.url]
        assert len(good) == 5
        # What was given up stands in the journal: nothing is parsed again.
        monkeypatch.setattr(helper_pool, "Helper", None)
        assert crawl(tmp_path / "run", server.port, 200) == 0
