"""The budget of a crawl that is split: pages are lent to shards, and never more than there are.

Nothing here is durable, and nothing has to be: what a shard was lent is part of its own state, and
a new budget of pages is told by the shards what they hold.
"""

from __future__ import annotations

from dataclasses import dataclass

LEASE = 8
"""Fewest pages that are lent at a time, while there are as many."""


@dataclass(slots=True)
class _Account:
    held: int
    """Pages that the shard may count on, by the last word from it or to it, whichever is more."""
    said: int
    """Pages lent, as the shard said."""
    used: int
    """Pages fetched or in flight."""
    hungry: bool
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

    def told(self, shard: int, *, grant: int, used: int, hungry: bool) -> None:
        """What a shard says: pages lent to it as far as it knows, used, and whether it wants more.

        Comes after each `offer` to it, which it then knows of.
        """
        self._accounts[shard] = _Account(grant, grant, used, hungry)

    def offer(self, shard: int) -> int:
        """What a shard may use from now on, in all; no fewer than it has used. It may use nothing
        before its first offer.

        Raises KeyError for one that was never heard of.
        """
        account = self._accounts[shard]
        free = self._free()
        over = sum(one.held for one in self._accounts.values()) - self.budget
        if over > 0:  # an earlier budget was larger
            most = account.said - over
            if self.ceiling is not None:
                most = min(most, account.used + max(1, self.ceiling // self._shards))
            return max(account.used, most)
        spare = account.said - account.used
        others = any(other.hungry for at, other in self._accounts.items() if at != shard)
        if account.hungry:
            lease = max(LEASE, free // (4 * self._shards))
            if self.ceiling is not None:
                out = sum(max(0, one.held - one.used) for one in self._accounts.values())
                if out > self.ceiling and spare > 1:
                    return max(account.used + 1, account.said - (out - self.ceiling))
                lease = min(lease, max(1, self.ceiling // self._shards), self.ceiling - out)
                lease = max(lease, 0 if spare > 0 else 1)
            # What is left is shared among all who still have work, down to the last page.
            wanted = max(0, account.used + lease - account.said)
            if wanted <= free:
                account.held = max(account.held, account.said + wanted)
                return account.said + wanted
            account.held = max(account.held, account.said + free)
            return account.said + free
        # What lies idle goes back as soon as anybody else could use it.
        return account.used if spare > 0 and others else account.said

    def _free(self) -> int:
        """Pages that nobody holds; a shard that was never heard of may hold any."""
        if len(self._accounts) < self._shards:
            return 0
        return max(0, self.budget - sum(account.held for account in self._accounts.values()))

    @property
    def used(self) -> int:
        """Pages fetched or in flight, as far as was told."""
        return sum(account.used for account in self._accounts.values())
