"""The folder of a live run: settings, state, pages, results.

`state.db` (SQLite) is the truth: what was fetched, the journal of all that went into the crawl, two
generations of its state, and how far the WARC files reach. A commit brings the WARC records onto
the disk first, then everything else in one transaction. `spoor.toml` says the settings and
`relevant.jsonl` what was found, both for the reader; opening the folder cuts the WARC files back to
the last commit and mends the rest, so that all agree whenever the process died.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spoor.distribution import VERSION
from spoor.errors import InputError, PausedError, SpoorError
from spoor.files import write_whole
from spoor.formats.warc_writer import ROTATE_AT, Captured, Place, WarcWriter, response_at
from spoor.runs import files
from spoor.runs.database import noted
from spoor.runs.schema import (
    FORMAT,
    TABLES,
    as_kept,
    from_tables,
    read_settings,
    to_tables,
    write_settings,
)
from spoor.settings import Settings, user_agent
from spoor.types import Deferred, Failed, Fetch, Judgement, Outcome, State

if TYPE_CHECKING:
    from spoor.web.exchange import Exchange

POINTS = (
    "opened",
    "checked",
    "created",
    "warc cut",
    "results mended",
    "state read",
    "gone through",
    "resumed",
    "exchange recorded",
    "reply received",
    "commit begun",
    "warc synced",
    "rows written",
    "committed",
    "results written",
    "sending",
    "state packed",
    "state written",
    "state committed",
    "log emptied",
)
"""Steps of opening, of a finish and of a checkpoint, told to the folder's `at` as they are reached:
where a test may end the process."""


@dataclass(slots=True)
class _Ends:
    """How far a run got."""

    seq: int
    """Of the journal."""
    pages: int
    failures: int
    warc: dict[str, int]
    """Where each WARC file ends."""


@dataclass(slots=True)
class _Rows:
    """What was fetched since the last commit."""

    pages: list[tuple[Any, ...]] = field(default_factory=list)
    failures: list[tuple[Any, ...]] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    labels: list[tuple[float, int, str, int]] = field(default_factory=list)
    """(score, relevant, why, seq) of pages that a person judged otherwise."""
    notes: dict[str, str] = field(default_factory=dict)


class BusyError(InputError):
    """Another process holds the folder."""


class RunWriter:
    """Opens a run's folder, new or old. Only one process may hold it.

    Raises InputError where it cannot be written, is held by another process (BusyError), belongs to
    another version, was begun with other settings, or is damaged; PausedError where later the disk
    is full.
    """

    def __init__(
        self,
        path: Path,
        settings: Settings,
        *,
        rotate_at: int = ROTATE_AT,
        at: Callable[[str], None] = lambda point: None,
    ) -> None:
        self.path = path
        self.settings = settings
        self.at = at
        self._rotate_at = rotate_at
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock = (path / files.LOCK).open("w")
        except OSError as error:
            raise self._unwritable(error.strerror) from error
        with ExitStack() as undo:
            undo.callback(self._lock.close)
            try:
                self._open(undo)
            except OSError as error:
                raise self._unwritable(error.strerror) from error
            undo.pop_all()

    def _open(self, undo: ExitStack) -> None:
        path = self.path
        if files.shards(path):
            raise InputError(f"{path} is a run in shards; go on with --shards")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BusyError(f"{path} is in use by another process; wait for it or end it") from None
        written = read_settings(path) if files.is_run(path) else None
        if written is not None:
            self.settings.refuse_change(written, path)
        self.at("opened")
        try:
            self._db = sqlite3.connect(path / files.DATABASE)
            undo.callback(self._db.close)
            self.resumed = self._open_db()
            if not self.resumed:
                self._create()
            begun = self._begun()
            self.settings.refuse_change(begun, path)
            self._ends = self._last_ends()
        except sqlite3.OperationalError as error:  # read-only, full
            raise self._unwritable(str(error)) from error
        except sqlite3.Error as error:
            raise self._damaged(str(error)) from error
        if written != begun:
            write_settings(path, begun)
        self._cut_back()
        self.at("warc cut")
        self._rows = _Rows()
        self._mend_results()
        self._results = (path / files.RELEVANT).open("a", encoding="utf-8")
        undo.callback(self._results.close)
        self.at("results mended")
        self._warc: WarcWriter | None = None
        if self.settings.warc:
            self._warc = WarcWriter(
                path, files.WARC, software=user_agent(), rotate_at=self._rotate_at
            )
        self._place: Place | None = None
        self._after = 0
        self.closing: list[Callable[[], None]] = []
        """What else is closed with it."""
        self._heard = int(self.told("labels") or 0)
        """Bytes of `labels.jsonl` that were taken in."""
        self.ran_with = self.settings

    # -- opening

    def _unwritable(self, what: str | None) -> SpoorError:
        """A run that was begun pauses; where none was, the folder is what is wrong."""
        with suppress(OSError):
            if (self.path / files.DATABASE).exists():
                return PausedError(_paused(self.path, what))
        return InputError(f"cannot write the run folder {self.path}: {what}")

    def _damaged(self, what: str) -> InputError:
        file = self.path / files.DATABASE
        return InputError(
            f"{file} cannot be used ({what}); put it back from a copy or choose another --out"
        )

    def _open_db(self) -> bool:
        """Whether there is a run in it."""
        db = self._db
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        # The log is emptied with each checkpoint of ours and never half-way: what is in the
        # database itself then belongs together even where the log is lost.
        db.execute("PRAGMA wal_autocheckpoint=0")
        known = db.execute("PRAGMA user_version").fetchone()[0]
        if not known and not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return False
        if known != FORMAT:
            file = self.path / files.DATABASE
            raise InputError(
                f"{file} is of run format {known}; this Spoor writes {FORMAT}; "
                "go on with the version that began it, or choose another --out"
            )
        problem = db.execute("PRAGMA quick_check(1)").fetchone()[0]
        if problem != "ok":
            raise self._damaged(problem)
        self.at("checked")
        return True

    def _create(self) -> None:
        left = [self.path / files.SETTINGS, *files.archives(self.path)]
        for file in left:
            if file.exists() and file.stat().st_size:
                raise self._damaged(f"no state in it, but {file.name} is there")
        begun = json.dumps(to_tables(as_kept(self.path, self.settings)))
        self._db.executescript(f"BEGIN; {TABLES} PRAGMA user_version={FORMAT};")
        self._db.execute("INSERT INTO meta VALUES ('settings', ?)", (begun,))
        self._db.execute("INSERT INTO meta VALUES ('version', ?)", (VERSION,))
        self._db.commit()
        self._empty_log()
        self.at("created")

    def _begun(self) -> Settings:
        begun = noted(self._db, "settings")
        if begun is None:
            raise self._damaged("it holds no settings")
        return from_tables(self.path, json.loads(begun))

    def _last_ends(self) -> _Ends:
        db = self._db
        seq, pages, failures, warc = db.execute("SELECT * FROM ends").fetchone()
        for table, rows in (("pages", pages), ("failures", failures)):
            found = db.execute(f"SELECT count(*), coalesce(max(seq), 0) FROM {table}").fetchone()
            if found != (rows, rows):
                raise self._damaged(f"its table {table} does not hold the {rows} rows committed")
        return _Ends(seq, pages, failures, json.loads(warc))

    def _cut_back(self) -> None:
        """Drop what was archived after the last commit: it will be fetched again."""
        for file in files.archives(self.path):
            if file.name not in self._ends.warc:
                file.unlink()
        for name, end in self._ends.warc.items():
            file = self.path / name
            size = file.stat().st_size if file.exists() else 0
            if size < end:
                raise InputError(
                    f"{file} is damaged: {size} of the {end} bytes committed are left; put it back "
                    "from a copy or choose another --out"
                )
            if size > end:
                os.truncate(file, end)

    def _mend_results(self) -> None:
        """Make `relevant.jsonl` say what the database says."""
        rows = self._db.execute(
            "SELECT url, score, title, path, why FROM pages WHERE relevant ORDER BY seq"
        )
        wanted = "".join(
            _result(url, score, title, json.loads(path), json.loads(why))
            for url, score, title, path, why in rows
        ).encode()
        file = self.path / files.RELEVANT
        if file.exists() and file.read_bytes() == wanted:
            return
        write_whole(file, wanted)

    def state(self, usable: Callable[[State], bool] = lambda state: True) -> dict[str, Any] | None:
        """The crawl's state at the last checkpoint, None before the first; `ran_with` then holds
        the settings of that time, and `tail` gives what came after it.

        A generation that is damaged, or not `usable`, gives way to the one before it.
        """
        from spoor.learn.state import unpack

        found = self._generations()
        for at, (seq, settings, blob) in enumerate(found, 1):
            try:
                state = unpack(blob, source=str(self.path / files.DATABASE))
            except InputError:
                if at == len(found):
                    raise
            else:
                if at < len(found) and not usable(state):
                    continue
                self._after = seq
                self.ran_with = Settings.from_dict(json.loads(settings))
                self.at("state read")
                return state
        if self._ends.seq:
            raise self._damaged("it holds a journal without a state")
        return None

    def _generations(self) -> list[tuple[int, str, bytes]]:
        rows = "SELECT seq, settings, state FROM checkpoints ORDER BY generation DESC"
        return self._db.execute(rows).fetchall()

    def tail(self) -> Iterator[bytes]:
        """The journal after the state that `state` gave."""
        rows = self._db.execute(
            "SELECT seq, events FROM journal WHERE seq > ? ORDER BY seq", (self._after,)
        )
        expected = self._after
        for seq, events in rows:
            expected += 1
            if seq != expected:
                break
            yield events
        else:
            if expected == self._ends.seq:
                return
        raise self._damaged(f"entry {expected} of its journal is missing")

    # -- what a person says of its pages

    def told(self, name: str) -> str | None:
        """What was noted under a name."""
        return noted(self._db, name)

    def note(self, name: str, value: str) -> None:
        """Note what readers of the folder want to know; durable with the next commit."""
        self._rows.notes[name] = value

    def verdicts(self) -> list[bool]:
        """Whether each page committed so far was judged relevant, in order."""
        return [bool(row[0]) for row in self._db.execute("SELECT relevant FROM pages ORDER BY seq")]

    def has_labels(self) -> bool:
        """Whether something was said since the last time; costs one look at a file's size."""
        try:
            return (self.path / files.LABELS).stat().st_size > self._heard
        except OSError:
            return False

    def labels(self) -> list[tuple[str, bool]]:
        """(URL, relevant) as said in `labels.jsonl` since the last time; what is not yet a whole
        line is left for the next. That they were heard is durable with the next commit."""
        try:
            with (self.path / files.LABELS).open("rb") as file:
                file.seek(self._heard)
                whole = file.read().rpartition(b"\n")[0]
        except OSError:
            return []
        if not whole:
            return []
        self._heard += len(whole) + 1
        self.note("labels", str(self._heard))
        said = []
        for line in whole.splitlines():
            with suppress(ValueError, KeyError, TypeError):
                row = json.loads(line)
                said.append((str(row["url"]), bool(row["relevant"])))
        return said

    def relabel(self, url: str, relevant: bool) -> tuple[Judgement, Judgement] | None:
        """Judge a page that was committed otherwise: (before, after); None where there is none, or
        nothing new was said of it. Durable with the next commit."""
        row = self._db.execute(
            "SELECT seq, score, relevant, why FROM pages WHERE url = ? ORDER BY seq DESC LIMIT 1",
            (url,),
        ).fetchone()
        if row is None:
            return None
        seq, score, was, why = row
        for new, now, told, at in self._rows.labels:
            if at == seq:
                score, was, why = new, now, told
        after = Judgement(float(relevant), relevant, float(relevant))
        if (score, bool(was)) == (after.score, relevant):
            return None
        before = Judgement(score, bool(was), float(was))
        reasons = [reason for reason in json.loads(why) if reason[0] != _PERSON]
        reasons.insert(0, [_PERSON, round(after.score - score, 4)])
        self._rows.labels.append((after.score, int(relevant), json.dumps(reasons), seq))
        return before, after

    # -- writing

    def record(self, fetch: Fetch, exchange: Exchange) -> Place | None:
        """Archive one exchange; where, if at all."""
        if self._warc is None:
            return None
        captured = Captured(
            exchange.url,
            exchange.began,
            _request(exchange),
            _response(exchange),
            _TRUNCATED.get(exchange.truncated, "unspecified") if exchange.truncated else "",
        )
        try:
            self._place = self._warc.write(captured)
        except OSError as error:
            raise self._pause(error) from error
        self.at("exchange recorded")
        return self._place

    def body(self, place: Place, size: int) -> bytes:
        """The body of an exchange that was archived whole, decompressed: so many bytes.

        Raises InputError where the archive is damaged.
        """
        from spoor.web.content_encoding import decoded

        head, raw = response_at(self.path, place)
        encodings = [
            value.strip()
            for name, _, value in (line.partition(":") for line in head.split("\r\n"))
            if name.lower() == "content-encoding"
        ]
        try:
            return decoded(raw, encodings[0] if encodings else "", size)
        except ValueError as error:
            file = self.path / place.file
            raise InputError(f"{file} is damaged at byte {place.offset}: {error}") from error

    def step(self, fetch: Fetch, step: Outcome | Deferred, path: list[str], at: float) -> None:
        """Note what came of a reply; it becomes durable with the next commit."""
        if isinstance(step, Deferred):
            self.describe(fetch, step)
            return
        if isinstance(reply := step.reply, Failed):
            self.describe(fetch, step)
            self._rows.failures.append(
                (fetch.url, fetch.host, reply.kind, reply.reason, reply.status, at, fetch.ticket)
            )
            return
        page, judgement = reply.page, step.judgement
        assert judgement is not None
        why = [[reason, round(share, 4)] for reason, share in judgement.why]
        chosen = [[reason, round(share, 4)] for reason, share in step.choice.why]
        path_json, why_json, chosen_json = _json(path), _json(why), _json(chosen)
        relevant = "true" if judgement.relevant else "false"
        place = self._describe(
            f'{{"ticket": {fetch.ticket}, "attempt": {fetch.attempt}, '
            f'"score": {float(judgement.score)!r}, "relevant": {relevant}, '
            f'"why": {why_json}, "path": {path_json}, "chosen": {chosen_json}}}',
        )
        self._rows.pages.append(
            (
                page.url,
                fetch.host,
                page.status,
                at,
                reply.seconds,
                reply.size,
                judgement.score,
                int(judgement.relevant),
                page.title,
                path_json,
                why_json,
                step.choice.probability,
                chosen_json,
                *((place.file, place.offset, place.length) if place else (None, None, None)),
                fetch.ticket,
                " ".join(sorted(page.flags)),
            )
        )
        if judgement.relevant:
            self._rows.results.append(_result(page.url, judgement.score, page.title, path, why))

    def describe(self, fetch: Fetch, step: Outcome | Deferred) -> None:
        """Archive what came of the exchange recorded last, where nobody judged a page."""
        told: dict[str, object] = {"ticket": fetch.ticket, "attempt": fetch.attempt}
        if isinstance(step, Deferred):
            told["again"] = step.reason
        elif isinstance(step.reply, Failed):
            told["failed"] = step.reply.kind
        self._describe(json.dumps(told))

    def _describe(self, metadata: str) -> Place | None:
        """Archive what is known of the exchange recorded last; where that stands."""
        place, self._place = self._place, None
        if place is not None and self._warc is not None:
            self._warc.describe(metadata)
        return place

    def commit(self, events: bytes) -> None:
        """Make everything so far durable, with its part of the journal."""
        self._write(events, None)

    def checkpoint(self, state: State, requests: int, at: float, events: bytes = b"") -> None:
        """Make everything so far durable, and the crawl's state with it."""
        from spoor.learn.state import pack

        blob = pack(state)
        self.at("state packed")
        self._write(events, (at, requests, json.dumps(self.settings.to_dict()), blob))
        self.at("state committed")
        with self.pausing():
            self._empty_log()
        self.at("log emptied")

    def _write(self, events: bytes, checkpoint: tuple[float, int, str, bytes] | None) -> None:
        """WARC files first, then one transaction, then the results, which are there to be read."""
        rows, ends, db = self._rows, self._ends, self._db
        self.at("commit begun")
        with self.pausing():
            if self._warc is not None:
                self._warc.sync()
                ends.warc |= self._warc.ends
            self.at("warc synced")
            with db:
                for table, columns, new in (
                    ("pages", 19, rows.pages),
                    ("failures", 8, rows.failures),
                ):
                    if not new:
                        continue
                    first = getattr(ends, table) + 1
                    marks = ", ".join("?" * columns)
                    db.executemany(
                        f"INSERT INTO {table} VALUES ({marks})",
                        [(seq, *row) for seq, row in enumerate(new, first)],
                    )
                    setattr(ends, table, first - 1 + len(new))
                if rows.labels:
                    relabelled = "UPDATE pages SET score = ?, relevant = ?, why = ? WHERE seq = ?"
                    db.executemany(relabelled, rows.labels)
                if rows.notes:
                    db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows.notes.items())
                if events:
                    ends.seq += 1
                    db.execute("INSERT INTO journal VALUES (?, ?)", (ends.seq, events))
                db.execute(
                    "UPDATE ends SET seq = ?, pages = ?, failures = ?, warc = ?",
                    (ends.seq, ends.pages, ends.failures, json.dumps(ends.warc)),
                )
                if checkpoint is not None:
                    self._write_state(*checkpoint)
                self.at("rows written")
            self.at("committed")
            self._rows = _Rows()
            if rows.labels:
                self._results.close()
                self._mend_results()
                self._results = (self.path / files.RELEVANT).open("a", encoding="utf-8")
            else:
                self._results.writelines(rows.results)
            self._results.flush()
            self.at("results written")

    def _write_state(self, at: float, requests: int, settings: str, blob: bytes) -> None:
        db = self._db
        db.execute(
            "INSERT INTO checkpoints (at, requests, seq, settings, state) VALUES (?, ?, ?, ?, ?)",
            (at, requests, self._ends.seq, settings, blob),
        )
        newest = "SELECT max(generation) FROM checkpoints"
        db.execute(f"DELETE FROM checkpoints WHERE generation <= ({newest}) - 2")
        db.execute("DELETE FROM journal WHERE seq <= (SELECT min(seq) FROM checkpoints)")
        self.at("state written")

    def _empty_log(self) -> None:
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    @contextmanager
    def pausing(self) -> Iterator[None]:
        """What cannot be written within it pauses the run: raises PausedError."""
        try:
            yield
        except (OSError, sqlite3.OperationalError) as error:
            raise self._pause(error) from error

    def _pause(self, error: OSError | sqlite3.OperationalError) -> PausedError:
        what = error.strerror if isinstance(error, OSError) else str(error)
        return PausedError(_paused(self.path, what))

    def close(self) -> None:
        """Close the files; what came after the last commit is dropped at the next opening."""
        for close in self.closing:
            close()
        with suppress(OSError):
            if self._warc is not None:
                self._warc.close()
        with suppress(OSError):
            self._results.close()
        with suppress(sqlite3.Error):
            self._db.close()
        self._lock.close()


