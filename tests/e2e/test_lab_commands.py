"""`spoor lab run` in processes of its own: cut off, and gone on with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from forked_commands import Command
from spoor.cli.main import run
from spoor.worlds.generated import GeneratedSettings, GeneratedWorld

EXPERIMENT = """
seeds = 3
[[webs]]
path = "web"
[[targets]]
want = ["label:pottery"]
[[targets]]
want = ["label:chess"]
[[policies]]
policy = "best-first"
[[policies]]
policy = "waits"
"""

WAITS = """
import time
from pathlib import Path
from spoor.policies.random import Random

class Waits(Random):
    def __init__(self, task):
        while Path("wait").exists():
            time.sleep(0.01)
        super().__init__(task)
"""
"""A policy whose cells are not over before a file is gone, however quick a machine is."""

PLUG_IN = "policies.waits=waits:Waits"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    GeneratedWorld(GeneratedSettings(pages=400, hosts=2, seed=1)).save(tmp_path / "web")
    (tmp_path / "small.toml").write_text(EXPERIMENT)
    (tmp_path / "waits.py").write_text(WAITS)
    (tmp_path / "wait").touch()
    return tmp_path


def command(here: Path) -> subprocess.Popen[str]:
    told = ["lab", "run", "small.toml", "--out", "out", "--jobs", "2"]
    return Command(
        [sys.executable, "-m", "spoor", *told],
        cwd=here,
        env={**os.environ, "PYTHONPATH": str(here), "SPOOR_PLUG_INS": PLUG_IN},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def cells(here: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in here.glob("out/cells/*.json")}


def group(leader: int) -> list[int]:
    """Processes that are left of a session."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            stat = (path / "stat").read_text().rpartition(") ")[2].split()
        except OSError:
            continue
        if int(stat[3]) == leader and stat[0] != "Z":
            found.append(int(path.name))
    return found


@pytest.mark.skipif(not Path("/proc").exists(), reason="needs /proc to find a worker")
def test_a_worker_that_is_killed_ends_the_run_in_one_line(here: Path) -> None:
    with command(here) as process:
        try:
            until = time.monotonic() + 400
            while not cells(here) and time.monotonic() < until:
                time.sleep(0.02)
            workers = [pid for pid in group(process.pid) if pid != process.pid and spawned(pid)]
            os.kill(workers[0], signal.SIGKILL)
            _, errors = process.communicate(timeout=400)
        finally:
            process.kill()
    assert process.returncode == 1, errors
    assert "Traceback" not in errors
    assert "give the same command to go on" in errors.splitlines()[-1]


def spawned(pid: int) -> bool:
    """Whether a process is a worker, and no keeper of semaphores."""
    return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()


@pytest.mark.skipif(not Path("/proc").exists(), reason="needs /proc to see what is left")
def test_a_run_that_was_cut_goes_on(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with command(here) as process:
        try:
            until = time.monotonic() + 400
            while not cells(here) and time.monotonic() < until:
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=400)
        finally:
            process.kill()
    assert process.returncode == 1, errors
    assert errors.splitlines()[-1] == "spoor: stopped"
    assert "Traceback" not in errors
    until = time.monotonic() + 100
    while group(process.pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert not group(process.pid), "no worker is left"
    kept = cells(here)
    assert 0 < len(kept) < 12
    assert not (here / "out" / "small").exists(), "no report of half an experiment"

    (here / "wait").unlink()
    monkeypatch.chdir(here)
    monkeypatch.syspath_prepend(here)
    monkeypatch.setenv("SPOOR_PLUG_INS", PLUG_IN)
    assert run(["lab", "run", "small.toml", "--out", "out", "--jobs", "1"]) == 0
    assert "report.html" in capsys.readouterr().out
    done = cells(here)
    assert len(done) == 12
    assert {name: done[name] for name in kept} == kept, "what was finished is not run again"
    told = json.loads((here / "out" / "small" / "results.json").read_text("utf-8"))
    assert len(told["rows"]) == 12
    assert all(row["requests"] >= row["fetched"] for row in told["rows"])
