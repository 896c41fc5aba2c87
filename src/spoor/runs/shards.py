"""A run in shards: its folder, and the databases of its shards merged into one to look at."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from spoor.errors import ROOM, DiskError, InputError, cannot_write, in_one_line, taking_in
from spoor.files import read_json, write_whole
from spoor.runs import files
from spoor.runs.lock import Lock
from spoor.runs.recovery import (
    damaged,
    may_lack_room,
    of_disk,
    read_identity,
    read_mark,
    refuse_loss,
    telling,
)
from spoor.runs.schema import as_kept, read_settings, refuse_programs, write_settings
from spoor.settings import Settings

NUMBER = 1 << 16
"""More than any run has shards."""


def begin(path: Path, settings: Settings, undo: ExitStack) -> None:
    """Make the folder of a run in shards, or open it; held until `undo` closes.

    Raises InputError where it cannot be written, is in use, or was begun without shards.
    """
    try:
        lock = undo.enter_context(Lock(path))
    except OSError as error:
        raise cannot_write(f"the run folder {path}", error) from error
    lock.hold()
    files.refuse_links(path)
    if not read_identity(path):
        drawn = next(filter(None, map(_run_of, files.shards(path))), secrets.token_hex(16))
        write_whole(path / files.IDENTITY, drawn)
    begun(path)
    if (path / files.DATABASE).exists():
        raise InputError(f"{path} was begun without shards; go on without --shards")
    known = read_settings(path) if files.is_run(path) else None
    # What decides the crawl stays as it was begun; each shard compares it.
    new = as_kept(path, settings)
    new = new if known is None else new.with_fixed_of(known)
    if new != known:
        write_settings(path, new)
    # All of them before one opens: a crawl that dies here and goes on with fewer shards waits for
    # those to which links are on their way.
    for number in range(settings.shards):
        try:
            files.shard(path, number).mkdir(exist_ok=True)
        except OSError as error:
            raise cannot_write(f"the run folder {path}", error) from error


def numbers(path: Path) -> list[int]:
    """The numbers of all shards that a run ever had, in their order."""
    return [files.shard_number(folder) for folder in files.shards(path)]


def _run_of(folder: Path) -> str:
    """The identity of the run that a shard is of, where it says one."""
    with opened(folder) as db:
        row = db and db.execute("SELECT value FROM meta WHERE name = 'run'").fetchone()
        return str(row[0])[:64] if row else ""


def seconds(path: Path) -> float:
    """For how long a run went on so far, as its shards have noted."""
    known = [0.0]
    for folder in files.shards(path):
        with opened(folder) as db:
            if db is not None:
                row = db.execute("SELECT value FROM meta WHERE name = 'seconds'").fetchone()
                known.append(float(row[0]) if row else 0.0)
    return max(known)


def connect(file: Path) -> sqlite3.Connection:
    """A database to look at only, whoever writes it."""
    db = sqlite3.connect(_uri(file), uri=True)
    try:
        db.execute("SELECT 1 FROM sqlite_master LIMIT 1")
    except sqlite3.Error as error:
        wal = file.with_name(f"{file.name}-wal")
        if not may_lack_room(error) or (wal.exists() and wal.stat().st_size):
            db.close()
            raise
        # The disk is full, and nobody has begun to write: all stands in the file itself.
        db.close()
        db = sqlite3.connect(_uri(file, still=True), uri=True)
    db.row_factory = sqlite3.Row
    return db


def _uri(file: Path, *, still: bool = False) -> str:
    # Where nothing can be written, SQLite cannot keep its own lists beside the database either.
    still = still or not os.access(file.parent, os.W_OK)
    return f"{file.resolve().as_uri()}?mode=ro{'&immutable=1' if still else ''}"


@contextmanager
def opened(folder: Path) -> Iterator[sqlite3.Connection | None]:
    """The database of a shard, to look at only; None until it has made its tables. Raises
    InputError where it has lost something since."""
    files.refuse_links(folder)
    file, mark = folder / files.DATABASE, read_mark(folder)
    was_there = files.is_run(folder)  # which a shard is once it has its tables
    with telling(folder), ExitStack() as after:
        if file.exists():
            db = after.enter_context(closing(connect(file)))
            db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, files.MOST_VALUE)
            refuse_programs(file, db)
            if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'pages'").fetchone():
                refuse_loss(folder, mark, db)
                yield db
                return
        if was_there:
            raise damaged(folder, "no state in it")
        yield None


def has_begun(folder: Path) -> bool:
    """Whether a shard has made its tables. Raises InputError where it has lost something since."""
    with opened(folder) as db:
        return db is not None


def begun(path: Path) -> list[Path]:
    """The folders of the shards that have begun. Raises InputError where one is gone that has
    fetched pages, by what was written of it."""
    found = [*filter(has_begun, files.shards(path))]
    status = read_status(path)
    for row in () if status is None else status["shards"]:
        folder = files.shard(path, row["shard"])
        if row["pages"] and folder not in found:
            raise InputError(
                f"{folder} is lost, with {row['pages']} pages; put it back from a copy, or choose "
                "another --out"
            )
    return found


def just_begun(path: Path) -> InputError:
    """Of a run without a state, or in shards of which none has one."""
    return InputError(f"{path} has only just begun; look again in a few seconds")


def merged(path: Path) -> sqlite3.Connection:
    """The tables that readers of a run look at, over all shards, in the order of time; `shard` says
    which a row came from, and `number` which it is, however many come in between later. Files of
    the archive are named from the run's folder.

    `checkpoints` holds generation and settings of the newest of each shard; `meta` is the first
    shard's. Copies what it reads: O(pages), about 10 s for a million. Raises InputError where no
    shard has begun.
    """
    with ExitStack() as undo:
        db = sqlite3.connect("", uri=True)
        undo.callback(db.close)
        db.execute("PRAGMA trusted_schema=OFF")
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, files.MOST_VALUE)
        db.row_factory, most = sqlite3.Row, 0
        try:
            folders = begun(path)
            if not folders:
                raise just_begun(path)
            # More only where many rows lead to one text.
            most = 4 * _bytes_of(folders) + (16 << 20)
            db.execute(f"PRAGMA max_page_count={most >> 12}")
            for folder in folders:
                _copy(db, folder, first=folder == folders[0])
            for table in ("pages", "failures"):
                _number(db, table)
            db.commit()
        except (sqlite3.Error, UnicodeDecodeError) as error:  # SQLite quotes what is no text
            raise _unmerged(path, error, most) from error
        undo.pop_all()
    return db


def _unmerged(path: Path, error: Exception, most: int) -> InputError:
    """Of a copy of at most so many bytes that failed: SQLite says "full" of a disk and of a bound
    alike, and the disk is not where there is room for all that the bound allows."""
    if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_FULL:
        why = of_disk(error, path)
        what = f"{path} cannot be read: {in_one_line(error)}"
        return DiskError(f"{what}: {why}") if why else InputError(what)
    folder = _temporary()
    if shutil.disk_usage(folder).free < most:
        return DiskError(f"{path} cannot be read: no room for a copy in {folder}; {ROOM}")
    return InputError(
        f"{path} cannot be read: many rows of its shards lead to one text, as no run writes them; "
        "put them back from a copy, or choose another --out"
    )


def _temporary() -> str:
    """The folder in which SQLite makes files for a while."""
    wanted = (os.environ.get("SQLITE_TMPDIR"), os.environ.get("TMPDIR"))
    for folder in (*filter(None, wanted), "/var/tmp", "/usr/tmp", "/tmp"):
        if os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK):
            return folder
    return "."


def each_once(path: Path, rows: Iterable[sqlite3.Row]) -> Iterator[sqlite3.Row]:
    """The rows of a query on the database of a run, or of its shards. Raises InputError where they
    come to more than twice its bytes: many rows lead to one text in it."""
    left = None
    for row in rows:
        if left is None:
            left = 2 * _bytes_of(files.shards(path) or [path])
        left -= size_of(row)
        if left < 0:
            raise damaged(path, "many rows lead to one text")
        yield row


def size_of(row: sqlite3.Row) -> int:
    """Characters and bytes of the values of a row."""
    return sum(len(value) for value in row if isinstance(value, str | bytes))


def _bytes_of(folders: Iterable[Path]) -> int:
    """Of the databases in some folders."""
    size = 0
    for folder in folders:
        for name in (files.DATABASE, f"{files.DATABASE}-wal"):
            with suppress(FileNotFoundError):
                size += (folder / name).stat().st_size
    return size


def _number(db: sqlite3.Connection, table: str) -> None:
    """Make a table of the rows of all shards, in the order of time."""
    columns = [row["name"] for row in db.execute(f"PRAGMA table_info(all_{table})")]
    rest = ", ".join(f'"{name}"' for name in columns if name not in ("seq", "shard"))
    db.execute(
        f"CREATE TABLE {table} AS SELECT row_number() OVER (ORDER BY time, shard, seq) AS seq,"
        f" {rest}, shard, seq * {NUMBER} + shard AS number FROM all_{table}"
    )
    db.execute(f"DROP TABLE all_{table}")


def _copy(db: sqlite3.Connection, folder: Path, *, first: bool) -> None:
    """Copy the tables of a shard."""
    number = files.shard_number(folder)
    queries = {
        "all_pages": f"SELECT *, {number} AS shard FROM one.pages",
        "all_failures": f"SELECT *, {number} AS shard FROM one.failures",
        "checkpoints": "SELECT generation, settings FROM one.checkpoints"
        " ORDER BY generation DESC LIMIT 1",
        "meta": "SELECT * FROM one.meta" + ("" if first else " WHERE 0"),
    }
    db.execute("ATTACH ? AS one", (_uri(folder / files.DATABASE),))
    try:
        for table, query in queries.items():
            db.execute(
                f"CREATE TABLE {table} AS {query}" if first else f"INSERT INTO {table} {query}"
            )
        moved = "UPDATE all_pages SET warc_file = ? || warc_file WHERE shard = ?"
        db.execute(moved, (f"{folder.name}/", number))
        db.commit()
    finally:
        db.execute("DETACH one")


def as_merged(row: sqlite3.Row, folder: Path) -> dict[str, Any]:
    """A row of a shard as `merged` has it, but with the `seq` of its shard."""
    shard = files.shard_number(folder)
    values = {**dict(row), "shard": shard, "number": row["seq"] * NUMBER + shard}
    if values.get("warc_file"):
        values["warc_file"] = f"{folder.name}/{values['warc_file']}"
    return values


def write_results(path: Path) -> None:
    """Write the relevant pages of all shards into the run's folder, best first. Raises InputError
    where those of a shard are damaged."""
    lines: list[tuple[float, str]] = []
    for folder in files.shards(path):
        files.refuse_links(folder)
        file = folder / files.RELEVANT
        with taking_in(str(file), "delete it; it is written anew when the run goes on"):
            if file.exists():
                # A title may hold what `splitlines` takes for the end of a line.
                with open(
                    files.open_own(file, os.O_RDONLY), encoding="utf-8", newline="\n"
                ) as rows:
                    lines += [(-float(json.loads(row)["score"]), row) for row in rows]
    write_whole(path / files.RELEVANT, "".join(line for _, line in sorted(lines)))


def write_status(path: Path, status: Mapping[str, Any]) -> None:
    """Write the state of a run's shards, for whoever looks on."""
    write_whole(path / files.SHARDS, json.dumps(status))


_COUNTS = ("shard", "hosts", "open", "pages", "found", "entered", "posted", "waiting", "deaths")
_EXCHANGED = ("links", "bytes", "merges")


def read_status(path: Path) -> Mapping[str, Any] | None:
    """The state of a run's shards as it was written last; None where it was not, or is damaged."""
    with suppress(OSError, ValueError, TypeError, LookupError, OverflowError, RecursionError):
        status = read_json(path / files.SHARDS, flags=os.O_NOFOLLOW)
        rows = [
            {name: int(row[name]) for name in _COUNTS}
            | {"lag": round(float(row["lag"]), 1), "state": str(row["state"])}
            for row in status["shards"]
        ]
        exchange = {name: int(status["exchange"][name]) for name in _EXCHANGED}
        return {"at": int(status["at"]), "shards": rows, "exchange": exchange}
    return None
