"""The report of an experiment with judges: what each tells, by half, by language, by form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from spoor.lab.pages import Block, Grid, Heading, Picture, Prose, number
from spoor.lab.reports.report import Report
from spoor.lab.results import Cells, Results, grouped

FIGURES = ("precision", "recall", "f1", "average_precision", "best_f1")
HEAD = ("judge", "judged", "tasks", "precision", "recall", "F1", "average precision", "best F1")
TYPED = "as typed"
DEFAULT = "relevance"
SHARES = (0.0, 0.05, 0.1, 0.2, 0.4, 1.0)


def blocks(results: Results) -> Iterator[Block]:
    """All tables."""
    every = [row for row in results.rows if not row["crawl"]]
    rows = [row for row in every if row["form"] == TYPED]
    halves = grouped(rows, "half")
    yield Prose(
        "Means over tasks. **judged**: at `arrival`, each page once in breadth-first order, or at "
        "the `end`, with all revisions. **best F1**: at the threshold that is best for the very "
        "task, which nobody knows; its distance from F1 is what the cut costs. The classifier is "
        "told all labels, and judges each page by a model of the other pages: it is no rival."
    )
    for (half,), mine in halves.items():
        yield Heading(f"Words as typed: the half for {half}")
        yield from with_and_without_added(mine, means)
        yield Heading("By group", 3)
        yield Prose(
            "Of `relevance`, at the end: precision, recall, F1, average precision and best F1; of "
            "the others: F1."
        )
        yield from with_and_without_added(mine, lambda some: by_group(some, "language"))
    yield from by_share(results.rows)
    yield Heading("Forms of one wish")
    yield Prose(
        "At the end, over the tasks that have the form, beside the same tasks as typed. The last "
        "two columns are F1 at the best threshold: what a form loses there, no cut can give back."
    )
    for (half,), mine in grouped(every, "half").items():
        yield Heading(f"The half for {half}", 3)
        yield from with_and_without_added(mine, by_form)
    yield Heading("Examples without negatives")
    examples = [row for row in every if row["form"].endswith("examples")]
    for (half,), mine in grouped(examples, "half").items():
        yield Heading(f"The half for {half}", 3)
        yield from with_and_without_added(mine, lambda some: means(some, "form"))
    yield Heading("Each task")
    for (half,), mine in halves.items():
        yield Heading(f"The half for {half}", 3)
        yield by_group(mine, "web", "words")


def summary(results: Results) -> Iterator[Block]:
    """The means over all tasks."""
    rows = [row for row in results.rows if row["form"] == TYPED]
    yield means([row for row in rows if not row["crawl"]])
    crawls = [row for row in rows if row["crawl"]]
    if crawls:
        yield means(crawls, "crawl")


def figures(results: Results, rows: Cells, figure: Mapping[str, Any]) -> Iterator[Picture]:
    """None."""
    return iter(())


REPORT = Report(blocks, summary, figures, target_key="words")


def with_and_without_added(rows: Cells, table: Callable[[Cells], Grid]) -> Iterator[Block]:
    """The table of all tasks, and that of those which were there before others were added."""
    yield table(rows)
    first = [row for row in rows if not row["added"]]
    if first and len(first) < len(rows):
        yield Prose("The same without the tasks that were added later:")
        yield table(first)


def means(rows: Cells, *more: str) -> Grid:
    """By judge and moment: means over tasks."""
    lines = []
    for names, mine in grouped(rows, "contender", *more, "when").items():
        shown = [" · ".join(map(str, names[:-1])), names[-1], str(len(mine))]
        lines.append([*shown, *(number(_mean(mine, key)) for key in FIGURES)])
    return Grid(HEAD, lines, names=2)


def by_share(rows: Cells) -> Iterator[Block]:
    """Of the default judge, where pages of focused crawls were judged too: by half, by the pages of
    a crawl, and by the share of the pages that is wanted."""
    crawls = [row for row in rows if row["crawl"]]
    if not crawls:
        return
    yield Heading("In focused crawls")
    yield Prose(
        "The first 50, 100 and 300 pages that a crawl for the wish fetches, by `trail` with this "
        "very judge, of half the web at most: each page once as it came (`arrival`), and with all "
        "revisions (`end`)."
    )
    for (half,), mine in grouped(crawls, "half").items():
        yield Heading(f"The half for {half}", 3)
        yield means(mine, "crawl")
    yield Heading("By the share of pages that is wanted", 3)
    yield Prose("At the end: all orders of pages, breadth-first ones and those of focused crawls.")
    end = [row for row in rows if row["form"] == TYPED and row["when"] == "end"]
    end = [row for row in end if row["contender"] == DEFAULT]
    lines = []
    for order in ("breadth-first", "focused crawl"):
        for low, high in pairwise(SHARES):
            some = [row for row in end if bool(row["crawl"]) == (order == "focused crawl")]
            some = [row for row in some if low <= row["wanted"] / row["pages"] < high]
            if some:
                shown = [order, f"{low:.0%} to {high:.0%}", str(len(some))]
                lines.append([*shown, *(number(_mean(some, key)) for key in FIGURES)])
    yield Grid(("pages", "wanted", *HEAD[2:]), lines, names=2)


def by_group(rows: Cells, *keys: str) -> Grid:
    """By group of tasks: all figures of the default judge at the end, its F1 at arrival, and the F1
    of every other judge."""
    others = [name for name in dict.fromkeys(row["contender"] for row in rows) if name != DEFAULT]
    lines = []
    for names, mine in grouped(rows, *keys).items():
        own = [row for row in mine if row["contender"] == DEFAULT]
        end = [row for row in own if row["when"] == "end"]
        arrival = [row for row in own if row["when"] == "arrival"]
        wanted = str(len(end))
        if len(end) == 1:
            wanted = f"{end[0]['wanted']} of {end[0]['pages']}"
        line = [*names, wanted, number(_mean(arrival, "f1"))]
        line += [number(_mean(end, key)) for key in FIGURES]
        for name in others:
            line.append(number(_mean([row for row in mine if row["contender"] == name], "f1")))
        lines.append(line)
    head = ("tasks" if len(keys) == 1 else "wanted", "F1 at arrival", *HEAD[3:], *others)
    return Grid((*keys, *head), lines, names=len(keys) + 1)


def by_form(rows: Cells) -> Grid:
    """Mean F1 of the forms of a wish, and F1 at the best threshold, beside the same tasks as they
    are typed."""
    lines = []
    for (name,), mine in grouped(rows, "contender").items():
        some = [row for row in mine if row["when"] == ("end" if name == DEFAULT else "arrival")]
        typed = {(row["web"], row["words"]): row for row in some if row["form"] == TYPED}
        for (form,), those in grouped(some, "form").items():
            if form == TYPED or form.endswith("examples"):
                continue
            base = [typed[row["web"], row["words"]] for row in those]
            figures = [_mean(rows, key) for key in ("f1", "best_f1") for rows in (those, base)]
            shown = [name, form, str(len(those)), *map(number, figures)]
            lines.append([*shown[:5], f"{figures[0] - figures[1]:+.3f}", *shown[5:]])
    head = ("judge", "form", "tasks", "F1", "as typed", "difference", "best F1", "as typed")
    return Grid(head, lines, names=2)


def _mean(rows: Sequence[Mapping[str, Any]], key: str) -> float:
    return float(np.mean([row[key] for row in rows])) if rows else float("nan")
