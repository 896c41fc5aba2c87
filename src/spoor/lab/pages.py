"""Pages that people read, of what an experiment found: one text, as Markdown and as one HTML file.

A page is blocks in order; everything in them is plain text, with `code` and **strong** words, and
is escaped where it is written out.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, select_autoescape
from markupsafe import Markup, escape

from spoor import registry
from spoor.display import printable
from spoor.lab import compare, fleet_experiment, shard_experiment, tables, task_experiment
from spoor.lab.results import Results
from spoor.views.plots import curves


@dataclass(frozen=True, slots=True)
class Heading:
    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Prose:
    """Paragraphs, parted by empty lines."""

    text: str


@dataclass(frozen=True, slots=True)
class Grid:
    """A table."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Picture:
    """An SVG under its name."""

    name: str
    svg: str
    caption: str


Block = Heading | Prose | Grid | Picture


@dataclass(frozen=True, slots=True)
class Page:
    title: str
    lead: str
    blocks: Sequence[Block]
    foot: str = ""


# ---------------------------------------------------------------- written out


def markdown(page: Page, prefix: str = "") -> str:
    """The page as Markdown; pictures are files beside it, their names after `prefix`."""
    parts = [f"# {_plain(page.title)}", page.lead.strip()]
    for block in page.blocks:
        if isinstance(block, Heading):
            parts.append(f"{'#' * block.level} {_plain(block.text)}")
        elif isinstance(block, Prose):
            paragraphs = block.text.strip().split("\n\n")
            parts += [textwrap.fill(" ".join(told.split()), 118) for told in paragraphs]
        elif isinstance(block, Grid):
            lines = [block.head, ["---"] * len(block.head), *block.rows]
            parts.append("\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines))
        else:
            parts.append(f"![{_plain(block.caption)}]({prefix}{block.name}.svg)")
            parts.append(f"*{_plain(block.caption)}*")
    parts.append(page.foot.strip())
    return "\n\n".join(part for part in parts if part) + "\n"


def _plain(text: str) -> str:
    return printable(" ".join(text.split())).replace("[", "(").replace("]", ")")


def _cell(text: str) -> str:
    return _plain(str(text)).replace("|", "\\|").replace("<", "&lt;")


def html(page: Page) -> str:
    """The page as one HTML file that opens without a network and asks nothing of anyone."""
    environment = Environment(
        loader=PackageLoader("spoor.lab"), autoescape=select_autoescape(default=True)
    )
    environment.filters["inline"] = inline
    return environment.get_template("page.html.jinja").render(
        page=page, blocks=[(type(block).__name__, block) for block in page.blocks], svg=Markup
    )


_CODE = re.compile(r"`([^`]+)`")
_STRONG = re.compile(r"\*\*([^*]+)\*\*")


def inline(text: str) -> Markup:
    """Escaped text with its `code` and **strong** words marked up."""
    safe = str(escape(printable(" ".join(str(text).split()))))
    safe = _CODE.sub(r"<code>\1</code>", safe)
    return Markup(_STRONG.sub(r"<strong>\1</strong>", safe))


def write(page: Page, folder: Path) -> Path:
    """Write `report.html`, `report.md` and the pictures of a page; returns the HTML file."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.md").write_text(markdown(page), encoding="utf-8")
    _write_pictures(page, folder, "")
    target = folder / "report.html"
    target.write_text(html(page), encoding="utf-8")
    return target


def write_docs(page: Page, folder: Path, name: str) -> Path:
    """Write a page for a documentation: `NAME.md` and its pictures `NAME-….svg`. Pictures of an
    earlier page of this name go."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f"{name}-*.svg"):
        old.unlink()
    target = folder / f"{name}.md"
    target.write_text(markdown(page, f"{name}-"), encoding="utf-8")
    _write_pictures(page, folder, f"{name}-")
    return target


def _write_pictures(page: Page, folder: Path, prefix: str) -> None:
    for block in page.blocks:
        if isinstance(block, Picture):
            (folder / f"{prefix}{block.name}.svg").write_text(block.svg + "\n", encoding="utf-8")


def slug(text: str) -> str:
    """A text as part of a file's name."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


# ---------------------------------------------------------------- of an experiment


def report(results: Results) -> Page:
    """What an experiment found: its table with intervals, who beats whom, and its curves."""
    blocks = [*blocks_of(results), *settings_blocks(results)]
    return Page(results.title, results.about, blocks, foot=foot([results]))


def foot(results: Sequence[Results]) -> str:
    """What made the figures."""
    made = {(item.made["spoor"], item.made["code"]) for item in results}
    said = ", ".join(f"Spoor {version} (code {code})" for version, code in sorted(made))
    names = ", ".join(f"`{item.name}`" for item in results)
    return f"Made by `spoor lab run` and `spoor lab report` from {names}; {said}."


def blocks_of(results: Results) -> Iterator[Block]:
    """Tables and pictures of an experiment, by its kind."""
    parts = {
        "harvest": harvest_blocks,
        "tasks": task_blocks,
        "fleets": fleet_blocks,
        "shards": shard_blocks,
    }
    return parts[results.kind](results)


def harvest_blocks(results: Results) -> Iterator[Block]:
    """Tables, comparisons and curves of replays."""
    table = tables.rows(results.rows)
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
                row.web,
                row.target,
                row.contender,
                number(row.gap),
                between(row.low, row.high),
                number(row.worst),
                number(row.auc),
                number(row.half),
                number(row.three_quarters),
                number(row.nine_tenths),
                f"{row.found:.3f}",
                f"{row.milliseconds:.2f}",
            ]
            for row in table
        ],
    )
    yield from ranking(table)
    yield from matrix_blocks([results])
    for web, target in dict.fromkeys((row["web"], row["target"]) for row in results.rows):
        mine = [row for row in results.rows if (row["web"], row["target"]) == (web, target)]
        lines = tables.mean_curves(mine)
        if lines:
            yield Picture(
                slug(f"{web} {target}"),
                curves(
                    lines,
                    x="% of the reachable pages fetched",
                    y="% of the targets found",
                    size=(8.0, 4.2),
                ),
                f"{target} on {web}: targets found against pages fetched, mean of all crawls",
            )


def ranking(table: Sequence[tables.Row]) -> Iterator[Block]:
    """Contenders by their mean gap."""
    ranked = tables.overall(table)
    if len({(row.web, row.target) for row in table}) > 1 and ranked:
        yield Grid(
            ("policy", "mean gap closed", "worst web and target"),
            [[who, f"{mean:.3f}", f"{worst:.3f}"] for who, mean, worst, _ in ranked],
        )


def matrix_blocks(results: Sequence[Results], measure: str = "") -> Iterator[Block]:
    """Who beats whom, as a matrix of wins, ties and losses, and those who never lose."""
    rivals = [
        replace(item, rows=[row for row in item.rows if row.get("policy") not in registry.LAB_ONLY])
        for item in results
    ]
    measure = measure or compare.MEASURE[results[0].kind]
    if all(compare.value(row, measure) is None for item in rivals for row in item.rows):
        return  # no target could be reached
    found = compare.matrix(rivals, measure=measure)
    if not any(told.p is not None for told in found.values()):
        return
    names = list(dict.fromkeys(one for one, _ in found))
    yield Heading("Who beats whom")
    yield Prose(
        f"The row against the column, by `{measure}`: W wins and L loses at 95 % (paired by site "
        "and target, seeds averaged; bootstrap interval of the difference and permutation test, "
        f"corrected after Holm for {len(found) // 2} comparisons); w and l without the correction "
        "only; = is a tie: the crawls cannot tell."
        + (" In brackets the mean difference." if len(names) <= WIDE else "")
        + " Whoever knows the whole web is left out."
    )
    yield Grid(
        ("", *(f"{at}" for at in range(1, len(names) + 1))),
        [
            [
                f"{at} {one}",
                *(_mark(found.get((one, other)), len(names) <= WIDE) for other in names),
            ]
            for at, one in enumerate(names, 1)
        ],
    )
    counts = []
    for name in names:
        mine = [told for (one, _), told in found.items() if one == name]
        counts.append(
            [
                name,
                *(str(sum(told.verdict == what for told in mine)) for what in ("win", "tie")),
                str(sum(told.verdict == "loss" for told in mine)),
                str(sum(told.uncorrected == "loss" for told in mine)),
            ]
        )
    counts.sort(key=lambda row: (int(row[4]), int(row[3]), -int(row[1])))
    yield Grid(("policy", "wins", "ties", "losses", "losses without correction"), counts)
    safe = compare.never_losing(found)
    yield Prose(
        "Wins or ties (95 %) against every other, even without the correction: "
        + (", ".join(f"`{name}`" for name in safe) if safe else "none")
        + "."
    )


WIDE = 9
"""Contenders up to which a matrix shows differences."""


def _mark(told: compare.Comparison | None, differences: bool) -> str:
    if told is None:
        return ""
    if told.p is None:
        return "one crawl"
    marks = {"win": "W", "loss": "L"}
    mark = marks.get(told.verdict) or marks.get(told.uncorrected, "=").lower()
    return f"{mark} ({told.difference:+.3f})" if differences else mark


def task_blocks(results: Results) -> Iterator[Block]:
    """Tables and figures of tasks."""
    yield Heading("Relevant pages a task")
    yield _grid_of(task_experiment.table(results.rows))
    yield from matrix_blocks([results])
    for topic in dict.fromkeys(row["topic"] for row in results.rows):
        for name, svg in task_experiment.figures(results.rows, topic).items():
            yield Picture(slug(f"{name} {topic}"), svg, f"{topic}: {TASK_FIGURES[name]}")


TASK_FIGURES = {
    "fig1": "relevant pages found against pages fetched, mean of all tasks (Fig. 1)",
    "fig2": "relevant pages found by relevance (Fig. 2)",
    "fig3": "relevant pages found a task, mean of the trials (Fig. 3)",
}


def fleet_blocks(results: Results) -> Iterator[Block]:
    """Tables and figures of fleets."""
    yield Heading("Measures")
    yield Prose("Means over the runs (in brackets) ± half of the 95 % interval, by Student's t.")
    yield from _parts_of(fleet_experiment.table(results.rows))
    claims = fleet_experiment.claims(results.rows)
    if claims.count("\n") > 1:
        yield Heading("Weblog update against reinforcement learning")
        yield Prose("Differences with 95 % intervals by Welch's t; more is better but for age.")
        yield _grid_of(claims)
    known = results.more.get("graphs", {})
    if known:
        yield Heading("The graphs")
        yield Prose("Links over the whole time: the measures of section 4.1 of the paper.")
        yield _grid_of(fleet_experiment.graph_table(known))
    for web, graph in known.items():
        caption = f"{web}: pages with as many links or more (Fig. 1)"
        yield Picture(slug(f"{web} fig1"), fleet_experiment.degree_picture(graph), caption)
    for web in dict.fromkeys(row["web"] for row in results.rows):
        for name, svg in fleet_experiment.pictures(results.rows, web).items():
            caption = f"{web}: {FLEET_FIGURES[name]}, mean over the runs in 3-hour windows"
            yield Picture(slug(f"{web} {name}"), svg, caption)


FLEET_FIGURES = {
    "fig2": "download efficiency (Fig. 2)",
    "fig3-freshness": "freshness (Fig. 3)",
    "fig3-age": "age (Fig. 3)",
}


def shard_blocks(results: Results) -> Iterator[Block]:
    """Tables and pictures of crawls in shards."""
    yield Heading("What splitting costs, and learning together gives")
    yield Prose(
        "Harvest: the share of the pages fetched that are wanted, with the same pages in all. "
        "Means over targets and divisions of the hosts; differences in points, with 95 % intervals "
        "over these (Student's t below ten, bootstrap from ten on), which speak of this web and "
        "not of others. A dash: the policy cannot share, or the pages ended before it did."
    )
    head, *rows = shard_experiment.harvest(results.rows)
    yield Grid(head, rows)
    yield Heading("What the exchange costs")
    yield Prose("A page fetched, learning together where the policy can; means.")
    head, *rows = shard_experiment.traffic(results.rows)
    yield Grid(head, rows)
    for web in dict.fromkeys(row["web"] for row in results.rows):
        caption = f"{web}: harvest against the number of shards, with the same pages in all"
        yield Picture(slug(web), shard_experiment.picture(results.rows, web), caption)


def _parts_of(text: str) -> Iterator[Block]:
    for part in text.split("\n\n"):
        yield _grid_of(part) if part.startswith("|") else Prose(part)


def _grid_of(text: str) -> Grid:
    rows = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in text.split("\n")]
    return Grid(rows[0], rows[2:])


def settings_blocks(results: Results) -> Iterator[Block]:
    """What was run, so that it can be run again."""
    told = results.settings
    yield Heading("Settings")
    rows = [["experiment", f"`{results.name}`"]]
    keys = [key for key in ("seeds", "pages", "share", "in_flight") if told.get(key) is not None]
    rows += [[key, str(told[key])] for key in keys]
    rows.append(["cells", f"{len(results.rows):,}"])
    for policy in told.get("policies", ()):
        said = _said(
            {**policy["params"], **({"train": policy["train"]} if policy["train"] else {})}
        )
        training = f"; training: {_said(policy['training'])}" if policy["training"] else ""
        rows.append([policy["name"], f"`{policy['policy']}` {said}{training}"])
    for key, setting in told.get("settings", {}).items():
        if isinstance(setting, int | float | str):
            rows.append([key, str(setting)])
    yield Grid(("setting", "value"), rows)


def _said(params: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in params.items())


def number(value: float | None, digits: int = 3) -> str:
    """A figure, or a dash."""
    return "–" if value is None or np.isnan(value) else f"{value:.{digits}f}"


def between(low: float | None, high: float | None, digits: int = 3) -> str:
    """An interval, or a dash."""
    return "–" if low is None or high is None else f"{low:.{digits}f} … {high:.{digits}f}"
