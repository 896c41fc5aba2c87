"""Starts commands of Spoor as separate processes, which outlive the one that started them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

from spoor.errors import InputError
from spoor.runs import files
from spoor.runs.lock import is_running

BEGIN_SECONDS = 60.0
"""Seconds in which a run has to begin."""
TRY_SECONDS = 90.0
"""Seconds in which pages have to be fetched and judged."""
_LOOK_SECONDS = 0.05
_MOST_OUTPUT = 1 << 20
_MOST_SECRETS = 1 << 14
"""Bytes, which any pipe takes before they are read."""


class Commands:
    """Commands that were started, so that none is left as a zombie."""

    def __init__(self) -> None:
        self._started: list[subprocess.Popen[bytes]] = []

    def begin_run(
        self,
        arguments: Sequence[str],
        path: Path,
        folder: Path,
        secrets: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> None:
        """Begin the run `path`, or go on with it, by a command whose working folder is `folder`;
        returns once the run is going or over. `secrets`: option → values that must not be in a list
        of processes. Raises InputError with the command's message if it refused."""
        with tempfile.TemporaryFile() as output, ExitStack() as pipes:
            handed = {option: pipes.enter_context(_pipe(of)) for option, of in secrets.items()}
            before = _last_change(path)
            process = self._start(
                [*arguments[:1], f"--out={path.absolute()}", "--json"],
                [*(f"{option}=@/dev/fd/{of}" for option, of in handed.items()), *arguments[1:]],
                folder,
                output,
                [*handed.values()],
            )
            for _ in range(int(BEGIN_SECONDS / _LOOK_SECONDS)):
                ended = process.poll()
                if ended is not None and ended != 0 and not _has_begun(path, before):
                    raise InputError(_last_line(output) or _ended(ended))
                if ended is not None or (is_running(path) and _has_begun(path, before)):
                    return
                time.sleep(_LOOK_SECONDS)

    def answer(self, arguments: Sequence[str]) -> dict[str, Any]:
        """The output of a command with `--json`. Raises InputError with its message if it refused,
        or did not end."""
        with tempfile.TemporaryFile() as output:
            process = self._start([*arguments[:2], "--json"], arguments[2:], Path(), output)
            try:
                process.wait(TRY_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise InputError(f"no answer came in {TRY_SECONDS:.0f} s") from None
            line = _last_line(output)
        try:
            answer = json.loads(line)
        except ValueError:
            raise InputError(line or _ended(process.returncode)) from None
        return answer if isinstance(answer, dict) else {}

    def _start(
        self,
        head: Sequence[str],
        rest: Sequence[str],
        folder: Path,
        output: IO[bytes],
        inherited: Sequence[int] = (),
    ) -> subprocess.Popen[bytes]:
        """Raises InputError where the system takes no such command."""
        self._started = [one for one in self._started if one.poll() is None]
        # In a session of its own: Ctrl-C in our terminal is not meant for it. What it prints goes
        # into a file without a name, which ends with it. Nothing is imported from its folder (-P).
        try:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "spoor", *head, *rest],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=inherited,
            )
        except (OSError, ValueError) as error:  # a value that is too long, or has a null byte
            why = getattr(error, "strerror", None) or str(error)
            raise InputError(f"the command cannot be started: {why}") from error
        self._started.append(process)
        return process

    def close(self) -> None:
        """Forget the commands; those that are running go on."""
        for process in self._started:
            if process.poll() is None:
                process.returncode = 0  # or Python would warn of a process that nobody waits for
        self._started.clear()


@contextmanager
def _pipe(lines: Sequence[str]) -> Iterator[int]:
    """The end of a pipe out of which lines are read. Raises InputError for more than fit in."""
    data = "".join(f"{line}\n" for line in lines).encode()
    out, into = os.pipe()
    try:
        with open(into, "wb") as writing:
            if len(data) > _MOST_SECRETS:
                raise InputError(f"secrets of more than {_MOST_SECRETS:,} bytes")
            writing.write(data)
        yield out
    finally:
        os.close(out)


def _has_begun(path: Path, before: float) -> bool:
    return files.is_run(path) and _last_change(path) > before


def _last_change(path: Path) -> float:
    """When the database of a run was changed, in Unix seconds; 0 where there is none."""
    times = [0.0]
    for name in (files.DATABASE, f"{files.DATABASE}-wal", files.SHARDS):
        try:
            times.append(os.stat(path / name).st_mtime)
        except OSError:
            continue
    return max(times)


def _ended(code: int) -> str:
    if code < 0:
        return f"another program ended the command ({signal.strsignal(-code)})"
    return f"the command ended with {code}"


def _last_line(output: IO[bytes]) -> str:
    """Of what a command printed: its message, or its JSON."""
    size = output.seek(0, os.SEEK_END)
    output.seek(max(0, size - _MOST_OUTPUT))
    lines = output.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1].removeprefix("spoor: ") if lines else ""
