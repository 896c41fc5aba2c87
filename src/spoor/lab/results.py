"""The results of an experiment in its folder: everything in `results.json`, and tidy rows,
one a cell, in `cells.csv` and, where the extra `parquet` is installed, `cells.parquet`."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from spoor.distribution import VERSION, import_extra
from spoor.errors import InputError
from spoor.files import write_whole
from spoor.lab.digests import code_digest
from spoor.lab.experiment import Experiment

FORMAT = 1
FILE = "results.json"

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
        content = json.loads(file.read_text("utf-8"))
        names = ("name", "kind", "title", "about", "rows", "made", "settings")
        return Results(**{name: content[name] for name in names}, more=content.get("more", {}))
    except OSError as error:
        raise InputError(
            f"{folder} holds no results of an experiment (no {FILE}); `spoor lab run` makes them"
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{file} is damaged ({error}); run the experiment again") from error


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
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, _names(flat))
        writer.writeheader()
        writer.writerows(flat)


def write_parquet(path: Path, rows: Cells) -> None:
    """The same rows as `write_csv`. Raises InputError where the extra is not installed."""
    arrow, parquet = import_extra("parquet", "Parquet", "pyarrow", "pyarrow.parquet")
    flat = [_flat(row) for row in rows]
    columns = {name: [row.get(name) for row in flat] for name in _names(flat)}
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
