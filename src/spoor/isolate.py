"""Parses documents that may cost much in helper processes, under limits of time and memory.

A C library that reads a stranger's document can take gigabytes for 60 kB, and cannot be stopped
from outside. So helper processes parse HTML that may cost much (`spoor.web.parse_cost`), wikitext,
and every kind of document but HTML and short text. The kernel ends a helper that uses more
processor time than its `Bounds` allow, and gives it no more memory than they allow: the document is
given up, and the next one gets a fresh helper. A helper answers in JSON, so one that a document
took over can only lie about its page.

Ordinary HTML is parsed in this process. A helper starts with the first document that needs one
(some .3 s) and ends with this process, even if that is killed. There are three: for HTML, for other
documents, so that a page never waits for a PDF, and for sites whose documents take long
(`spoor.live.helper_turns`).
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from itertools import count
from select import select
from typing import IO, Any, NamedTuple

from spoor.documents.document import Document, Unreadable
from spoor.documents.errors import UnreadableError
from spoor.documents.kinds import as_html, tell
from spoor.documents.page import page_of as read_page
from spoor.documents.rows import (
    dates_row_of,
    document_row_of,
    page_row_of,
    plain_row_of,
    revive_document,
)
from spoor.errors import PausedError
from spoor.learn.state import page_row, revive_page
from spoor.process_memory import at_most, used
from spoor.setting import WITH_TEXT
from spoor.types import Failed, Fetched, Page
from spoor.web.page import parse
from spoor.web.page_links import PageLinks
from spoor.web.parse_cost import may_cost_much
from spoor.web.urls import Joiner

SECONDS = 1.0
"""Processor time that one document may take."""

MEMORY = 64 << 20
PER_BYTE = 20
"""Memory that a document may take: `MEMORY` bytes, plus `PER_BYTE` for each of its own."""


class Bounds(NamedTuple):
    """What one document may take."""

    seconds: float = SECONDS
    memory: int = MEMORY
    per_byte: int = PER_BYTE

    def room(self, size: int, times: float) -> int:
        """Bytes of memory for a document of this size, with `times` these limits."""
        return int(times * (self.memory + self.per_byte * size))


PAGE = Bounds()
"""Of HTML."""

DOCUMENT = Bounds(8.0, 128 << 20, 8)
"""Of any other kind of document."""

BRIEF = 1.0
"""Seconds of processor time of a first look at a document."""

SHORT = 1 << 12
"""A text of at most this many bytes is read in this process."""

PATIENCE = 60.0
"""Seconds after which a helper is ended that neither answers nor uses processor time."""

MOST_LEFT = 64 << 20
"""Bytes that documents may leave behind in a helper, and …"""
MOST_DOCUMENTS = 500
"""… documents that one helper reads before a fresh one takes its place: a library may keep what it
saw (libxml2 keeps every name, up to a limit)."""
MOST_PAGES = 20 * MOST_DOCUMENTS
"""The same where all of them are HTML: lexbor keeps nothing, and a helper takes .25 s to start."""

_GARBAGE = 2_000
"""New objects from which what a page left is looked through; it takes .14 ms, and leaves some
twenty, of tables that are bounded."""

_PIECE = 1 << 20

AGAIN = 10
"""Factor of the limits for a document that was parsed before: a resumed run must not give up a
document that it could read the first time."""


class GivenUpError(UnreadableError):
    """A document that would cost too much; the message says what it used up."""

    failure = "limit"


class KilledError(GivenUpError):
    """A document whose helper was killed by someone else."""


class LateError(GivenUpError):
    """A document that took more time than it may."""


class TakesLongError(Exception):
    """A document that took more time than a first look allows; `parse_page` may be called again."""


def parse_page(
    body: bytes,
    url: str,
    *,
    joiner: Joiner | None = None,
    again: bool = False,
    slow: bool = False,
    brief: bool = False,
    dates: bool = False,
    **facts: Any,
) -> Page:
    """As `spoor.documents.page.page_of`, in bounded time and memory whatever the document holds.

    `facts` are the keywords of that function. `again`: it was parsed before, and gets `AGAIN` times
    the limits. `slow`: use the helper for sites whose documents take long. `brief`: raise
    TakesLongError for a document that takes more than `BRIEF` seconds. `dates`: read only those
    that a feed gives. Raises UnreadableError, of which GivenUpError is a subclass. A helper costs
    some ms more. HTML whose main text would cost more is all of its text.
    """
    check_size(len(body))
    parser, bounds = _parser(body, facts.get("content_type", ""), url)
    in_vain = facts | {"main": False} if parser is page_of and facts.get("main") else None
    if parser is not None and facts.get("main"):
        parser, bounds = page_row_of, DOCUMENT
    if dates:
        parser, bounds, in_vain = dates_row_of, DOCUMENT, None
    if parser is None:
        return read_page(body, url, joiner=joiner, **facts)
    if parser is page_of:
        facts["content_type"] = as_html(body, facts.get("content_type", ""))
    told = {key: sorted(v) if isinstance(v, frozenset) else v for key, v in facts.items()}
    times = AGAIN if again else 1
    brief = brief and bounds is not PAGE
    if brief:
        bounds = bounds._replace(seconds=BRIEF)
    try:
        row = bounded(parser, body, {"url": url, **told}, times=times, bounds=bounds, slow=slow)
    except GivenUpError as error:
        if brief and isinstance(error, LateError):
            raise TakesLongError from error
        if in_vain is None or isinstance(error, KilledError):
            raise
        page = parse_page(body, url, joiner=joiner, again=again, slow=slow, **in_vain)
        return replace(page, main=page.text)
    try:
        if "unreadable" in row:
            raise UnreadableError(str(row["unreadable"]))
        if not isinstance(row["links"], dict):
            return revive_page(row)
        words = row["text"].split(" ") if row["text"] else []
        links = PageLinks.of(row["links"], words)
        return replace(revive_page({**row, "links": ()}), links=links)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise GivenUpError(_NO_PAGE) from error


def extract(
    content_type: str, url: str, body: bytes, *, seconds: float = DOCUMENT.seconds
) -> Document | Unreadable:
    """As `spoor.documents.extract.extract`, in bounded memory and at most so many `seconds` of
    processor time; costs some 2 ms more. HTML whose main text would cost more is all of its text,
    as the crawl read it, with a note."""
    facts = {"url": url, "content_type": content_type}
    try:
        row = bounded(document_row_of, body, facts, bounds=DOCUMENT._replace(seconds=seconds))
    except GivenUpError as error:
        kind = tell(body, content_type, url).kind
        if kind != "html" or isinstance(error, KilledError):
            return Unreadable(str(error), kind)
        bounds = PAGE._replace(seconds=min(PAGE.seconds, seconds))
        facts |= {"content_type": as_html(body, content_type), "why": str(error)}
        try:
            row = bounded(plain_row_of, body, facts, bounds=bounds)
        except GivenUpError:
            return Unreadable(str(error), kind)
    if "unreadable" in row:
        return Unreadable(row["unreadable"], row["kind"])
    return revive_document(row)


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
    lane = _slow if slow else _pages if bounds is PAGE else _documents
    began = time.monotonic()
    try:
        return lane.ask(parser, body, facts, times, bounds)
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


def parse_reply(
    body: bytes, url: str, *, joiner: Joiner | None = None, status: int = 200, **facts: Any
) -> Fetched | Failed:
    """The reply that a fetched or recorded body makes: a page, or a failure if it cannot be read.
    Arguments are those of `parse_page`; the ticket of the reply is 0."""
    try:
        page = parse_page(body, url, joiner=joiner, status=status, **facts)
    except UnreadableError as error:
        return error.failed(status=status)
    return Fetched(0, page, size=len(body))


def helper_of(body: bytes, content_type: str, url: str = "", *, main: bool = False) -> str:
    """The helper that `parse_page` uses for a document: `pages` or `documents`; empty for none.
    With a helper it may take seconds: call it in a thread beside an event loop."""
    parser, bounds = _parser(body, content_type, url)
    if parser is None:
        return ""
    return "pages" if bounds is PAGE and not main else "documents"


def _parser(
    body: bytes, content_type: str, url: str
) -> tuple[Callable[..., dict[str, Any]] | None, Bounds]:
    """The parser and bounds of a document in a helper; None for one that is parsed in this
    process."""
    kind = tell(body, content_type, url).kind
    if kind == "html":
        return (page_of if may_cost_much(body) else None), PAGE
    short = kind in ("text", "markdown") and len(body) <= SHORT
    return (page_row_of if body and kind in WITH_TEXT and not short else None), DOCUMENT


class Helper:
    """One process that parses, one document at a time."""

    def __init__(self) -> None:
        command = [sys.executable, "-P", "-c", "from spoor.isolate import main; main()"]
        path = os.pathsep.join(filter(None, sys.path))
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # an interrupt of this program is none of its
                env={**os.environ, "PYTHONPATH": path},
            )
        except OSError as error:  # no memory, or too many processes
            raise PausedError(
                f"paused: cannot start a parser ({error.strerror}); give the same command to go on"
            ) from error
        self.worn = False
        """Whether it has read many documents, or they have left much behind."""

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None

    def ask(
        self,
        parser: Callable[..., Any],
        body: bytes,
        facts: Mapping[str, Any],
        times: float = 1,
        bounds: Bounds = PAGE,
    ) -> Any:
        """As `bounded`. Raises GivenUpError, after which the helper has ended; KilledError if the
        document may not be the cause."""
        head = json.dumps([parser.__module__, parser.__name__, facts, times, bounds]).encode()
        room = bounds.room(len(body), times) >> 20
        out, back = self._process.stdin, self._process.stdout
        assert out is not None
        assert back is not None
        try:
            _send(out, head)
            _send(out, body)
            most = bounds.room(len(body), times)
            answer = _receive(back, time.monotonic() + PATIENCE, most)
            self.worn = bool(_receive(back, time.monotonic() + PATIENCE, 1))
        except (OSError, EOFError) as error:
            ended = isinstance(error, OSError) or self._ends()
            self.close()
            if ended and self._process.returncode == -signal.SIGKILL:
                raise KilledError("the parser was killed, as where memory runs out") from None
            late = self._process.returncode == -signal.SIGPROF
            raised = LateError if late else GivenUpError
            raise raised(self._cause(times * bounds.seconds, room)) from None
        if not answer:
            self.close()
            raise GivenUpError(f"parsing it takes over {room} MB")
        try:
            return json.loads(answer)
        except (ValueError, RecursionError) as error:
            self.close()
            raise GivenUpError(_NO_PAGE) from error

    def _ends(self) -> bool:
        """Whether it has ended by itself, or is about to."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.1)
        return not self.alive

    def _cause(self, seconds: float, room: int) -> str:
        ended = self._process.returncode
        if ended == -signal.SIGPROF:
            return f"parsing it takes over {seconds:g} s"
        if ended in (-signal.SIGABRT, -signal.SIGTRAP, -signal.SIGILL):
            # How libraries in C++ end where they get no memory.
            return f"it breaks the parser, or parsing it takes over {room} MB"
        return "the parser did not answer" if ended == -signal.SIGKILL else "the parser crashed"

    def kill(self) -> None:
        """End it at once, whatever it reads: who asked is told so. From any thread."""
        self._process.kill()

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


