"""Columns of a saved state: many values of one kind as one array, a slice at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice, pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

S = TypeVar("S", str, bytes, list[Any], NDArray[Any])

SLICE = 1_000
"""Items that are taken or encoded at a time; no other thread runs meanwhile."""


def column(values: Iterable[Any], count: int, dtype: Any) -> NDArray[Any]:
    """The array of `count` values."""
    rest, array = iter(values), np.empty(count, dtype=dtype)
    for at in range(0, count, SLICE):
        size = min(SLICE, count - at)
        array[at : at + size] = np.fromiter(islice(rest, size), dtype, size)
    return array


def texts_column(texts: Collection[str]) -> dict[str, NDArray[Any]]:
    """Texts as arrays: where some are added at the end, a checkpoint writes these alone, and JSON
    would have all of them once more. O(characters)."""
    letters = "".join(texts).encode("utf-8", "surrogatepass")
    sizes = column(map(len, texts), len(texts), np.uint32)
    return {"letters": np.frombuffer(letters, np.uint8), "sizes": sizes}


def texts_of(saved: Mapping[str, Any]) -> list[str]:
    """The texts that `texts_column` was given. Raises ValueError or TypeError for anything else."""
    letters = saved["letters"].tobytes().decode("utf-8", "surrogatepass")
    return [*pieces_of(letters, saved["sizes"])]


def pieces_of(values: S, sizes: Any) -> Iterator[S]:
    """The pieces that values were cut into. Raises ValueError at once, as `parts_of`. O(values)."""
    return (values[begin:end] for begin, end in parts_of(sizes, len(values)))


def parts_of(sizes: Any, total: int) -> Iterator[tuple[int, int]]:
    """Where each piece begins and ends of those that `total` values were cut into, by their sizes.
    Raises ValueError where sizes are none, or are of more or fewer values: by one that goes back
    each piece could have all values once more. O(pieces)."""
    its = np.asarray(sizes)
    if its.size and (its.ndim != 1 or its.dtype.kind not in "iu"):
        raise ValueError("sizes of pieces are no whole numbers")
    if its.size and (its.min() < 0 or its.max() > total):
        raise ValueError("sizes of pieces are none")
    ends = np.cumsum(its, dtype=np.uint64).tolist()
    if (ends[-1] if ends else 0) != total:
        raise ValueError("pieces are cut short")
    return pairwise([0, *ends])
