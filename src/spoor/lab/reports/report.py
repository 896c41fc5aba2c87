"""The page of one experiment, by the report of its kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from spoor.lab.pages import Block, Grid, Heading, Page, Picture, Prose
from spoor.lab.results import Cells, Results


@dataclass(frozen=True, slots=True)
class Report:
    """How the results of a kind of experiment are reported."""

    blocks: Callable[[Results], Iterator[Block]]
    """All tables and pictures."""
    summary: Callable[[Results], Iterator[Block]]
    """The main tables, for a terminal."""
    figures: Callable[[Results, Cells, Mapping[str, Any]], Iterator[Picture]]
    """Pictures of some rows, as a `[[figures]]` table of a paper's page asks for."""
    target_key: str = "target"
    """Key of the rows by which a claim about a `target` selects them."""


def report_of(results: Results) -> Report:
    """The report of the kind of an experiment."""
    report: Report = import_module(f"spoor.lab.reports.{results.kind}").REPORT
    return report


def page_of_results(results: Results) -> Page:
    """What an experiment found: its table with intervals, who beats whom, and its curves."""
    report = report_of(results)
    blocks = [*failed_blocks(results), *report.blocks(results), *settings_blocks(results)]
    return Page(results.title, results.about, blocks, foot=foot([results]))


def failed_blocks(results: Results) -> Iterator[Block]:
    """Cells that have no figures, and why."""
    failed = results.more.get("failed", ())
    if failed:
        yield Prose(f"{len(failed)} cells could not be run, and are left out of all figures:")
        yield Grid(("cell", "why"), [[row["cell"], row["error"]] for row in failed])


def foot(results: Sequence[Results]) -> str:
    """Which versions made the figures."""
    versions = sorted({(item.made["spoor"], item.made["code"]) for item in results})
    made = ", ".join(f"Spoor {version} (code {code})" for version, code in versions)
    names = ", ".join(f"`{item.name}`" for item in results)
    return f"Made by `spoor lab run` and `spoor lab report` from {names}; {made}."


def settings_blocks(results: Results) -> Iterator[Block]:
    """All settings, so that it can be run again."""
    settings = results.settings
    yield Heading("Settings")
    rows = [["experiment", f"`{results.name}`"]]
    keys = ("seeds", "pages", "share", "in_flight", "found_per_host")
    rows += [[key, str(settings[key])] for key in keys if settings.get(key) is not None]
    rows.append(["cells", f"{len(results.rows):,}"])
    for policy in settings.get("policies", ()):
        train = {"train": policy["train"]} if policy["train"] else {}
        training = f"; training: {_listed(policy['training'])}" if policy["training"] else ""
        params = _listed({**policy["params"], **train})
        rows.append([policy["name"], f"`{policy['policy']}` {params}{training}"])
    for key, setting in settings.get("settings", {}).items():
        if isinstance(setting, int | float | str):
            rows.append([key, str(setting)])
    yield Grid(("setting", "value"), rows)


def _listed(params: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in params.items())
