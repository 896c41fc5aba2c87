"""A SQLite file with a table of the pages and full-text search (FTS5) over their words."""

from __future__ import annotations

import errno
import json
import re
import shutil
import sqlite3
from collections.abc import Collection, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from spoor.errors import InputError
from spoor.formats.exporters.columns import Options, Row, plain

_KINDS = {"float64": "REAL", "bool": "INTEGER", "int32": "INTEGER", "int64": "INTEGER"}

_SEARCHED = ("title", "text", "markdown")

_OF_DISK = dict.fromkeys(
    (sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY), errno.ENOSPC
) | {sqlite3.SQLITE_IOERR: errno.EIO}
"""What SQLite says of a new file → what the disk did. It says that it cannot open a file, or only
read it, where there is no room for the one beside it."""

_INDEX = "CREATE INDEX pages_by_url ON pages (url)"
_PAGES = re.compile(
    r'CREATE TABLE pages \(id INTEGER PRIMARY KEY(?:, "\w+" (?:REAL|INTEGER|TEXT))+\)'
)
_SEARCH = re.compile(
    r"CREATE VIRTUAL TABLE search USING fts5\([a-z]+(?:, [a-z]+)*, content='pages', "
    r"content_rowid='id', tokenize='unicode61 remove_diacritics 2'\)"
)


def write(rows: Iterable[Row], path: Path, options: Options) -> int:
    """The table `pages`, lists as JSON, and `search`, which finds in title and text:
    `SELECT url FROM pages JOIN search ON search.rowid = pages.id WHERE search MATCH 'kiln'`.
    Returns how many rows."""
    columns = options.columns
    typed = [f"{_quoted(name)} {_KINDS.get(kind, 'TEXT')}" for name, kind in columns.items()]
    searched = [name for name in _SEARCHED if name in columns]
    db = sqlite3.connect(path, isolation_level=None)
    try:
        # The file is thrown away where this process dies, so nothing has to wait for the disk.
        db.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-8000")
        db.execute("BEGIN")
        db.execute(f"CREATE TABLE pages (id INTEGER PRIMARY KEY, {', '.join(typed)})")
        db.execute(
            f"CREATE VIRTUAL TABLE search USING fts5({', '.join(searched)}, content='pages', "
            "content_rowid='id', tokenize='unicode61 remove_diacritics 2')"
        )
        marks = ", ".join("?" * (len(columns) + 1))
        words = (
            f"INSERT INTO search(rowid, {', '.join(searched)}) VALUES (?{', ?' * len(searched)})"
        )
        count = 0
        for row in rows:
            values = {name: _stored(value) for name, value in plain(row, columns).items()}
            count += 1
            inserted = (count, *(values.get(name) for name in columns))
            db.execute(f"INSERT INTO pages VALUES ({marks})", inserted)
            db.execute(words, (count, *(values.get(name) for name in searched)))
        db.execute(_INDEX)
        db.execute("COMMIT")
    except sqlite3.Error as error:
        number = _OF_DISK.get((getattr(error, "sqlite_errorcode", None) or 0) & 0xFF)
        if number is not None:
            raise OSError(number, str(error)) from error
        raise InputError(f"cannot write {path.name}: {error}") from error
    finally:
        db.close()
    return count


def write_without(source: Path, path: Path, urls: Collection[str]) -> int:
    """Copy a file without the rows of these URLs; returns how many went. Raises ValueError and
    sqlite3.Error where it is no export."""
    shutil.copyfile(source, path)
    count = 0
    with closing(sqlite3.connect(path)) as db:
        db.executescript("PRAGMA trusted_schema=OFF; PRAGMA journal_mode=OFF")
        if not _is_ours(db):  # triggers, views and checks are programs of whoever made it
            raise ValueError("it holds other tables than an export")
        for url in urls:
            count += db.execute("DELETE FROM pages WHERE url = ?", (url,)).rowcount
        if count:
            db.execute("INSERT INTO search(search) VALUES ('rebuild')")
            db.commit()
            db.execute("VACUUM")
    return count


def _is_ours(db: sqlite3.Connection) -> bool:
    """Whether a database has the tables that `write` makes, and nothing else: no trigger, view,
    check or computed column. Raises sqlite3.Error where it cannot be read."""
    query = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"
    made = {sql for (sql,) in db.execute(query)}
    own = [sql for sql in made if _PAGES.fullmatch(sql) or _SEARCH.fullmatch(sql)]
    with closing(sqlite3.connect(":memory:")) as like:
        for sql in sorted(own):
            like.execute(sql)
        return len(own) == 2 and made == {_INDEX, *(sql for (sql,) in like.execute(query))}


def _stored(value: Any) -> Any:
    if isinstance(value, list | dict):
        value = json.dumps(value, ensure_ascii=False)
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
