"""Metrics of a crawl for monitoring: counts, gauges and each download.

Prometheus (`spoor.live.prometheus`) and OpenTelemetry (`spoor.live.opentelemetry`) are asked for,
need the extra `metrics`, and only read: nothing of a crawl depends on them. What they say of a page
they say after it is committed. Of a crawl in shards the coordinator exports all: its metrics are
those of all shards, as of one process, and those of each under names of their own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Self

from spoor.crawl import Crawl
from spoor.types import Deferred, Fetch, Fetched, Outcome

if TYPE_CHECKING:
    from spoor.sharding.coordinator import Coordinator

SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""Ends of the bins of downloads' times."""

COUNTERS = {
    "pages": "Pages fetched in this run",
    "relevant": "Relevant pages of this run",
    "failed": "Links of this run that failed",
    "skipped": "Links that were chosen and passed over",
    "requests": "Requests of this run, retries and redirects included",
}
GAUGES = {
    "open_links": "Links that may be chosen",
    "in_flight": "Links that were chosen and are waited for",
    "budget_pages": "Pages that the run may fetch; 0: no limit",
    "loop_hold_seconds": "Longest time that the event loop was held, in this process",
}
OF_SHARDS = {
    "pages": ("pages", "Pages fetched by each shard", True),
    "relevant": ("relevant", "Relevant pages of each shard", True),
    "open_links": ("open", "Links that each shard may choose", False),
    "hosts": ("hosts", "Hosts that each shard knows", False),
    "links_in": ("entered", "Links that each shard received from others", True),
    "links_out": ("posted", "Links that each shard sent to others", True),
    "links_waiting": (
        "waiting",
        "Links that were sent and are not known to be durable there",
        False,
    ),
    "cpu_seconds": ("cpu", "Processor time of each shard's process", False),
}
"""Name → (key of its report, help, whether it is a counter: a process may begin anew)."""
OF_EXCHANGE = {
    "links": ("links", "Links that shards sent to one another"),
    "bytes": ("bytes", "Bytes of these links"),
    "model_bytes": ("model_bytes", "Bytes of models that were shared"),
    "merges": ("merges", "Times that models were shared"),
    "turns": ("orders", "Turns of shards with the coordinator"),
}
"""Name → (field of `Traffic`, help)."""
LAG = "Seconds that the oldest link waits on its way to a shard"
SINCE = "since the command was given"


class Metric(NamedTuple):
    """One value of a crawl at one time."""

    name: str
    """Dotted, as in `shard.pages`."""
    help: str
    value: float
    counter: bool = False
    """It only ever grows."""
    shard: int | None = None


Read = Callable[[], Sequence[Metric]]
"""The metrics of a crawl as they are now: always the same ones."""


def crawl_metrics(crawl: Crawl, longest_hold: float) -> list[Metric]:
    """Those of a crawl in one process, whose event loop was held for so many seconds at most."""
    values = {name: getattr(crawl.counts, name) for name in COUNTERS}
    open_count = crawl.frontier.open_count
    return _of_run(values, open_count, crawl.in_flight, crawl.pages or 0, longest_hold)


def shard_metrics(coordinator: Coordinator, now: float) -> list[Metric]:
    """Those of one process, summed over the shards, then what only shards have."""
    members = coordinator.members.values()

    def total(key: str) -> float:
        return float(sum(member.last_report.get(key, 0) for member in members))

    values = {name: total(name) for name in COUNTERS}
    budget = coordinator.page_budget.budget
    hold = max((member.last_report.get("loop_hold", 0.0) for member in members), default=0.0)
    metrics = _of_run(values, total("open"), total("in_flight"), budget, hold)
    for name, (key, text, counter) in OF_SHARDS.items():
        metrics += [
            Metric(f"shard.{name}", text, member.last_report.get(key, 0), counter, member.number)
            for member in members
        ]
    for member in members:
        number, up, deaths = member.number, float(member.alive), member.deaths
        lag = member.lag(now)
        metrics += [
            Metric("shard.lag_seconds", LAG, lag, shard=number),
            Metric("shard.up", "Whether the shard is there", up, shard=number),
            Metric("shard.deaths", f"Deaths of its process, {SINCE}", deaths, True, number),
        ]
    for name, (field, text) in OF_EXCHANGE.items():
        value = getattr(coordinator.traffic, field)
        metrics.append(Metric(f"exchange.{name}", f"{text}, {SINCE}", value, True))
    return metrics


def _of_run(counts: Mapping[str, float], *gauges: float) -> list[Metric]:
    metrics = [Metric(name, text, counts[name], True) for name, text in COUNTERS.items()]
    for (name, text), value in zip(GAUGES.items(), gauges, strict=True):
        metrics.append(Metric(name, text, value))
    return metrics


class Download(NamedTuple):
    """One download: plain values, which a shard can send."""

    url: str
    host: str
    attempt: int
    began: float
    """Unix seconds."""
    seconds: float
    size: int
    status: int | None
    kind: str
    """Of its failure; empty for a page."""
    reason: str
    score: float | None
    relevant: bool

    @classmethod
    def of(cls, fetch: Fetch, step: Outcome | Deferred) -> Self | None:
        """None where its ticket will be asked for again."""
        if isinstance(step, Deferred):
            return None
        reply, judgement = step.reply, step.judgement
        began = time.time() - reply.seconds
        if isinstance(reply, Fetched):
            began = reply.page.fetched_at or began
            size, status, kind, reason = reply.size, reply.page.status, "", ""
        else:
            size, status, kind, reason = 0, reply.status, reply.kind, reply.reason
        return cls(
            *(fetch.url, fetch.host, fetch.attempt, began, reply.seconds, size, status),
            *(kind, reason),
            score=None if judgement is None else judgement.score,
            relevant=judgement is not None and judgement.relevant,
        )
