"""Writes a live run: settings, state, pages, results.

The database decides: it holds what was fetched, the journal of all that went into the crawl, two
generations of the crawl's state, and how far the WARC files reach. A commit writes the WARC records
to the disk first, then everything else in one transaction. The files of settings and results are
for people. Opening the folder (`spoor.runs.opening`) makes all of them agree again, whenever the
process died.
"""

from __future__ import annotations

import errno
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spoor.documents.kinds import Types
from spoor.errors import TOO_MANY_FILES, InputError, PausedError, is_of_contents
from spoor.formats.warc_records import DamagedError
from spoor.formats.warc_writer import ROTATE_AT, Place, WarcWriter
from spoor.judges.no_results import Verdict
from spoor.runs import files
from spoor.runs.database import broke_off, noted, validators_of
from spoor.runs.exchanges import captured, read_body
from spoor.runs.labels import read_labels
from spoor.runs.lock import Lock
from spoor.runs.opening import empty_log, open_folder, paused, unwritable
from spoor.runs.pending_rows import PendingRows, rounded
from spoor.runs.recovery import (
    damaged,
    journal_after,
    mend_results,
    result_line,
    telling,
    write_mark,
)
from spoor.runs.renders import forget_renders
from spoor.runs.rows import FIRST_TICKET, VERDICT, RenderRow, verdict
from spoor.runs.saved_files import follow_verdicts, save
from spoor.settings import Settings, user_agent
from spoor.types import (
    BY_PERSON,
    Deferred,
    Failed,
    Fetch,
    Fetched,
    Judgement,
    Outcome,
    Revision,
    State,
)

if TYPE_CHECKING:
    from spoor.link_filter.revisits import Revisits
    from spoor.runs.checkpoints import Checkpoints
    from spoor.runs.originals import Originals
    from spoor.runs.requisite_queue import RequisiteQueue
    from spoor.web.exchange import Exchange, Requisite
    from spoor.web.validators import Validators

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
"""Steps of opening, of a commit and of a checkpoint; `failpoint` is called with each when it is
reached, and a test may end the process there."""


