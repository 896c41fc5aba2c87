"""The screen of a live crawl: a panel on a terminal, plain lines elsewhere, nothing with --json."""

from __future__ import annotations

import math
import os
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from operator import itemgetter
from typing import TYPE_CHECKING

from spoor.cli.screen import PLAIN_EVERY, say, sparkline
from spoor.crawl import Crawl
from spoor.display import in_time, pace_in_words, shown
from spoor.learn.harvest_estimate import Estimate, in_words
from spoor.live.waits import Wait
from spoor.protocols import Frontier, HostClocks
from spoor.types import Choice, Deferred, Failed, Fetch, Outcome

if TYPE_CHECKING:
    from rich.console import Group

NEXT = 5
"""Links in flight that are shown, with the reasons of their choice."""

_WINDOW = 50
"""Pages over which the harvest rate is taken."""

_REPLIES = 200
"""Replies over which pages a second are taken."""

_DRAWN_EVERY = 0.25
"""Seconds between two looks at a crawl whose pages come."""


GetEstimate = Callable[[], Estimate | None]
"""Returns the estimate of the relevant pages that are left."""


class Screen(ExitStack):
    """The screen of a run; this one shows nothing. All but `__exit__` is called where nothing
    changes the crawl meanwhile."""

    def step(self, fetch: Fetch, step: Outcome | Deferred) -> None:
        pass

    def second(self, wait: Wait | None) -> None:
        """Called once a second, with what the crawl waits for where no page comes."""

    def say(self, *lines: str) -> None:
        pass


def screen(crawl: Crawl, estimate: GetEstimate, *, quiet: bool) -> Screen:
    """The screen for standard error: a terminal, or plain lines."""
    if quiet:
        return Screen()
    return (_Panel if _is_terminal() else _Plain)(crawl, estimate)


def _is_terminal() -> bool:
    """Whether standard error is a terminal, as rich tells it, which takes long to import."""
    if (told := os.environ.get("TTY_COMPATIBLE", "")) in ("0", "1"):
        return told == "1"
    if (forced := os.environ.get("FORCE_COLOR")) is not None:
        return forced != ""
    return sys.stderr.isatty()


class Progress:
    """Progress and rate of a crawl. The rate is that of the last replies, without the time to open
    the run."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._replies: deque[tuple[float, int]] = deque(maxlen=_REPLIES)
        """When the last ones arrived, and the pages then."""

    def reply_arrived(self, now: float) -> None:
        """Note that a reply arrived at `now`, in seconds of any clock."""
        self._replies.append((now, self._crawl.counts.pages))

    def line(self, now: float, wait: str = "") -> str:
        """Pages fetched, relevant pages, rate and time left in one line; `wait` instead of the time
        left, where the crawl waits."""
        counts, budget = self._crawl.counts, self._crawl.pages
        began, before = self._replies[0] if self._replies else (now, counts.pages)
        rate = (counts.pages - before) / (now - began) if now > began else 0.0
        line = f"{counts.pages}{f' of {budget}' if budget else ''} pages, found {counts.relevant}"
        line += f", failed {counts.failed}"
        if wait:
            return f"{line}; {wait}"
        if rate:
            line += f", {rate:.1f} a second" if rate >= 0.1 else f", {60 * rate:.1f} a minute"
        if rate and budget:
            left = budget - counts.pages
            known = self._crawl.frontier.open_count + self._crawl.in_flight
            line += f", {'at most ' if known < left else ''}{in_time(left / rate)} to go"
        return line


class _Plain(Screen):
    def __init__(self, crawl: Crawl, estimate: GetEstimate) -> None:
        super().__init__()
        self._crawl = crawl
        self._estimate = estimate
        self._progress = Progress(crawl)
        self._last = time.monotonic()
        self._told = ""
        """What it waits for, once that was said."""

    def step(self, fetch: Fetch, step: Outcome | Deferred) -> None:
        now = time.monotonic()
        self._progress.reply_arrived(now)
        if not self._told and now - self._last >= PLAIN_EVERY:
            self._line(now)

    def second(self, wait: Wait | None) -> None:
        now = time.monotonic()
        said = "" if wait is None else wait.words(time.time())
        if not said:
            self._told = ""
        elif now - self._last >= PLAIN_EVERY and said != self._told:
            self._told = said
            self._line(now, said)

    def _line(self, now: float, wait: str = "") -> None:
        self._last = now
        left = self._estimate()
        more = [] if left is None else [f"left to find {left.left}"]
        slow = "" if wait else slow_host(self._crawl.frontier)
        self.say("; ".join([self._progress.line(now, wait), *more, *filter(None, [slow])]))

    def say(self, *lines: str) -> None:
        for line in lines:
            say(line)


class _Panel(Screen):
    """Drawn from its first `second` on, when requests are on their way."""

    def __init__(self, crawl: Crawl, estimate: GetEstimate) -> None:
        super().__init__()
        self._crawl = crawl
        self._estimate = estimate
        self._progress = Progress(crawl)
        self._recent: list[bool] = []
        self._rates: list[float] = []
        self._lines: list[str] = []
        self._message = ""
        self._drawn_at = -math.inf
        self._rows: list[tuple[str, str]] = []
        self._next: list[str] = []
        self._drawn = False

    def say(self, *lines: str) -> None:
        self._message = "\n".join(map(shown, lines))

    def step(self, fetch: Fetch, step: Outcome | Deferred) -> None:
        now = time.monotonic()
        self._progress.reply_arrived(now)
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
        if step.judgement is not None and now - self._drawn_at >= _DRAWN_EVERY:
            self.second(None)

    def second(self, wait: Wait | None) -> None:
        # The crawl is read here: another thread draws, and the crawl goes on meanwhile.
        frontier, now = self._crawl.frontier, time.monotonic()
        self._drawn_at = now
        said = "" if wait is None else wait.words(time.time())
        waiting = f"{frontier.open_count} open links, {self._crawl.in_flight} in flight"
        rows = [
            ("crawl", self._progress.line(now, said)),
            ("harvest", sparkline(self._rates, 50) or "nothing found yet"),
            ("frontier", waiting),
        ]
        left = self._estimate()
        if left is not None:
            rows.append(("left", "; ".join(in_words(left))))
        if isinstance(frontier, HostClocks):
            rows.append(("hosts", _hosts(frontier)))
            if not said and (slow := slow_host(frontier)):
                rows.append(("pace", slow))
        chosen = self._crawl.chosen()[:NEXT]
        self._rows, self._next = rows, [f"→ {shown(url)}  {_why(why)}" for url, why in chosen]
        if not self._drawn:
            self._drawn = True
            self._draw()

    def _draw(self) -> None:
        from rich.console import Console
        from rich.live import Live

        console = Console(stderr=True)
        self.enter_context(
            Live(console=console, refresh_per_second=4, get_renderable=self.render, transient=True)
        )

    def render(self) -> Group:
        """What is drawn."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 2))
        for name, text in self._rows:
            table.add_row(name, Text(text))
        if self._message:
            table.add_row("", Text(self._message))
        lines = [
            Text(line, no_wrap=True, overflow="ellipsis") for line in [*self._lines, *self._next]
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
