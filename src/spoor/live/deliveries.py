"""Tells others what a watch found: a command for each line, and webhooks.

A receiver is told the lines of `news.jsonl` in their order, each once it is on the disk. How far it
was told stands in `delivered.json`, with the name of the line that ends there, written after each
success: after a crash between the two it is told the line again, with the same `id`, by which it
knows it. Where that line does not end there, the file is another one, and all of it is told.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from spoor.errors import DAMAGED, InputError
from spoor.files import read_json, write_whole
from spoor.http.post import RefusedError, address, post
from spoor.runs import files

COMMAND_SECONDS = 60.0
"""That a command may take."""

WEBHOOK_SECONDS = 30.0

RETRIES = (1.0, 5.0, 30.0, 120.0, 600.0)
"""Seconds before a receiver that failed is told the line again; the last one repeats."""

MOST_TRIES = 8
"""Of a line, by a command, or by a webhook that says that the line is wrong; else a webhook is
tried until it answers with 2xx."""

_LONGEST = 1 << 20
"""Bytes of a line; of the last one, which is looked for, too."""


class _Place(NamedTuple):
    """Up to where a receiver was told."""

    end: int
    """Bytes of `news.jsonl`."""
    last: str
    """Name of the line that ends there (`_key`); empty where it is not known."""
    tries: int = 0
    """Of the line that begins there, those that count, in all processes."""


_START = _Place(0, "")

Tell = Callable[[bytes], None]
"""Tells one line. Raises OSError or one of DAMAGED where that failed."""


class Receiver(NamedTuple):
    """Who is told."""

    name: str
    """Its key in `delivered.json`."""
    tell: Tell
    counts: tuple[type[Exception], ...]
    """Errors of which a line may have `MOST_TRIES`; then it is passed over."""
    end: Callable[[], None] = lambda: None
    """End what tells a line, from any thread."""


def receivers(on_new: str, webhooks: tuple[str, ...]) -> list[Receiver]:
    """The receivers of a watch. Raises InputError for a command that cannot be split into words or
    whose program is not there, and for an address that is none."""
    found = []
    if on_new:
        command = _Command(on_new)
        every = (OSError, *DAMAGED)
        found.append(Receiver(f"command {on_new}", command.tell, every, end=command.end))
    for url in webhooks:
        try:
            host = address(url).host
        except ValueError as error:  # the address itself may hold a key
            raise InputError(f"--webhook cannot be used: {error}") from None
        # Most such addresses hold a key, and the folder may be given away.
        digest = hashlib.sha256(url.encode("utf-8", "replace")).hexdigest()[:16]
        name = f"webhook {host} {digest}"
        found.append(Receiver(name, _webhook(url), (RefusedError,)))
    return found


_GUARD = """(read -r _ <&1; kill -KILL 0) &
(exec "$@" >/dev/null)
ended=$?
kill -KILL $! 2>/dev/null
exit $ended"""
"""Runs a command, and ends its session once nobody holds the other end of the pipe at descriptor 1:
the signal that a kernel sends for the end of a parent would end the command alone, on Linux."""


class _Command:
    """Runs a command for each line, with all that it starts in a session of its own: what takes too
    long ends with all of these. A watch that is killed ends it, too."""

    def __init__(self, line: str) -> None:
        try:
            self._words = shlex.split(line)
        except ValueError as error:
            raise InputError(f"--on-new {line!r} cannot be read: {error}") from None
        if not self._words:
            raise InputError("--on-new names no command")
        if shutil.which(self._words[0]) is None:  # rather than once there is something to tell
            raise InputError(f"--on-new: no program {self._words[0]!r} can be run")
        self._process: subprocess.Popen[bytes] | None = None
        self._over = False

    def tell(self, told: bytes) -> None:
        if shutil.which(self._words[0]) is None:
            raise OSError(f"no program {self._words[0]!r} can be run")
        theirs, ours = os.pipe()
        with (
            open(theirs, "rb") as held,
            open(ours, "wb"),  # closed where this process ends, however that is
            subprocess.Popen(
                ["/bin/sh", "-c", _GUARD, "sh", *self._words],
                stdin=subprocess.PIPE,
                stdout=held,
                start_new_session=True,
            ) as process,
        ):
            self._process = process
            try:
                process.communicate(told, 0.0 if self._over else COMMAND_SECONDS)
            except subprocess.TimeoutExpired as error:
                _kill(process)
                raise ValueError(f"{self._words[0]} took over {COMMAND_SECONDS:g} s") from error
        if process.returncode:
            raise ValueError(f"{self._words[0]} ended with {process.returncode}")

    def end(self) -> None:
        """Run no more, and end what runs; from any thread."""
        self._over = True
        if self._process is not None:
            _kill(self._process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the session that a process leads, as long as it does."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _webhook(url: str) -> Tell:
    def tell(told: bytes) -> None:
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": _key(told),
        }
        post(url, told, headers, seconds=WEBHOOK_SECONDS)

    return tell


def _key(line: bytes) -> str:
    """The `id` of a line, or another name for a line that is none of ours."""
    with suppress(*DAMAGED):
        found = json.loads(line)["id"]
        if isinstance(found, str) and found.isascii() and found.isprintable():
            return found
    return hashlib.sha256(line).hexdigest()


class Deliveries:
    """A thread for each receiver, between `start` and `stop`."""

    def __init__(
        self,
        folder: Path,
        told: list[Receiver],
        report: Callable[[str], None],
        wait: Callable[[threading.Event, float], object] = lambda ended, seconds: ended.wait(
            seconds
        ),
    ) -> None:
        self._folder = folder
        self._receivers = told
        self._report = report
        self._wait = wait
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._more = threading.Condition()
        self._length = 0
        """Bytes of `news.jsonl` that are on the disk."""
        self._done = self._read()
        self._threads: list[threading.Thread] = []

    def _read(self) -> dict[str, _Place]:
        try:
            found = read_json(self._folder / files.DELIVERED, flags=os.O_NOFOLLOW)
            told: dict[str, _Place] = {}
            for name, (end, last, *tries) in found.items():
                told[str(name)] = _Place(int(end), str(last), *map(int, tries[:1]))
            if any(place.end < 0 or place.tries < 0 for place in told.values()):
                raise ValueError("it counts from below nothing")
            return {name: place for name, place in told.items() if self._is_there(place)}
        except FileNotFoundError:
            return {}
        except (OSError, *DAMAGED) as error:
            path = self._folder / files.DELIVERED
            raise InputError(f"{path} is damaged; delete it to tell all lines again") from error

    def _is_there(self, place: _Place) -> bool:
        """Whether the line that was told last still ends where it did."""
        begin = max(0, place.end - _LONGEST)
        try:
            with open(files.open_own(self._folder / files.NEWS, os.O_RDONLY), "rb") as news:
                news.seek(begin)
                before = news.read(place.end - begin)
        except OSError:
            return False
        if begin + len(before) < place.end or (before and not before.endswith(b"\n")):
            return False
        line = before[before.rfind(b"\n", 0, -1) + 1 :]
        return not place.last or _key(line) == place.last

    def start(self) -> None:
        """Go on where each receiver was told last."""
        for receiver in self._receivers:
            thread = threading.Thread(target=self._serve, args=(receiver,), daemon=True)
            thread.start()
            self._threads.append(thread)

    def written(self, length: int) -> None:
        """So many bytes of `news.jsonl` are on the disk."""
        with self._more:
            self._length = length
            self._more.notify_all()

    def stop(self, seconds: float) -> None:
        """Tell what is left, for so many seconds at most; a command that runs is ended then. The
        rest is told when the watch goes on, and how much that is is reported."""
        deadline = time.monotonic() + seconds
        with self._more:
            self._more.wait_for(self._all_told, max(0.0, seconds))
        self._ended.set()
        with self._more:
            self._more.notify_all()
        for thread in self._threads:
            thread.join(max(0.1, deadline - time.monotonic()))
        for receiver in self._receivers:
            receiver.end()
        for receiver in self._receivers:
            if count := self._left(receiver):
                lines = "1 line waits" if count == 1 else f"{count:,} lines wait"
                self._report(f"{receiver.name}: {lines} for the same command to go on")

    def _left(self, receiver: Receiver) -> int:
        """Lines that a receiver was not told."""
        begin = self._end(receiver)
        if begin >= self._length:
            return 0
        try:
            with (self._folder / files.NEWS).open("rb") as news:
                news.seek(begin)
                return sum(
                    line.endswith(b"\n") for line in iter(lambda: news.readline(_LONGEST), b"")
                )
        except OSError:
            return 0

    def _all_told(self) -> bool:
        return all(self._end(one) >= self._length for one in self._receivers)

    def _end(self, receiver: Receiver) -> int:
        return self._done.get(receiver.name, _START).end

    def _serve(self, receiver: Receiver) -> None:
        tries, failed = self._done.get(receiver.name, _START).tries, 0
        while (found := self._next(receiver)) is not None:
            line, end = found
            try:
                receiver.tell(line)
            except (OSError, *DAMAGED) as error:
                counts = isinstance(error, receiver.counts)
                tries, failed = tries + counts, failed + 1
                if tries < MOST_TRIES:
                    if failed == 1 and tries <= 1:
                        self._report(f"{receiver.name}: {error}; it is told again later")
                    if counts:
                        place = self._done.get(receiver.name, _START)
                        self._keep(receiver, place._replace(tries=tries))
                    self._wait(self._ended, RETRIES[min(max(tries, failed), len(RETRIES)) - 1])
                    continue
                self._report(f"{receiver.name}: {error}; a line is passed over")
            tries = failed = 0
            self._keep(receiver, _Place(end, _key(line)))

    def _next(self, receiver: Receiver) -> tuple[bytes, int] | None:
        """The next line for a receiver and where it ends; None once it is over, or the file is not
        the one that is written."""
        begin = self._end(receiver)
        with self._more:
            self._more.wait_for(lambda: self._length > begin or self._ended.is_set())
        if self._ended.is_set():
            return None
        try:
            with (self._folder / files.NEWS).open("rb") as news:
                news.seek(begin)
                line = news.readline(_LONGEST)
        except OSError as error:
            line, reason = b"", error.strerror
        else:
            reason = (
                f"a line has over {_LONGEST:,} bytes" if line[_LONGEST - 1 :] else "it was replaced"
            )
        if not line.endswith(b"\n"):
            self._report(
                f"{receiver.name}: cannot read {files.NEWS} ({reason}); it is told no more"
            )
            return None
        return line, begin + len(line)

    def _keep(self, receiver: Receiver, place: _Place) -> None:
        with self._lock:
            done = {**self._done, receiver.name: place}
            rows = {
                name: [*one[:2], *([one.tries] * (one.tries > 0))] for name, one in done.items()
            }
            with suppress(OSError):  # a full disk: it is told again
                write_whole(self._folder / files.DELIVERED, json.dumps(rows).encode())
            self._done = done
        with self._more:
            self._more.notify_all()
