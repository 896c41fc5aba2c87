"""What was rendered in a run, and what that brought: rows beside those of the pages."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar

from spoor.runs import files, shards
from spoor.runs.database import has_table
from spoor.runs.rows import PageRow, RenderRow

MOST_RENDERS = 20_000
"""Rows that a watch keeps: what its next process goes by."""


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
        if db is not None and has_table(db, "renders"):
            yield from [*shards.each_once(folder, db.execute(query, values))]
