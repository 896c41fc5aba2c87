"""What was rendered in a run, and what that brought: rows beside those of the pages."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

from spoor.errors import InputError
from spoor.runs import files, shards
from spoor.runs.rows import PageRow

MOST_RENDERS = 20_000
"""Rows that a watch keeps: what its next process goes by."""


@dataclass(frozen=True, slots=True)
class RenderRow:
    """What a browser was asked for beside a page, and what that brought."""

    ticket: int
    """Of the page."""
    host: str
    shape: str
    """Of its URL."""
    lack: str
    """What the plain page lacked."""
    why: str
    """Why it was rendered."""
    links: int
    """That entered the crawl by it, and that it did not know."""
    words: int
    """Different words that the plain page did not have, nor the page of its kind before it."""
    text: bool
    """Whether most of the text of the page came by it."""
    relevant: bool
    """Whether the page was relevant when it came, and its text came by it."""
    gain: float
    """What that was worth, in requests."""
    seconds: float
    requests: int
    """For scripts and data."""
    received: int
    """Bytes of these."""
    held_back: int
    """Requests of the page that the crawl's rules forbid."""
    failed: str
    """Why it stays as it came; empty where it does not."""

    @classmethod
    def of(cls, row: sqlite3.Row | tuple[Any, ...]) -> RenderRow:
        """A row of the table of renders. Raises InputError where it is none."""
        values = [row[at] for at in range(len(fields(cls)))]
        texts, (gain, seconds) = (*values[1:5], values[14]), values[9:11]
        whole = (values[0], *values[5:9], *values[11:14])
        if (
            not all(isinstance(text, str) for text in texts)
            or not all(isinstance(one, int) and 0 <= one < 1 << 53 for one in whole)
            or not all(isinstance(one, float) and math.isfinite(one) for one in (gain, seconds))
        ):
            raise InputError(f"the render of page {values[0]!r} is damaged")
        values[7:9] = map(bool, values[7:9])
        return cls(*values)

    @property
    def in_words(self) -> str:
        """What it brought, and what for."""
        spent = f"{self.seconds:.1f} s and {self.requests} requests"
        if self.failed:
            return f"not rendered after {spent}: {self.failed} ({self.why})"
        return f"rendered ({self.why}): {self.links} links and {self.words} words for {spent}"


@dataclass(slots=True)
class RenderTotals:
    """What rendering took and brought in all."""

    pages: int = 0
    failed: int = 0
    seconds: float = 0.0
    requests: int = 0
    links: int = 0
    texts: int = 0
    relevant: int = 0
    """Pages that were relevant when they came, and whose text came by it."""

    SUMS: ClassVar[Sequence[str]] = (
        "count(*)",
        "total(failed != '')",
        "total(seconds)",
        *(f"total({name})" for name in ("requests", "links", "text", "relevant")),
    )
    """Its fields, in SQL."""

    @classmethod
    def of(cls, row: RenderRow) -> RenderTotals:
        """Of one page."""
        brought = row.requests, row.links, int(row.text), int(row.relevant)
        return cls(1, int(bool(row.failed)), row.seconds, *brought)

    def add(self, other: RenderTotals) -> None:
        """Add another's."""
        for one in fields(self):
            sums = getattr(self, one.name) + getattr(other, one.name)
            setattr(self, one.name, sums if one.name == "seconds" else int(sums))

    def __str__(self) -> str:
        failed = f" ({self.failed} in vain)" if self.failed else ""
        return (
            f"{self.pages:,} pages{failed}: {self.links:,} links and {self.texts:,} texts, "
            f"{self.relevant:,} of them relevant, for {self.seconds:,.0f} s"
        )


def forget_renders(db: sqlite3.Connection) -> None:
    """Of a watch, whose requests have no end, keep the newest."""
    query = "SELECT ticket FROM renders ORDER BY ticket DESC LIMIT 1 OFFSET ?"
    db.execute(f"DELETE FROM renders WHERE ticket <= ({query})", (MOST_RENDERS,))


def render_of(path: Path, page: PageRow) -> RenderRow | None:
    """What a browser made of a page of a run, and what that brought; None where none was asked."""
    folder = path if page.shard is None else files.shard(path, page.shard)
    row = next(_rows(folder, "SELECT * FROM renders WHERE ticket = ?", page.ticket), None)
    return None if row is None else RenderRow.of(row)


def all_renders(path: Path) -> list[RenderRow]:
    """All that was rendered in a run without shards, or in one shard, in the order of the crawl."""
    return [RenderRow.of(row) for row in _rows(path, "SELECT * FROM renders ORDER BY rowid")]


def render_totals(path: Path) -> RenderTotals:
    """What rendering took and brought in all."""
    query = f"SELECT {', '.join(RenderTotals.SUMS)} FROM renders"
    totals = RenderTotals()
    for folder in files.shards(path) or [path]:
        for row in _rows(folder, query):
            totals.add(RenderTotals(*row))
    return totals


def _rows(folder: Path, query: str, *values: object) -> Iterator[sqlite3.Row]:
    """Rows of a table that older runs, and shards that have not begun, do not have."""
    with shards.opened(folder) as db:
        known = "SELECT 1 FROM sqlite_master WHERE name = 'renders'"
        if db is not None and db.execute(known).fetchone():
            yield from db.execute(query, values).fetchall()
