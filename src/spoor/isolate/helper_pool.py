"""The helpers of this process, and who asks them."""

from __future__ import annotations

import atexit
import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from spoor.errors import PausedError
from spoor.isolate.bounds import PAGE, Bounds
from spoor.isolate.helper import GivenUpError, Helper, KilledError, Question


def bounded(
    parser: Callable[..., Any],
    body: bytes,
    facts: Mapping[str, Any],
    *,
    times: float = 1,
    bounds: Bounds = PAGE,
    slow: bool = False,
) -> Any:
    """`parser(body, **facts)` in a helper, with `times` its bounds. `parser` is a function of a
    module; `facts` and what it returns are JSON values. Raises GivenUpError."""
    if getattr(_thread, "unhelped", False):
        raise GivenUpError(_thread.why)
    queue = _slow if slow else _pages if bounds is PAGE else _documents
    began = time.monotonic()
    try:
        return queue.ask(parser, body, facts, times, bounds)
    finally:
        _thread.seconds = helped() + time.monotonic() - began


def helped() -> float:
    """Seconds that this thread has waited for helpers so far."""
    seconds: float = getattr(_thread, "seconds", 0.0)
    return seconds


@contextlib.contextmanager
def giving_up(why: str, *, helped: bool, most: float) -> Iterator[None]:
    """Within it this thread asks no helper, if `helped`, and reads no document of more than `most`
    bytes: it is given up, for this reason."""
    _thread.why, _thread.unhelped, _thread.most = why, helped, most
    try:
        yield
    finally:
        _thread.unhelped, _thread.most = False, math.inf


def check_size(size: int) -> None:
    """Raises GivenUpError where this thread is to give up documents of so many bytes."""
    if size > getattr(_thread, "most", math.inf):
        raise GivenUpError(_thread.why)


_thread = threading.local()
"""What a thread has asked of helpers."""


class Answer(NamedTuple):
    """What became of a question."""

    value: Any
    """What the parser returned, as JSON values; a GivenUpError where the document was given up."""
    seconds: float
    """That it took by the clock."""


class HelperQueue:
    """At most one helper at a time, started when it is needed. If someone else killed the helper of
    a document, the document is given to another one."""

    def __init__(self) -> None:
        self.helper: Helper | None = None
        self.ended = False
        """Whether it starts no helper any more."""
        self._lock = threading.Lock()

    def ask(self, *question: Any) -> Any:
        with self._lock:
            try:
                return self._ask(*question)
            except KilledError:
                return self._ask(*question)

    def _ask(self, *question: Any) -> Any:
        return self._ready().ask(*question)

    def ask_all(self, questions: Sequence[Question]) -> Iterator[Answer]:
        """The answers to questions, in their order; they are sent together."""
        done = 0
        with self._lock:
            while rest := questions[done:]:
                began = time.monotonic()
                helper = self._ready()
                helper.put(rest)
                for question in rest:
                    try:
                        value = helper.answer(question)
                    except GivenUpError as error:
                        value = error
                    now = time.monotonic()
                    yield Answer(value, now - began)
                    began, done = now, done + 1
                    if helper.worn or isinstance(value, GivenUpError):
                        break  # another helper is asked for the others

    def _ready(self) -> Helper:
        """A helper that can be asked. Raises PausedError."""
        if self.helper is not None and (self.helper.worn or not self.helper.alive):
            self.close()
        if self.helper is None:
            self.helper = Helper()
        if _ending.is_set() or self.ended:
            raise PausedError("this program ends")
        return self.helper

    def kill(self) -> None:
        """End its helper at once. From any thread."""
        if (helper := self.helper) is not None:
            helper.kill()

    def end(self) -> None:
        """End it for good, once whoever asks it has been told."""
        self.ended = True
        self.kill()
        with self._lock:
            self.close()

    def close(self) -> None:
        if self.helper is not None:
            self.helper.close()
            self.helper = None


_pages, _documents, _slow = HelperQueue(), HelperQueue(), HelperQueue()
_queues = [_pages, _documents, _slow]
"""These, and those of `more_queues`."""


@contextlib.contextmanager
def more_queues(count: int) -> Iterator[list[HelperQueue]]:
    """Helpers of its own for whoever reads many documents; what they read at the end of the block
    is given up."""
    made = [HelperQueue() for _ in range(count)]
    _queues.extend(made)
    try:
        yield made
    finally:
        for queue in made:
            _queues.remove(queue)
            queue.end()


_ending = threading.Event()


@contextlib.contextmanager
def ending() -> Iterator[None]:
    """Within it no document is read, and what other threads are reading is given up at once, with a
    PausedError there: for a program that ends, which else waits until they are done."""
    _ending.set()
    try:
        for queue in _queues:
            queue.kill()
        yield
    finally:
        _ending.clear()


@atexit.register
def close() -> None:
    """End the helpers, if there are any."""
    for queue in _queues:
        queue.close()