class _Lane:
    """At most one helper at a time, started when it is needed. If someone else killed the helper of
    a document, the document is given to another one."""

    def __init__(self) -> None:
        self.helper: Helper | None = None
        self._lock = threading.Lock()

    def ask(self, *question: Any) -> Any:
        with self._lock:
            try:
                return self._ask(*question)
            except KilledError:
                return self._ask(*question)

    def _ask(self, *question: Any) -> Any:
        if self.helper is not None and (self.helper.worn or not self.helper.alive):
            self.close()
        if self.helper is None:
            self.helper = Helper()
        if _ending.is_set():
            raise PausedError("this program ends")
        return self.helper.ask(*question)

    def kill(self) -> None:
        """End its helper at once. From any thread."""
        if (helper := self.helper) is not None:
            helper.kill()

    def close(self) -> None:
        if self.helper is not None:
            self.helper.close()
            self.helper = None


_pages, _documents, _slow = _Lane(), _Lane(), _Lane()

_NO_PAGE = "what the parser says of it is no page"
"""As one may that was taken over."""


_ending = threading.Event()


@contextlib.contextmanager
def ending() -> Iterator[None]:
    """Within it no document is read, and what other threads are reading is given up at once, with a
    PausedError there: for a program that ends, which else waits until they are done."""
    _ending.set()
    try:
        for lane in (_pages, _documents, _slow):
            lane.kill()
        yield
    finally:
        _ending.clear()


