"""The report of an experiment with shards: harvest by the number of shards, and the traffic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np

from spoor.lab.intervals import interval
from spoor.lab.pages import Block, Grid, Heading, Picture, Prose, slug
from spoor.lab.reports.report import Report
from spoor.lab.results import Cells, Results, grouped
from spoor.views.line_chart import line_chart

HEAD = (
    *("web", "policy", "shards", "pages a shard", "harvest, each by itself", "against one shard"),
    *("harvest, learning together", "against one shard", "against each by itself"),
)

TRAFFIC = (
    ("links that leave", "links_per_page", ".2f"),
    ("bytes of links", "bytes_per_page", ",.0f"),
    ("bytes of models", "model_bytes_per_page", ",.0f"),
    ("turns", "turns_per_page", ".2f"),
    ("ms to take in models", "merge_ms_per_page", ".2f"),
    ("merges", "merges", ".1f"),
    ("share of the busiest shard", "busiest", ".0%"),
    ("shards without a page", "idle", ".1f"),
)
"""(name, key, format) of what the exchange costs."""


def blocks(results: Results) -> Iterator[Block]:
    """Tables and pictures."""
    yield Heading("What splitting costs, and learning together gives")
    yield Prose(
        "Harvest: the share of the pages fetched that are wanted, with the same pages in all. "
        "Means over targets and divisions of the hosts; differences in points, with 95 % intervals "
        "over these (Student's t below ten, bootstrap from ten on), which speak of this web and "
        "not of others. A dash: the policy cannot share, or the pages ended before it did."
    )
    yield harvest(results.rows)
    yield Heading("What the exchange costs")
    yield Prose("A page fetched, learning together where the policy can; means.")
    yield traffic(results.rows)
    for (web,), rows in grouped(results.rows, "web").items():
        caption = f"{web}: harvest against the number of shards, with the same pages in all"
        yield Picture(slug(web), picture(rows, web), caption)


def summary(results: Results) -> Iterator[Block]:
    """The table of the harvest."""
    yield harvest(results.rows)


def figures(results: Results, rows: Cells, figure: Mapping[str, Any]) -> Iterator[Picture]:
    """The picture of each web."""
    for (web,), mine in grouped(rows, "web").items():
        yield Picture(slug(web), picture(mine, web), f"{figure['caption']}: {web}")


REPORT = Report(blocks, summary, figures)


def harvest(rows: Cells) -> Grid:
    """By web, policy and number of shards: the share of the pages fetched that are relevant, each
    shard by itself and learning together, and the differences in points: means over targets and
    divisions with their 95 % intervals; nothing of learning together where the pages ended before
    it."""
    lines = []
    for (web, name), mine in grouped(rows, "web", "name").items():
        baseline = {target: share for (target, _), share in _shares(mine, 1, False).items()}
        for shards in sorted({row["shards"] for row in mine}):
            some = [row for row in mine if row["shards"] == shards]
            pages = np.mean([row["fetched"] for row in some]) / shards
            alone, together = (_shares(some, shards, how) for how in (False, True))
            if not any(row["merges"] for row in some):
                together = {}
            differences = (
                {key: share - baseline[key[0]] for key, share in alone.items()}
                if shards > 1
                else {},
                {key: share - baseline[key[0]] for key, share in together.items()},
                {key: share - alone[key] for key, share in together.items()},
            )
            less, more, gain = map(_points, differences)
            shown = (_mean(alone), less, _mean(together), more, gain)
            lines.append([web, name, str(shards), f"{pages:,.0f}", *shown])
    return Grid(HEAD, lines, names=2)


Shares = Mapping[tuple[str, int], float]
"""(target, seed) → share of the pages fetched that are relevant, in percent."""


def _shares(rows: Cells, shards: int, together: bool) -> Shares:
    shares: dict[tuple[str, int], float] = {}
    for row in rows:
        if (row["shards"], row["together"]) == (shards, together):
            shares[row["target"], row["seed"]] = 100 * row["found"] / max(1, row["fetched"])
    if shards == 1:  # no division: each has the mean of its seeds
        for target in dict.fromkeys(target for target, _ in shares):
            mean = float(np.mean([value for key, value in shares.items() if key[0] == target]))
            shares |= {key: mean for key in shares if key[0] == target}
    return shares


def _mean(shares: Shares) -> str:
    return f"{np.mean([*shares.values()]):.1f} %" if shares else "–"


def _points(differences: Shares) -> str:
    if not differences:
        return "–"
    values = np.array([*differences.values()])
    mean = f"{values.mean():+.1f}"
    low, high = interval(values)
    return mean if low is None or high is None else f"{mean} ({low:+.1f} … {high:+.1f})"


def traffic(rows: Cells) -> Grid:
    """What the exchange costs a page, where shards learn together if they can: means."""
    some = [row for row in rows if row["shards"] > 1 and row["together"] == row["mergeable"]]
    lines = [
        [
            *(web, name, str(shards)),
            *(f"{np.mean([row[key] for row in mine]):{form}}" for _, key, form in TRAFFIC),
        ]
        for (web, name, shards), mine in grouped(some, "web", "name", "shards").items()
    ]
    return Grid(("web", "policy", "shards", *(name for name, _, _ in TRAFFIC)), lines)


def picture(rows: Cells, web: str) -> str:
    """The harvest on one web against how many shards share the pages, as SVG."""
    lines: dict[str, list[list[float]]] = {}
    for ((name,), mine), together in product(grouped(rows, "name").items(), (False, True)):
        points = []
        for shards in sorted({row["shards"] for row in mine}):
            shares = _shares(mine, shards, together and shards > 1)
            if shares:
                points.append([float(np.log2(shards)), float(np.mean([*shares.values()]))])
        if len(points) > 1:
            how = "learning together" if together else "each by itself"
            lines[f"{name}, {how}"] = points
    return line_chart(lines, x="log₂ shards", y="% of the pages are wanted")
