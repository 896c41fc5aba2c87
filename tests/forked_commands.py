"""`spoor` in processes of their own that need not import all anew: each is forked from a process that has
imported what a crawl imports, and has done nothing else.

A command takes half a second of CPU to start, and its helper a third of one. What is killed, interrupted or
told by its environment is a process all the same; `tests/e2e/test_start_up.py`, and whatever is started by a
shell, has those that begin as outside tests.
"""

from __future__ import annotations

import atexit
import gc
import inspect
import os
import resource
import runpy
import subprocess
import sys
import threading
from contextlib import suppress
from importlib import import_module
from typing import Any

from forked_helpers import Parent, forked, forks

_IMPORTED = [
    *("spoor.cli.main", "spoor.cli.crawl", "spoor.cli.plan", "spoor.cli.screen"),
    *("spoor.live.live_crawl", "spoor.live.exporters", "spoor.live.signals"),
    *("spoor.policies.trail.policy", "spoor.judges.spec", "spoor.judges.relevance"),
    *("spoor.views.report", "spoor.views.html", "spoor.isolate.child"),
    *("spoor.http.world_server", "spoor.worlds.folders", "spoor.worlds.generated"),
]
_FORKS = "import sys; from forked_commands import main; main(int(sys.argv[1]))"
_START = [sys.executable, "-m", "spoor"]

_parent: Parent | None = None
_starts = threading.Lock()


class Command(subprocess.Popen[str]):
    """`python -m spoor …` by `subprocess.Popen`, in a session of its own; its text is UTF-8. Of its
    environment, what Python reads as it starts has no effect, but for PYTHONPATH. `limits`: of
    resources (`resource.setrlimit`), soft and hard."""

    def __init__(
        self, command: list[str], *, limits: dict[int, tuple[int, int]] | None = None, **how: Any
    ) -> None:
        assert command[:3] == _START
        self._limits = [*(limits or {}).items()]
        super().__init__(command, encoding="utf-8", **how)

    def _execute_child(self, *given: Any) -> None:
        global _parent
        popen: Any = subprocess.Popen
        how = inspect.signature(popen._execute_child).bind(self, *given).arguments
        names = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        ends = {name: how[name] for name in names}
        with _starts:
            if _parent is None:
                _parent = Parent(_FORKS)
                atexit.register(_parent.close)
        theirs = (ends["p2cread"], ends["c2pwrite"], ends["errwrite"])
        source, target, errors = (at if one == -1 else one for at, one in enumerate(theirs))
        environment = {**os.environ} if how["env"] is None else {**how["env"]}
        folder = os.fspath(how["cwd"] or os.getcwd())
        told = (how["args"][3:], folder, environment, self._limits)
        try:
            self.pid, self._end = _parent.fork(source, target, errors, *told)
        finally:
            popen._close_pipe_fds(self, *ends.values())
        self._child_created = True

    def _internal_poll(self, **_: object) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            self._wait(0.0)
        return self.returncode

    def _wait(self, timeout: float | None) -> int:
        self.returncode = self._end.within(timeout)
        return self.returncode

    def __del__(self) -> None:
        """Nothing is left to wait for."""


def run(
    command: list[str], *, timeout: float = 400, **how: Any
) -> subprocess.CompletedProcess[str]:
    """A command to its end, and what it said."""
    pipe = subprocess.PIPE
    with Command(command, stdout=pipe, stderr=pipe, **how) as process:
        try:
            said = process.communicate(timeout=timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, *said)


def main(asked: int) -> None:
    """Fork a command for each message, until nobody is left to send one."""
    for name in _IMPORTED:
        import_module(name)
    gc.collect()
    gc.freeze()
    forks(asked, _spoor)


def _spoor(
    arguments: list[str], folder: str, environment: dict[str, str], limits: list[Any]
) -> int:
    os.chdir(folder)
    for which, values in limits:
        resource.setrlimit(which, values)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = ["", *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    sys.argv = ["spoor", *arguments]
    code: object = 0
    with forked(here=True):
        try:
            runpy.run_module("spoor", run_name="__main__", alter_sys=True)
        except SystemExit as told:
            code = told.code
        # As Python ends a process: threads first, since what they hold is closed at the exit.
        ends: Any = threading
        ends._shutdown()
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
    return code if isinstance(code, int) else 0
