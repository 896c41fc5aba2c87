"""Rows of a run that the next commit makes durable."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, field, fields
from typing import Any

from spoor.runs.database import BROKE_OFF
from spoor.runs.recovery import Ends, forgotten
from spoor.runs.rows import TOLD, PageRow, RenderRow
from spoor.types import Judgement, Revision
from spoor.web.exchange import Exchange
from spoor.web.freshness import fresh_for
from spoor.web.validators import Validators

_TOLD_CHANGE = 0.005
"""By how much a score changes, at least, for its reasons to tell what it was."""


def rounded(why: Iterable[tuple[str, float]]) -> list[list[Any]]:
    """Reasons as a row has them."""
    return [[reason, round(share, 4)] for reason, share in why]


def ticket_of(url: str) -> int:
    """Of a page of a watch: 63 bits of its URL."""
    from spoor.hashing import hash64  # which imports NumPy: a run that refuses does so soon

    return hash64(url) >> 1


@dataclass(slots=True)
class PendingRows:
    """Rows since the last commit."""

    pages: list[tuple[Any, ...]] = field(default_factory=list)
    failures: list[tuple[Any, ...]] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    revisions: dict[int, tuple[float, int, str]] = field(default_factory=dict)
    """Ticket of a page → (score, relevant, why) by its judge's revision."""
    turned: set[int] = field(default_factory=set)
    """Tickets of pages whose relevance a revision changed."""
    labels: dict[int, tuple[float, int, str]] = field(default_factory=dict)
    """seq of a page that a person judged → (score, relevant, why)."""
    notes: dict[str, str] = field(default_factory=dict)
    validators: dict[str, tuple[str, str]] = field(default_factory=dict)
    """URL → (ETag, Last-Modified) of its newest document."""
    freshness: dict[str, float] = field(default_factory=dict)
    """URL → Unix seconds until which its newest document is fresh, by its headers."""
    forgotten: list[str] = field(default_factory=list)
    """URLs whose validators, freshness, renders and rows that were not told are deleted."""
    seen: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    """Ticket of a page of a watch → its row."""
    told: set[str] = field(default_factory=set)
    """URLs of such pages that are told."""
    superseded: set[int] = field(default_factory=set)
    """seq of rows of an earlier run whose pages were replaced, or are gone."""
    renders: list[RenderRow] = field(default_factory=list)
    rendered: list[str] = field(default_factory=list)
    """URLs that a watch has rendered."""
    redirects: list[tuple[str, int]] = field(default_factory=list)
    """(URL, ticket) of seeds, and of pages of an earlier run, that led elsewhere."""
    files: list[tuple[str, str, bytes]] = field(default_factory=list)
    """(URL, media type, body) of documents that are saved as files."""

    def forget(self, urls: Iterable[str]) -> None:
        """Delete what is kept of these URLs, which a watch no longer visits."""
        self.forgotten += urls
        for url in self.forgotten:
            self.seen.pop(ticket_of(url), None)
            self.validators.pop(url, None)
            self.freshness.pop(url, None)
        left = set(self.forgotten)
        self.rendered = [url for url in self.rendered if url not in left]

    def keep_validators(self, exchange: Exchange) -> None:
        """Keep how to request a document conditionally later, and until when it is fresh. One whose
        body broke off is requested whole the next time (RFC 9111, section 3.3)."""
        # They say nothing of a rendered document: what its scripts fetch may be new.
        if exchange.status != 200 or exchange.document is not exchange.body:
            return
        url, headers = exchange.url, exchange.headers
        if exchange.truncated not in ("", "length"):
            self.validators[url], self.freshness[url] = BROKE_OFF, 0.0
            return
        if (found := Validators.of(headers)) is not None:
            self.validators[url] = found.etag, found.last_modified
        if "Cache-Control" in headers or "Expires" in headers:
            self.freshness[url] = exchange.began + fresh_for(headers)

    def see(self, row: tuple[Any, ...], flags: Collection[str]) -> None:
        """What a watch downloaded: `row` is without its ticket, which is of the URL, so that a page
        has one row."""
        ticket = ticket_of(row[0])
        self.seen[ticket] = (*row, ticket, " ".join(sorted(flags)))
        self.revisions.pop(ticket, None)

    def judged_anew(self, url: str, judgement: Judgement) -> None:
        """Take a newer verdict on a page of a watch."""
        verdict = judgement.score, int(judgement.relevant), json.dumps(rounded(judgement.why))
        self.revisions[ticket_of(url)] = verdict

    @property
    def changes_results(self) -> bool:
        """Whether lines of the results file may be wrong now."""
        return bool(self.labels or self.revisions or self.superseded)

    def revise(self, revisions: Sequence[Revision], pages: int) -> None:
        """Take the judge's revisions after so many pages."""
        for one in revisions:
            why = rounded(one.after.why)
            if abs(one.after.score - one.before.score) >= _TOLD_CHANGE:
                was = f"judged anew after {pages} pages, was {one.before.score:.3f}"
                why.insert(0, [was, 0.0])
            verdict = one.after.score, int(one.after.relevant), json.dumps(why)
            self.revisions[one.ticket] = verdict
            if one.after.relevant != one.before.relevant:
                self.turned.add(one.ticket)
        self.notes["revised"] = str(revisions[-1].number)

    def write(self, db: sqlite3.Connection, ends: Ends) -> None:
        """Write the rows within the transaction of a commit, and advance its `ends`."""
        for table, columns, new in (("pages", 19, self.pages), ("failures", 8, self.failures)):
            if not new:
                continue
            first = getattr(ends, table) + 1
            marks = ", ".join("?" * columns)
            db.executemany(
                f"INSERT INTO {table} VALUES ({marks})",
                [(seq, *row) for seq, row in enumerate(new, first)],
            )
            setattr(ends, table, first - 1 + len(new))
        if self.superseded:
            gone = db.executemany(
                "DELETE FROM pages WHERE seq = ?", [(seq,) for seq in self.superseded]
            ).rowcount
            self.notes["forgotten pages"] = str(forgotten(db, "pages") + gone)
        if self.forgotten or self.seen or self.told:
            self._write_watched(db, ends)
        update = "UPDATE pages SET score = ?, relevant = ?, why = ? WHERE"
        if self.revisions:
            rows = [(*verdict, ticket) for ticket, verdict in self.revisions.items()]
            db.executemany(f"{update} ticket = ?", rows)
        if self.labels:
            rows = [(*verdict, seq) for seq, verdict in self.labels.items()]
            db.executemany(f"{update} seq = ?", rows)
        for table in ("validators", "freshness", "rendered") if self.forgotten else ():
            left = [(url,) for url in self.forgotten]
            db.executemany(f"DELETE FROM {table} WHERE url = ?", left)
        if self.validators:
            pairs = [(url, *pair) for url, pair in self.validators.items()]
            db.executemany("INSERT OR REPLACE INTO validators VALUES (?, ?, ?)", pairs)
        if self.freshness:
            times = self.freshness.items()
            db.executemany("INSERT OR REPLACE INTO freshness VALUES (?, ?)", times)
        if self.renders:
            marks = ", ".join("?" * len(fields(RenderRow)))
            db.executemany(
                f"INSERT OR REPLACE INTO renders VALUES ({marks})", map(astuple, self.renders)
            )
        if self.rendered:
            urls = ((url,) for url in self.rendered)
            db.executemany("INSERT OR IGNORE INTO rendered VALUES (?)", urls)
        if self.redirects:
            db.executemany("INSERT OR REPLACE INTO redirected_seeds VALUES (?, ?)", self.redirects)
        if self.notes:
            db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", self.notes.items())

    def _write_watched(self, db: sqlite3.Connection, ends: Ends) -> None:
        """Rows of a watch: those of pages that it left, those that take the place of others, and
        which were told, which stay."""
        gone = 0
        is_told = f"instr(' ' || flags || ' ', ' {TOLD} ') > 0"
        left = [(ticket_of(url),) for url in self.forgotten]
        gone += db.executemany(
            f"DELETE FROM pages WHERE ticket = ? AND NOT {is_told}", left
        ).rowcount
        for ticket, row in self.seen.items():
            told = db.execute(
                f"DELETE FROM pages WHERE ticket = ? RETURNING {is_told}", (ticket,)
            ).fetchall()
            gone += len(told)
            if any(was for (was,) in told):
                row = (*row[:-1], f"{row[-1]} {TOLD}".lstrip())
            ends.pages += 1
            db.execute(f"INSERT INTO pages VALUES ({', '.join('?' * 19)})", (ends.pages, *row))
        db.executemany(
            f"UPDATE pages SET flags = ltrim(flags || ' {TOLD}') "
            f"WHERE ticket = ? AND NOT {is_told}",
            [(ticket_of(url),) for url in self.told],
        )
        if gone:
            self.notes["forgotten pages"] = str(forgotten(db, "pages") + gone)

    def turned_pages(self, db: sqlite3.Connection) -> Iterator[PageRow]:
        """The pages whose relevance a revision changed, and those that a person judged."""
        keys = [("ticket", ticket) for ticket in sorted(self.turned)]
        keys += [("seq", seq) for seq in self.labels]
        for column, key in keys:
            found = db.execute(f"SELECT * FROM pages WHERE {column} = ?", (key,))
            names = [column[0] for column in found.description]
            yield from (PageRow.of(dict(zip(names, row, strict=True))) for row in found)
