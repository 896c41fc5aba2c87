"""Experiments with fleets: every fleet, on every evolving web, by every seed.

In the file of an experiment: `kind = "fleets"`, `seeds`, and under `settings` the `webs` (name →
table for `spoor.worlds.import_evolving.make`), the `fleets` (names, or tables with `fleet`,
`settings` of it, and `seeds` for fewer than the experiment's), perhaps `days`. A finished cell is
kept under a hash of what it was and of the code that ran it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student

from spoor import registry
from spoor.errors import InputError
from spoor.files import write_whole
from spoor.lab.experiment import Experiment, data_folder
from spoor.lab.foragers import cell, graph_figures
from spoor.lab.sweep import code_digest
from spoor.lab.workers import finish
from spoor.views.plots import curves
from spoor.worlds.graph import degrees
from spoor.worlds.import_evolving import make

Tell = Callable[[int], None]
Cells = Sequence[Mapping[str, Any]]

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

CLAIMS = (
    ("sent efficiency", "sent_efficiency", 1.0),
    ("freshness", "freshness", 1.0),
    ("age", "age_hours", -1.0),
    ("relevant documents", "relevant", 1.0),
    ("download efficiency", "download_efficiency", 1.0),
)
"""(name, measure, 1 where more is better)."""

CONFIDENCE = 0.95


def plan(experiment: Experiment) -> list[dict[str, Any]]:
    """All cells of an experiment, as parameters. Raises InputError for what is missing."""
    told = experiment.settings
    for key in told:
        if key not in ("webs", "fleets", "days"):
            offer = registry.nearest(key, ["webs", "fleets", "days"])
            raise InputError(f"{experiment.name}: unknown setting {key!r}{offer}")
    webs, fleets = told.get("webs"), told.get("fleets")
    if not webs or not fleets:
        raise InputError(f"{experiment.name}: settings name webs and fleets")
    cells = []
    for web, spec in webs.items():
        for fleet in fleets:
            named: dict[str, Any] = {"fleet": fleet} if isinstance(fleet, str) else dict(fleet)
            registry.find("fleets", named["fleet"])
            for seed in range(named.pop("seeds", experiment.seeds)):
                params = {"name": web, "web": dict(spec), "seed": seed, **named}
                if "days" in told:
                    params["days"] = told["days"]
                cells.append(params)
    return cells


def run(
    plan: Sequence[dict[str, Any]], out: Path, *, jobs: int = 1, tell: Tell = lambda done: None
) -> list[dict[str, Any]]:
    """Run every cell that is not kept in `out` yet; the figures of all, in the plan's order."""
    # One process runs all fleets of a web: it makes the web once.
    return finish(
        _batch,
        plan,
        out,
        file=lambda params: _file(out, params),
        ground=lambda params: json.dumps(params["web"]),
        jobs=jobs,
        tell=tell,
    )


def _batch(batch: Sequence[dict[str, Any]], out: Path, done: Callable[[], None]) -> None:
    for params in batch:
        _work(params, out)
        done()


def _work(params: dict[str, Any], out: Path) -> None:
    figures = {"web": params["name"], **cell(params)}
    write_whole(_file(out, params), json.dumps(figures))


def _file(out: Path, params: Mapping[str, Any]) -> Path:
    said = json.dumps([params, code_digest()], sort_keys=True)
    return out / "cells" / f"fleet-{hashlib.sha256(said.encode()).hexdigest()[:24]}.json"


# ---------------------------------------------------------------- what they say


