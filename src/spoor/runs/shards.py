"""A run in shards, read whole: one database made of those of all its shards, to look at only."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from spoor.errors import InputError
from spoor.files import write_whole

NUMBER = 1 << 16
"""More than any run has shards."""

STANDING = "shards.json"
"""What the coordinator says of its shards, for whoever looks on."""

_WHEN = {"pages": "at", "failures": "at"}


def folder_of(path: Path, shard: int) -> Path:
    """The folder of one shard within that of the run."""
    return path / f"shard-{shard}"


def numbers(path: Path) -> list[int]:
    """Of all shards that a run ever had; none where it has no shards."""
    return sorted(int(one.name[6:]) for one in path.glob("shard-*") if one.name[6:].isdigit())


def folders(path: Path) -> list[Path]:
    """The folders of all shards that a run ever had, by number."""
    return [folder_of(path, number) for number in numbers(path)]


def whole(folders: Sequence[Path]) -> sqlite3.Connection:
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
    file = folder / "state.db"
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
    shard = int(folder.name.rpartition("-")[2])
    if not has_begun(folder):
        return
    db.execute("ATTACH ? AS one", (to_look_at(folder / "state.db"),))
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


def results(path: Path, folders: Sequence[Path]) -> None:
    """Write `relevant.jsonl` of the whole run, best first."""
    lines: list[tuple[float, str]] = []
    for folder in folders:
        file = folder / "relevant.jsonl"
        if file.exists():
            told = file.read_text("utf-8").splitlines()
            lines += [(-float(json.loads(line)["score"]), line) for line in told]
    write_whole(path / "relevant.jsonl", "".join(f"{line}\n" for _, line in sorted(lines)))


def say(path: Path, standing: Mapping[str, Any]) -> None:
    """Write how the shards of a run stand, for whoever looks on."""
    write_whole(path / STANDING, json.dumps(standing))


def standing(path: Path) -> Mapping[str, Any] | None:
    """What was said last of how the shards of a run stand; None where nothing was."""
    with suppress(OSError, ValueError):
        told = json.loads((path / STANDING).read_text("utf-8"))
        if isinstance(told, dict):
            return told
    return None
