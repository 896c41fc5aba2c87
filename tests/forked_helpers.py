"""Helpers of this process that need not import all anew: each is forked from a process that has
imported what every helper imports, and has done nothing else.

A helper takes a third of a second of CPU to start, and the tests start hundreds. Where a test looks at
how one starts, `started_anew` has it; and so has each command that a test starts.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest

from spoor.isolate import helper

NUMBER = struct.Struct("<q")
"""A process, or how it ended, on its way to whoever waits for it."""

_FORKS = "import sys; from forked_helpers import imported; imported(int(sys.argv[1]))"
_COMMAND = "from spoor.isolate.child import main; main()"


class Parent:
    """The process that others are forked from: of a Python that runs this code, with a socket as its
    argument, or without any a copy of this process as it is."""

    def __init__(self, code: str | None) -> None:
        self._began = _of_the_start()
        self._asked, theirs = socket.socketpair()
        self._process: subprocess.Popen[bytes] | None = None
        with theirs:
            if code is None:
                if not os.fork():
                    self._asked.close()
                    os.setsid()
                    _become(*[os.open(os.devnull, os.O_RDWR) for _ in range(3)])
                    main(theirs.detach())
                    os._exit(0)
                return
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", code, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )

    @property
    def fits(self) -> bool:
        """Whether a process that started now would begin in the same way."""
        return self._began == _of_the_start()

    def fork(self, source: int, target: int, errors: int, *given: object) -> tuple[int, End]:
        """A process with these files as its own, which is `given` so much: its number, and where
        its end is told."""
        ends, telling = os.pipe()
        told, written = os.pipe()
        try:
            socket.send_fds(self._asked, [b"."], [source, target, errors, telling, told])
        finally:
            os.close(telling)
            os.close(told)
        with os.fdopen(written, "w", encoding="utf-8") as file:
            json.dump(given, file)
        return NUMBER.unpack(os.read(ends, NUMBER.size))[0], End(ends)

    def close(self) -> None:
        self._asked.close()
        if self._process is not None:
            self._process.wait(100)


_parent: Parent | None = None
_starts = threading.Lock()


def _of_the_start() -> tuple[list[str], list[tuple[str, str]]]:
    """What only a process that starts reads: where modules are, and some of the environment. The folders of
    libraries that add their own (odfpy, Ray) are left out: no helper imports anything of them."""
    begins = ("PYTHON", "LD_", "OPENBLAS", "OMP", "MKL")
    inside = sysconfig.get_path("purelib") + os.sep
    paths = [path for path in sys.path if not path.startswith(inside)]
    return paths, sorted(one for one in os.environ.items() if one[0].startswith(begins))


class End:
    """How a process ended, read once from where that is told."""

    def __init__(self, told: int) -> None:
        self._told = told
        self._code: int | None = None
        self._reads = threading.Lock()

    def within(self, timeout: float | None) -> int:
        """Its exit code. Raises subprocess.TimeoutExpired where it has not ended by then."""
        if self._code is None and not select.select([self._told], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("a forked process", timeout or 0.0)
        with self._reads:
            if self._code is None:
                (self._code,) = NUMBER.unpack(os.read(self._told, NUMBER.size))
        return self._code

    def __del__(self) -> None:
        os.close(self._told)


class _Forked:
    """As much of `subprocess.Popen` as the one who asks a helper uses."""

    def __init__(self, parent: Parent) -> None:
        source, into = os.pipe()
        back, target = os.pipe()
        theirs = (source, target, os.open(os.devnull, os.O_WRONLY))
        self.pid, self._end = parent.fork(*theirs, {**os.environ})
        for one in theirs:
            os.close(one)
        self.stdin, self.stdout = os.fdopen(into, "wb"), os.fdopen(back, "rb")
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.wait(0.0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        self.returncode = self._end.within(timeout)
        return self.returncode

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
            self.wait(100)  # it is told a moment after its pipes have ended


def _popen(command: list[str], **how: Any) -> Any:
    global _parent
    with _starts:
        if _parent is None:
            _parent = Parent(_FORKS)
    if command[-1] != _COMMAND or not _parent.fits:
        return subprocess.Popen(command, **how)
    return _Forked(_parent)


@contextlib.contextmanager
def forked(*, here: bool = False) -> Iterator[None]:
    """Within it helpers are forked; `here`: from a copy of this process as it is now."""
    global _parent
    if here:
        _parent = Parent(None)
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


def imported(asked: int) -> None:
    """What many of them read with is there already, and no garbage of theirs."""
    for name in (
        *("spoor.isolate.parsing", "spoor.documents.html", "trafilatura", "feedparser"),
        *("spoor.documents.pdf", "spoor.documents.office", "openpyxl", "spoor.documents.epub"),
    ):
        with contextlib.suppress(ImportError):
            import_module(name)
    gc.collect()
    gc.freeze()
    main(asked)


def main(asked: int) -> None:
    """Fork a helper for each message, until nobody is left to send one."""
    from spoor.isolate import child

    def begin(environment: dict[str, str]) -> None:
        os.environ.clear()
        os.environ.update(environment)
        child.main()

    forks(asked, begin)


def forks(asked: int, begin: Callable[..., int | None]) -> None:
    """Fork a process for each message, until nobody is left to send one. Between the two stands a
    process that waits for its end, and tells it."""
    with socket.socket(fileno=asked) as messages:
        while True:
            message, given, _, _ = socket.recv_fds(messages, 1, 5)
            # Those that have ended are waited for, so that what they took is counted.
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            if not message:
                return
            if not os.fork():
                messages.close()
                _watch(begin, *given)
            for one in given:
                os.close(one)


def _watch(
    begin: Callable[..., int | None], source: int, target: int, errors: int, telling: int, told: int
) -> None:
    number = os.fork()
    if not number:
        os.close(telling)
        os.setsid()
        _become(source, target, errors)
        with os.fdopen(told, encoding="utf-8") as file:
            given = json.load(file)
        code = 1
        try:
            code = begin(*given) or 0
        finally:
            os._exit(code)
    for one in (source, target, errors, told):
        os.close(one)
    with contextlib.suppress(OSError):  # nobody wants to know any more
        os.write(telling, NUMBER.pack(number))
        os.write(telling, NUMBER.pack(os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])))
    os._exit(0)


def _become(source: int, target: int, errors: int) -> None:
    """Standard input, output and errors."""
    for place, one in enumerate((source, target, errors)):
        os.dup2(one, place)
    for one in {source, target, errors}:
        os.close(one)
