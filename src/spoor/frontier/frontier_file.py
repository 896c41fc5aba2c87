"""The SQLite file of a frontier: tables, transactions, and generations of arrays.

Each save of the frontier adds a *generation*: the chunks of its arrays that changed, and the number
of rows of each table.
"""

from __future__ import annotations

import json
import sqlite3
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from spoor.errors import InputError, PausedError, in_one_line, is_of_contents
from spoor.frontier.arrays import CHUNK, digest_of
from spoor.types import Link, LinkId, State

FORMAT = 1

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
    """A SQLite file to which only this process writes.

    Raises InputError if the file is damaged, has no folder or is of another program;
    PausedError if an existing file cannot be written, since the disk is full for instance.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._continue_from: tuple[int, int, int, int] | None = (0, 0, 0, 0)
        try:
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            try:
                self._open()
            except BaseException:
                self._db.close()
                raise
            # From Python 3.13 on sqlite3 complains of a connection that nobody closed.
            weakref.finalize(self, self._db.close).atexit = False
        except sqlite3.OperationalError as error:
            if is_of_contents(error):
                raise self.damaged(str(error)) from error
            if path.parent.is_dir():
                raise self._paused(error) from error
            raise InputError(f"cannot write {path}: {error}") from error
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise self.damaged(str(error)) from error

    def _open(self) -> None:
        db = self._db
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute("PRAGMA journal_mode = WAL")
        # Each save empties the log; between two saves SQLite does so beyond 256 MiB.
        db.execute("PRAGMA wal_autocheckpoint = 65536")
        db.execute("PRAGMA synchronous = NORMAL")
        # What is not in it is in the system's cache of the file: with 16 MB nothing is faster.
        db.execute("PRAGMA cache_size = -2000")
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if not version and not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            db.executescript(_SCHEMA)
        elif version != FORMAT:
            raise InputError(
                f"{self.path} is of frontier format {version}; this Spoor writes {FORMAT}; go on "
                "with the version that began it"
            )
        elif foreign := _schema_of(db) - _own_schema():
            # A trigger or a view would be a program of whoever made the file.
            raise self.damaged(f"it holds {min(foreign)[1]!r}, which no run makes")

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self._db.close()

    def damaged(self, problem: str) -> InputError:
        return InputError(
            f"{self.path} is damaged ({in_one_line(problem)}); "
            "put it back from a copy or choose another --out"
        )

    def _paused(self, error: Exception) -> PausedError:
        return PausedError(
            f"paused: cannot write {self.path} ({error}); make room, or make it writable, and give "
            "the same command to go on"
        )

    def _query(self, sql: str, *values: object) -> list[Any]:
        try:
            rows: list[Any] = self._db.execute(sql, values).fetchall()
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise self.damaged(str(error)) from error
        return rows

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction."""
        db = self._db
        try:
            db.execute("BEGIN IMMEDIATE")
            try:
                if self._continue_from is not None:
                    self._delete_later(db, *self._continue_from)
                    self._continue_from = None
                yield db
                db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    db.execute("ROLLBACK")
                raise
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            if isinstance(error, sqlite3.OperationalError) and not is_of_contents(error):
                raise self._paused(error) from error
            raise self.damaged(str(error)) from error

    def start_after(self, generation: int, links: int, hosts: int, moved: int) -> None:
        """Continue from a generation with these numbers of rows; the next transaction deletes
        everything later."""
        self._continue_from = (generation, links, hosts, moved)

    def _delete_later(
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
        """Add rows, numbered from the `written` ones (links, hosts, moved) on; in-links (link,
        place, row) replace those with the same link and place."""
        first_link, first_host, first_moved = written
        with self.writing() as db:
            db.executemany("INSERT INTO hosts VALUES (?, ?)", enumerate(hosts, first_host))
            link_rows = ((link, *new) for link, new in enumerate(links, first_link))
            db.executemany("INSERT INTO links VALUES (?, ?, ?, ?)", link_rows)
            moved_rows = ((number, *new) for number, new in enumerate(moved, first_moved))
            db.executemany("INSERT INTO moved VALUES (?, ?, ?)", moved_rows)
            db.executemany("INSERT OR REPLACE INTO in_links VALUES (?, ?, ?)", in_links)

    # -- rows

    def link_row(self, link: LinkId) -> tuple[str, LinkId, int]:
        """(URL before redirects, parent, depth) of a link."""
        rows = self._query("SELECT url, parent, depth FROM links WHERE link = ?", link)
        if not rows:
            raise self.damaged(f"link {link} is missing")
        row: tuple[str, LinkId, int] = rows[0]
        return row

    def link_urls(self, first: LinkId, end: LinkId) -> list[tuple[str, LinkId]]:
        """(URL before redirects, link) of the links from `first` to before `end`."""
        sql = "SELECT url, link FROM links WHERE link >= ? AND link < ? ORDER BY link"
        return self._query(sql, first, end)

    def redirected_to(self, link: LinkId) -> str | None:
        """The URL to which a link was redirected last."""
        sql = "SELECT url FROM moved WHERE link = ? ORDER BY number DESC LIMIT 1"
        rows = self._query(sql, link)
        return str(rows[0][0]) if rows else None

    def redirects(self, count: int) -> list[tuple[str, LinkId]]:
        """(URL, link redirected to it) of the first `count` redirects, oldest first."""
        return self._query("SELECT url, link FROM moved WHERE number < ? ORDER BY number", count)

    def host_names(self, count: int) -> list[str]:
        """The names of the first `count` hosts."""
        rows = self._query("SELECT name FROM hosts WHERE host < ? ORDER BY host", count)
        return [name for (name,) in rows]

    def in_links(self, link: LinkId, count: int) -> list[Any]:
        """The first `count` in-links of a link, as `in_link_row` encoded them."""
        sql = "SELECT seen FROM in_links WHERE link = ? AND place < ? ORDER BY place"
        rows = [json.loads(row) for (row,) in self._query(sql, link, count)] if count else []
        if len(rows) != count:
            raise self.damaged(f"the in-links of link {link} are missing")
        return rows

    def check_rows(self, links: int, hosts: int) -> None:
        """Raises InputError if there are fewer rows of links or hosts."""
        for table, column, count in (("links", "link", links), ("hosts", "host", hosts)):
            (last,) = self._query(f"SELECT coalesce(max({column}), -1) FROM {table}")[0]
            if last < count - 1:
                raise self.damaged(f"its table {table} does not hold the {count} rows saved")

    # -- generations

    def generation(self, state: State) -> tuple[Any, ...] | None:
        """(generation, links, hosts, moved, arrays) of a saved state; None if the file does not
        have it."""
        rows = self._query(
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
        place, data), durable after a loss of power; `written` is called before the commit."""
        self._db.execute("PRAGMA synchronous = FULL")
        with self.writing() as db:
            db.execute("INSERT INTO generations VALUES (?, ?, ?, ?, ?, ?)", row)
            db.executemany(
                "INSERT INTO chunks (name, place, generation, data) VALUES (?, ?, ?, ?)",
                ((name, place, row[0], data) for name, place, data in chunks),
            )
            written()

    def empty_log(self) -> None:
        """Move the contents of the log into the file."""
        try:
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.OperationalError as error:
            raise self._paused(error) from error

    def read_array(
        self, name: str, size: int, digest: str, generation: int
    ) -> tuple[bytearray, list[bytes]]:
        """An array of a generation, and the digests of its chunks. Raises InputError if it does not
        match its digest."""
        data, digests = bytearray(size), []
        sql = (
            "SELECT place, data, max(generation) FROM chunks WHERE name = ? AND generation <= ? "
            "GROUP BY place ORDER BY place"
        )
        try:
            for place, chunk, _ in self._db.execute(sql, (name, generation)):
                start = place * CHUNK
                if start < size:
                    chunk = chunk[: size - start]
                    data[start : start + len(chunk)] = chunk
                    digests.append(digest_of(chunk))
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise self.damaged(str(error)) from error
        if digest_of(b"".join(digests)).hex() != digest:
            raise self.damaged(f"its array {name!r} does not fit its digest")
        return data, digests

    def forget(self, but: Sequence[int], void: Iterable[LinkId]) -> None:
        """Delete all generations `but` these (ascending), and the in-links of the `void` links."""
        with self.writing() as db:
            db.executemany("DELETE FROM in_links WHERE link = ?", ((link,) for link in void))
            for old, new in zip([0, *but], but, strict=False):
                db.execute(
                    "DELETE FROM chunks WHERE id IN (SELECT a.id FROM chunks a JOIN chunks b "
                    "ON a.name = b.name AND a.place = b.place AND b.generation > a.generation "
                    "WHERE a.generation > ? AND b.generation <= ?)",
                    (old, new),
                )
            marks = ", ".join("?" * len(but))
            db.execute(f"DELETE FROM generations WHERE generation NOT IN ({marks})", but)


def in_link_row(link: Link, in_link: Sequence[Any]) -> str:
    return _ENCODER.encode([link.anchor, link.kind, *in_link])


_ENCODER = json.JSONEncoder(default=lambda number: number.item())
"""Also encodes NumPy's numbers, which a judge may return as scores."""


def _schema_of(db: sqlite3.Connection) -> set[tuple[str, str, str]]:
    """(type, name, SQL) of what a database holds."""
    return set(db.execute("SELECT type, name, coalesce(sql, '') FROM sqlite_master"))


def _own_schema() -> set[tuple[str, str, str]]:
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(_SCHEMA)
        return _schema_of(db)
