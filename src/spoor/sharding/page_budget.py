"""The page budget of a crawl in shards: pages are lent to shards, never more than the budget has.

Nothing here needs to be durable: the pages lent to a shard are part of its own state, and the
shards report them to a new coordinator.
"""

from __future__ import annotations

from dataclasses import dataclass

from spoor.sharding.loans import Account, Loans

LEASE = 8
"""Fewest pages that are lent at a time, if there are so many."""


@dataclass(slots=True)
class _Account(Account):
    """In pages; those in flight are used."""

    wants_more: bool
    """The shard has open links."""


class PageBudget(Loans[_Account]):
    """Lends `budget` pages to `shards` shards. The grants of all shards together never exceed it.

    With `ceiling`, at most so many pages are lent and not used (but one a shard), so that a crawl
    that ends at a number of relevant pages does not fetch many more.
    """

    def __init__(self, budget: int, shards: int) -> None:
        super().__init__(budget, shards)
        self.ceiling: int | None = None

    def report(self, shard: int, *, grant: int, used: int, wants_more: bool) -> None:
        """A shard reports its grant, the pages that it used, and whether it wants more.

        Called after each `offer` to the shard, which the report includes.
        """
        self._accounts[shard] = _Account(grant, grant, used, wants_more)

    def offer(self, shard: int) -> int:
        """The new grant of a shard: pages that it may use in all, no fewer than it has used. Before
        its first offer it may use none.

        Raises KeyError for a shard that never reported.
        """
        account = self._accounts[shard]
        free = self._free()
        over = sum(other.held for other in self._accounts.values()) - self.budget
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
                out = sum(max(0, other.held - other.used) for other in self._accounts.values())
                if out > self.ceiling and spare > 1:
                    return max(account.used + 1, account.reported - (out - self.ceiling))
                lease = min(lease, max(1, self.ceiling // self._shards), self.ceiling - out)
                lease = max(lease, 0 if spare > 0 else 1)
            # The rest of the budget is lent to shards with open links, down to the last page.
            missing = max(0, account.used + lease - account.reported)
            if missing <= free:
                account.held = max(account.held, account.reported + missing)
                return account.reported + missing
            account.held = max(account.held, account.reported + free)
            return account.reported + free
        # Unused pages return to the budget as soon as another shard can use them.
        return account.used if spare > 0 and others else account.reported
