"""The pages of a run as rows, a few at a time, while it goes on or after."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from spoor.formats.warc_reader import page_at
from spoor.runs import files
from spoor.runs.database import reading
from spoor.runs.schema import read_settings

CHUNK = 500
"""Rows that are read at once: a crawl that goes on waits for no reader longer than that."""


def rows_of(run: Path, *, everything: bool = False, text: bool = False) -> Iterator[dict[str, Any]]:
    """The relevant pages of a run, or all, in the order of fetching, as `spoor.formats.export`
    wants them; with `text`, what is visible of each, out of its archive.

    What is fetched meanwhile is left out. Raises InputError, before the first row, where there is
    no run.
    """
    read_settings(run)
    with reading(run) as db:
        last = db.execute("SELECT coalesce(max(seq), 0) FROM pages").fetchone()[0]
    return _rows(run, last, everything, text)


def _rows(run: Path, last: int, everything: bool, text: bool) -> Iterator[dict[str, Any]]:
    done = 0
    # A run in shards is read into a database of our own, which no crawl waits for.
    with ExitStack() as own:
        db = own.enter_context(reading(run)) if files.shards(run) else None
        while done < last:
            found = _some(run, db, done, last, everything)
            if not found:
                return
            for row in found:
                yield _row(run, row, text)
            done = found[-1]["seq"]


def _some(
    run: Path, own: sqlite3.Connection | None, done: int, last: int, everything: bool
) -> list[sqlite3.Row]:
    which = "" if everything else " AND relevant"
    query = f"SELECT * FROM pages WHERE seq > ? AND seq <= ?{which} ORDER BY seq LIMIT ?"
    with reading(run) if own is None else nullcontext(own) as db:
        return db.execute(query, (done, last, CHUNK)).fetchall()


def _row(run: Path, row: sqlite3.Row, text: bool) -> dict[str, Any]:
    path = json.loads(row["path"])
    archive = None if row["warc_file"] is None else (row["warc_file"], row["warc_offset"])
    told: dict[str, Any] = {
        "url": row["url"],
        "title": row["title"],
        "score": row["score"],
        "relevant": bool(row["relevant"]),
        "status": row["status"],
        "host": row["host"],
        "fetched_at": datetime.fromtimestamp(row["at"], UTC).isoformat(timespec="milliseconds"),
        "size": row["size"],
        "depth": max(0, len(path) - 1),
        "path": path,
        "why": [{"reason": reason, "share": share} for reason, share in json.loads(row["why"])],
        "probability": row["probability"],
        "flags": row["flags"].split(),
        "archive": archive,
    }
    if text:
        page = None
        if archive is not None:
            page = page_at(run / row["warc_file"], row["warc_offset"], row["warc_length"])
        told["text"] = "" if page is None else page.text
    return told
