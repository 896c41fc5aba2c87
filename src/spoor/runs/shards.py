"""A run in shards, read whole: one database made of those of all its shards, to look at only."""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

from spoor.errors import InputError
from spoor.files import write_whole
from spoor.runs import files
from spoor.runs.schema import as_kept, read_settings, write_settings
from spoor.settings import Settings

NUMBER = 1 << 16
"""More than any run has shards."""

_WHEN = {"pages": "at", "failures": "at"}


def merged(folders: Sequence[Path]) -> sqlite3.Connection:
    """The tables that readers of a run look at, over all shards, in the order of time; `shard` says
    which a row came from, and `number` which it is, however many come in between later. Files of
    the archive are named from the run's folder.

    `checkpoints` holds the newest of each shard, that of the shard with most pages last; its
    `requests` and `generation` are those of the shards before it, too, so that the highest grows
    with each. `meta` is the first shard's. Copies what it reads: O(pages), about 10 s for a
    million. Raises InputError where no shard has begun.
    """
    db = sqlite3.connect("", uri=True)
    db.row_factory = sqlite3.Row
    try:
        for folder in folders:
            _take_in(db, folder)
        if not _columns(db, "main", "all_pages"):
            raise just_begun(folders[0].parent)
        for table, when in _WHEN.items():
            names = _columns(db, "main", f"all_{table}")
            rest = ", ".join(name for name in names if name not in ("seq", "shard"))
            db.execute(
                f"CREATE TABLE {table} AS SELECT row_number() OVER (ORDER BY {when}, shard, seq)"
                f" AS seq, {rest}, shard, seq * {NUMBER} + shard AS number FROM all_{table}"
            )
            db.execute(f"DROP TABLE all_{table}")
        _number_checkpoints(db)
        db.commit()
    except sqlite3.Error as error:
        db.close()
        raise InputError(f"{folders[0].parent} cannot be read: {error}") from error
    except BaseException:
        db.close()
        raise
    return db


def _columns(db: sqlite3.Connection, schema: str, table: str) -> list[str]:
    return [row["name"] for row in db.execute(f"PRAGMA {schema}.table_info({table})")]


def just_begun(path: Path) -> InputError:
    """Of a run in shards whose first one is not there yet."""
    return InputError(f"{path} has only just begun; look again in a few seconds")


def has_begun(folder: Path) -> bool:
    """Whether a shard has made its tables."""
    file = folder / files.DATABASE
    if not file.exists():
        return False
    with closing(sqlite3.connect(to_look_at(file), uri=True)) as db:
        return bool(db.execute("SELECT 1 FROM sqlite_master WHERE name = 'pages'").fetchone())


def to_look_at(file: Path) -> str:
    """The URI of a database that is read only, whoever writes it."""
    # Where nothing can be written, SQLite cannot keep its own lists beside the database either.
    still = "" if os.access(file.parent, os.W_OK) else "&immutable=1"
    return f"{file.resolve().as_uri()}?mode=ro{still}"


def _take_in(db: sqlite3.Connection, folder: Path) -> None:
    shard = files.shard_number(folder)
    if not has_begun(folder):
        return
    db.execute("ATTACH ? AS one", (to_look_at(folder / files.DATABASE),))
    try:
        for table in (*_WHEN, "checkpoints", "meta"):
            names = _columns(db, "one", table)
            if not names:
                continue
            target = f"all_{table}" if table != "meta" else "meta"
            taken = ", ".join(
                f"'{folder.name}/' || warc_file AS warc_file" if name == "warc_file" else name
                for name in names
            )
            query = f"SELECT {taken}, {shard} AS shard FROM one.{table}"
            if table == "checkpoints":
                query += " WHERE generation = (SELECT max(generation) FROM one.checkpoints)"
            if not _columns(db, "main", target):
                db.execute(f"CREATE TABLE {target} AS {query}")
            elif table != "meta":
                columns = ", ".join([*names, "shard"])
                db.execute(f"INSERT INTO {target} ({columns}) {query}")
        db.commit()
    finally:
        db.execute("DETACH one")


def _number_checkpoints(db: sqlite3.Connection) -> None:
    names = _columns(db, "main", "all_checkpoints")
    db.execute("CREATE TABLE checkpoints AS SELECT * FROM all_checkpoints WHERE 0")
    pages = dict(db.execute("SELECT shard, count(*) FROM pages GROUP BY shard").fetchall())
    rows = db.execute(f"SELECT {', '.join(names)} FROM all_checkpoints").fetchall()
    rows.sort(key=lambda row: pages.get(row["shard"], 0))
    totals = dict.fromkeys(("generation", "requests"), 0)
    for row in rows:
        for name in totals:
            totals[name] += row[name] or 0
        values = [totals.get(name, row[name]) for name in names]
        db.execute(f"INSERT INTO checkpoints VALUES ({', '.join('?' * len(names))})", values)
    db.execute("DROP TABLE all_checkpoints")


def write_results(path: Path) -> None:
    """Write the results of the whole run, best first."""
    lines: list[tuple[float, str]] = []
    for folder in files.shards(path):
        file = folder / files.RELEVANT
        if file.exists():
            told = file.read_text("utf-8").splitlines()
            lines += [(-float(json.loads(line)["score"]), line) for line in told]
    write_whole(path / files.RELEVANT, "".join(f"{line}\n" for _, line in sorted(lines)))


def write_status(path: Path, status: Mapping[str, Any]) -> None:
    """Write the state of a run's shards, for whoever looks on."""
    write_whole(path / files.SHARDS, json.dumps(status))


def read_status(path: Path) -> Mapping[str, Any] | None:
    """The state of a run's shards as it was written last; None where it was not."""
    with suppress(OSError, ValueError):
        told = json.loads((path / files.SHARDS).read_text("utf-8"))
        if isinstance(told, dict):
            return told
    return None


def begin(path: Path, settings: Settings, undo: ExitStack) -> None:
    """Make the folder of a run in shards, or open it; held until `undo` closes.

    Raises InputError where it cannot be written, is in use, or was begun without shards.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = undo.enter_context((path / files.LOCK).open("w"))
    except OSError as error:
        raise InputError(f"cannot write the run folder {path}: {error.strerror}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InputError(f"{path} is in use by another process; wait for it or end it") from None
    if (path / files.DATABASE).exists():
        raise InputError(f"{path} was begun without shards; go on without --shards")
    known = read_settings(path) if files.is_run(path) else None
    # What decides the crawl stays as it was begun; each shard compares it.
    new = as_kept(path, settings)
    new = new if known is None else new.with_fixed_of(known)
    if new != known:
        write_settings(path, new)
