"""Rows and columns of an export, which all its forms share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]
"""Values by column, of those that were asked for; None where a page says nothing of it. Beside
them `archive`: (file, offset) of its response, or None; for passages `passages`; for archives
`requisites`: rows with `url`, `fetched_at` and `archive` of what the page needs to be shown."""

COLUMNS: Mapping[str, str] = {
    "url": "string",
    "title": "string",
    "score": "float64",
    "relevant": "bool",
    "status": "int32",
    "host": "string",
    "fetched_at": "time",
    "size": "int64",
    "depth": "int32",
    "path": "list<string>",
    "why": "list<reason>",
    "probability": "float64",
    "flags": "list<string>",
    "text": "string",
}
"""Column → its kind: those of each export; `text` only where it was asked for, but for Parquet.
Times are RFC 3339, sizes bytes, a reason is {reason, share}."""

ON_REQUEST: Mapping[str, str] = {
    "text": "string",
    "markdown": "string",
    "kind": "string",
    "language": "string",
    "date": "string",
    "author": "string",
    "licence": "string",
    "keywords": "list<string>",
    "words": "int64",
    "text_language": "string",
    "links": "list<string>",
    "json_ld": "json",
    "microdata": "json",
    "tables": "json",
}
"""Column → its kind: what a document itself says, read out of the archive where it is asked for;
`keywords` are the tags and categories that it says it is filed under, its breadcrumbs among them,
`words` counts those of its text, and `text_language` is theirs by an identifier."""

BODIES = frozenset(("text", "markdown", "links", "json_ld", "microdata", "tables"))
"""Columns that may be as large as the document itself."""

SEEDS: Mapping[str, str] = {
    "seed": "string",
    "outcome": "string",
    "note": "string",
    "site_pages": "int64",
    "site_relevant": "int64",
}
"""Column → its kind, of an export with a row for each seed: the seed, what became of its site in a
word (`spoor.runs.by_seed`) and, where no page counts, why in words, the pages that were fetched of
its site, and those of them that count. They stand before those of the best page, which are empty
where no page came."""

REQUESTS: Mapping[str, str] = {
    "fetched_at": "time",
    "status": "int32",
    "outcome": "string",
    "reason": "string",
    "url": "string",
    "host": "string",
    "size": "int64",
    "seconds": "float64",
    "depth": "int32",
    "found_on": "string",
    "relevant": "bool",
    "score": "float64",
}
"""Column → its kind, of a table of all requests: `outcome` is `page`, `requisite`, or what kept it
from coming, for the `reason`; `found_on` the page before it on its path."""

COPIES = "copies"
"""Column of the near-copies that a document stands for (their URLs)."""


_OF_FORMS = (
    "archive requisites passages id rowid rank file ts number headings start end passage_score"
).split()
RESERVED = frozenset((*COLUMNS, *ON_REQUEST, *SEEDS, COPIES, *_OF_FORMS))
"""Names that no field may have, whatever their case, since some form uses them."""


@dataclass(slots=True)
class LeftOut:
    """Rows that cannot be written: one of a stranger's run keeps none of the others."""

    count: int = 0
    first: str = ""
    """URL of the first one, and why."""

    def add(self, row: Row, why: str) -> None:
        """Leave a row out."""
        self.count += 1
        self.first = self.first or f"{row['url']}: {why}"


@dataclass(frozen=True, slots=True)
class Options:
    """Options of an export."""

    columns: Mapping[str, str] = field(default_factory=lambda: dict(COLUMNS))
    """Column → kind, in their order."""
    folder: Path = Path()
    """Of the run, for its archive."""
    index: str = "spoor"
    """Of bulk lines."""
    title: str = ""
    """Of the collection, where a form has room for one."""
    begins_page: Callable[[str, int], bool] = lambda file, offset: False
    """Whether the response of a page stands at an offset of a file of the archive; asked only where
    that is damaged."""
    asked: tuple[str, ...] = ()
    """Columns that somebody named: they stand in every row, also where they are empty, and
    also in forms that leave out others."""
    left_out: LeftOut = field(default_factory=LeftOut)
    """What was left out so far."""


def asked_of(row: Row, options: Options, *without: str) -> dict[str, Any]:
    """The columns of a row that were named, but these."""
    return {name: row.get(name) for name in options.asked if name not in without}


def plain(row: Row, columns: Mapping[str, str]) -> dict[str, Any]:
    """The columns of a row that it has."""
    return {name: row[name] for name in columns if name in row}
