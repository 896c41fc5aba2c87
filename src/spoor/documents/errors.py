"""The error of a document that cannot be read."""

from __future__ import annotations

from spoor.types import Failed

_LONGEST = 2_000
"""Characters of a reason that a crawl keeps: what a helper says may be longer."""


class UnreadableError(Exception):
    """Why, in one line."""

    failure = "unreadable"
    """The kind of failure that it is to a crawl."""

    def failed(self, ticket: int = 0, status: int = 200, seconds: float = 0.0) -> Failed:
        """What it is to a crawl."""
        return Failed(ticket, self.failure, str(self)[:_LONGEST], status, seconds=seconds)
