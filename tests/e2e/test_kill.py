"""`spoor crawl` in a process of its own, killed, interrupted, short of room: nothing is lost.

The full tables of these are `benchmarks/kill.py`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from spoor.testing.kills import CountedWeb, check_run, open_run, served

PAGES = 120
IN_FLIGHT = ("--per-host", "4", "--in-flight", "8")


@pytest.fixture(scope="module")
def web() -> Iterator[CountedWeb]:
    with served(PAGES, latency=0.02) as counted:
        yield counted


def finish(web: CountedWeb, path: Path) -> set[str]:
    """Go on to the end, in this process; the pages of the run."""
    run = open_run(path, web.root, web.port)
    try:
        assert run.run() == "no open link left"
    finally:
        run.folder.close()
    return check_run(path)


@pytest.fixture(scope="module")
def whole(web: CountedWeb, tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The pages of a run that nothing disturbs."""
    return finish(web, tmp_path_factory.mktemp("whole") / "run")


def until(process: subprocess.Popen[str], holds: Callable[[], bool]) -> None:
    while not holds():
        assert process.poll() is None, f"it ended before its time: {process.communicate()}"
        time.sleep(0.002)


def start(command: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    )


def asked(web: CountedWeb) -> int:
    return sum(web.asked.values())


def test_kill_9(web: CountedWeb, whole: set[str], tmp_path: Path) -> None:
    command, kills = web.command(tmp_path / "run", *IN_FLIGHT), 3
    rng = np.random.default_rng(5)
    web.asked.clear()
    for _ in range(kills):
        before = asked(web)
        process = start(command)
        until(process, lambda before=before: asked(web) > before + 10 + rng.integers(20))  # type: ignore[misc]
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    assert finish(web, tmp_path / "run") == whole
    assert web.again <= 8 * kills


def test_another_process_goes_through_the_same_states(web: CountedWeb, tmp_path: Path) -> None:
    """Sets and dictionaries of strings are in another order there."""
    command = [sys.executable, "-m", "spoor.testing.kills", str(tmp_path / "run"), web.root]
    for point, order in (("results written", "1"), ("resumed", "2")):
        environment = {**os.environ, "PYTHONHASHSEED": order}
        done = subprocess.run(
            [*command, str(web.port), point, "20" if order == "1" else "1"],
            env=environment,
            check=False,
        )
        assert done.returncode == -signal.SIGKILL
    assert (tmp_path / "run.again").read_text() == (tmp_path / "run.commit").read_text()


def test_signals(web: CountedWeb, whole: set[str], tmp_path: Path) -> None:
    """Once: what is in flight comes in. Twice: it is asked for again when the run goes on."""
    command = [*web.command(tmp_path / "run", *IN_FLIGHT), "--json"]
    web.asked.clear()
    for number, reason in (
        (signal.SIGTERM, "interrupted"),
        (signal.SIGINT, "interrupted"),
        (signal.SIGINT, "aborted"),
    ):
        slow = reason == "aborted"
        before = asked(web)
        process = start(command)
        until(process, lambda before=before: asked(web) > before + 15)  # type: ignore[misc]
        if slow:
            web.going.clear()
            process.send_signal(number)
            time.sleep(0.3)  # two that come at once are one
        process.send_signal(number)
        out, errors = process.communicate(timeout=60)
        web.going.set()
        assert process.returncode == 1, errors
        told = json.loads(out)
        assert told["stopped_because"] == reason
        assert len(check_run(tmp_path / "run")) == told["fetched"]
        assert web.again <= (8 if slow else 0)
    assert finish(web, tmp_path / "run") == whole
    assert web.again <= 8


@pytest.mark.parametrize(
    ("limit", "flags", "message"),
    [
        ("-f 400", (), "paused: cannot write"),
        ("-n 30", ("--in-flight", "60", "--per-host", "60"), "too many open files"),
    ],
)
def test_short_of_room(
    limit: str,
    flags: tuple[str, ...],
    message: str,
    web: CountedWeb,
    whole: set[str],
    tmp_path: Path,
) -> None:
    """As on a full disk: no file may grow beyond 400 KiB; and with few file descriptors."""
    command = web.command(tmp_path / "run", *(flags or IN_FLIGHT))
    shell = ["bash", "-c", f'ulimit {limit} && exec "$@"', "bash", *command]
    done = subprocess.run(shell, check=False, capture_output=True, text=True)
    assert (done.returncode, len(done.stderr.splitlines()[-1:])) == (1, 1), done.stderr
    assert message in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert finish(web, tmp_path / "run") == whole
