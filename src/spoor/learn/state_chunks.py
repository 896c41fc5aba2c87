"""Long arrays of a state in chunks, so that a state which is written often costs what changed.

Where the state has a long array, a state packed so has the numbers and digests of its chunks. These
are kept beside it, each once, and one that is kept already is not compressed and written again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from spoor.compression import MOST_BYTES, MOST_RATIO, compressor, least_bytes, packed, unpacked

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHUNK = 1 << 14
"""Bytes of an array that are kept together."""
LONG = 4 * CHUNK
"""Bytes from which an array is kept in chunks."""

_DIGEST = 16

Kept = dict[bytes, tuple[int, int]]
"""Digest of a chunk → its number, and the bytes that it takes where it is kept."""


class ChunkWriter:
    """The chunks of one state. `kept`: those that need not be written, with numbers from 1 on and
    below `first`. Hashes 1.2 GB/s, and compresses what is new."""

    def __init__(self, kept: Mapping[bytes, tuple[int, int]], first: int, level: int) -> None:
        self.used: Kept = {}
        self.new: list[tuple[int, bytes]] = []
        """Number and frame of each chunk that is to be kept now."""
        self._kept = kept
        self._first = first
        self._compressor = compressor(level)
        self._size = 0

    def __bool__(self) -> bool:
        """Whether it has a chunk."""
        return bool(self.used)

    def enter(self, array: NDArray[Any]) -> NDArray[np.int64] | None:
        """Number and digest of each of its chunks, (chunks, 3); None for an array that is not
        long, not in C order, or of records."""
        if array.nbytes < LONG or not array.flags.c_contiguous or array.dtype.names:
            return None
        places: list[int] = []
        digests: list[bytes] = []
        for chunk in _chunks(array):
            digest = hashlib.sha256(chunk).digest()[:_DIGEST]
            known = self.used.get(digest) or self._kept.get(digest)
            if known is None:
                frame, number = packed(chunk, self._compressor), self._first + len(self.new)
                self.new.append((number, frame))
                known = number, len(frame)
            self.used[digest] = known
            places.append(known[0])
            digests.append(digest)
        self._size += array.nbytes
        rows = np.empty((len(places), 3), np.int64)
        rows[:, 0] = places
        rows[:, 1:] = np.frombuffer(b"".join(digests), np.int64).reshape(-1, 2)
        return rows

    def least(self, size: int) -> int:
        """The fewest bytes that a frame may have which has `size` bytes beside the chunks."""
        return least_bytes(size + self._size) - sum(length for _, length in self.used.values())


def _chunks(array: NDArray[Any]) -> Iterator[memoryview]:
    data = array.reshape(-1).view(np.uint8).data
    for start in range(0, len(data), CHUNK):
        yield data[start : start + CHUNK]


class ChunkReader:
    """Puts arrays together. `frame`: number of a chunk → as it is kept, or None; `size`: bytes of
    all chunks that are kept. What a state unpacks to is bounded by the bytes that it and they take,
    as in `spoor.compression`, in whatever order its arrays come."""

    def __init__(self, frame: Callable[[int], object], size: int) -> None:
        self.used: Kept = {}
        self._frame = frame
        self._room = MOST_BYTES + MOST_RATIO * size

    def begin(self, frame: int, content: int) -> None:
        """The state has so many bytes, and unpacked so many."""
        self._room += MOST_RATIO * frame - content

    def array(self, kind: np.dtype[Any], shape: Sequence[Any], chunks: Any) -> NDArray[Any]:
        """The array that `ChunkWriter.enter` was given. Raises ValueError where it is not whole, or
        too large for its chunks."""
        if not all(isinstance(side, int) and side >= 0 for side in shape):
            raise ValueError("an array has no shape")
        size = prod(shape) * kind.itemsize
        if not size:  # as it is written, it is in no chunk
            raise ValueError("an array holds nothing")
        if chunks.dtype != np.int64 or chunks.shape != (-(-size // CHUNK), 3):
            raise ValueError("an array has another number of chunks than it is long")
        data = bytearray()
        digests = np.ascontiguousarray(chunks[:, 1:]).tobytes()
        for place, number in enumerate(chunks[:, 0].tolist()):
            digest = digests[_DIGEST * place : _DIGEST * (place + 1)]
            data += self._chunk(number, digest, min(CHUNK, size - len(data)))
        return np.frombuffer(data, kind).reshape(shape)

    def _chunk(self, number: int, digest: bytes, size: int) -> bytes:
        frame = self._frame(number)
        if not isinstance(frame, bytes):
            raise ValueError(f"chunk {number} is missing")
        self.used.setdefault(digest, (number, len(frame)))
        self._room -= size
        if self._room < 0:
            raise ValueError("its arrays unpack to too many bytes")
        data = unpacked(frame, size)
        if len(data) != size or hashlib.sha256(data).digest()[:_DIGEST] != digest:
            raise ValueError(f"chunk {number} does not fit its digest")
        return data
