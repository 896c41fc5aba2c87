"""Experiments in TOML: webs, targets, policies with their parameters, budgets and seeds.

An experiment of the package is named by its place (`baselines`, `rennie1999/webkb`); one of the
user's by its file. The name of a folder means every experiment in it.

An experiment that takes long has a short form beside it: a table `[short]` with its own `seeds`,
`pages`, `share`, `in_flight` or single `settings`, the names of the `webs`, `policies` and `topics`
that it has, the `sites` that it crawls, or `leave_out = true`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from spoor.errors import InputError, taking_in
from spoor.files import read_toml
from spoor.judges.spec import words_of
from spoor.lab.manuals import Manual, manual_of
from spoor.lab.tables import (
    check_keys,
    share_of,
    strings_of,
    table_of,
    tables_of,
    text_of,
    whole_number,
)
from spoor.registry import nearest

PACKAGED = "experiments"
PAGE = "page.toml"
"""No experiment: what the page of a folder of them says (`spoor.lab.papers`)."""

_ORIGINS = ("path", "sources", "generated", "company", "manuals")

MOST_SEEDS = 10_000

TRAININGS = ("leave-one-out", "leave-one-crawled-out")


@dataclass(frozen=True, slots=True)
class WebSpec:
    """A web of an experiment: an imported folder, sources to import, or settings to generate by."""

    name: str
    path: str = ""
    sources: tuple[str, ...] = ()
    """Under the folder of the recorded data."""
    generated: Mapping[str, Any] = field(default_factory=dict)
    company: Mapping[str, Any] = field(default_factory=dict)
    """Company sites of an exact size: `table` (`english` or `greek`) and `seed`."""
    manuals: tuple[Manual, ...] = ()
    """Manuals of Debian packages, downloaded where they are missing (`spoor.lab.manuals`)."""
    sites: tuple[str, ...] = ()
    """Sites that are crawled; none named: every root of the web."""
    roots: tuple[str, ...] = ()
    vectors: str = ""


@dataclass(frozen=True, slots=True)
class TargetSpec:
    """The relevant labels or pages, and the topic's words for the policies."""

    want: tuple[str, ...]
    topic: str = ""
    name: str = ""
    webs: tuple[str, ...] = ()
    """Webs that it is for; none named: all."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A policy with its parameters."""

    policy: str
    name: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    train: str = ""
    """`leave-one-out`: trained on all other sites of the same web; `leave-one-crawled-out`: on the
    other sites that the experiment crawls."""
    training: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of the training."""
    seeds: int | None = None
    """Fewer seeds than the experiment's, for what has nothing random in it."""
    free_look_ahead: bool = False
    """Pages that are only looked at don't count."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """What is run: every policy, for every target, from every root of every web, by every seed."""

    name: str
    title: str
    about: str
    webs: tuple[WebSpec, ...]
    targets: tuple[TargetSpec, ...]
    policies: tuple[Contender, ...]
    seeds: int = 1
    pages: int | None = None
    """Budget of pages."""
    share: float | None = None
    """Budget as a share of the reachable pages."""
    in_flight: int = 1
    found_per_host: int | None = None
    """Targets after which a host is left; None: never."""
    kind: str = "harvest"
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of a kind other than `harvest`."""
    short: Mapping[str, Any] = field(default_factory=dict)
    """How the short form differs."""
    shortened: tuple[str, ...] = ()
    """Of a short form: how it differs, in words; of the long one nothing."""

    def targets_of(self, web: WebSpec) -> list[TargetSpec]:
        """The targets for a web."""
        return [target for target in self.targets if not target.webs or web.name in target.webs]


def data_folder() -> Path:
    """The folder of recorded webs: `SPOOR_DATA`, or `../shared/data`."""
    return Path(os.environ.get("SPOOR_DATA", "../shared/data"))


def packaged() -> dict[str, Path]:
    """Name → file of every experiment in the package."""
    folder = Path(str(files("spoor.lab") / PACKAGED))
    return {
        path.relative_to(folder).with_suffix("").as_posix(): path
        for path in sorted(folder.rglob("*.toml"))
        if path.name != PAGE
    }


