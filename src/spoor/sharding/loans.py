"""What is lent of a budget to the shards of a crawl: never more than the budget has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar


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
