"""Search in what a run fetched: an index (SQLite FTS5), made when it is first asked for."""

from __future__ import annotations

import os
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from spoor.errors import DiskError, InputError, in_one_line
from spoor.files import temporary_folder
from spoor.runs import files
from spoor.runs.recovery import of_disk
from spoor.runs.rows import PageRow
from spoor.runs.selection import Selection
from spoor.runs.stored_run import StoredRun
from spoor.web.languages import STEMMERS, stemmer_of
from spoor.web.text import UNSPACED, stem

MOST_CHARACTERS = 200_000
"""Of one document that are searched."""

MOST_WORDS = 32
"""Of a search, those of its phrases among them."""

WORDS_SHOWN = 24
"""Words around what was searched."""
CHARACTERS_SHOWN = 1_000
"""Characters of these at most: a word may have thousands."""

MOST_VALUE = 1 << 22
"""Bytes of a value of the index, more than a text of `MOST_CHARACTERS` with marks takes."""
_MOST_TITLE = 1 << 16
"""Characters."""

BATCH = 500
"""Documents that are added in one transaction: a search that is ended goes on there."""

_LEAST_STEM = 4
"""Letters of a stem that stands for all words that begin with it."""

_WORD = re.compile(r'"[^"]+"|[^\s"]+')

_PART = re.compile("\x01[^\x01\x02]*\x02|\\w+")
"""What is marked, or a word; in the index of a stranger a mark may have no end."""

_TABLES = (
    "CREATE TABLE known (number INTEGER PRIMARY KEY, stemmer TEXT NOT NULL)",
    "CREATE VIRTUAL TABLE words USING fts5(title, text, "
    "tokenize=\"porter unicode61 categories 'L* N* Co Mn Mc'\")",
)
_FAULTS = (sqlite3.Error, UnicodeDecodeError)
"""What SQLite raises; the latter where it quotes a text that is none."""

_VERSION = 2

_BETWEEN = "\u200b"
"""A space without width: stands in the index around each character of a script without spaces, so
that FTS5 takes it for a word, and words of that script for phrases."""


@dataclass(frozen=True, slots=True)
class Found:
    """A document that a search found."""

    number: int
    """`PageRow.number`."""
    url: str
    title: str
    score: float
    """Of the judge, in [0, 1]."""
    relevant: bool
    snippet: tuple[tuple[str, bool], ...]
    """Pieces of its text around the words; whether each is one of them."""


def search(
    run: StoredRun,
    words: str,
    *,
    limit: int = 10,
    everything: bool = True,
    any_word: bool = False,
    report_progress: Callable[[int], object] = lambda done: None,
) -> list[Found]:
    """The documents that hold all `words`, or `any_word` of them, best first (BM25, words of the
    title count thrice); a phrase stands in double quotes, and a word of a script without spaces is
    one. Other words have any ending that they have in the languages that the documents declare. Of
    a watch those that it told of.

    The first search reads every document; later ones add what was fetched since. The index lies in
    the run's folder, or, where that cannot be written, in one that is deleted again.
    `report_progress`: how many documents are in it. Raises InputError where there is no word, or
    the folder cannot be read.
    """
    found: list[Found] = []
    _query(words)  # before what takes long
    with _index(run) as db:
        _add(run, db, report_progress)
        query = _query(words, any_word=any_word, stemmers=_stemmers(db))
        rows = db.execute(
            "SELECT rowid FROM words WHERE words MATCH ? ORDER BY bm25(words, 3.0, 1.0), rowid",
            (query,),
        )
        while len(found) < limit and (part := [number for (number,) in rows.fetchmany(200)]):
            pages = {page.number: page for page in run.numbered(part)}
            shown = [pages[number] for number in part if number in pages]
            for page in [one for one in shown if everything or one.relevant][: limit - len(found)]:
                snippet = _pieces(around(_marked(db, query, page.number)))
                title, score = page.title, page.score
                found.append(Found(page.number, page.url, title, score, page.relevant, snippet))
    return found


def _marked(db: sqlite3.Connection, query: str, number: int) -> str:
    """The text of a document, what was searched between the characters 1 and 2. Not SQLite's own
    snippet, which takes time in the square of how often a word stands there."""
    rows = db.execute(
        "SELECT highlight(words, 1, char(1), char(2)) FROM words WHERE words MATCH ? AND rowid = ?",
        (query, number),
    )
    return str(rows.fetchone()[0]).replace(_BETWEEN, "")


