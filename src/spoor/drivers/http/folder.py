"""The folder of a live run: settings, state, pages, results.

`spoor.toml` settings as used; `state.db` SQLite with what was fetched and two generations of the
crawl's state; `pages.warc.gz` the exchanges; `relevant.jsonl` what was found. A checkpoint names
the ends of the files that belong to it; opening the folder cuts them back to the last one, so that
all four agree whenever the process died.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomli_w

from spoor.archive.warc import Captured, WarcWriter, number_of
from spoor.drivers.http.exchange import Exchange
from spoor.drivers.http.settings import user_agent
from spoor.errors import InputError
from spoor.learn.state import pack, unpack
from spoor.types import Deferred, Failed, Fetch, Outcome, State

FORMAT = 1

_SCHEMA = """
CREATE TABLE IF NOT EXISTS pages (
    seq INTEGER PRIMARY KEY, url TEXT NOT NULL, host TEXT NOT NULL, status INTEGER, at REAL,
    seconds REAL, size INTEGER, score REAL, relevant INTEGER, title TEXT, path TEXT, why TEXT,
    probability REAL, choice_why TEXT, warc_file TEXT, warc_offset INTEGER, warc_length INTEGER);
CREATE TABLE IF NOT EXISTS failures (
    seq INTEGER PRIMARY KEY, url TEXT NOT NULL, host TEXT NOT NULL, kind TEXT, reason TEXT,
    status INTEGER, at REAL);
CREATE TABLE IF NOT EXISTS checkpoints (
    generation INTEGER PRIMARY KEY, at REAL, requests INTEGER, warc_file TEXT, warc_end INTEGER,
    relevant_end INTEGER, state BLOB NOT NULL);
"""


@dataclass(slots=True)
class _Ends:
    """How far the files of a run reach."""

    warc_file: str = "pages.warc.gz"
    warc_end: int = 0
    relevant_end: int = 0


@dataclass(slots=True)
class _Rows:
    """What was fetched since the last checkpoint."""

    pages: list[tuple[Any, ...]] = field(default_factory=list)
    failures: list[tuple[Any, ...]] = field(default_factory=list)


class RunFolder:
    """Opens a run's folder, new or old. Only one process may hold it.

    Raises InputError where it cannot be written, is held by another process, belongs to another
    version, or was begun with other settings.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any], *, warc: bool = True) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock = (path / "lock").open("w")
        except OSError as error:
            raise InputError(f"cannot write the run folder {path}: {error.strerror}") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(
                f"{path} is in use by another process; wait for it or end it"
            ) from None
        self.resumed = (path / "spoor.toml").exists()
        if self.resumed:
            self._compare(settings)
        else:
            self._write_settings(settings)
        self._db = self._open_db()
        self._ends = self._last_ends()
        self._cut_back()
        self._rows = _Rows()
        self._relevant = (path / "relevant.jsonl").open("a", encoding="utf-8")
        self._warc = WarcWriter(path, software=user_agent()) if warc else None
        self._place: tuple[str, int, int] | None = None

    # -- opening

    def _write_settings(self, settings: Mapping[str, Any]) -> None:
        text = tomli_w.dumps({"format": FORMAT, **settings})
        part = self.path / "spoor.toml.part"
        part.write_text(text, encoding="utf-8")
        part.replace(self.path / "spoor.toml")

    def _compare(self, settings: Mapping[str, Any]) -> None:
        known = read_settings(self.path)
        if known.get("format") != FORMAT:
            raise InputError(
                f"{self.path} is of run format {known.get('format')}; this Spoor writes {FORMAT}; "
                "go on with the version that began it, or choose another --out"
            )
        changed = sorted(
            key
            for key in {*known["crawl"], *settings["crawl"]}
            if known["crawl"].get(key) != settings["crawl"].get(key)
        )
        if changed:
            key = changed[0]
            raise InputError(
                f"{self.path} was begun with {key} = {known['crawl'].get(key)!r}, not "
                f"{settings['crawl'].get(key)!r}; use the same settings or another --out"
            )

    def _open_db(self) -> sqlite3.Connection:
        try:
            db = sqlite3.connect(self.path / "state.db")
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=NORMAL")
            db.executescript(_SCHEMA)
        except sqlite3.Error as error:
            raise InputError(f"{self.path / 'state.db'} cannot be used: {error}") from error
        return db

    def _last_ends(self) -> _Ends:
        row = self._db.execute(
            "SELECT warc_file, warc_end, relevant_end FROM checkpoints"
            " ORDER BY generation DESC LIMIT 1"
        ).fetchone()
        return _Ends(*row) if row else _Ends()

    def _cut_back(self) -> None:
        """Drop what was written after the last checkpoint: it will be fetched again."""
        for file in sorted(self.path.glob("pages*.warc.gz")):
            if number_of(file) > number_of(self.path / self._ends.warc_file):
                file.unlink()
        for name, end in (
            (self._ends.warc_file, self._ends.warc_end),
            ("relevant.jsonl", self._ends.relevant_end),
        ):
            file = self.path / name
            if file.exists() and file.stat().st_size > end:
                os.truncate(file, end)

    def state(self) -> dict[str, Any] | None:
        """The crawl's state at the last checkpoint; None for a new run.

        A damaged generation gives way to the one before it.
        """
        rows = self._db.execute("SELECT state FROM checkpoints ORDER BY generation DESC").fetchall()
        for at, (blob,) in enumerate(rows, 1):
            try:
                return unpack(blob, source=str(self.path / "state.db"))
            except InputError:
                if at == len(rows):
                    raise
        return None

    # -- writing

    def record(self, fetch: Fetch, exchange: Exchange) -> None:
        """Archive one exchange."""
        if self._warc is None:
            return
        captured = Captured(
            exchange.url,
            exchange.began,
            _request(exchange),
            _response(exchange),
            _TRUNCATED.get(exchange.truncated, "unspecified") if exchange.truncated else "",
        )
        metadata = {"ticket": fetch.ticket, "attempt": fetch.attempt}
        place = self._warc.write(captured, metadata)
        self._place = (place.file, place.offset, place.length)

    def step(self, fetch: Fetch, step: Outcome | Deferred, path: list[str], at: float) -> None:
        """Note what came of a reply; it becomes durable with the next checkpoint."""
        place, self._place = self._place, None
        if isinstance(step, Deferred):
            return
        if isinstance(step.reply, Failed):
            reply = step.reply
            row = (fetch.url, fetch.host, reply.kind, reply.reason, reply.status, at)
            self._rows.failures.append(row)
            return
        page, judgement = step.reply.page, step.judgement
        assert judgement is not None
        why = [[reason, round(share, 4)] for reason, share in judgement.why]
        chosen = [[reason, round(share, 4)] for reason, share in step.choice.why]
        self._rows.pages.append(
            (
                page.url,
                fetch.host,
                page.status,
                at,
                step.reply.seconds,
                step.reply.size,
                judgement.score,
                int(judgement.relevant),
                page.title,
                json.dumps(path),
                json.dumps(why),
                step.choice.probability,
                json.dumps(chosen),
                *(place or (None, None, None)),
            )
        )
        if judgement.relevant:
            line = {
                "url": page.url,
                "score": round(judgement.score, 4),
                "title": page.title,
                "path": path,
                "why": why,
            }
            self._relevant.write(json.dumps(line, ensure_ascii=False) + "\n")

    def checkpoint(self, state: State, requests: int, at: float) -> None:
        """Make everything so far durable: files first, then one transaction."""
        self._relevant.flush()
        os.fsync(self._relevant.fileno())
        if self._warc is not None:
            self._warc.sync()
            self._ends.warc_file, self._ends.warc_end = self._warc.end
        self._ends.relevant_end = self._relevant.tell()
        blob = pack(state)
        with self._db:
            self._db.executemany(
                "INSERT INTO pages (url, host, status, at, seconds, size, score, relevant, title,"
                " path, why, probability, choice_why, warc_file, warc_offset, warc_length)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                self._rows.pages,
            )
            self._db.executemany(
                "INSERT INTO failures (url, host, kind, reason, status, at)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                self._rows.failures,
            )
            self._db.execute(
                "INSERT INTO checkpoints (at, requests, warc_file, warc_end, relevant_end, state)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (
                    at,
                    requests,
                    self._ends.warc_file,
                    self._ends.warc_end,
                    self._ends.relevant_end,
                    blob,
                ),
            )
            self._db.execute(
                "DELETE FROM checkpoints WHERE generation <="
                " (SELECT max(generation) FROM checkpoints) - 2"
            )
        self._rows = _Rows()

    def close(self) -> None:
        """Close the files; what came after the last checkpoint is dropped at the next opening."""
        if self._warc is not None:
            self._warc.close()
        self._relevant.close()
        self._db.close()
        self._lock.close()


