"""The tasks of the duel and their truths: `tasks.toml` and `qrels.txt` in one folder.

What each key means stands in docs/guides/duel-data.md. `qrels.txt` is TREC's form, a line
`TASK 0 URL 1` for each right page, so that other tools read it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spoor.errors import InputError, taking_in
from spoor.files import read_plain, read_toml
from spoor.lab.manuals import package_name
from spoor.lab.tables import check_keys, text_of
from spoor.registry import nearest
from spoor.web.urls import canonical

TASKS, QRELS = "tasks.toml", "qrels.txt"
FORMAT = 1
MOST_BYTES = 1 << 26
"""Of the right pages of a data set."""
_NAME = re.compile(r"[a-z0-9-]{1,60}")
HALVES = ("reported", "development")
KINDS = ("ordinary", "gold", "pdf", "language", "hosts")
BUDGETS = (12, 30, 100, 300, 1000)
"""Requests for pages at which a crawl is looked at."""


@dataclass(frozen=True, slots=True)
class Site:
    """A site of the duel: the files of one package under one host name."""

    name: str
    base: str
    """URL of its folder, with the slash."""
    folder: str
    """Folder of the files in the package."""
    package: str = ""
    """Debian package that has the files; empty: the folder lies in the data set."""
    main: str = ""
    """CSS selector of a page's main text, for rules that look at the text."""


