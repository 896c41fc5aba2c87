"""What a stranger gives to the lab: results, experiments and tasks are data, and told in one line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from spoor.cli.main import run
from spoor.errors import InputError
from spoor.lab import papers
from spoor.lab.cells import KINDS
from spoor.lab.duel import dataset
from spoor.lab.experiment import read

ROW = {"contender": "a", "web": "w", "site": "", "target": "t", "seed": 0, "auc": 1.0}
GOOD: dict[str, Any] = {
    "format": 1,
    "name": "x",
    "kind": "harvest",
    "title": "t",
    "about": "a",
    "made": {"spoor": "1", "code": "x"},
    "settings": {},
    "rows": [],
    "more": {},
}
CHANGES: list[dict[str, Any]] = [
    {"rows": None},
    {"rows": [1, "x"]},
    {"kind": "..duel"},
    {"kind": 3},
    {"more": []},
    *({"kind": kind, "rows": [{"contender": "x"}]} for kind in KINDS),
]
TARGETS = '[[targets]]\nwant = ["url:1"]\ntopic = "kiln"\n[[policies]]\npolicy = "breadth-first"\n'


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 100_000,
        b"[]",
        b"\xff",
        *(json.dumps(GOOD | change).encode() for change in CHANGES),
    ],
)
def test_results_that_cannot_be_used_are_told_in_one_line(
    data: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "results.json").write_bytes(data)
    for command in (["lab", "report", str(tmp_path)], ["lab", "compare", str(tmp_path)]):
        assert run(command) in (0, 2)
        assert "Traceback" not in capsys.readouterr().err
    with pytest.raises(InputError, match=r"results\.json"):
        papers.page_of(tmp_path)


@pytest.mark.parametrize("text", ["claims = 3", 'claims = ["x"]', "title = 3\nsource = []"])
def test_a_page_of_a_paper_is_data(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "paper" / "one"
    folder.mkdir(parents=True)
    (folder / "results.json").write_text(json.dumps(GOOD))
    (folder.parent / "page.toml").write_text(text)
    assert run(["lab", "report", str(folder.parent)]) == 2
    assert len(capsys.readouterr().err.strip().split("\n")) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="nothing bounds memory elsewhere")
def test_results_of_empty_lists_take_no_memory_without_bound(tmp_path: Path) -> None:
    """In a process of its own: what others have given back there needs no new memory."""
    (tmp_path / "results.json").write_bytes(b"[" + b"[]," * 6_000_000 + b"1]")
    code = (
        "import sys; from pathlib import Path; from spoor.lab import cells, papers; "
        "cells.MEMORY = 1 << 20; papers.page_of(Path(sys.argv[1]))"
    )
    command = [sys.executable, "-P", "-c", code, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert "InputError" in done.stderr
    assert "MemoryError" in done.stderr.splitlines()[-1]


def test_results_are_a_plain_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "results.json")
    with pytest.raises(InputError, match="not a plain file"):
        papers.page_of(tmp_path)


def test_a_report_follows_no_link(tmp_path: Path) -> None:
    outside = tmp_path / "precious"
    outside.write_text("precious")
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "results.json").write_text(json.dumps(GOOD | {"rows": [ROW]}))
    for name in ("report.md", "report.html", "report.html.part"):
        (folder / name).symlink_to(outside)
    run(["lab", "report", str(folder)])
    assert outside.read_text() == "precious"


@pytest.mark.parametrize("package", ["-oDir::Bin::dpkg=evil", "../../home", "/etc", "a b", 3])
def test_a_package_is_a_name(package: object, tmp_path: Path) -> None:
    file = tmp_path / "exp.toml"
    manual = (
        f'[[webs]]\nname = "w"\nmanuals = [{{ package = {json.dumps(package)}, files = "*" }}]\n'
    )
    file.write_text(f"seeds = 1\npages = 5\n{manual}{TARGETS}")
    with pytest.raises(InputError, match="no name of a Debian package"):
        read(file, "exp")
    (tmp_path / "tasks.toml").write_text(
        f'format = 1\n[site.s]\nbase = "http://a.example/"\nfolder = "s"\n'
        f"package = {json.dumps(str(package))}\n"
    )
    with pytest.raises(InputError, match="no name of a Debian package"):
        dataset.read(tmp_path, truths=False)


def test_a_web_lies_in_the_folder_of_the_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "exp.toml"
    web = '[[webs]]\nname = "../../planted"\ngenerated = { pages = 20, seed = 1 }\n'
    file.write_text(f"seeds = 1\npages = 5\n{web}{TARGETS}")
    out = tmp_path / "far" / "below" / "out"
    run(["lab", "run", str(file), "--out", str(out), "--jobs", "1"])
    capsys.readouterr()
    assert {path.name for path in tmp_path.iterdir()} == {"exp.toml", "far"}
    assert [path.name for path in (tmp_path / "far" / "below").iterdir()] == ["out"]


@pytest.mark.parametrize(
    "site",
    ['[site."../x"]\nbase = "b"\nfolder = "s"', '[site.s]\nbase = "b"\nfolder = "../../etc"'],
)
def test_a_site_lies_in_its_package(site: str, tmp_path: Path) -> None:
    (tmp_path / "tasks.toml").write_text(f"format = 1\n{site}\n")
    with pytest.raises(InputError, match=r"tasks\.toml, site"):
        dataset.read(tmp_path, truths=False)
