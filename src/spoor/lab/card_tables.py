"""Tables of cards, made from the files of the runs that they are of.

    python -m spoor.lab.card_tables keep OUT/rennie1999/cora-options docs/results
    python -m spoor.lab.card_tables fill docs

`keep` writes the measures of each cell of a harvest experiment as a small CSV. A card has a table
between `<!-- table results/NAME.csv MEASURE -->`, the file as seen from the folder `docs`, and
`<!-- end of table -->`; `fill` makes all such tables anew, and a test compares page and file.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path

import numpy as np

from spoor.errors import InputError
from spoor.lab import results
from spoor.lab.results import Results

COLUMNS = ("contender", "web", "target", "site", "seed", "auc", "requests_to_5", "requests_to_90")
TABLE = re.compile(r"(<!-- table (\S+) (\S+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def kept(experiment: Results) -> str:
    """The measures of each cell, as CSV; the first line says which code made them."""
    made = experiment.made
    text = StringIO()
    text.write(f"# {experiment.name}, Spoor {made['spoor']}, code {made['code']}\n")
    write = csv.writer(text, lineterminator="\n")
    write.writerow(COLUMNS)
    for row in experiment.rows:
        if row["targets_reachable"]:
            to = row["requests_to"]
            measures = (row["auc"], to["5"], to["90"])
            shown = ["" if value is None else f"{value:.6f}" for value in measures]
            names = [row[name] for name in ("contender", "web", "target", "site", "seed")]
            write.writerow([*names, *shown])
    return text.getvalue()


def table(text: str, measure: str) -> str:
    """A Markdown table of a kept file: contenders by targets, each the mean over its cells, and the
    mean over the targets where there are several. A share of pages is in percent."""
    rows = list(csv.DictReader(text.splitlines()[1:]))
    if not rows or measure not in COLUMNS[5:]:
        raise InputError(f"no measure {measure!r}; there are: {', '.join(COLUMNS[5:])}")
    targets = list(dict.fromkeys(row["target"] for row in rows))
    head = ["", *targets, *(["mean"] if len(targets) > 1 else [])]
    lines = [head, ["---"] * len(head)]
    for name in dict.fromkeys(row["contender"] for row in rows):
        own = [row for row in rows if row["contender"] == name]
        means = [_mean(own, target, measure) for target in targets]
        means += [float(np.mean(means))] if len(targets) > 1 else []
        lines.append([name, *(_shown(value, measure) for value in means)])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _mean(rows: Sequence[Mapping[str, str]], target: str, measure: str) -> float:
    values = [float(row[measure]) for row in rows if row["target"] == target and row[measure]]
    return float(np.mean(values))


def _shown(value: float, measure: str) -> str:
    return f"{value:.1%}".replace("%", " %") if measure != "auc" else f"{value:.3f}".lstrip("0")


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
    if what == "keep":
        (run, docs) = map(Path, where)
        (experiment,) = results.read_all(run)
        docs.mkdir(exist_ok=True)
        (docs / f"{experiment.name.replace('/', '-')}.csv").write_text(kept(experiment), "utf-8")
    else:
        for path in pages(Path(where[0])):
            path.write_text(filled(path.read_text("utf-8"), Path(where[0])), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
