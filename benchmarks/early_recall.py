"""What share of the right pages a crawl has within few requests, with a setting and without it: for
the benchmarks of what leads there."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence

BUDGETS = (12, 30, 100)
"""Requests."""


def compare(
    wishes: Iterable[tuple[str, set[str]]],
    crawl: Callable[[str, bool], tuple[Sequence[str], str]],
    *,
    start: int = 0,
) -> None:
    """Print the shares of each wish, given as its words and the names of the right pages, and their
    means. `crawl`: by words, and whether the setting is on, the names of what was asked for in
    order, and what else is to be said of it. `start`: first requests that are for no right page."""
    rows: dict[bool, list[list[float]]] = {False: [], True: []}
    for words, right in wishes:
        for is_on, its in rows.items():
            asked_for, note = crawl(words, is_on)
            most = [min(budget - start, len(right)) for budget in BUDGETS]
            had = [len(right & {*asked_for[:budget]}) for budget in BUDGETS]
            its.append([one / all_ for one, all_ in zip(had, most, strict=True)])
            print(f"{words} ({len(right)} pages) {_told(its[-1], is_on)}{note}", flush=True)
    for is_on, its in rows.items():
        means = [statistics.mean(column) for column in zip(*its, strict=True)]
        print(f"mean {_told(means, is_on)}")


def _told(shares: Iterable[float], is_on: bool) -> str:
    return f"{'with' if is_on else 'without'}: " + ", ".join(f"{share:.3f}" for share in shares)
