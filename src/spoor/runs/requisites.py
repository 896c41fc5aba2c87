"""What the pages of a run need to be shown (`--requisites`): rows beside those of the pages.

A row is a URL, which is asked for once a run, with the path to it from the first page that named
it: `E` for what a document names, `X` for what its scripts ask for, `R` for where it redirects.
`needs` are the numbers of what a
page, or a style sheet, names. `asked_in_browser` has what a page asked for when it was rendered; it
`waits` until it is entered as what the page names. The tables are made in runs with the setting
alone.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from spoor.display import shown
from spoor.durations import is_moment
from spoor.errors import InputError
from spoor.runs import files
from spoor.runs.database import has_table, reading
from spoor.runs.rows import rfc3339
from spoor.web.exchange import Requisite
from spoor.web.urls import names_host

TABLES = """
CREATE TABLE IF NOT EXISTS requisites (
    number INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, page INTEGER, found_on TEXT, path TEXT,
    style INTEGER, own INTEGER, outcome TEXT, reason TEXT, status INTEGER, time REAL, seconds REAL,
    size INTEGER, warc_file TEXT, warc_offset INTEGER, warc_length INTEGER, needs TEXT, etag TEXT,
    last_modified TEXT);
CREATE TABLE IF NOT EXISTS page_requisites (
    ticket INTEGER PRIMARY KEY, needs TEXT, named INTEGER, bytes INTEGER, seconds REAL,
    left_out INTEGER);
CREATE TABLE IF NOT EXISTS asked_in_browser (
    url TEXT PRIMARY KEY, urls TEXT NOT NULL, waits INTEGER NOT NULL) WITHOUT ROWID;
"""

WAITS, EARLIER = "", "earlier"
"""Outcomes of what is still to be asked for, and of what an earlier run has and no page of this one
was read for yet."""
FETCHED, UNCHANGED, REDIRECTED = "fetched", "unchanged", "redirected"
LEFT_OUT, FORGOTTEN = "left out", "forgotten"
"""Beside these the kinds of `spoor.types.Failed`."""

_MOST_FAULT = 300
_CAME = (FETCHED, UNCHANGED, REDIRECTED)
_MOST_TEXT, _MOST_NEEDS, _MOST_ASKED = 1 << 14, 1 << 17, 1 << 20
MOST_OF_A_PAGE = 1_000
"""Requisites that one page may name first, those that its style sheets name included."""
MOST_PATH = 6
"""Letters of a path: style sheets may import one another, and redirects lead on."""
_PATH = re.compile(f"[ERX]{{0,{MOST_PATH}}}")
_ON = re.compile(r"[!-~]*")


@dataclass(frozen=True, slots=True)
class RequisiteRow:
    """Something that a page needs to be shown."""

    number: int
    """From 1 in the order in which they were named."""
    url: str
    page: int
    """Ticket of the first page that named it."""
    found_on: str
    """URL of what named it: a page, a style sheet, or what redirected to it."""
    path: str
    """From the page on, `E` for each document that named it, `R` for each redirect; it begins with
    `X` where a script asked for it."""
    style: bool
    """It is a style sheet, by how it was named."""
    own: bool
    """It is of the site of a page that named it before it was asked for, or of the origin of one
    whose scripts asked for it: it is asked for by the user's name."""
    outcome: str
    reason: str
    status: int
    """0 where nothing answered."""
    time: float
    """When its request ended, Unix seconds."""
    seconds: float
    size: int
    """Bytes of the body, decompressed."""
    warc_file: str | None
    """Where its response stands in the archive."""
    warc_offset: int | None
    warc_length: int | None
    needs: tuple[int, ...]
    """Numbers of what it names itself, or redirects to."""
    etag: str
    last_modified: str

    @classmethod
    def of(cls, row: Iterable[Any]) -> RequisiteRow:
        """A row of the table. Raises InputError where it is none: a run may be a stranger's."""
        values = [*row]
        try:
            values[5], values[6] = bool(values[5]), bool(values[6])
            values[16] = numbers_of(values[16])
            found = cls(*values)
            texts = (*values[1:2], *values[3:5], *values[7:9], *values[17:19])
            if not all(isinstance(text, str) and len(text) <= _MOST_TEXT for text in texts):
                raise ValueError("its texts are none")
            whole = (found.number, found.page, found.status, found.size)
            if not all(isinstance(one, int) and 0 <= one < 1 << 53 for one in whole):
                raise ValueError("its numbers are none")
            named = found.url.isprintable() and " " not in found.url and names_host(found.url)
            if not (named and _ON.fullmatch(found.found_on) and _PATH.fullmatch(found.path)):
                raise ValueError("its URL is none")
            if not found.outcome.isprintable():
                raise ValueError("its outcome is none")
            if not (is_moment(found.time) and is_moment(found.time - found.seconds)):
                raise ValueError("its times are none")
            if found.warc_file is not None:
                files.archive_at(Path(), found.warc_file)
                if not all(isinstance(one, int) and one >= 0 for one in (values[14], values[15])):
                    raise ValueError("its place is none")
        except (ValueError, TypeError, LookupError, OverflowError, RecursionError) as error:
            raise InputError(f"row {values[0]!r} of the requisites is damaged: {error}") from error
        return found

    @property
    def in_words(self) -> str:
        """What it is, and what became of it."""
        outcome = {WAITS: "it waits", EARLIER: "no page of this run needed it yet"}
        said = outcome.get(self.outcome, self.outcome)
        said += f" ({self.reason})" if self.reason else ""
        return f"no page, but {self.found_on} needs it to be shown: {said}"

    @property
    def came(self) -> bool:
        """Whether it was answered by what it is, or by where it is."""
        return self.outcome in _CAME

    @property
    def place(self) -> tuple[str, int, int] | None:
        """(file, offset, length) of its response in the archive; None where it is not there."""
        if self.warc_file is None or self.warc_offset is None or self.warc_length is None:
            return None
        return self.warc_file, self.warc_offset, self.warc_length


