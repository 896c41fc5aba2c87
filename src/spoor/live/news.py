"""The files in which a watch tells: `news.jsonl`, the feeds and the digest."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from spoor.errors import InputError
from spoor.files import write_whole
from spoor.formats import digest
from spoor.formats.feeds import json_feed, rss
from spoor.live.changes import Line, json_line, told_line
from spoor.live.sources import Sources
from spoor.runs import files

FEED_ITEMS = 200
"""Newest lines that the feeds hold."""

DIGEST_ITEMS = 1_000
"""Newest lines that the digest holds."""

MOST_LINE = 1 << 24
"""Bytes of a line."""


class NewsFiles:
    """Lines are appended; feeds and digest are written anew by `publish`."""

    def __init__(self, folder: Path, title: str) -> None:
        self.count = 0
        """Lines told so far."""
        self._folder = folder
        self._title = title
        self._recent: deque[Line] = deque(maxlen=DIGEST_ITEMS)
        self._published: tuple[int, list[str]] | None = None

    def recover(self, lines: list[Line], saved: int) -> None:
        """Of the lines that a journal gave again, drop those that an earlier process has written
        after the first `saved` bytes; whatever else is at the end of the file is cut off. Raises
        InputError where a line is none of a watch."""
        path = self._folder / files.NEWS
        try:
            with open(files.open_own(path, os.O_RDWR), "r+b") as file:
                end = 0
                for raw in iter(lambda: file.readline(MOST_LINE), b""):
                    if end >= saved:
                        if not lines or raw != json_line(lines[0]):
                            break
                        del lines[0]
                    elif end + len(raw) > saved:
                        break
                    line = told_line(raw) if raw.endswith(b"\n") else None
                    if line is None:
                        raise InputError(f"{path}: damaged line at {end}; move it away to go on")
                    self._recent.append(line)
                    self.count += 1
                    end += len(raw)
                file.truncate(end)
        except FileNotFoundError:
            return
        except OSError as error:
            raise InputError(f"cannot use {path}: {error.strerror}") from error

    def open(self) -> Callable[[], None]:
        """Open it for more; returns what closes it. Raises InputError."""
        try:
            self._file = (self._folder / files.NEWS).open("ab")
        except OSError as error:
            raise InputError(f"cannot write {self._folder}: {error.strerror}") from error
        return self._file.close

    def append(self, lines: Sequence[Line]) -> int:
        """Write lines; returns the bytes of the file. Raises OSError."""
        for line in lines:
            self._file.write(json_line(line))
        self._file.flush()
        self._recent.extend(lines)
        self.count += len(lines)
        return os.fstat(self._file.fileno()).st_size

    def publish(self, sources: Sources) -> None:
        """Bring the lines onto the disk, and write feeds and digest where they are others now.
        Raises OSError."""
        self._file.flush()
        os.fsync(self._file.fileno())
        silences = sources.silences()
        if self._published == (self.count, silences):
            return
        write_news(self._folder, list(self._recent), self._title, sources)
        self._published = (self.count, silences)

    @property
    def size(self) -> int:
        """Bytes of `news.jsonl`."""
        return os.fstat(self._file.fileno()).st_size


def write_news(folder: Path, lines: Sequence[Line], title: str, sources: Sources) -> None:
    """Feeds and digest of the newest lines, the oldest first. Raises OSError."""
    notes, newest = sources.silences(), lines[-FEED_ITEMS:]
    write_whole(folder / files.FEED, rss(newest, title))
    write_whole(folder / files.JSON_FEED, json_feed(newest, title))
    write_whole(folder / files.DIGEST, digest.markdown(lines, title, notes))
    page = digest.html(lines, title, notes, sources.rows())
    write_whole(folder / files.DIGEST_HTML, page)
