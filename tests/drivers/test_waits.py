"""A crawl that waits says for which host, why, and until when."""

from __future__ import annotations

import asyncio
import math
import re
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path

import pytest

from kills import open_run
from loopback import MISSING, Asked, Loopback, beside, page, reply
from spoor.cli import live_screen
from spoor.clock import CrawlClock
from spoor.live import labels_and_stops
from spoor.live import live_crawl as run_module
from spoor.live.driver import GRACE
from spoor.live.waits import Request, Wait, waits_for
from spoor.runs.stop_request import request_stop
from spoor.types import Deferred, Fetch, Outcome
from spoor.views.live_page import LivePage

NOW = 1_700_000_000.0
HELD = "held.example"
STILL = 2.0


class DrivenClock(CrawlClock):
    """Goes on where a test says so."""

    def __init__(self) -> None:
        self.at = NOW

    def __call__(self) -> float:
        return self.at


async def silence() -> AsyncIterator[bytes]:
    await asyncio.Event().wait()
    yield b""


def day(when: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(when))


@pytest.mark.parametrize(
    ("robots", "answer", "until", "why"),
    [
        (MISSING, silence, 30.0, r"asked at [\d:]{8}, no answer yet; it is given up then"),
        (silence, silence, 30.0, r"asked at [\d:]{8}, no answer yet; it is given up then"),
        (
            MISSING,
            reply("", 503, Retry_After="600"),
            600.0,
            "503 Service Unavailable; then it is asked again",
        ),
        (
            reply("", 500),
            silence,
            5.0,
            r"robots.txt could not be had \(status 500\), so all is forbidden; then it is asked again",
        ),
    ],
)
def test_the_host_that_holds_a_crawl_up_is_named(
    robots: bytes | Callable[[], AsyncIterator[bytes]],
    answer: bytes | Callable[[], AsyncIterator[bytes]],
    until: float,
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Beside a good host, over real HTTP: on plain lines and on the panel."""
    monkeypatch.setattr(labels_and_stops, "LISTEN_SECONDS", 0.02)
    monkeypatch.setattr(run_module, "STILL", STILL)
    monkeypatch.setattr(live_screen, "PLAIN_EVERY", 0.0)
    monkeypatch.setattr(live_screen._Panel, "_draw", lambda self: None)
    clock, held = DrivenClock(), threading.Event()
    waits: list[Wait] = []
    shown: list[str] = []

    def answers(asked: Asked) -> bytes | AsyncIterator[bytes]:
        if asked.host != HELD:
            pages = {"/": page("/a", "/b", f"http://{HELD}/"), "/a": page(), "/b": page()}
            return pages.get(asked.path, MISSING)
        told = robots if asked.path == "/robots.txt" else answer
        if isinstance(told, bytes):
            return told
        held.set()
        return told()

    server = Loopback(answers)
    with beside(server.serving):
        run = open_run(tmp_path, "http://good.example/", server.port, pages=600, sitemaps=False)
        run.now = clock
        plain = live_screen._Plain(run.crawl, lambda: None)
        panel = live_screen._Panel(run.crawl, lambda: None)

        def step(fetch: Fetch, step: Outcome | Deferred) -> None:
            plain.step(fetch, step)
            if isinstance(step, Deferred):
                held.set()

        def second(wait: Wait | None) -> None:
            if waits:
                return
            if wait is not None:
                waits.append(wait)
                with closing(LivePage(tmp_path, "token", wait=100.0)) as live:
                    shown.append(live.news({})["says"])
                plain.second(wait)
                panel.second(wait)
                request_stop(tmp_path)
            elif run.crawl.counts.pages == 3 and held.is_set():
                clock.at = NOW + STILL

        def interrupt() -> None:
            clock.at += GRACE

        run.on_second, run.on_step, run.on_interrupt = second, step, interrupt
        try:
            assert run.run() == "interrupted"
        finally:
            run.folder.close()
    assert (waits[0].host, waits[0].others) == (HELD, 0)
    assert NOW + until - STILL <= waits[0].until <= NOW + until + STILL
    assert re.fullmatch(why, waits[0].why)
    assert f"; {waits[0].words(NOW)}" in shown[0], "spoor ui says it too"
    with closing(LivePage(tmp_path, "token", wait=100.0)) as live:
        assert "waiting" not in live.news({})["says"], "no more"
    said = capsys.readouterr().err.splitlines()
    line = next(line for line in said if "waiting for" in line)
    assert line.startswith("3 of 600 pages, found 0, failed 0; waiting for held.example until ")
    assert line.endswith(waits[0].why)
    assert "to go" not in line
    assert dict(panel._rows)["crawl"] == line


def waits(**given: object) -> Wait | None:
    usual = {"requests": (), "deferred": (), "hosts": (), "delay": lambda host: 2.0}
    return waits_for(**(usual | given), timeout=30.0, now=NOW)  # type: ignore[arg-type]


def test_what_goes_on_first_is_named() -> None:
    assert waits() is None
    again = Deferred(0, "http://b.example/", NOW + 20, "no reply in time")
    hosts = [("a.example", 7, 0, NOW + 60), ("b.example", 0, 0, NOW), ("c.example", 3, 0, NOW)]
    wait = waits(deferred=[again], hosts=hosts)
    assert wait == Wait("b.example", "no reply in time; then it is asked again", NOW + 20, 1)
    # c.example is free and holds nobody up. A host that was asked again waits for its answer.
    wait = waits(deferred=[again], hosts=hosts, requests=[Request("b.example", NOW - 29)])
    assert wait is not None
    assert (wait.host, wait.until, wait.others) == ("b.example", NOW + 1, 1)
    # An answer that comes before its host is free helps nobody.
    held = [("b.example", 0, 0, NOW + 90)]
    assert waits(deferred=[again], hosts=held) == Wait("b.example", wait_why(again), NOW + 90)
    assert waits(hosts=[("a.example", 7, 1, NOW + 60)]) is None, "it is asked already"


def wait_why(step: Deferred) -> str:
    return f"{step.reason}; then it is asked again"


def test_a_delay_is_told_from_a_pause() -> None:
    assert waits(hosts=[("a.example", 7, 0, NOW + 2)]) == Wait(
        "a.example", "one request in 2 s", NOW + 2
    )
    paused = waits(hosts=[("a.example", 7, 0, NOW + 300)])
    assert paused is not None
    assert paused.why.startswith("it failed, asked for a pause, or its links are passed over")
    turn = waits(requests=[Request("a.example", None)])
    assert turn == Wait("a.example", "one request in 2 s", math.inf)
    assert turn.words(NOW) == "waiting for a.example: one request in 2 s"
    read = waits(requests=[Request("a.example", None)], delay=lambda host: 0.0)
    assert read is not None
    assert read.why == "its answer is being read"


def test_a_wait_says_the_day_where_it_is_another_one() -> None:
    soon = Wait("a.example", "so", NOW + 60, 2).words(NOW)
    assert soon == f"waiting for a.example until {day(NOW + 60)}: so (and for 2 other hosts)"
    late = Wait("\x1b[2Ja.example", "[/red]\x1b", NOW + 90_000).words(NOW)
    date = time.strftime("%Y-%m-%d", time.localtime(NOW + 90_000))
    assert f" until {date} {day(NOW + 90_000)}: [/red]" in late
    assert "\x1b" not in late
