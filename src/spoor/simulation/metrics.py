"""The measures of one simulated crawl, from which of its pages are targets.

`hits` is one bool a fetched page, in the order of the crawl: whether it is a target. Everything
is measured against the pages that can be reached from the root, so that figures of webs of
different sizes can be compared.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from spoor.types import WebGraph

SHARES = (5, 25, 50, 75, 90)
"""Percentages of the reachable targets in `requests_to`."""

POINTS = 200
"""Points of a curve, at most."""


def area(hits: Sequence[bool], targets: int, fetches: int) -> float | None:
    """Mean share of the targets found after 0, 1, …, `fetches` fetches; None without targets.

    After the end of the crawl the last value holds. In [0, 1]; O(fetches).
    """
    if not targets:
        return None
    cut = hits[:fetches]
    total = sum(accumulate(cut)) + (fetches - len(cut)) * sum(cut)
    return total / (targets * (fetches + 1))


def requests_to(hits: Sequence[bool], targets: int, reachable: int) -> dict[str, float | None]:
    """Share of the reachable pages fetched when 5, 25, 50, 75, 90 % of the targets are found."""
    fetches = [count for count, hit in enumerate(hits, 1) if hit]
    needed = {share: math.ceil(targets * share / 100) for share in SHARES}
    return {
        str(share): fetches[count - 1] / reachable if 0 < count <= len(fetches) else None
        for share, count in needed.items()
    }


def curve(hits: Sequence[bool], points: int = POINTS) -> list[list[int]]:
    """[fetched, found] from [0, 0] to the end, thinned to so many points."""
    totals = [0, *accumulate(int(hit) for hit in hits)]
    last = len(totals) - 1
    steps = sorted({round(step) for step in np.linspace(0, last, min(points, last + 1))})
    return [[step, totals[step]] for step in steps]


def gap_closed(
    own: float | None, breadth_first: float | None, oracle: float | None
) -> float | None:
    """Share of the way from breadth-first to the oracle; None where there is no way between."""
    if own is None or breadth_first is None or oracle is None or oracle == breadth_first:
        return None
    return (own - breadth_first) / (oracle - breadth_first)


def breadth_first_order(graph: WebGraph, *roots: int) -> list[int]:
    """Pages that can be reached from the roots, in the order of their discovery."""
    seen = np.zeros(len(graph.urls), dtype=bool)
    order = list(dict.fromkeys(roots))
    seen[order] = True
    queue = deque(order)
    while queue:
        page = queue.popleft()
        for target in graph.indices[graph.indptr[page] : graph.indptr[page + 1]].tolist():
            if not seen[target]:
                seen[target] = True
                order.append(target)
                queue.append(target)
    return order
