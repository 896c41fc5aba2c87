"""What the cells of an experiment say: means with intervals, and curves."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import bootstrap

Cells = Sequence[Mapping[str, Any]]
CONFIDENCE = 0.95
RESAMPLES = 2_000


@dataclass(frozen=True, slots=True)
class Row:
    """One contender for one target, over the sites and seeds of the experiment."""

    web: str
    target: str
    contender: str
    cells: int
    gap: float | None
    """Pooled: (mean AUC − mean breadth-first) / (mean oracle − mean breadth-first)."""
    low: float | None
    high: float | None
    """95 % bootstrap interval over sites and seeds."""
    worst: float | None
    """Smallest gap closed on a single site (mean over its seeds)."""
    auc: float | None
    half: float | None
    """Mean share of the pages fetched for 50 % of the targets; None where a cell missed it."""
    three_quarters: float | None
    nine_tenths: float | None
    found: float
    """Mean share of the reachable targets that were found."""
    milliseconds: float
    """CPU milliseconds a page, world and judge included."""


def rows(cells: Cells) -> list[Row]:
    """One row for each web, target and contender, in the order of the cells."""
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for cell in cells:
        if cell["targets_reachable"]:
            key = (cell["web"], cell["target"], cell["contender"])
            groups.setdefault(key, []).append(cell)
    return [_row(*key, group) for key, group in groups.items()]


def _row(web: str, target: str, contender: str, cells: Cells) -> Row:
    low, high = interval(cells)
    sites: dict[str, list[float]] = {}
    for cell in cells:
        if cell["gap_closed"] is not None:
            sites.setdefault(cell["root"], []).append(cell["gap_closed"])
    return Row(
        web=web,
        target=target,
        contender=contender,
        cells=len(cells),
        gap=pooled_gap(cells),
        low=low,
        high=high,
        worst=min((float(np.mean(gaps)) for gaps in sites.values()), default=None),
        auc=_mean([cell["auc"] for cell in cells]),
        half=_mean([cell["requests_to"]["50"] for cell in cells]),
        three_quarters=_mean([cell["requests_to"]["75"] for cell in cells]),
        nine_tenths=_mean([cell["requests_to"]["90"] for cell in cells]),
        found=float(np.mean([cell["found"] / cell["targets_reachable"] for cell in cells])),
        milliseconds=1000
        * sum(cell["cpu_seconds"] for cell in cells)
        / max(1, sum(cell["fetched"] for cell in cells)),
    )


def pooled_gap(cells: Cells) -> float | None:
    """Share of the gap between breadth-first and oracle that is closed, on means over cells."""
    areas = _areas(cells)
    if areas is None:
        return None
    own, plain, best = (float(values.mean()) for values in areas)
    return (own - plain) / (best - plain) if best != plain else None


def interval(cells: Cells) -> tuple[float | None, float | None]:
    """95 % percentile bootstrap interval of the pooled gap, over the cells (sites and seeds)."""
    areas = _areas(cells)
    if areas is None or len(areas[0]) < 2:
        return None, None

    def gap(
        own: NDArray[np.float64], plain: NDArray[np.float64], best: NDArray[np.float64], axis: int
    ) -> NDArray[np.float64]:
        low, mean, high = plain.mean(axis), own.mean(axis), best.mean(axis)
        span: NDArray[np.float64] = high - low
        share: NDArray[np.float64] = (mean - low) / np.where(span == 0, np.nan, span)
        return share

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # all cells alike: an interval of width 0
        found = bootstrap(
            areas,
            gap,
            paired=True,
            vectorized=True,
            n_resamples=RESAMPLES,
            confidence_level=CONFIDENCE,
            method="percentile",
            rng=np.random.default_rng(0),
        ).confidence_interval
    low, high = float(found.low), float(found.high)
    # Of cells all alike the last bits of the two may stand the other way round.
    return (None, None) if np.isnan(low) or np.isnan(high) else (low, max(low, high))


def _areas(
    cells: Cells,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]] | None:
    usable = [cell for cell in cells if cell["auc"] is not None and cell["auc_oracle"] is not None]
    if not usable:
        return None
    own, plain, best = (
        np.array([cell[name] for cell in usable], dtype=np.float64)
        for name in ("auc", "auc_breadth_first", "auc_oracle")
    )
    return own, plain, best


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if values and len(known) == len(values) else None


def overall(table: Sequence[Row]) -> list[tuple[str, float, float, int]]:
    """(contender, mean of the pooled gaps over webs and targets, worst of them, how many), best
    first; only contenders with a gap on each web and target that any has."""
    gaps: dict[str, list[float]] = {}
    for row in table:
        if row.gap is not None:
            gaps.setdefault(row.contender, []).append(row.gap)
    most = max((len(values) for values in gaps.values()), default=0)
    full = [
        (name, float(np.mean(values)), min(values), len(values))
        for name, values in gaps.items()
        if len(values) == most
    ]
    return sorted(full, key=lambda item: -item[1])


def mean_curves(cells: Cells, points: int = 101) -> dict[str, list[list[float]]]:
    """Contender → [share of the reachable pages fetched, share of the targets found], the mean
    over the cells, in percent."""
    grid = np.linspace(0.0, 1.0, points)
    sums: dict[str, list[NDArray[np.float64]]] = {}
    for cell in cells:
        if not cell["targets_reachable"]:
            continue
        line = np.array(cell["curve"], dtype=np.float64)
        fetched = line[:, 0] / cell["reachable"]
        found = line[:, 1] / cell["targets_reachable"]
        sums.setdefault(cell["contender"], []).append(np.interp(grid, fetched, found))
    return {
        name: np.column_stack([grid * 100, np.mean(lines, axis=0) * 100]).tolist()
        for name, lines in sums.items()
    }
