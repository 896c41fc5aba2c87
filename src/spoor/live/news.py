"""The files in which a watch tells: `news.jsonl`, the feeds and the digest."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from spoor.durations import DAY
from spoor.errors import InputError, cannot_write
from spoor.files import write_whole
from spoor.formats import digest
from spoor.formats.feeds import json_feed, rss
from spoor.live.changes import Line, json_line, told_line
from spoor.live.sources import Sources
from spoor.runs import files
from spoor.web.urls import domain_of

FEED_ITEMS = 200
"""Lines that the feeds hold (`by_turns`)."""

DIGEST_ITEMS = 1_000
"""Lines that the digest holds (`by_turns`)."""

MOST_LINE = 1 << 24
"""Bytes of a line."""


class NewsFiles:
    """Lines are appended; feeds and digest are written anew by `publish`."""

    def __init__(self, folder: Path, title: str, home: str) -> None:
        self.count = 0
        """Lines told so far."""
        self._folder = folder
        self._title = title
        self._home = home
        """URL of what is watched."""
        self._recent: list[Line] = []
        """Of which the digest is made; the same after each line, whoever read or wrote it."""
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
                    self._keep(line)
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
            raise cannot_write(self._folder, error) from error
        return self._file.close

    def append(self, lines: Sequence[Line]) -> int:
        """Write lines; returns the bytes of the file. Raises OSError."""
        for line in lines:
            self._file.write(json_line(line))
            self._keep(line)
        self._file.flush()
        return os.fstat(self._file.fileno()).st_size

    def _keep(self, line: Line) -> None:
        self.count += 1
        self._recent.append(line)
        if len(self._recent) >= 2 * DIGEST_ITEMS:
            self._recent = by_turns(self._recent, DIGEST_ITEMS)

    def publish(self, sources: Sources) -> None:
        """Bring the lines onto the disk, and write feeds and digest where they are others now.
        Raises OSError."""
        self._file.flush()
        os.fsync(self._file.fileno())
        silences = sources.silences()
        if self._published == (self.count, silences):
            return
        lines = by_turns(self._recent, DIGEST_ITEMS)
        write_news(self._folder, lines, self._title, sources, self._home)
        self._published = (self.count, silences)

    @property
    def size(self) -> int:
        """Bytes of `news.jsonl`."""
        return os.fstat(self._file.fileno()).st_size


def write_news(
    folder: Path, lines: Sequence[Line], title: str, sources: Sources, home: str = ""
) -> None:
    """Feeds and digest of these lines, the oldest first. Raises OSError."""
    notes, newest = sources.silences(), by_turns(lines, FEED_ITEMS)
    write_whole(folder / files.FEED, rss(newest, title, home))
    write_whole(folder / files.JSON_FEED, json_feed(newest, title, home))
    write_whole(folder / files.DIGEST, digest.markdown(lines, title, notes))
    page = digest.html(lines, title, notes, sources.rows())
    write_whole(folder / files.DIGEST_HTML, page)


def by_turns(lines: Sequence[Line], most: int) -> list[Line]:
    """At most so many of these lines, the oldest first: those of the newest 24 hours before those
    of the 24 hours before them, and of such a day, by turns, the newest of each registrable domain,
    so that none that tells much takes the places of others."""
    if len(lines) <= most:
        return list(lines)
    times = [datetime.fromisoformat(line["found_at"]).timestamp() for line in lines]
    newest, turns = max(times), Counter[tuple[int, str]]()
    places = list[tuple[int, int, int]]()
    for at in reversed(range(len(lines))):
        day = int((newest - times[at]) // DAY)
        place = day, domain_of(lines[at]["url"])
        places.append((day, turns[place], -at))
        turns[place] += 1
    return [lines[at] for at in sorted(-at for _, _, at in sorted(places)[:most])]
