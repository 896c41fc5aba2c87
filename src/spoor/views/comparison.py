"""Two runs side by side: what each found, how soon, and the settings that differ."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from spoor.runs.reader import Run
from spoor.views.html import environment, picture_of
from spoor.views.report import flat

MOST = 2_000_000
"""First pages of each run that are compared: seconds, and 24 bytes a relevant page."""
SHOWN = 25
"""Pages that only one of the runs found, and that are listed."""
SOON = (10, 100, 1_000, 10_000, 100_000)
"""It is shown after how many pages so many were found."""
POINTS = 400
"""Of a curve."""


@dataclass(frozen=True, slots=True)
class _Harvest:
    """What a run found. Three arrays with a place for each relevant page, in the order of
    fetching."""

    pages: int
    after: NDArray[np.int64]
    """Pages fetched by then, itself counted."""
    numbers: NDArray[np.int64]
    hashes: NDArray[np.int64]
    """Of URLs, 64 bits, of this process: URLs themselves would take ten times the memory."""

    def found(self, pages: int) -> int:
        """Of the first so many pages."""
        return int(np.searchsorted(self.after, pages, side="right"))

    def curve(self) -> list[list[float]]:
        """[pages fetched, relevant pages found]."""
        at = [*range(0, self.pages, max(1, self.pages // POINTS)), self.pages]
        return [[float(pages), float(self.found(pages))] for pages in at]

    def without(self, other: _Harvest) -> NDArray[np.int64]:
        """The numbers of the pages that the other did not find."""
        return self.numbers[~np.isin(self.hashes, other.hashes)]


def comparison_page(folder: Path, names: Sequence[str]) -> str:
    """The comparison as HTML. Raises InputError where one of the runs cannot be read. O(pages)."""
    runs = [Run(folder / name) for name in names]
    settings = [dict(flat(run.settings.to_dict())) for run in runs]
    harvests = [_harvest(run) for run in runs]
    alone = []
    for name, run, mine, other in zip(names, runs, harvests, reversed(harvests), strict=True):
        only = mine.without(other)
        pages = run.numbered(only[:SHOWN].tolist())
        alone.append((name, len(only), [(page.url, page.title) for page in pages]))
    lines = {name: harvest.curve() for name, harvest in zip(names, harvests, strict=True)}
    keys = dict.fromkeys([*settings[0], *settings[1]])
    wide, narrow = (Markup(picture_of(lines, size)) for size in ((8.6, 3.3), (4.3, 3.3)))
    return (
        environment()
        .get_template("compare.html.jinja")
        .render(
            names=names,
            most=MOST if any(harvest.pages == MOST for harvest in harvests) else None,
            wide=wide,
            narrow=narrow,
            figures=_figures(harvests),
            both=len(harvests[0].numbers) - alone[0][1],
            alone=alone,
            settings=[
                (key, [one.get(key, "–") for one in settings])
                for key in keys
                if settings[0].get(key) != settings[1].get(key)
            ],
        )
    )


def _harvest(run: Run) -> _Harvest:
    after, numbers, hashes = array("q"), array("q"), array("q")
    pages = 0
    for pages, (_, number, url) in enumerate(islice(run.found_in_order(), MOST), 1):
        if url is not None:
            after.append(pages)
            numbers.append(number)
            hashes.append(hash(url))
    return _Harvest(pages, *(np.frombuffer(one, np.int64) for one in (after, numbers, hashes)))


def _figures(harvests: Sequence[_Harvest]) -> list[tuple[str, list[str]]]:
    """Name → the figure of each run."""
    found = [len(harvest.after) for harvest in harvests]
    rows = [
        ("pages", [f"{harvest.pages:,}" for harvest in harvests]),
        ("relevant", [f"{count:,}" for count in found]),
        (
            "harvest rate",
            [
                f"{count / harvest.pages:.1%}" if harvest.pages else "–"
                for count, harvest in zip(found, harvests, strict=True)
            ],
        ),
    ]
    common = min(harvest.pages for harvest in harvests)
    if common < max(harvest.pages for harvest in harvests):
        name = f"relevant of the first {common:,}"
        rows.append((name, [f"{harvest.found(common):,}" for harvest in harvests]))
    return rows + [
        (
            f"pages until {count:,} found",
            [
                f"{harvest.after[count - 1]:,}" if len(harvest.after) >= count else "–"
                for harvest in harvests
            ],
        )
        for count in SOON
        if max(found) >= count
    ]
