"""What all experiments share: plan cells, run those that are missing, collect their rows.

A kind of experiment (`spoor.lab.kinds`) defines its cells and how they run. Everything else is
here once: the file of each finished cell, processes, progress. A finished cell is stored under a
hash of what it is, of the code that ran it and of its data, so the same cell never runs twice, and
a change of any of the three runs it again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from spoor.errors import DAMAGED, InputError, cannot_write, taking_in
from spoor.files import read_plain, subfolder, write_whole
from spoor.lab.digests import code_digest, digest
from spoor.lab.experiment import Experiment
from spoor.lab.workers import run_batches
from spoor.process_memory import at_most
from spoor.registry import nearest

Row = dict[str, Any]
Progress = Callable[[int], None]
"""Called with the number of finished cells."""

KINDS = ("harvest", "bins", "tasks", "fleets", "shards", "judges", "duel")
"""Modules of `spoor.lab.kinds` and `spoor.lab.reports`."""


CELLS = "cells"
MEMORY, MEMORY_PER_BYTE = 64 << 20, 10
"""That JSON of figures may take: so much, and so much for each of its bytes."""

MOST_BYTES = 1 << 26
"""Of the figures of a cell."""


class Failure(NamedTuple):
    """A cell that cannot be run with its settings or data."""

    cell: str
    """Its name."""
    error: str
    """One line: the message of an InputError."""


class Cell(Protocol):
    """One cell as planned; plain values, so that it can go to another process."""

    @property
    def name(self) -> str:
        """What it is, for a reader: web, target or topic, contender and seed."""
        ...

    @property
    def group(self) -> Hashable:
        """Cells of one group share a web: one process runs them one after the other."""
        ...

    def identity(self) -> object:
        """All that its figures depend on but the code of Spoor; JSON can hold it."""
        ...


def _one_row(cell: Any, figures: Any) -> list[Row]:
    return [figures]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of experiment: what its cells are and how they run."""

    name: str
    plan: Callable[[Experiment, Path], Sequence[Any]]
    """All cells of an experiment; webs that are missing are made in the folder. Raises InputError
    for bad settings and missing data: now, not hours later in a cell."""
    run: Callable[[Sequence[Any], Path], Iterator[Any]]
    """The figures of each cell of one group, in their order, as JSON can hold them."""
    rows: Callable[[Any, Any], list[Row]] = _one_row
    """A cell and its figures → its rows in the results."""
    facts: Callable[[Experiment], Mapping[str, Any]] = lambda experiment: {}
    """What the results say beside their rows."""
    row_name: str = "cells"
    """What `--json` calls the rows."""
    names_code: bool = False
    """Whether the identity of a cell names the code that it runs, for cells that run others'."""


def kind_of(experiment: Experiment) -> Kind:
    """The kind of an experiment. Raises InputError for one that does not exist."""
    if experiment.kind not in KINDS:
        offer = nearest(experiment.kind, list(KINDS))
        raise InputError(f"experiment {experiment.name}: unknown kind {experiment.kind!r}{offer}")
    kind: Kind = import_module(f"spoor.lab.kinds.{experiment.kind}").KIND
    return kind


def cells_of(experiment: Experiment, out: Path) -> tuple[Kind, Sequence[Any]]:
    """The kind of an experiment and all its cells, as `Kind.plan` says. Raises InputError, also for
    values that a kind did not expect: the file may come from a stranger."""
    kind = kind_of(experiment)
    with taking_in(f"experiment {experiment.name}", "mend its file"):
        cells = kind.plan(experiment, out)
        for cell in cells:
            digest(cell.identity())
            hash(cell.group)
        return kind, cells


def run_cells(
    kind: Kind,
    cells: Sequence[Cell],
    out: Path,
    *,
    jobs: int = 1,
    progress: Progress = lambda done: None,
    failed: Callable[[Failure], None] | None = None,
) -> list[Row]:
    """Run every cell whose file is not in `out` yet; the rows of all, in the order of the cells.

    A cell that raises InputError (no word of its topic is in the word vectors, say) has no rows and
    is run again the next time; the others go on, and then `failed` is called for each, in order.
    Raises InputError without `failed`, where every cell failed, and where `out` cannot be written
    to.
    """
    try:
        subfolder(out, CELLS)
    except OSError as error:
        raise cannot_write(out / CELLS, error) from error
    files = [file_of(kind, cell, out) for cell in cells]
    missing = [number for number, file in enumerate(files) if _stored(file) is None]
    batches: dict[Hashable, list[Cell]] = {}
    for number in missing:
        batches.setdefault(cells[number].group, []).append(cells[number])
        files[number].unlink(missing_ok=True)  # it may be damaged

    def look() -> None:
        progress(len(cells) - sum(not files[number].exists() for number in missing))

    look()
    work = partial(_run_batch, kind.name, out)
    ended = run_batches(work, list(batches.values()), jobs=jobs, look=look)
    look()
    errors = {file: error for batch in ended for file, error in batch}
    if errors and (failed is None or len(errors) == len(cells)):
        raise InputError(next(errors[file] for file in files if file in errors))
    rows: list[Row] = []
    for cell, file in zip(cells, files, strict=True):
        if file not in errors:
            rows += kind.rows(cell, _stored(file))
        elif failed is not None:
            failed(Failure(cell.name, errors[file]))
    return rows


def file_of(kind: Kind, cell: Cell, out: Path) -> Path:
    """Where the figures of a finished cell are stored."""
    code = "" if kind.names_code else code_digest(kind.name)
    name = digest([cell.identity(), code])
    return out / CELLS / f"{kind.name}-{name}.json"


def loaded(data: bytes) -> Any:
    """The value of a JSON text that may come from a stranger. Raises ValueError, RecursionError,
    and MemoryError where it takes far more memory than figures do."""
    with at_most(MEMORY + MEMORY_PER_BYTE * len(data)):
        return json.loads(data)


def _stored(file: Path) -> Any:
    """Figures of a cell, perhaps a stranger's; None where there are none that can be read."""
    try:
        figures = loaded(read_plain(file, MOST_BYTES))
    except (OSError, *DAMAGED):
        return None
    rows = figures if isinstance(figures, list) else [figures]
    return figures if all(isinstance(row, dict) for row in rows) else None


def _run_batch(
    name: str, out: Path, batch: Sequence[Cell], finished: Callable[[], None]
) -> list[tuple[Path, str]]:
    """Run the cells of a group; the file that each failed one would have, and its error."""
    kind: Kind = import_module(f"spoor.lab.kinds.{name}").KIND
    failed: list[tuple[Path, str]] = []
    left = list(batch)
    while left:
        try:
            for _, figures in zip(tuple(left), kind.run(tuple(left), out), strict=True):
                write_whole(file_of(kind, left.pop(0), out), json.dumps(figures))
                finished()
        except InputError as error:
            # An iterator that has raised is over: the cells behind this one begin another.
            failed.append((file_of(kind, left.pop(0), out), str(error)))
        else:
            break
    return failed
