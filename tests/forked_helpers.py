"""Helpers of this process that need not import all anew: each is forked from a process that has
imported what every helper imports, and has done nothing else.

A helper takes a third of a second of CPU to start, and the tests start hundreds. Where a test looks at
how one starts, `started_anew` has it; and so has each command that a test starts.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from spoor.isolate import helper

_NUMBER = struct.Struct("<q")
_FORKS = "import sys; from forked_helpers import main; main(int(sys.argv[1]))"
_MOST = 16_000
"""Bytes of an environment that goes through a pipe."""
_COMMAND = "from spoor.isolate.child import main; main()"


class _Parent:
    """The process that they are forked from."""

    def __init__(self) -> None:
        self._began = _of_the_start()
        self.asked, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _FORKS, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )

    @property
    def fits(self) -> bool:
        """Whether a helper that started now would begin in the same way."""
        return self._began == _of_the_start()

    def close(self) -> None:
        self.asked.close()
        self._process.wait(100)


_parent: _Parent | None = None
_starts = threading.Lock()


def _of_the_start() -> tuple[list[str], list[tuple[str, str]]]:
    """What only a process that starts reads: where modules are, and some of the environment."""
    begins = ("PYTHON", "LD_", "OPENBLAS", "OMP", "MKL")
    return [*sys.path], sorted(one for one in os.environ.items() if one[0].startswith(begins))


class _Forked:
    """As much of `subprocess.Popen` as the one who asks a helper uses."""

    def __init__(self, parent: _Parent, environment: bytes) -> None:
        source, into = os.pipe()
        back, target = os.pipe()
        self._told, telling = os.pipe()
        variables, written = os.pipe()
        os.write(written, environment)
        os.close(written)
        theirs = (source, target, telling, variables)
        socket.send_fds(parent.asked, [b"."], theirs)
        for one in theirs:
            os.close(one)
        self.stdin, self.stdout = os.fdopen(into, "wb"), os.fdopen(back, "rb")
        (self.pid,) = _NUMBER.unpack(os.read(self._told, _NUMBER.size))
        self.returncode: int | None = None
        self._lock = threading.Lock()

    def poll(self) -> int | None:
        if self.returncode is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.wait(0.0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None and not select.select([self._told], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("a helper", timeout or 0.0)
        with self._lock:
            if self.returncode is None:
                (self.returncode,) = _NUMBER.unpack(os.read(self._told, _NUMBER.size))
        return self.returncode

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
            self.wait(100)  # it is told a moment after its pipes have ended

    def __del__(self) -> None:
        os.close(self._told)


def _popen(command: list[str], **how: Any) -> Any:
    global _parent
    with _starts:
        if _parent is None:
            _parent = _Parent()
    environment = json.dumps({**os.environ}).encode()
    if command[-1] != _COMMAND or not _parent.fits or len(environment) > _MOST:
        return subprocess.Popen(command, **how)
    return _Forked(_parent, environment)


@contextlib.contextmanager
def forked() -> Iterator[None]:
    """Within it helpers are forked."""
    global _parent
    names = ("PIPE", "DEVNULL", "TimeoutExpired")
    stand_in = SimpleNamespace(Popen=_popen, **{name: getattr(subprocess, name) for name in names})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(helper, "subprocess", stand_in)
        yield
    if _parent is not None:
        _parent.close()
        _parent = None


@contextlib.contextmanager
def started_anew() -> Iterator[None]:
    """Within it they are started as outside tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(helper, "subprocess", subprocess)
        yield


def main(asked: int) -> None:
    """Fork a helper for each message, until nobody is left to send one. Between the two stands a
    process that waits for its end, and tells it."""
    from spoor.isolate import child

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # whoever waits is not waited for
    with socket.socket(fileno=asked) as messages:
        while True:
            message, given, _, _ = socket.recv_fds(messages, 1, 4)
            if not message:
                return
            if not os.fork():
                messages.close()
                *pipes, variables = given
                with os.fdopen(variables, "rb") as environment:
                    os.environ.clear()
                    os.environ.update(json.load(environment))
                _watch(child.main, *pipes)
            for one in given:
                os.close(one)


def _watch(work: Any, source: int, target: int, telling: int) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    number = os.fork()
    if not number:
        os.close(telling)
        os.setsid()
        for place, one in enumerate((source, target, os.open(os.devnull, os.O_WRONLY))):
            os.dup2(one, place)
            os.close(one)
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    for one in (source, target):
        os.close(one)
    with contextlib.suppress(OSError):  # nobody wants to know any more
        os.write(telling, _NUMBER.pack(number))
        os.write(telling, _NUMBER.pack(os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])))
    os._exit(0)