COLUMNS = ", ".join(field.name for field in fields(RequisiteRow))
COLUMNS_OF = {
    "requisites": COLUMNS,
    "page_requisites": "ticket, needs, named, bytes, seconds, left_out",
    "asked_in_browser": "url, urls, waits",
}
"""Of each of the tables."""


def asked_of(page: object, urls: object) -> list[Requisite]:
    """What a page asked for in a browser, of a row (None: it asked for nothing). Raises InputError
    for what is none."""
    try:
        if urls is None:
            return []
        if not isinstance(urls, str) or len(urls) > _MOST_ASKED:
            raise ValueError("it is no list")
        found = [
            Requisite(str(url), bool(style), bool(by_script))
            for url, style, by_script in json.loads(urls)
        ]
        if len(found) > MOST_OF_A_PAGE:
            raise ValueError("there is too much of it")
        return found
    except (ValueError, TypeError, RecursionError) as error:
        told = f"what page {page!r} asked for in a browser is damaged: {error}"
        raise InputError(shown(told[:_MOST_FAULT])) from error


def numbers_of(needs: object) -> tuple[int, ...]:
    """The numbers of a column `needs`. Raises ValueError for what is none."""
    if not isinstance(needs, str) or len(needs) > _MOST_NEEDS:
        raise ValueError("what it needs is no list")
    numbers = json.loads(needs) if needs else []
    if not isinstance(numbers, list) or not all(type(one) is int for one in numbers):
        raise ValueError("what it needs is no list of numbers")
    return tuple(numbers)


@dataclass(frozen=True, slots=True)
class RequisiteTotals:
    """How many requisites came, and what became of the others."""

    fetched: int = 0
    """New ones, or changed since the earlier run."""
    unchanged: int = 0
    """Since the earlier run."""
    failed: int = 0
    forbidden: int = 0
    """By robots.txt."""
    left_out: int = 0
    """By the bounds of a page, or of the crawl."""
    waiting: int = 0
    bytes: int = 0
    """Of the bodies, decompressed."""

    @property
    def came(self) -> int:
        """Those that the archive has as they are now."""
        return self.fetched + self.unchanged

    def __str__(self) -> str:
        said = [f"{self.fetched:,} fetched"]
        said += [f"{self.unchanged:,} unchanged"] if self.unchanged else []
        said += [f"{self.failed:,} failed"] if self.failed else []
        said += [f"{self.forbidden:,} forbidden by robots.txt"] if self.forbidden else []
        said += [f"{self.left_out:,} left out"] if self.left_out else []
        if self.waiting:
            said.append(f"{self.waiting:,} wait: the same command goes on with them")
        return ", ".join(said)


def totals_of(db: sqlite3.Connection) -> RequisiteTotals:
    """Of the database of a run that has the tables. O(requisites)."""
    query = "SELECT outcome, count(*), total(size) FROM requisites GROUP BY outcome"
    counts, size = Counter[str](), 0
    for outcome, count, total in db.execute(query):
        counts[str(outcome)] += count
        size += int(total)
    (left,) = db.execute("SELECT total(left_out) FROM page_requisites").fetchone()
    counts[LEFT_OUT] += int(left)
    others = (*_CAME, WAITS, EARLIER, LEFT_OUT, FORGOTTEN, "robots")
    return RequisiteTotals(
        counts[FETCHED],
        counts[UNCHANGED],
        sum(count for outcome, count in counts.items() if outcome not in others),
        counts["robots"],
        counts[LEFT_OUT],
        counts[WAITS],
        size,
    )


def requisite_totals(path: Path) -> RequisiteTotals | None:
    """Of a run in its folder; None where it was never asked for any."""
    with _reading(path) as db:
        return None if db is None else totals_of(db)


