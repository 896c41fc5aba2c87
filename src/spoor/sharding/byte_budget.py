"""The byte budget of a crawl in shards: bytes of documents are lent to shards, which take in no
document that they were not lent the bytes of. So the crawl ends with the one document by which the
budget is reached, as in one process.

Nothing here needs to be durable: a shard that is opened again has been lent what it has used.
"""

from __future__ import annotations

from dataclasses import dataclass

from spoor.sharding.loans import Account, Loans


@dataclass(slots=True)
class _Account(Account):
    """In bytes."""

    wanted: int
    """Size of a document that waits, since it needs more than the grant; else 0."""

    @property
    def missing(self) -> int:
        return self.used + self.wanted - self.reported if self.wanted else 0


class ByteBudget(Loans[_Account]):
    """Lends `budget` bytes to `shards` shards. The grants of all shards together never exceed it,
    but for the last document, which no rest is large enough for."""

    def report(self, shard: int, *, grant: int, used: int, wanted: int) -> None:
        """A shard reports its grant, the bytes that it used, and the size of the document that
        waits for a larger grant."""
        self._accounts[shard] = _Account(grant, grant, used, wanted)

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
