"""What the tests have a helper process run, beside parsers: each helper imports this module."""

from __future__ import annotations

import os
from typing import Any


def loops(body: bytes) -> None:
    while True:
        pass


def ends(body: bytes) -> None:
    os._exit(1)


def fills(body: bytes) -> str:
    return "x" * (1 << 30)


def says(body: bytes, **facts: Any) -> str:
    """As many characters as there are bytes, whatever was asked."""
    return "x" * len(body)


def counts(body: bytes) -> list[int]:
    """So many numbers."""
    return [1] * int(body)


KEPT: list[bytearray] = []


def leaves(body: bytes) -> int:
    """As a library that keeps what it read; returns the process."""
    KEPT.append(bytearray(len(body) << 10))
    return os.getpid()


def holding(body: bytes) -> int:
    """Leaves 4 MB that hold themselves; returns the bytes of memory before."""
    with open("/proc/self/statm", encoding="ascii") as told:
        before = 4096 * int(told.read().split()[1])
    held: list[Any] = [bytes(range(256)) * (4 << 12)]
    held.append(held)
    return before
