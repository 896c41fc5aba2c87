"""The coordinator of a crawl in shards: a star without durable state in its centre.

Shards send batches of links to the coordinator, which sends them on to their shards; it also
decides about the budget, about merges of models and about the end of the crawl. The shards can
report everything again: the pages lent to them, the batches that they received and those that they
store for others. So an empty coordinator can replace one that died.

No I/O and no clock: the driver sends each shard its `order`, and passes the answer of the shard to
`report`. A shard has one order at a time. The number of messages grows with the number of shards,
not with its square: an order and a report each, with the batches of each pair of shards as bytes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from spoor.sharding.budgets import ByteBudget, PageBudget

Order = dict[str, Any]
"""What a shard must do next: plain values and bytes, which any transport can carry."""
Report = dict[str, Any]
"""The answer of a shard to an order."""

MAX_QUEUED_LINKS = 20_000
"""Most links that wait in the coordinator for one shard; the senders store the rest."""

LINKS_PER_ORDER = 2_000
"""Most links in one order to a shard, about."""

MERGE_PAGES = 25
"""Pages a shard before the first merge of models."""

GROWTH = 0.05
"""The next merge is due after this share of the pages at the last one."""

MODEL_BYTES = 500
"""Most bytes of models a page that merges may transfer, in all directions: merging takes about
0.4 µs a byte, so this is 0.2 ms a page."""

Rule = Callable[[int, Sequence[bool]], str | None]
"""(relevant pages, verdicts on the last pages) → why to end now."""


def never(found: int, recent: Sequence[bool]) -> None:
    """The rule of a crawl that ends with its budget or without open links."""


@dataclass(slots=True)
class _Chunk:
    """Batches of links on their way from one shard to another; never decoded here."""

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
    """The status of a shard for a display."""

    shard: int
    hosts: int
    open: int
    """Open links."""
    pages: int
    found: int
    entered: int
    """Links that other shards sent."""
    posted: int
    """Links sent to other shards."""
    waiting: int
    """Links sent but not known to be durable at their shard."""
    lag: float
    """Seconds that the oldest link for this shard has waited in the coordinator."""
    deaths: int
    state: str
    """Empty if the shard works."""


@dataclass(slots=True)
class Member:
    """One shard, as the coordinator knows it."""

    number: int
    retired: bool = False
    """It owns no hosts any more, and only sends its links to the others."""
    alive: bool = False
    ended: bool = False
    stopping: bool = False
    """Its last order is to end."""
    last_report: Report = field(default_factory=dict)
    """Empty before the first."""
    queue: deque[_Chunk] = field(default_factory=deque)
    """Links for this shard, oldest first."""
    next_batch: dict[int, int] = field(default_factory=dict)
    """Shard → number of the next batch from this shard to that one."""
    resend: bool = False
    model_requested: bool = False
    """Its last order requests its model."""
    models: list[bytes] = field(default_factory=list)
    """Models of the other shards, for its next order."""
    deaths: int = 0
    silent: bool = False
    """It has not answered its last order for long."""
    asks_over: bool = False
    """Its next order says that the crawl is over but for what it keeps for that."""
    told_over: bool = False
    """Its last order says so."""
    in_vain: bool = False
    """It was told so, and has had nothing to fetch or send since."""

    @property
    def idle(self) -> bool:
        """It has nothing to fetch and nothing to send."""
        report = self.last_report
        return bool(report) and not (
            report["open"] or report["in_flight"] or report["waiting"] or self.queue
        )

    def lag(self, now: float) -> float:
        """Seconds that the oldest link for this shard has waited here."""
        return max(0.0, now - self.queue[0].since) if self.queue else 0.0

    def status(self, now: float) -> ShardStatus:
        """The status for a display."""
        report = self.last_report
        state = "away" if report and not self.alive else "" if report else "is not there yet"
        if self.silent:
            state = "does not answer"
        elif self.retired:
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
    """Counters of the messages between the shards."""

    orders: int = 0
    links: int = 0
    bytes: int = 0
    """Bytes of batches, each counted once."""
    merges: int = 0
    model_bytes: int = 0
    """Bytes of models, to the coordinator and from it."""


class Coordinator:
    """The coordinator of `shards` shards with a common budget of `pages`, and of `max_bytes` of
    documents (0: none). `retired`: shards of an earlier division of the hosts, which own none now.

    Models are merged after `merge_pages` more pages of all shards (0: never), later less and less
    often, since they change less and are larger. No page is fetched before all links that were on
    their way when the shards were opened are delivered.
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
        max_bytes: int = 0,
    ) -> None:
        self.members = {number: Member(number) for number in range(shards)}
        self.members |= {number: Member(number, retired=True) for number in retired}
        self.page_budget = PageBudget(pages, len(self.members))
        self.byte_budget = ByteBudget(max_bytes, len(self.members)) if max_bytes else None
        self.traffic = Traffic()
        self.learns_alone = False
        """The policy cannot share its model: each shard learns by itself."""
        self.nearly_over = False
        """All shards were without an open link once: what came since was kept for that."""
        self.recent: deque[bool] = deque(maxlen=window)
        self._shards = shards
        self._pages = pages
        self._rule = rule
        self._found = found
        self._merge_pages = merge_pages
        self._merged_at = 0
        self._merge_bytes = 0
        """Bytes of the last merge, to the coordinator and from it."""
        self._models: dict[int, bytes] = {}
        """Shard → the model that it shared last."""
        self._fresh: set[int] = set()
        """Shards that shared their model since the last merge."""
        self._settled = False
        self._reason: str | None = None
        self._at_once = False

    # -- orders and reports

    def joined(self, shard: int, report: Report, now: float) -> None:
        """A shard was opened, for the first time or again; it sends all batches that it stores."""
        member = self.members[shard]
        member.alive, member.ended, member.stopping = True, False, False
        member.next_batch.clear()
        member.told_over = member.in_vain = False
        self.report(shard, report, now)

    def lost(self, shard: int) -> None:
        """The process of a shard died; its last order may be lost."""
        member = self.members[shard]
        member.alive = False
        member.deaths += 1
        member.models.clear()
        if member.model_requested:
            member.model_requested = False
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
        share_model = self._merging and member.number not in self._fresh and not member.retired
        member.model_requested = share_model
        models, member.models = member.models, []
        resend, member.resend = member.resend, False
        self.traffic.orders += 1
        self.traffic.model_bytes += sum(map(len, models))
        ending = self._ending(member)
        member.stopping = ending is not None
        member.told_over, member.asks_over = member.asks_over, False
        return {
            "grant": self.page_budget.offer(shard),
            "bytes": None if self.byte_budget is None else self.byte_budget.offer(shard),
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
            "over": member.told_over,
            "share_model": share_model,
            "models": models,
            "stop": ending,
            "at_once": self._at_once,
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
        if self.byte_budget is not None:
            self.byte_budget.report(shard, **report["bytes"])
        expects = report["expects"]
        member.queue = deque(
            chunk for chunk in member.queue if chunk.end > expects.get(chunk.source, 0)
        )
        for target, (first, count, links, blob) in report["links"].items():
            self._enqueue(member, target, _Chunk(shard, first, count, links, blob, now))
        member.in_vain = member.idle and (member.in_vain or member.told_over)
        member.told_over = False
        if report["model"] is not None:
            self._models[shard] = report["model"]
            self._fresh.add(shard)
            self.traffic.model_bytes += len(report["model"])
        if member.model_requested:
            member.model_requested = False
        self.recent.extend(report["verdicts"])
        if not self._settled:
            self._settled = self._all_reported() and not self._in_transit()
        self._share_models()
        self._check_end()

    def _enqueue(self, member: Member, target: int, chunk: _Chunk) -> None:
        expected = member.next_batch.get(target)
        if expected is not None and chunk.first > expected:
            member.resend = True
        elif expected is None or chunk.end > expected:
            member.next_batch[target] = chunk.end
            self.members[target].queue.append(chunk)
            self.traffic.links += chunk.links
            self.traffic.bytes += len(chunk.blob)

    # -- merges of models

    @property
    def _merging(self) -> bool:
        if not self._merge_pages or len(self._working()) < 2:
            return False
        due = max(
            self._merge_pages, int(GROWTH * self._merged_at), self._merge_bytes // MODEL_BYTES
        )
        return self._settled and self.fetched - self._merged_at >= due

    def _share_models(self) -> None:
        """Once all live shards have shared their models, pass each model to the others."""
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
            # The last model of a shard that is away is still used.
            member.models = [
                model for number, model in self._models.items() if number != member.number
            ]
        self._fresh.clear()
        size = sum(map(len, self._models.values()))
        self._merge_bytes = len(working) * size
        self._merged_at = self.fetched
        self.traffic.merges += 1

    def statuses(self, now: float) -> list[ShardStatus]:
        """The status of each shard for a display."""
        return [member.status(now) for member in self.members.values()]

    def _working(self) -> list[Member]:
        return [member for member in self.members.values() if not member.retired]

    # -- the end

    @property
    def fetched(self) -> int:
        """Pages that all shards fetched."""
        return sum(member.last_report.get("pages", 0) for member in self.members.values())

    @property
    def relevant(self) -> int:
        """Relevant pages of all shards."""
        return sum(member.last_report.get("relevant", 0) for member in self.members.values())

    @property
    def settled(self) -> bool:
        """All links that were on their way at the beginning have arrived."""
        return self._settled

    @property
    def reason(self) -> str | None:
        """Why the crawl ends; None while it goes on."""
        return self._reason

    @property
    def over(self) -> bool:
        """All shards have ended."""
        return all(member.ended for member in self.members.values())

    def stop(self, reason: str, *, at_once: bool = False) -> None:
        """End the crawl; the first reason counts. `at_once`: what is in flight counts no more."""
        if self._reason is None:
            self._reason, self._at_once = reason, at_once

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
        elif self.byte_budget is not None and self.byte_budget.used >= self.byte_budget.budget:
            self.stop(f"budget of {self.byte_budget.budget} bytes reached", at_once=True)
        elif self.fetched >= self._pages:
            self.stop(f"budget of {self._pages} pages reached")
        elif self._all_reported() and all(member.idle for member in self.members.values()):
            working = self._working()
            if all(member.in_vain for member in working):
                self.stop("no open link left")
            self.nearly_over = True
            for member in working:
                member.asks_over = not member.in_vain
