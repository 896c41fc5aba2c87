"""MinHash sketches (Broder 1997): their equal hashes tell how alike two sets are."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

_AT_ONCE = 2_048
"""Features whose hashes are permuted at once: their memory is bounded."""


class MinHasher:
    """Sketches of sets of byte strings, of `size` hashes each, the same in every process.

    A permutation is h -> a h + b modulo 2^32 with an odd a, of a feature's checksum h that the
    last step of MurmurHash3 has mixed.
    """

    def __init__(self, size: int) -> None:
        # Sketches are kept in runs: these numbers are part of their format.
        numbers = np.random.RandomState(1)
        self._odd = numbers.randint(0, 1 << 31, size, dtype=np.uint32) * np.uint32(2) + np.uint32(1)
        self._shift = numbers.randint(0, 1 << 32, size, dtype=np.uint32)

    def sketch(self, features: Iterable[bytes]) -> NDArray[np.uint32]:
        """Shape (`size`,). O(features × size)."""
        mixed = _mixed(np.array([zlib.crc32(feature) for feature in features], np.uint32))
        least = np.full(len(self._odd), 0xFFFFFFFF, np.uint32)
        for begin in range(0, len(mixed), _AT_ONCE):
            some = mixed[begin : begin + _AT_ONCE, None] * self._odd + self._shift
            np.minimum(least, some.min(axis=0), out=least)
        return least


def _mixed(hashes: NDArray[np.uint32]) -> NDArray[np.uint32]:
    hashes = (hashes ^ (hashes >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    hashes = (hashes ^ (hashes >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return hashes ^ (hashes >> np.uint32(16))


def triples(words: Sequence[bytes]) -> set[bytes]:
    """Every three words that follow one another."""
    return set(map(b" ".join, zip(words, words[1:], words[2:], strict=False)))
