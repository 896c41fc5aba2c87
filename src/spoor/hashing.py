"""Numbers that stand for texts, such that nobody can choose a text with the number of another.

A checksum such as CRC-32 protects against noise only: whoever chooses eleven letters of a URL
chooses its checksum. It suffices where nobody gains by a collision, as for columns of a model.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

KEY_SIZE = 16
"""Bytes of a key that nobody guesses."""


def hash64(text: str, key: bytes = b"") -> int:
    """64 bits of a text by BLAKE2b, in [0, 2^64), the same in every process. With a `key` (64 bytes
    at most), only those who know it can choose a text for a number. About 1 µs, plus 1 ns a
    byte."""
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8, key=key).digest(), "little")


@lru_cache(maxsize=8_192)
def url_hash64(url: str) -> int:
    """`hash64` of a URL, cached: most links of a page are on the page before, too."""
    return hash64(url)


def hashes64(texts: Iterable[str]) -> NDArray[np.uint64]:
    """`hash64` of each text, in half the time."""
    digests = [
        blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts
    ]
    return np.frombuffer(b"".join(digests), "<u8")
