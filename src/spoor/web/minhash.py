"""MinHash sketches (Broder 1997): their equal hashes tell how alike two sets are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from spoor.hashing import hash64

_AT_ONCE = 2_048
"""Features whose hashes are permuted at once: their memory is bounded."""


class MinHasher:
    """Sketches of sets of texts: `size` hashes, the same in every process, and then `keyed` hashes
    that only who knows the `key` can reckon.

    A permutation is h -> a h + b modulo 2^64 with an odd a, of a feature's hash h. It has 64 bits
    that nobody can choose: else a text could be made that has the sketch of another one, and not a
    word of it. With the few features of a large set that have its least hashes, a small set has the
    same `size` hashes; its keyed ones are others.
    """

    def __init__(self, size: int, *, keyed: int = 0, key: bytes = b"") -> None:
        fixed = np.random.RandomState(1)
        odd = fixed.randint(0, 1 << 63, size, dtype=np.uint64)
        shift = fixed.randint(0, 1 << 63, size, dtype=np.uint64)
        more = np.random.default_rng(int.from_bytes(key)).integers(
            0, 1 << 63, (2, keyed), dtype=np.uint64
        )
        self._odd = np.append(odd, more[0]) * np.uint64(2) + np.uint64(1)
        self._shift = np.append(shift, more[1]) * np.uint64(2)

    def sketch(self, features: Iterable[str]) -> NDArray[np.uint64]:
        """Shape (`size` + `keyed`,). O(features × hashes)."""
        hashes = np.fromiter(map(hash64, features), np.uint64)
        least = np.full(len(self._odd), 0xFFFFFFFFFFFFFFFF, np.uint64)
        for begin in range(0, len(hashes), _AT_ONCE):
            some = hashes[begin : begin + _AT_ONCE, None] * self._odd + self._shift
            np.minimum(least, some.min(axis=0), out=least)
        return least


def triples(words: Sequence[str]) -> set[str]:
    """Every three words that follow one another."""
    return set(map(" ".join, zip(words, words[1:], words[2:], strict=False)))
