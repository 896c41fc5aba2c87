"""The file of labels: what people say of the pages of a run.

A label is a line that is appended to the file. The process that holds the folder reads it: a
running crawl within a second; if none is running, the process that labels. How far the file was
read, the page's new judgement and the journal's entry become durable in one transaction, so that
each line is read exactly once, whenever a process dies.
"""

from __future__ import annotations

import errno
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from spoor.errors import InputError, cannot_write
from spoor.runs import files

MOST_LINE = 1 << 16
"""Bytes of a label; a longer line is none."""

JUDGE_LEARNS = "judge learns"
"""Note of a watch whose judge learns from labels."""


@dataclass(frozen=True, slots=True)
class Label:
    """What a person said of a page."""

    url: str
    """Canonical."""
    relevant: bool
    was: bool
    """Whether the page was relevant before."""
    running: bool
    """Whether the run is going on, and reads the label within a second. If not, the page's
    judgement changes at once, and who learns from it does when the run goes on."""
    learned: bool
    """Whether the policy of a crawl, or the judge of a watch, learns from labels."""
    recovered: tuple[str, ...] = ()
    """Files into which archived records were moved that the last commit does not know."""
    damaged: tuple[str, ...] = ()
    """A line about each document that is damaged in the archive, so that no file of it is saved."""

    def follows(self, *, is_watch: bool) -> str:
        """What becomes of it in a crawl or a watch, in words."""
        goes_on = f"when the {'watch' if is_watch else 'crawl'} goes on"
        when = "within a second" if self.running else goes_on
        if is_watch:
            learns = (
                f"its judge learns it {when}" if self.learned else "no other page is judged by it"
            )
            return f"{learns}; what was told stays told"
        learns = f"learns it {when}" if self.learned else "does not learn from it"
        return f"its results and report follow, and its policy {learns}"


def write_label(path: Path, url: str, relevant: bool, now: float) -> None:
    """Append a label to those of a run. Raises InputError where it cannot be written."""
    file = files.labels(path)
    line = json.dumps({"url": url, "relevant": relevant, "at": round(now, 3)}).encode() + b"\n"
    try:
        with open(files.open_own(file, os.O_RDWR | os.O_CREAT | os.O_APPEND), "r+b", 0) as opened:
            end = os.fstat(opened.fileno()).st_size
            if end and os.pread(opened.fileno(), 1, end - 1) != b"\n":
                line = b"\n" + line  # after half a line, which a process that died has left
            if opened.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(opened.fileno())
    except OSError as error:
        raise cannot_write(file, error) from error


def read_labels(
    path: Path, start: int = 0, end: int | None = None
) -> tuple[list[tuple[str, bool]], int]:
    """(URL, relevant) of the labels between two bytes of their file, and the byte after the last
    complete line. Lines that are no labels are passed over. Raises InputError where there are more
    than files.MOST_BYTES of them."""
    file = files.labels(path)
    size = files.MOST_BYTES + 1 if end is None else end - start
    try:
        with open(files.open_own(file, os.O_RDONLY), "rb") as opened:
            opened.seek(start)
            data = opened.read(min(size, files.MOST_BYTES + 1))
    except OSError:
        return [], start
    if len(data) > files.MOST_BYTES:
        raise InputError(f"{file} is damaged: it has more than {files.MOST_BYTES:,} bytes")
    lines, newline, _ = data.rpartition(b"\n")
    labels = [label for line in lines.split(b"\n") if (label := _label(line)) is not None]
    return labels, start + len(lines) + len(newline)


def _label(line: bytes) -> tuple[str, bool] | None:
    """(URL, relevant) of a line; None where it is no label, however it is made."""
    with suppress(ValueError, LookupError, TypeError, RecursionError):
        row = json.loads(line[:MOST_LINE])
        return str(row["url"]), bool(row["relevant"])
    return None
