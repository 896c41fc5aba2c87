"""The arrays of a frontier on disk: their chunks with digests, and the lists of open links."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Iterator, Mapping, MutableSequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Column: TypeAlias = "array[Any] | bytearray"
"""One array of the frontier, with an entry for each link or host."""

CHUNK = 1 << 14
"""Bytes of an array that are written together."""


@dataclass(frozen=True, slots=True)
class ArrayDigests:
    """The digests of all arrays of a frontier."""

    table: str
    """JSON: array → [bytes, digest of its chunks' digests]."""
    chunks: Mapping[str, list[bytes]]
    """Array → digests of its chunks."""
    changed: set[tuple[str, int]]
    """(array, index) of each chunk that differs from the last saved one."""


def digests_of(
    columns: Mapping[str, Column], known: Mapping[str, list[bytes]], dropped: Mapping[str, int]
) -> ArrayDigests:
    """The digests of `columns`. `known`: array → digests of its chunks when last saved; `dropped`:
    array → number of its first chunks that are on disk only."""
    table, chunks = {}, {}
    changed = set()
    for name, column in columns.items():
        first = dropped.get(name, 0)
        before = known.get(name, [])
        digests = before[:first]
        for index, chunk in chunks_of(column, first):
            digests.append(digest_of(chunk))
            if index >= len(before) or digests[index] != before[index]:
                changed.add((name, index))
        with memoryview(column) as data:
            size = data.nbytes + first * CHUNK
        table[name] = (size, digest_of(b"".join(digests)).hex())
        chunks[name] = digests
    return ArrayDigests(json.dumps(table), chunks, changed)


def chunks_of(column: Column, first: int) -> Iterator[tuple[int, bytes]]:
    """(index, bytes) of the chunks of an array; the first has the index `first`."""
    with memoryview(column) as view, view.cast("B") as data:
        for index, start in enumerate(range(0, len(data), CHUNK), first):
            yield index, bytes(data[start : start + CHUNK])


def digest_of(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def table_digest(table: str) -> str:
    """The digest of all arrays, from the table of their digests."""
    return digest_of(table.encode()).hex()


def as_array(numbers: MutableSequence[int]) -> array[int]:
    assert isinstance(numbers, array)
    return numbers


def open_positions(opened: NDArray[np.int32], count: int) -> array[int]:
    """Link → its index in the list `opened`, of `count` links in all."""
    positions = array("i", bytes(4 * count))
    np.frombuffer(positions, dtype="i4")[opened] = np.arange(len(opened), dtype="i4")
    return positions


def open_by_host(
    opened: NDArray[np.int32],
    hosts: NDArray[np.int32],
    host_positions: NDArray[np.int32],
    host_count: int,
) -> list[array[int]]:
    """The list of open links of each of `host_count` hosts. `hosts`: link → host;
    `host_positions`: link → its index in the list of its host."""
    hosts_opened = hosts[opened]
    counts = np.bincount(hosts_opened, minlength=host_count)
    ends = np.cumsum(counts)
    starts = ends - counts
    places = starts.astype("i4")[hosts_opened]
    places += host_positions[opened]
    listed = np.empty(len(opened), dtype="i4")
    listed[places] = opened
    return [
        array("i", listed[start:end].tobytes())
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
