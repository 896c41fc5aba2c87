"""Tests in several processes that need not import and collect all anew: `pytest --forks 4` forks them once
that is done. Each runs a file at a time, and the next that nobody has begun.

To import and to collect takes seconds, and each process of pytest-xdist does all of it.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import struct
import traceback
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from itertools import groupby
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any

import pytest

_NUMBER = struct.Struct("<H")

_IMPORTED = [
    *("crawlee.crawlers", "igraph", "llama_index.core", "mcp", "openpyxl", "playwright.async_api"),
    *("reportlab.pdfgen.canvas", "scipy.stats", "sklearn.linear_model"),
]
"""What tests of many files import as they run: with all tests, it is imported once for all processes, as
commands and helpers are forked from one process then. None of it starts a thread."""


def pytest_addoption(parser: pytest.Parser) -> None:
    what = "processes that run the tests, forked once all is collected"
    parser.addoption("--forks", type=int, default=0, metavar="COUNT", help=what)


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    count = session.config.getoption("forks")
    if not count or session.testsfailed or session.config.getoption("collectonly"):
        return None
    tests = session.items
    files = [[*found] for _, found in groupby(range(len(tests)), key=lambda at: tests[at].path)]
    if len(files) > 100:
        for name in ("forked_helpers", "forked_commands"):
            import_module(name).begin()
        for name in _IMPORTED:
            with suppress(ImportError):
                import_module(name)
        gc.collect()
        gc.freeze()
    # Whoever is free takes a number. Any pipe has room for two thousand.
    waiting, into = os.pipe()
    os.write(into, b"".join(map(_NUMBER.pack, range(len(files)))))
    os.close(into)

    def taken(first: Sequence[int]) -> Iterator[int]:
        yield from first
        while number := os.read(waiting, _NUMBER.size):
            yield from files[_NUMBER.unpack(number)[0]]

    left = {*range(len(tests))}
    first = list[int]()
    while left:
        workers: dict[object, _Worker] = {}
        for _ in range(1 if first else count):
            worker = _Worker(session, taken(first), [*workers.values()])
            workers[worker.heard] = worker
        while workers:
            for one in wait([worker.heard for worker in workers.values()]):
                if not _hear(workers[one], session, left):
                    del workers[one]
            if stop := session.shouldfail or session.shouldstop:
                for worker in workers.values():
                    os.kill(worker.process, signal.SIGTERM)
                raise (session.Failed if session.shouldfail else session.Interrupted)(stop)
        # What those had taken that died is done by another.
        assert not left or first != sorted(left), "no process lives until its first test"
        first = sorted(left)
    os.close(waiting)
    return True


class _Worker:
    """One of these processes, and what is heard of it."""

    def __init__(
        self, session: pytest.Session, numbers: Iterator[int], others: Sequence[_Worker]
    ) -> None:
        self.at: int | None = None
        """The number of the test that runs."""
        factory: Any = vars(session.config)["_tmp_path_factory"]
        base = factory.getbasetemp()
        self.heard, telling = Pipe(duplex=False)
        self.process = os.fork()
        if self.process:
            telling.close()
            return
        try:
            for one in (self, *others):
                one.heard.close()
            factory._basetemp = base / str(os.getpid())
            factory._basetemp.mkdir(mode=0o700)
            _run(session, numbers, telling)
            atexit._run_exitfuncs()
        except KeyboardInterrupt:
            pass
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)


def _hear(worker: _Worker, session: pytest.Session, left: set[int]) -> bool:
    """Take in what it tells: the number of the test that it begins, or the reports of the one that it
    ended. Not once it has ended itself; then its test has failed."""
    hook = session.config.hook
    try:
        told: int | list[dict[str, Any]] | None = worker.heard.recv()
    except (EOFError, OSError):
        told = None
        worker.heard.close()
        status = os.waitpid(worker.process, 0)[1]
    if isinstance(told, int):
        worker.at = told
    elif worker.at is not None:
        test = session.items[worker.at]
        left.discard(worker.at)
        worker.at = None
        if told is None:
            what = f"its process ended: {status=}"
            reports = [pytest.TestReport(test.nodeid, test.location, {}, "failed", what, "call")]
        else:
            kind = hook.pytest_report_from_serializable
            reports = [kind(config=session.config, data=one) for one in told]
        hook.pytest_runtest_logstart(nodeid=test.nodeid, location=test.location)
        for one in reports:
            hook.pytest_runtest_logreport(report=one)
        hook.pytest_runtest_logfinish(nodeid=test.nodeid, location=test.location)
    return told is not None


def _run(session: pytest.Session, numbers: Iterator[int], telling: Connection) -> None:
    """Run tests here; each one's number is told as it begins, and its reports as it ends."""
    config = session.config
    config.pluginmanager.unregister(name="terminalreporter")
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    capture.stop_global_capturing()  # its files are those of all processes
    capture.start_global_capturing()
    capture.suspend_global_capture()
    reports = list[object]()

    class Kept:
        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            kind = config.hook.pytest_report_to_serializable
            reports.append(kind(config=config, report=report))

    config.pluginmanager.register(Kept())
    at = next(numbers, None)
    while at is not None:
        telling.send(at)
        after = next(numbers, None)
        following = None if after is None else session.items[after]
        config.hook.pytest_runtest_protocol(item=session.items[at], nextitem=following)
        telling.send(reports)
        reports.clear()
        at = after
