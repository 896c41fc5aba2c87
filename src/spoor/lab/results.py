"""The results of an experiment in its folder: everything in `results.json`, and tidy rows,
one a cell, in `cells.csv` and, where the extra `parquet` is installed, `cells.parquet`."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from spoor.distribution import VERSION, import_extra
from spoor.errors import InputError, taking_in
from spoor.files import read_plain, write_whole
from spoor.lab.cells import KINDS, loaded
from spoor.lab.digests import code_digest
from spoor.lab.experiment import Experiment

FORMAT = 1
FILE = "results.json"
MOST_BYTES = 1 << 27
"""Of that file."""
Cells = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Results:
    """One experiment that was run."""

    name: str
    kind: str
    """`harvest`, `tasks`, `fleets` or `shards`."""
    title: str
    about: str
    rows: Cells
    """One a cell; of an experiment of tasks, one a task."""
    made: Mapping[str, str] = field(default_factory=dict)
    """Version of Spoor, and digest of the code of the cells."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The experiment, as its file had it."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Facts beside the rows: of fleets, the measures of their webs."""

    @property
    def contenders(self) -> list[str]:
        """Names of what was compared, in the order of the experiment."""
        return list(dict.fromkeys(contender_of(row) for row in self.rows))


RUN = ("weights", "states", "starts")
"""What tells runs of one fleet apart beside its settings."""


def contender_of(row: Mapping[str, Any]) -> str:
    """Name of the contender of a cell."""
    if "contender" in row:
        return str(row["contender"])
    params = row.get("params", {})
    settings = {**params.get("settings", {}), **{key: params[key] for key in RUN if key in params}}
    return fleet_name(row["fleet"], settings)


def fleet_name(fleet: str, settings: Mapping[str, Any]) -> str:
    """Name of a fleet among others of its kind with other settings."""
    return " ".join([fleet, *(f"{key}={value}" for key, value in settings.items())])


def grouped(rows: Cells, *keys: str) -> dict[tuple[Any, ...], list[Mapping[str, Any]]]:
    """Values of these keys → the rows that have them, in the order of the rows."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return groups


def write(
    folder: Path, experiment: Experiment, rows: Cells, more: Mapping[str, Any] | None = None
) -> None:
    """Write the results of an experiment into its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    content = {
        "format": FORMAT,
        "name": experiment.name,
        "kind": experiment.kind,
        "title": experiment.title,
        "about": experiment.about.strip(),
        "made": {"spoor": VERSION, "code": code_digest(experiment.kind)[:12]},
        "settings": asdict(experiment),
        "rows": list(rows),
        "more": more or {},
    }
    write_whole(folder / FILE, json.dumps(content))
    write_csv(folder / "cells.csv", rows)
    if find_spec("pyarrow") is not None:
        write_parquet(folder / "cells.parquet", rows)


def read(folder: Path) -> Results:
    """The results in an experiment's folder. Raises InputError where there are none."""
    file = folder / FILE
    try:
        data = read_plain(file, MOST_BYTES)
    except OSError as error:
        why = f"no {FILE}" if isinstance(error, FileNotFoundError) else f"{FILE}: {error.strerror}"
        raise InputError(
            f"{folder} holds no results of an experiment ({why}); `spoor lab run` makes them"
        ) from error
    with taking_in_results(folder):
        content = loaded(data)
        names = {"name": str, "kind": str, "title": str, "about": str, "rows": list}
        for name, kind in {**names, "made": dict, "settings": dict, "more": dict}.items():
            if not isinstance(content.setdefault(name, {}), kind):
                raise TypeError(f"{name} is a {type(content[name]).__name__}")
        if content["kind"] not in KINDS or not all(
            isinstance(row, dict) for row in content["rows"]
        ):
            raise ValueError(f"an unknown kind {content['kind']!r}, or rows that are no objects")
        known = Results.__dataclass_fields__
        return Results(**{name: content[name] for name in known if name in content})


def taking_in_results(folder: Path) -> AbstractContextManager[None]:
    """Raises InputError for what goes wrong within it, which goes wrong for the results in a
    folder: they may come from a stranger."""
    return taking_in(str(folder / FILE), "run the experiment again")


def read_all(folder: Path) -> Iterator[Results]:
    """The results in a folder, or in the folders right below it. Raises InputError for none."""
    inside = [folder] if (folder / FILE).exists() else []
    if not inside and folder.is_dir():
        inside = sorted(path.parent for path in folder.glob(f"*/{FILE}"))
    if not inside:
        read(folder)
    yield from map(read, inside)


# ---------------------------------------------------------------- tidy rows


def write_csv(path: Path, rows: Cells) -> None:
    """One row a cell, one column a figure; curves stay in `results.json`."""
    flat = [_flat(row) for row in rows]
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, _names(flat))
    writer.writeheader()
    writer.writerows(flat)
    write_whole(path, text.getvalue())


def write_parquet(path: Path, rows: Cells) -> None:
    """The same rows as `write_csv`. Raises InputError where the extra is not installed."""
    arrow, parquet = import_extra("parquet", "Parquet", "pyarrow", "pyarrow.parquet")
    flat = [_flat(row) for row in rows]
    columns = {name: [row.get(name) for row in flat] for name in _names(flat)}
    path.unlink(missing_ok=True)  # it may be a link
    parquet.write_table(arrow.table(columns), path)


def _names(flat: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for row in flat for name in row))


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if name == "requests_to":
            flat |= {f"requests_to_{share}": part for share, part in value.items()}
        elif isinstance(value, Mapping):
            flat[name] = json.dumps(value)
        elif not isinstance(value, list):
            flat[name] = value
    return flat