def find(name: str, *, short: bool = False) -> list[Experiment]:
    """The experiments of a name or a file, perhaps in their short forms. Raises InputError where
    there is none."""
    with taking_in(f"experiment {name}", "mend its file"):
        found = [read(Path(name), Path(name).stem)] if name.endswith(".toml") else _packaged(name)
        if not short:
            return found
        kept = [short_form(item) for item in found if not item.short.get("leave_out")]
    if not kept:
        raise InputError(f"{name} has no short form: run it without --short")
    return kept


def _packaged(name: str) -> list[Experiment]:
    known = packaged()
    if name in known:
        return [read(known[name], name)]
    inside = [read(path, key) for key, path in known.items() if key.startswith(f"{name}/")]
    if not inside:
        raise InputError(
            f"unknown experiment {name!r}{nearest(name, list(known))}; there are: "
            f"{', '.join(known)}; or name a file that ends in .toml"
        )
    return inside


SHORT = (
    *("seeds", "pages", "share", "in_flight", "webs", "sites", "policies", "topics", "settings"),
    "leave_out",
)
"""Keys of a short form."""


def short_form(experiment: Experiment) -> Experiment:
    """The short form of an experiment; one without a table `[short]` has only one form."""
    changes: dict[str, Any] = {}
    words = []
    for key, value in experiment.short.items():
        long = getattr(experiment, key, None)
        if key in ("webs", "policies"):
            changes[key] = tuple(item for item in getattr(experiment, key) if item.name in value)
            words.append(f"{key}: {len(changes[key])} instead of {len(long or ())}")
        elif key == "sites":
            webs = changes.get("webs", experiment.webs)
            changes["webs"] = tuple(replace(web, sites=tuple(value)) for web in webs)
            words.append(f"sites: the first {len(value)}")
        elif key == "topics":
            settings = changes.get("settings", experiment.settings)
            topics = [topic for topic in settings["topics"] if topic["name"] in value]
            changes["settings"] = {**settings, "topics": topics}
            words.append(_differs(key, topics, settings))
        elif key == "settings":
            changes[key] = {**changes.get(key, experiment.settings), **value}
            words += [_differs(name, new, experiment.settings) for name, new in value.items()]
        elif key != "leave_out":
            changes[key] = value
            words += [_differs(key, value, {key: long})] if value != long else []
    if "seeds" in changes:
        policies = changes.get("policies", experiment.policies)
        changes["policies"] = tuple(_fewer_seeds(item, changes["seeds"]) for item in policies)
        words += [
            f"{item.name}: {_differs('seeds', new.seeds, {'seeds': item.seeds})}"
            for item, new in zip(policies, changes["policies"], strict=True)
            if new != item
        ]
    return replace(experiment, **changes, shortened=tuple(words))


def _fewer_seeds(item: Contender, seeds: int) -> Contender:
    """A contender with no more seeds than a short form has."""
    return replace(item, seeds=min(item.seeds, seeds)) if item.seeds else item


def _differs(name: str, new: Any, long: Mapping[str, Any]) -> str:
    old = long.get(name)
    if isinstance(new, list):
        return f"{name}: {len(new)} instead of {len(old or ())}"
    return f"{name}: {new} instead of {old}" if old is not None else f"{name}: {new}"