_TRUNCATED = {"length": "length", "ratio": "length", "time": "time", "disconnect": "disconnect"}


def _request(exchange: Exchange) -> bytes:
    _, _, host, *rest = exchange.url.split("/", 3)
    target = "/" + (rest[0] if rest else "")
    headers = "".join(f"{name}: {value}\r\n" for name, value in exchange.request_headers)
    return f"GET {target} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n".encode("utf-8", "replace")


def _response(exchange: Exchange) -> bytes:
    """The reply as received, except that chunking is undone: its header keeps its old value under
    another name, as Common Crawl does."""
    lines = [f"HTTP/1.1 {exchange.status} {exchange.reason}"]
    for name, value in exchange.headers.items():
        lower = name.lower()
        if lower in ("transfer-encoding", "content-length"):
            name = f"X-Crawler-{name}"
        lines.append(f"{name}: {value}")
    lines.append(f"Content-Length: {len(exchange.raw)}")
    head = "\r\n".join(lines) + "\r\n\r\n"
    return head.encode("utf-8", "surrogateescape") + exchange.raw


def read_settings(path: Path) -> dict[str, Any]:
    """The settings of a run. Raises InputError where there is none."""
    import tomllib

    try:
        return tomllib.loads((path / "spoor.toml").read_text("utf-8"))
    except OSError as error:
        raise InputError(f"{path} is no run: it has no spoor.toml") from error
    except ValueError as error:
        raise InputError(f"{path / 'spoor.toml'} is damaged: {error}") from error


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """The database of a run, to look at only."""
    file = path / "state.db"
    if not file.exists():
        raise InputError(f"{path} is no run: it has no state.db")
    db = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    db.row_factory = sqlite3.Row
    try:
        yield db
    finally:
        db.close()
