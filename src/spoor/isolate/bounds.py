"""What one document may take of a helper process."""

from __future__ import annotations

from typing import NamedTuple

SECONDS = 1.0
"""Processor time that one document may take."""

MEMORY = 64 << 20
PER_BYTE = 20
"""Memory that a document may take: `MEMORY` bytes, plus `PER_BYTE` for each of its own."""


class Bounds(NamedTuple):
    """What one document may take."""

    seconds: float = SECONDS
    memory: int = MEMORY
    per_byte: int = PER_BYTE

    def room(self, size: int, times: float) -> int:
        """Bytes of memory for a document of this size, with `times` these limits."""
        return int(times * (self.memory + self.per_byte * size))


PAGE = Bounds()
"""Of HTML."""

DOCUMENT = Bounds(8.0, 128 << 20, 8)
"""Of any other kind of document."""
