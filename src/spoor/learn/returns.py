"""Exact discounted returns of hyperlinks on a completely known web.

Rennie and McCallum (1999, section 2.3): the value Q of a hyperlink is the discounted reward of the
sequence that starts by following it and then goes, again and again, to the reward nearest to all
pages fetched in it so far. Each page on the way costs one step and is fetched, and each target
gives 1, once. Hyperlinks with the same destination share their Q, so there is one value a page.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spoor.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spoor.types import WebGraph

SMALLEST = 1e-4
"""Rewards that the discount makes smaller than this are left out."""


def horizon_of(gamma: float) -> int:
    """Last step t whose discount γ^t is at least `SMALLEST`: 13 for γ = 0.5.

    Raises InputError unless 0 ≤ γ < 1.
    """
    if not 0.0 <= gamma < 1.0:
        raise InputError(f"gamma is at least 0 and below 1, not {gamma}")
    if gamma == 0.0:
        return 0
    # The logarithm of an exact power may have a rounding error.
    horizon = max(0, math.floor(math.log(SMALLEST) / math.log(gamma)) - 1)
    while gamma ** (horizon + 1) >= SMALLEST:
        horizon += 1
    return horizon


def error_bound(gamma: float, horizon: int) -> float:
    """The most that the steps after `horizon` could add: γ^(horizon + 1) / (1 - γ)."""
    return float(gamma ** (horizon + 1) / (1.0 - gamma))


def link_values(
    graph: WebGraph, gamma: float = 0.5, horizon: int | None = None
) -> NDArray[np.float64]:
    """Q of a hyperlink to each page, float64 (pages,), in [0, 1 / (1 - γ)].

    Steps after `horizon` (None: `horizon_of(gamma)`) count for nothing; no value is too small by
    more than `error_bound`. Where rewards are equally near, the way begins at the page fetched
    first and leads to the target of the lowest number, by the first link of each page on a
    shortest way; how ties are broken changes Q, since the ways reveal different pages.

    Exact without any search: with h the horizon no sequence meets more than h + 1 targets, so
    the h + 1 nearest targets of each page, which one backward sweep finds, give the distance of
    the nearest reward not yet received. O(h · links · log) time, O(h · pages) memory.
    """
    last = horizon_of(gamma) if horizon is None else horizon
    near = _nearest_targets(graph, last, last + 1)
    discount = [gamma**step for step in range(last + 1)]
    targets, steps, hops = near.target.tolist(), near.distance.tolist(), near.hop.tolist()
    values = np.zeros(len(graph.urls))
    # A page that reaches no target in time has the value 0.
    for page in np.flatnonzero(near.held).tolist():
        values[page] = _return(page, targets, steps, hops, discount)
    return values


def distances_to_target(graph: WebGraph, horizon: int) -> NDArray[np.int64]:
    """Links on a shortest way from each page to a target, (pages,): 0 for a target itself, and -1
    where none is within `horizon` links. O(links) time."""
    near = _nearest_targets(graph, horizon, 1)
    return np.where(near.held > 0, near.distance[:, 0], -1)


def bin_of(distance: NDArray[np.int64], bins: int) -> NDArray[np.int64]:
    """Number of the bin of each link, by how far the nearest target is from its destination: 0 for
    a target, 1 for a page that links to one, …; all others (-1: none in reach) are in the last.

    For γ ≤ 0.5 these are the intervals of Q between the bounds 1, γ, γ², …: a link at distance d
    has γ^d ≤ Q < γ^d / (1 - γ) ≤ γ^(d - 1). A larger γ lets many far targets add up to more than
    one that is near, and the intervals would no longer tell a link to a target.
    """
    return np.where(distance < 0, bins - 1, np.minimum(distance, bins - 1))


def _return(
    page: int,
    targets: list[list[int]],
    steps: list[list[int]],
    hops: list[list[int]],
    discount: list[float],
) -> float:
    """The discounted reward of one sequence. Rows end at a target of -1."""
    total = 0.0
    received: set[int] = set()
    if steps[page][0] == 0:
        total = discount[0]
        received.add(page)
    time, last = 0, len(discount) - 1
    fetched, nearest = [page], [0]  # pages in order, with the place of their nearest reward left
    while True:
        best, best_target, source = last - time + 1, -1, -1
        for number, here in enumerate(fetched):
            row, place = targets[here], nearest[number]
            while place < len(row) and row[place] in received:
                place += 1
            nearest[number] = place
            if place == len(row) or row[place] < 0:
                continue
            distance = steps[here][place]
            # Pages are in the order of their fetching: the earlier one wins a tie.
            if distance < best:
                best, best_target, source = distance, row[place], number
        if best_target < 0:
            return total
        here, place = fetched[source], nearest[source]
        while here != best_target:
            here = hops[here][place]
            # A page on a shortest way to a near target is near to it as well.
            place = targets[here].index(best_target)
            fetched.append(here)
            nearest.append(0)
        time += best
        received.add(best_target)
        total += discount[time]


class _Near(NamedTuple):
    """The nearest targets of each page, (pages, k), by distance and then by number."""

    target: NDArray[np.int32]
    """-1 where there are no more."""
    distance: NDArray[np.int32]
    hop: NDArray[np.int32]
    """The page to go to next: the first link on a shortest way."""
    held: NDArray[np.int64]
    """How many a page has, (pages,)."""


def _nearest_targets(graph: WebGraph, horizon: int, most: int) -> _Near:
    """Up to `most` targets of each page, none farther than `horizon`.

    A sweep from all targets against the links. A page passes on only the targets that it keeps: if
    k targets precede s on a page, they do so too on every page whose shortest way to s leads
    through it.
    """
    pages = len(graph.urls)
    targets = np.flatnonzero(graph.targets)
    k = max(1, min(most, len(targets)))
    target = np.full((pages, k), -1, dtype=np.int32)
    distance = np.zeros((pages, k), dtype=np.int32)
    hop = np.full((pages, k), -1, dtype=np.int32)
    count = np.zeros(pages, dtype=np.int64)
    target[targets, 0] = targets
    count[targets] = 1
    # Links by destination; within it in the order of the rows.
    arrival = np.argsort(graph.indices, kind="stable")
    origin = np.repeat(np.arange(pages), np.diff(graph.indptr))[arrival]
    begin = np.zeros(pages + 1, dtype=np.int64)
    np.cumsum(np.bincount(graph.indices, minlength=pages), out=begin[1:])
    page, goal = targets, targets
    for step in range(1, horizon + 1):
        if not len(page):
            break
        counts = begin[page + 1] - begin[page]
        ends = np.cumsum(counts)
        edges = np.arange(int(counts.sum())) + np.repeat(begin[page] - ends + counts, counts)
        source, reached, link = origin[edges], np.repeat(goal, counts), arrival[edges]
        open_ = count[source] < k
        source, reached, link = source[open_], reached[open_], link[open_]
        # Each pair of page and target once, by its first link.
        order = np.lexsort((link, reached, source))
        source, reached, link = source[order], reached[order], link[order]
        fresh = np.ones(len(source), dtype=bool)
        fresh[1:] = (source[1:] != source[:-1]) | (reached[1:] != reached[:-1])
        for column in range(k):
            fresh &= target[source, column] != reached
        source, reached, link = source[fresh], reached[fresh], link[fresh]
        place = count[source] + np.arange(len(source)) - np.searchsorted(source, source)
        near = place < k
        source, reached, link, place = source[near], reached[near], link[near], place[near]
        target[source, place] = reached
        distance[source, place] = step
        hop[source, place] = graph.indices[link]
        count += np.bincount(source, minlength=pages)
        page, goal = source, reached
    return _Near(target, distance, hop, count)
