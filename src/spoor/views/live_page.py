"""The page that `spoor ui` shows of a crawl: its report, kept up to date."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from markupsafe import Markup

from spoor.clock import CrawlClock
from spoor.errors import InputError
from spoor.files import safe_name, write_whole
from spoor.runs import files
from spoor.runs.documents import RunDocument
from spoor.runs.reader import Run
from spoor.runs.rows import PageRow
from spoor.runs.snapshot import AHEAD, NEXT, Snapshot, settings_of_crawl
from spoor.views.html import HOSTS, document_page, environment, one_page, render, sections
from spoor.views.preview import ON_ITS_PAGE, preview
from spoor.views.report import Reporter, RunReport
from spoor.views.run_totals import Sums

SHARE = 0.2
"""Largest share of a processor for updating the page."""

WAIT = 0.5
"""Seconds that a request waits for an update; a later request shows what is not done by then."""

ROWS = 10_000
"""Rows that are read at once; a long run is shown after each of these parts."""

ON_A_PAGE = 50
"""Pages of a run that are listed at once."""


Parts = Mapping[str, tuple[str, Markup, str]]
"""Section → heading, HTML, and a digest by which a browser knows whether it has it."""


@dataclass(frozen=True, slots=True)
class Live:
    """What the page shows in addition to the report."""

    nonce: str
    token: str
    running: bool
    says: str
    home: str
    """Address of the list of runs, from this page; empty where there is none."""
    run: str
    """Name of its folder."""
    is_crawl: bool = True


@dataclass(frozen=True, slots=True)
class _Shown:
    """What was made of the run last."""

    title: str
    lead: str = ""
    report: RunReport | None = None
    parts: Parts = field(default_factory=dict)
    running: bool = False
    says: str = "Opening the run"
    since: float | None = None
    """When the crawl noted what it learned, in Unix seconds; None where that is not told."""


def with_digests(parts: Iterable[tuple[str, str, Markup]]) -> Parts:
    """Sections of (name, heading, HTML), with digests."""
    return {
        name: (heading, html, hashlib.blake2b(html.encode(), digest_size=8).hexdigest())
        for name, heading, html in parts
    }


def live_html(report: object, parts: Parts, live: Live) -> str:
    """A page that is kept up to date, with the `title` and the `lead` of a report."""
    page = environment().get_template("report.html.jinja")
    return page.render(
        report=report,
        sections=[(name, heading, html) for name, (heading, html, _) in parts.items()],
        live=live,
        digests={name: digest for name, (*_, digest) in parts.items()},
    )


def news(running: bool, says: str, parts: Parts, have: Mapping[str, str]) -> Mapping[str, Any]:
    """The same as JSON values; HTML only for sections whose digest is not the one in `have`."""
    rows = []
    for name, (heading, html, digest) in parts.items():
        row = {"id": name, "heading": heading, "digest": digest}
        rows.append(row if have.get(name) == digest else {**row, "html": str(html)})
    return {"running": running, "says": says, "sections": rows}


def noted(relevant: bool) -> str:
    """What is said first of a label."""
    return f"Noted as {'wanted' if relevant else 'not wanted'}"


class LivePage:
    """The page of one crawl; it reads the run's folder and writes only labels.

    It is updated in a thread of its own, as far as requests ask for it, and closed by `close`.
    `wait`: seconds that a request waits for that. `clock` gives Unix seconds and never goes back.
    Raises InputError where there is no crawl, or it cannot be read.
    """

    def __init__(
        self,
        path: Path,
        token: str,
        clock: Callable[[], float] | None = None,
        *,
        wait: float = WAIT,
        rows: int = ROWS,
        home: str = "",
    ) -> None:
        self._path = path
        self._token = token
        self._clock = CrawlClock() if clock is None else clock
        self._wait = wait
        self._rows = rows
        self._home = home
        settings_of_crawl(path)
        self._run = Run(path)
        if not self._run.in_shards:
            self._run.revision()  # its database is one
        self._shown = _Shown(f"Crawl in {path.name}", running=self._run.is_running)
        self._waits = ""
        """The host that it waits for, and until when."""
        self._unwritten = False
        """A label changed what the report says."""
        self._thread: threading.Thread | None = None
        self._fault: Exception | None = None
        self._closing = False
        self._next = 0.0
        # What follows belongs to the thread.
        self._reporter: Reporter | None = None
        self._known: Snapshot | None = None
        self._revision: tuple[int, ...] = ()

    def page(self, nonce: str) -> str:
        """The page as HTML; its script carries the nonce."""
        self._update()
        shown = self._shown
        live = Live(nonce, self._token, shown.running, self._says(), self._home, self._path.name)
        return live_html(shown, shown.parts, live)

    def news(self, have: Mapping[str, str]) -> Mapping[str, Any]:
        """The state and all sections as JSON values; HTML only for sections whose digest is not the
        one in `have` (section → digest)."""
        self._update()
        return news(self._shown.running, self._says(), self._shown.parts, have)

    def label(self, number: int, relevant: bool) -> str:
        """Label the page with this number; returns a sentence for the user."""
        label = self._run.label(self._row(number).url, relevant)
        self._next, self._unwritten = 0.0, not label.running
        self._update()
        return f"{noted(relevant)}: {label.follows(is_watch=False)}."

    def listed(self, after: int, *, everything: bool, nonce: str) -> str:
        """A page that lists the pages found, or `everything`, from the one after number `after`
        on."""
        rows = list(islice(self._run.pages(relevant=not everything, after=after), ON_A_PAGE + 1))
        return (
            environment()
            .get_template("pages.html.jinja")
            .render(
                report=self._shown,
                rows=rows[:ON_A_PAGE],
                labels=self._run.labels(),
                after=rows[ON_A_PAGE - 1].seq if len(rows) > ON_A_PAGE else None,
                begin=after,
                everything=everything,
                token=self._token,
                nonce=nonce,
            )
        )

    def hosts(self, page: int) -> str:
        """A page that lists the hosts, `HOSTS` at a time; `page` counts from 1."""
        self._update()
        every = self._shown.report.hosts if self._shown.report else ()
        template = environment().get_template("all_hosts.html.jinja")
        return template.render(report=self._shown, **one_page(every, page, HOSTS))

    def document(self, number: int) -> str:
        """The text of the document with this number, as a page. Raises InputError where there is
        none, or it was not archived."""
        made = preview(self._document(number), ON_ITS_PAGE)
        if made is None:
            raise InputError(f"page {number} is not in the archive")
        return document_page(made)

    def file(self, number: int) -> tuple[str, bytes]:
        """A name for the document with this number, and its bytes. Raises InputError as
        `document`."""
        document = self._document(number)
        if not document.archived:
            raise InputError(f"page {number} is not in the archive")
        name = safe_name(document.row.title or document.url, 60).encode("ascii", "ignore").decode()
        return f"{name.strip('-') or 'page'}-{number}.{document.kind or 'bin'}", document.bytes

    @property
    def owes(self) -> bool:
        """Whether the report is yet to be written anew, after a label."""
        return self._unwritten

    def close(self) -> None:
        """End its thread."""
        self._closing = True
        if self._thread is not None:
            self._thread.join()

    def _document(self, number: int) -> RunDocument:
        return self._run.document_of(self._row(number))

    def _row(self, number: int) -> PageRow:
        pages = self._run.numbered([number])
        if not pages:
            raise InputError(f"this run has no page {number}")
        return pages[0]

    # -- updates, at most as often as `SHARE` allows

    def _update(self) -> None:
        """Wait for an update as long as a request may; whatever is not done by then goes on."""
        if self._thread is None or not self._thread.is_alive():
            if self._clock() < self._next:
                return
            self._thread = threading.Thread(target=self._work, name="live page", daemon=True)
            self._thread.start()
        self._thread.join(self._wait)
        fault, self._fault = self._fault, None
        if fault is not None:
            raise fault

    def _work(self) -> None:
        began = time.thread_time()
        try:
            self._renew()
        except Exception as error:  # told by the next request
            self._fault = error
        self._next = self._clock() + (time.thread_time() - began) / SHARE

    def _renew(self) -> None:
        """Read new rows and show them; a long run is shown while it is read for the first time."""
        if self._reporter is None:
            self._reporter = Reporter(self._path, self._rows)
        reporter, sums = self._reporter, self._reporter.sums
        running, revision, is_new = reporter.run.is_running, reporter.refresh(), not self._revision
        while not sums.complete:
            if self._closing and not self._unwritten:
                return
            if is_new:
                self._show(reporter.report(None, recent=True, quick=True), running, sums)
            revision = reporter.refresh()
        self._waits = reporter.run.noted("waiting") if running and not self._run.in_shards else ""
        if revision != self._revision or running != self._shown.running:
            if is_new and sums.pages > self._rows:
                self._show(reporter.report(None, recent=True, quick=True), running, sums)
            if revision[3:] != self._revision[3:]:
                self._known = reporter.run.snapshot(AHEAD * NEXT)
            self._show(reporter.report(self._known, recent=True), running, sums)
            self._revision = revision
        if self._unwritten and not running:
            self._unwritten = False
            write_whole(self._path / files.REPORT, render(reporter.report(self._known)))

    def _show(self, report: RunReport, running: bool, sums: Sums) -> None:
        says = f"{sums.pages:,} pages, {sum(sums.relevant):,} relevant"
        if not sums.complete:
            says = f"Reading the run: {says} so far"
        elif running:
            rate = [] if report.rate is None else [f"{report.rate:.1f} pages a second"]
            says = "; ".join([f"Running: {says}", *rate, *filter(None, [report.pace])])
        else:
            says = f"Not running: {says}"
        since = self._known.time if running and self._known is not None else None
        parts = with_digests(sections(report, self._token))
        self._shown = _Shown(report.title, report.lead, report, parts, running, says, since)

    def _says(self) -> str:
        shown = self._shown
        says = "; ".join(filter(None, [shown.says, self._waits]))
        if shown.since is None:
            return says
        age = max(0.0, self._clock() - shown.since)
        return f"{says}; next links and weights of {age:.0f} s ago"
