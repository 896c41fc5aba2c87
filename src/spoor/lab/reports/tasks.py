"""The report of an experiment of tasks: Figures 1 to 3 of Han et al. (2018), in numbers too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from spoor.lab.intervals import student_interval
from spoor.lab.pages import Block, Grid, Heading, Picture, slug
from spoor.lab.reports.matrix import matrix_blocks
from spoor.lab.reports.report import Report
from spoor.lab.results import Cells, Results, grouped
from spoor.views.line_chart import line_chart

MEASURE = "found_share"

CAPTIONS = {
    "fig1": "relevant pages found against pages fetched, mean of all tasks (Fig. 1)",
    "fig2": "relevant pages found by relevance (Fig. 2)",
    "fig3": "relevant pages found a task, mean of the trials (Fig. 3)",
}


def blocks(results: Results) -> Iterator[Block]:
    """Table, comparisons and figures."""
    yield Heading("Relevant pages a task")
    yield table(results.rows)
    yield from matrix_blocks([results], MEASURE)
    for (topic,), rows in grouped(results.rows, "topic").items():
        for name, svg in pictures(rows).items():
            yield Picture(slug(f"{name} {topic}"), svg, f"{topic}: {CAPTIONS[name]}")


def summary(results: Results) -> Iterator[Block]:
    """The table."""
    yield table(results.rows)


def figures(results: Results, rows: Cells, figure: Mapping[str, Any]) -> Iterator[Picture]:
    """One figure of each topic."""
    name = figure["figure"]
    for (topic,), mine in grouped(rows, "topic").items():
        caption = f"{figure['caption']}: {topic}"
        yield Picture(slug(f"{name} {topic}"), pictures(mine)[name], caption)


REPORT = Report(blocks, summary, figures, target_key="topic")


# ---------------------------------------------------------------- the table


def table(rows: Cells) -> Grid:
    """By topic and policy, what the experiment's figure of the paper shows, in numbers: means ±
    half of their 95 % interval over the trials. Without a figure: relevant pages of the first and
    the last task, and of all, and their ratio to the first policy's."""
    head, columns = _COLUMNS[rows[0].get("figure", "")]
    last = max(row["task"] for row in rows)
    lines = []
    for (topic,), of_topic in grouped(rows, "topic").items():
        contenders = grouped(of_topic, "contender")
        first = next(iter(contenders.values()))
        lines += [
            [topic, contender, *columns(mine, first, last)]
            for (contender,), mine in contenders.items()
        ]
    return Grid(("topic", "policy", *head(last)), lines, names=2)


def _by_trial(rows: Cells, value: Callable[[Mapping[str, Any]], float]) -> list[float]:
    """Mean over the tasks of each trial."""
    trials = grouped(rows, "seed").values()
    return [float(np.mean([value(row) for row in trial])) for trial in trials]


def _overview(mine: Cells, first: Cells, last: int) -> list[str]:
    own = max(row["task"] for row in mine)
    relevant, plain = (_by_trial(some, lambda row: row["found"]) for some in (mine, first))
    ratio = f"{np.mean(relevant) / np.mean(plain):.2f}" if any(plain) else "–"
    return [
        *(_shown([row["found"] for row in mine if row["task"] == task]) for task in (1, own)),
        _shown(relevant),
        ratio,
        f"{np.mean([row['cpu_seconds'] for row in mine]):.1f}",
    ]


def _by_quarter(mine: Cells, first: Cells, last: int) -> list[str]:
    def relevant(quarter: int) -> Callable[[Mapping[str, Any]], float]:
        return lambda row: float(row["curve"][(len(row["curve"]) - 1) * quarter // 4][1])

    return [_shown(_by_trial(mine, relevant(quarter))) for quarter in range(1, 5)]


def _by_relevance(mine: Cells, first: Cells, last: int) -> list[str]:
    def relevant(tenth: int) -> Callable[[Mapping[str, Any]], float]:
        return lambda row: float(row["intervals"][tenth])

    return [_shown(_by_trial(mine, relevant(tenth))) for tenth in range(10)]


def _by_task(mine: Cells, first: Cells, last: int) -> list[str]:
    return [_shown(relevant) for relevant in _relevant_by_task(mine, last)]


def _relevant_by_task(rows: Cells, last: int) -> list[list[float]]:
    """Relevant pages of each trial, task by task; a policy that crawls once repeats its task."""
    own = max(row["task"] for row in rows)
    return [
        [float(row["found"]) for row in rows if row["task"] == min(task, own)]
        for task in range(1, last + 1)
    ]


def _cost(mine: Cells, first: Cells, last: int) -> list[str]:
    seconds, plain = (_by_trial(some, lambda row: row["cpu_seconds"]) for some in (mine, first))
    ratios = [own / other for own, other in zip(seconds, plain, strict=False)]
    return [f"{np.median(seconds):.2f}", f"{np.median(ratios):.2f}", str(len(seconds))]


_COLUMNS: Mapping[str, tuple[Callable[[int], list[str]], Callable[[Cells, Cells, int], list[str]]]]
_COLUMNS = {
    "": (
        lambda last: ["first task", "last task", "all", "against the first policy", "CPU s a task"],
        _overview,
    ),
    "fig1": (lambda last: ["¼ of the pages fetched", "½", "¾", "all"], _by_quarter),
    "fig2": (lambda last: [f".{tenth}–" for tenth in range(10)], _by_relevance),
    "fig3": (lambda last: [f"task {task}" for task in range(1, last + 1)], _by_task),
    "cost": (
        lambda last: ["CPU s a task, median", "against the first policy, median", "trials"],
        _cost,
    ),
}


def _shown(counts: Sequence[float]) -> str:
    mean, half = student_interval(counts)
    return f"{mean:.0f}" if not half else f"{mean:.0f} ± {half:.0f}"


# ---------------------------------------------------------------- the figures


def pictures(rows: Cells) -> dict[str, str]:
    """The three figures of the paper for one topic, as SVG: relevant pages against step (mean of
    all tasks), by relevance, and against task (mean of the trials)."""
    fig1, fig2, fig3 = {}, {}, {}
    last = max(row["task"] for row in rows)
    for (contender,), mine in grouped(rows, "contender").items():
        fig1[contender] = np.mean([row["curve"] for row in mine], axis=0).tolist()
        levels = np.mean([row["intervals"] for row in mine], axis=0).tolist()
        fig2[contender] = [[(tenth + 0.5) / 10, count] for tenth, count in enumerate(levels)]
        means = [float(np.mean(relevant)) for relevant in _relevant_by_task(mine, last)]
        fig3[contender] = [[task, count] for task, count in enumerate(means, 1)]
    return {
        name: line_chart(lines, x=x, y="relevant pages found")
        for name, lines, x in (
            ("fig1", fig1, "pages fetched"),
            ("fig2", fig2, "relevance"),
            ("fig3", fig3, "task"),
        )
    }
