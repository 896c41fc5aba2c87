"""How long a call takes, and how to wait no longer, for what is asked of others and kept with the
answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TypeVar

_Result = TypeVar("_Result")


def timed(call: Callable[[], _Result]) -> tuple[_Result, float]:
    """(what the call returned, seconds that it took)."""
    began = time.monotonic()
    result = call()
    return result, time.monotonic() - began


class CallsApart:
    """Calls in a thread of their own, which ends with the process, so that whoever waits for one
    can give it up."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[tuple[Callable[[], object], Future[object]]] | None = None
        self._changed = threading.Event()
        self._over = False

    def give_up(self) -> None:
        """Whoever waits, or calls later, waits no longer. From another thread."""
        self._over = True
        self._changed.set()

    def call(self, call: Callable[[], object]) -> object:
        """What a call returns or raises. Raises TimeoutError where it was given up."""
        if self._calls is None:
            self._calls = SimpleQueue()
            threading.Thread(target=_make, args=(self._calls,), name="asks", daemon=True).start()
        future = Future[object]()
        if not self._over:
            self._changed.clear()
            future.add_done_callback(lambda _: self._changed.set())
            self._calls.put((call, future))
        while not (future.done() or self._over):
            self._changed.wait()
        if not future.done():
            raise TimeoutError("the time of the run was over")
        return future.result()


def _make(calls: SimpleQueue[tuple[Callable[[], object], Future[object]]]) -> None:
    while True:
        call, future = calls.get()
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)
