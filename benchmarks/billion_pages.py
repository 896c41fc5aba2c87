"""A crawl of a billion pages on paper: how long it takes, what it holds, what breaks first.

    .venv/bin/python benchmarks/billion_pages.py [--out docs/billion.md]

Nobody ran this. The sizes of the hosts are drawn, the hosts are divided among shards as Spoor does
it, and each shard fetches as its core, its connections and politeness let it; all constants were
measured on small crawls by the other benchmarks, and stand below with the command. Prints the page.

A shard asks its hosts in turn: of N hosts that have pages left, each is asked once in `DELAY`
seconds at most, and all together as often as a core can. So while the smallest open hosts have n
pages fetched, dn/dt = min(1 / DELAY, rate / N(n)), with N(n) the hosts of more than n pages, which
gives the pages of each shard by time; the crawl ends when all have fetched a billion together,
since shards lend one another the budget and not the hosts.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from spoor.durations import DAY

PAGES = 10**9
DELAY = 1.0
"""Seconds between two requests to a host, as a crawl has it by default."""
CORES, MEMORY_GB, DISK_TB, NET_MB = 16, 64, 4, 125
"""Of a machine: an assumption. One shard a core, but one core for Ray."""
PRICE = 0.04
"""Dollars for an hour of one core: an assumption."""
LEAST_MERGES = 10.0
"""Fewer in a whole crawl are no learning together."""
LEAST_BUSY = 0.5
"""Of the cores; below it, politeness has them wait for hosts more than half of the time."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Constants:
    """What a page, a link, a turn and a shard cost."""

    cpu_ms: float = 8.2
    """CPU of a page, everything on (`live.py --peers`: `trail`, durable)."""
    wire_kb: float = 30.0
    """Received of a page: an assumption, the median page of the web with compression."""
    archive_kb: float = 8.7
    """Of a page in the archive, compressed (a crawl of cppreference's pages of 30 kB)."""
    rows_kb: float = 3.3
    """Of a page in the database (the same crawl)."""
    links: float = 8.0
    """Known links a page: an assumption (documentation 1 to 3, news 5 to 20)."""
    link_bytes_memory: float = 40.0
    """Of a known link in memory, frontier on disk (`frontier.py --links 10000000`)."""
    link_bytes_disk: float = 311.0
    """The same on disk."""
    process_mb: float = 157.0
    """Of a shard before its links (`live.py`)."""
    ray_mb: float = 204.0
    """Of the Ray of a machine: head, raylet and agents (docs/guides/shards.md)."""
    turn_ms: float = 1.0
    """CPU of the coordinator for a turn of a shard with work (`shards.py cost`)."""
    turns: float = 4.0
    """Turns of a shard a second."""
    exchange_bytes: float = 1300.0
    """Of links that leave a shard, a page (`spoor lab run shards`, 64 shards)."""
    model_mb: float = 1.0
    """Of what a shard tells the others that it learned."""
    merge_bytes: float = 500.0
    """Of models a page, in the long run: merges come as rarely as that takes."""


@dataclass(frozen=True, slots=True)
class Web:
    """Hosts whose sizes have a heavy tail."""

    name: str
    hosts: int
    mean: float
    """Pages of a host."""
    tail: float
    """Exponent of the Pareto distribution of sizes: the lower, the more in few hosts."""
    largest: float

    def sizes(self, rng: np.random.Generator) -> Floats:
        """Pages of each host, scaled so that their mean is `mean`."""
        drawn = np.minimum((1.0 - rng.random(self.hosts)) ** (-1.0 / self.tail), 1e9)
        for _ in range(20):  # the largest are cut, so the others grow
            drawn = np.minimum(drawn * (self.mean / drawn.mean()), self.largest)
        return drawn


