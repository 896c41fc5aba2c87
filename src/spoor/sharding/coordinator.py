"""The exchange between shards: a star whose middle keeps nothing that it could lose.

Batches of links go from a shard to the coordinator and on to their shard; budget, learning and the
end of the crawl are decided here. The shards can report all of it again: what they were lent, what
they have received, what they keep for one another. So a coordinator that dies is replaced by an
empty one.

Without I/O and clock: whoever drives it sends each shard its `order`, and hands what the shard
answers to `report`. One order a shard is out at a time. Messages grow as the number of shards, not
as its square: an order and a report each, with a blob of batches for each pair that has any.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from spoor.sharding.page_budget import PageBudget

Order = dict[str, Any]
"""What a shard is to do: plain values and bytes, which any transport can carry."""
Report = dict[str, Any]
"""What it answers."""

MAX_QUEUED_LINKS = 20_000
"""Links that may wait in the coordinator for one shard; its senders keep the rest."""

LINKS_PER_ORDER = 2_000
"""Links that a shard takes in with one order, about."""

MERGE_PAGES = 25
"""Pages a shard after which learning is shared for the first time."""

GROWTH = 0.05
"""Share of the pages after which learning is merged again."""

MODEL_BYTES = 500
"""Bytes of models a page that a merge may cost, all directions together: it takes about 0.4 µs a
byte to take in what others learned, so that this is 0.2 ms a page."""

Rule = Callable[[int, Sequence[bool]], str | None]
"""(found, verdicts on the last pages) → why to end now."""


def never(found: int, recent: Sequence[bool]) -> None:
    """The rule of a crawl that ends with its budget or its links."""


@dataclass(slots=True)
class _Chunk:
    """Links of one shard on their way to another; nobody looks inside."""

    source: int
    first: int
    count: int
    links: int
    blob: bytes
    since: float

    @property
    def end(self) -> int:
        return self.first + self.count


@dataclass(frozen=True, slots=True)
class ShardStatus:
    """A shard as people see it."""

    shard: int
    hosts: int
    open: int
    """Links."""
    pages: int
    found: int
    entered: int
    """Links that others sent."""
    posted: int
    """Links that left for others."""
    waiting: int
    """Of these, links not known to be durable there."""
    lag: float
    """Seconds that the oldest link waits for it in the coordinator."""
    deaths: int
    state: str
    """Empty where there is nothing to say."""


@dataclass(slots=True)
class Member:
    """What is known of one shard."""

    number: int
    retired: bool = False
    """It owns no hosts any more, and only hands over what it has."""
    alive: bool = False
    ended: bool = False
    stopping: bool = False
    """It has an order to end."""
    last_report: Report = field(default_factory=dict)
    """Its last report."""
    queue: deque[_Chunk] = field(default_factory=deque)
    """Links for it, oldest first."""
    have: dict[int, int] = field(default_factory=dict)
    """Shard → number of the next batch for that one, from here."""
    resend: bool = False
    asked: bool = False
    """Its last order asks for its model."""
    models: list[bytes] = field(default_factory=list)
    """What the others learned, for its next order."""
    deaths: int = 0

    @property
    def quiet(self) -> bool:
        """It has nothing to do, and nothing to say."""
        report = self.last_report
        return bool(report) and not (
            report["open"] or report["in_flight"] or report["waiting"] or self.queue
        )

    def lag(self, now: float) -> float:
        """Seconds that the oldest link waits for it here."""
        return max(0.0, now - self.queue[0].since) if self.queue else 0.0

    def status(self, now: float) -> ShardStatus:
        """As people see it."""
        report = self.last_report
        state = "away" if report and not self.alive else "" if report else "is not there yet"
        if self.retired:
            state = "hands over" if not self.ended else "handed over"
        return ShardStatus(
            self.number,
            hosts=report.get("hosts", 0),
            open=report.get("open", 0),
            pages=report.get("pages", 0),
            found=report.get("relevant", 0),
            entered=report.get("entered", 0),
            posted=report.get("posted", 0),
            waiting=report.get("waiting", 0),
            lag=round(self.lag(now), 1),
            deaths=self.deaths,
            state=state,
        )


@dataclass(slots=True)
class Traffic:
    """What the exchange cost."""

    orders: int = 0
    links: int = 0
    bytes: int = 0
    """Of links, once."""
    merges: int = 0
    model_bytes: int = 0
    """Of models, to the coordinator and from it."""


class Coordinator:
    """Of `shards` shards with a budget of `pages` together; `retired` are shards of an earlier
    division, whose hosts are others' now.

    Models are merged after `merge_pages` more pages of all (0: never), later ever more rarely: what
    is known changes less, and costs more to send. Nothing is fetched before
    everything that was on its way when the shards were opened has been delivered.
    """

    def __init__(
        self,
        shards: int,
        pages: int,
        *,
        retired: Collection[int] = (),
        merge_pages: int = 0,
        rule: Rule = never,
        found: int | None = None,
        window: int = 200,
    ) -> None:
        self.members = {number: Member(number) for number in range(shards)}
        self.members |= {number: Member(number, retired=True) for number in retired}
        self.page_budget = PageBudget(pages, len(self.members))
        self.traffic = Traffic()
        self.learns_alone = False
        """The policy cannot share what it learned: each shard learns by itself."""
        self.recent: deque[bool] = deque(maxlen=window)
        self._shards = shards
        self._pages = pages
        self._rule = rule
        self._found = found
        self._merge_pages = merge_pages
        self._merged_at = 0
        self._merge_bytes = 0
        """What the last merge cost, to the coordinator and from it."""
        self._models: dict[int, bytes] = {}
        """What each shard had learned when it last shared it."""
        self._fresh: set[int] = set()
        """Shards that have shared since the last merge."""
        self._settled = False
        self._reason: str | None = None

    # -- one shard's turn

    def joined(self, shard: int, report: Report, now: float) -> None:
        """A shard was opened, for the first time or again; it sends all that it keeps."""
        member = self.members[shard]
        member.alive, member.ended, member.stopping = True, False, False
        member.have.clear()
        self.report(shard, report, now)

    def lost(self, shard: int) -> None:
        """A shard's process is gone, and so may be its last order."""
        member = self.members[shard]
        member.alive = False
        member.deaths += 1
        member.models.clear()
        if member.asked:
            member.asked = False
            self._share_models()

    def order(self, shard: int) -> Order:
        """The next order for a shard."""
        member = self.members[shard]
        links: list[tuple[int, int, bytes]] = []
        count = 0
        for chunk in member.queue:
            if count >= LINKS_PER_ORDER:
                break
            links.append((chunk.source, chunk.first, chunk.blob))
            count += chunk.links
        ask = self._merging and member.number not in self._fresh and not member.retired
        member.asked = ask
        models, member.models = member.models, []
        resend, member.resend = member.resend, False
        self.traffic.orders += 1
        self.traffic.model_bytes += sum(map(len, models))
        ending = self._ending(member)
        member.stopping = ending is not None
        return {
            "grant": self.page_budget.offer(shard),
            "links": links,
            "delivered": {
                other.number: other.last_report["expects"].get(shard, 0)
                for other in self.members.values()
                if other.last_report
            },
            "capacity": {
                other.number: max(0, MAX_QUEUED_LINKS - sum(chunk.links for chunk in other.queue))
                for other in self.members.values()
            },
            "resend": resend,
            "hold": not self._settled,
            "share_model": ask,
            "models": models,
            "stop": ending,
        }

    def _ending(self, member: Member) -> str | None:
        if self._reason is not None:
            return self._reason
        return "its hosts are other shards' now" if member.retired and self._settled else None

    def report(self, shard: int, report: Report, now: float) -> None:
        """A shard has executed its order."""
        member = self.members[shard]
        member.last_report = report
        self.page_budget.report(
            shard,
            grant=report["grant"],
            used=report["pages"] + report["in_flight"],
            wants_more=bool(report["open"]) and not member.retired,
        )
        expects = report["expects"]
        member.queue = deque(
            chunk for chunk in member.queue if chunk.end > expects.get(chunk.source, 0)
        )
        for to, (first, count, links, blob) in report["links"].items():
            self._enqueue(member, to, _Chunk(shard, first, count, links, blob, now))
        if report["model"] is not None:
            self._models[shard] = report["model"]
            self._fresh.add(shard)
            self.traffic.model_bytes += len(report["model"])
        if member.asked:
            member.asked = False
        self.recent.extend(report["verdicts"])
        if not self._settled:
            self._settled = self._all_reported() and not self._in_transit()
        self._share_models()
        self._check_end()

    def _enqueue(self, member: Member, to: int, chunk: _Chunk) -> None:
        have = member.have.get(to)
        if have is not None and chunk.first > have:
            member.resend = True
        elif have is None or chunk.end > have:
            member.have[to] = chunk.end
            self.members[to].queue.append(chunk)
            self.traffic.links += chunk.links
            self.traffic.bytes += len(chunk.blob)

    # -- learning together

    @property
    def _merging(self) -> bool:
        if not self._merge_pages or len(self._working()) < 2:
            return False
        due = max(
            self._merge_pages, int(GROWTH * self._merged_at), self._merge_bytes // MODEL_BYTES
        )
        return self._settled and self.fetched - self._merged_at >= due

    def _share_models(self) -> None:
        """Once every shard that is alive has shared what it learned, pass it to the others."""
        working = self._working()
        if not self._fresh or any(
            member.number not in self._fresh for member in working if member.alive
        ):
            return
        if not any(self._models.values()):
            self.learns_alone, self._merge_pages = True, 0
            self._fresh.clear()
            return
        for member in working:
            # What one that is away had learned still holds.
            member.models = [
                model for number, model in self._models.items() if number != member.number
            ]
        self._fresh.clear()
        size = sum(map(len, self._models.values()))
        self._merge_bytes = len(working) * size
        self._merged_at = self.fetched
        self.traffic.merges += 1

    def statuses(self, now: float) -> list[ShardStatus]:
        """Its shards, as people see them."""
        return [member.status(now) for member in self.members.values()]

    def _working(self) -> list[Member]:
        return [member for member in self.members.values() if not member.retired]

    # -- the end

    @property
    def fetched(self) -> int:
        """Pages of all shards."""
        return sum(member.last_report.get("pages", 0) for member in self.members.values())

    @property
    def relevant(self) -> int:
        """Relevant pages of all shards."""
        return sum(member.last_report.get("relevant", 0) for member in self.members.values())

    @property
    def settled(self) -> bool:
        """Everything that was on its way at the beginning has arrived."""
        return self._settled

    @property
    def reason(self) -> str | None:
        """Why the crawl ends; None while it goes on."""
        return self._reason

    @property
    def over(self) -> bool:
        """All shards have ended."""
        return all(member.ended for member in self.members.values())

    def stop(self, reason: str) -> None:
        """End the crawl; the first reason counts."""
        if self._reason is None:
            self._reason = reason

    def _all_reported(self) -> bool:
        return all(member.last_report for member in self.members.values())

    def _in_transit(self) -> bool:
        return any(
            member.last_report["waiting"] or member.queue for member in self.members.values()
        )

    def _check_end(self) -> None:
        if self._reason is not None or not self._settled:
            return
        if self._found is not None:
            self.page_budget.ceiling = max(self._shards, self._found - self.relevant)
        reason = self._rule(self.relevant, self.recent)
        if reason is not None:
            self.stop(reason)
        elif self.fetched >= self._pages:
            self.stop(f"budget of {self._pages} pages reached")
        elif self._all_reported() and all(member.quiet for member in self.members.values()):
            self.stop("no open link left")
