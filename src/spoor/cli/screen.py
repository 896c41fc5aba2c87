"""What commands show while they work: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

_BLOCKS = " ▁▂▃▄▅▆▇█"
PLAIN_EVERY = 10.0
"""Seconds between two plain lines."""


@contextmanager
def progress(
    what: str, total: int | None, *, quiet: bool = False
) -> Iterator[Callable[[int, int], None]]:
    """Yields `tell(done, found)`; shows rate, found and time left on standard error."""
    console = Console(stderr=True)
    if quiet:
        yield lambda done, found: None
    elif console.is_terminal:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("found {task.fields[found]}"),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(what, total=total, found=0)
            yield lambda done, found: bar.update(task, completed=done, found=found)
    else:
        yield _plain(what, total)


def _plain(what: str, total: int | None) -> Callable[[int, int], None]:
    began = last = time.monotonic()

    def tell(done: int, found: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < PLAIN_EVERY:
            return
        last = now
        rate = done / (now - began)
        left = f", {(total - done) / rate:.0f} s left" if total and rate else ""
        of = f" of {total}" if total else ""
        print(f"{done}{of} {what}, {rate:.1f} a second, found {found}{left}", file=sys.stderr)  # noqa: T201

    return tell


def sparkline(values: Sequence[float], width: int = 60) -> str:
    """A curve in one line of text."""
    if not values or max(values) <= 0:
        return ""
    step = max(1, len(values) // width)
    top = max(values)
    return "".join(_BLOCKS[round(value / top * 8)] for value in values[::step])
