"""The duel: live crawlers on the same tasks, counted by the server.

In the file of an experiment: `kind = "duel"` and, under `settings`: `rivals` (names of scripts in
benchmarks/duel), `kept` (those of them whose crawls are read from benchmarks/duel/crawls, where
benchmarks/duel_keep.py puts them, and not made anew), `tasks` (globs of names in its data set),
`pages` (budgets, each a crawl of its own; a table gives each the globs of its tasks), `seconds`
(the longest crawl), `absent` (rivals that cannot be had, and why).

A cell is one rival on one task with one budget, or on the site of `spoor.lab.duel.probe`. It stands
for the rival's script and version, not for our code, unless the rival is Spoor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from spoor.errors import InputError
from spoor.files import subfolder
from spoor.lab.cells import Kind, Row
from spoor.lab.digests import digest, part_digest
from spoor.lab.duel import arena, kept, probe, rivals
from spoor.lab.duel.dataset import BUDGETS, Dataset, Task, read
from spoor.lab.duel.files import Files
from spoor.lab.duel.rivals import Rival
from spoor.lab.duel.score import Request, score
from spoor.lab.duel.sites import site_folder
from spoor.lab.duel.trace import trace
from spoor.lab.experiment import Experiment
from spoor.lab.tables import check_keys, strings_of

SETTINGS = ("rivals", "kept", "tasks", "pages", "seconds", "absent")
SECONDS = 900
TRACED = BUDGETS[2:]
"""Budgets for which it is said what the requests were spent on."""
GOLD_PAGES = 100
"""The largest budget for one right page."""
OURS = "spoor"
DATA = "dataset"
CACHE = "duel-cache"
LOGS = "duel-logs"
"""Folders below that of the output: sites; logs of all cells, to look at."""
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
    kept: bool = False
    """Whether its requests are read, and not made."""
    traced: bool = True
    """Whether the links of the pages that it had are read: of first tries, where the sites are."""

    @property
    def name(self) -> str:
        return f"{self.rival} on {self.task}, {self.pages} pages, try {self.seed}"

    @property
    def group(self) -> tuple[int, str]:
        return self.pages, self.task

    def identity(self) -> object:
        return asdict(self)


def plan(experiment: Experiment, out: Path) -> list[Cell]:
    """All cells; of rivals that crawl, those that are missing are installed and their sites made.
    A rival whose crawls are kept has cells where it has crawls."""
    name, settings = experiment.name, experiment.settings
    check_keys(settings, SETTINGS, name, "setting")
    home = rivals.home()
    dataset = read(home / DATA)
    crawls = kept.read(home / kept.FOLDER)
    named = strings_of(settings, "rivals", name)
    names = named if "rivals" in settings else rivals.names(home)
    read_only = strings_of(settings, "kept", name)
    for one in read_only:
        if one not in {key.rival for key in crawls.rows}:
            raise InputError(f"{name}: kept: no crawl of {one!r} is in {crawls.folder}")
    tasks = _tasks(settings, dataset, name)
    fresh = [one for one in names if one not in read_only]
    if fresh:
        arena.check()
        for site in dict.fromkeys(site for _, task in tasks for site in task.sites):
            site_folder(dataset.sites[site], home / DATA, out / CACHE)
    known = {one: rivals.installed(one, home) for one in fresh}
    seconds = float(settings.get("seconds", SECONDS))
    cells = []
    for pages, task in [*tasks, (probe.BUDGET, probe.TASK)]:
        number = min(pages, GOLD_PAGES) if task.kind == "gold" else pages
        for one in names:
            if one in known:
                rival = known[one]
                cells += [
                    Cell(
                        *(one, task.name, number, seconds, seed, _code(rival), _truth(task)),
                        traced=not seed,
                    )
                    for seed in range(rival.tries)
                ]
            else:
                cells += [
                    Cell(
                        *_names(key),
                        seconds,
                        key.seed,
                        crawls.digest(key),
                        _truth(task),
                        kept=True,
                        traced=bool(fresh) and not key.seed,
                    )
                    for key in crawls.rows
                    if (key.rival, key.task, key.pages) == (one, task.name, number)
                ]
    return list(dict.fromkeys(cells))


def _names(key: kept.Key) -> tuple[str, str, int]:
    return key.rival, key.task, key.pages


def _tasks(settings: Mapping[str, Any], dataset: Dataset, name: str) -> list[tuple[int, Task]]:
    """Budgets with their tasks."""
    globs = settings.get("tasks", ["*"])
    pages = settings.get("pages", [300])
    table = dict.fromkeys(pages, globs) if isinstance(pages, list) else pages
    if not isinstance(table, dict) or not {*map(str, table)} <= {*map(str, BUDGETS)}:
        raise InputError(f"{name}: pages are some of {', '.join(map(str, BUDGETS))}")
    chosen = []
    for budget, wanted in table.items():
        wanted = strings_of({"tasks": wanted}, "tasks", name)
        like = [task for task in dataset.tasks if any(fnmatchcase(task.name, it) for it in wanted)]
        if not like:
            raise InputError(f"{name}: no task is like {', '.join(wanted)}")
        chosen += [(int(budget), task) for task in like]
    return chosen


def facts(experiment: Experiment) -> Row:
    """The version of the data set, and how many tasks each half of it has."""
    dataset = read(rivals.home() / DATA)
    halves = Counter(task.half for task in dataset.tasks)
    return {"dataset": dataset.version, "tasks": dict(halves)}


def run(cells: Sequence[Cell], out: Path) -> Iterator[Row]:
    """The figures of each cell."""
    home = rivals.home()
    dataset = read(home / DATA)
    crawls = kept.read(home / kept.FOLDER)
    files: dict[tuple[str, ...], Files] = {}
    for cell in cells:
        task = probe.TASK if cell.task == probe.NAME else dataset.task(cell.task)
        if cell.kept:
            key = kept.Key(cell.rival, cell.pages, cell.seed, cell.task)
            log, known = _read(key, task, crawls)
        else:
            rival = rivals.installed(cell.rival, home)
            log, known = _crawled(cell, task, rival, dataset, home, out)
        traces = {}
        if cell.traced and task is not probe.TASK:
            if task.sites not in files:
                sites = [dataset.sites[name] for name in task.sites]
                files[task.sites] = Files(
                    {site: site_folder(site, home / DATA, out / CACHE) for site in sites}
                )
            traces = _traces(cell, task, log, files[task.sites])
        yield {**_row(cell, task, log, known), "traces": traces}


def _read(
    key: kept.Key, task: Task, crawls: kept.Kept
) -> tuple[Sequence[Request], Mapping[str, Any]]:
    """The requests of a crawl that was kept, and what is known of it."""
    known = crawls.rows[key]
    if (known["wish"], known["start"]) != (task.wish, task.start):
        raise InputError(
            f"{crawls.folder / kept.FILE} has a crawl of {key.rival} for another wish or start of "
            f"{task.name}; let it crawl again"
        )
    return crawls.log(key), known


def _crawled(
    cell: Cell, task: Task, rival: Rival, dataset: Dataset, home: Path, out: Path
) -> tuple[Sequence[Request], Mapping[str, Any]]:
    """The requests of a new crawl, and what is known of it."""
    probed = cell.task == probe.NAME
    if probed:
        site = probe.site(subfolder(out, CACHE, "sites", probe.NAME))
        dataset = Dataset(dataset.version, {probe.NAME: site}, [task])
    crawl = arena.run(
        rival,
        task,
        dataset,
        data=home / DATA,
        cache=out / CACHE,
        folder=subfolder(out, LOGS) / f"{cell.rival}-{cell.task}-{cell.pages}-{cell.seed}",
        pages=cell.pages,
        seconds=cell.seconds,
        kill_at=probe.KILL_AT if probed else None,
        rate=probe.RATE if probed else None,
    )
    said = [row for row in crawl.said if "markdown" in row]
    return crawl.log, {
        "contender": rival.about["title"],
        "version": rival.version,
        "settings": rival.about["settings"],
        "how_told": rival.about["told"],
        "wish": task.wish,
        "start": task.start,
        "markdown": sum(bool(row["markdown"]) for row in said) / len(said) if said else None,
        **crawl.outcome,
        "probe": asdict(probe.measured(crawl)) if probed else None,
    }


def _traces(cell: Cell, task: Task, log: Sequence[Request], files: Files) -> Row:
    """What the requests were spent on, within each budget."""
    budgets = [budget for budget in TRACED if budget <= cell.pages]
    return {str(budget): asdict(trace(task, log, files, budget)) for budget in budgets}


def _row(cell: Cell, task: Task, log: Sequence[Request], known: Mapping[str, Any]) -> Row:
    budgets = [budget for budget in BUDGETS if budget <= cell.pages]
    got = score(task, log, budgets)
    return {
        **known,
        "rival": cell.rival,
        "kind": task.kind,
        "hosts": len(task.sites),
        "budget": cell.pages,
        "seed": cell.seed,
        **asdict(got),
        "recall": {str(budget): share for budget, share in got.recall.items()},
        "requests_to_half": got.half,
        "half": task.half,
        "kept": cell.kept,
    }


def _code(rival: Rival) -> str:
    code = rival.digest()
    return digest([code, part_digest("", leave_out=NOT_CRAWLED)]) if rival.name == OURS else code


def _truth(task: Task) -> str:
    return digest([task.start, task.wish, task.sites, sorted(task.targets)])


KIND = Kind("duel", plan, run, facts=facts, names_code=True)
