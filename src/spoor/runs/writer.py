"""Writes a live run: settings, state, pages, results.

The database is the truth: what was fetched, the journal of all that went into the crawl, two
generations of its state, and how far the WARC files reach. A commit brings the WARC records onto
the disk first, then everything else in one transaction. The files of settings and results are for
the reader; opening the folder cuts the WARC files back to the last commit (records that are whole
are kept aside) and mends the rest, so that all agree whenever the process died.
"""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spoor.distribution import VERSION
from spoor.errors import TOO_MANY_FILES, InputError, PausedError, SpoorError
from spoor.formats.warc_records import DamagedError
from spoor.formats.warc_writer import ROTATE_AT, Place, WarcWriter
from spoor.runs import files
from spoor.runs.database import BROKE_OFF, broke_off, noted, validators_of
from spoor.runs.exchanges import captured, read_body
from spoor.runs.labels import read_labels
from spoor.runs.lock import Lock
from spoor.runs.pending_rows import PendingRows
from spoor.runs.recovery import (
    check_database,
    committed,
    cut_archives,
    damaged,
    journal_after,
    mend_results,
    open_mark,
    refuse_leftovers,
    result_line,
    swapped_archives,
    telling,
    write_mark,
)
from spoor.runs.renders import RenderRow, forget_renders
from spoor.runs.rows import FIRST_TICKET
from spoor.runs.saved_files import follow_verdicts, save
from spoor.runs.schema import (
    ADDED,
    FORMAT,
    TABLES,
    as_kept,
    from_tables,
    read_settings,
    to_tables,
    write_settings,
)
from spoor.settings import Settings, user_agent
from spoor.types import Deferred, Failed, Fetch, Judgement, Outcome, Revision, State
from spoor.web.freshness import fresh_for
from spoor.web.validators import Validators

