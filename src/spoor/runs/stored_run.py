"""Reads a run: its settings, pages, journal and last checkpoint, while its crawl goes on or
after."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain, count
from pathlib import Path
from typing import Any, TypeVar

from spoor.crawl import Crawl
from spoor.errors import InputError
from spoor.formats.warc_reader import read_page
from spoor.judges.no_results import LIST_SCORE, Verdict
from spoor.learn.harvest_estimate import Estimate
from spoor.runs import files, shards, snapshot
from spoor.runs.assemble import topic_for_policy, topic_of_settings
from spoor.runs.database import has_table, noted, reading, some_rows
from spoor.runs.documents import RunDocument, signatures
from spoor.runs.events import Event, events_of
from spoor.runs.labels import read_labels
from spoor.runs.lock import is_running
from spoor.runs.near_copies import near_copies
from spoor.runs.pass_costs import PassCosts
from spoor.runs.passages import PassageScores
from spoor.runs.read_ahead import Wanted, read_ahead
from spoor.runs.recovery import damaged, telling
from spoor.runs.rows import VERDICT, FailureRow, PageRow, Why, verdict
from spoor.runs.schema import read_settings
from spoor.runs.selection import Selection
from spoor.runs.site_lists import with_scheme
from spoor.runs.snapshot import AHEAD, NEXT, NextLink, OpenLink, Snapshot, parts
from spoor.settings import Settings
from spoor.types import Topic
from spoor.web.urls import canonical, forms, host, names_host, shard_of

T = TypeVar("T")
CHUNK = 1_000
"""Rows that are read at once; a crawl that is running waits for a reader no longer than that
takes."""


class StoredRun:
    """A run in its folder, to read. A run in shards reads like any other.

    Each call reads what is there at that moment; calls within `at_once` read the same. Raises
    InputError, at once or later, if there is no run, if it is of another format, or if it cannot be
    read.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.settings = read_settings(self.path)
        """The settings that the run was begun with."""
        self._db: sqlite3.Connection | None = None

    @property
    def in_shards(self) -> bool:
        """Whether it is a run in shards."""
        return bool(files.shards(self.path))

    @property
    def is_running(self) -> bool:
        """Whether a process holds it, or a shard of it."""
        return is_running(self.path)

    def topic(self) -> Topic | None:
        """The topic in words, if it has one. Raises InputError if its file is gone."""
        source = topic_of_settings(snapshot.settings_of(self.path))
        return None if source is None else source.topic

    def wish(self) -> str:
        """What its crawl looks for, in plain words; empty if it has no wish, or none is known."""
        with suppress(InputError):
            source = topic_of_settings(snapshot.settings_of(self.path))
            if source is not None and source.wish is not None:
                return str(source.wish)
        return ""

    @property
    def is_watch(self) -> bool:
        """Whether it is a watch: its pages are what it downloaded of each document last, and those
        that it told of have the flag `told`."""
        return self.settings.command == "watch"

    @property
    def archives(self) -> list[Path]:
        """The files of its archive, oldest first."""
        folders = files.shards(self.path) or [self.path]
        return [file for folder in folders for file in files.archives(folder)]

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Within it, the database is opened once; for a run in shards that costs O(pages)."""
        with self._read() as self._db:
            try:
                yield
            finally:
                self._db = None

    @contextmanager
    def _read(self) -> Iterator[sqlite3.Connection]:
        if self._db is not None:
            yield self._db
            return
        with reading(self.path) as db:
            yield db

    # -- rows

    def pages(self, *, relevant: bool = False, after: int = 0) -> Iterator[PageRow]:
        """The pages after number `after`, in the order of fetching, read a few at a time; only
        the relevant ones if `relevant`. Pages that are fetched meanwhile are left out."""
        where = " AND relevant" if relevant else ""
        return map(PageRow.of, self._rows("pages", after, where=where))

    def documents(
        self,
        *,
        everything: bool = False,
        min_score: float | None = None,
        since: float | None = None,
        copies: bool = True,
    ) -> Iterator[RunDocument]:
        """The relevant documents, of a watch those that it told of, or `everything`, in the order
        of fetching, read when they are asked for: memory stays flat.

        `min_score`: in [0, 1]. `since`: Unix seconds. `copies=False`: without near-copies, for
        which one stands (see `Selection`); that reads every document twice.
        """
        for document, _ in self.select(Selection(everything, min_score, since, copies)):
            yield document

    def select(
        self,
        selection: Selection,
        report_progress: Callable[[int], object] = lambda done: None,
        wanted: Wanted | None = None,
    ) -> Iterator[tuple[RunDocument, Sequence[str]]]:
        """The documents of a selection, each with the URLs of the near-copies that it stands for;
        none where they are among the documents. `report_progress`: how many of `reads` are read.
        `wanted`: what will be asked of each (`spoor.runs.read_ahead`), which is read for many at
        once; what else is asked is read then."""
        done = count()

        def reported(some: Iterable[T]) -> Iterator[T]:
            for one in some:
                report_progress(next(done))
                yield one

        documents = partial(self._selected, selection)
        if selection.copies:
            yield from ((document, ()) for document in reported(documents(wanted)))
            return
        with near_copies(reported(signatures(documents, self.settings.seeds))) as known:

            def of_these(row: PageRow) -> Collection[str]:
                return () if wanted is None or known.is_copy(row.number) else wanted(row)

            for document in reported(documents(of_these)):
                if not known.is_copy(document.row.number):
                    yield document, known.of(document.row.number)

    def reads(self, selection: Selection) -> int:
        """How often `select` reads a document."""
        where, values = selection.condition(of_watch=self.is_watch)
        query, found = f"SELECT count(*) FROM pages WHERE true{where}", 0
        for part in parts(self.path):  # not of a merged copy, which `select` makes
            with reading(part) as db:
                found += int(db.execute(query, values).fetchone()[0])
        return found if selection.copies else 2 * found

    def _selected(
        self, selection: Selection, wanted: Wanted | None = None
    ) -> Iterator[RunDocument]:
        scores, costs = self._passage_scores, PassCosts()
        where, values = selection.condition(of_watch=self.is_watch)
        documents = (
            RunDocument(self.path, row, scores, costs)
            for row in map(PageRow.of, self._rows("pages", where=where, values=values))
        )
        return documents if wanted is None else read_ahead(documents, wanted, costs)

    def document(self, url: str) -> RunDocument | None:
        """The document of a canonical URL; None where it was not fetched."""
        row = self.page(url)
        return None if row is None else RunDocument(self.path, row, self._passage_scores)

    def document_of(self, page: PageRow, costs: PassCosts | None = None) -> RunDocument:
        """The document of a page of this run, which is read in a pass with these `costs`."""
        return RunDocument(self.path, page, self._passage_scores, costs)

    @cached_property
    def _passage_scores(self) -> PassageScores:
        try:
            topic = topic_for_policy(snapshot.settings_of(self.path))
        except InputError:  # its file is gone
            topic = None
        return PassageScores(None if topic is None else topic.topic)

    def failures(self, after: int = 0) -> Iterator[FailureRow]:
        """Requests that brought no page, after number `after`."""
        return map(FailureRow.of, self._rows("failures", after))

    def outcomes(self, after: int = 0) -> Iterator[sqlite3.Row]:
        """(seq, number, url, host, score, relevant, seconds, flags) of the pages after number
        `after`, at a small part of the cost of `pages`."""
        columns = f"seq, {self._number} AS number, url, host, score, relevant, seconds, flags"
        return self._rows("pages", after, columns)

    def found_in_order(self) -> Iterator[sqlite3.Row]:
        """(seq, number, URL, or None where it was judged not relevant) of each page, in the order
        of fetching."""
        url = "CASE WHEN relevant THEN url END AS url"
        return self._rows("pages", columns=f"seq, {self._number} AS number, {url}")

    def places(self, after: int = 0) -> Iterator[sqlite3.Row]:
        """(seq, url, relevant, size, warc_file, warc_offset, warc_length) of the pages after number
        `after`. Raises InputError for a place that is none."""
        columns = "seq, url, relevant, size, warc_file, warc_offset, warc_length"
        for row in self._rows("pages", after, columns):
            if row["warc_file"] is not None:
                files.archive_at(self.path, row["warc_file"])
            whole = (row["size"], row["warc_offset"] or 0, row["warc_length"] or 0)
            if not all(isinstance(value, int) and value >= 0 for value in whole):
                raise InputError(f"row {row['seq']} of the pages is damaged: its place is none")
            yield row

    def verdicts(self) -> list[bool]:
        """Whether each page was judged relevant, in the order of fetching."""
        return [bool(row["relevant"]) for row in self._rows("pages", columns="seq, relevant")]

    def judged(self) -> Iterator[Verdict]:
        """The newest verdict on each page, in the order of fetching."""
        return map(verdict, self._rows("pages", columns=VERDICT))

    def results_but_for(self, reason: str) -> int:
        """How many pages are no result for this reason alone: `ONLY_LISTS`, `SHOWS_AGAIN`."""
        where = " AND NOT relevant AND score >= ? AND instr(why, ?) > 0"
        rows = self._rows("pages", columns="seq", where=where, values=(LIST_SCORE, reason))
        return sum(1 for _ in rows)

    def page(self, url: str) -> PageRow | None:
        """The page of a canonical URL; None if it was not fetched. Of a run in shards only the
        shard that has it is read, and its `seq` counts the pages of that shard."""
        row = self._find("pages", url)
        return None if row is None else PageRow.of(row)

    def begins_page(self, file: str, offset: int) -> bool:
        """Whether the record of a page begins at an offset of a file of the archive. O(pages)."""
        return bool(self._pages("warc_file = ? AND warc_offset = ?", file, offset))

    def failure(self, url: str) -> FailureRow | None:
        """The failure of a canonical URL; None if there was none. Read as `page` is."""
        row = self._find("failures", url)
        return None if row is None else FailureRow.of(row)

    def _find(self, table: str, url: str) -> Mapping[str, Any] | None:
        """The newest row of a canonical URL."""
        query = f"SELECT * FROM {table} WHERE url = ? ORDER BY seq DESC LIMIT 1"
        if not self.in_shards:
            with self._read() as db:
                row = db.execute(query, (url,)).fetchone()
            return None if row is None else dict(row)
        # The owner of its host first. Another shard may have fetched it while the run had another
        # number of shards.
        owner = files.shard(self.path, shard_of(host(url), max(1, self.settings.shards)))
        begun = 0
        for folder in sorted(files.shards(self.path), key=lambda one: one != owner):
            with shards.opened(folder) as db:
                row = None if db is None else db.execute(query, (url,)).fetchone()
                begun += db is not None
            if row is not None:
                return shards.as_merged(row, folder)
        if not begun:
            raise shards.just_begun(self.path)
        return None

    def numbered(self, numbers: Sequence[int]) -> list[PageRow]:
        """Pages by their `number`, in this order; missing ones are left out."""
        marks = ", ".join("?" * len(numbers))
        rows = {row.number: row for row in self._pages(f"{self._number} IN ({marks})", *numbers)}
        return [rows[number] for number in numbers if number in rows]

    def latest(self, count: int) -> list[PageRow]:
        """The pages fetched last, newest first."""
        return self._pages("1 ORDER BY seq DESC LIMIT ?", count)

    def best(self, count: int) -> list[PageRow]:
        """The relevant pages with the highest scores, the best first."""
        return self._pages("relevant ORDER BY score DESC, seq LIMIT ?", count)

    def failure_reasons(self, most: int) -> list[tuple[str, int]]:
        """(reason, number of requests that brought no page for it), the commonest first."""
        query = (
            "SELECT coalesce(nullif(reason, ''), kind) AS why, count(*) FROM failures "
            "GROUP BY why ORDER BY 2 DESC, why LIMIT ?"
        )
        with self._read() as db:
            return [(why, count) for why, count in db.execute(query, (most,))]

    def text(self, page: PageRow) -> str:
        """The visible text of a page, from the archive; empty if it was not archived."""
        place = page.place
        archived = None if place is None else read_page(self.path / place[0], *place[1:], page.url)
        return "" if archived is None else archived.text

    def redirects(self) -> dict[str, str]:
        """URL → where it led, of seeds, and in a refresh of pages of the earlier run, that redirect
        and whose page came, or failed; none of a run in shards."""
        query = (
            "SELECT seed, pages.url FROM redirected_seeds JOIN pages USING (ticket) "
            "UNION SELECT seed, failures.url FROM redirected_seeds JOIN failures USING (ticket)"
        )
        if self.in_shards:
            return {}
        with self._read() as db:
            found = db.execute(query).fetchall() if has_table(db, "redirected_seeds") else []
        # A stranger's run may hold anything.
        return {str(seed): url for seed, url in found if isinstance(url, str) and names_host(url)}

    @property
    def _number(self) -> str:
        return "number" if self.in_shards else "seq"

    def _pages(self, where: str, *values: object) -> list[PageRow]:
        with self._read() as db:
            rows = db.execute(f"SELECT * FROM pages WHERE {where}", values)
            return [PageRow.of(row) for row in rows]

    def _rows(
        self,
        table: str,
        after: int = 0,
        columns: str = "*",
        where: str = "",
        values: Sequence[float | str] = (),
    ) -> Iterator[sqlite3.Row]:
        """The present rows of a table, in their order."""
        with self._read() as db:
            last = db.execute(f"SELECT coalesce(max(seq), 0) FROM {table}").fetchone()[0]
        range_ = f"seq > ? AND seq <= ?{where} ORDER BY seq LIMIT {CHUNK}"
        query = f"SELECT {columns} FROM {table} WHERE {range_}"
        return self._chunks(query, after, last, values)

    def _chunks(
        self, query: str, after: int, last: int, values: Sequence[float | str]
    ) -> Iterator[sqlite3.Row]:
        with ExitStack() as own:
            db = self._db
            if db is None and self.in_shards:  # a merged copy, which no crawl waits for
                db = own.enter_context(reading(self.path))
            while after < last:
                with reading(self.path) if db is None else nullcontext(db) as opened:
                    rows = some_rows(opened.execute(query, (after, last, *values)))
                if not rows:
                    return
                for row in rows:
                    if row["seq"] <= after:  # a damaged tree of rows that leads in a circle
                        raise damaged(self.path, "its rows are in no order")
                    after = row["seq"]
                    yield row

    # -- what the run notes beside its rows

    def noted(self, name: str) -> str:
        """A note of the writer, such as `stopped`; empty if there is none."""
        with self._read() as db:
            return noted(db, name) or ""

    def latest_settings(self) -> Settings:
        """The settings that it would go on with: those of the last checkpoint, if any."""
        query = "SELECT settings FROM checkpoints ORDER BY generation DESC LIMIT 1"
        with self._read() as db:
            row = db.execute(query).fetchone()
            if row is None:
                return self.settings
            return Settings.from_dict(json.loads(row["settings"])).with_fixed_of(self.settings)

    def budget(self) -> int:
        """Pages that it may fetch, by its latest settings."""
        return self.latest_settings().pages or self.settings.pages or 0

    def shard_status(self) -> Mapping[str, Any] | None:
        """The state of its shards that the coordinator wrote last; None without shards."""
        return shards.read_status(self.path)

    def revision(self) -> tuple[int, int, int, int]:
        """Four numbers. The first grows with the state of shards, the second with each checkpoint,
        the third with the judge's revisions, the fourth with the labels that the crawl reads."""
        status = int((self.shard_status() or {"at": 0})["at"])
        with self._read() as db:
            newest = db.execute("SELECT coalesce(sum(generation), 0) FROM checkpoints").fetchone()
            revised = 0 if self.in_shards else int(noted(db, "revised") or 0)
        return status, int(newest[0]), revised, self._labels_end()

    def labels(self) -> dict[str, bool]:
        """URL → relevant, by the labels of people that the crawl has read."""
        return dict(read_labels(self.path, end=self._labels_end())[0])

    def _labels_end(self) -> int:
        if not self.in_shards:
            with telling(self.path):
                return int(self.noted("labels") or 0)
        file = files.labels(self.path)  # each shard reads its own labels
        return file.stat().st_size if file.exists() else 0

    def journal(self) -> Iterator[Event]:
        """The events since the older of the two checkpoints that a run keeps, shard by shard."""
        for path in parts(self.path):
            with reading(path, states=True) as db:
                query = "SELECT events FROM journal ORDER BY seq"
                entries = [*shards.each_once(path, db.execute(query))]
            with telling(path):
                for (entry,) in entries:
                    yield from events_of(entry)

    # -- the last checkpoint

    def snapshot(self, links: int = NEXT, *, crawl: Crawl | None = None) -> Snapshot | None:
        """The last checkpoint, with `links` next links; None before the first. It costs as much as
        opening the run. `crawl`: a crawl of the run's settings, into which the state is loaded."""
        return snapshot.snapshot(self.path, crawl=crawl, links=links)

    def frontier(self, top: int = NEXT) -> Sequence[NextLink]:
        """The open links that the policy would choose first at the last checkpoint, with its
        reasons, without those that were fetched since."""
        known = self.snapshot(AHEAD * top)
        return () if known is None else self.still_open(known, top).next

    def still_open(self, known: Snapshot, top: int = NEXT) -> Snapshot:
        """The snapshot with at most `top` next links, without those that were requested since."""
        # In shards, rows from before and after the checkpoints are mixed.
        pages, failed = (0, 0) if self.in_shards else (known.pages, known.failed)
        done = {row["url"] for row in self._rows("pages", pages, "seq, url")}
        done.update(row["url"] for row in self._rows("failures", failed, "seq, url"))
        return replace(known, next=[link for link in known.next if link.url not in done][:top])

    def learned(self) -> Mapping[str, Why]:
        """Group → the features that its policy learned and their weights, the most important
        first."""
        known = self.snapshot(0)
        return {} if known is None else known.learned

    def open_link(self, url: str) -> OpenLink | None:
        """The open link of a canonical URL; None if there is none."""
        return snapshot.open_link(self.path, url)

    def open_urls(self) -> frozenset[str] | None:
        """All open links; None before the first checkpoint, and while a crawl that is running has
        them on disk."""
        return snapshot.open_urls(self.path)

    def estimates(self) -> Estimate | None:
        """An estimate of what is left to find, with intervals; None if too little is known."""
        known = self.snapshot(0)
        return None if known is None else known.estimate(self.verdicts())

    def named(self, url: str) -> str:
        """The canonical form of a URL that a person gives, also without a scheme; with its
        fragment if that names a page of the run (`#/guide`). Where the run has no such page, but
        one that people name so (`spoor.web.urls.forms`), that one. Raises ValueError for a URL that
        cannot be fetched."""
        url = with_scheme(url)
        route, given = canonical(url, routes=True), canonical(url)
        its = chain((route,) if "#" in route else (), forms(given))
        return next((one for one in its if self._find("pages", one)), given)