@atexit.register
def close() -> None:
    """End the helpers, if there are any."""
    for lane in (_pages, _documents, _slow):
        lane.close()


def _send(pipe: IO[bytes], data: bytes) -> None:
    pipe.write(len(data).to_bytes(8, "little") + data)
    pipe.flush()


def _receive(pipe: IO[bytes], deadline: float | None, most: int = sys.maxsize) -> bytes:
    """The next message. Raises EOFError where there is none, none whole by the deadline (monotonic
    time), or one of more than `most` bytes."""
    size = int.from_bytes(_read(pipe, 8, deadline), "little")
    if size > most:
        raise EOFError
    return _read(pipe, size, deadline)


def _read(pipe: IO[bytes], size: int, deadline: float | None) -> bytes:
    data = bytearray()
    while len(data) < size:
        if deadline is not None:
            left = max(0.0, deadline - time.monotonic())
            if not select([pipe], [], [], left)[0]:
                raise EOFError
        piece = os.read(pipe.fileno(), min(size - len(data), _PIECE))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)


# ---------------------------------------------------------------- in the helper


def main() -> None:
    """What the helper runs: documents in, pages out, until the one who asks is gone."""
    source, target = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # What a library prints is no answer.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    gc.disable()
    before, others = used(), 0
    for documents in count(1):
        try:
            module, name, facts, times, bounds = json.loads(_receive(source, None))
            body = _receive(source, None)
        except EOFError:
            return
        parser = getattr(import_module(module), name)
        _send(target, _bounded(parser, body, facts, times, Bounds(*bounds)))
        others += parser is not page_of
        many = others >= MOST_DOCUMENTS or documents >= MOST_PAGES
        worn = many or used() - before > MOST_LEFT
        _send(target, b"1" if worn else b"")


