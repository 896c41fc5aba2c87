"""The report of an experiment with fleets: Table 2 and Figures 1 to 3 of Palotai et al. (2005)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spoor.durations import DAY
from spoor.lab import compare
from spoor.lab.intervals import student_interval
from spoor.lab.pages import Block, Grid, Heading, Picture, Prose, slug
from spoor.lab.reports.report import Report
from spoor.lab.results import Cells, Results, contender_of, grouped
from spoor.views.line_chart import line_chart

MEASURES = (
    "downloaded",
    "sent",
    "relevant",
    "found_urls",
    "download_efficiency",
    "sent_efficiency",
    "relative_found_url",
    "freshness",
    "age_hours",
    "share_found",
    "delay_hours",
)
"""The lines of Table 2, and two of ours."""

CLAIMS = ("sent_efficiency", "freshness", "age_hours", "relevant", "download_efficiency")
"""Measures by which two fleets are compared."""

CAPTIONS = {
    "fig2": "download efficiency (Fig. 2)",
    "fig3-freshness": "freshness (Fig. 3)",
    "fig3-age": "age (Fig. 3)",
}


def blocks(results: Results) -> Iterator[Block]:
    """Tables and figures."""
    yield Heading("Measures")
    yield Prose("Means over the runs (in brackets) ± half of the 95 % interval, by Student's t.")
    yield from tables(results.rows)
    compared = claims(results)
    if compared.rows:
        yield Heading("Weblog update against reinforcement learning")
        yield Prose(
            "Over webs, as `spoor lab compare` has it; positive where weblog update is better."
        )
        yield compared
    graphs = results.more.get("graphs", {})
    if graphs:
        yield Heading("The graphs")
        yield Prose("Links over the whole time: the measures of section 4.1 of the paper.")
        yield graph_table(graphs)
    for web, graph in graphs.items():
        caption = f"{web}: pages with as many links or more (Fig. 1)"
        yield Picture(slug(f"{web} fig1"), degree_picture(graph), caption)
    for (web,), rows in grouped(results.rows, "web").items():
        for name, svg in pictures(rows).items():
            caption = f"{web}: {CAPTIONS[name]}, mean over the runs in 3-hour windows"
            yield Picture(slug(f"{web} {name}"), svg, caption)


def summary(results: Results) -> Iterator[Block]:
    """The tables of measures and of differences."""
    yield from tables(results.rows)
    yield claims(results)


def figures(results: Results, rows: Cells, figure: Mapping[str, Any]) -> Iterator[Picture]:
    """One figure of one web."""
    web, name = figure["web"], figure["figure"]
    mine = [row for row in rows if row["web"] == web]
    yield Picture(slug(f"{name} {web}"), pictures(mine)[name], figure["caption"])


REPORT = Report(blocks, summary, figures)


# ---------------------------------------------------------------- tables


def tables(rows: Cells) -> Iterator[Block]:
    """Table 2 for each web: measures by fleet, mean ± half of the 95 % interval over the runs."""
    for (web,), of_web in grouped(rows, "web").items():
        fleets = _by_fleet(of_web)
        yield Prose(f"**{web}** (runs in brackets)")
        yield Grid(
            ("measure", *(f"{fleet} ({len(runs)})" for fleet, runs in fleets.items())),
            [
                [
                    measure.replace("_", " "),
                    *(_shown(values(runs, measure)) for runs in fleets.values()),
                ]
                for measure in MEASURES
            ],
        )


def _by_fleet(rows: Cells) -> dict[str, list[Mapping[str, Any]]]:
    """Name of a fleet → its runs."""
    fleets: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        fleets.setdefault(contender_of(row), []).append(row)
    return fleets


def values(rows: Cells, measure: str) -> list[float]:
    """A measure of some runs, without those that have none."""
    return [float(row[measure]) for row in rows if row[measure] is not None]


def _shown(numbers: Sequence[float]) -> str:
    if not numbers:
        return "–"
    mean, half = student_interval(numbers)
    digits = 0 if abs(mean) >= 100 else 4 if abs(mean) < 0.1 else 3
    return f"{mean:,.{digits}f}" + ("" if half is None else f" ± {half:,.{digits}f}")


def claims(results: Results) -> Grid:
    """Whether the weblog learners (WL) or the reinforcement learners (RL) are better, for each web
    and measure, by the rule of `spoor.lab.compare`."""
    lines = []
    for (web,), rows in grouped(results.rows, "web").items():
        for measure in CLAIMS:
            pairs = compare.units([replace(results, rows=rows)], measure)
            both = [(it["WL"], it["RL"]) for it in pairs.values() if {"WL", "RL"} <= it.keys()]
            if not both:
                continue
            told = compare.paired("WL", "RL", both, less=measure in compare.LESS_IS_BETTER)
            better = {"win": "WL", "loss": "RL"}.get(told.uncorrected, compare.UNTOLD)
            _, difference, inside, *_ = compare.line(told)[1:]
            lines.append(
                [web, measure.replace("_", " "), difference, inside, str(len(both)), better]
            )
    return Grid(("web", "measure", "difference", "95 %", "webs", "which is better"), lines)


def graph_table(graphs: Mapping[str, Mapping[str, Any]]) -> Grid:
    """The measures of the links of each web."""
    lines = []
    for name, graph in graphs.items():
        laws = graph.get("degrees", {})
        clustering = graph.get("clustering")
        paths = [graph["distances"], graph["undirected_distances"]]
        lines.append(
            [
                *(name, f"{graph['pages']:,}", f"{graph['arcs']:,}"),
                *(_law(laws.get(direction)) for direction in ("out", "in")),
                "–" if clustering is None else f"{clustering:.3f}",
                *(f"{path['mean']:.2f} ± {path['error']:.2f}" for path in paths),
                f"{paths[0]['pairs']:.1%}",
            ]
        )
    head = (
        *("web", "pages", "links", "exponent out", "exponent in", "clustering"),
        *("mean shortest path", "undirected", "pairs with a way"),
    )
    return Grid(head, lines)


def _law(law: Mapping[str, Any] | None) -> str:
    if law is None:
        return "–"
    return f"{law['alpha']:.2f} from {law['xmin']} (KS {law['distance']:.3f})"


# ---------------------------------------------------------------- pictures


def pictures(rows: Cells) -> dict[str, str]:
    """Name → SVG of Figures 2 and 3 for one web: the mean over the runs in 3-hour windows."""

    def lines(value_of: Callable[[Sequence[Any]], float | None]) -> dict[str, list[list[float]]]:
        means = {}
        for fleet, runs in _by_fleet(rows).items():
            points: dict[float, list[float]] = {}
            for window in (window for run in runs for window in run["windows"]):
                value = value_of(window)
                if value is not None:
                    points.setdefault(window[0] / DAY, []).append(value)
            means[fleet] = [[day, float(np.mean(some))] for day, some in sorted(points.items())]
        return means

    drawn = (
        ("fig2", lines(lambda w: w[3] / max(1, w[1])), "download efficiency"),
        ("fig3-freshness", lines(lambda w: w[6]), "freshness"),
        ("fig3-age", lines(lambda w: w[7]), "age, hours"),
    )
    return {name: line_chart(means, x="days", y=y) for name, means, y in drawn}


def degree_picture(graph: Mapping[str, Any]) -> str:
    """Figure 1 as an SVG: pages with at least so many links, both axes in powers of ten."""
    return line_chart(
        graph["cumulative"], x="log₁₀ links", y="log₁₀ pages with as many or more", size=(8.0, 4.2)
    )
