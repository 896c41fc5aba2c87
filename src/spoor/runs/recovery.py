"""Opening a run: is it undamaged, and back to its last commit after a crash.

Whatever cannot be used is refused in one line that names the file.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spoor.errors import InputError
from spoor.files import write_whole
from spoor.runs import files
from spoor.runs.schema import check_format


@dataclass(slots=True)
class Ends:
    """How far a run was committed."""

    seq: int
    """Entries of the journal, as are `pages` and `failures` rows of their tables."""
    pages: int
    failures: int
    warc: dict[str, int]
    """File of the archive → bytes."""


def damaged(path: Path, what: str) -> InputError:
    """Of a database that cannot be used."""
    file = path / files.DATABASE
    return InputError(
        f"{file} cannot be used ({what}); put it back from a copy or choose another --out"
    )


def check_database(path: Path, db: sqlite3.Connection) -> bool:
    """Whether a run is in the database; False for a new one. Raises InputError where it is damaged
    or of another format."""
    known = db.execute("PRAGMA user_version").fetchone()[0]
    if not known and not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        return False
    check_format(path / files.DATABASE, known)
    problem = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    if problem != "ok":
        raise damaged(path, problem)
    return True


def refuse_leftovers(path: Path) -> None:
    """Raises InputError where a folder without a state holds other parts of a run."""
    for file in (path / files.SETTINGS, *files.archives(path)):
        if file.exists() and file.stat().st_size:
            raise damaged(path, f"no state in it, but {file.name} is there")


def committed(path: Path, db: sqlite3.Connection) -> Ends:
    """How far the last commit came. Raises InputError where rows are missing."""
    seq, pages, failures, warc = db.execute("SELECT * FROM ends").fetchone()
    for table, rows in (("pages", pages), ("failures", failures)):
        stored = db.execute(f"SELECT count(*), coalesce(max(seq), 0) FROM {table}").fetchone()
        if stored != (rows, rows):
            raise damaged(path, f"its table {table} does not hold the {rows} rows committed")
    return Ends(seq, pages, failures, json.loads(warc))


def cut_archives(path: Path, ends: Mapping[str, int]) -> None:
    """Drop what was archived after the last commit: it will be fetched again."""
    for file in files.archives(path):
        if file.name not in ends:
            file.unlink()
    for name, end in ends.items():
        file = path / name
        size = file.stat().st_size if file.exists() else 0
        if size < end:
            raise InputError(
                f"{file} is damaged: {size} of the {end} bytes committed are left; put it back "
                "from a copy or choose another --out"
            )
        if size > end:
            os.truncate(file, end)


def result_line(url: str, score: float, title: str, path: list[str], why: list[Any]) -> str:
    """A relevant page as the results of a run tell it."""
    line = {"url": url, "score": round(score, 4), "title": title, "path": path, "why": why}
    return json.dumps(line, ensure_ascii=False) + "\n"


def mend_results(path: Path, db: sqlite3.Connection) -> None:
    """Make the results say what the database says."""
    rows = db.execute("SELECT url, score, title, path, why FROM pages WHERE relevant ORDER BY seq")
    lines = "".join(
        result_line(url, score, title, json.loads(links), json.loads(why))
        for url, score, title, links, why in rows
    ).encode()
    file = path / files.RELEVANT
    if not file.exists() or file.read_bytes() != lines:
        write_whole(file, lines)


def journal_after(path: Path, db: sqlite3.Connection, seq: int, last: int) -> Iterator[bytes]:
    """The journal's entries after number `seq`. Raises InputError where one is missing before
    the `last`."""
    expected = seq
    for number, events in db.execute(
        "SELECT seq, events FROM journal WHERE seq > ? ORDER BY seq", (seq,)
    ):
        expected += 1
        if number != expected:
            break
        yield events
    else:
        if expected == last:
            return
    raise damaged(path, f"entry {expected} of its journal is missing")
