"""Makes the tables of the policies' cards from kept results.

    python -m spoor.lab.card_tables keep OUT/rennie1999 [OUT/...] docs
    python -m spoor.lab.card_tables fill docs

`keep` writes the measures of each cell of the experiments in some folders as small CSV files in
`docs/results`: of a harvest one line a crawl, of bins one a model and one a class, of tasks one a
trial, of fleets one a run. Files of a short form end in `-short`, so that they replace no other. A
card has a table between `<!-- table results/NAME.csv MEASURE -->`, the file as seen from the folder
`docs`, and `<!-- end of table -->`; `fill` makes all such tables anew, and a test compares page and
file.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from spoor.errors import InputError
from spoor.lab import compare, results
from spoor.lab.results import Results, contender_of, grouped

NAMES = ("contender", "web", "target", "site", "seed")
MEASURES: Mapping[str, Sequence[str]] = {
    "harvest": ("auc", *(f"requests_to_{share}" for share in (5, 50, 75, 90))),
    "bins": ("accuracy", "accuracy_on_two", "recall", "immediate_words"),
    "tasks": ("found", "first", "last"),
    "fleets": (
        "share_found",
        "relevant",
        "sent_efficiency",
        "freshness",
        "age_hours",
        "delay_hours",
    ),
}
TABLE = re.compile(r"(<!-- table (\S+) (\S+) -->\n).*?(<!-- end of table -->)", re.DOTALL)

Values = Mapping[str, float | None]


def kept(experiment: Results) -> str:
    """The measures of each cell, as CSV; the first line names the experiment and its form."""
    text = StringIO()
    form = ", ".join(experiment.settings.get("shortened", ()))
    text.write(f"# {experiment.name}{f', short form: {form}' if form else ''}\n")
    write = csv.writer(text, lineterminator="\n")
    measures = MEASURES[experiment.kind]
    write.writerow([*NAMES, *measures])
    for names, values in _cells(experiment):
        shown = [values[measure] for measure in measures]
        write.writerow([*names, *("" if value is None else f"{value:.6g}" for value in shown)])
    return text.getvalue()


def _cells(experiment: Results) -> Iterator[tuple[list[str], Values]]:
    if experiment.kind == "tasks":
        trials = grouped(experiment.rows, "contender", "web", "topic", "seed")
        for (contender, web, topic, seed), tasks in trials.items():
            found = [float(task["found"]) for task in tasks]
            values: Values = {"found": float(np.mean(found)), "first": found[0], "last": found[-1]}
            yield [contender, web, topic, "", str(seed)], values
        return
    for row in experiment.rows:
        if row.get("targets_reachable") == 0:
            continue
        place = [row["web"], row.get("target", row["web"]), row.get("site", ""), row["seed"]]
        yield [contender_of(row), *map(str, place)], _measures(row, experiment.kind)


def _measures(row: Mapping[str, Any], kind: str) -> Values:
    values = {measure: compare.value(row, measure) for measure in MEASURES[kind]}
    missed = {f"requests_to_{key}" for key, at in row.get("requests_to", {}).items() if at is None}
    return {name: None if name in missed else value for name, value in values.items()}


def table(text: str, measure: str) -> str:
    """A Markdown table of a kept file: contenders by targets, each the mean over its cells, and the
    mean over the targets where there are several. A share of pages is in percent."""
    rows = list(csv.DictReader(text.splitlines()[1:]))
    measures = [name for name in rows[0] if name not in NAMES] if rows else []
    if measure not in measures:
        raise InputError(f"no measure {measure!r}; there are: {', '.join(measures)}")
    targets = list(dict.fromkeys(row["target"] for row in rows))
    head = ["", *targets, *(["mean"] if len(targets) > 1 else [])]
    lines = [head, ["---"] * len(head)]
    for name in dict.fromkeys(row["contender"] for row in rows):
        own = [row for row in rows if row["contender"] == name]
        if not any(row[measure] for row in own):
            continue  # a class of a model has no accuracy
        means = [_mean(own, target, measure) for target in targets]
        if len(targets) > 1:
            means.append(None if None in means else _average(means))
        lines.append([name, *(_shown(value, measure) for value in means)])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _mean(rows: Sequence[Mapping[str, str]], target: str, measure: str) -> float | None:
    return _average(
        [float(row[measure]) for row in rows if row["target"] == target and row[measure]]
    )


def _average(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _shown(value: float | None, measure: str) -> str:
    if value is None:
        return "–"
    if measure.startswith("requests_to"):
        return f"{value:.1%}".replace("%", " %")
    if measure in ("found", "first", "last", "relevant"):
        return f"{value:.0f}"
    return f"{value:.3f}".removeprefix("0")


def filled(page: str, docs: Path) -> str:
    """A page with its tables made anew from the files that they name."""

    def again(found: re.Match[str]) -> str:
        begin, file, measure, end = found.groups()
        return f"{begin}\n{table((docs / file).read_text('utf-8'), measure)}\n{end}"

    return TABLE.sub(again, page)


def pages(docs: Path) -> Iterator[Path]:
    """Pages that have such tables."""
    return (path for path in sorted(docs.rglob("*.md")) if TABLE.search(path.read_text("utf-8")))


def main(what: str, *where: str) -> None:
    *runs, docs = map(Path, where)
    if what == "keep":
        (docs / "results").mkdir(exist_ok=True)
        for run in runs:
            for experiment in results.read_all(run):
                name = experiment.name.replace("/", "-")
                name += "-short" if experiment.settings.get("shortened") else ""
                (docs / "results" / f"{name}.csv").write_text(kept(experiment), "utf-8")
    else:
        for path in pages(docs):
            path.write_text(filled(path.read_text("utf-8"), docs), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
