"""How many bytes all bodies in flight may have together."""

from __future__ import annotations

import asyncio

MOST = 256 << 20
"""Bytes."""


class BodyRoom:
    """Bodies grow as they come, until all of them together have over `most` bytes, by default
    `MOST`. Then those with more than their share wait, but for one, the smallest at that time,
    which is brought to its end; so small pages never wait, and there are `most` bytes and one body
    at most. In one event loop.
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = MOST if most is None else most
        self._sizes: dict[int, int] = {}
        self._total = 0
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._first: int | None = None
        """The body that need not wait."""

    def grow(self, body: int, size: int) -> bool:
        """A body has so many bytes more; whether it has to `wait` before it grows again."""
        self._sizes[body] = self._sizes.get(body, 0) + size
        self._total += size
        return self._is_over(body)

    def _is_over(self, body: int) -> bool:
        if self._total <= self._most or body == self._first:
            return False
        return self._sizes.get(body, 0) * len(self._sizes) > self._most

    async def wait(self, body: int, seconds: float) -> None:
        """Wait until there is room for more of a body. Raises TimeoutError."""
        async with asyncio.timeout(seconds):
            while self._is_over(body):
                if self._first is None:
                    waiting = [*self._waiting, body]
                    self._first = min(waiting, key=lambda one: self._sizes.get(one, 0))
                    self._wake()
                    continue
                self._waiting[body] = future = asyncio.get_running_loop().create_future()
                try:
                    await future
                finally:
                    self._waiting.pop(body, None)

    def leave(self, body: int) -> None:
        """Nothing of a body is kept any more."""
        self._total -= self._sizes.pop(body, 0)
        if self._first == body:
            self._first = None
        self._wake()

    def _wake(self) -> None:
        for future in self._waiting.values():
            if not future.done():
                future.set_result(None)
