"""What the documents of one pass over a run may cost, where the run may come from a stranger, or
from a site that makes its pages cost: bytes that they unpack to, and processor time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from spoor.errors import InputError
from spoor.isolate.bounds import DOCUMENT

MOST_AGAIN, MOST_AGAIN_RATIO = 64 << 20, 200
"""Bytes that records which were read before may unpack to, and times the size of the archive: any
number of rows of a stranger's run may name one record that is small and unpacks to 16 MiB. A record
that is read for the first time is free, since it has bytes of its own in the archive."""

SPARE = 60.0
"""Seconds that documents may take together beyond what their bytes give them."""
PER_BYTE = 20.0 / (1 << 20)
"""Seconds that a document has for each of its bytes in the archive. Ordinary pages take a twentieth
of it; what takes more is small and unpacks to much, or was made to cost."""
LEAST = 0.25
"""Seconds that any document has."""


class PassCosts:
    """What the documents of one pass have cost so far, of a pass that may take `spare` seconds
    beyond what their bytes give them. `in_order`: it reads them as they stand in the archive; else
    none is told to be read again, and there are few of them."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        *,
        spare: float = SPARE,
        in_order: bool = True,
    ) -> None:
        self._clock = clock
        self._in_order = in_order
        self._left = MOST_AGAIN
        self._ends: dict[Path, int] = {}
        """File → up to where its records were read."""
        self._spare = spare
        self._ahead = 0.0
        """Seconds that documents which are read ahead may take."""

    def unpacked(self, file: Path, offset: int, length: int, size: int) -> None:
        """`length` bytes at an offset of a file gave a body of so many bytes. Raises InputError
        where what was read before is read again, and that is too much."""
        if not self._in_order:
            return
        if file not in self._ends:
            self._ends[file] = 0
            self._left += MOST_AGAIN_RATIO * file.stat().st_size
        if offset >= self._ends[file]:
            self._ends[file] = offset + length
            return
        self._left -= size
        if self._left < 0 or self._spare <= 0:
            raise InputError(
                f"{file.parent}: its pages are one document again and again, which takes long, or "
                f"unpacks to more than {MOST_AGAIN_RATIO} times what its archive has; it is "
                "damaged, or made to cost; spoor show reads single ones"
            )

    @property
    def is_spent(self) -> bool:
        """Whether documents have only what their bytes give them."""
        return self._spare <= 0

    def seconds(self, length: int) -> float:
        """Seconds of processor time that a document of so many archived bytes may take."""
        if self._spare > 0:
            return DOCUMENT.seconds
        return min(DOCUMENT.seconds, max(LEAST, PER_BYTE * length))

    def begin_ahead(self, seconds: float) -> bool:
        """Whether one more document may be read ahead, beside others that are, and take so many
        seconds. Each has to be ended."""
        if self._spare < self._ahead + seconds:
            return False
        self._ahead += seconds
        return True

    def end_ahead(self, length: int, seconds: float, took: float) -> None:
        """A document of so many archived bytes, which might take `seconds`, took so many."""
        self._ahead -= seconds
        self._spare += PER_BYTE * length - took

    @contextmanager
    def reading(self, length: int) -> Iterator[None]:
        """Within it, a document of so many archived bytes is read."""
        began = self._clock()
        try:
            yield
        finally:
            self._spare += PER_BYTE * length - (self._clock() - began)
