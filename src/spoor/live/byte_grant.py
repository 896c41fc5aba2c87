"""Bytes of the documents that a process has received, and how many a shard may receive."""

from __future__ import annotations

from spoor.types import Fetched, LiveReply


class ByteGrant:
    """`used`: bytes that the run received before; `limited`: whether the process is a shard whose
    coordinator grants it parts of the budget."""

    def __init__(self, used: int, *, limited: bool) -> None:
        self.used = used
        self._granted = used if limited else None
        self._wanted = 0
        """Bytes of the reply that waits for a larger grant."""

    def extend(self, granted: int) -> None:
        """Set how many bytes the shard may receive in all."""
        self._granted = granted

    def admits(self, reply: LiveReply) -> bool:
        """Whether there is room for a reply; always, if the process is not limited."""
        self._wanted = 0
        if self._granted is None or not isinstance(reply, Fetched) or not reply.size:
            return True
        if self.used + reply.size <= self._granted:
            return True
        self._wanted = reply.size
        return False

    def report(self) -> dict[str, int]:
        """What a shard reports of its share of the budget."""
        return {
            "grant": max(self._granted or 0, self.used),
            "used": self.used,
            "wanted": self._wanted,
        }
