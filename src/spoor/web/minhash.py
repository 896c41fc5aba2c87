"""MinHash sketches (Broder 1997): their equal hashes tell how alike two sets are."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np


class MinHasher:
    """Sketches of sets of byte strings, of `size` hashes each, the same in every process."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._permutations: Any = None

    def sketch(self, features: Iterable[bytes]) -> np.ndarray[Any, np.dtype[np.uint32]]:
        """Shape (`size`,). O(features × size)."""
        # It takes a third of a second to import.
        from datasketch import MinHash  # type: ignore[import-untyped]  # it has no marker

        made = MinHash(
            num_perm=self._size,
            hashfunc=zlib.crc32,
            permutations=self._permutations,
            scheme="affine32",
        )
        self._permutations = made.permutations
        made.update_batch(features)
        return np.asarray(made.hashvalues, dtype=np.uint32)


def triples(words: Sequence[bytes]) -> set[bytes]:
    """Every three words that follow one another."""
    return set(map(b" ".join, zip(words, words[1:], words[2:], strict=False)))
