"""A linear model over hashed character n-grams, for URLs and link texts without splitting words."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from spoor.columns import pieces_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spoor.types import State

    Row = NDArray[np.int32]
    """Numbers of the features that a row has, ascending."""


def grams(text: str, shortest: int, longest: int, *, mark: str = "") -> set[int]:
    """Hashes, below 2^32, of all n-grams of the bytes of a text; `mark` keeps fields apart."""
    data = text.encode("utf-8", "surrogatepass")
    start = zlib.crc32(mark.encode())
    return {
        zlib.crc32(data[begin : begin + n], start)
        for n in range(shortest, longest + 1)
        for begin in range(len(data) - n + 1)
    }


def logistic(odds: float) -> float:
    """1 / (1 + exp(−odds)), without overflow."""
    return 1.0 / (1.0 + math.exp(-max(-50.0, min(50.0, odds))))


class HashedLinear:
    """x · w, where x has length 1 and is the same at every feature of a row.

    `bits`: 2^bits weights, 8 bytes each.
    """

    def __init__(self, bits: int) -> None:
        self._mask = (1 << bits) - 1
        self.w = np.zeros(1 << bits)

    def row(self, hashes: set[int]) -> Row:
        """The row of these features; two that share a weight count once."""
        return np.array(sorted({value & self._mask for value in hashes}), dtype=np.int32)

    def value(self, row: Row) -> float:
        """x · w; 0 for a row without features."""
        return float(self.w[row].sum()) / len(row) ** 0.5 if len(row) else 0.0

    def values(self, rows: Sequence[Row]) -> NDArray[np.float64]:
        """x · w of many rows, (len(rows),)."""
        lengths = np.array([len(row) for row in rows])
        total = np.zeros(len(rows))
        some = lengths > 0
        if some.any():
            starts = np.concatenate([[0], np.cumsum(lengths[some])[:-1]])
            gathered = self.w[np.concatenate(rows)]
            total[some] = np.add.reduceat(gathered, starts) / np.sqrt(lengths[some])
        return total

    def step(self, row: Row, amount: float) -> None:
        """w ← w + amount · x."""
        if len(row):
            self.w[row] += amount / len(row) ** 0.5

    def save(self) -> State:
        """Only the weights that are not 0."""
        held = np.flatnonzero(self.w != 0.0)
        return {"at": held, "w": self.w[held]}

    def load(self, state: State) -> None:
        self.w[:] = 0.0
        self.w[state["at"]] = state["w"]


def join(rows: Iterable[Row]) -> State:
    """Rows as two arrays, for a state."""
    rows = list(rows)
    lengths = np.array([len(row) for row in rows], dtype=np.int32)
    return {"lengths": lengths, "at": np.concatenate([*rows, np.zeros(0, dtype=np.int32)])}


def split(state: State) -> list[Row]:
    """The rows that `join` was given."""
    return [*pieces_of(state["at"], state["lengths"])]
