"""How many links are requested at once while a crawl knows little: a slow start, as in TCP.

Links that are chosen while others are in flight are chosen without what these would have taught.
Later that matters little; in the beginning it is all that there is to learn: sixteen links from one
page to sixteen hosts were requested at once, before the first of their pages was seen. So a crawl
begins with one request in flight, and one more is allowed for each `ANSWERS` requests that ended.
The same follows for bandits whose rewards come late: the regret grows with the number of choices in
flight, so batches may grow with what is known (Joulani, György and Szepesvári 2013).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from spoor.types import LinkId

ANSWERS = 8
"""Requests that end for each further one in flight."""
LATE = 1.0
"""Seconds after which a request counts as ended: a host that does not answer teaches nothing, and
is not waited for. Each allows one more, so that mute hosts delay the rest for a few seconds."""


class SlowStart:
    """Which of the links that a policy chose may be requested now.

    `depth`: how far a link is from a seed; seeds are no choices, and are not held back. `ended`:
    requests of the crawl that ended before. Pure: times are seconds by any clock that never goes
    back. A call takes O(requests in flight) until `limit` are allowed at once, then O(1).
    """

    def __init__(self, limit: int, depth: Callable[[LinkId], int], ended: int = 0) -> None:
        self._limit = limit
        self._depth = depth
        self._ended = ended
        self._late = 0
        self._since: dict[int, float] = {}
        """Ticket → when it began, of requests that are waited for."""

    @property
    def _allowed(self) -> int:
        return 1 + self._ended // ANSWERS + self._late

    @property
    def over(self) -> bool:
        """Whether nothing is held back any more."""
        return self._allowed >= self._limit

    def concerns(self, link: LinkId) -> bool:
        """Whether this link counts. Call it where the crawl may be read."""
        return not self.over and self._depth(link) > 0

    def begin(self, ticket: int, now: float) -> None:
        """A link that counts is in flight from now on."""
        self._since[ticket] = now

    def end(self, ticket: int) -> None:
        """A request is no longer in flight."""
        self._ended += 1
        self._since.pop(ticket, None)

    def free(self, now: float) -> float:
        """How many requests may begin; infinite once the start is over."""
        late = [ticket for ticket, since in self._since.items() if now - since >= LATE]
        for ticket in late:
            del self._since[ticket]
        self._late += len(late)
        return math.inf if self.over else max(0, self._allowed - len(self._since))

    def next_change(self) -> float:
        """When to call again if nothing happens before; infinite for never."""
        return math.inf if self.over else min(self._since.values(), default=math.inf) + LATE