if TYPE_CHECKING:
    from spoor.runs.originals import Originals
    from spoor.web.exchange import Exchange
    from spoor.web.revisits import Revisits

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
"""Steps of opening, of a commit and of a checkpoint, passed to the writer's `at` when they are
reached: where a test may end the process."""


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
        failpoint: Callable[[str], None] = lambda step: None,
    ) -> None:
        self.path = path
        self.settings = settings
        self.failpoint = failpoint
        try:
            self._lock = Lock(path)
        except OSError as error:
            raise self._unwritable(error.strerror) from error
        with ExitStack() as undo:
            undo.callback(self._lock.close)
            try:
                self._open(undo)
                self._results = (path / files.RELEVANT).open("a", encoding="utf-8")
                undo.callback(self._results.close)
                self.failpoint("results mended")
                self._warc = (
                    WarcWriter(path, files.WARC, software=user_agent(), rotate_at=rotate_at)
                    if settings.warc
                    else None
                )
            except OSError as error:
                raise self._unwritable(error.strerror) from error
            undo.pop_all()
        self._rows = PendingRows()
        self._place: Place | None = None
        self._body = b""
        """Of the exchange recorded last, where documents are saved."""
        self._after = 0
        self.on_damage: Callable[[str], None] = lambda line: None
        """Called with a line about a document that its archive has damaged."""
        self.closing: list[Callable[[], None]] = []
        """What else is closed with it."""
        self.checkpoint_settings = self.settings
        self.revisits: Revisits | None = None
        self.originals: Originals | None = None
        """The pages of an earlier run, where they are visited again."""
        self.unchanged = False
        """Whether the exchange recorded last brought a page of it as it was."""

    # -- opening

    def _open(self, undo: ExitStack) -> None:
        """The database, and everything else as it was at the last commit."""
        path = self.path
        if files.shards(path):
            raise InputError(f"{path} is a run in shards; go on with --shards")
        self._lock.hold()
        files.refuse_links(path)
        in_file = read_settings(path) if files.is_run(path) else None
        if in_file is not None:
            self.settings.refuse_change(in_file, path / files.SETTINGS)
        self.failpoint("opened")
        self._lock.hold_database()
        try:
            self._db = sqlite3.connect(path / files.DATABASE, check_same_thread=False)
            undo.callback(self._db.close)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            # The log is emptied with each checkpoint of ours and never half-way: what is in the
            # database itself then belongs together even where the log is lost.
            self._db.execute("PRAGMA wal_autocheckpoint=0")
            self.resumed = check_database(path, self._db)
            if self.resumed:
                self.failpoint("checked")
            else:
                self._create()
            self._db.executescript(ADDED)
            begun = noted(self._db, "settings")
            if begun is None:
                raise damaged(path, "it holds no settings")
            known = from_tables(path, json.loads(begun))
            self.settings.refuse_change(known, path / files.SETTINGS)
            self.added_seeds = [url for url in self.settings.seeds if url not in known.seeds]
            """Those that the run was not begun with."""
            self._ends = committed(path, self._db)
        except sqlite3.OperationalError as error:  # read-only, full
            raise self._unwritable(str(error)) from error
        except (
            *(sqlite3.Error, ValueError, TypeError),
            *(LookupError, AttributeError, RecursionError),
        ) as error:
            raise damaged(path, str(error)) from error
        if in_file != known:
            write_settings(path, known)
        self.recovered = cut_archives(path, self._ends.warc, swapped_archives(self._db))
        """Files into which records were put that the last commit knows nothing of."""
        self.failpoint("warc cut")
        with telling(path):
            mend_results(path, self._db)
            self._labels_read = int(noted(self._db, "labels") or 0)
            """Bytes of the labels that were taken in."""
        self._mark = open_mark(path)
        undo.callback(os.close, self._mark)

    def _create(self) -> None:
        refresh = self.settings.refresh
        if refresh:
            from spoor.runs import earlier  # which reads whole states

            if earlier.left_over(self.path, Path(refresh)):
                earlier.remove_left_over(self.path)
        refuse_leftovers(self.path)
        begun = json.dumps(to_tables(as_kept(self.path, self.settings)))
        self._db.executescript(f"BEGIN; {TABLES} PRAGMA user_version={FORMAT};")
        if refresh:
            for statement in ADDED.split(";"):
                self._db.execute(statement)
            warc = earlier.copy_into(self.path, self._db, self.settings, time.time())
            (pages,) = self._db.execute("SELECT count(*) FROM pages").fetchone()
            self._db.execute("UPDATE ends SET pages = ?, warc = ?", (pages, json.dumps(warc)))
        self._db.execute("INSERT INTO meta VALUES ('settings', ?)", (begun,))
        self._db.execute("INSERT INTO meta VALUES ('version', ?)", (VERSION,))
        if self.settings.shards and self.path in files.shards(self.path.parent):
            number = str(files.shard_number(self.path))
            self._db.execute("INSERT INTO meta VALUES ('shard', ?)", (number,))
        self._db.commit()
        self._empty_log()
        self.failpoint("created")

    def _unwritable(self, reason: str | None) -> SpoorError:
        """A run that was begun pauses; where none was, the folder is what is wrong. A database that
        is locked though the run is ours lies where no locks are kept, or is open elsewhere."""
        if reason == "database is locked":
            return InputError(
                f"cannot lock {self.path / files.DATABASE}: choose an --out on a local disk, or "
                "end the other program that has it open"
            )
        with suppress(OSError):
            if (self.path / files.DATABASE).exists():
                return PausedError(_paused(self.path, reason))
        return InputError(f"cannot write the run folder {self.path}: {reason}")

    def state(self, usable: Callable[[State], bool] = lambda state: True) -> dict[str, Any] | None:
        """The crawl's state at the last checkpoint, None before the first.
        `checkpoint_settings` then holds the settings of that time, and `tail` gives what came
        after it.

        A generation that is damaged, or not `usable`, gives way to the one before it.
        """
        with telling(self.path):
            return self._state(usable)

    def _state(self, usable: Callable[[State], bool]) -> dict[str, Any] | None:
        from spoor.learn.state import unpack

        rows = self._generations()
        for index, (seq, settings, blob) in enumerate(rows):
            last = index == len(rows) - 1
            try:
                state = unpack(blob, source=str(self.path / files.DATABASE))
            except InputError:
                if last:
                    raise
                continue
            if last or usable(state):
                self._after = seq
                self.checkpoint_settings = Settings.from_dict(json.loads(settings))
                self.failpoint("state read")
                return state
        if self._ends.seq:
            raise damaged(self.path, "it holds a journal without a state")
        return None

    def _generations(self) -> list[tuple[int, str, bytes]]:
        rows = "SELECT seq, settings, state FROM checkpoints ORDER BY generation DESC"
        return self._db.execute(rows).fetchall()

    def tail(self) -> Iterator[bytes]:
        """The journal after the state that `state` gave."""
        with telling(self.path):
            yield from journal_after(self.path, self._db, self._after, self._ends.seq)

    # -- labels of people

    def note(self, name: str, value: str) -> None:
        """Note something for readers of the run; durable with the next commit."""
        self._rows.notes[name] = value

    def note_render(self, row: RenderRow) -> None:
        """Note what a render brought; durable with the next commit."""
        self._rows.renders.append(row)

    def note_rendered(self, url: str) -> None:
        """Note that a watch has rendered a page; durable with the next commit."""
        self._rows.rendered.append(url)

    def rendered(self) -> list[str]:
        """The URLs that a watch has rendered, as committed so far."""
        return [str(url) for (url,) in self._db.execute("SELECT url FROM rendered")]

    def verdicts(self) -> list[bool]:
        """Whether each page committed so far was judged relevant, in order; those that stand there
        from an earlier run left out, as in `used`."""
        query = "SELECT relevant FROM pages WHERE ticket < ? ORDER BY seq"
        return [bool(row[0]) for row in self._db.execute(query, (FIRST_TICKET,))]

    def used(self) -> tuple[float, int]:
        """Seconds that the run went on, and bytes of its documents, as committed so far."""
        with telling(self.path):  # a sum may overflow
            query = "SELECT coalesce(sum(size), 0) FROM pages WHERE ticket < ?"
            (size,) = self._db.execute(query, (FIRST_TICKET,)).fetchone()
            return float(noted(self._db, "seconds") or 0.0), int(size)

    def judged(self) -> list[tuple[str, str, float, bool]]:
        """(URL, title, score, relevant) of each page committed so far, in order."""
        rows = self._db.execute("SELECT url, title, score, relevant FROM pages ORDER BY seq")
        return [(url, title, score, bool(relevant)) for url, title, score, relevant in rows]

    def has_labels(self) -> bool:
        """Whether there are labels that were not taken in; costs one look at a file's size."""
        try:
            return files.labels(self.path).stat().st_size > self._labels_read
        except OSError:
            return False

    def labels(self) -> list[tuple[str, bool]]:
        """(URL, relevant) of the labels since the last call; a line that is not complete is left
        for the next. That they were taken in is durable with the next commit."""
        labels, end = read_labels(self.path, self._labels_read)
        if end != self._labels_read:
            self._labels_read = end
            self.note("labels", str(end))
        return labels

    def relabel(self, url: str, relevant: bool) -> tuple[Judgement, Judgement] | None:
        """A person's verdict on a page that was committed: (before, after); None where there is
        none, or where a person has said the same. Durable with the next commit."""
        with telling(self.path):
            return self._relabel(url, relevant)

    def _relabel(self, url: str, relevant: bool) -> tuple[Judgement, Judgement] | None:
        row = self._db.execute(
            "SELECT seq, score, relevant, why FROM pages WHERE url = ? ORDER BY seq DESC LIMIT 1",
            (url,),
        ).fetchone()
        if row is None:
            return None
        seq, score, was, why = row
        score, was, why = self._rows.labels.get(seq, (score, was, why))
        after = Judgement(float(relevant), relevant, float(relevant))
        reasons = json.loads(why)
        said = any(reason[0] == _PERSON for reason in reasons)
        if (score, bool(was)) == (after.score, relevant) and said:
            return None
        before = Judgement(score, bool(was), float(was))
        reasons = [reason for reason in reasons if reason[0] != _PERSON]
        reasons.insert(0, [_PERSON, round(after.score - score, 4)])
        self._rows.labels[seq] = after.score, int(relevant), json.dumps(reasons)
        return before, after

    def revise(self, revisions: Sequence[Revision], pages: int) -> None:
        """Newer verdicts on pages, after so many pages. Durable with the next commit."""
        self._rows.revise(revisions, pages)

    # -- writing

    def record(self, fetch: Fetch, exchange: Exchange) -> Place | None:
        """Archive one exchange; where, if at all. What an earlier run holds as it is (`unchanged`)
        becomes a revisit record, which has no place."""
        revisit = None
        if self.revisits is not None:
            from spoor.runs import earlier

            seen = self.path, self._db, self.revisits
            try:
                revisit = earlier.revisit_of(*seen, exchange, self.originals)
            except DamagedError as error:
                self.on_damage(f"{error}; what came now takes the place of that page")
        self.unchanged = revisit is not None
        if self.unchanged:
            self.keep_validators(exchange)
        self._body = exchange.document if self.settings.save_files else b""
        if self._warc is None:
            return None
        try:
            self._place = self._warc.write(captured(exchange, revisit or None))
        except OSError as error:
            raise self._pause(error) from error
        self.failpoint("exchange recorded")
        if self.unchanged:
            self._place = None
        return self._place

    def keep_validators(self, exchange: Exchange) -> None:
        """Keep how to ask later for a document that was read, and until when it is fresh. One that
        broke off is asked for whole the next time (RFC 9111, section 3.3)."""
        # Of a rendered document they say nothing: what its scripts fetch may be new.
        if exchange.status != 200 or exchange.document is not exchange.body:
            return
        url, headers = exchange.url, exchange.headers
        if exchange.truncated not in ("", "length"):
            self._rows.validators[url], self._rows.freshness[url] = BROKE_OFF, 0.0
            return
        if (found := Validators.of(headers)) is not None:
            self._rows.validators[url] = found.etag, found.last_modified
        if "Cache-Control" in headers or "Expires" in headers:
            self._rows.freshness[url] = exchange.began + fresh_for(headers)

    def validators(self, url: str) -> Validators | None:
        """Those of the document that a URL gave last, once that is committed; None where its
        server gave none. 20 µs."""
        return validators_of(self._db, url)

    def broke_off(self, url: str) -> bool:
        """Whether the document that a URL gave last, once that is committed, was part of one."""
        return broke_off(self._db, url)

    def forget_urls(self, urls: Iterable[str]) -> None:
        """Keep nothing of these URLs of a watch, from the next commit on."""
        self._rows.forget(urls)

    def body(self, place: Place, size: int) -> bytes:
        """The body of an exchange that was archived without a cut (`read_body`)."""
        return read_body(self.path, place, size)

    def step(self, fetch: Fetch, step: Outcome | Deferred, path: list[str], now: float) -> None:
        """Note what came of a reply; it becomes durable with the next commit."""
        if isinstance(step, Deferred):
            self.describe(fetch, step)
            return
        if isinstance(reply := step.reply, Failed):
            self.describe(fetch, step)
            if reply.kind == "unchanged":
                return
            self._rows.failures.append(
                (fetch.url, fetch.host, reply.kind, reply.reason, reply.status, now, fetch.ticket)
            )
            if reply.kind in ("absent", "duplicate"):
                self._supersede(fetch.url, *path[-1:])
            return
        page, judgement = reply.page, step.judgement
        assert judgement is not None
        if judgement.relevant and self._body:
            self._rows.files.append((page.url, page.content_type, self._body))
        why = [[reason, round(share, 4)] for reason, share in judgement.why]
        chosen = [[reason, round(share, 4)] for reason, share in step.choice.why]
        path_json, why_json, chosen_json = encoded(path), encoded(why), encoded(chosen)
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
                now,
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
                " ".join(sorted(page.flags | self._supersede(page.url, *path[-1:]))),
            )
        )
        if judgement.relevant:
            self._rows.results.append(result_line(page.url, judgement.score, page.title, path, why))

    def _supersede(self, *urls: str) -> frozenset[str]:
        """The rows of an earlier run at these URLs count no more; the flag of what replaces them,
        where there is one."""
        if self.revisits is None:
            return frozenset()
        numbers = {number for url in urls if (number := self.revisits.numbers.get(url)) is not None}
        self._rows.superseded |= {number + 1 for number in numbers}
        return frozenset({"changed"} if numbers else ())

    def refreshed(self, unchanged: int) -> dict[str, Any] | None:
        """What became of the pages of an earlier run, by the rows that are committed; None where
        there is none."""
        if self.revisits is None:
            return None
        from spoor.runs import earlier

        return earlier.told(self._db, self.revisits, unchanged)

    def describe(self, fetch: Fetch, step: Outcome | Deferred) -> None:
        """Archive what came of the exchange recorded last, where nobody judged a page."""
        if self._place is None:
            self._body = b""
            return
        metadata: dict[str, object] = {"ticket": fetch.ticket, "attempt": fetch.attempt}
        if isinstance(step, Deferred):
            metadata["again"] = step.reason
        elif isinstance(step.reply, Failed):
            metadata["failed"] = step.reply.kind
        self._describe(json.dumps(metadata))

    def _describe(self, metadata: str) -> Place | None:
        """Archive what is known of the exchange recorded last; where that stands."""
        place, self._place = self._place, None
        self._body = b""
        if place is not None and self._warc is not None:
            self._warc.describe(metadata)
        return place

    def commit(self, events: bytes) -> None:
        """Make everything so far durable, with its part of the journal."""
        self._write(events, None)

    def checkpoint(self, state: State, requests: int, now: float, events: bytes = b"") -> None:
        """Make everything so far durable, and the crawl's state with it."""
        from spoor.learn.state import pack

        blob = pack(state)
        self.failpoint("state packed")
        self._write(events, (now, requests, json.dumps(self.settings.to_dict()), blob))
        self.failpoint("state committed")
        with self.pausing():
            self._empty_log()
        self.failpoint("log emptied")

    def _write(self, events: bytes, checkpoint: tuple[float, int, str, bytes] | None) -> None:
        """WARC files first, then one transaction, then the results, which are there to be read."""
        rows, ends, db = self._rows, self._ends, self._db
        damaged: list[str] = []
        self.failpoint("commit begun")
        with self.pausing():
            if self._warc is not None:
                self._warc.sync()
                ends.warc |= self._warc.ends
            for saved in rows.files:
                save(self.path, *saved)
            self.failpoint("warc synced")
            with db:
                rows.write(db, ends)
                if rows.renders and self.settings.command == "watch":
                    forget_renders(db)
                if self.settings.save_files:
                    damaged = follow_verdicts(self.path, rows.turned_pages(db))
                if events:
                    ends.seq += 1
                    db.execute("INSERT INTO journal VALUES (?, ?)", (ends.seq, events))
                db.execute(
                    "UPDATE ends SET seq = ?, pages = ?, failures = ?, warc = ?",
                    (ends.seq, ends.pages, ends.failures, json.dumps(ends.warc)),
                )
                if checkpoint is not None:
                    self._write_state(*checkpoint)
                self.failpoint("rows written")
            self.failpoint("committed")
            write_mark(self._mark, ends.seq)
            self._rows = PendingRows()
            if rows.changes_results:
                self._results.close()
                mend_results(self.path, self._db)
                self._results = (self.path / files.RELEVANT).open("a", encoding="utf-8")
            else:
                self._results.writelines(rows.results)
            self._results.flush()
            self.failpoint("results written")
        for line in damaged:
            self.on_damage(line)

    def _write_state(self, now: float, requests: int, settings: str, blob: bytes) -> None:
        db = self._db
        db.execute(
            "INSERT INTO checkpoints (time, requests, seq, settings, state) VALUES (?, ?, ?, ?, ?)",
            (now, requests, self._ends.seq, settings, blob),
        )
        newest = "SELECT max(generation) FROM checkpoints"
        db.execute(f"DELETE FROM checkpoints WHERE generation <= ({newest}) - 2")
        db.execute("DELETE FROM journal WHERE seq <= (SELECT min(seq) FROM checkpoints)")
        self.failpoint("state written")

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
        if isinstance(error, OSError):
            if error.errno in (errno.EMFILE, errno.ENFILE):
                return PausedError(TOO_MANY_FILES)
            return PausedError(_paused(self.path, error.strerror))
        return PausedError(_paused(self.path, str(error)))

    def close(self) -> None:
        """Close the files; what came after the last commit is dropped at the next opening."""
        for close in self.closing:
            with suppress(OSError):  # what it still holds cannot be written, as was said before
                close()
        with suppress(OSError):
            if self._warc is not None:
                self._warc.close()
        with suppress(OSError):
            self._results.close()
        with suppress(sqlite3.Error):
            self._db.close()
        with suppress(OSError):
            os.close(self._mark)
            self._mark = -1  # its number may be another file's by now
        self._lock.close()


def _paused(path: Path, what: str | None) -> str:
    return (
        f"paused: cannot write {path} ({what}); make room, or make it writable, and give the same "
        "command to go on"
    )


_PERSON = "a person said so"

encoded = json.JSONEncoder(check_circular=False).encode
"""Of what cannot hold itself."""
