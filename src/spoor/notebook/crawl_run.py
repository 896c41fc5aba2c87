"""A run as a person works with it in Python: read, judged, drawn, explained, and continued."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spoor.display import html_link, html_reasons, html_table, printable, shown
from spoor.errors import InputError
from spoor.runs.reader import Run
from spoor.runs.snapshot import NEXT, NextLink
from spoor.views.explain import Explained, Learned, in_lines, of_page, of_run
from spoor.views.run_totals import curve

if TYPE_CHECKING:
    from spoor.notebook.crawls import Begun, OnPage
    from spoor.views.line_chart import Chart


class Frontier(tuple[NextLink, ...]):
    """The links that a run would take next, best first, with the reasons of its policy."""

    def _repr_html_(self) -> str:
        rows = [
            [html_link(link.url), escape(shown(link.anchor)), html_reasons(link.why)]
            for link in self
        ]
        return html_table(("link", "its words", "why"), rows)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a page was fetched and how it was judged, what failed, or why a link waits
    or was left out."""

    row: Explained

    @property
    def lines(self) -> list[str]:
        """As `spoor explain` prints it."""
        return [printable(line) for line in in_lines(self.row)]

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


class CrawlRun(Run):
    """A run, going on or ended: what it found, why, and how it goes on.

    Made by `spoor.run` and `spoor.open`. Everything but `figures` and `cancel` is read from its
    folder.
    """

    def __init__(self, path: Path, begun: Begun | None = None) -> None:
        super().__init__(path)
        self._begun: Begun = {} if begun is None else begun
        """What this process began."""

    def __repr__(self) -> str:
        return f"<run {str(self.path)!r}: {self.found} found of {self.fetched}, {self._state}>"

    def _repr_html_(self) -> str:
        head = f"<b>{escape(shown(self.name))}</b> in {escape(str(self.path))}: "
        says = f"{self.found} found of {self.fetched} fetched, {escape(shown(self._state))}"
        best = sorted(self.pages(relevant=True), key=lambda row: -row.score)[:5]
        rows = [
            [f"{row.score:.2f}", html_link(row.url, row.title), html_reasons(row.why)]
            for row in best
        ]
        return f"<p>{head}{says}</p>" + (html_table(("score", "page", "why"), rows) if rows else "")

    @property
    def _state(self) -> str:
        return "going on" if self.is_running else self.noted("stopped") or "stopped"

    # -- figures

    @property
    def name(self) -> str:
        """What it looks for, as given."""
        return self.settings.topic or ", ".join(self.settings.want) or self.settings.policy

    @property
    def fetched(self) -> int:
        """Pages so far."""
        return len(self.verdicts())

    @property
    def found(self) -> int:
        """Relevant ones among them."""
        return sum(self.verdicts())

    @property
    def curve(self) -> Sequence[Sequence[float]]:
        """[pages fetched, relevant pages found], from [0, 0] on."""
        return curve(self.verdicts())

    @property
    def figures(self) -> Mapping[str, Any]:
        """All that `spoor crawl --json` prints of the crawl that this object began; empty before
        its end, and for a run that was only opened."""
        return self._begun if isinstance(self._begun, Mapping) else self._begun.summary

    # -- looking

    def frontier(self, top: int = NEXT) -> Frontier:
        """The `top` open links that the policy would take first, with its reasons, at the last
        checkpoint, without those that were fetched since."""
        return Frontier(super().frontier(top))

    def explain(self, url: str) -> Explanation:
        """Why a page was fetched and judged as it was, or an open link waits. Raises InputError
        where the run knows nothing of it."""
        return Explanation(of_page(self.path, url))

    def explain_policy(self, top: int = 10) -> Learned:
        """What its policy has learned: the `top` features of each group. Raises InputError where
        there is nothing to explain."""
        return of_run(self.path, top)

    def plot(self) -> Chart:
        """Relevant pages found against pages fetched."""
        from spoor.notebook.replays import plot

        return plot(self)

    # -- going on

    def cancel(self) -> None:
        """Stop the crawl that `spoor.run(…, wait=False)` or `go_on(wait=False)` began: nothing new
        is requested, and what is in flight comes in. Does nothing where it has ended. Raises
        InputError for a crawl of another process."""
        if not isinstance(self._begun, Mapping):
            self._begun.cancel()
        elif self.is_running:
            raise InputError(f"{self.path} is crawled by another process; stop it there")

    def wait(self, seconds: float | None = None) -> bool:
        """Whether its crawl has ended within so many seconds (None: however long it takes). Raises
        what ended it, where that was an error, and InputError where no page ever came."""
        from spoor.notebook.crawls import refuse_nothing

        if isinstance(self._begun, Mapping):
            return True
        ended = self._begun.wait(seconds)
        refuse_nothing(self._begun)
        return ended

    def go_on(
        self,
        more: int = 0,
        *,
        on_page: OnPage | None = None,
        progress: bool | None = None,
        wait: bool = True,
    ) -> CrawlRun:
        """Go on where it stopped, with `more` pages beyond its budget; returns itself. The others
        are as in `spoor.run`. Raises InputError as that does."""
        from spoor.notebook.crawls import begin

        if more < 0:
            raise InputError(f"more {more} is not a whole number from 0 on")
        if self.settings.command != "crawl":
            raise InputError(f"{self.path} is no crawl; `spoor watch` goes on with it")
        settings = self.latest_settings()
        folder = os.path.join(self.path, settings.folder)
        pages = None if settings.pages is None else settings.pages + more
        settings = replace(settings, pages=pages, folder=folder)
        self._begun = begin(self.path, settings, on_page=on_page, progress=progress, wait=wait)
        return self
