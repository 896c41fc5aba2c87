"""The names of files inside a run are written in one place."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import spoor
from spoor.errors import InputError
from spoor.runs import files

SRC = Path(spoor.__file__).parent

NAMES = sorted(
    {
        value
        for name, value in vars(files).items()
        if name.isupper() and isinstance(value, str) and "." in value
    }
)

PATTERN = re.compile(
    r"(?<![\w.-])(" + "|".join(map(re.escape, NAMES)) + r"|pages[^/\s]*\.warc\.gz|shard-)(?![\w.-])"
)

_BETWEEN_STRINGS = re.compile(r"""["']\s+[frb]*["']""")
"""Of two that Python makes one."""

OTHERS = {
    "lab/pages.py": {"report.html"},  # the page of an experiment
    "cli/demo.py": {"report.html"},  # the page that compares two runs
}
"""Files of the same name that are no run's."""


def spelled(file: Path) -> Iterator[tuple[int, str]]:
    """(line, name) of each name in a string that is no docstring."""
    text = file.read_text("utf-8")
    if not PATTERN.search(_BETWEEN_STRINGS.sub("", text)):
        return  # without a tree, which takes a hundred times as long
    tree = ast.parse(text)
    documents = {
        id(statement.value)
        for node in ast.walk(tree)
        if isinstance(body := getattr(node, "body", None), list)
        for statement in body
        if isinstance(statement, ast.Expr)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in documents:
            continue
        if isinstance(node.value, str):
            yield from ((node.lineno, name) for name in PATTERN.findall(node.value))


def test_the_list_names_every_file() -> None:
    assert {"spoor.toml", "state.db", "labels.jsonl", "relevant.jsonl", "report.html"} <= {*NAMES}
    assert files.archive(0) == "pages.warc.gz"
    assert files.archive(7) == "pages-00007.warc.gz"


@pytest.mark.parametrize("room", sorted(path.name for path in SRC.iterdir() if path.name != "runs"))
def test_nothing_outside_runs_spells_one(room: str) -> None:
    place = SRC / room
    found = [
        f"{file.relative_to(SRC)}:{line}: {name}"
        for file in ([place] if place.suffix == ".py" else sorted(place.rglob("*.py")))
        for line, name in spelled(file)
        if name not in OTHERS.get(file.relative_to(SRC).as_posix(), ())
    ]
    assert not found


def test_archives_and_shards_come_in_their_order(tmp_path: Path) -> None:
    for number in (10, 2, 0, 1):
        (tmp_path / files.archive(number)).touch()
        files.shard(tmp_path, number).mkdir()
    (tmp_path / "shard-x").mkdir()
    assert [file.name for file in files.archives(tmp_path)] == [
        files.archive(number) for number in (0, 1, 2, 10)
    ]
    assert [files.shard_number(one) for one in files.shards(tmp_path)] == [0, 1, 2, 10]


@pytest.mark.parametrize(
    "name",
    [*NAMES, "lock", "shard-0", "pages-00003.warc.gz", "state.db-wal", "recovered-pages-7.warc.gz"],
)
def test_a_name_of_its_own_is_known(name: str) -> None:
    assert files.is_own(name)
    assert not files.is_own(f"my-{name}")


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no run: it has no spoor"):
        spoor.open(tmp_path)


def test_each_run_without_a_name_has_a_folder_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with files.run_folder(None) as first, files.run_folder(None, first.name) as other:
        (first / files.DATABASE).touch()
        assert first != files.new_run() != other
    assert first.exists()
    assert not other.exists(), "no run was begun in it"
    with files.run_folder(tmp_path / "named") as path:
        assert path == tmp_path / "named"