def around(marked: str) -> str:
    """The `WORDS_SHOWN` words of a text that hold most of what is marked in it, different things
    first: the first such place, with what is marked in its middle. O(length)."""
    parts = [part.span() for part in _PART.finditer(marked)]
    hits = [marked[a + 1 : b - 1].casefold() if marked[a] == "\x01" else "" for a, b in parts]
    within, total, best, first, last = Counter[str](), 0, (0, 0), 0, 0
    left, latest = 0, 0
    for at, hit in enumerate(hits):
        if hit:
            within[hit] += 1
            total, latest = total + 1, at
        while left < at and (not hits[left] or at - left >= WORDS_SHOWN):
            if gone := hits[left]:
                total -= 1
                within[gone] -= 1
                if not within[gone]:
                    del within[gone]
            left += 1
        if hit and (len(within), total) > best:
            best, first, last = (len(within), total), left, latest
    if not parts:
        return marked[:CHARACTERS_SHOWN]
    begin = max(0, first - (WORDS_SHOWN - (last - first + 1)) // 2)
    end = min(len(parts), begin + WORDS_SHOWN)
    while parts[first][0] - parts[begin][0] > CHARACTERS_SHOWN // 2:
        begin += 1
    a = parts[begin][0] if begin else 0
    b = parts[end - 1][1] if end < len(parts) else len(marked)
    b = min(b, max(parts[first][0], a) + CHARACTERS_SHOWN // 2)
    return f"{'…' * (begin > 0)}{marked[a:b]}{'…' * (b < len(marked))}"


def _stemmers(db: sqlite3.Connection) -> list[str]:
    """The Snowball algorithms of the languages, beside English, that a tenth of the documents
    declare."""
    query = (
        "SELECT stemmer FROM known GROUP BY stemmer"
        " HAVING 10 * count(*) >= (SELECT count(*) FROM known) ORDER BY stemmer"
    )
    of_language = set(STEMMERS.values()) - {"english"}  # in a stranger's index anything may stand
    return [stemmer for (stemmer,) in db.execute(query) if stemmer in of_language]


def _query(words: str, *, any_word: bool = False, stemmers: Sequence[str] = ()) -> str:
    parts: list[str] = []
    left = MOST_WORDS
    # A shell hands bytes over that are no text as halves of characters.
    for found in _WORD.finditer(words.encode("utf-8", "replace").decode()):
        part = [one for one in re.split(r'["\s\0]+', found[0]) if re.search(r"\w", one)][:left]
        left -= len(part)
        if part:
            forms = [f'"{_parted(" ".join(part))}"']
            if not found[0].startswith('"'):
                stems = dict.fromkeys(stem([part[0].lower()], one)[0] for one in stemmers)
                forms += [
                    f'"{one}" *' for one in stems if one.isalpha() and len(one) >= _LEAST_STEM
                ]
            parts.append(forms[0] if len(forms) == 1 else f"({' OR '.join(forms)})")
        if not left:
            break
    if not parts:
        raise InputError(f"{words[:100]!r} has no word to search for")
    return (" OR " if any_word else " AND ").join(dict.fromkeys(parts))


def _parted(text: str) -> str:
    """A text whose characters of scripts without spaces between words are words of their own."""
    return UNSPACED.sub(lambda run: f"{_BETWEEN}{_BETWEEN.join(run[0])}{_BETWEEN}", text)


def _pieces(part: str) -> tuple[tuple[str, bool], ...]:
    pieces = enumerate(re.split("\x01|\x02", " ".join(part.split())))
    return tuple((text, index % 2 == 1) for index, text in pieces if text)


@contextmanager
def _index(run: StoredRun) -> Iterator[sqlite3.Connection]:
    file = run.path / files.SEARCH
    try:
        if not os.access(run.path, os.W_OK):
            with temporary_folder() as folder, closing(_open(f"{folder}/s")) as db:
                yield db
            return
        files.refuse_links(run.path)
        with closing(_opened_or_new(file)) as db:
            yield db
    except _FAULTS as error:
        if why := of_disk(error, run.path):
            raise DiskError(f"{file} cannot be used ({in_one_line(error)}): {why}") from error
        raise InputError(f"{file} cannot be used ({in_one_line(error)}); delete it") from error


def _opened_or_new(file: Path) -> sqlite3.Connection:
    """The index in a file; one that is damaged, of another version, or not made by a run is made
    anew, since nothing is lost with it."""
    if file.exists():
        with suppress(*_FAULTS):
            db = _open(file)
            if _is_ours(db):
                return db
            db.close()
        for leftover in (file, file.with_name(f"{file.name}-journal")):
            leftover.unlink(missing_ok=True)
    return _open(file)


def _open(file: Path | str) -> sqlite3.Connection:
    db = sqlite3.connect(file, isolation_level=None, timeout=60)
    try:
        db.execute("PRAGMA trusted_schema=OFF")
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_VALUE)
        db.execute("PRAGMA cache_size=-16000")
        db.execute("BEGIN IMMEDIATE")  # another search may make them at this moment
        if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            for statement in _TABLES:
                db.execute(statement)
            db.execute(f"PRAGMA user_version={_VERSION}")
        db.execute("COMMIT")
    except BaseException:
        db.close()
        raise
    return db


def _is_ours(db: sqlite3.Connection) -> bool:
    """Whether its tables are those of `_TABLES`, and FTS5 finds no fault in them."""
    if db.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
        return False
    made = "SELECT sql FROM sqlite_master ORDER BY name"
    with closing(sqlite3.connect(":memory:")) as like:
        for statement in _TABLES:
            like.execute(statement)
        own = like.execute(made).fetchall()
    if db.execute(made).fetchall() != own:  # computed columns and checks are programs, too
        return False
    return bool(db.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")


def _add(run: StoredRun, db: sqlite3.Connection, report_progress: Callable[[int], object]) -> None:
    """Add the documents that are not in the index yet."""
    count = 0

    def is_known(row: PageRow) -> bool:
        query = "SELECT 1 FROM known WHERE number = ?"
        return db.execute(query, (row.number,)).fetchone() is not None

    def wanted(row: PageRow) -> Collection[str]:
        if is_known(row):
            return ()
        return ("text", "language") if row.title else ("text", "language", "title")

    selection = Selection(everything=not run.is_watch)
    for document, _ in run.select(selection, report_progress, wanted):
        if is_known(document.row):
            continue
        number = document.row.number
        text = document.text[:MOST_CHARACTERS].replace("\x01", " ").replace("\x02", " ")
        if not db.in_transaction:
            db.execute("BEGIN IMMEDIATE")
        known = number, stemmer_of(document.language)
        added = db.execute("INSERT OR IGNORE INTO known VALUES (?, ?)", known).rowcount
        if added:
            row = (number, _parted(document.title[:_MOST_TITLE]), _parted(text))
            db.execute("INSERT INTO words (rowid, title, text) VALUES (?, ?, ?)", row)
        count += 1
        if count % BATCH == 0:
            db.execute("COMMIT")
    if db.in_transaction:
        db.execute("COMMIT")
