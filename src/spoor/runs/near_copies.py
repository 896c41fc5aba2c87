"""Near-copies among the documents of a run: which one stands for which.

Two documents are near-copies where their bytes are the same, or where the estimated resemblance of
their word triples is at least `LIKE` (MinHash: Broder 1997; found by bands of hashes: Leskovec,
Rajaraman and Ullman 2014, ch. 3.4). The one fetched first stands for the others. What is known lies
in a file that is deleted with its name, so memory stays flat.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from spoor.web.minhash import MinHasher, triples
from spoor.web.text import tokens

LIKE = 0.85
"""Least estimated resemblance (Jaccard) of near-copies, in [0, 1]."""

HASHES = 96
BANDS = 12
"""Of so many equal bands one has to be the same, else two documents are not compared: of pairs
that resemble each other by .85 that finds 98 %, of those by .5 it compares 5 %."""

MOST_CANDIDATES = 20
"""Documents that are compared for one band."""

_CHARACTERS = 1 << 20
_MEMORY = 32_000
"""KiB of the table that are kept in memory."""


class Copies:
    """Which document stands for which, by their numbers."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._hasher = MinHasher(HASHES)
        db.executescript(
            f"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-{_MEMORY};"
            "CREATE TABLE originals (number INTEGER PRIMARY KEY, digest BLOB, hashes BLOB);"
            "CREATE INDEX originals_by_digest ON originals (digest);"
            "CREATE TABLE bands (key INTEGER, number INTEGER, PRIMARY KEY (key, number))"
            " WITHOUT ROWID;"
            "CREATE TABLE copies (number INTEGER PRIMARY KEY, original INTEGER, url TEXT);"
            "CREATE INDEX copies_of ON copies (original);"
        )

    def add(self, number: int, url: str, text: str, digest: bytes) -> None:
        """Compare a document with those added before it; `digest` is that of its bytes."""
        words = tokens(text[:_CHARACTERS])
        hashes = np.empty(0, np.uint64)
        if words:
            hashes = self._hasher.sketch(triples(words) or {" ".join(words)})
        size = HASHES // BANDS
        parts = [hashes[start : start + size].tobytes() for start in range(0, len(hashes), size)]
        keys = [_key(band, part) for band, part in enumerate(parts)]
        original = self._same(digest)
        if original is None:
            original = self._like(keys, hashes)
        if original is None:
            row = (number, digest, hashes.tobytes())
            self._db.execute("INSERT INTO originals VALUES (?, ?, ?)", row)
            self._db.executemany(
                "INSERT OR IGNORE INTO bands VALUES (?, ?)", [(key, number) for key in keys]
            )
        else:
            self._db.execute("INSERT INTO copies VALUES (?, ?, ?)", (number, original, url))

    def is_copy(self, number: int) -> bool:
        """Whether another document stands for this one."""
        row = self._db.execute("SELECT 1 FROM copies WHERE number = ?", (number,)).fetchone()
        return row is not None

    def of(self, number: int) -> list[str]:
        """URLs of the documents that this one stands for, in the order in which they were added."""
        rows = self._db.execute(
            "SELECT url FROM copies WHERE original = ? ORDER BY rowid", (number,)
        )
        return [url for (url,) in rows]

    def _same(self, digest: bytes) -> int | None:
        query = "SELECT min(number) FROM originals WHERE digest = ?"
        row = self._db.execute(query, (digest,)).fetchone()
        return None if row[0] is None else int(row[0])

    def _like(self, keys: list[int], hashes: np.ndarray[Any, Any]) -> int | None:
        """The first document that this is a near-copy of."""
        for key in keys:
            rows = self._db.execute(
                "SELECT number, hashes FROM bands JOIN originals USING (number) WHERE key = ?"
                f" ORDER BY number LIMIT {MOST_CANDIDATES}",
                (key,),
            )
            for number, known in rows:
                if np.mean(np.frombuffer(known, hashes.dtype) == hashes) >= LIKE:
                    return int(number)
        return None


def _key(band: int, part: bytes) -> int:
    digest = hashlib.blake2b(part, digest_size=8, person=band.to_bytes(2, "little")).digest()
    return int.from_bytes(digest, "little", signed=True)


@contextmanager
def near_copies(documents: Iterable[tuple[int, str, str, bytes]]) -> Iterator[Copies]:
    """The near-copies among documents: (number, URL, text, digest of its bytes). O(documents) on
    the disk meanwhile."""
    with (
        TemporaryDirectory(prefix="spoor-") as folder,
        closing(sqlite3.connect(f"{folder}/copies.db", isolation_level=None)) as db,
    ):
        copies = Copies(db)
        db.execute("BEGIN")
        for document in documents:
            copies.add(*document)
        db.execute("COMMIT")
        yield copies
