"""The database of a run, opened to look at only."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spoor.errors import InputError
from spoor.runs import files, shards
from spoor.runs.schema import read_settings


def noted(db: sqlite3.Connection, name: str) -> str | None:
    """What a run's database notes under a name."""
    row = db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return None if row is None else str(row[0])


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """The database of a run, to look at only; whoever writes it is not disturbed. Of a run in
    shards it is made of theirs, in O(pages).

    Raises InputError where there is none, or where it cannot be read.
    """
    file = path / files.DATABASE
    if not file.exists() and (folders := files.shards(path)):
        db = shards.merged(folders)
        try:
            yield db
        finally:
            db.close()
        return
    if not file.exists():
        if files.is_run(path) and read_settings(path).shards:
            raise shards.just_begun(path)
        raise InputError(f"{path} is no run: it has no {files.DATABASE}")
    db = sqlite3.connect(shards.to_look_at(file), uri=True)
    db.row_factory = sqlite3.Row
    try:
        yield db
    except sqlite3.Error as error:
        raise InputError(f"{file} cannot be read: {error}") from error
    finally:
        db.close()
