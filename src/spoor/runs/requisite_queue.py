"""The requisites of a run as its writer has them: what is read of pages, and what is asked for.

All of it is in the transaction of the writer's next commit.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from spoor.errors import InputError
from spoor.formats.warc_reader import original_at
from spoor.formats.warc_writer import Place, revisit_headers
from spoor.runs import files
from spoor.runs.recovery import telling
from spoor.runs.requisites import (
    COLUMNS_OF,
    EARLIER,
    FETCHED,
    FORGOTTEN,
    LEFT_OUT,
    MOST_OF_A_PAGE,
    MOST_PATH,
    REDIRECTED,
    TABLES,
    UNCHANGED,
    WAITS,
    Needed,
    RequisiteRow,
    RequisiteTotals,
    asked_of,
    checked_numbers,
    totals_of,
)
from spoor.types import Failed, LiveReply, Redirected
from spoor.web.exchange import Exchange, Requisite
from spoor.web.urls import domain_of, names_host, origin, site
from spoor.web.validators import Validators

MOST_BYTES = 100 << 20
"""Bytes that the bodies of requisites that one page names first may have, decompressed, …"""
MOST_SECONDS = 600.0
"""… and seconds for which their hosts may be waited for. The rest is left out."""

MOST_BYTES_OF_SITE, BYTES_EACH = 4 << 30, 10 << 20
"""Bytes that the requisites of the pages of one domain may have together, or of all domains without
a seed, and more for each of these pages that was read; …"""
MOST_OF_SITE, EACH = 50_000, 100
"""… and how many may be named, and more for each; …"""
MOST_SECONDS_OF_SITE, SECONDS_EACH = 3 * 3600.0, 60.0
"""… and seconds of waiting, and more for each. The rest is left out."""

_LONGEST = 1e12
"""Seconds of waiting that are counted of a run that goes on."""
_MOST_REASON = 300

Waiting = tuple[int, str]
"""Number and URL of a requisite that waits."""


@dataclass(frozen=True, slots=True)
class DuePage:
    """A page whose requisites are to be read."""

    seq: int
    ticket: int
    url: str
    place: Place
    asked: Sequence[Requisite] = ()
    """What it asked for when it was rendered."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a request ended."""

    time: float
    """Unix seconds."""
    reply: LiveReply
    exchange: Exchange | None = None
    place: Place | None = None
    """In the archive; None where it was not archived, or as what an earlier run has."""
    unchanged: bool = False
    """It is as an earlier run has it."""


@dataclass(slots=True)
class _Beyond:
    """What requisites took beyond what their pages may by themselves."""

    named: int = 0
    bytes: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class _OfSite:
    """What the requisites of the pages of one domain took so far. What they took beyond what these
    pages may counts to `beyond`, which all domains without a seed share: there are names without
    end."""

    beyond: _Beyond
    pages: int = 0
    named: int = 0
    bytes: int = 0
    seconds: float = 0.0

    def took(self, *, pages: int = 0, named: int = 0, size: int = 0, seconds: float = 0.0) -> None:
        """Count more."""
        of, before = self.beyond, self._beyond()
        self.pages, self.named = self.pages + pages, self.named + named
        self.bytes, self.seconds = self.bytes + size, self.seconds + seconds
        after = self._beyond()
        of.named += after.named - before.named
        of.bytes += after.bytes - before.bytes
        of.seconds += after.seconds - before.seconds

    def _beyond(self) -> _Beyond:
        return _Beyond(
            max(0, self.named - self.pages * EACH),
            max(0, self.bytes - self.pages * BYTES_EACH),
            max(0.0, self.seconds - self.pages * SECONDS_EACH),
        )

    def is_spent(self, *, quick: bool) -> bool:
        """Whether none of them is asked for any more at a host, …"""
        own, of = self._beyond(), self.beyond
        late = own.seconds and of.seconds >= MOST_SECONDS_OF_SITE and not quick
        return bool(late or (own.bytes and of.bytes >= MOST_BYTES_OF_SITE))

    @property
    def is_full(self) -> bool:
        """… or at least none is noted."""
        own, of = self._beyond(), self.beyond
        return bool(own.named and of.named >= MOST_OF_SITE) or self.is_spent(quick=True)


