"""The report of how links are sorted into bins: figures by target and model, and words by class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from spoor.lab import compare
from spoor.lab.kinds.bins import MEASURES
from spoor.lab.pages import Block, Grid, Heading, Picture, Prose
from spoor.lab.reports.report import Report
from spoor.lab.results import Cells, Results, grouped

HEAD = {
    "accuracy": "accuracy",
    "accuracy_on_two": "on 2 bins",
    "recall": "recall of Q ≥ 1",
    "recall_of_rest": "of the rest",
    "largest_bin": "always the largest bin",
}


def blocks(results: Results) -> Iterator[Block]:
    """Means over the sites; and the words of one site's model."""
    yield Prose("Means over the sites. “On 2 bins”: all bins but the first taken as one.")
    yield table(results.rows)
    yield from words(results.rows)


def summary(results: Results) -> Iterator[Block]:
    """The table of figures."""
    yield table(results.rows)


def figures(results: Results, rows: Cells, figure: Mapping[str, Any]) -> Iterator[Picture]:
    """There are none."""
    yield from ()


REPORT = Report(blocks, summary, figures)


def table(rows: Cells) -> Grid:
    """Figures of each model for each target, means over the sites."""
    models = [row for row in rows if "class" not in row]
    lines = []
    for (target, name), some in grouped(models, "target", "contender").items():
        values = [[compare.value(row, measure) for row in some] for measure in MEASURES]
        lines.append([target, name, *(_mean(of_one) for of_one in values)])
    return Grid(("target", "model", *(HEAD[measure] for measure in MEASURES)), lines, names=2)


def _mean(values: list[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{np.mean(known):.1%}".replace("%", " %") if known else "–"


def words(rows: Cells) -> Iterator[Block]:
    """The words that each class is predicted by, of the model without the first site."""
    classes = [row for row in rows if "class" in row]
    if not classes:
        return
    yield Heading("Words by class (Table 2)", 4)
    first = classes[0]
    yield Prose(
        f"By weighted log-odds, of the model without {first['site'] or first['root']}; in brackets "
        "the part of a link's surroundings that has the word."
    )
    mine = [
        row for row in classes if all(row[key] == first[key] for key in ("web", "site", "target"))
    ]
    yield Grid(
        ("model, class", "Q", "words"),
        [[row["contender"], row["class"], ", ".join(row["words"])] for row in mine],
        names=3,
    )