class RunWriter:
    """Opens a run's folder, new or old. Only one process may hold it.

    Raises InputError if it cannot be written, is held by another process (BusyError), is of another
    version, was begun with other settings, or is damaged; PausedError if the disk is full later.
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
        with ExitStack() as undo:
            try:
                self._lock = Lock(path)
                undo.callback(self._lock.close)
                opened = open_folder(path, settings, self._lock, failpoint, undo)
                self._results = (path / files.RELEVANT).open("a", encoding="utf-8")
                undo.callback(self._results.close)
                self.failpoint("results mended")
                self._warc = (
                    WarcWriter(path, files.WARC, software=user_agent(), rotate_at=rotate_at)
                    if settings.warc
                    else None
                )
            except OSError as error:
                raise unwritable(path, error) from error
            undo.pop_all()
        self._db, self._ends, self._mark = opened.db, opened.ends, opened.mark
        self._labels_read = opened.labels_read
        self.resumed = opened.resumed
        """Whether the run was begun before."""
        self.added_seeds = opened.added_seeds
        """Seeds that the run was not begun with."""
        self.recovered = opened.recovered
        """Files into which archived records were moved that the last commit does not know."""
        self._rows = PendingRows()
        self._seeds = frozenset(settings.seeds)
        self._place: Place | None = None
        self._body = b""
        """Body of the exchange recorded last, if documents are saved."""
        self._after = 0
        self._checkpoints: Checkpoints | None = None
        self.on_damage: Callable[[str], None] = lambda line: None
        """Called with a line about a document that is damaged in the archive."""
        self.closing: list[Callable[[], None]] = []
        """Called when the writer is closed."""
        self.checkpoint_settings = self.settings
        self._redirects: dict[int, list[str]] | None = None
        self.revisits: Revisits | None = None
        self.originals: Originals | None = None
        """Records of an earlier run, if its pages are visited again."""
        self.unchanged = False
        """Whether the exchange recorded last brought a page of the earlier run unchanged."""
        self.requisites: RequisiteQueue | None = None
        """Where the settings ask for them."""
        if settings.requisites != "none":
            from spoor.runs.requisite_queue import RequisiteQueue

            everything = settings.requisites == "all"
            self.requisites = RequisiteQueue(
                path, self._db, everything=everything, seeds=settings.seeds
            )

    # -- the last checkpoint

    def state(self, usable: Callable[[State], bool] = lambda state: True) -> dict[str, Any] | None:
        """The crawl's state at the last checkpoint, None before the first. After the call
        `checkpoint_settings` holds the settings of that checkpoint, and `tail` gives the journal
        since then.

        If the newest checkpoint is damaged, or not `usable`, the one before it is taken.
        """
        with telling(self.path):
            return self._state(usable)

    def _state(self, usable: Callable[[State], bool]) -> dict[str, Any] | None:
        from spoor.runs.checkpoints import Checkpoints, read_state

        rows = self._generations()
        for index, (seq, settings, blob) in enumerate(rows):
            last, used = index == len(rows) - 1, dict[bytes, tuple[int, int]]()
            try:
                state = read_state(self._db, blob, str(self.path / files.DATABASE), used)
            except InputError:
                if last:
                    raise
                continue
            if last or usable(state):
                self._after = seq
                self._checkpoints = Checkpoints(self._db, used)
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

    # -- notes, rows and labels

    def note(self, name: str, value: str) -> None:
        """Note something for readers of the run; durable with the next commit."""
        self._rows.notes[name] = value

    def note_render(self, row: RenderRow, url: str = "", asked: Sequence[Requisite] = ()) -> None:
        """Note what a render brought, and what the page at `url` asked for to be shown; durable
        with the next commit."""
        self._rows.renders.append(row)
        if self.requisites is not None and asked:
            self.requisites.note_asked(url, asked)

    def note_rendered(self, url: str) -> None:
        """Note that a watch has rendered a page; durable with the next commit."""
        self._rows.rendered.append(url)

    def rendered(self) -> list[str]:
        """The URLs that a watch has rendered, as committed so far."""
        return [str(url) for (url,) in self._db.execute("SELECT url FROM rendered")]

    def verdicts(self) -> list[bool]:
        """Whether each page committed so far was judged relevant, in order; without the pages of an
        earlier run, as in `used`."""
        query = "SELECT relevant FROM pages WHERE ticket < ? ORDER BY seq"
        return [bool(row[0]) for row in self._db.execute(query, (FIRST_TICKET,))]

    def used(self) -> tuple[float, int]:
        """Seconds that the run has taken, and bytes of its documents, as committed so far."""
        with telling(self.path):  # a sum may overflow
            query = "SELECT coalesce(sum(size), 0) FROM pages WHERE ticket < ?"
            (size,) = self._db.execute(query, (FIRST_TICKET,)).fetchone()
            if self.requisites is not None:
                size += self.requisites.totals().bytes
            return float(noted(self._db, "seconds") or 0.0), int(size)

    def judged(self) -> list[Verdict]:
        """The newest verdict on each page committed so far, in order."""
        return [*map(verdict, self._db.execute(f"SELECT {VERDICT} FROM pages ORDER BY seq"))]

    def has_labels(self) -> bool:
        """Whether there are labels that were not read; costs one look at a file's size."""
        try:
            return files.labels(self.path).stat().st_size > self._labels_read
        except OSError:
            return False

    def labels(self) -> list[tuple[str, bool]]:
        """(URL, relevant) of the labels since the last call; an incomplete line is left for the
        next. That they were read is durable with the next commit."""
        labels, end = read_labels(self.path, self._labels_read)
        if end != self._labels_read:
            self._labels_read = end
            self.note("labels", str(end))
        return labels

    def relabel(self, url: str, relevant: bool) -> tuple[Judgement, Judgement] | None:
        """Take a person's verdict on a committed page; returns (before, after), or None if there
        is no such page or a person has said the same before. Durable with the next commit."""
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
        said = any(reason[0] == BY_PERSON for reason in reasons)
        if (score, bool(was)) == (after.score, relevant) and said:
            return None
        before = Judgement(score, bool(was), float(was))
        reasons = [reason for reason in reasons if reason[0] != BY_PERSON]
        reasons.insert(0, [BY_PERSON, round(after.score - score, 4)])
        self._rows.labels[seq] = after.score, int(relevant), json.dumps(reasons)
        return before, after

    def revise(self, revisions: Sequence[Revision], pages: int) -> None:
        """Take the judge's revisions after so many pages. Durable with the next commit."""
        self._rows.revise(revisions, pages)

    # -- writing

    def record(self, fetch: Fetch, exchange: Exchange) -> Place | None:
        """Archive one exchange; returns its place in the archive. None if nothing is archived, or
        for a revisit record of a page that is `unchanged` since an earlier run."""
        revisit = None
        if self.revisits is not None:
            from spoor.runs import refreshed_run

            seen = self.path, self._db, self.revisits
            try:
                revisit = refreshed_run.revisit_of(*seen, exchange, self.originals)
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

    def archive(
        self, exchange: Exchange, metadata: str, revisit: Mapping[str, str] | None = None
    ) -> Place | None:
        """Archive an exchange that is none of the crawl's, with what is known of it as JSON;
        `revisit`: headers of a revisit record."""
        if self._warc is None:
            return None
        try:
            place = self._warc.write(captured(exchange, revisit))
            self._warc.describe(metadata)
        except OSError as error:
            raise self._pause(error) from error
        return place

    def keep_validators(self, exchange: Exchange) -> None:
        """See `PendingRows.keep_validators`; durable with the next commit."""
        self._rows.keep_validators(exchange)

    def validators(self, url: str) -> Validators | None:
        """The validators of a URL's newest committed document; None if its server gave none.
        20 µs."""
        return validators_of(self._db, url)

    def broke_off(self, url: str) -> bool:
        """Whether the body of a URL's newest committed document broke off."""
        return broke_off(self._db, url)

    def forget_urls(self, urls: Iterable[str]) -> None:
        """Delete what a watch keeps of these URLs, with the next commit."""
        self._rows.forget(urls)

    def body(self, place: Place, size: int) -> bytes:
        """The body of an exchange that was archived whole (`read_body`)."""
        return read_body(self.path, place, size, Types.of(self.settings).largest)

    def step(self, fetch: Fetch, step: Outcome | Deferred, path: list[str], now: float) -> None:
        """Note what the crawl made of a reply; durable with the next commit."""
        if isinstance(step, Deferred):
            is_earlier = self.revisits is not None and fetch.url in self.revisits.numbers
            if step.url != fetch.url and (is_earlier or fetch.url in self._seeds):
                if is_earlier:
                    self._redirected().setdefault(fetch.ticket, []).append(fetch.url)
                self._rows.redirects.append((fetch.url, fetch.ticket))
            self.describe(fetch, step)
            return
        if isinstance(reply := step.reply, Failed):
            self.describe(fetch, step)
            if not reply.counts:
                return
            self._rows.failures.append(
                (fetch.url, fetch.host, reply.kind, reply.reason, reply.status, now, fetch.ticket)
            )
            if reply.kind in ("absent", "duplicate"):
                self._supersede(fetch, *path[-1:])
            return
        page, judgement = reply.page, step.judgement
        assert judgement is not None
        if judgement.relevant and self._body:
            self._rows.files.append((page.url, page.content_type, self._body))
        row = self._page_row(fetch, step, reply, judgement, path, now)
        flags = " ".join(sorted(page.flags | self._supersede(fetch, page.url, *path[-1:])))
        self._rows.pages.append((*row, fetch.ticket, flags))
        if judgement.relevant:
            why = rounded(judgement.why)
            self._rows.results.append(result_line(page.url, judgement.score, page.title, path, why))

    def see(
        self, fetch: Fetch, step: Outcome, judgement: Judgement, path: list[str], now: float
    ) -> None:
        """Note what a watch downloaded, in place of what it had of this page before; durable with
        the next commit."""
        reply = step.reply
        assert isinstance(reply, Fetched)
        self._rows.see(self._page_row(fetch, step, reply, judgement, path, now), reply.page.flags)

    def tell(self, urls: Iterable[str]) -> None:
        """Note that a watch tells of these pages, with the next commit."""
        self._rows.told.update(urls)

    def judged_anew(self, url: str, judgement: Judgement) -> None:
        """Take a newer verdict on a page of a watch. Durable with the next commit."""
        self._rows.judged_anew(url, judgement)

    def _page_row(
        self,
        fetch: Fetch,
        step: Outcome,
        reply: Fetched,
        judgement: Judgement,
        path: list[str],
        now: float,
    ) -> tuple[Any, ...]:
        """The row of a page, without its ticket and flags; what was thought of it is archived."""
        page = reply.page
        why_json, chosen_json = encoded(rounded(judgement.why)), encoded(rounded(step.choice.why))
        path_json, relevant = encoded(path), "true" if judgement.relevant else "false"
        place = self._describe(
            f'{{"ticket": {fetch.ticket}, "attempt": {fetch.attempt}, '
            f'"score": {float(judgement.score)!r}, "relevant": {relevant}, '
            f'"why": {why_json}, "path": {path_json}, "chosen": {chosen_json}}}',
        )
        return (
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
        )

    def _redirected(self) -> dict[int, list[str]]:
        """Ticket → URLs from which it was redirected, of seeds and of pages of an earlier run."""
        if self._redirects is None:
            self._redirects = {}
            for url, ticket in self._db.execute("SELECT seed, ticket FROM redirected_seeds"):
                self._redirects.setdefault(ticket, []).append(url)
        return self._redirects

    def _supersede(self, fetch: Fetch, *more: str) -> frozenset[str]:
        """Mark the rows of an earlier run at the URLs of a fetch and at `more` as replaced; returns
        the flags of the page that replaces them."""
        if self.revisits is None:
            return frozenset()
        urls = (fetch.url, *self._redirected().pop(fetch.ticket, ()), *more)
        numbers = {number for url in urls if (number := self.revisits.numbers.get(url)) is not None}
        self._rows.superseded |= {number + 1 for number in numbers}
        return frozenset({"changed"} if numbers else ())

    def stand_in(self) -> bool:
        """Make pages results that showed again those of an earlier run that are gone, by the rows
        that are committed; whether there are any. Durable with the next commit."""
        if self.revisits is None:
            return False
        from spoor.runs import refreshed_run

        found = refreshed_run.stand_ins(self._db)
        self._rows.revisions |= found
        self._rows.turned |= found.keys()
        return bool(found)

    def refreshed(self, unchanged: int) -> dict[str, Any] | None:
        """What became of the pages of an earlier run, by the committed rows; None without one."""
        if self.revisits is None:
            return None
        from spoor.runs import refreshed_run

        return refreshed_run.told(self._db, self.revisits, unchanged)

    def describe(self, fetch: Fetch, step: Outcome | Deferred) -> None:
        """Archive what came of the exchange recorded last, if no page was judged; of an answer 304
        nothing more than the answer says."""
        metadata: dict[str, object] = {"ticket": fetch.ticket, "attempt": fetch.attempt}
        if isinstance(step, Deferred):
            metadata["again"] = step.reason
        elif isinstance(step.reply, Failed):
            metadata["failed"] = step.reply.kind
        if self._place is None or metadata.get("failed") == "unchanged":
            self._place, self._body = None, b""
            return
        self._describe(json.dumps(metadata))

    def _describe(self, metadata: str) -> Place | None:
        """Archive metadata of the exchange recorded last; returns the exchange's place."""
        place, self._place = self._place, None
        self._body = b""
        if place is not None and self._warc is not None:
            self._warc.describe(metadata)
        return place

    def commit(self, events: bytes) -> None:
        """Make everything so far durable, with these events of the journal."""
        self._write(events, None)

    def checkpoint(self, state: State, requests: int, now: float, events: bytes = b"") -> None:
        """Make everything so far durable, and the crawl's state with it."""
        from spoor.runs.checkpoints import Checkpoints

        if self._checkpoints is None:
            self._checkpoints = Checkpoints(self._db, {})
        checkpoints, settings = self._checkpoints, json.dumps(self.settings.to_dict())
        packed = checkpoints.pack(state)
        self.failpoint("state packed")

        def write() -> None:
            checkpoints.write(now, requests, self._ends.seq, settings, packed)
            self.failpoint("state written")

        self._write(events, write)
        checkpoints.written(packed)
        self.failpoint("state committed")
        with self.pausing():
            empty_log(self._db)
        self.failpoint("log emptied")

    def _write(self, events: bytes, checkpoint: Callable[[], None] | None) -> None:
        """Write the WARC files first, then one transaction, then the file of results."""
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
                    checkpoint()
                self.failpoint("rows written")
            self.failpoint("committed")
            write_mark(self._mark, ends.seq)
            self._rows = PendingRows()
            if rows.changes_results and self.settings.command == "crawl":
                self._results.close()
                mend_results(self.path, self._db)
                self._results = (self.path / files.RELEVANT).open("a", encoding="utf-8")
            else:
                self._results.writelines(rows.results)
            self._results.flush()
            self.failpoint("results written")
        for line in damaged:
            self.on_damage(line)

    @contextmanager
    def pausing(self) -> Iterator[None]:
        """Within it, a failure to write raises PausedError, and InputError what stands in the
        database that no run writes there."""
        try:
            yield
        except (OSError, sqlite3.DatabaseError) as error:
            if isinstance(error, OSError | sqlite3.OperationalError) and not is_of_contents(error):
                raise self._pause(error) from error
            raise damaged(self.path, str(error)) from error

    def _pause(self, error: OSError | sqlite3.OperationalError) -> PausedError:
        if isinstance(error, OSError):
            if error.errno in (errno.EMFILE, errno.ENFILE):
                return PausedError(TOO_MANY_FILES)
            return PausedError(paused(self.path, error.strerror))
        return PausedError(paused(self.path, str(error)))

    def close(self) -> None:
        """Close the files; the next opening drops what came after the last commit."""
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


encoded = json.JSONEncoder(check_circular=False).encode
"""Of what cannot hold itself."""