class RequisiteQueue:
    """Of `everything`, or of relevant pages alone. `seeds`: those of the run. Its calls are made
    between two commits. Raises InputError where the tables are those of another version."""

    def __init__(
        self, path: Path, db: sqlite3.Connection, *, everything: bool, seeds: Iterable[str] = ()
    ) -> None:
        with telling(path):
            db.executescript(TABLES)
            for table, columns in COLUMNS_OF.items():
                db.execute(f"SELECT {columns} FROM {table} LIMIT 0")
        self._path, self._db = path, db
        self._relevant = "" if everything else "AND pages.relevant"
        self._needed = Needed(db)
        self._named = frozenset(map(domain_of, seeds))
        self._others = _Beyond()
        self._sites: dict[str, _OfSite] = {}
        """By domain."""
        query = (
            "SELECT pages.url, total(named), total(bytes), total(page_requisites.seconds), "
            "count(*) FROM page_requisites JOIN pages USING (ticket) GROUP BY pages.host"
        )
        with telling(path):
            wrong = db.execute(
                "SELECT ticket FROM page_requisites WHERE typeof(seconds) NOT IN ('integer', "
                "'real') OR typeof(named) != 'integer' OR typeof(bytes) != 'integer' "
                "OR typeof(left_out) != 'integer'"
            ).fetchone()
            if wrong is not None:
                raise ValueError(f"what page {wrong[0]} took is no number")
            for url, named, size, seconds, pages in db.execute(query):
                self._site_of(url).took(
                    pages=pages,
                    named=max(0, int(named)),
                    size=max(0, int(size)),
                    seconds=min(max(0.0, seconds), _LONGEST),
                )

    def _site_of(self, url: object) -> _OfSite:
        """Of a page."""
        known = isinstance(url, str) and names_host(url)
        domain = domain_of(str(url)) if known else ""
        if (of := self._sites.get(domain)) is None:
            beyond = _Beyond() if domain in self._named else self._others
            of = self._sites[domain] = _OfSite(beyond)
        return of

    def due(self, after: int, most: int) -> list[DuePage]:
        """The first pages after a number whose requisites were not read, or not what they asked for
        in a browser since. O(pages after it). Raises InputError where one is damaged: a run may be
        a stranger's."""
        rows = self._db.execute(
            "SELECT seq, pages.ticket, pages.url, urls, warc_file, warc_offset, warc_length "
            "FROM pages "
            "LEFT JOIN page_requisites ON page_requisites.ticket = pages.ticket "
            "LEFT JOIN asked_in_browser ON asked_in_browser.url = pages.url "
            "WHERE (page_requisites.ticket IS NULL OR waits) "
            f"AND seq > ? AND warc_file IS NOT NULL {self._relevant} ORDER BY seq LIMIT ?",
            (after, most),
        )
        due: list[DuePage] = []
        for seq, ticket, url, urls, file, *place in rows:
            if not (_are_whole(ticket, *place) and isinstance(url, str) and names_host(url)):
                raise InputError(f"row {seq!r} of the pages is damaged: it is of no page")
            files.archive_at(self._path, file)
            due.append(DuePage(seq, ticket, url, Place(file, *place), asked_of(url, urls)))
        return due

    def note_asked(self, url: str, asked: Sequence[Requisite]) -> None:
        """Note what a page asked for when it was rendered."""
        row = url, json.dumps([*islice(asked, MOST_OF_A_PAGE)])
        self._db.execute("INSERT OR REPLACE INTO asked_in_browser VALUES (?, ?, 1)", row)

    def last(self) -> int:
        """The number of the newest page."""
        (last,) = self._db.execute("SELECT coalesce(max(seq), 0) FROM pages").fetchone()
        return int(last)

    def waiting(self) -> Iterator[Waiting]:
        """All that wait, in their order. Raises InputError where one is damaged."""
        query = "SELECT number, url FROM requisites WHERE outcome = ? ORDER BY number"
        for number, url in self._db.execute(query, (WAITS,)):
            if not isinstance(url, str) or not names_host(url):
                raise InputError(f"row {number!r} of the requisites is damaged: its URL is none")
            yield number, url

    def row(self, number: int) -> RequisiteRow | None:
        """One of them."""
        return self._needed.row(number)

    def totals(self) -> RequisiteTotals:
        """What became of them so far."""
        return totals_of(self._db)

    def add_of_page(
        self, page: DuePage, found: Iterable[Requisite], left: int, seconds: float = 0.0
    ) -> list[Waiting]:
        """Note what a page names, `left` references left out, and what reading it took; returns
        those that wait since."""
        known = "INSERT OR IGNORE INTO page_requisites VALUES (?, '', 0, 0, ?, ?)"
        added = self._db.execute(known, (page.ticket, seconds, left))
        if added.rowcount:
            self._site_of(page.url).took(pages=1, seconds=seconds)
        needs, new = self._add(page.ticket, page.url, "E", found)
        update = "UPDATE page_requisites SET needs = ? WHERE ticket = ?"
        self._db.execute(update, (json.dumps(needs), page.ticket))
        # It may have been rendered once more since it was read.
        update = "UPDATE asked_in_browser SET waits = 0 WHERE url = ? AND urls = ?"
        self._db.execute(update, (page.url, json.dumps([*page.asked])))
        return new

    def add_of(
        self, row: RequisiteRow, found: Iterable[Requisite], left: int = 0, *, letter: str = "E"
    ) -> list[Waiting]:
        """Note what a style sheet names, or where a requisite redirects (`letter` is `R` then);
        returns those that wait since."""
        needs, new = self._add(row.page, row.url, row.path + letter, found)
        update = "UPDATE requisites SET needs = ? WHERE number = ?"
        self._db.execute(update, (json.dumps(needs), row.number))
        self._leave_out(row.page, left)
        return new

    def again(self, row: RequisiteRow) -> list[Waiting]:
        """What it needs, as an earlier run has it, is needed in this one; returns those that wait
        since."""
        named = [one for number in row.needs if (one := self.row(number)) is not None]
        found = [Requisite(one.url, one.style) for one in named]
        return self._add(row.page, row.url, f"{row.path}E", found)[1]

    def _add(
        self, ticket: int, found_on: str, path: str, found: Iterable[Requisite]
    ) -> tuple[list[int], list[Waiting]]:
        """The numbers of what was found, and those that wait since. `path`: to what a document
        names, or a redirect leads to."""
        db = self._db
        of = db.execute("SELECT url FROM pages WHERE ticket = ?", (ticket,)).fetchone()
        url_of = "" if of is None else of[0]
        user = url_of if isinstance(url_of, str) and names_host(url_of) else ""
        of_site = self._site_of(user)
        counted = "SELECT named FROM page_requisites WHERE ticket = ?"
        named: int = (db.execute(counted, (ticket,)).fetchone() or (0,))[0]
        needs, new, left, before = list[int](), list[Waiting](), 0, named
        for url, style, by_script in found:
            to = f"{path[:-1]}X" if by_script else path
            # As the browser does: what scripts read may be of the user at their own origin alone.
            part = origin if "X" in to else site
            its_own = bool(user) and part(url) == part(user)
            query = "SELECT number, outcome, page, own FROM requisites WHERE url = ?"
            row = db.execute(query, (url,)).fetchone()
            number: Any
            number, outcome, page, own = (None, EARLIER, None, False) if row is None else row
            if outcome == EARLIER or (outcome == LEFT_OUT and page != ticket):
                full = named >= MOST_OF_A_PAGE or of_site.is_full
                if full or len(to) > MOST_PATH:
                    left += 1
                    continue
                named += 1
                of_site.took(named=1)
                first = ticket, found_on, to, style, its_own
                if number is None:
                    number = db.execute(
                        "INSERT INTO requisites VALUES (NULL, ?, ?, ?, ?, ?, ?, '', '', 0, 0.0, "
                        "0.0, 0, NULL, NULL, NULL, '', '', '')",
                        (url, *first),
                    ).lastrowid
                else:
                    db.execute(
                        "UPDATE requisites SET page = ?, found_on = ?, path = ?, style = ?, "
                        "own = ?, outcome = '', reason = '' WHERE number = ?",
                        (*first, number),
                    )
                new.append((number, url))
            elif outcome == WAITS and not own and its_own:
                # A page of another site was the first to name it, which would be asked for less.
                db.execute("UPDATE requisites SET own = 1 WHERE number = ?", (number,))
            needs.append(number)
        if named != before:
            update = "UPDATE page_requisites SET named = ? WHERE ticket = ?"
            db.execute(update, (named, ticket))
        self._leave_out(ticket, left)
        return needs, new

    def _leave_out(self, ticket: int, count: int) -> None:
        if count:
            update = "UPDATE page_requisites SET left_out = left_out + ? WHERE ticket = ?"
            self._db.execute(update, (count, ticket))

    def spent(self, row: RequisiteRow, *, quick: bool) -> str:
        """Why it is left out; empty where it is not. The page that named it first has had what it
        may take (of a host that is `quick` to answer bytes alone, so that mute hosts do not cost a
        page what others have), or all pages of its site have."""
        query = (
            "SELECT page_requisites.bytes, page_requisites.seconds, pages.url "
            "FROM page_requisites LEFT JOIN pages USING (ticket) WHERE ticket = ?"
        )
        size, seconds, page = self._db.execute(query, (row.page,)).fetchone() or (0, 0.0, "")
        if size >= MOST_BYTES or (seconds >= MOST_SECONDS and not quick):
            return "its page has had what it may take"
        if self._site_of(page).is_spent(quick=quick):
            return "the pages of its site have had what they may take together"
        return ""

    def took(self, row: RequisiteRow, size: int, seconds: float) -> None:
        """Count what a request took against its page, and its page's site."""
        of = self._db.execute("SELECT url FROM pages WHERE ticket = ?", (row.page,)).fetchone()
        self._site_of("" if of is None else of[0]).took(size=size, seconds=seconds)
        self._db.execute(
            "UPDATE page_requisites SET bytes = bytes + ?, seconds = seconds + ? WHERE ticket = ?",
            (size, seconds, row.page),
        )

    def end(self, row: RequisiteRow, ended: Ended) -> None:
        """Note what became of one; what came replaces what an earlier run has."""
        reply, exchange, reason, status = ended.reply, ended.exchange, "", 0
        seconds = 0.0 if exchange is None else exchange.seconds
        size = 0 if exchange is None or ended.unchanged else len(exchange.body)
        if isinstance(reply, Failed):
            outcome, reason, status = reply.kind, reply.reason[:_MOST_REASON], reply.status
        elif ended.unchanged:
            outcome = UNCHANGED
        else:
            outcome = REDIRECTED if isinstance(reply, Redirected) else FETCHED
        status = status if exchange is None else exchange.status
        self._db.execute(
            "UPDATE requisites SET outcome = ?, reason = ?, status = ?, time = ?, seconds = ?, "
            "size = ? WHERE number = ?",
            (outcome, reason, status, ended.time, seconds, size, row.number),
        )
        if exchange is None or (place := ended.place) is None:
            return
        validators = Validators.of(exchange.headers) or Validators()
        self._db.execute(
            "UPDATE requisites SET warc_file = ?, warc_offset = ?, warc_length = ?, needs = '', "
            "etag = ?, last_modified = ? WHERE number = ?",
            (*astuple(place), *astuple(validators), row.number),
        )

    def leave_out(self, row: RequisiteRow, why: str, now: float) -> None:
        """It is not asked for."""
        update = "UPDATE requisites SET outcome = ?, reason = ?, time = ? WHERE number = ?"
        self._db.execute(update, (LEFT_OUT, why, now, row.number))

    def revisit(self, row: RequisiteRow, exchange: Exchange) -> dict[str, str] | None:
        """Headers of a revisit record where it is what an earlier run has, by the word of its
        server, or since the same bytes came; None where it is not, or none can be told."""
        if row.place is None or exchange.status not in (200, 304) or exchange.truncated:
            return None
        found = original_at(files.archive_at(self._path, row.place[0]), *row.place[1:])
        if found is None:
            return None
        by_server = exchange.status == 304
        if not by_server and found.payload() != exchange.raw:
            return None
        payload = None if by_server else exchange.raw
        return revisit_headers(found.uri, found.date, found.record, payload)


