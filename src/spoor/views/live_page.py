"""The page that `spoor ui` shows: the report of a run, kept up to date."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from spoor.errors import InputError
from spoor.files import safe_name
from spoor.runs.documents import RunDocument
from spoor.runs.snapshot import AHEAD, NEXT, Snapshot
from spoor.views.html import document_page, environment, sections
from spoor.views.preview import ON_ITS_PAGE, preview
from spoor.views.report import Reporter, RunReport, write_report

SHARE = 0.2
"""Largest share of a processor for updating the page."""


@dataclass(frozen=True, slots=True)
class Live:
    """What the page shows in addition to the report."""

    nonce: str
    running: bool
    says: str


class LivePage:
    """The page of one run; it reads the run's folder and writes only labels.

    `clock` gives Unix seconds. Raises InputError as `Reporter` does.
    """

    def __init__(self, path: Path, token: str, clock: Callable[[], float] = time.time) -> None:
        self._token = token
        self._clock = clock
        self._reporter = Reporter(path)
        self._run = self._reporter.run
        self._known: Snapshot | None = None
        self._made: dict[str, tuple[str, Markup, str]] = {}
        """Section → heading, HTML, digest."""
        self._report: RunReport | None = None
        self._revision: tuple[int, ...] = ()
        self._running = False
        self._next = 0.0

    def page(self, nonce: str) -> str:
        """The page as HTML; its script carries the nonce."""
        self._update()
        page = environment().get_template("report.html.jinja")
        return page.render(
            report=self._report,
            sections=[(name, heading, html) for name, (heading, html, _) in self._made.items()],
            live=Live(nonce, self._running, self._state()),
            digests={name: digest for name, (*_, digest) in self._made.items()},
        )

    def news(self, have: Mapping[str, str]) -> Mapping[str, Any]:
        """The state and all sections as JSON values; HTML only for sections whose digest is not the
        one in `have` (section → digest)."""
        self._update()
        parts = []
        for name, (heading, html, digest) in self._made.items():
            part = {"id": name, "heading": heading, "digest": digest}
            parts.append(part if have.get(name) == digest else {**part, "html": str(html)})
        return {"running": self._running, "says": self._state(), "sections": parts}

    def label(self, number: int, relevant: bool) -> str:
        """Label the page with this number; returns a sentence for the user."""
        pages = self._run.numbered([number])
        if not pages:
            raise InputError(f"this run has no page {number}")
        label = self._run.label(pages[0].url, relevant)
        if not label.running:
            write_report(self._run.path)
        self._next = 0.0
        noted = f"Noted as {'wanted' if relevant else 'not wanted'}"
        if not label.learned:
            return f"{noted}; the policy does not learn from it."
        if label.running:
            return f"{noted}: the crawl learns it within a second."
        return f"{noted}: the policy learns it, and the crawl goes by it when it goes on."

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
        name = safe_name(document.title or document.url, 60).encode("ascii", "ignore").decode()
        return f"{name.strip('-') or 'page'}-{number}.{document.kind or 'bin'}", document.bytes

    def _document(self, number: int) -> RunDocument:
        pages = self._run.numbered([number])
        if not pages:
            raise InputError(f"this run has no page {number}")
        return self._run.document_of(pages[0])

    def _update(self) -> None:
        """Update changed sections, at most as often as `SHARE` allows."""
        if self._clock() < self._next:
            return
        began = time.process_time()
        self._running = self._run.is_running
        revision = self._reporter.refresh()
        if revision != self._revision:
            if revision[-2:] != self._revision[-2:]:
                self._known = self._run.snapshot(AHEAD * NEXT)
            self._report = self._reporter.report(self._known, recent=True)
            self._made = {
                name: (heading, html, hashlib.blake2b(html.encode(), digest_size=8).hexdigest())
                for name, heading, html in sections(self._report, self._token)
            }
            self._revision = revision
        self._next = self._clock() + (time.process_time() - began) / SHARE

    def _state(self) -> str:
        known, sums = self._known, self._reporter.sums
        state = "Running" if self._running else "Not running"
        line = f"{state}: {sums.pages:,} pages, {sum(sums.relevant):,} relevant"
        if self._running and known is not None:
            age = max(0.0, self._clock() - known.time)
            line += f"; next links and weights of {age:.0f} s ago"
        return line
