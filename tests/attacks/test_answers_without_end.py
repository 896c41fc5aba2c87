"""Servers that the user named, a model's and a webhook's, and judges: none of them holds a run for
ever."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest

from loopback import ADDRESS, Asked, Loopback, beside, page
from spoor.crawl import Crawl
from spoor.errors import InputError
from spoor.frontier.memory import MemoryFrontier
from spoor.http.post import post
from spoor.judges.keywords import Keywords
from spoor.judges.llm import Llm
from spoor.live.deliveries import receivers
from spoor.live.live_crawl import LiveCrawl
from spoor.policies.breadth_first import BreadthFirst
from spoor.runs.reader import Run
from spoor.runs.writer import RunWriter
from spoor.settings import Settings
from spoor.types import Task

INTERIM = b"HTTP/1.1 100 Continue\r\n\r\n"
ANSWERS = {
    "mute": (b"", b""),
    "interim": (b"", INTERIM * 100),
    "head": (b"HTTP/1.1 200 OK\r\nX: ", b"a"),
    "body": (b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b" "),
}


@pytest.fixture
def port(request: pytest.FixtureRequest) -> Iterator[int]:
    """Of a server that begins an answer, and goes on with a part of it each hundredth of a second
    until its client leaves."""
    begin, part = ANSWERS[request.param]
    over = threading.Event()

    def serve() -> None:
        with suppress(OSError):
            asked, _ = server.accept()
            with asked:
                asked.recv(1 << 16)
                asked.sendall(begin)
                while not over.wait(0.01):
                    asked.sendall(part)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        over.set()
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.server
@pytest.mark.parametrize("port", ANSWERS, indirect=True)
def test_an_answer_has_a_bound_of_time_and_bytes(port: int) -> None:
    with pytest.raises((TimeoutError, ValueError), match=r"within 0\.3 s|cannot be read"):
        post(f"http://127.0.0.1:{port}/", b"{}", {}, seconds=0.3, most=1 << 20)


def test_a_name_server_that_says_nothing_holds_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of the look-up was waited for, however long the whole might take."""
    mute = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: mute.wait(20.0))
    began = time.monotonic()
    try:
        with pytest.raises(TimeoutError, match=r"no whole answer within 0\.5 s"):
            post("http://mute.example/", b"{}", {}, seconds=0.5)
        assert time.monotonic() - began < 10.0
    finally:
        mute.set()


@pytest.mark.parametrize(
    "url", ["http://a.example:SECRET/", "https://u:SECRET@:7/", "http://a.example/\nSECRET"]
)
def test_an_address_that_cannot_be_used_is_told_at_once_and_without_its_secret(url: str) -> None:
    with pytest.raises(InputError) as refused:
        receivers("", (url,))
    assert "SECRET" not in str(refused.value)


@pytest.mark.parametrize("path", ["SECRET", "SECRET SECRET", "%zz SECRET"])
def test_what_is_told_of_a_webhook_has_no_secret(path: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    (receiver,) = receivers("", (f"http://user:SECRET@127.0.0.1:{port}/{path}",))
    with pytest.raises(ValueError, match="cannot be reached") as refused:
        receiver.tell(b"{}")
    assert "SECRET" not in f"{receiver.name}{refused.value}"


STUCK = """
import asyncio, threading
import numpy as np
from loopback import ADDRESS, Loopback, page
from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.live import signals
from spoor.live.driver import HttpDriver
from spoor.policies.breadth_first import BreadthFirst
from spoor.settings import Settings
from spoor.types import Task

signals.LAST_GRACE = 0.1
server = Loopback(lambda asked: page("/a"))

class Stuck:
    def judge(self, page):
        print("judging", flush=True)
        threading.Event().wait()

async def go():
    async with server.serving():
        engine = Crawl(BreadthFirst(Task(np.random.default_rng(0))), Stuck(), MemoryFrontier())
        engine.seed(["http://a.example/"])
        one = HttpDriver(engine, Settings(connect_to=f"{ADDRESS}:{server.port}"))
        signals.stop_on_signals(one, lambda: print("stopping", flush=True))
        await one.run()

asyncio.run(go())
"""


@pytest.mark.server
def test_two_signals_end_a_crawl_whose_judge_does_not_come_back() -> None:
    command = [sys.executable, "-c", STUCK]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=-1, stderr=-1, text=True, env=env) as process:
        assert process.stdout is not None
        for said in ("judging\n", "stopping\n"):
            assert process.stdout.readline() == said
            process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60.0)
    assert process.returncode == 130
    assert errors == "spoor: ended in the middle of a page that took too long\n"


@pytest.mark.server
def test_no_answer_outlasts_the_time_of_a_run(tmp_path: Path) -> None:
    """The model begins to answer and never ends. The run ends in time, and goes on later."""
    leaves, waits = threading.Event(), threading.Event()

    def ask(text: str, prompt: str) -> bool:
        if "third" in text:
            waits.set()
            leaves.wait(60.0)
        return True

    def answer(asked: Asked) -> bytes:
        names = {"/": "first", "/2": "second", "/3": "third", "/4": "fourth", "/5": "fifth"}
        return page("/2", "/3", "/4", "/5", text=f"<p>{names.get(asked.path)}")

    def crawl(**more: object) -> tuple[str, float]:
        told = Settings(
            seeds=("http://a.example/",),
            topic="clay",
            policy="breadth-first",
            delay=0.0,
            traps=True,
            connect_to=f"{ADDRESS}:{server.port}",
            **more,  # type: ignore[arg-type]
        )
        policy = BreadthFirst(Task(np.random.default_rng(0)))
        judge = Llm(ask, Keywords(["clay"]), name="model")
        with closing(RunWriter(tmp_path / "run", told)) as folder:
            live = LiveCrawl(folder, Crawl(policy, judge, MemoryFrontier(per_host=1)))
            began = time.monotonic()
            return live.run(), time.monotonic() - began

    server = Loopback(answer)
    with beside(server.serving):
        reason, took = crawl(max_time=3.0)
        assert waits.is_set()
        assert reason == "time is over: 3 s"
        assert took < 10.0
        before = {row.url[-1]: row.relevant for row in Run(tmp_path / "run").pages()}
        assert before == {"/": True, "2": True, "3": False}, "judged by the other judge"
        assert crawl(max_time=60.0)[0] == "no open link left"
    leaves.set()
    after = {row.url[-1]: row.relevant for row in Run(tmp_path / "run").pages()}
    assert after == {**before, "4": True, "5": True}
