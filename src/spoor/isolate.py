"""Parses a document that may cost much in a process of its own, under limits of time and memory.

A C library that reads what a stranger sent can take gigabytes for 60 kB, and cannot be stopped from
outside. So HTML that may cost much (`spoor.web.parse_cost`) and all wikitext go to a helper
process. The kernel
ends it where it uses more processor time than `SECONDS`, and gives it no more memory than `MEMORY`
and `PER_BYTE` times the document: the document is given up, and the next one finds a fresh helper.
What comes back is JSON: a helper that was taken over can do no more than lie about its page.

Ordinary HTML is parsed here. A helper starts at the first document that needs one (some .3 s)
and ends with this process, also where that is killed.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from importlib import import_module
from select import select
from typing import IO, Any

from spoor.learn.state import page_row, revive_page
from spoor.types import Failed, Fetched, Page
from spoor.web.page import is_html, parse
from spoor.web.parse_cost import may_cost_much
from spoor.web.urls import Joiner

SECONDS = 1.0
"""Processor time that one document may take."""

MEMORY = 64 << 20
PER_BYTE = 20
"""Memory that a document may take: so many bytes, and so many for each of its own."""

PATIENCE = 60.0
"""Seconds until a helper that neither answers nor uses up its time is ended."""

AGAIN = 10
"""Times the limits for a document that was parsed before: a resume must not give up what the run
that it resumes did not."""


class GivenUpError(Exception):
    """A document that would cost too much; the text says what it used up."""

    def failed(self, ticket: int = 0, status: int = 200, seconds: float = 0.0) -> Failed:
        """What it is to a crawl."""
        return Failed(ticket, "limit", str(self), status, seconds=seconds)


def parse_page(
    body: bytes, url: str, *, joiner: Joiner | None = None, again: bool = False, **facts: Any
) -> Page:
    """As `spoor.web.page.parse`, in bounded time and memory whatever the document holds.

    `facts` are that function's keywords but for its limits. `again`: it was parsed before, and gets
    `AGAIN` times as much of both. Raises GivenUpError. Costs some ms more where a helper is asked.
    """
    if not needs_helper(body, facts.get("content_type", "")):
        return parse(body, url, joiner=joiner, **facts)
    told = {key: sorted(v) if isinstance(v, frozenset) else v for key, v in facts.items()}
    row = bounded(page_of, body, {"url": url, **told}, times=AGAIN if again else 1)
    return revive_page(row)


def bounded(
    parser: Callable[..., Any], body: bytes, facts: Mapping[str, Any], *, times: float = 1
) -> Any:
    """`parser(body, **facts)` in the helper, with `times` the usual limits. `parser` is a function
    of a module; `facts` and what it returns are JSON values. Raises GivenUpError."""
    with _lock:
        return _helper().ask(parser, body, facts, times)


def parse_reply(
    body: bytes, url: str, *, joiner: Joiner | None = None, status: int = 200, **facts: Any
) -> Fetched | Failed:
    """What a body that was fetched or recorded is to a crawl: a page, or a failure where parsing it
    was given up. Arguments are those of `parse_page`; the ticket of the reply is 0."""
    try:
        page = parse_page(body, url, joiner=joiner, status=status, **facts)
    except GivenUpError as error:
        return error.failed(status=status)
    return Fetched(0, page, size=len(body))


def needs_helper(body: bytes, content_type: str) -> bool:
    """Whether a document may cost much."""
    return is_html(body, content_type) and may_cost_much(body)


class Helper:
    """One process that parses, one document at a time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from spoor.isolate import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # an interrupt of this program is none of its
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None

    def ask(
        self, parser: Callable[..., Any], body: bytes, facts: Mapping[str, Any], times: float = 1
    ) -> Any:
        """As `bounded`. Raises GivenUpError, after which the helper is no more."""
        head = json.dumps([parser.__module__, parser.__name__, facts, times]).encode()
        out, back = self._process.stdin, self._process.stdout
        assert out is not None
        assert back is not None
        try:
            _send(out, head)
            _send(out, body)
            answer = _receive(back, PATIENCE)
        except (OSError, EOFError):
            self.close()
            raise GivenUpError(self._cause(times)) from None
        if not answer:
            self.close()
            raise GivenUpError(f"parsing it takes over {_room(len(body), times) >> 20} MB")
        return json.loads(answer)

    def _cause(self, times: float) -> str:
        ended = self._process.returncode
        if ended == -signal.SIGPROF:
            return f"parsing it takes over {SECONDS * times:g} s"
        return "the parser did not answer" if ended == -signal.SIGKILL else "the parser crashed"

    def close(self) -> None:
        """End it, and wait until it is gone."""
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                assert pipe is not None
                pipe.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        self._process.kill()
        self._process.wait()


_lock = threading.Lock()
_known: list[Helper] = []


def _helper() -> Helper:
    if _known and not _known[0].alive:
        _known.pop().close()
    if not _known:
        _known.append(Helper())
    return _known[0]


@atexit.register
def close() -> None:
    """End the helper, if there is one."""
    while _known:
        _known.pop().close()


def _send(pipe: IO[bytes], data: bytes) -> None:
    pipe.write(len(data).to_bytes(8, "little") + data)
    pipe.flush()


def _receive(pipe: IO[bytes], patience: float | None) -> bytes:
    """The next message. Raises EOFError where there is none, or none in time."""
    if patience is not None and not select([pipe], [], [], patience)[0]:
        raise EOFError
    size = pipe.read(8)
    data = pipe.read(int.from_bytes(size, "little"))
    if len(size) < 8 or len(data) < int.from_bytes(size, "little"):
        raise EOFError
    return data


# ---------------------------------------------------------------- in the helper


def main() -> None:
    """What the helper runs: documents in, pages out, until the one who asks is gone."""
    source, target = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    gc.disable()
    while True:
        try:
            module, name, facts, times = json.loads(_receive(source, None))
            body = _receive(source, None)
        except EOFError:
            return
        parser = getattr(import_module(module), name)
        _send(target, _bounded(parser, body, facts, times))


def page_of(body: bytes, url: str, **facts: Any) -> dict[str, Any]:
    """The page of a document as JSON values."""
    if "labels" in facts:
        facts["labels"] = frozenset(facts["labels"])
    return page_row(parse(body, url, joiner=_joiner, **facts))


_joiner = Joiner()
"""Of the helper's documents."""


def _bounded(
    parser: Callable[..., Any], body: bytes, facts: Mapping[str, Any], times: float
) -> bytes:
    """What a parser returns as JSON; nothing where memory ran out. The kernel ends the process
    where time does."""
    most = _used() + _room(len(body), times)
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    signal.setitimer(signal.ITIMER_PROF, SECONDS * times)
    try:
        return json.dumps(parser(body, **facts)).encode()
    except Exception:  # the library has an error of its own where it gets no memory
        return b""
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
        gc.collect()


def _room(size: int, times: float) -> int:
    return int(times * (MEMORY + PER_BYTE * size))


def _used() -> int:
    """Bytes of this process's data, as the kernel counts them."""
    with open("/proc/self/status", encoding="ascii") as status:
        line = next(line for line in status if line.startswith("VmData:"))
    return 1024 * int(line.split()[1])
