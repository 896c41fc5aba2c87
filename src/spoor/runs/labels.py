"""What people say of the pages of a run, while it runs or after.

Whoever labels a page appends a line to the labels in the run's folder. The process that holds the
folder takes it in: a running crawl within a second, and where none runs, whoever labelled. How far
it read that file, the page's new judgement and the journal's entry become durable in one
transaction, so that each line is taken in exactly once, whenever a process dies.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from spoor.errors import InputError
from spoor.runs import files


@dataclass(frozen=True, slots=True)
class Label:
    """What a person said of a page."""

    url: str
    """Canonical."""
    relevant: bool
    was: bool
    """As it was judged until then."""
    running: bool
    """A crawl is running, and takes it in within a second; if not, the page is judged anew at once
    and the policy learns it when the crawl goes on."""
    learned: bool
    """Whether the policy is one that learns from it."""


def write_label(path: Path, url: str, relevant: bool, now: float) -> None:
    """Append a label to those of a run. Raises InputError where it cannot be written."""
    line = {"url": url, "relevant": relevant, "at": round(now, 3)}
    try:
        file = os.open(path / files.LABELS, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(file, json.dumps(line).encode() + b"\n")
            os.fsync(file)
        finally:
            os.close(file)
    except OSError as error:
        raise InputError(f"cannot write {path / files.LABELS}: {error.strerror}") from error


def read_labels(
    path: Path, start: int = 0, end: int | None = None
) -> tuple[list[tuple[str, bool]], int]:
    """(URL, relevant) of the labels between two bytes of their file, and the byte after the last
    complete line. Lines that are no labels are passed over."""
    try:
        with (path / files.LABELS).open("rb") as file:
            file.seek(start)
            lines, newline, _ = file.read(-1 if end is None else end - start).rpartition(b"\n")
    except OSError:
        return [], start
    labels = []
    for line in lines.splitlines():
        with suppress(ValueError, LookupError, TypeError):
            row = json.loads(line)
            labels.append((str(row["url"]), bool(row["relevant"])))
    return labels, start + len(lines) + len(newline)
