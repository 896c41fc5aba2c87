"""`spoor crawl --shards`: the same crawl in several processes, and its screen."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, Self

from rich.console import Console, Group
from rich.live import Live as RichLive
from rich.table import Table
from rich.text import Text

from spoor.cli.screen import PLAIN_EVERY, say
from spoor.display import shown
from spoor.integrations.ray.driver import Progress


def describe_shards(summary: Mapping[str, Any]) -> str:
    """The lines about the shards in the summary of a crawl."""
    exchange = summary["exchange"]
    learned = f"learned together {exchange['merges']} times"
    if not summary["learned_together"]:
        why = " (its policy cannot share)" if summary["learns_alone"] else ""
        learned = f"each learned by itself{why}"
    return (
        f"\n  shards   {summary['shards']}, {learned}; {exchange['links']} links exchanged, "
        f"{exchange['bytes_per_page']:.0f} bytes and {exchange['cpu_ms_per_page']:.2f} ms a page"
    )


class Screen(ExitStack):
    """A table of the shards on a terminal, plain lines elsewhere."""

    def __init__(self, *, quiet: bool) -> None:
        super().__init__()
        console = Console(stderr=True)
        self._quiet = quiet
        self._progress: Progress | None = None
        self._last = time.monotonic()
        self._printed = 0
        self._live = (
            RichLive(
                console=console, refresh_per_second=4, get_renderable=self._render, transient=True
            )
            if console.is_terminal and not quiet
            else None
        )

    def __enter__(self) -> Self:
        if self._live is not None:
            self.enter_context(self._live)
        return self

    def show(self, progress: Progress) -> None:
        """Show the current progress."""
        self._progress = progress
        if self._quiet or self._live is not None:
            return
        for line in progress.messages[self._printed :]:
            say(line)
        self._printed = len(progress.messages)
        if time.monotonic() - self._last >= PLAIN_EVERY:
            self._last = time.monotonic()
            say(line_of(progress))

    def _render(self) -> Group:
        if self._progress is None:
            return Group(Text("starting Ray"))
        progress = self._progress
        messages = [Text(shown(line)) for line in progress.messages]
        return Group(Text(line_of(progress)), table_of(progress), *messages)


def line_of(progress: Progress) -> str:
    """Pages fetched, relevant pages and rate of all shards in one line."""
    coordinator = progress.coordinator
    members = coordinator.members.values()
    if progress.before is None:
        return f"starting {len(members)} shards"
    rate = progress.rate
    away = sum(not member.alive for member in members)
    line = (
        f"{coordinator.fetched} pages of {coordinator.page_budget.budget}, "
        f"found {coordinator.relevant}, {rate:.1f} a second"
    )
    if not coordinator.settled:
        line += "; delivering what was on its way"
    return line + (f"; {away} shards away" if away else "")


def table_of(progress: Progress) -> Table:
    """A row for each shard: hosts, pages, links received and sent, and the wait of the oldest."""
    table = Table(box=None, pad_edge=False)
    for name in ("shard", "hosts", "open", "pages", "found", "in", "out", "waiting", "lag", ""):
        table.add_column(name, justify="right")
    for row in progress.coordinator.statuses(time.monotonic()):
        numbers = (row.hosts, row.open, row.pages, row.found, row.entered, row.posted, row.waiting)
        values = [f"{value:,}" for value in numbers]
        table.add_row(str(row.shard), *values, f"{row.lag:.1f} s", row.state)
    return table