def interval(values: Sequence[float]) -> tuple[float, float | None]:
    """(mean, half of its 95 % interval by Student's t; None for a single run)."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, None
    spread = float(np.std(values, ddof=1)) / len(values) ** 0.5
    return mean, float(student.ppf(0.5 + CONFIDENCE / 2, len(values) - 1)) * spread


def difference(one: Sequence[float], other: Sequence[float]) -> tuple[float, float | None]:
    """(mean difference, half of its 95 % interval by Welch's t; None for single runs)."""
    gap = float(np.mean(one) - np.mean(other))
    if len(one) < 2 or len(other) < 2:
        return gap, None
    a, b = (float(np.var(values, ddof=1)) / len(values) for values in (one, other))
    if a + b == 0.0:
        return gap, 0.0
    freedom = (a + b) ** 2 / (a**2 / (len(one) - 1) + b**2 / (len(other) - 1))
    return gap, float(student.ppf(0.5 + CONFIDENCE / 2, freedom)) * (a + b) ** 0.5


def _groups(cells: Cells) -> dict[tuple[str, str], list[Mapping[str, Any]]]:
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in cells:
        groups.setdefault((row["web"], row["fleet"]), []).append(row)
    return groups


def values(cells: Cells, measure: str) -> list[float]:
    """A measure of some cells, those that have none left out."""
    return [float(row[measure]) for row in cells if row[measure] is not None]


def table(cells: Cells) -> str:
    """Table 2 for each web: measures by fleet, mean ± half of the 95 % interval over the runs."""
    groups = _groups(cells)
    parts: list[str] = []
    for web in dict.fromkeys(row["web"] for row in cells):
        fleets = [fleet for name, fleet in groups if name == web]
        named = [f"{fleet} ({len(groups[web, fleet])})" for fleet in fleets]
        head = f"**{web}** (runs in brackets)\n\n| measure | " + " | ".join(named) + " |\n"
        lines = [head + "| --- |" + " --- |" * len(fleets)]
        for measure in MEASURES:
            shown = [_shown(values(groups[web, fleet], measure)) for fleet in fleets]
            lines.append(f"| {measure.replace('_', ' ')} | " + " | ".join(shown) + " |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _shown(found: Sequence[float]) -> str:
    if not found:
        return "–"
    mean, half = interval(found)
    digits = 0 if abs(mean) >= 100 else 4 if abs(mean) < 0.1 else 3
    return f"{mean:,.{digits}f}" + ("" if half is None else f" ± {half:,.{digits}f}")


def claims(cells: Cells, one: str = "WL", other: str = "RL") -> str:
    """Whether one fleet is better than another, for each web and measure."""
    groups = _groups(cells)
    lines = [f"| web | measure | {one} − {other} | which is better |", "| --- | --- | --- | --- |"]
    for web in dict.fromkeys(row["web"] for row in cells):
        if (web, one) not in groups or (web, other) not in groups:
            continue
        for name, measure, sign in CLAIMS:
            pair = [values(groups[web, fleet], measure) for fleet in (one, other)]
            if not all(pair):
                continue
            gap, half = difference(*pair)
            sure = half is not None and abs(gap) > half
            better = (one if gap * sign > 0 else other) if sure else "undecided"
            digits = 1 if abs(gap) >= 10 else 4
            shown = f"{gap:+,.{digits}f}" + ("" if half is None else f" ± {half:,.{digits}f}")
            lines.append(f"| {web} | {name} | {shown} | {better} |")
    return "\n".join(lines)


def graphs(webs: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Name → the measures of section 4.1 of a web, and how many of its pages have at least so many
    links (Fig. 1: [log10 links, log10 pages])."""
    return {
        name: {**graph_figures(spec, sources=128), "cumulative": _cumulative(spec)}
        for name, spec in webs.items()
    }


def graph_table(graphs: Mapping[str, Mapping[str, Any]]) -> str:
    """The measures of `graphs` as a table."""
    lines = [
        "| web | pages | links | exponent out | exponent in | clustering | mean shortest path "
        "| undirected | pairs with a way |",
        "| --- |" + " --- |" * 8,
    ]
    for name, told in graphs.items():
        ways, both = told["distances"], told["undirected_distances"]
        laws = told.get("degrees", {})
        out, into = (_law(laws.get(way)) for way in ("out", "in"))
        clustering = told.get("clustering")
        lines.append(
            f"| {name} | {told['pages']:,} | {told['arcs']:,} | {out} | {into} "
            f"| {'–' if clustering is None else f'{clustering:.3f}'} "
            f"| {ways['mean']:.2f} ± {ways['error']:.2f} | {both['mean']:.2f} ± {both['error']:.2f}"
            f" | {ways['pairs']:.1%} |"
        )
    return "\n".join(lines)


def _law(law: Mapping[str, Any] | None) -> str:
    if law is None:
        return "–"
    return f"{law['alpha']:.2f} from {law['xmin']} (KS {law['distance']:.3f})"


def pictures(cells: Cells, web: str) -> dict[str, str]:
    """Name → SVG of Figures 2 and 3 for a web: the mean over the runs in 3-hour windows."""
    mine = [row for row in cells if row["web"] == web]
    fleets = list(dict.fromkeys(row["fleet"] for row in mine))

    def lines(of: Callable[[Sequence[Any]], float | None]) -> dict[str, list[list[float]]]:
        made = {}
        for fleet in fleets:
            points: dict[float, list[float]] = {}
            for row in mine:
                if row["fleet"] == fleet:
                    for window in row["windows"]:
                        value = of(window)
                        if value is not None:
                            points.setdefault(window[0] / 86400.0, []).append(value)
            made[fleet] = [[day, float(np.mean(found))] for day, found in sorted(points.items())]
        return made

    drawn = (
        ("fig2", lines(lambda w: w[3] / max(1, w[1])), "download efficiency"),
        ("fig3-freshness", lines(lambda w: w[6]), "freshness"),
        ("fig3-age", lines(lambda w: w[7]), "age, hours"),
    )
    return {name: curves(found, x="days", y=y) for name, found, y in drawn}


def _cumulative(spec: Mapping[str, Any]) -> dict[str, list[list[float]]]:
    indptr, indices = make(dict(spec), data_folder()).arcs()
    lines = {}
    for name, degree in zip(("links out", "links in"), degrees(indptr, indices), strict=True):
        counts = np.bincount(degree)[1:]
        above = counts[::-1].cumsum()[::-1]
        at = np.flatnonzero(counts)
        lines[name] = np.column_stack([np.log10(at + 1.0), np.log10(above[at])]).tolist()
    return lines


def degree_picture(graph: Mapping[str, Any]) -> str:
    """Figure 1 as an SVG: pages with at least so many links, both axes in powers of ten."""
    return curves(
        graph["cumulative"], x="log₁₀ links", y="log₁₀ pages with as many or more", size=(8.0, 4.2)
    )
