"""A helper process, as the one who asks sees it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from spoor.bounded_json import VALUES_A_BYTE, json_of
from spoor.documents.errors import UnreadableError
from spoor.errors import PausedError
from spoor.isolate.bounds import PAGE, Bounds
from spoor.isolate.pipes import receive, send

MOST_ANSWER = 64 << 20
"""Bytes of what a helper says of one document, or its room, if that is less: what 4,000,000
characters of text take, their Markdown and 5,000 links."""
_VALUES = 1_500_000
"""Values of it, beyond `spoor.bounded_json.MOST_VALUES`: 100,000 blocks have a million."""

PATIENCE = 60.0
"""Seconds after which a helper is ended that neither answers nor uses processor time."""

NO_PAGE = "what the parser says of it is no page"
"""As one may that was taken over."""


class GivenUpError(UnreadableError):
    """A document that would cost too much; the message says what it used up."""

    failure = "limit"


class KilledError(GivenUpError):
    """A document whose helper was killed by someone else."""


class LateError(GivenUpError):
    """A document that took more time than it may."""


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
        command = [sys.executable, "-P", "-c", "from spoor.isolate.child import main; main()"]
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
        with self._whole(), contextlib.suppress(OSError):  # it has ended; `answer` says so
            send(out, json.dumps(rows).encode())
            for one in questions:
                send(out, one.body)

    def answer(self, question: Question) -> Any:
        """What it says of the next document. Raises as `ask`; it has ended then, and says nothing
        of those that follow."""
        back, room = self._process.stdout, question.room >> 20
        assert back is not None
        try:
            with self._whole():
                most = min(question.most, question.room)
                answer = receive(back, time.monotonic() + PATIENCE, most)
                self.worn = bool(receive(back, time.monotonic() + PATIENCE, 1))
        except (OSError, EOFError) as error:
            ended = self._ends()
            self.close()
            if ended and self._process.returncode == -signal.SIGKILL:
                raise KilledError("the parser was killed, as where memory runs out") from None
            if isinstance(error, TimeoutError):  # as where a container stood still meanwhile
                raise KilledError("the parser did not answer") from None
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
            raise GivenUpError(NO_PAGE) from error

    @contextlib.contextmanager
    def _whole(self) -> Iterator[None]:
        """Within it a message goes over whole: where anything keeps it from that, such as Ctrl-C in
        a notebook, the helper ends. The rest would be taken for another document, or its answer."""
        try:
            yield
        except (OSError, EOFError):
            raise
        except BaseException:
            self.close()
            raise

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
