"""Opening a run: is it undamaged, and back to its last commit after a crash.

Whatever cannot be used is refused in one line that names the file.
"""

from __future__ import annotations

import json
import os
import shlex
import sqlite3
import tempfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from spoor.display import quiet_json, shown
from spoor.errors import (
    DAMAGED,
    ROOM,
    DiskError,
    InputError,
    in_one_line,
    mend_of_disk,
    taking_in,
)
from spoor.files import sync_folder, write_whole
from spoor.runs import files
from spoor.runs.schema import check_format, refuse_programs


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
        f"{file} cannot be used ({in_one_line(what)}); "
        "put it back from a copy or choose another --out"
    )


@contextmanager
def telling(path: Path) -> Iterator[None]:
    """What goes wrong within it goes wrong for what stands in the database of a run, which may come
    from a stranger: any value in any place. Raises InputError for it, and DiskError where SQLite
    cannot write what it needs."""
    mend = (
        "it is damaged, or another version of Spoor began the run: put it back from a copy, go on "
        "with that version, or choose another --out"
    )
    file = str(path / files.DATABASE)
    with taking_in(file, mend, sqlite3.Error):
        try:
            yield
        except sqlite3.OperationalError as error:
            if why := of_disk(error, path):
                raise DiskError(f"{file} cannot be used ({error}): {why}") from error
            raise


@contextmanager
def going_on(path: Path) -> Iterator[None]:
    """Within it a run goes on from a state, which may come from a stranger: what fails later, and
    is no error of Spoor's own, may have been in it from the beginning. Raises InputError for it."""
    mend = (
        "it is damaged, another version of Spoor began the run, or this is a fault of Spoor's: put "
        "it back from a copy, or choose another --out"
    )
    try:
        yield
    except DAMAGED as error:
        if isinstance(error, MemoryError):  # of the machine: the run is paused
            raise
        with taking_in(str(path / files.DATABASE), mend):
            raise


_DISK = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
_READING = (
    *(sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_IOERR_SHORT_READ),
    sqlite3.SQLITE_IOERR_CORRUPTFS,
)
"""Of the latter: what is read, which may be damaged."""
_OPENING = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
_TRIED = 1 << 16
"""Bytes, more than SQLite needs beside a database that it reads."""


def may_lack_room(error: Exception) -> bool:
    """Whether SQLite could perhaps not write what it needs, be it for reading alone."""
    code = getattr(error, "sqlite_errorcode", None) or 0
    return code & 0xFF in (*_DISK, *_OPENING) and code not in _READING


def of_disk(error: Exception, folder: Path) -> str:
    """Why, and how to mend it, where SQLite could not write in a folder what it needs, be it for
    reading alone: nothing is damaged. Empty where it is due to what stands there: SQLite does not
    say why it cannot open a file, so that it is tried whether anything can be written."""
    if not may_lack_room(error):
        return ""
    why, mend = "its disk is full or fails", ROOM
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            if file.write(bytes(_TRIED)) == _TRIED:
                os.fsync(file.fileno())
                if getattr(error, "sqlite_errorcode", 0) & 0xFF in _OPENING:
                    return ""
    except OSError as found:
        why = str(found.strerror)
        mend = mend_of_disk(found) or "make it writable, and give the same command again"
    return f"{why}; {mend}"


def check_database(path: Path, db: sqlite3.Connection) -> bool:
    """Whether a run is in the database; False for a new one. Raises InputError where it is damaged
    or of another format."""
    db.execute("PRAGMA trusted_schema=OFF")
    known = db.execute("PRAGMA user_version").fetchone()[0]
    if not known and not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        return False
    check_format(path / files.DATABASE, known)
    refuse_programs(path / files.DATABASE, db)
    problem = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    if problem != "ok":
        raise damaged(path, str(problem))
    return True


def refuse_leftovers(path: Path) -> None:
    """Raises InputError where a folder without a state holds other parts of a run."""
    for file in (path / files.SETTINGS, *files.archives(path)):
        if file.exists() and file.stat().st_size:
            raise damaged(path, f"no state in it, but {file.name} is there")


