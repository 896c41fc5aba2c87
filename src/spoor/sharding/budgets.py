"""Budgets of a crawl in shards: pages, and bytes of documents, are lent to shards, never more than
the budget has. A shard takes in no document that it was not lent the bytes of. So the crawl ends
with the one document by which the budget is reached, as in one process.

Nothing here needs to be durable: what is lent to a shard is part of its own state, and a shard that
is opened again has been lent what it has used; the shards report it to a new coordinator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

LEASE = 8
"""Fewest pages that are lent at a time, if there are so many."""


@dataclass(slots=True)
class Account:
    """Of one shard."""

    held: int
    """What the shard may use: the maximum of the reported and the offered grant."""
    reported: int
    """The grant that the shard reported."""
    used: int


Kind = TypeVar("Kind", bound=Account)


class Loans(Generic[Kind]):
    """The accounts of `shards` shards with a common `budget`."""

    def __init__(self, budget: int, shards: int) -> None:
        self.budget = budget
        self._shards = shards
        self._accounts: dict[int, Kind] = {}

    def _free(self) -> int:
        """What is not lent; nothing while a shard has not reported."""
        if len(self._accounts) < self._shards:
            return 0
        return max(0, self.budget - sum(account.held for account in self._accounts.values()))

    @property
    def used(self) -> int:
        """What all shards use, as reported."""
        return sum(account.used for account in self._accounts.values())


@dataclass(slots=True)
class _Pages(Account):
    """In pages; those in flight are used."""

    wants_more: bool
    """The shard has open links."""


class PageBudget(Loans[_Pages]):
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
        self._accounts[shard] = _Pages(grant, grant, used, wants_more)

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


@dataclass(slots=True)
class _Bytes(Account):
    """In bytes."""

    wanted: int
    """Size of a document that waits, since it needs more than the grant; else 0."""

    @property
    def missing(self) -> int:
        return self.used + self.wanted - self.reported if self.wanted else 0


class ByteBudget(Loans[_Bytes]):
    """Lends `budget` bytes to `shards` shards. The grants of all shards together never exceed it,
    but for the last document, which no rest is large enough for."""

    def report(self, shard: int, *, grant: int, used: int, wanted: int) -> None:
        """A shard reports its grant, the bytes that it used, and the size of the document that
        waits for a larger grant."""
        self._accounts[shard] = _Bytes(grant, grant, used, wanted)

    def offer(self, shard: int) -> int:
        """The new grant of a shard: bytes that it may use in all.

        Raises KeyError for a shard that never reported.
        """
        account = self._accounts[shard]
        others = [other for number, other in self._accounts.items() if number != shard]
        free = self._free()
        lease = free // (4 * self._shards)
        if (missing := account.missing) > free:
            # The rest is lent to others, or it is too small for any document: this is the last.
            rest = any(other.held > other.used for other in others)
            last = not rest and len(self._accounts) == self._shards
            grant = account.used + account.wanted if last else account.used
        elif missing > 0:
            grant = account.reported + max(missing, lease)
        elif any(other.missing > 0 for other in others):
            # A document of another shard waits for what this one does not use now.
            grant = account.used + account.wanted
        else:
            grant = max(account.reported, account.used + lease)
        account.held = max(account.held, grant)
        return grant
