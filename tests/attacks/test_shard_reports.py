"""What a worker of a cluster reports, whose machine may have another version of Spoor, or a fault."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from spoor.errors import PausedError
from spoor.integrations.ray import cluster, driver
from spoor.integrations.ray.driver import Progress, _Driver
from spoor.integrations.ray.reports import misfit_of
from spoor.settings import Settings
from spoor.sharding.coordinator import Coordinator

REPORT: dict[str, Any] = {
    **dict.fromkeys(("pages", "relevant", "failed", "skipped", "requests", "grant"), 0),
    **dict.fromkeys(("in_flight", "open", "waiting", "posted", "entered", "pauses", "hosts"), 0),
    **dict.fromkeys(("cpu", "busy", "loop_hold"), 0.0),
    "expects": {1: 0},
    "links": {1: (0, 1, 1, b"x")},
    "bytes": {"grant": 0, "used": 0, "wanted": 0},
    "verdicts": [],
    "downloads": [],
    "fault": "",
    "model": None,
}
OTHERS: list[Any] = [
    None,
    "x",
    -0.5,
    [[]],
    {"a": None},
    {1: None},
    {1: (0, 1, "x", None)},
    (1, 2),
]


def driver_of(path: Path, report: Any) -> _Driver:
    class Error(Exception):
        pass

    errors = SimpleNamespace(RayTaskError=Error, RayActorError=Error, WorkerCrashedError=Error)
    actor = SimpleNamespace(options=lambda **_: SimpleNamespace(remote=lambda: None))
    ray = SimpleNamespace(
        remote=lambda **_: lambda kind: actor, get=lambda reference: report, exceptions=errors
    )
    coordinator, settings = Coordinator(2, 100), Settings(pages=100, shards=2)
    its = _Driver(ray, path, settings, coordinator, Progress(coordinator), ())
    its._pending[1] = (0, "turn")
    return its


def test_a_report_is_read(tmp_path: Path) -> None:
    its = driver_of(tmp_path, dict(REPORT))
    its._receive(1)
    assert its._fault is None
    assert its._coordinator.reason is None


def test_turns_come_sooner_where_the_crawl_is_nearly_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "time", SimpleNamespace(monotonic=lambda: 100.0))
    waits = []
    for over, links in ((False, 3), (True, 3), (True, 3_000)):
        its = driver_of(tmp_path, REPORT | {"open": links, "grant": 9})
        its._coordinator.nearly_over = over
        its._receive(1)
        waits.append(its._next[0] - 100.0)
    assert waits[1] < waits[0] == waits[2]


@pytest.mark.parametrize("over", [True, False])
def test_a_shard_that_hangs_holds_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, over: bool
) -> None:
    """As one that was stopped (SIGSTOP), or whose disk does not answer."""
    its = driver_of(tmp_path, REPORT)
    its._next = dict.fromkeys(its._next, float("inf"))
    its._ray.wait = lambda *_, **__: ([], [])
    its._coordinator.members[1].ended = True
    if over:
        its._coordinator.stop("time is over")
    moments = count(0.0, 2 * driver.STATUS_SECONDS)
    clock = SimpleNamespace(monotonic=lambda: next(moments), time=lambda: 0.0)
    monkeypatch.setattr(driver, "time", clock)
    monkeypatch.setattr(driver, "take_request", lambda path: False)
    states = []
    with pytest.raises(PausedError, match="shard 0 does not answer"):
        its.run(lambda progress: states.append(progress.coordinator.statuses(0.0)[0].state))
    assert "shard 0 has not answered for a minute" in its._progress.messages[0]
    assert len(its._progress.messages) == 1
    assert "does not answer" in states


def test_a_coordinator_that_stood_still_takes_no_shard_for_one_that_hangs(tmp_path: Path) -> None:
    its = driver_of(tmp_path, REPORT)
    for _ in range(3):  # whatever the clock says meanwhile
        its._look_for_silent()
    assert its._fault is None
    assert its._progress.messages == []


@pytest.mark.parametrize("kind", ["raylet", "gcs_server"])
def test_a_node_of_ray_that_hangs_does_not_hold_the_end(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as hung:
        os.kill(hung.pid, signal.SIGSTOP)
        node = SimpleNamespace(all_processes={kind: [SimpleNamespace(process=hung)]})
        worker = SimpleNamespace(_global_node=node)
        ray = SimpleNamespace(_private=SimpleNamespace(worker=worker), shutdown=hung.wait)
        monkeypatch.setattr(cluster, "SHUTDOWN_SECONDS", 0.01)
        cluster._shut_down(ray)
        assert hung.returncode == -signal.SIGKILL


SUMMARY: dict[str, Any] = {
    "resumed": False,
    "judged_anew": 0,
    **dict.fromkeys(("last_failure", "policy_fault", "judge_fault"), ""),
    "judge": {"asked": 1, "seconds": 0.5},
    "left_out": {"scope": 2},
    "held_back": [{"group": "a", "links": 2, "why": "b"}],
}
MORE: dict[str, dict[str, Any]] = {
    "open": {"process": 9, "notes": ["a"]},
    "turn": {},
    "end": {"summary": SUMMARY},
}
MISFITS: list[tuple[str, str, dict[str, Any]]] = [
    ("turn", "links", {"links": {99: (0, 1, 1, b"x")}}),
    ("turn", "links", {"links": {-1: (0, 1, 1, b"x")}}),
    ("turn", "links", {"links": {1: (-1, 1, 1, b"x")}}),
    ("turn", "pages", {"pages": 1 << 80}),
    ("turn", "cpu", {"cpu": float("nan")}),
    ("turn", "verdicts", {"verdicts": [[]]}),
    ("turn", "downloads", {"downloads": [("x",)]}),
    ("turn", "notes", {"notes": 5}),
    ("open", "process", {"process": "x"}),
    ("open", "notes", {"notes": [1]}),
    ("end", "summary", {"summary": {}}),
    ("end", "summary", {"summary": 5}),
    ("end", "summary", {"summary": {**SUMMARY, "judge": {"asked": "x"}}}),
    ("end", "summary", {"summary": {**SUMMARY, "held_back": [{}]}}),
    ("end", "summary", {"summary": {**SUMMARY, "left_out": {"scope": None}}}),
]


@pytest.mark.parametrize("call", MORE)
def test_reports_of_each_call_are_read(call: str) -> None:
    assert not misfit_of({**REPORT, **MORE[call]}, call, (0, 1))


@pytest.mark.parametrize(("call", "name", "other"), MISFITS)
def test_what_no_shard_says_ends_in_one_line(
    tmp_path: Path, call: str, name: str, other: dict[str, Any]
) -> None:
    """A shard that there is none of, a count beyond all, a last report without what it did."""
    its = driver_of(tmp_path, {**REPORT, **MORE[call], **other})
    its._pending[1] = (0, call)
    its._receive(1)
    assert isinstance(its._fault, PausedError)
    assert f"({name})" in str(its._fault)


@pytest.mark.parametrize("name", [*REPORT, "all of it"])
@pytest.mark.parametrize("other", OTHERS, ids=repr)
def test_what_is_no_report_ends_in_one_line(tmp_path: Path, name: str, other: Any) -> None:
    report = other if name == "all of it" else {**REPORT, name: other}
    its = driver_of(tmp_path, report)
    its._receive(1)
    if its._fault is None:  # of a kind that is read there
        assert isinstance(other, type(REPORT[name])) or (name in ("cpu", "busy", "loop_hold"))
        return
    assert isinstance(its._fault, PausedError)
    assert "\n" not in str(its._fault)
    assert "the same version" in str(its._fault)
    assert its._coordinator.members[0].ended
    assert its._coordinator.reason == "a shard failed"