WEBS = (
    Web("broad: 20 million hosts", 20_000_000, 100.0, 1.1, 1e6),
    Web("a field: 500,000 hosts", 500_000, 4_000.0, 1.1, 1e7),
    Web("few: 5,000 hosts", 5_000, 400_000.0, 1.1, 1e8),
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What so many machines come to."""

    machines: int
    shards: int
    days: float
    pages_a_second: float
    busy: float
    """Share of the cores' time that is used, on average."""
    hub: float
    """Share of the coordinator's core that turns take."""
    hub_mb: float
    """MB a second that pass the coordinator: links and models."""
    memory_gb: float
    """Of the fullest machine."""
    disk_tb: float
    network_mb: float
    """MB a second of a machine."""
    merges: float
    """How often the shards tell one another what they learned."""
    dollars: float

    def breaks(self) -> list[str]:
        """What is above what a machine has, worst first."""
        shares = {
            "coordinator's core": self.hub,
            "coordinator's network": self.hub_mb / NET_MB,
            "memory": self.memory_gb / MEMORY_GB,
            "disk": self.disk_tb / DISK_TB,
            "network": self.network_mb / NET_MB,
            "learning together": LEAST_MERGES / self.merges,
            "hosts": LEAST_BUSY / self.busy,
        }
        over = {name: share for name, share in shares.items() if share > 1}
        return sorted(over, key=lambda name: -over[name])


def pages_by_time(sizes: Floats, rate: float) -> tuple[Floats, Floats]:
    """(seconds, pages) of one shard, where they bend: when a host has no page left.

    `rate`: pages a second that its core can do.
    """
    ordered = np.sort(sizes)
    left = np.arange(len(ordered), 0, -1.0)
    steps = np.diff(ordered, prepend=0.0)
    seconds = np.cumsum(steps * np.maximum(DELAY, left / rate))
    return seconds, np.cumsum(steps * left)


def plan(web: Web, machines: int, costs: Constants, seed: int) -> Plan | None:
    """None where the hosts do not have so many pages for these shards."""
    rng = np.random.default_rng(seed)
    sizes = web.sizes(rng)
    shards = machines * (CORES - 1)
    owner = rng.integers(shards, size=len(sizes))
    order = np.argsort(owner, kind="stable")
    parts = np.split(sizes[order], np.cumsum(np.bincount(owner, minlength=shards))[:-1])
    rate = 1000.0 / costs.cpu_ms
    curves = [pages_by_time(part, rate) for part in parts if len(part)]
    seconds = _end(curves)
    if seconds is None:
        return None
    got = np.array([np.interp(seconds, *_from_zero(curve)) for curve in curves])
    most = max(float(part.sum()) for part in np.split(got, range(CORES - 1, shards, CORES - 1)))
    """Pages of the fullest machine."""
    speed = PAGES / seconds
    links = speed * costs.exchange_bytes
    models = speed * costs.merge_bytes
    return Plan(
        machines,
        shards,
        seconds / DAY,
        speed,
        speed / (shards * rate),
        shards * costs.turns * costs.turn_ms / 1000,
        (links + models) / 1e6,
        (
            costs.ray_mb / 1e3
            + (CORES - 1) * costs.process_mb / 1e3
            + most * costs.links * costs.link_bytes_memory / 1e9
        ),
        most
        * (costs.archive_kb * 1e3 + costs.rows_kb * 1e3 + costs.links * costs.link_bytes_disk)
        / 1e12,
        speed / machines * costs.wire_kb / 1e3,
        PAGES * costs.merge_bytes / (shards**2 * costs.model_mb * 1e6),
        machines * CORES * seconds / 3600 * PRICE,
    )


def _from_zero(curve: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    return np.concatenate([[0.0], curve[0]]), np.concatenate([[0.0], curve[1]])


def _end(curves: Sequence[tuple[Floats, Floats]]) -> float | None:
    """Seconds until all together have PAGES."""
    if sum(float(pages[-1]) for _, pages in curves) < PAGES:
        return None
    least, most = 0.0, max(float(seconds[-1]) for seconds, _ in curves)
    while most - least > 1e-4 * most:
        middle = (least + most) / 2
        done = sum(float(np.interp(middle, *_from_zero(curve))) for curve in curves)
        least, most = (middle, most) if done < PAGES else (least, middle)
    return most


PAGE = """# A billion pages, on paper

How long a crawl of 10⁹ pages in shards takes, what each machine holds, and what breaks first.
**Nobody ran this**: `benchmarks/billion_pages.py` draws the hosts and simulates who fetches when;
what a page, a link and a turn cost was measured on crawls of 10³ to 10⁵ pages.

A machine has {cores} cores, {memory} GB, {disk} TB of disk and 1 Gbit/s, and costs ${price} for an
hour of a core, traffic left out. It runs {shards} shards, and Ray on the core that is left. A host
is asked once in {delay:g} s at most, and belongs to one shard. Sizes of hosts have a heavy tail
(Pareto, exponent 1.1), and half of what they have is fetched.

{tables}

*cores busy*: the share of the cores' time in which there is a host that may be asked.
*coordinator*: the share of its one core that the shards' turns take, and what passes it. *merges*:
how often the shards tell one another what they learned. **What breaks** is more than the machine
has; `hosts`: politeness leaves the cores idle more than half of the time; `learning together`:
fewer than ten merges in the whole crawl.

## What it says

{text}

## What it assumes

| constant | value | from |
| --- | --: | --- |
{constants}

Left out: latency (a shard has as many requests in flight as it needs), failures, robots.txt (one
request a host), rendering, duplicates, and that a crawl that follows what is relevant fetches more
of few hosts than this, which divides them evenly. With pages of 250 kB over TLS a page takes
{far_ms:g} ms: {far}
"""

CONSTANTS = (
    ("cpu_ms", "ms of CPU a page", "`live.py --peers`: `trail`, everything on"),
    ("wire_kb", "kB received of a page", "assumed"),
    ("archive_kb", "kB of a page in the archive", "a crawl of 3,000 pages of 30 kB"),
    ("rows_kb", "kB of a page in the database", "the same crawl"),
    ("links", "known links a page", "assumed"),
    ("link_bytes_memory", "bytes of a link in memory", "`frontier.py --links 10000000`"),
    ("link_bytes_disk", "bytes of a link on disk", "`frontier.py --links 10000000`"),
    ("process_mb", "MB of a shard", "`live.py`: durable"),
    ("ray_mb", "MB of Ray on a machine", "[shards](guides/shards.md#what-it-costs)"),
    ("turn_ms", "ms of the coordinator for a turn", "`shards.py cost`"),
    ("turns", "turns of a shard a second", "by design"),
    ("exchange_bytes", "bytes of links that leave, a page", "`spoor lab run shards`, 64 shards"),
    ("model_mb", "MB of a model", "`spoor lab run shards`"),
    ("merge_bytes", "bytes of models a page", "by design"),
)


def table(web: Web, plans: Sequence[Plan]) -> str:
    """The plans of a web."""
    head = [
        f"## {web.name[0].upper()}{web.name[1:]}, {web.mean:,.0f} pages each on average",
        "",
        "| machines | shards | days | pages a second | dollars | cores busy | coordinator "
        "| its MB/s | merges | memory, GB | disk, TB | network, MB/s | what breaks |",
        "| --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --- |",
    ]
    rows = [
        f"| {one.machines} | {one.shards:,} | {one.days:.2g} | {one.pages_a_second:,.0f} "
        f"| {one.dollars:,.0f} | {one.busy:.0%} | {one.hub:.0%} | {one.hub_mb:.1f} "
        f"| {one.merges:,.0f} | {one.memory_gb:.1f} | {one.disk_tb:.2f} "
        f"| {one.network_mb:.0f} | {', '.join(one.breaks()) or '–'} |"
        for one in plans
    ]
    return "\n".join(head + rows)


def said(plans: dict[Web, list[Plan]]) -> str:
    """With how many machines all holds, and what breaks with fewer and with more."""
    lines = []
    for web, rows in plans.items():
        whole = [one for one in rows if not one.breaks()]
        words = [f"with {one.machines}, in {one.days:.2g} days" for one in whole]
        line = f"- **{web.name}**: all holds {' and '.join(words) or 'with no number of machines'}."
        for kind, others in (
            ("fewer", [one for one in rows if whole and one.machines < whole[0].machines]),
            ("more", [one for one in rows if whole and one.machines > whole[-1].machines][:1]),
            ("any", [] if whole else rows),
        ):
            broken = dict.fromkeys(part for one in others for part in one.breaks())
            if broken:
                line += f" With {kind}, what breaks is {', '.join(broken)}."
        lines.append(line)
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--out", type=Path)
    parser.add_argument("--machines", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32, 64])
    parser.add_argument("--far-ms", type=float, default=15.0, help="CPU of a page of 250 kB")
    told = parser.parse_args()
    costs, far = Constants(), Constants(cpu_ms=told.far_ms, wire_kb=80.0, archive_kb=60.0)
    plans: dict[Web, list[Plan]] = {}
    for web in WEBS:
        made = [plan(web, machines, costs, seed=0) for machines in told.machines]
        plans[web] = [one for one in made if one is not None]
    big = [plan(WEBS[0], machines, far, seed=0) for machines in told.machines]
    page = PAGE.format(
        cores=CORES,
        memory=MEMORY_GB,
        disk=DISK_TB,
        price=PRICE,
        shards=CORES - 1,
        delay=DELAY,
        tables="\n\n".join(table(web, rows) for web, rows in plans.items()),
        text=said(plans),
        constants="\n".join(
            f"| {words} | {getattr(costs, name):,g} | {source} |"
            for name, words, source in CONSTANTS
        ),
        far_ms=told.far_ms,
        far="; ".join(
            f"{one.machines} machine{'s' * (one.machines > 1)} {one.days:.2g} days, "
            f"${one.dollars:,.0f}"
            for one in big
            if one is not None
        )
        + ".",
    )
    if told.out is not None:
        told.out.write_text(page)
    else:
        sys.stdout.write(page)


if __name__ == "__main__":
    main()
