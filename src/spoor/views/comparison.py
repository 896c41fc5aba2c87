"""Two runs side by side: what each found, how soon, and the settings that differ."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from markupsafe import Markup

from spoor.runs.reader import Run
from spoor.views.html import environment, picture_of
from spoor.views.report import flat
from spoor.views.sums import curve

MOST = 100_000
"""First pages of each run that are compared."""
SHOWN = 25
"""Pages that one run alone found which are listed."""
SOON = (10, 100, 1_000)
"""After how many pages so many were found is told."""


def comparison_page(folder: Path, names: Sequence[str]) -> str:
    """The comparison as HTML. Raises InputError where one of the runs cannot be read. O(pages)."""
    verdicts, found, settings = [], [], []
    for name in names:
        run = Run(folder / name)
        rows = list(islice(run.outcomes(), MOST))
        verdicts.append([int(row["relevant"]) for row in rows])
        found.append({row["url"]: row["number"] for row in rows if row["relevant"]})
        settings.append(dict(flat(run.settings.to_dict())))
    alone = []
    for name, mine, others in zip(names, found, reversed(found), strict=True):
        only = [url for url in mine if url not in others]
        pages = Run(folder / name).numbered([mine[url] for url in only[:SHOWN]])
        alone.append((name, len(only), [(page.url, page.title) for page in pages]))
    lines = {name: curve(rows) for name, rows in zip(names, verdicts, strict=True)}
    keys = dict.fromkeys([*settings[0], *settings[1]])
    wide, narrow = (Markup(picture_of(lines, size)) for size in ((8.6, 3.3), (4.3, 3.3)))
    return (
        environment()
        .get_template("compare.html.jinja")
        .render(
            names=names,
            most=MOST,
            wide=wide,
            narrow=narrow,
            figures=_figures(verdicts),
            both=len(found[0].keys() & found[1].keys()),
            alone=alone,
            settings=[
                (key, [one.get(key, "–") for one in settings])
                for key in keys
                if settings[0].get(key) != settings[1].get(key)
            ],
        )
    )


def _figures(verdicts: Sequence[Sequence[int]]) -> list[tuple[str, list[str]]]:
    """Name → the figure of each run."""
    rows = [
        ("pages", [f"{len(run):,}" for run in verdicts]),
        ("relevant", [f"{sum(run):,}" for run in verdicts]),
        ("harvest rate", [f"{sum(run) / len(run):.1%}" if run else "–" for run in verdicts]),
    ]
    common = min(map(len, verdicts))
    if common < max(map(len, verdicts)):
        name = f"relevant of the first {common:,}"
        rows.append((name, [f"{sum(run[:common]):,}" for run in verdicts]))
    return rows + [
        (f"pages until {count:,} found", [_until(run, count) for run in verdicts])
        for count in SOON
        if any(sum(run) >= count for run in verdicts)
    ]


def _until(verdicts: Sequence[int], count: int) -> str:
    found = 0
    for pages, relevant in enumerate(verdicts, 1):
        found += relevant
        if found == count:
            return f"{pages:,}"
    return "–"