def _paused(path: Path, what: str | None) -> str:
    return (
        f"paused: cannot write {path} ({what}); make room, or make it writable, and give the same "
        "command to go on"
    )


def _result(url: str, score: float, title: str, path: list[str], why: list[Any]) -> str:
    """A line of `relevant.jsonl`."""
    line = {"url": url, "score": round(score, 4), "title": title, "path": path, "why": why}
    return json.dumps(line, ensure_ascii=False) + "\n"


_PERSON = "a person said so"

_TRUNCATED = {"length": "length", "ratio": "length", "time": "time", "disconnect": "disconnect"}


_json = json.JSONEncoder(check_circular=False).encode
"""Of what cannot hold itself."""


def _request(exchange: Exchange) -> bytes:
    _, _, host, *rest = exchange.url.split("/", 3)
    target = rest[0] if rest else ""
    head = f"GET /{target} HTTP/1.1\r\nHost: {host}\r\n{_lines(exchange.request_headers)}\r\n"
    return head.encode("utf-8", "replace")


@lru_cache(maxsize=4)  # a run has one
def _lines(headers: tuple[tuple[str, str], ...]) -> str:
    return "".join(f"{name}: {value}\r\n" for name, value in headers)


def _response(exchange: Exchange) -> bytes:
    """The reply as received, except that chunking is undone: its header keeps its old value under
    another name, as Common Crawl does."""
    lines = [f"HTTP/1.1 {exchange.status} {exchange.reason}"]
    for name, value in exchange.headers.items():
        if name.lower() in _FRAMING:
            name = f"X-Crawler-{name}"
        lines.append(f"{name}: {value}")
    lines.append(f"Content-Length: {len(exchange.raw)}\r\n\r\n")
    return b"".join(("\r\n".join(lines).encode("utf-8", "surrogateescape"), exchange.raw))


_FRAMING = frozenset(("transfer-encoding", "content-length"))
