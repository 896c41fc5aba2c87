"""Who beats whom, as blocks of a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from spoor import registry
from spoor.lab import compare
from spoor.lab.pages import Block, Grid, Heading, Prose
from spoor.lab.results import Results

WIDE = 9
"""Contenders up to which a matrix shows differences."""

TITLE = "Who beats whom"


def matrix_blocks(results: Sequence[Results], measure: str) -> Iterator[Block]:
    """A matrix of wins, ties and losses, the counts of each contender, and those who never lose."""
    rivals = [
        replace(item, rows=[row for row in item.rows if row.get("policy") not in registry.LAB_ONLY])
        for item in results
    ]
    if all(compare.value(row, measure) is None for item in rivals for row in item.rows):
        return  # no target could be reached
    comparisons = compare.matrix(rivals, measure=measure)
    if not any(item.p is not None for item in comparisons.values()):
        return
    names = list(dict.fromkeys(first for first, _ in comparisons))
    differences = len(names) <= WIDE
    yield Heading(TITLE)
    yield Prose(
        f"The row against the column, by `{measure}`: W wins and L loses at 95 % (paired by site "
        "and target, seeds averaged; bootstrap interval of the difference and permutation test, "
        f"corrected after Holm for {len(comparisons) // 2} comparisons); w and l without the "
        "correction only; = is a tie: the crawls cannot tell."
        + (" In brackets the mean difference." if differences else "")
        + " Whoever knows the whole web is left out."
    )
    yield Grid(
        ("", *(f"{number}" for number in range(1, len(names) + 1))),
        [
            [
                f"{number} {one}",
                *(_mark(comparisons.get((one, other)), differences) for other in names),
            ]
            for number, one in enumerate(names, 1)
        ],
    )
    counts = []
    for name in names:
        verdicts = [item for (one, _), item in comparisons.items() if one == name]
        mine = [sum(item.verdict == verdict for item in verdicts) for verdict in VERDICTS]
        counts.append((name, [*mine, sum(item.uncorrected == "loss" for item in verdicts)]))
    counts.sort(key=lambda row: (row[1][3], row[1][2], -row[1][0]))
    yield Grid(
        ("policy", "wins", "ties", "losses", "losses without correction"),
        [[name, *map(str, numbers)] for name, numbers in counts],
    )
    safe = compare.never_losing(comparisons)
    yield Prose(
        "Wins or ties (95 %) against every other, even without the correction: "
        + (", ".join(f"`{name}`" for name in safe) if safe else "none")
        + "."
    )


VERDICTS = ("win", "tie", "loss")


def _mark(comparison: compare.Comparison | None, differences: bool) -> str:
    if comparison is None:
        return ""
    if comparison.p is None:
        return "one crawl"
    marks = {"win": "W", "loss": "L"}
    mark = marks.get(comparison.verdict) or marks.get(comparison.uncorrected, "=").lower()
    return f"{mark} ({comparison.difference:+.3f})" if differences else mark