def _short(table: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """The table `[short]` of a file, checked."""
    short = table_of(table, "short", where)
    check_keys(short, SHORT, f"{where}: short")
    for key in ("seeds", "pages", "in_flight"):
        if key in short:
            most = MOST_SEEDS if key == "seeds" else sys.maxsize
            whole_number(short[key], f"{where}: short {key}", most)
    share_of(short, f"{where}: short")
    table_of(short, "settings", f"{where}: short")
    strings_of(short, "sites", f"{where}: short")
    settings = table_of(table, "settings", where)
    for key, place in (("webs", table), ("policies", table), ("topics", settings)):
        names = [
            str(item.get("name") or item.get("policy", ""))
            for _, item in tables_of(place, key, where)
        ]
        for name in strings_of(short, key, f"{where}: short"):
            if name not in names:
                raise InputError(f"{where}: short {key} have no {name!r}{nearest(name, names)}")
    return short


def _number_or_none(table: Mapping[str, Any], key: str, where: str) -> int | None:
    return whole_number(table[key], f"{where}: {key}") if key in table else None


def read(path: Path, name: str) -> Experiment:
    """An experiment from its file. Raises InputError that names the file and the key."""
    try:
        table = read_toml(path)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path} is no TOML: {error}") from error
    where = str(path)
    check_keys(table, Experiment.__dataclass_fields__.keys() - {"name", "shortened"}, where)
    base = path.parent
    experiment = Experiment(
        name=name,
        title=text_of(table, "title", where) or name,
        about=text_of(table, "about", where),
        webs=tuple(
            _web(item, base, f"{where}, web {number}")
            for number, item in tables_of(table, "webs", where)
        ),
        targets=tuple(
            _target(item, f"{where}, target {number}")
            for number, item in tables_of(table, "targets", where)
        ),
        policies=tuple(
            _contender(item, f"{where}, policy {number}")
            for number, item in tables_of(table, "policies", where)
        ),
        seeds=whole_number(table.get("seeds", 1), f"{where}: seeds", MOST_SEEDS),
        pages=_number_or_none(table, "pages", where),
        share=share_of(table, where),
        in_flight=whole_number(table.get("in_flight", 1), f"{where}: in_flight"),
        found_per_host=_number_or_none(table, "found_per_host", where),
        kind=text_of(table, "kind", where) or "harvest",
        settings=table_of(table, "settings", where),
        short=_short(table, where),
    )
    if experiment.kind == "harvest":
        for key in ("webs", "targets", "policies"):
            if not getattr(experiment, key):
                raise InputError(f"{where} names no {key}; add a [[{key}]] table")
    for target in experiment.targets:
        for web in target.webs:
            names = [spec.name for spec in experiment.webs]
            if web not in names:
                raise InputError(f"{where}: a target is for web {web!r}{nearest(web, names)}")
    return experiment


def _web(item: Mapping[str, Any], base: Path, where: str) -> WebSpec:
    check_keys(item, WebSpec.__dataclass_fields__, where)
    given = [key for key in _ORIGINS if key in item]
    if len(given) != 1:
        raise InputError(f"{where}: give one of {', '.join(_ORIGINS[:-1])} and {_ORIGINS[-1]}")
    path = str(base / text_of(item, "path", where)) if "path" in item else ""
    name = text_of(item, "name", where) or (Path(path).name if path else given[0])
    return WebSpec(
        name,
        path,
        strings_of(item, "sources", where),
        table_of(item, "generated", where),
        table_of(item, "company", where),
        tuple(manual_of(row, where) for _, row in tables_of(item, "manuals", where)),
        strings_of(item, "sites", where),
        strings_of(item, "roots", where),
        text_of(item, "vectors", where),
    )


def _target(item: Mapping[str, Any], where: str) -> TargetSpec:
    check_keys(item, TargetSpec.__dataclass_fields__, where)
    want = strings_of(item, "want", where)
    if not want:
        raise InputError(f"{where}: want is missing, as in want = ['label:faculty']")
    topic = text_of(item, "topic", where)
    name = text_of(item, "name", where) or words_of(want) or want[0]
    return TargetSpec(want, topic, name, strings_of(item, "webs", where))


def _contender(item: Mapping[str, Any], where: str) -> Contender:
    check_keys(item, Contender.__dataclass_fields__, where)
    policy = text_of(item, "policy", where)
    if not policy:
        raise InputError(f"{where}: policy is missing")
    train = text_of(item, "train", where)
    if train not in ("", *TRAININGS):
        raise InputError(f"{where}: train is {' or '.join(TRAININGS)} or left out, not {train!r}")
    params = table_of(item, "params", where)
    settings = " ".join(f"{key}={value}" for key, value in params.items())
    name = text_of(item, "name", where) or " ".join(filter(None, (policy, settings)))
    seeds = (
        None if "seeds" not in item else whole_number(item["seeds"], f"{where}: seeds", MOST_SEEDS)
    )
    free = item.get("free_look_ahead", False)
    if not isinstance(free, bool):
        raise InputError(f"{where}: free_look_ahead is true or false, not {free!r}")
    return Contender(policy, name, params, train, table_of(item, "training", where), seeds, free)
