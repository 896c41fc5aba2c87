"""The page that `spoor ui` shows: the report of a run as it stands, kept up to date."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from spoor.errors import InputError
from spoor.runs.labels import label
from spoor.runs.snapshot import NEXT, Snapshot, is_running, snapshot
from spoor.views.reading import RunReader, report_of_run
from spoor.views.report import RunReport, environment, sections

SHARE = 0.2
"""At most this share of a processor goes into making the page anew."""

AHEAD = 4
"""Times as many next links as are shown are asked for at a checkpoint: those that are fetched until
the next one give place to them."""


@dataclass(frozen=True, slots=True)
class Live:
    """What of the page is not a report's."""

    nonce: str
    running: bool
    says: str


class LivePage:
    """The page of one run; it reads the run's folder and writes nothing but labels.

    `clock` gives Unix seconds. Raises InputError as `RunReader` does.
    """

    def __init__(self, path: Path, token: str, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._token = token
        self._clock = clock
        self._reader = RunReader(path)
        self._known: Snapshot | None = None
        self._made: dict[str, tuple[str, Markup, str]] = {}
        """Section → heading, HTML, digest."""
        self._report: RunReport | None = None
        self._stands: tuple[int, ...] = ()
        self._running = False
        self._next = 0.0

    def page(self, nonce: str) -> str:
        self._update()
        live = Live(nonce, self._running, self._says())
        parts = [(name, heading, html) for name, (heading, html, _) in self._made.items()]
        return (
            environment()
            .get_template("report.html.jinja")
            .render(
                report=self._report,
                sections=parts,
                live=live,
                digests={name: digest for name, (*_, digest) in self._made.items()},
            )
        )

    def news(self, have: Mapping[str, str]) -> Mapping[str, Any]:
        self._update()
        parts = []
        for name, (heading, html, digest) in self._made.items():
            part = {"id": name, "heading": heading, "digest": digest}
            parts.append(part if have.get(name) == digest else {**part, "html": str(html)})
        return {"running": self._running, "says": self._says(), "sections": parts}

    def label(self, number: int, relevant: bool) -> str:
        url = self._reader.url(number)
        if url is None:
            raise InputError(f"this run has no page {number}")
        said = label(self._path, url, relevant)
        if not said.running:
            report_of_run(self._path)
        self._next = 0.0
        noted = f"Noted as {'wanted' if relevant else 'not wanted'}"
        if not said.learned:
            return f"{noted}; the policy does not learn from it."
        if said.running:
            return f"{noted}: the crawl learns it within a second."
        return f"{noted}: the policy learns it, and the crawl goes by it when it goes on."

    def _update(self) -> None:
        """Make anew what has changed, but no more often than `SHARE` allows."""
        if self._clock() < self._next:
            return
        began = time.process_time()
        self._running = is_running(self._path)
        stands = self._reader.refresh()
        if stands != self._stands:
            if stands[-2:] != self._stands[-2:]:
                self._known = snapshot(self._path, links=AHEAD * NEXT)
            self._report = self._reader.report(self._known, recent=True)
            self._made = {
                name: (heading, html, hashlib.blake2b(html.encode(), digest_size=8).hexdigest())
                for name, heading, html in sections(self._report, self._token)
            }
            self._stands = stands
        self._next = self._clock() + (time.process_time() - began) / SHARE

    def _says(self) -> str:
        known, read = self._known, self._reader
        what = "Running" if self._running else "Not running"
        says = f"{what}: {read.pages:,} pages, {read.relevant:,} relevant"
        if self._running and known is not None:
            age = max(0.0, self._clock() - known.at)
            says += f"; next links and weights of {age:.0f} s ago"
        return says
