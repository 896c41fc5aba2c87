"""Messages between this process and a helper: eight bytes for the size, then as many bytes."""

from __future__ import annotations

import os
import sys
import time
from select import POLLIN, poll
from typing import IO

_PIECE = 1 << 20


def send(pipe: IO[bytes], data: bytes) -> None:
    pipe.write(len(data).to_bytes(8, "little") + data)
    pipe.flush()


def receive(pipe: IO[bytes], deadline: float | None, most: int = sys.maxsize) -> bytes:
    """The next message. Raises EOFError where there is none, or one of more than `most` bytes, and
    TimeoutError where none is whole by the deadline (monotonic time)."""
    size = int.from_bytes(_read(pipe, 8, deadline), "little")
    if size > most:
        raise EOFError
    return _read(pipe, size, deadline)


def _read(pipe: IO[bytes], size: int, deadline: float | None) -> bytes:
    data = bytearray()
    coming = poll()  # `select` takes no descriptor above 1,023, and a crawl of many hosts has more
    coming.register(pipe, POLLIN)
    while len(data) < size:
        if deadline is not None:
            left = max(0.0, deadline - time.monotonic())
            if not coming.poll(1000 * left):
                raise TimeoutError
        piece = os.read(pipe.fileno(), min(size - len(data), _PIECE))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)
