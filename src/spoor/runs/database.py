"""The database of a run, opened to look at only."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spoor.errors import InputError
from spoor.runs import files, shards
from spoor.runs.recovery import read_mark, refuse_loss, telling
from spoor.runs.schema import check_format, read_settings, refuse_programs
from spoor.web.validators import Validators

MOST_TOGETHER = 1 << 24
"""Bytes of rows that are in memory at once: many rows may lead to one long text in the file."""


@contextmanager
def reading(path: Path, *, states: bool = False) -> Iterator[sqlite3.Connection]:
    """The database of a run, to look at only; whoever writes it is not disturbed. That of a run in
    shards is made of theirs, in O(pages). `states`: values may be longer than
    `spoor.runs.files.MOST_VALUE`, as those of states and journals are.

    Raises InputError where there is none, where it is of another format, or where it cannot be
    read.
    """
    files.refuse_links(path)
    mark = read_mark(path)
    file = path / files.DATABASE
    with telling(path):
        if file.exists():
            db = shards.connect(file)
            if not states:
                db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, files.MOST_VALUE)
        elif files.shards(path) or (files.is_run(path) and read_settings(path).shards):
            db = shards.merged(path)
        else:
            raise InputError(f"{path} is no run: it has no {files.DATABASE}")
        try:
            if file.exists():
                refuse_programs(file, db)
                if known := db.execute("PRAGMA user_version").fetchone()[0]:
                    check_format(file, known, to_read=True)
                    refuse_loss(path, mark, db)
            yield db
        finally:
            db.close()


def some_rows(cursor: sqlite3.Cursor) -> list[sqlite3.Row]:
    """The next rows of a query, as many as come to `MOST_TOGETHER`, at least one if there is
    one."""
    rows, left = list[sqlite3.Row](), MOST_TOGETHER
    for row in cursor:
        rows.append(row)
        left -= shards.size_of(row)
        if left <= 0:
            break
    return rows


def noted(db: sqlite3.Connection, name: str) -> str | None:
    """The note under a name in the database of a run."""
    row = db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return None if row is None else str(row[0])


def has_table(db: sqlite3.Connection, name: str) -> bool:
    """Whether a database has a table, which older runs may lack."""
    known = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    return db.execute(known, (name,)).fetchone() is not None


def validators_of(db: sqlite3.Connection, url: str) -> Validators | None:
    """Of the newest document of a URL, from a database that has the table of them."""
    found = "SELECT etag, last_modified FROM validators WHERE url = ?"
    row = db.execute(found, (url,)).fetchone()
    return None if row is None else Validators.checked(*row)


BROKE_OFF = ("", "")
"""In place of validators: the newest document of a URL is part of one."""


def broke_off(db: sqlite3.Connection, url: str) -> bool:
    """Whether the newest document of a URL is part of one, from such a database."""
    found = "SELECT etag, last_modified FROM validators WHERE url = ?"
    return bool(db.execute(found, (url,)).fetchone() == BROKE_OFF)