def requisite_at(path: Path, url: str) -> RequisiteRow | None:
    """The one of a canonical URL; None where there is none."""
    with _reading(path) as db:
        if db is None:
            return None
        row = db.execute(f"SELECT {COLUMNS} FROM requisites WHERE url = ?", (url,)).fetchone()
        return None if row is None else RequisiteRow.of(row)


def all_requisites(path: Path) -> Iterator[RequisiteRow]:
    """Those whose requests ended, in the order of that."""
    query = (
        f"SELECT {COLUMNS} FROM requisites WHERE outcome NOT IN (?, ?, ?, ?) ORDER BY time, number"
    )
    with _reading(path) as db:
        if db is not None:
            yield from map(RequisiteRow.of, db.execute(query, _NOT_ASKED))


_NOT_ASKED = (WAITS, EARLIER, LEFT_OUT, FORGOTTEN)


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection | None]:
    """The database of a run that has the tables; None where it has not."""
    if files.shards(path):
        yield None
        return
    with reading(path) as db:
        yield db if has_table(db, "requisites") and has_table(db, "page_requisites") else None


class Needed:
    """What pages need, out of a database that has the tables."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._there, self._last = set[int](), 0
        """The numbers of the rows as far as they were looked up, and the largest of them."""

    def of_page(self, ticket: int) -> tuple[int, ...]:
        """The numbers of what a page names."""
        query = "SELECT needs FROM page_requisites WHERE ticket = ?"
        row = self._db.execute(query, (ticket,)).fetchone()
        return () if row is None else checked_numbers(ticket, row[0])

    def row(self, number: int) -> RequisiteRow | None:
        query = f"SELECT {COLUMNS} FROM requisites WHERE number = ?"
        row = self._db.execute(query, (number,)).fetchone()
        return None if row is None else RequisiteRow.of(row)

    def closure(self, numbers: Iterable[int], seen: set[int]) -> Iterator[RequisiteRow]:
        """The rows of these numbers and of all that they need, but for those that were `seen`, and
        that are then."""
        left = self._unseen(numbers, seen)
        while left:
            if (row := self.row(left.pop())) is not None:
                yield row
                left += self._unseen(row.needs, seen)

    def _unseen(self, numbers: Iterable[int], seen: set[int]) -> list[int]:
        """Those of rows that are there and were not seen, the last first; they are seen then: a
        stranger's rows may name each other, and rows that are none, in any number."""
        new = [number for number in dict.fromkeys(numbers) if number not in seen]
        if any(number > self._last for number in new):
            later = "SELECT number FROM requisites WHERE number > ?"
            self._there.update(number for (number,) in self._db.execute(later, (self._last,)))
            self._last = max(self._there, default=0)
        new = [number for number in new if number in self._there]
        seen.update(new)
        return new[::-1]

    def archived(self, ticket: int, seen: set[int]) -> list[dict[str, Any]]:
        """What a page needs and was archived, as rows of an export of an archive; what was `seen`
        with another page stands there."""
        return [
            {"url": row.url, "fetched_at": rfc3339(row.time), "archive": row.place[:2]}
            for row in self.closure(self.of_page(ticket), seen)
            if row.place is not None
        ]


def checked_numbers(ticket: object, needs: object) -> tuple[int, ...]:
    """As `numbers_of`, of a page. Raises InputError."""
    try:
        return numbers_of(needs)
    except (ValueError, RecursionError) as error:
        raise InputError(f"what page {ticket!r} needs is damaged: {error}") from error


@contextmanager
def needed_by_pages(path: Path) -> Iterator[Needed | None]:
    """What the pages of a run need; None where it was never asked for."""
    with _reading(path) as db:
        yield None if db is None else Needed(db)


def copy(old: sqlite3.Connection, db: sqlite3.Connection, names: Mapping[str, str]) -> None:
    """Copy the requisites of an earlier run, each to be asked for again once a page of the new run
    needs it, and what its pages asked for when they were rendered: one that is not asked for again
    needs it still. `names`: of the files of its archive in the new run. Raises InputError."""
    if not has_table(old, "requisites"):
        return
    for statement in TABLES.split(";"):
        db.execute(statement)
    marks = ", ".join("?" * len(fields(RequisiteRow)))
    for raw in old.execute(f"SELECT {COLUMNS} FROM requisites ORDER BY number"):
        row = RequisiteRow.of(raw)
        values = dict(zip(COLUMNS.split(", "), raw, strict=True))
        values["warc_file"] = None if row.warc_file is None else names.get(row.warc_file)
        values["outcome"] = FORGOTTEN if row.outcome == FORGOTTEN else EARLIER
        values["size"] = 0  # it counts for that run
        db.execute(f"INSERT INTO requisites VALUES ({marks})", [*values.values()])
    if not has_table(old, "asked_in_browser"):
        return
    for url, urls in old.execute("SELECT url, urls FROM asked_in_browser"):
        asked = url, json.dumps(asked_of(url, urls))
        db.execute("INSERT OR IGNORE INTO asked_in_browser VALUES (?, ?, 1)", asked)