_MOST_COMMITS = 1 << 60


def committed(path: Path, db: sqlite3.Connection) -> Ends:
    """How far the last commit came. Raises InputError where rows are missing."""
    warc = refuse_loss(path, read_mark(path), db)
    seq, pages, failures = db.execute("SELECT seq, pages, failures FROM ends").fetchone()
    last = db.execute("SELECT coalesce(max(seq), 0) FROM journal").fetchone()[0]
    if not isinstance(seq, int) or not last <= seq < _MOST_COMMITS:
        raise damaged(path, f"{shown(str(seq)[:40])} is the number of no last commit")
    for table, rows in (("pages", pages), ("failures", failures)):
        gone = forgotten(db, table)
        count, last = db.execute(f"SELECT count(*), coalesce(max(seq), 0) FROM {table}").fetchone()
        if count + gone != rows or (last != rows and not gone):
            raise damaged(path, f"its table {table} does not hold the {rows} rows committed")
    return Ends(seq, pages, failures, warc)


def refuse_loss(path: Path, mark: int, db: sqlite3.Connection) -> dict[str, int]:
    """File of the archive → bytes that were committed. Raises InputError where the folder has lost
    some of them, commits up to that of the mark, or where its database is that of another shard or
    run (versions before noted neither)."""
    _refuse_lost_log(path, mark, db)
    of = dict(db.execute("SELECT name, value FROM meta WHERE name IN ('shard', 'run')").fetchall())
    run = read_identity(path.parent) if "run" in of else ""
    number = of.get("shard")
    wrong = number is not None and path.resolve().name != files.shard(path, number).name
    if wrong or (run and run != of["run"]):
        whose = f"shard {number} of a run" if wrong else "a shard of another run"
        raise InputError(
            f"{path} holds what {whose} fetched: folders of shards were mixed up; put each back "
            "where it was, from a copy if need be, or choose another --out"
        )
    return _archive_ends(path, db)


def read_identity(path: Path) -> str:
    """What was drawn for a run in shards; empty where it was not, as before there was one."""
    try:
        return files.read_own(path / files.IDENTITY, 1 << 10)
    except (OSError, ValueError):
        return ""


def _archive_ends(path: Path, db: sqlite3.Connection) -> dict[str, int]:
    """File of the archive → bytes that were committed. Raises InputError where that is not what
    stands there, or where a file has lost some of them."""
    ends: dict[str, int] = json.loads(db.execute("SELECT warc FROM ends").fetchone()[0])
    for name, end in ends.items():
        file = files.archive_at(path, name)
        if not isinstance(end, int) or end < 0:
            raise damaged(path, f"{name} cannot end at {end!r}")
        size = file.stat().st_size if file.exists() else 0
        if size < end:
            raise InputError(
                f"{file} is damaged: {size} of the {end} bytes committed are left; put it back "
                "from a copy or choose another --out"
            )
    return ends


def forgotten(db: sqlite3.Connection, table: str) -> int:
    """How many rows of a table were taken out of it (`spoor.runs.forget`)."""
    row = db.execute("SELECT value FROM meta WHERE name = ?", (f"forgotten {table}",)).fetchone()
    return 0 if row is None else int(row[0])


def swapped_archives(db: sqlite3.Connection) -> list[str]:
    """Files of the archive of which one is to replace another; none where that was completed."""
    row = db.execute("SELECT value FROM meta WHERE name = 'swapped'").fetchone()
    return [] if row is None else [str(name) for name in json.loads(row[0])]


def read_mark(path: Path) -> int:
    """The number of the last commit as it stands beside the database (`write_mark`); 0 where it
    does not, or not whole. It has to be read before the database is."""
    try:
        return int(files.read_own(path / files.COMMITTED))
    except (OSError, ValueError):
        return 0


def open_mark(path: Path) -> int:
    """A descriptor for `write_mark`. Raises OSError."""
    return files.open_own(path / files.COMMITTED, os.O_WRONLY | os.O_CREAT)


