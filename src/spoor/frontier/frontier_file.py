"""The file of a frontier on disk: its tables, transactions, and the generations of arrays in it.

A *generation* is what one `save` wrote: the arrays of the frontier in chunks, of which only those
that changed are written, and how many rows there are of everything else.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from spoor.errors import InputError, PausedError
from spoor.types import Link, LinkId, State

FORMAT = 1

CHUNK = 1 << 14
"""Bytes of an array that are written together."""

_SCHEMA = f"""
BEGIN;
CREATE TABLE generations (
    generation INTEGER PRIMARY KEY, digest TEXT NOT NULL, links INTEGER NOT NULL,
    hosts INTEGER NOT NULL, moved INTEGER NOT NULL, arrays TEXT NOT NULL);
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, place INTEGER NOT NULL,
    generation INTEGER NOT NULL, data BLOB NOT NULL);
CREATE UNIQUE INDEX chunk_of ON chunks (name, place, generation);
CREATE TABLE links (
    link INTEGER PRIMARY KEY, url TEXT NOT NULL, parent INTEGER NOT NULL, depth INTEGER NOT NULL);
CREATE TABLE hosts (host INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE moved (number INTEGER PRIMARY KEY, link INTEGER NOT NULL, url TEXT NOT NULL);
CREATE INDEX moved_of ON moved (link);
CREATE TABLE in_links (
    link INTEGER, place INTEGER, seen TEXT NOT NULL, PRIMARY KEY (link, place)) WITHOUT ROWID;
PRAGMA user_version = {FORMAT};
COMMIT;
"""


class FrontierFile:
    """One SQLite file that only this process writes to.

    Raises InputError where the file is damaged, cannot be made or is another program's; PausedError
    where one that is there cannot be written: the disk is full.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._void_after: tuple[int, int, int, int] | None = (0, 0, 0, 0)
        try:
            self._db = sqlite3.connect(path, isolation_level=None)
            try:
                self._open()
            except BaseException:
                self._db.close()
                raise
        except sqlite3.OperationalError as error:
            if path.exists() and path.stat().st_size:
                raise self._paused(error) from error
            raise InputError(f"cannot write {path}: {error}") from error
        except sqlite3.DatabaseError as error:
            raise self.damaged(str(error)) from error

    def _open(self) -> None:
        db = self._db
        db.execute("PRAGMA journal_mode = WAL")
        # The log is emptied with each save: half-way only where it grows beyond 256 MiB.
        db.execute("PRAGMA wal_autocheckpoint = 65536")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA cache_size = -16000")
        known = db.execute("PRAGMA user_version").fetchone()[0]
        if not known and not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            db.executescript(_SCHEMA)
        elif known != FORMAT:
            raise InputError(
                f"{self.path} is of frontier format {known}; this Spoor writes {FORMAT}; go on "
                "with the version that began it"
            )

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self._db.close()

    def damaged(self, what: str) -> InputError:
        return InputError(
            f"{self.path} is damaged ({what}); put it back from a copy or choose another --out"
        )

    def _paused(self, error: Exception) -> PausedError:
        return PausedError(
            f"paused: cannot write {self.path} ({error}); make room, or make it writable, and give "
            "the same command to go on"
        )

    def ask(self, query: str, *values: object) -> list[Any]:
        try:
            rows: list[Any] = self._db.execute(query, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise self.damaged(str(error)) from error
        return rows

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction."""
        db = self._db
        try:
            db.execute("BEGIN IMMEDIATE")
            try:
                if self._void_after is not None:
                    self._drop_younger(db, *self._void_after)
                    self._void_after = None
                yield db
                db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    db.execute("ROLLBACK")
                raise
        except sqlite3.OperationalError as error:
            raise self._paused(error) from error
        except sqlite3.DatabaseError as error:
            raise self.damaged(str(error)) from error

    def start_after(self, generation: int, links: int, hosts: int, moved: int) -> None:
        """Go on from a generation with so many rows; the next transaction drops what is younger."""
        self._void_after = (generation, links, hosts, moved)

    def _drop_younger(
        self, db: sqlite3.Connection, generation: int, links: int, hosts: int, moved: int
    ) -> None:
        for table, column, first in (
            ("generations", "generation", generation + 1),
            ("chunks", "generation", generation + 1),
            ("links", "link", links),
            ("hosts", "host", hosts),
            ("moved", "number", moved),
        ):
            db.execute(f"DELETE FROM {table} WHERE {column} >= ?", (first,))
        db.execute("DELETE FROM in_links WHERE link >= ?", (links,))

    def write_rows(
        self,
        written: tuple[int, int, int],
        hosts: Iterable[str],
        links: Iterable[tuple[str, LinkId, int]],
        moved: Iterable[tuple[LinkId, str]],
        in_links: Iterable[tuple[LinkId, int, str]],
    ) -> None:
        """Add rows, numbered from those `written` (links, hosts, moved); in-links (link, place,
        row) replace those of the same place."""
        first_link, first_host, first_moved = written
        with self.writing() as db:
            db.executemany("INSERT INTO hosts VALUES (?, ?)", enumerate(hosts, first_host))
            rows = ((link, *new) for link, new in enumerate(links, first_link))
            db.executemany("INSERT INTO links VALUES (?, ?, ?, ?)", rows)
            more = ((number, *new) for number, new in enumerate(moved, first_moved))
            db.executemany("INSERT INTO moved VALUES (?, ?, ?)", more)
            db.executemany("INSERT OR REPLACE INTO in_links VALUES (?, ?, ?)", in_links)

    # -- generations

    def generation(self, state: State) -> tuple[Any, ...] | None:
        """(generation, links, hosts, moved, arrays) of a saved state; None where the file does not
        hold it."""
        rows = self.ask(
            "SELECT generation, links, hosts, moved, arrays FROM generations WHERE digest = ? "
            "ORDER BY generation DESC LIMIT 1",
            state["digest"],
        )
        return tuple(rows[0]) if rows else None

    def write_generation(
        self,
        row: tuple[int, str, int, int, int, str],
        chunks: Iterable[tuple[str, int, bytes]],
        written: Callable[[], None],
    ) -> None:
        """Write a generation (number, digest, links, hosts, moved, arrays) with its chunks (name,
        place, data), safe from a loss of power; `written` is called before it is committed."""
        self._db.execute("PRAGMA synchronous = FULL")
        with self.writing() as db:
            db.execute("INSERT INTO generations VALUES (?, ?, ?, ?, ?, ?)", row)
            db.executemany(
                "INSERT INTO chunks (name, place, generation, data) VALUES (?, ?, ?, ?)",
                ((name, place, row[0], data) for name, place, data in chunks),
            )
            written()

    def empty_log(self) -> None:
        """Write what the log holds into the file itself."""
        try:
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.OperationalError as error:
            raise self._paused(error) from error

    def read_array(
        self, name: str, size: int, digest: str, generation: int
    ) -> tuple[bytearray, list[bytes]]:
        """An array of a generation, and the digests of its chunks. Raises InputError where it does
        not fit its digest."""
        data, digests = bytearray(size), []
        query = (
            "SELECT place, data, max(generation) FROM chunks WHERE name = ? AND generation <= ? "
            "GROUP BY place ORDER BY place"
        )
        try:
            for place, chunk, _ in self._db.execute(query, (name, generation)):
                start = place * CHUNK
                if start < size:
                    chunk = chunk[: size - start]
                    data[start : start + len(chunk)] = chunk
                    digests.append(digest_of(chunk))
        except sqlite3.DatabaseError as error:
            raise self.damaged(str(error)) from error
        if digest_of(b"".join(digests)).hex() != digest:
            raise self.damaged(f"its array {name!r} does not fit its digest")
        return data, digests

    def forget(self, kept: Sequence[int], void: Iterable[LinkId]) -> None:
        """Keep only these generations (ascending), and no in-links of the `void` links."""
        with self.writing() as db:
            db.executemany("DELETE FROM in_links WHERE link = ?", ((link,) for link in void))
            for old, new in zip([0, *kept], kept, strict=False):
                db.execute(
                    "DELETE FROM chunks WHERE id IN (SELECT a.id FROM chunks a JOIN chunks b "
                    "ON a.name = b.name AND a.place = b.place AND b.generation > a.generation "
                    "WHERE a.generation > ? AND b.generation <= ?)",
                    (old, new),
                )
            marks = ", ".join("?" * len(kept))
            db.execute(f"DELETE FROM generations WHERE generation NOT IN ({marks})", kept)


def chunks_of(column: array[Any] | bytearray, first: int) -> Iterator[tuple[int, bytes]]:
    """An array in chunks, counted from `first` on."""
    with memoryview(column) as view, view.cast("B") as data:
        for place, start in enumerate(range(0, len(data), CHUNK), first):
            yield place, bytes(data[start : start + CHUNK])


def digest_of(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def in_link_row(link: Link, in_link: Sequence[Any]) -> str:
    return _ENCODER.encode([link.anchor, link.kind, *in_link])


_ENCODER = json.JSONEncoder(default=lambda number: number.item())
"""Also for NumPy's numbers, where a judge scores by them."""
