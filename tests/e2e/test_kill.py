"""`spoor crawl` in a process of its own, killed, interrupted, short of room: nothing is lost.

The full tables of these are `benchmarks/kill.py`.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from resource import RLIMIT_FSIZE, RLIMIT_NOFILE, getrlimit

import numpy as np
import pytest

import kills as killed_runs
from forked_commands import Command
from forked_commands import run as run_command
from kills import STANDS_STILL, CountedWeb, check_run, open_run, served
from spoor.cli.main import run as spoor
from spoor.crawl import Crawl
from spoor.errors import PausedError
from spoor.runs.schema import FORMAT
from spoor.runs.writer import RunWriter

PAGES = 120
IN_FLIGHT = ("--per-host", "4", "--in-flight", "8")


@pytest.fixture(scope="module")
def web() -> Iterator[CountedWeb]:
    with served(PAGES, latency=0.02) as counted:
        yield counted


def finish(web: CountedWeb, path: Path, policy: str = "trail") -> set[str]:
    """Go on to the end, in this process; the pages of the run."""
    run = open_run(path, web.root, web.port, policy=policy)
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
    end = time.monotonic() + STANDS_STILL
    while not holds():
        assert process.poll() is None, f"it ended before its time: {process.communicate()}"
        assert time.monotonic() < end, "it stands still"
        time.sleep(0.002)


@contextmanager
def started(web: CountedWeb, command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A process that is killed where the block ends, however that ends, and at the latest once it is taken to
    stand still: what waits for a line of it then has the end of the file."""
    process = Command(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    late = threading.Timer(2 * STANDS_STILL, process.kill)
    late.start()
    try:
        yield process
    finally:
        late.cancel()
        web.going.set()
        if process.poll() is None:
            process.kill()
            process.communicate()


def asked(web: CountedWeb) -> int:
    return sum(web.asked.values())


@pytest.mark.parametrize("frontier", ["memory", "disk"])
def test_kill_9(frontier: str, web: CountedWeb, whole: set[str], tmp_path: Path) -> None:
    command = web.command(tmp_path / "run", *IN_FLIGHT, "--frontier", frontier)
    kills = 2
    rng = np.random.default_rng(5)
    web.asked.clear()
    for _ in range(kills):
        before = asked(web)
        with started(web, command) as process:
            until(process, lambda before=before: asked(web) > before + 10 + rng.integers(20))  # type: ignore[misc]
        assert process.returncode == -signal.SIGKILL
    assert finish(web, tmp_path / "run") == whole
    assert web.again <= 8 * kills


def test_another_process_goes_through_the_same_states(web: CountedWeb, tmp_path: Path) -> None:
    """Sets and dictionaries of strings are in another order there."""
    command = [sys.executable, killed_runs.__file__, str(tmp_path / "run"), web.root]
    for point, order in (("results written", "1"), ("resumed", "2")):
        environment = {**os.environ, "PYTHONHASHSEED": order}
        done = subprocess.run(
            [*command, str(web.port), point, "20" if order == "1" else "1"],
            env=environment,
            check=False,
            timeout=2 * STANDS_STILL,
        )
        assert done.returncode == -signal.SIGKILL
    assert (tmp_path / "run.again").read_text() == (tmp_path / "run.commit").read_text()


def test_signals(web: CountedWeb, whole: set[str], tmp_path: Path) -> None:
    """Once: what is in flight comes in. Twice: it is asked for again when the run goes on."""
    command = web.command(tmp_path / "run", *IN_FLIGHT)
    web.asked.clear()
    for number, reason in (
        (signal.SIGTERM, "interrupted"),
        (signal.SIGINT, "interrupted"),
        (signal.SIGINT, "aborted"),
    ):
        slow = reason == "aborted"
        before = asked(web)
        with started(web, command if slow else [*command, "--json"]) as process:
            until(process, lambda before=before: asked(web) > before + 15)  # type: ignore[misc]
            if slow:
                web.going.clear()
                held = asked(web)  # what is asked from here on gets no answer
                until(process, lambda held=held: asked(web) > held)  # type: ignore[misc]
                process.send_signal(number)
                # Two that come at once are one: it says when it has taken the first.
                assert process.stderr is not None
                assert any("stopping: " in line for line in process.stderr)
            process.send_signal(number)
            out, errors = process.communicate(timeout=60)
        assert process.returncode == 1, errors
        pages = len(check_run(tmp_path / "run"))
        assert slow or json.loads(out)["fetched"] == pages
        assert slow or json.loads(out)["stopped_because"] == reason
        assert not slow or reason in out
        assert web.again <= (8 if slow else 0)
    assert finish(web, tmp_path / "run") == whole
    assert web.again <= 8


@pytest.mark.parametrize(
    ("limit", "flags", "message"),
    [
        ((RLIMIT_FSIZE, 200 << 10), (), "paused: cannot write"),
        ((RLIMIT_NOFILE, 30), ("--in-flight", "60", "--per-host", "60"), "too many open files"),
    ],
    ids=["a small file", "few descriptors"],
)
def test_short_of_room(
    limit: tuple[int, int],
    flags: tuple[str, ...],
    message: str,
    web: CountedWeb,
    whole: set[str],
    tmp_path: Path,
) -> None:
    """As on a full disk: no file may grow beyond 200 KiB; and with few file descriptors."""
    command = web.command(tmp_path / "run", *(flags or IN_FLIGHT))
    which, most = limit
    done = run_command(command, limits={which: (most, most)}, timeout=2 * STANDS_STILL)
    assert (done.returncode, len(done.stderr.splitlines()[-1:])) == (1, 1), done.stderr
    assert message in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert finish(web, tmp_path / "run") == whole


def test_128_descriptors_are_too_few_for_many_hosts(tmp_path: Path) -> None:
    """Hosts that take their time: it pauses with a line, and goes on with nothing lost."""
    path, pages, hosts, policy = tmp_path / "run", 250, 100, "breadth-first"
    with served(pages, hosts=hosts) as web:
        whole = finish(web, tmp_path / "whole", policy)
    with served(pages, hosts=hosts, latency=2.0) as slow:
        many = ("--per-host", "8", "--in-flight", "400", "--policy", policy)
        few = {RLIMIT_NOFILE: (128, 128)}
        done = run_command(slow.command(path, *many), limits=few, timeout=2 * STANDS_STILL)
    assert done.returncode == 1, done.stderr
    assert "too many open files" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    before = check_run(path)
    assert 0 < len(before) < len(whole)
    with served(pages, hosts=hosts) as web:
        assert finish(web, path, policy) == whole
        assert not before & web.asked.keys(), "what had come is not asked for again"


def test_few_descriptors_are_raised_where_the_system_allows_it(tmp_path: Path) -> None:
    """Some systems begin at 256; hosts that do not answer hold eight times as many as `--in-flight`
    says, so that whoever had some could pause a crawl."""
    with served(60, hosts=60, latency=0.5) as slow:
        command = slow.command(tmp_path / "run", "--per-host", "8", "--in-flight", "400")
        soft = {RLIMIT_NOFILE: (30, getrlimit(RLIMIT_NOFILE)[1])}
        done = run_command(command, limits=soft, timeout=2 * STANDS_STILL)
    assert done.returncode == 0, done.stderr


def in_own_mounts(script: str, *command: str) -> subprocess.CompletedProcess[str]:
    """A command after some mounts that nobody else sees; skips where that is not allowed."""
    if shutil.which("unshare") is None:
        pytest.skip("no unshare to mount a file system with")
    if subprocess.run(
        ["unshare", "-rm", "mount", "-t", "tmpfs", "x", "/mnt"], check=False
    ).returncode:
        pytest.skip("no file system may be mounted here")
    shell = ["unshare", "-rm", "bash", "-ec", f'{script}; "$@"', "bash", *command]
    return subprocess.run(
        shell, check=False, capture_output=True, text=True, timeout=2 * STANDS_STILL
    )


def test_a_folder_that_became_read_only(web: CountedWeb, whole: set[str], tmp_path: Path) -> None:
    path = tmp_path / "run"
    command = web.command(path, *IN_FLIGHT)
    new = in_own_mounts(f"mount --bind -o ro {tmp_path} {tmp_path}", *command)
    assert (new.returncode, new.stdout) == (2, "")
    assert f"cannot write the run folder {path}: Read-only file system" in new.stderr
    web.asked.clear()
    with started(web, command) as process:
        until(process, lambda: asked(web) > 30)
    for _ in range(2):  # during the first, the server may still read what the killed one had sent
        before = asked(web)
        old = in_own_mounts(f"mount --bind -o ro {path} {path}", *command)
    assert (old.returncode, len(old.stderr.splitlines())) == (1, 1), old.stderr
    assert "paused: cannot write" in old.stderr
    assert "Read-only file system" in old.stderr
    assert asked(web) == before, "nothing was asked of anybody"
    assert finish(web, path) == whole


def test_a_disk_that_is_full(web: CountedWeb, whole: set[str], tmp_path: Path) -> None:
    """A real one, of half a megabyte; what came onto it is taken to a larger one."""
    path, kept = tmp_path / "small" / "run", tmp_path / "run"
    (tmp_path / "small").mkdir()
    full = in_own_mounts(
        f"mount -t tmpfs -o size=500k tmpfs {tmp_path}/small; trap 'cp -r {path} {kept}' EXIT",
        *web.command(path, *IN_FLIGHT),
    )
    assert full.returncode == 1, full.stderr
    assert "paused: cannot write" in full.stderr.splitlines()[-1]
    assert "Traceback" not in full.stderr
    assert finish(web, kept) == whole


@pytest.mark.parametrize("point", ["commit begun", "warc synced"])
def test_a_folder_that_becomes_read_only_on_the_way(
    web: CountedWeb, whole: set[str], tmp_path: Path, point: str
) -> None:
    path, seen = tmp_path / "run", list[str]()

    def at(reached: str, crawl: Crawl) -> None:
        seen.append(reached)
        if reached == point and seen.count(point) == 5:
            (_no_archive if point == "commit begun" else _no_database)(run.folder)

    run = open_run(path, web.root, web.port, at=at)
    try:
        with pytest.raises(PausedError, match="paused: cannot write"):
            run.run()
    finally:
        run.folder.close()
    assert finish(web, path) == whole


def _no_archive(folder: RunWriter) -> None:
    """What is written to it fails, in the operating system."""
    assert folder._warc is not None
    with (folder.path / "spoor.toml").open("rb") as read_only:
        os.dup2(read_only.fileno(), folder._warc._file.fileno())


def _no_database(folder: RunWriter) -> None:
    """What is written to it fails, in SQLite."""
    folder._db.execute("PRAGMA query_only=ON")


def test_refusals_are_told_at_once(
    web: CountedWeb, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run"
    run = open_run(path, web.root, web.port, pages=20)
    run.run()
    held = run_command(web.command(path), timeout=2 * STANDS_STILL)
    assert (held.returncode, "in use by another process" in held.stderr) == (2, True)
    run.folder.close()
    before = asked(web)
    toml = (path / "spoor.toml").read_text()
    for said, harm, more in (
        ("was begun with policy = 'trail', not 'random'", "", ("--policy", "random")),
        ("is of run format 99", "99", ()),
    ):
        if harm:
            (path / "spoor.toml").write_text(
                toml.replace(f"format = {FORMAT}\n", f"format = {harm}\n")
            )
        assert spoor(web.command(path, *more)[3:]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert said in line
    assert asked(web) == before, "nothing was asked of anybody"
