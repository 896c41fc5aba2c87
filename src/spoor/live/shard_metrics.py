"""The numbers of a crawl in shards, for those who watch many programs."""

from __future__ import annotations

from spoor.live.metrics import COUNTERS, GAUGES, Number
from spoor.sharding.coordinator import Coordinator

EACH = {
    "pages": ("pages", "Pages fetched by each shard", True),
    "relevant": ("relevant", "Pages of each shard that are wanted", True),
    "open_links": ("open", "Links that each shard may choose", False),
    "hosts": ("hosts", "Hosts of each shard that it has heard of", False),
    "links_in": ("entered", "Links that each shard has had from others", True),
    "links_out": ("posted", "Links that left each shard for others", True),
    "links_waiting": ("waiting", "Links that left and are not known to be durable there", False),
    "cpu_seconds": ("cpu", "Processor time of each shard's process", False),
}
"""Name → (of its report, what it is, whether it only grows: a process may begin anew)."""


def numbers_of(coordinator: Coordinator, now: float) -> list[Number]:
    """Those of one process, summed over the shards, then what only shards have."""
    members = coordinator.members.values()

    def total(key: str) -> float:
        return float(sum(member.told.get(key, 0) for member in members))

    traffic = coordinator.traffic
    stand = (total("open"), total("flying"), coordinator.page_budget.budget)
    found = [Number(name, what, total(name), True) for name, what in COUNTERS.items()]
    found += [
        Number(name, what, value) for (name, what), value in zip(GAUGES.items(), stand, strict=True)
    ]
    for name, (key, what, grows) in EACH.items():
        found += [
            Number(f"shard.{name}", what, member.told.get(key, 0), grows, member.number)
            for member in members
        ]
    for member in members:
        lag, at = "Seconds that the oldest link waits on its way to a shard", member.number
        found.append(Number("shard.lag_seconds", lag, member.lag(now), shard=at))
        up = Number("shard.up", "Whether the shard is there", float(member.alive), shard=at)
        found.append(up)
        deaths = "Deaths of its process since the command was given"
        found.append(Number("shard.deaths", deaths, member.deaths, True, at))
    for name, what, value in (
        ("exchange.links", "Links that shards told one another", traffic.links),
        ("exchange.bytes", "Bytes of these links", traffic.bytes),
        ("exchange.model_bytes", "Bytes of what was learned, told", traffic.model_bytes),
        ("exchange.merges", "Times that shards told what they learned", traffic.merges),
        ("exchange.turns", "Turns of shards with the coordinator", traffic.orders),
    ):
        found.append(Number(name, f"{what}, since the command was given", value, True))
    return found