def write_mark(opened: int, seq: int) -> None:
    """Write the number of a commit beside the database, after it: it is not on the disk sooner.

    SQLite takes a log that is lost, or damaged in the middle, for one that ends there, and goes on
    from an older commit without a word; the number tells. Raises OSError.
    """
    os.pwrite(opened, b"%020d\n" % seq, 0)


def _refuse_lost_log(path: Path, mark: int, db: sqlite3.Connection) -> None:
    """Raises InputError where the database has lost commits up to that of the mark."""
    if not os.access(path, os.W_OK):  # SQLite reads no log there: see `shards.connect`
        return
    seq = db.execute("SELECT seq FROM ends").fetchone()[0]
    if seq < mark:
        file, note = path / f"{files.DATABASE}-wal", path / files.COMMITTED
        raise InputError(
            f"{file} is lost or damaged: {mark - seq} of {mark} commits are missing; put it back "
            f"from a copy, or go on from commit {seq} without them: rm {shlex.quote(str(note))}"
        )


def cut_archives(path: Path, ends: Mapping[str, int], swapped: Collection[str] = ()) -> list[Path]:
    """Cut the archive back to the last commit: what came after it will be fetched again. Records
    that are whole are kept aside, in the files returned; not those of files that were `swapped`
    for others when pages were forgotten."""
    for name in swapped:
        if name not in ends:
            files.archive_at(path, name).unlink(missing_ok=True)
    aside = [
        _keep_aside(file, ends.get(file.name, 0))
        for file in files.archives(path)
        if file.stat().st_size > ends.get(file.name, 0)
    ]
    for file in files.archives(path):
        if file.name not in ends:
            file.unlink()
    for name, end in ends.items():
        file = path / name
        if file.stat().st_size > end:
            os.truncate(file, end)
    return [file for file in aside if file is not None]


def kept_aside(file: object) -> str:
    """What is said of a file in which records were kept aside."""
    return f"archived after the last commit, and kept aside: {file}"


def _keep_aside(file: Path, start: int) -> Path | None:
    """Copy the whole records of an archive from a byte on into a file beside it, which is on the
    disk then; its path, None where there is no such record. O(bytes copied)."""
    with file.open("rb") as source:
        length = _whole_members(source, start)
        if not length:
            return None
        aside = files.recovered(file, start)
        part = aside.with_name(f"{aside.name}.part")
        source.seek(start)
        with open(part, "wb") as out:
            while length:
                chunk = source.read(min(length, _CHUNK))
                out.write(chunk)
                length -= len(chunk)
            out.flush()
            os.fsync(out.fileno())
    part.replace(aside)
    sync_folder(aside.parent)
    return aside


def _whole_members(source: BinaryIO, start: int) -> int:
    """Bytes of the gzip members from a byte on that are whole."""
    source.seek(start)
    decoder, end, rest = zlib.decompressobj(wbits=31), start, b""
    while data := rest or source.read(_CHUNK):
        try:
            decoder.decompress(data, _CHUNK)
        except zlib.error:
            break
        rest = decoder.unconsumed_tail or decoder.unused_data
        if decoder.eof:
            end = source.tell() - len(rest)
            decoder = zlib.decompressobj(wbits=31)
    return end - start


_CHUNK = 1 << 16


def result_line(url: str, score: float, title: str, path: list[str], why: list[Any]) -> str:
    """A relevant page as the results of a run tell it."""
    line = {"url": url, "score": round(score, 4), "title": title, "path": path, "why": why}
    return quiet_json(_encode(line)) + "\n"


_decode = json.JSONDecoder().decode
_encode = json.JSONEncoder(ensure_ascii=False).encode
"""`json.loads` and `json.dumps` without their options: each relevant page passes here."""


def mend_results(path: Path, db: sqlite3.Connection) -> None:
    """Make the results say what the database says."""
    rows = db.execute("SELECT url, score, title, path, why FROM pages WHERE relevant ORDER BY seq")
    lines = "".join(
        result_line(url, score, title, _decode(links), _decode(why))
        for url, score, title, links, why in rows
    ).encode()
    file = path / files.RELEVANT
    same_size = file.exists() and file.stat().st_size == len(lines)
    if not same_size or file.read_bytes() != lines:
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
