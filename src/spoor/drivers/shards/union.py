"""A run in shards, read whole: one database made of those of all its shards, to look at only."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from spoor.errors import InputError
from spoor.files import write_whole

_WHEN = {"pages": "at", "failures": "at"}


def folder_of(path: Path, shard: int) -> Path:
    """The folder of one shard within that of the run."""
    return path / f"shard-{shard}"


def folders(path: Path) -> list[Path]:
    """The folders of all shards that a run ever had, by number; none where it has no shards."""
    found = [(int(one.name[6:]), one) for one in path.glob("shard-*") if one.name[6:].isdigit()]
    return [one for _, one in sorted(found)]


def whole(folders: Sequence[Path]) -> sqlite3.Connection:
    """The tables that readers of a run look at, over all shards, in the order of time; `shard` says
    which a row came from. Files of the archive are named from the run's folder.

    `checkpoints` holds the newest of each shard, that of the shard with most pages last; its
    `requests` are those of the shards before it, too. `meta` is the first shard's. Copies what it
    reads: O(pages), about 10 s for a million.
    """
    db = sqlite3.connect("", uri=True)
    db.row_factory = sqlite3.Row
    try:
        for at, folder in enumerate(folders):
            _take_in(db, folder, at)
        for table, when in _WHEN.items():
            names = _columns(db, "main", f"all_{table}")
            rest = ", ".join(name for name in names if name not in ("seq", "shard"))
            db.execute(
                f"CREATE TABLE {table} AS SELECT row_number() OVER (ORDER BY {when}, shard, seq)"
                f" AS seq, {rest}, shard FROM all_{table}"
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


def _take_in(db: sqlite3.Connection, folder: Path, at: int) -> None:
    shard = int(folder.name.rpartition("-")[2])
    file = folder / "state.db"
    if not file.exists():
        return
    db.execute("ATTACH ? AS one", (f"{file.absolute().as_uri()}?mode=ro",))
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
    names = [name for name in _columns(db, "main", "all_checkpoints") if name != "generation"]
    db.execute(
        f"CREATE TABLE checkpoints AS SELECT 0 AS generation, {', '.join(names)}"
        " FROM all_checkpoints WHERE 0"
    )
    pages = dict(db.execute("SELECT shard, count(*) FROM pages GROUP BY shard").fetchall())
    rows = db.execute(f"SELECT {', '.join(names)} FROM all_checkpoints").fetchall()
    rows.sort(key=lambda row: pages.get(row["shard"], 0))
    total = 0
    for generation, row in enumerate(rows, 1):
        total += row["requests"] or 0
        values = [total if name == "requests" else row[name] for name in names]
        marks = ", ".join("?" * (len(names) + 1))
        db.execute(f"INSERT INTO checkpoints VALUES ({marks})", (generation, *values))
    db.execute("DROP TABLE all_checkpoints")


def results(path: Path, folders: Sequence[Path]) -> None:
    """Write `relevant.jsonl` of the whole run, best first."""
    lines: list[tuple[float, str]] = []
    for folder in folders:
        file = folder / "relevant.jsonl"
        if file.exists():
            told = file.read_text("utf-8").splitlines()
            lines += [(-float(json.loads(line)["score"]), line) for line in told]
    write_whole(path / "relevant.jsonl", "".join(f"{line}\n" for _, line in sorted(lines)))
