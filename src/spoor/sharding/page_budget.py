"""The budget of a crawl that is split: pages are lent to shards, and never more than there are.

Nothing here is durable, and nothing has to be: what a shard was lent is part of its own state, and
the shards report to a new budget of pages what they hold.
"""

from __future__ import annotations

from dataclasses import dataclass

LEASE = 8
"""Fewest pages that are lent at a time, while there are as many."""


@dataclass(slots=True)
class _Account:
    held: int
    """Pages that the shard may count on: the more of what it reported and what it was offered."""
    reported: int
    """Pages lent, as the shard reports it."""
    used: int
    """Pages fetched or in flight."""
    wants_more: bool
    """Has links that it could ask for."""


class PageBudget:
    """Of `budget` pages among `shards`. The grants of all shards together never exceed it.

    With `ceiling`, what is lent and not used stays below so many pages (but one each), so that a
    crawl that ends by what it finds does not run far beyond.
    """

    def __init__(self, budget: int, shards: int) -> None:
        self.budget = budget
        self.ceiling: int | None = None
        self._shards = shards
        self._accounts: dict[int, _Account] = {}

    def report(self, shard: int, *, grant: int, used: int, wants_more: bool) -> None:
        """A shard reports: pages lent to it as far as it knows, used, and whether it wants more.

        Comes after each `offer` to it, which it then knows of.
        """
        self._accounts[shard] = _Account(grant, grant, used, wants_more)

    def offer(self, shard: int) -> int:
        """What a shard may use from now on, in all; no fewer than it has used. It may use nothing
        before its first offer.

        Raises KeyError for one that never reported.
        """
        account = self._accounts[shard]
        free = self._free()
        over = sum(one.held for one in self._accounts.values()) - self.budget
        if over > 0:  # an earlier budget was larger
            most = account.reported - over
            if self.ceiling is not None:
                most = min(most, account.used + max(1, self.ceiling // self._shards))
            return max(account.used, most)
        spare = account.reported - account.used
        others = any(
            other.wants_more for number, other in self._accounts.items() if number != shard
        )
        if account.wants_more:
            lease = max(LEASE, free // (4 * self._shards))
            if self.ceiling is not None:
                out = sum(max(0, one.held - one.used) for one in self._accounts.values())
                if out > self.ceiling and spare > 1:
                    return max(account.used + 1, account.reported - (out - self.ceiling))
                lease = min(lease, max(1, self.ceiling // self._shards), self.ceiling - out)
                lease = max(lease, 0 if spare > 0 else 1)
            # What is left is shared among all who still have work, down to the last page.
            missing = max(0, account.used + lease - account.reported)
            if missing <= free:
                account.held = max(account.held, account.reported + missing)
                return account.reported + missing
            account.held = max(account.held, account.reported + free)
            return account.reported + free
        # What lies idle goes back as soon as anybody else could use it.
        return account.used if spare > 0 and others else account.reported

    def _free(self) -> int:
        """Pages that nobody holds; a shard that never reported may hold any."""
        if len(self._accounts) < self._shards:
            return 0
        return max(0, self.budget - sum(account.held for account in self._accounts.values()))

    @property
    def used(self) -> int:
        """Pages fetched or in flight, as reported."""
        return sum(account.used for account in self._accounts.values())
