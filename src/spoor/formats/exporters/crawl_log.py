"""A log of requests in the twelve fields of Heritrix's crawl.log, a line each."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from pathlib import Path

from spoor.formats.exporters.columns import Options, Row

_CODES = {"robots": -9998, "timeout": -4, "connection": -2, "blocked": -5000, "skipped": -5000}
"""Heritrix's codes of what brought no status."""
_OTHER = -5
"""Its code of what it has none for."""


def write(rows: Iterable[Row], path: Path, options: Options) -> int:
    """Time of the end, status or Heritrix's code, bytes, URL, a letter `L` for each link from the
    seed, then `E` for what a page needs to be shown and `R` for where that redirects, the page that
    it was found on, media type and thread (unknown), time of the beginning and milliseconds, digest
    and seed (unknown), and what came of it. Returns how many."""
    count = 0
    with path.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
        for row in rows:
            file.write(_line(row) + "\n")
            count += 1
    return count


def write_without(source: Path, path: Path, urls: Collection[str]) -> int:
    """Copy a log without the lines of these URLs; returns how many went. Raises ValueError where it
    is none."""
    count = 0
    with source.open(encoding="utf-8") as lines, path.open("w", encoding="utf-8") as file:
        for line in lines:
            fields = line.split()
            if len(fields) != 12:
                raise ValueError("a line of it has not twelve fields")
            if fields[3] in urls:
                count += 1
            else:
                file.write(line)
    return count


def _line(row: Row) -> str:
    ended = datetime.fromisoformat(row["fetched_at"]).astimezone(UTC)
    status, seconds = row["status"], row.get("seconds")
    code = _CODES.get(row["outcome"], _OTHER) if status is None else status
    began = "-"
    if seconds is not None:
        begin = datetime.fromtimestamp(ended.timestamp() - seconds, UTC)
        began = f"{begin:%Y%m%d%H%M%S}{begin.microsecond // 1000:03}+{round(1000 * seconds)}"
    said = row["outcome"] if row.get("reason") is None else f"{row['outcome']}:{row['reason']}"
    size = "-" if row.get("size") is None else str(row["size"])
    fields = (
        f"{ended:%Y-%m-%dT%H:%M:%S}.{ended.microsecond // 1000:03}Z",
        f"{code:>5}",
        f"{size:>10}",
        _word(row["url"]),
        row.get("hops") or "L" * (row.get("depth") or 0) or "-",
        _word(row.get("found_on") or "-"),
        *("-", "-", began, "-", "-"),
        _word(said),
    )
    return " ".join(fields)


def _word(text: str) -> str:
    """A text as one field."""
    return re.sub(r"[\s\x00-\x1f\x7f-\x9f]+", "_", text)
