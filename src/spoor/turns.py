"""Waiting for a turn at something that many share: a helper process, or a browser."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class CrowdedError(Exception):
    """What is not done now, since others wait."""


class Waiting(Generic[T]):
    """Those that wait, in the order in which they came. Each is told from the others by its
    identity. Whoever uses this says whose turn it is."""

    def __init__(self) -> None:
        self._begins: dict[T, asyncio.Future[None]] = {}

    def __iter__(self) -> Iterator[T]:
        return iter([one for one, begin in self._begins.items() if not begin.done()])

    async def turn(self, one: T, entered: Callable[[], None], back: Callable[[], None]) -> None:
        """Wait for the turn of `one`. `entered` is called once it waits, and may let it begin;
        `back` where it began and was cancelled before it could know. Raises what it is refused
        with."""
        begin = self._begins[one] = asyncio.get_running_loop().create_future()
        try:
            entered()
            await begin
        except asyncio.CancelledError:
            if not begin.cancelled() and begin.exception() is None:
                back()
            raise
        finally:
            self._begins.pop(one, None)

    def begin(self, one: T) -> None:
        """It is the turn of one that waits."""
        self._begins.pop(one).set_result(None)

    def refuse(self, one: T, why: type[Exception]) -> None:
        """One that waits has no turn."""
        self._begins.pop(one).set_exception(why)
