"""A worker of a crawl in shards: it executes the orders of the coordinator, and reports.

The lab, with all shards in one process, and live crawls use the same code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from spoor.crawl import Crawl
from spoor.learn.state import pack
from spoor.protocols import Engine, Mergeable, Politeness
from spoor.sharding import commands
from spoor.sharding.coordinator import Order, Report
from spoor.sharding.outbox import Outbox, pack_batches
from spoor.types import Deferred, Finished, LiveReply, NextStep, Outcome, Sleep, Starved

SENT_LINKS = 2_000
"""Most links for one shard in one report, about."""

PAUSE_SECONDS = 0.1
"""Seconds that a shard sleeps while it may not fetch."""


class Apply(Protocol):
    """Applies a command to the crawl; through a journal if there is one."""

    def __call__(self, name: str, now: float, *arguments: object, body: bytes = b"") -> None: ...


class Worker:
    """The worker of one crawl, which has an `Outbox`. It is an Engine itself: that of the crawl,
    but it sleeps while the coordinator holds it or its outbox is full, and it never finishes by
    itself, since other shards may send links.
    """

    def __init__(self, crawl: Crawl, engine: Engine, apply: Apply) -> None:
        assert isinstance(crawl.outbox, Outbox)
        self.crawl = crawl
        self.outbox: Outbox = crawl.outbox
        self.held = True
        """Nothing may be fetched yet."""
        self.pauses = 0
        """Times that it waited because its outbox was full."""
        self.merged = 0
        self._engine = engine
        self._apply = apply

    # -- calls of its driver

    @property
    def frontier(self) -> Politeness:
        return self._engine.frontier

    def next(self, now: float) -> NextStep:
        if self.held:
            return Sleep(now + PAUSE_SECONDS)
        if self.outbox.full:
            self.pauses += 1
            return Sleep(now + PAUSE_SECONDS)
        answer = self._engine.next(now)
        return Starved() if isinstance(answer, Finished) else answer

    def receive(self, reply: LiveReply, now: float) -> Outcome | Deferred:
        return self._engine.receive(reply, now)

    # -- calls of the coordinator

    def execute(self, order: Order, now: float) -> bool:
        """Execute an order; returns whether its effects must be durable before the report."""
        for shard, end in order["delivered"].items():
            if end != self.outbox.stored_from(shard):
                self._apply("delivered", now, shard, end)
        if order["resend"]:
            self.outbox.resend()
        for source, first, blob in order["links"]:
            self._apply("links", now, source, first, body=blob)
        used = self.crawl.counts.pages + self.crawl.in_flight
        grant = max(order["grant"], used)
        if grant != self.outbox.grant:
            self._apply("grant", now, grant)
        if order["models"] and isinstance(self.crawl.policy, Mergeable):
            self._apply("merge", now, body=commands.join(order["models"]))
            self.merged += 1
        if order["over"]:
            self._apply("over", now)
        self.held = order["hold"]
        return bool(order["links"])

    def report(self, order: Order | None, verdicts: Sequence[bool]) -> Report:
        """The report to the coordinator, with the batches that are durable here."""
        out = {}
        for shard in self.outbox.destinations():
            limit = (
                SENT_LINKS
                if order is None
                else min(SENT_LINKS, order["capacity"].get(shard, SENT_LINKS))
            )
            first, batches = self.outbox.outgoing(shard, limit)
            if batches:
                links = sum(batch.weight for batch in batches)
                out[shard] = (first, len(batches), links, pack_batches(batches))
        counts = self.crawl.counts
        return {
            "pages": counts.pages,
            "relevant": counts.relevant,
            "failed": counts.failed,
            "skipped": counts.skipped,
            "requests": counts.requests,
            "grant": self.outbox.grant,
            "in_flight": self.crawl.in_flight,
            "open": self.crawl.frontier.open_count + self.crawl.unexpanded,
            "waiting": self.outbox.waiting,
            "posted": self.outbox.posted,
            "entered": self.outbox.entered,
            "pauses": self.pauses,
            "expects": self.outbox.received(),
            "links": out,
            "verdicts": list(verdicts),
            "model": self.model() if order is not None and order["share_model"] else None,
        }

    def model(self) -> bytes:
        """The model of the policy for other shards; empty if it cannot share."""
        policy = self.crawl.policy
        return pack(policy.share()) if isinstance(policy, Mergeable) else b""
