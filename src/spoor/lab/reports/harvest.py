"""The report of an experiment with policies on webs: means with intervals, curves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spoor.lab.intervals import Floats, Interval, bootstrap_interval
from spoor.lab.pages import Block, Grid, Heading, Picture, Prose, between, number, slug
from spoor.lab.reports.matrix import matrix_blocks
from spoor.lab.reports.report import Report
from spoor.lab.results import Cells, Results, contender_of, grouped
from spoor.views.line_chart import line_chart

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
    recall: float
    """Mean share of the reachable targets that were fetched."""
    milliseconds: float
    """CPU milliseconds a page, world and judge included."""


def rows(cells: Cells) -> list[Row]:
    """One row for each web, target and contender, in the order of the cells."""
    some = [cell for cell in cells if cell["targets_reachable"]]
    groups = grouped(some, "web", "target", "contender")
    return [_row(web, target, name, group) for (web, target, name), group in groups.items()]


def _row(web: str, target: str, contender: str, cells: Cells) -> Row:
    low, high = gap_interval(cells)
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
        recall=float(np.mean([cell["found"] / cell["targets_reachable"] for cell in cells])),
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


def gap_interval(cells: Cells) -> Interval:
    """95 % percentile bootstrap interval of the pooled gap, over the cells (sites and seeds)."""
    areas = _areas(cells)
    if areas is None or len(areas[0]) < 2:
        return None, None

    def gap(own: Floats, plain: Floats, best: Floats, axis: int) -> Floats:
        low, mean, high = plain.mean(axis), own.mean(axis), best.mean(axis)
        span: Floats = high - low
        share: Floats = (mean - low) / np.where(span == 0, np.nan, span)
        return share

    return bootstrap_interval(gap, areas, resamples=RESAMPLES)


def _areas(cells: Cells) -> tuple[Floats, Floats, Floats] | None:
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


def mean_curves(
    cells: Cells, points: int = 101, of: str = "reachable"
) -> dict[str, list[list[float]]]:
    """Contender → [share of the reachable pages fetched, share of the targets found], the mean
    over the cells, in percent. `of` = `links_reachable`: share of the links followed, in place of
    the first; it ends at the share of the site that has most pages to a link."""
    found: dict[str, list[tuple[Floats, Floats]]] = {}
    most = 0.0
    for cell in cells:
        if not cell["targets_reachable"]:
            continue
        line = np.array(cell["curve"], dtype=np.float64)
        fetched = line[:, 0] / cell[of]
        most = max(most, float(fetched[-1]))
        recall = line[:, 1] / cell["targets_reachable"]
        found.setdefault(cell["contender"], []).append((fetched, recall))
    grid = np.linspace(0.0, most if of == "links_reachable" else 1.0, points)
    return {
        name: np.column_stack(
            [grid * 100, np.mean([np.interp(grid, *line) for line in lines], axis=0) * 100]
        ).tolist()
        for name, lines in found.items()
    }


def blocks(results: Results) -> Iterator[Block]:
    """Tables, comparisons and curves."""
    table = rows(results.rows)
    yield Heading("How much, how soon")
    yield Prose(
        "Share of the gap between breadth-first (0) and the oracle (1) that is closed, with its "
        "95 % bootstrap interval over sites and seeds; the area under the curve (AUC); shares of "
        "the reachable pages fetched for 50, 75 and 90 % of the targets. Every download counts."
    )
    yield Grid(
        (
            *("web", "target", "policy", "gap closed", "95 %", "worst site", "AUC"),
            *("to 50 %", "to 75 %", "to 90 %", "found", "CPU ms a page"),
        ),
        [
            [
                *(row.web, row.target, row.contender, number(row.gap), between(row.low, row.high)),
                *map(number, (row.worst, row.auc, row.half, row.three_quarters, row.nine_tenths)),
                f"{row.recall:.3f}",
                f"{row.milliseconds:.2f}",
            ]
            for row in table
        ],
    )
    ranked = overall(table)
    if _several(table) and ranked:
        yield Grid(
            ("policy", "mean gap closed", "worst web and target"),
            [[who, f"{mean:.3f}", f"{worst:.3f}"] for who, mean, worst, _ in ranked],
        )
    yield from matrix_blocks([results], MEASURE)
    for (web, target), cells in grouped(results.rows, "web", "target").items():
        lines = mean_curves(cells)
        if lines:
            caption = f"{target} on {web}: targets found against pages fetched, mean of all crawls"
            yield Picture(slug(f"{web} {target}"), _drawn(lines), caption)


def _several(table: Sequence[Row]) -> bool:
    return len({(row.web, row.target) for row in table}) > 1


def _drawn(
    lines: Mapping[str, Sequence[Sequence[float]]],
    marks: Mapping[str, Sequence[Sequence[float]]] | None = None,
    x: str = "% of the reachable pages fetched",
) -> str:
    return line_chart(
        lines,
        x=x,
        y="% of the targets found",
        size=(8.0, 4.2),
        marks=marks or {},
    )


def summary(results: Results) -> Iterator[Block]:
    """The same in short."""
    table = rows(results.rows)
    yield Grid(
        (
            *("web", "target", "policy", "gap closed", "95 %", "AUC"),
            *("to 50 %", "to 75 %", "to 90 %", "ms/page"),
        ),
        [
            [
                *(row.web, row.target, row.contender, number(row.gap)),
                "" if row.low is None else f"{row.low:.2f} … {row.high:.2f}",
                *map(number, (row.auc, row.half, row.three_quarters, row.nine_tenths)),
                f"{row.milliseconds:.2f}",
            ]
            for row in table
        ],
        names=3,
    )
    if _several(table):
        ranked = "".join(
            f"\n  {mean:6.3f}  ({worst:.3f})  {who}" for who, mean, worst, _ in overall(table)
        )
        yield Prose(f"\nMean of the gaps closed over webs and targets (worst of them):{ranked}")


def figures(results: Results, rows: Cells, figure: Mapping[str, Any]) -> Iterator[Picture]:
    """Mean curves of some contenders, with published points; `axis` = `links`: over the links that
    were followed instead of the pages that were fetched."""
    chosen = figure.get("contenders") or results.contenders
    links = figure.get("axis") == "links"
    lines = mean_curves(
        [row for row in rows if contender_of(row) in chosen],
        of="links_reachable" if links else "reachable",
    )
    if figure.get("until"):
        lines = {
            name: [point for point in line if point[0] <= figure["until"]]
            for name, line in lines.items()
        }
    shown = {name: lines[name] for name in chosen if name in lines}
    name = slug(f"{results.name.rpartition('/')[2]} {figure['caption']}")[:60]
    x = "% of the links followed" if links else "% of the reachable pages fetched"
    yield Picture(name, _drawn(shown, figure.get("published"), x), figure["caption"])


MEASURE = "auc"
REPORT = Report(blocks, summary, figures)
