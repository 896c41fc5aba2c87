"""The screen of a live crawl: a panel on a terminal, plain lines elsewhere, nothing with --json."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from operator import itemgetter
from typing import Self

from rich.console import Console, Group
from rich.live import Live as RichLive
from rich.table import Table
from rich.text import Text

from spoor.cli.screen import PLAIN_EVERY, say, sparkline
from spoor.crawl import Crawl
from spoor.display import in_time, pace_in_words, shown
from spoor.learn.harvest_estimate import Estimate, in_words
from spoor.protocols import Frontier, HostClocks
from spoor.types import Choice, Deferred, Failed, Fetch, Outcome

NEXT = 5
"""Links in flight that are shown, with the reasons of their choice."""

_WINDOW = 50
"""Pages over which the harvest rate is taken."""


GetEstimate = Callable[[], Estimate | None]
"""Returns the estimate of the relevant pages that are left."""


class Screen(ExitStack):
    """The screen of a run; this one shows nothing."""

    def step(self, fetch: Fetch, step: Outcome | Deferred) -> None:
        pass

    def say(self, *lines: str) -> None:
        pass


def screen(crawl: Crawl, estimate: GetEstimate, *, quiet: bool) -> Screen:
    """The screen for standard error: a terminal, or plain lines."""
    console = Console(stderr=True)
    if quiet:
        return Screen()
    return (_Panel if console.is_terminal else _Plain)(crawl, estimate, console)


class Progress:
    """Progress and rate of a crawl. The rate counts from the first reply, without the time to open
    the run and to wait for its hosts."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._first: tuple[float, int] | None = None

    def reply_arrived(self, now: float) -> None:
        """Note that a reply arrived at `now`, in seconds of any clock."""
        if self._first is None:
            self._first = now, self._crawl.counts.pages

    def line(self, now: float) -> str:
        """Pages fetched, relevant pages, rate and time left in one line."""
        counts, budget = self._crawl.counts, self._crawl.pages
        began, before = self._first or (now, counts.pages)
        rate = (counts.pages - before) / (now - began) if now > began else 0.0
        line = f"{counts.pages}{f' of {budget}' if budget else ''} pages, found {counts.relevant}"
        line += f", failed {counts.failed}"
        if rate:
            line += f", {rate:.1f} a second"
        if rate and budget:
            line += f", {in_time((budget - counts.pages) / rate)} to go"
        return line


class _Plain(Screen):
    def __init__(self, crawl: Crawl, estimate: GetEstimate, console: Console) -> None:
        super().__init__()
        self._crawl = crawl
        self._estimate = estimate
        self._progress = Progress(crawl)
        self._last = time.monotonic()

    def step(self, fetch: Fetch, step: Outcome | Deferred) -> None:
        now = time.monotonic()
        self._progress.reply_arrived(now)
        if now - self._last >= PLAIN_EVERY:
            self._last = now
            left = self._estimate()
            more = [] if left is None else [f"left to find {left.left}"]
            slow = slow_host(self._crawl.frontier)
            self.say("; ".join([self._progress.line(now), *more, *filter(None, [slow])]))

    def say(self, *lines: str) -> None:
        for line in lines:
            say(line)


class _Panel(Screen):
    def __init__(self, crawl: Crawl, estimate: GetEstimate, console: Console) -> None:
        super().__init__()
        self._crawl = crawl
        self._estimate = estimate
        self._progress = Progress(crawl)
        self._recent: list[bool] = []
        self._rates: list[float] = []
        self._lines: list[str] = []
        self._message = ""
        self._live = RichLive(
            console=console, refresh_per_second=4, get_renderable=self._render, transient=True
        )

    def __enter__(self) -> Self:
        self.enter_context(self._live)
        return self

    def say(self, *lines: str) -> None:
        self._message = "\n".join(map(shown, lines))

    def step(self, fetch: Fetch, step: Outcome | Deferred) -> None:
        self._progress.reply_arrived(time.monotonic())
        if isinstance(step, Deferred):
            return
        mark = "✗" if isinstance(step.reply, Failed) else "·"
        if step.judgement is not None:
            mark = "●" if step.judgement.relevant else "·"
            self._recent = [*self._recent[-_WINDOW + 1 :], step.judgement.relevant]
            self._rates.append(sum(self._recent) / len(self._recent))
            if len(self._rates) > 4 * _WINDOW:
                self._rates = self._rates[::2]
        self._lines = [*self._lines[-5:], f"{mark} {shown(fetch.url)}  {_why(step.choice)}"]

    def _render(self) -> Group:
        frontier = self._crawl.frontier
        table = Table.grid(padding=(0, 2))
        table.add_row("crawl", self._progress.line(time.monotonic()))
        table.add_row("harvest", sparkline(self._rates, 50) or "nothing found yet")
        waiting = f"{frontier.open_count} open links, {self._crawl.in_flight} in flight"
        table.add_row("frontier", waiting)
        left = self._estimate()
        if left is not None:
            table.add_row("left", "; ".join(in_words(left)))
        if isinstance(frontier, HostClocks):
            table.add_row("hosts", _hosts(frontier))
            if slow := slow_host(frontier):
                table.add_row("pace", slow)
        if self._message:
            table.add_row("", Text(self._message))
        next_links = [
            f"→ {shown(url)}  {_why(choice)}" for url, choice in self._crawl.chosen()[:NEXT]
        ]
        lines = [
            Text(line, no_wrap=True, overflow="ellipsis") for line in [*self._lines, *next_links]
        ]
        return Group(table, *lines)


def _why(choice: Choice) -> str:
    return shown("; ".join(f"{reason} {share:+.2f}" for reason, share in choice.why[:3]))


def slow_host(frontier: Frontier) -> str:
    """The host that sets the pace, since it has most of the open links and a delay; or empty."""
    if not isinstance(frontier, HostClocks):
        return ""
    name, links = max(
        ((name, n) for name, n, *_ in frontier.hosts()), key=itemgetter(1), default=("", 0)
    )
    delay = frontier.delay(name) if links else 0.0
    return pace_in_words([(name, links, delay)], frontier.open_count)


def _hosts(frontier: HostClocks) -> str:
    """Number of hosts with open links, number of these that wait, and the hosts with most links."""
    rows = [row for row in frontier.hosts() if row[1]]
    busiest = sorted(rows, key=lambda row: -row[1])[:3]
    most = ", ".join(f"{shown(name)} {links}" for name, links, *_ in busiest)
    free = sum(not flying for _, _, flying, _ in rows)
    return f"{len(rows)} with open links, {len(rows) - free} waiting; {most}"
