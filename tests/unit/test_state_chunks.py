"""Long arrays of states in chunks: what goes in comes out, what is kept is not written again, and
whatever a stranger's chunks are, they are told or bounded."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoor.errors import InputError
from spoor.learn.state import pack, unpack
from spoor.learn.state_chunks import CHUNK, LONG, ChunkReader, ChunkWriter, Kept
from spoor.runs.checkpoints import Checkpoints, drop_unused_chunks, read_state
from spoor.runs.schema import TABLES

SMALL = np.arange(5)


def packed(
    state: dict[str, Any], kept: Kept | None = None, first: int = 1
) -> tuple[bytes, ChunkWriter]:
    chunks = ChunkWriter(kept or {}, first, 1)
    return pack(state, 1, chunks), chunks


def reader_of(frames: dict[int, Any]) -> ChunkReader:
    return ChunkReader(
        frames.get, sum(len(frame) for frame in frames.values() if isinstance(frame, bytes))
    )


def read(blob: bytes, frames: dict[int, bytes]) -> tuple[dict[str, Any], Kept]:
    reader = reader_of(frames)
    return unpack(blob, chunks=reader), reader.used


@given(
    st.sampled_from(["<f4", "<f8", "<i8", "<i4", "u1", "?", "<u2"]),
    st.integers(LONG, LONG + 3 * CHUNK),
    st.integers(1, 7),
    st.booleans(),
)
def test_what_goes_in_comes_out(kind: str, size: int, width: int, turned: bool) -> None:
    rows = size // (np.dtype(kind).itemsize * width)
    values = np.random.default_rng(size).integers(0, 2, (rows, width)).astype(kind)
    state = {"a": values.T if turned else values, "b": [{"c": values, "d": SMALL}], "e": "x"}
    blob, chunks = packed(state)
    back, used = read(blob, dict(chunks.new))
    for got in (back["a"].T if turned else back["a"], back["b"][0]["c"]):
        assert got.dtype == values.dtype
        assert np.array_equal(got, values)
        assert got.flags.writeable
    assert back["b"][0]["d"].tolist() == SMALL.tolist()
    assert back["e"] == "x"
    assert used == chunks.used


def test_only_what_changed_is_new() -> None:
    values = np.random.default_rng(0).integers(0, 1 << 60, 8 * CHUNK // 8)
    blob, first = packed({"a": values})
    assert [number for number, _ in first.new] == list(range(1, 9))
    again, second = packed({"a": values}, first.used, 9)
    assert again == blob
    assert not second.new
    changed = np.append(values, 7)
    changed[3 * CHUNK // 8] += 1
    later, third = packed({"a": changed}, first.used, 9)
    assert [number for number, _ in third.new] == [9, 10], "the changed one, and the last"
    kept = dict(first.new) | dict(third.new)
    assert np.array_equal(read(later, kept)[0]["a"], changed)
    assert np.array_equal(read(blob, kept)[0]["a"], values)


def test_zeros_without_end_are_read_again() -> None:
    """They are one chunk, so the state is padded to be no bomb."""
    zeros = np.zeros(50_000_000, np.uint8)
    blob, chunks = packed({"a": zeros})
    assert len(chunks.new) == 2
    assert read(blob, dict(chunks.new))[0]["a"].nbytes == zeros.nbytes


def test_zeros_before_what_is_hard_to_pack_are_read_again() -> None:
    """Together they are no bomb, so nothing is padded."""
    hard = np.random.default_rng(0).integers(0, 1 << 60, 1 << 17)
    blob, chunks = packed({"a": np.zeros(1 << 25, np.uint8), "b": hard})
    assert np.array_equal(read(blob, dict(chunks.new))[0]["b"], hard)


def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    zeros = np.zeros(LONG, np.uint8)
    _, chunks = packed({"a": zeros})
    ((number, frame),) = chunks.new
    (digest,) = chunks.used
    times = 1 << 20
    refs = np.empty((times, 3), np.int64)
    refs[:, 0], refs[:, 1:] = number, np.frombuffer(digest, np.int64)
    reader = reader_of({number: frame})
    reader.begin(1_000_000, 25_000_000)
    with pytest.raises(ValueError, match="too many bytes"):
        reader.array(np.dtype("u1"), (times * CHUNK,), refs)


@pytest.mark.parametrize(
    ("shape", "problem"),
    [([LONG + CHUNK], "another number of chunks"), ([-1, -LONG], "no shape"), ([1.5], "no shape")],
)
def test_a_shape_that_does_not_fit_is_told(shape: list[Any], problem: str) -> None:
    _, chunks = packed({"a": np.zeros(LONG, np.uint8)})
    rows = ChunkWriter(chunks.used, 9, 1).enter(np.zeros(LONG, np.uint8))
    with pytest.raises(ValueError, match=problem):
        reader_of(dict(chunks.new)).array(np.dtype("u1"), shape, rows)


@pytest.mark.parametrize("damage", [None, b"", b"nonsense", 7, "other"])
def test_a_damaged_chunk_is_told(damage: object) -> None:
    values = np.random.default_rng(0).integers(0, 1 << 60, LONG // 8)
    blob, chunks = packed({"a": values})
    frames: dict[int, Any] = dict(chunks.new)
    frames[2] = frames[1] if damage == "other" else damage
    with pytest.raises(InputError, match=r"a run: damaged \(.*"):
        unpack(blob, source="a run", chunks=reader_of(frames))
    with pytest.raises(InputError, match="format version 2"):
        unpack(blob)


def test_two_generations_have_their_chunks_and_nothing_else_stays() -> None:
    rng = np.random.default_rng(0)
    values = rng.integers(0, 1 << 60, 20 * CHUNK // 8)
    states = []
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(TABLES)
        checkpoints = Checkpoints(db, {})
        for seq in range(12):
            if seq % 4 == 3:  # another process goes on from the newest
                used: Kept = {}
                (blob,) = db.execute(f"{_NEWEST} LIMIT 1").fetchone()
                read_state(db, blob, "it", used)
                checkpoints = Checkpoints(db, used)
            values = np.append(values, rng.integers(0, 1 << 60, 300))
            values[rng.integers(len(values))] = seq
            states.append(values)
            before = db.execute("SELECT count(*) FROM chunks").fetchone()[0]
            written = checkpoints.pack({"a": values})
            if seq == 5:  # the transaction fails, and the same is tried once more
                checkpoints.write(0.0, 0, seq, "{}", written)
                db.rollback()
                assert db.execute("SELECT count(*) FROM chunks").fetchone()[0] == before
            with db:
                checkpoints.write(0.0, 0, seq, "{}", written)
            checkpoints.written(written)
            assert seq == 0 or len(written.chunks.new) <= 4
            blobs = [blob for (blob,) in db.execute(_NEWEST)]
            needed = set[int]()
            for blob, expected in zip(blobs, reversed(states), strict=False):
                used = {}
                assert np.array_equal(read_state(db, blob, "it", used)["a"], expected)
                needed |= {number for number, _ in used.values()}
            assert len(blobs) == min(2, seq + 1)
            assert needed == {number for (number,) in db.execute("SELECT number FROM chunks")}
        db.execute("DELETE FROM checkpoints WHERE generation < 12")
        drop_unused_chunks(db, "it")
        left = db.execute("SELECT count(*) FROM chunks").fetchone()[0]
        assert left == len(written.chunks.used)
        assert np.array_equal(read_state(db, blobs[0], "it")["a"], states[-1])


_NEWEST = "SELECT state FROM checkpoints ORDER BY generation DESC"
