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
(`spoor.live.helper_turns`). Whoever reads many documents of a run has some more, and sends them
several at a time (`spoor.runs.ahead`): the bounds are of each document all the same.
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from itertools import count
from select import select
from typing import IO, Any, NamedTuple

from spoor.bounded_json import VALUES_A_BYTE, json_of
from spoor.documents.document import Document, Unreadable
from spoor.documents.errors import UnreadableError
from spoor.documents.kinds import as_html, tell
from spoor.documents.page import page_of as read_page
from spoor.documents.rows import (
    dates_row_of,
    document_row_of,
    html_parts_row_of,
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

MOST_ANSWER = 64 << 20
"""Bytes of what a helper says of one document, or its room, if that is less: what 4,000,000
characters of text take, their Markdown and 5,000 links."""
_VALUES = 1_500_000
"""Values of it, beyond `spoor.bounded_json.MOST_VALUES`: 100,000 blocks have a million."""

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


class Question(NamedTuple):
    """A document, and what is asked of it."""

    parser: Callable[..., Any]
    """A function of a module."""
    body: bytes
    facts: Mapping[str, Any]
    """Its other arguments, as JSON values."""
    times: float = 1
    """Factor of the bounds."""
    bounds: Bounds = PAGE
    most: int = MOST_ANSWER
    """Bytes of the answer."""

    @property
    def room(self) -> int:
        """Bytes of memory that it may take."""
        return self.bounds.room(len(self.body), self.times)


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
        question = Question(parser, body, facts, times, bounds)
        self.put([question])
        return self.answer(question)

    def put(self, questions: Sequence[Question]) -> None:
        """Send documents, all of which it takes in before it reads the first one. Each must be
        asked for by `answer`, in this order."""
        rows = [
            (one.parser.__module__, one.parser.__name__, one.facts, one.times, one.bounds)
            for one in questions
        ]
        out = self._process.stdin
        assert out is not None
        with contextlib.suppress(OSError):  # it has ended; `answer` says so
            _send(out, json.dumps(rows).encode())
            for one in questions:
                _send(out, one.body)

    def answer(self, question: Question) -> Any:
        """What it says of the next document. Raises as `ask`; it has ended then, and says nothing
        of those that follow."""
        back, room = self._process.stdout, question.room >> 20
        assert back is not None
        try:
            most = min(question.most, question.room)
            answer = _receive(back, time.monotonic() + PATIENCE, most)
            self.worn = bool(_receive(back, time.monotonic() + PATIENCE, 1))
        except (OSError, EOFError):
            ended = self._ends()
            self.close()
            if ended and self._process.returncode == -signal.SIGKILL:
                raise KilledError("the parser was killed, as where memory runs out") from None
            late = self._process.returncode == -signal.SIGPROF
            raised = LateError if late else GivenUpError
            seconds = question.times * question.bounds.seconds
            raise raised(self._cause(seconds, room)) from None
        if not answer:
            self.close()
            raise GivenUpError(f"parsing it takes over {room} MB")
        try:
            return json_of(answer, _VALUES // VALUES_A_BYTE)
        except ValueError as error:
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


class Answer(NamedTuple):
    """What became of a question."""

    value: Any
    """What the parser returned, as JSON values; a GivenUpError where the document was given up."""
    seconds: float
    """That it took by the clock."""


class Lane:
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


_pages, _documents, _slow = Lane(), Lane(), Lane()
_lanes = [_pages, _documents, _slow]
"""These, and those of `more_lanes`."""


@contextlib.contextmanager
def more_lanes(count: int) -> Iterator[list[Lane]]:
    """Helpers of its own for whoever reads many documents; what they read at the end of the block
    is given up."""
    made = [Lane() for _ in range(count)]
    _lanes.extend(made)
    try:
        yield made
    finally:
        for lane in made:
            _lanes.remove(lane)
            lane.end()


_NO_PAGE = "what the parser says of it is no page"
"""As one may that was taken over."""


_ending = threading.Event()


@contextlib.contextmanager
def ending() -> Iterator[None]:
    """Within it no document is read, and what other threads are reading is given up at once, with a
    PausedError there: for a program that ends, which else waits until they are done."""
    _ending.set()
    try:
        for lane in _lanes:
            lane.kill()
        yield
    finally:
        _ending.clear()


@atexit.register
def close() -> None:
    """End the helpers, if there are any."""
    for lane in _lanes:
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
    rows, bodies = list[Any](), list[bytes]()
    for documents in count(1):
        try:
            if not rows:
                rows = json.loads(_receive(source, None))
                bodies = [_receive(source, None) for _ in rows]
                rows.reverse()
                bodies.reverse()
        except EOFError:
            return
        (module, name, facts, times, bounds), body = rows.pop(), bodies.pop()
        parser = getattr(import_module(module), name)
        _send(target, _bounded(parser, body, facts, times, Bounds(*bounds)))
        others += parser not in (page_of, html_parts_row_of)
        many = others >= MOST_DOCUMENTS or documents >= MOST_PAGES
        left = used() - before - sum(map(len, bodies))  # but for what waits
        worn = many or left > MOST_LEFT
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