def page_of(body: bytes, url: str, **facts: Any) -> dict[str, Any]:
    """The page of an HTML document as JSON values; its links in columns (`PageLinks.row`)."""
    if "labels" in facts:
        facts["labels"] = frozenset(facts["labels"])
    page = parse(body, url, joiner=_joiner, **facts)
    if not isinstance(page.links, PageLinks):
        return page_row(page)
    return page_row(replace(page, links=())) | {"links": page.links.row()}


_joiner = Joiner()
"""Of the helper's documents."""


def _bounded(
    parser: Callable[..., Any], body: bytes, facts: Mapping[str, Any], times: float, bounds: Bounds
) -> bytes:
    """What a parser returns as JSON; nothing where memory ran out. The kernel ends the process
    where time does."""
    signal.setitimer(signal.ITIMER_PROF, bounds.seconds * times)
    answer = b""
    try:
        with at_most(bounds.room(len(body), times)):
            # JSON and office files may hold half a pair of UTF-16, which is no text elsewhere.
            text = json.dumps(parser(body, **facts), ensure_ascii=False)
            answer = text.encode("utf-8", "replace")
    except Exception:  # the library has an error of its own where it gets no memory
        return b""
    else:
        return answer
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        if not answer or parser is not page_of or gc.get_count()[0] > _GARBAGE:
            gc.collect()
            gc.freeze()  # the next one then looks through what is new, and not through libraries
