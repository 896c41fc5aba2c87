"""Progress of commands: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from spoor.display import shown

_BLOCKS = " ▁▂▃▄▅▆▇█"
PLAIN_EVERY = 10.0
"""Seconds between two plain lines."""


class ReportProgress(Protocol):
    def __call__(self, done: int, found: int | None = None, /) -> None: ...


def say(message: str) -> None:
    """Print a line for a person; it may quote text from the web."""
    print(shown(message), file=sys.stderr, flush=True)  # noqa: T201


@contextmanager
def progress(what: str, total: int | None, *, quiet: bool = False) -> Iterator[ReportProgress]:
    """Yields `report_progress(done, found)`, which shows rate, found and time left on standard
    error."""
    from rich.console import Console

    console = Console(stderr=True)
    if quiet:
        yield lambda done, found=None: None
    elif console.is_terminal:
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[found]}"),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(what, total=total, found="")
            yield lambda done, found=None: bar.update(task, completed=done, found=_found(found))
    else:
        yield _plain(what, total)


def _found(count: int | None) -> str:
    return "" if count is None else f"found {count}"


def _plain(what: str, total: int | None) -> ReportProgress:
    began = last = time.monotonic()
    before: int | None = None

    def report_progress(done: int, found: int | None = None) -> None:
        nonlocal last, before
        if before is None:
            before = done  # done before the start: not part of the rate
        now = time.monotonic()
        if now - last < PLAIN_EVERY:
            return
        last = now
        rate = (done - before) / (now - began)
        fields = [f"{done}{f' of {total}' if total else ''} {what}", f"{rate:.1f} a second"]
        if found is not None:
            fields.append(_found(found))
        if total and rate:
            fields.append(f"{(total - done) / rate:.0f} s left")
        print(", ".join(fields), file=sys.stderr)  # noqa: T201

    return report_progress


def sparkline(values: Sequence[float], width: int = 60) -> str:
    """A curve in one line of text."""
    if not values or max(values) <= 0:
        return ""
    step = max(1, len(values) // width)
    top = max(values)
    return "".join(_BLOCKS[round(value / top * 8)] for value in values[::step])
