"""What is in a run's folder: the tables of its database, and its settings as a file."""

from __future__ import annotations

import os
import re
import sqlite3
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import tomli_w

from spoor.errors import InputError
from spoor.files import toml_of, write_whole
from spoor.runs import files
from spoor.settings import Settings

FORMAT = 8
"""Of a run's folder. 2: a watch keeps a journal, as a crawl does. 3: the state of `trail` is of
arrays where it was of lists. 4: settings and states name their parts by the field's terms.
5: URLs and words are known by BLAKE2b where they were by CRC-32. 6: what waits, and what was tried,
is kept by domain. 8: what waits has one form, whatever holds it back; no table is made later."""

_READ = (7,)
"""Formats before it whose settings and rows are the same: what they found is read and exported, and
only their saved crawls are of another one."""

TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE pages (
    seq INTEGER PRIMARY KEY, url TEXT NOT NULL, host TEXT NOT NULL, status INTEGER, time REAL,
    seconds REAL, size INTEGER, score REAL, relevant INTEGER, title TEXT, path TEXT, why TEXT,
    probability REAL, choice_why TEXT, warc_file TEXT, warc_offset INTEGER, warc_length INTEGER,
    ticket INTEGER NOT NULL UNIQUE, flags TEXT NOT NULL);
CREATE TABLE failures (
    seq INTEGER PRIMARY KEY, url TEXT NOT NULL, host TEXT NOT NULL, kind TEXT, reason TEXT,
    status INTEGER, time REAL, ticket INTEGER NOT NULL UNIQUE);
CREATE TABLE journal (seq INTEGER PRIMARY KEY, events BLOB NOT NULL);
CREATE TABLE checkpoints (
    generation INTEGER PRIMARY KEY, time REAL, requests INTEGER, seq INTEGER NOT NULL,
    settings TEXT NOT NULL, state BLOB NOT NULL);
CREATE TABLE ends (
    seq INTEGER NOT NULL, pages INTEGER NOT NULL, failures INTEGER NOT NULL, warc TEXT NOT NULL);
INSERT INTO ends VALUES (0, 0, 0, '{}');
CREATE TABLE validators (
    url TEXT PRIMARY KEY, etag TEXT NOT NULL, last_modified TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE freshness (
    url TEXT PRIMARY KEY, until REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE renders (
    ticket INTEGER PRIMARY KEY, host TEXT, shape TEXT, lack TEXT, why TEXT, links INTEGER,
    words INTEGER, text INTEGER, relevant INTEGER, gain REAL, seconds REAL, requests INTEGER,
    received INTEGER, held_back INTEGER, failed TEXT);
CREATE TABLE rendered (url TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE redirected_seeds (
    seed TEXT PRIMARY KEY, ticket INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE chunks (number INTEGER PRIMARY KEY, data BLOB NOT NULL);
"""

_PLAIN_TABLE = re.compile(r"CREATE TABLE \w+ ?\([\w\s,]*\)( WITHOUT ROWID)?")
"""Of words alone: without an expression, which stands in parentheses, and without a name in quotes,
which may be SQL itself."""


def as_kept(path: Path, settings: Settings) -> Settings:
    """Settings as the run folder `path` keeps them: the working folder as seen from there, so that
    both can be moved together."""
    if not settings.folder:
        return settings
    return replace(settings, folder=os.path.relpath(settings.folder, path))


def read_settings(path: Path, *, to_read: bool = True) -> Settings:
    """The settings of a run. Raises InputError where there is none, where they are of another
    format (`check_format`), and as `Settings.from_dict` does."""
    files.refuse_links(path)
    try:
        text = files.read_own(path / files.SETTINGS, files.MOST_SETTINGS)
        return (_usual_settings if len(text) <= _USUAL else _long_settings)(path, text, to_read)
    except OSError as error:
        raise InputError(f"{path} is no run: it has no {files.SETTINGS}") from error
    except ValueError as error:
        raise InputError(f"{path / files.SETTINGS} is damaged: {error}") from error


_USUAL = 1 << 16
"""Characters of a file whose settings are kept beside those of seven others, and longer ones by
themselves: a run is looked at again and again, and one of 150,000 seeds takes a second to read."""


def _settings(path: Path, text: str, to_read: bool) -> Settings:
    return from_tables(path, toml_of(text), to_read=to_read)


_usual_settings, _long_settings = lru_cache(8)(_settings), lru_cache(1)(_settings)


def write_settings(path: Path, settings: Settings) -> None:
    """Write the settings of a run into its folder. Raises OSError."""
    write_whole(path / files.SETTINGS, tomli_w.dumps(to_tables(settings)))


def to_tables(settings: Settings) -> dict[str, Any]:
    """Settings with the format of the run, as TOML and JSON can hold them."""
    return {"format": FORMAT, **settings.to_dict()}


def from_tables(path: Path, tables: dict[str, Any], *, to_read: bool = False) -> Settings:
    """The settings of the run in a folder, of what `to_tables` gave."""
    if "format" not in tables or not isinstance(tables.get("crawl"), dict):
        raise InputError(f"{path / files.SETTINGS} is damaged: it is not that of a run")
    check_format(path, tables.pop("format"), to_read=to_read)
    return Settings.from_dict(tables, str(path / files.SETTINGS))


def refuse_programs(file: Path, db: sqlite3.Connection) -> None:
    """Raises InputError where a database holds more than plain tables: triggers, views, checks and
    computed columns are programs of whoever made it."""
    for name, sql in db.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"):
        if not isinstance(sql, str) or not _PLAIN_TABLE.fullmatch(sql):
            raise InputError(f"{file} is damaged: it holds {name!r}, which no run makes")


def check_format(path: Path, known: object, *, to_read: bool = False) -> None:
    """Raises InputError where the format of a folder or database is not that of this version.
    `to_read`: nobody goes on with it, so that its rows are enough."""
    if known != FORMAT and not (to_read and known in _READ):
        raise InputError(
            f"{path} is of run format {known}; this Spoor writes {FORMAT}; "
            "use the version that began it, or another --out; any version reads its archive "
            "(spoor web import)"
        )
