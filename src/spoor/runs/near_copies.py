"""Near-copies among the documents of a run: which one stands for which.

Two documents are near-copies where their bytes are the same, or where the estimated resemblance of
their word triples is at least `LIKE` (MinHash: Broder 1997; found by bands of hashes: Leskovec,
Rajaraman and Ullman 2014, ch. 3.4). The one given first stands for the others, so a page must not
be made to look like one of another site: the sets of triples are of nearly the same size, and
hashes that a random key chooses for each use are alike, too. What is known lies in a file that is
deleted with its name, so memory stays flat.
"""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager

import numpy as np
from numpy.typing import NDArray

from spoor.files import temporary_folder
from spoor.hashing import KEY_SIZE
from spoor.web.minhash import MinHasher, triples
from spoor.web.text import tokens

LIKE = 0.85
"""Least estimated resemblance (Jaccard) of near-copies, in [0, 1]."""

HASHES = 96
BANDS = 12
"""Of so many equal bands one has to be the same, else two documents are not compared: of pairs
that resemble each other by .85 that finds 98 %, of those by .5 it compares 5 %."""

KEYED = 48
KEYED_LIKE = 0.6
"""Of so many hashes under a random key, this share has to be equal. Near-copies have it (by five
standard deviations), so the choice of the key changes nothing for them."""

MOST_CANDIDATES = 20
"""Documents that are compared for one band."""

_CHARACTERS = 1 << 20
_MEMORY = 32_000
"""KiB of the table that are kept in memory."""


class Copies:
    """Which document stands for which, by their numbers."""

    def __init__(self, db: sqlite3.Connection, key: bytes) -> None:
        self._db = db
        self._hasher = MinHasher(HASHES, keyed=KEYED, key=key)
        db.executescript(
            f"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-{_MEMORY};"
            "CREATE TABLE originals (number INTEGER PRIMARY KEY, digest BLOB, size INTEGER,"
            " hashes BLOB);"
            "CREATE INDEX originals_by_digest ON originals (digest);"
            "CREATE TABLE bands (key INTEGER, number INTEGER, PRIMARY KEY (key, number))"
            " WITHOUT ROWID;"
            "CREATE TABLE copies (number INTEGER PRIMARY KEY, original INTEGER, url TEXT);"
            "CREATE INDEX copies_of ON copies (original);"
        )

    def add(self, number: int, url: str, text: str, digest: bytes) -> None:
        """Compare a document with those added before it; `digest` is that of its bytes."""
        words = tokens(text[:_CHARACTERS])
        features = triples(words) or {" ".join(words)}
        hashes = self._hasher.sketch(features)
        bands = hashes[:HASHES].reshape(BANDS, -1) if words else ()
        keys = [_key(number, band.tobytes()) for number, band in enumerate(bands)]
        original = self._same(digest)
        if original is None:
            original = self._like(keys, hashes, len(features))
        if original is None:
            row = (number, digest, len(features), hashes.tobytes())
            self._db.execute("INSERT INTO originals VALUES (?, ?, ?, ?)", row)
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

    def _like(self, keys: list[int], hashes: NDArray[np.uint64], size: int) -> int | None:
        """The first document that this is a near-copy of."""
        for key in keys:
            rows = self._db.execute(
                "SELECT number, size, hashes FROM bands JOIN originals USING (number)"
                f" WHERE key = ? ORDER BY number LIMIT {MOST_CANDIDATES}",
                (key,),
            )
            for number, other, known in rows:
                equal = np.frombuffer(known, hashes.dtype) == hashes
                alike = equal[:HASHES].mean() >= LIKE and equal[HASHES:].mean() >= KEYED_LIKE
                # No two sets resemble each other more than the sizes of the sets do.
                if alike and min(size, other) >= LIKE * max(size, other):
                    return int(number)
        return None


def _key(band: int, part: bytes) -> int:
    digest = hashlib.blake2b(part, digest_size=8, person=band.to_bytes(2, "little")).digest()
    return int.from_bytes(digest, "little", signed=True)


@contextmanager
def near_copies(
    documents: Iterable[tuple[int, str, str, bytes]], key: bytes | None = None
) -> Iterator[Copies]:
    """The near-copies among documents: (number, URL, text, digest of its bytes). `key`: bytes that
    nobody guesses; None draws them. O(documents) on the disk meanwhile."""
    with (
        temporary_folder() as folder,
        closing(sqlite3.connect(f"{folder}/copies.db", isolation_level=None)) as db,
    ):
        copies = Copies(db, secrets.token_bytes(KEY_SIZE) if key is None else key)
        db.execute("BEGIN")
        for document in documents:
            copies.add(*document)
        db.execute("COMMIT")
        yield copies