@dataclass(frozen=True, slots=True)
class Task:
    """A wish, where to begin, and what is right."""

    name: str
    """`SITE.NAME`"""
    sites: tuple[str, ...]
    wish: str
    start: str
    kind: str = "ordinary"
    half: str = "reported"
    rule: Mapping[str, Any] = field(default_factory=dict)
    """What told the truth: `url`, `title`, `html`, `text` (regular expressions), `times`."""
    targets: frozenset[str] = frozenset()
    """Keys (`page_key`) of the right pages."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """All of it."""

    version: str
    sites: Mapping[str, Site]
    tasks: Sequence[Task]

    def task(self, name: str) -> Task:
        """The task of this name. Raises InputError for one that does not exist."""
        for task in self.tasks:
            if task.name == name:
                return task
        names = [task.name for task in self.tasks]
        raise InputError(f"no task is called {name!r}{nearest(name, names)}")


def page_key(url: str) -> str:
    """What two spellings of the URL of one page have in common: `canonical`, without fragment and
    query (the sites are files), and without `index.html` at its end. Raises ValueError for what is
    no URL."""
    key = canonical(url).partition("#")[0].partition("?")[0]
    return key.removesuffix("index.html") if key.endswith("/index.html") else key


def read(folder: Path, *, truths: bool = True) -> Dataset:
    """The data set in a folder. Raises InputError that names the file and what is wrong in it;
    with `truths`, also for a task without a right page."""
    file = folder / TASKS
    try:
        table = read_toml(file)
    except OSError as error:
        raise InputError(
            f"cannot read {file}: {error.strerror}; name a data set's folder"
        ) from error
    except ValueError as error:
        raise InputError(f"{file} is no TOML: {error}") from error
    check_keys(table, ("format", "version", "site", "task"), str(file))
    if table.get("format") != FORMAT:
        raise InputError(f"{file}: format is {FORMAT} here, not {table.get('format')!r}")
    right = read_qrels(folder) if truths else {}
    with taking_in(str(file), "mend its tables"):
        named = dict(table.get("site", {}))
        sites = {name: _site(name, item, file) for name, item in named.items()}
        tasks = [_task(item, number, sites, right, file) for number, item in _list(table, file)]
    names = {task.name for task in tasks}
    if len(names) < len(tasks):
        raise InputError(f"{file}: two tasks have one name")
    if truths:
        for task in tasks:
            if not task.targets:
                raise InputError(f"{folder / QRELS} has no right page of the task {task.name!r}")
        for name in right.keys() - names:
            raise InputError(f"{folder / QRELS}: no task is called {name!r} in {TASKS}")
    return Dataset(str(table.get("version", "")), sites, tasks)


def write_qrels(folder: Path, right: Mapping[str, Sequence[str]]) -> None:
    """Write the right pages of each task, sorted."""
    lines = [f"{name} 0 {url} 1\n" for name in sorted(right) for url in sorted(right[name])]
    (folder / QRELS).write_text("".join(lines), "utf-8")


def _list(table: Mapping[str, Any], file: Path) -> list[tuple[int, Mapping[str, Any]]]:
    tasks = table.get("task", [])
    if not isinstance(tasks, list) or not all(isinstance(item, dict) for item in tasks):
        raise InputError(f"{file}: tasks are tables, written [[task]]")
    return list(enumerate(tasks, 1))


def _site(name: str, item: Any, file: Path) -> Site:
    where = f"{file}, site {name}"
    if not isinstance(item, dict):
        raise InputError(f"{where}: a site is a table, written [site.{name}]")
    check_keys(item, Site.__dataclass_fields__.keys() - {"name"}, where)
    values = {key: text_of(item, key, where) for key in item}
    for key in ("base", "folder"):
        if not values.get(key):
            raise InputError(f"{where} has no {key}")
    if not _NAME.fullmatch(name):
        raise InputError(f"{where}: a name is of small letters, digits and hyphens")
    if values["folder"].startswith("/") or ".." in values["folder"].split("/"):
        raise InputError(f"{where}: folder {values['folder']!r} leads out of its package")
    if values.get("package"):
        package_name(values["package"], where)
    return Site(name, **values)


def _task(
    item: Mapping[str, Any],
    number: int,
    sites: Mapping[str, Site],
    right: Mapping[str, set[str]],
    file: Path,
) -> Task:
    where = f"{file}, task {number}"
    check_keys(item, ("site", "sites", "name", "wish", "start", "kind", "half", "rule"), where)
    named = item.get("sites", [item.get("site")])
    if not isinstance(named, list) or not named or not all(name in sites for name in named):
        raise InputError(f"{where}: site is one of {', '.join(sites)}, not {named!r}")
    kind, half = item.get("kind", "ordinary"), item.get("half", "reported")
    for key, value, allowed in (("kind", kind, KINDS), ("half", half, HALVES)):
        if value not in allowed:
            raise InputError(f"{where}: {key} is {', '.join(allowed)}, not {value!r}")
    for key in ("name", "wish"):
        if not text_of(item, key, where):
            raise InputError(f"{where} has no {key}")
    if not _NAME.fullmatch(item["name"]):
        raise InputError(f"{where}: a name is of small letters, digits and hyphens")
    name = f"{named[0] if len(named) == 1 else kind}.{item['name']}"
    start = text_of(item, "start", where)
    try:
        start = page_key(sites[named[0]].base + start if "://" not in start else start)
    except ValueError as error:
        raise InputError(f"{where}: start is no URL: {error}") from error
    rule = item.get("rule", {})
    if not isinstance(rule, dict):
        raise InputError(f"{where}: rule is a table")
    targets = frozenset(right.get(name, ()))
    return Task(name, tuple(named), item["wish"], start, kind, half, rule, targets)


def read_qrels(folder: Path) -> dict[str, set[str]]:
    """Task → keys of its right pages; empty where there is no file. Raises InputError that names
    the line."""
    file = folder / QRELS
    right: dict[str, set[str]] = {}
    if not file.exists():
        return right
    try:
        lines = read_plain(file, MOST_BYTES).decode().splitlines()
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {file}: {error}") from error
    for number, line in enumerate(lines, 1):
        parts = line.split()
        if not parts:
            continue
        if len(parts) != 4 or parts[3] not in ("0", "1"):
            raise InputError(f"{file}, line {number}: a line is TASK 0 URL 1, not {line[:200]!r}")
        if parts[3] == "1":
            try:
                right.setdefault(parts[0], set()).add(page_key(parts[2]))
            except ValueError as error:
                raise InputError(f"{file}, line {number}: {error}") from error
    return right
