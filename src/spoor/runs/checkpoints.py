"""The checkpoints of a run: two generations of the crawl's state, and the chunks of their arrays.

A chunk that the newest generation has is not written again, so a checkpoint costs what changed
since the last one, and reading the rest once for its digests.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

from spoor.learn.state import FAST, pack, unpack
from spoor.learn.state_chunks import ChunkReader, ChunkWriter, Kept
from spoor.types import State


def read_state(
    db: sqlite3.Connection, blob: bytes, source: str, used: Kept | None = None
) -> dict[str, Any]:
    """The state in a row of `checkpoints`; its chunks are added to `used`. Raises InputError naming
    `source` where it is damaged."""
    (size,) = db.execute("SELECT ifnull(sum(length(data)), 0) FROM chunks").fetchone()
    chunks = ChunkReader(lambda number: _chunk(db, number), size)
    state = unpack(blob, source=source, chunks=chunks)
    if used is not None:
        used.update(chunks.used)
    return state


def _chunk(db: sqlite3.Connection, number: int) -> object:
    row = db.execute("SELECT data FROM chunks WHERE number = ?", (number,)).fetchone()
    return None if row is None else row[0]


def drop_unused_chunks(db: sqlite3.Connection, source: str) -> None:
    """Delete the chunks that no checkpoint has. Raises InputError naming `source` where one is
    damaged."""
    used: Kept = {}
    for (blob,) in db.execute("SELECT state FROM checkpoints").fetchall():
        read_state(db, blob, source, used)
    _drop(db, _numbers(db) - {number for number, _ in used.values()})


def _numbers(db: sqlite3.Connection) -> set[int]:
    return {number for (number,) in db.execute("SELECT number FROM chunks")}


def _drop(db: sqlite3.Connection, numbers: set[int]) -> None:
    rows = ((number,) for number in sorted(numbers))
    db.executemany("DELETE FROM chunks WHERE number = ?", rows)


@dataclass(frozen=True, slots=True)
class PackedState:
    """A state as bytes, and its chunks."""

    blob: bytes
    chunks: ChunkWriter


class Checkpoints:
    """Packs and writes the states of a run's database. `newest`: the chunks of the generation that
    the crawl goes on from, `read_state` added to its `used`."""

    def __init__(self, db: sqlite3.Connection, newest: Kept) -> None:
        self._db = db
        self._newest = newest
        self._kept: set[int] | None = None
        """All chunks in the database; None before they were looked up."""

    def pack(self, state: State) -> PackedState:
        """The state, and what is to be written of it."""
        if self._kept is None:
            self._kept = _numbers(self._db)
        first = max(self._kept, default=0) + 1
        chunks = ChunkWriter(self._newest, first, FAST)
        return PackedState(pack(state, FAST, chunks), chunks)

    def write(
        self, time: float, requests: int, seq: int, settings: str, state: PackedState
    ) -> None:
        """Write a checkpoint into the present transaction; the last but one leaves, with the
        chunks that only it has. `seq`: of the last entry of the journal before it."""
        db = self._db
        db.execute(
            "INSERT INTO checkpoints (time, requests, seq, settings, state) VALUES (?, ?, ?, ?, ?)",
            (time, requests, seq, settings, state.blob),
        )
        newest = "SELECT max(generation) FROM checkpoints"
        db.execute(f"DELETE FROM checkpoints WHERE generation <= ({newest}) - 2")
        db.execute("DELETE FROM journal WHERE seq <= (SELECT min(seq) FROM checkpoints)")
        _drop(db, (self._kept or set()) - self._needed(state))
        db.executemany("INSERT INTO chunks VALUES (?, ?)", state.chunks.new)

    def written(self, state: PackedState) -> None:
        """The transaction of `write` was committed."""
        self._kept = self._needed(state)
        self._newest = state.chunks.used

    def _needed(self, state: PackedState) -> set[int]:
        """The chunks of this generation and of the one before it."""
        return {number for used in (self._newest, state.chunks.used) for number, _ in used.values()}
