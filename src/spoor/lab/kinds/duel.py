"""The duel: live crawlers on the same tasks, counted by the server.

In the file of an experiment: `kind = "duel"` and, under `settings`: `rivals` (names of scripts in
benchmarks/duel), `tasks` (globs of names in its data set), `pages` (budgets, each a crawl of its
own), `seconds` (the longest crawl), `absent` (rivals that cannot be had, and why), `causes` (of
tasks that were lost: what the logs say).

A cell is one rival on one task with one budget. It stands for the rival's script and version, not
for our code, unless the rival is Spoor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from spoor.errors import InputError
from spoor.lab.cells import Kind, Row
from spoor.lab.digests import digest, part_digest
from spoor.lab.duel import arena, rivals
from spoor.lab.duel.dataset import BUDGETS, Dataset, Task, read
from spoor.lab.duel.rivals import Rival
from spoor.lab.duel.score import score
from spoor.lab.duel.sites import site_folder
from spoor.lab.experiment import Experiment, check_keys

SETTINGS = ("rivals", "tasks", "pages", "seconds", "absent", "causes")
SECONDS = 900
GOLD_PAGES = 100
"""The largest budget for one right page."""
OURS = "spoor"
DATA = "dataset"
CACHE = "duel-cache"
LOGS = "duel-logs"
"""Folders below that of the output: sites and rivals; logs of all cells, to look at."""
NOT_CRAWLED = ("cli/lab.py", "integrations", "lab", "notebook", "simulation", "testing", "views")
"""Parts of Spoor that a live crawl does not run."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One rival on one task."""

    rival: str
    task: str
    pages: int
    seconds: float
    seed: int
    code: str
    """Digest of the rival."""
    truth: str
    """Digest of the task and its right pages."""

    @property
    def name(self) -> str:
        return f"{self.rival} on {self.task}, {self.pages} pages, try {self.seed}"

    @property
    def group(self) -> tuple[int, str]:
        return self.pages, self.task

    def identity(self) -> object:
        return asdict(self)


def plan(experiment: Experiment, out: Path) -> list[Cell]:
    """All cells; rivals that are missing are installed, and sites made."""
    arena.check()
    name, settings = experiment.name, experiment.settings
    check_keys(settings, SETTINGS, name, "setting")
    home = rivals.home()
    dataset = read(home / DATA)
    globs = _strings(settings.get("tasks", ["*"]), f"{name}: tasks")
    tasks = [task for task in dataset.tasks if any(fnmatchcase(task.name, it) for it in globs)]
    if not tasks:
        raise InputError(f"{name}: no task is like {', '.join(globs)}")
    names = _strings(settings.get("rivals", rivals.names(home)), f"{name}: rivals")
    known = [rivals.installed(one, home, out / CACHE) for one in names]
    for site in {site for task in tasks for site in task.sites}:
        site_folder(dataset.sites[site], home / DATA, out / CACHE)
    pages = settings.get("pages", [300])
    if not isinstance(pages, list) or not all(number in BUDGETS for number in pages):
        raise InputError(f"{name}: pages are some of {', '.join(map(str, BUDGETS))}")
    seconds = float(settings.get("seconds", SECONDS))
    cells = [
        Cell(
            rival.name,
            task.name,
            min(number, GOLD_PAGES) if task.kind == "gold" else number,
            seconds,
            seed,
            _code(rival),
            _truth(task),
        )
        for number in pages
        for task in tasks
        for rival in known
        for seed in range(rival.tries)
    ]
    return list(dict.fromkeys(cells))


def facts(experiment: Experiment) -> Row:
    """The version of the data set, and how many tasks each half of it has."""
    dataset = read(rivals.home() / DATA)
    halves = Counter(task.half for task in dataset.tasks)
    return {"dataset": dataset.version, "tasks": dict(halves)}


def run(cells: Sequence[Cell], out: Path) -> Iterator[Row]:
    """The figures of each cell."""
    home = rivals.home()
    dataset = read(home / DATA)
    for cell in cells:
        yield _row(cell, rivals.installed(cell.rival, home, out / CACHE), dataset, home, out)


def _row(cell: Cell, rival: Rival, dataset: Dataset, home: Path, out: Path) -> Row:
    task = dataset.task(cell.task)
    logs = out / LOGS / f"{cell.rival}-{cell.task}-{cell.pages}-{cell.seed}"
    crawl = arena.run(
        rival,
        task,
        dataset,
        data=home / DATA,
        cache=out / CACHE,
        folder=logs,
        pages=cell.pages,
        seconds=cell.seconds,
    )
    budgets = [budget for budget in BUDGETS if budget <= cell.pages]
    got = score(task, crawl.log, budgets)
    said = [row for row in crawl.said if "markdown" in row]
    return {
        "contender": rival.about["title"],
        "rival": rival.name,
        "version": rival.version,
        "settings": rival.about["settings"],
        "how_told": rival.about["told"],
        "kind": task.kind,
        "hosts": len(task.sites),
        "wish": task.wish,
        "budget": cell.pages,
        "seed": cell.seed,
        **asdict(got),
        "recall": {str(budget): share for budget, share in got.recall.items()},
        "requests_to_half": got.half,
        "half": task.half,
        "markdown": sum(bool(row["markdown"]) for row in said) / len(said) if said else None,
        **crawl.outcome,
    }


def _code(rival: Rival) -> str:
    code = rival.digest()
    return digest([code, part_digest("", leave_out=NOT_CRAWLED)]) if rival.name == OURS else code


def _truth(task: Task) -> str:
    return digest([task.start, task.wish, task.sites, sorted(task.targets)])


def _strings(value: Any, where: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise InputError(f"{where} is a list of strings, not {value!r}")
    return value


KIND = Kind("duel", plan, run, facts=facts, names_code=True)