def _are_whole(*numbers: object) -> bool:
    return all(isinstance(one, int) and 0 <= one < 1 << 53 for one in numbers)


def forgotten_requisites(db: sqlite3.Connection, urls: Collection[str]) -> set[str]:
    """URLs of the requisites that are forgotten with these URLs: those among them, and what only
    the pages among them need. What is a page as well stays. O(requisites of all pages)."""
    marks = ", ".join("?" * len(urls))
    query = f"SELECT ticket FROM pages WHERE url IN ({marks})"
    gone = {ticket for (ticket,) in db.execute(query, (*urls,))}
    needed, seen = Needed(db), set[int]()
    for ticket, needs in db.execute("SELECT ticket, needs FROM page_requisites"):
        if ticket not in gone:
            for _ in needed.closure(checked_numbers(ticket, needs), seen):
                pass
    found = {row.url for ticket in gone for row in needed.closure(needed.of_page(ticket), seen)}
    found -= {url for (url,) in db.execute("SELECT url FROM pages")}
    query = f"SELECT url FROM requisites WHERE url IN ({marks})"
    return found | {url for (url,) in db.execute(query, (*urls,))}


def forget_requisites(db: sqlite3.Connection, urls: Iterable[str]) -> None:
    """Keep of these only that they were asked for, so that they are not again."""
    db.executemany(
        "UPDATE requisites SET outcome = ?, warc_file = NULL, size = 0, etag = '', "
        "last_modified = '' WHERE url = ?",
        [(FORGOTTEN, url) for url in urls],
    )
