"""What a stranger puts into the folder of the lab's output, or into an experiment: nothing leads out of it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from spoor.cli.main import run
from spoor.errors import InputError
from spoor.lab.duel import dataset, rivals

EXPERIMENT = """
seeds = 1
pages = 5
[[webs]]
name = "w"
generated = { pages = 20, seed = 1 }
[[targets]]
want = ["url:1"]
topic = "kiln"
[[policies]]
policy = "breadth-first"
name = NAME
"""


def _lab(folder: Path, name: str = "a") -> list[str]:
    (folder / "exp.toml").write_text(EXPERIMENT.replace("NAME", json.dumps(name)))
    return ["lab", "run", str(folder / "exp.toml"), "--out", str(folder / "out"), "--jobs", "1"]


@pytest.mark.parametrize("name", ["cells", "webs", "exp"])
def test_nothing_is_written_through_a_link(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outside = tmp_path / "precious"
    outside.mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).symlink_to(outside)
    assert run(_lab(tmp_path)) in (1, 2)
    assert "a link" in capsys.readouterr().err
    assert not [*outside.iterdir()]


@pytest.mark.parametrize("planted", ["pipe", "[]", "3", '[["x"]]', '{"requests_to": 3}'])
def test_figures_of_a_cell_are_data(
    planted: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = _lab(tmp_path)
    assert run(command) == 0
    (cell,) = (tmp_path / "out" / "cells").iterdir()
    cell.unlink()
    if planted == "pipe":
        os.mkfifo(cell)
    else:
        cell.write_text(planted)
    assert run(command) in (0, 2)
    assert "Traceback" not in capsys.readouterr().err


def test_names_steer_no_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(_lab(tmp_path, "a[/x] \x1b]0;title\x07 \u202e")) == 0
    assert run(["lab", "compare", str(tmp_path / "out" / "exp")]) in (0, 2)
    printed = capsys.readouterr()
    assert not {"\x1b", "\x07", "\u202e"} & {*printed.out, *printed.err}
    assert "a[/x]" in printed.out
    page = (tmp_path / "out" / "exp" / "report.html").read_text()
    assert not {"\x1b", "\x07", "\u202e"} & {*page}


def test_any_name_in_results_makes_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(_lab(tmp_path)) == 0
    file = tmp_path / "out" / "exp" / "results.json"
    known = json.loads(file.read_text())
    for name, value in (("web", "a" * 5_000), ("contender", "\ud800"), ("target", "\ud800")):
        file.write_text(json.dumps(known | {"rows": [known["rows"][0] | {name: value}]}))
        assert run(["lab", "report", str(file.parent)]) == 0, capsys.readouterr().err
    file.write_text(json.dumps(known | {"title": "\ud800", "about": "\ud800"}))
    assert run(["lab", "report", str(file.parent)]) == 0, capsys.readouterr().err


def test_a_page_of_results_has_no_html_of_its_words(tmp_path: Path) -> None:
    command = _lab(tmp_path)
    file = tmp_path / "exp.toml"
    about = '<img src="http://tracker.example/"> ![x](http://tracker.example/) \x1b[31m'
    words = f"title = {json.dumps(about)}\nabout = {json.dumps(about)}\n"
    file.write_text(words + file.read_text())
    assert run(command) == 0
    folder = tmp_path / "out" / "exp"
    for name in ("report.md", "report.html"):
        text = (folder / name).read_text()
        assert "\x1b" not in text
        assert "<img" not in text
        assert "![x]" not in text or name == "report.html"


@pytest.mark.parametrize(
    "text",
    [
        'kind = "fleets"\n[settings]\nwebs = true\nfleets = ["WL"]\n',
        'kind = "fleets"\n[settings]\nwebs = { w = { rewired = "" } }\nfleets = ["WL"]\n',
        'kind = "fleets"\nseeds = 100000000000\n[settings]\nwebs = { w = {} }\nfleets = ["WL"]\n',
        'kind = "judges"\nwebs = [{ generated = { pages = 20 } }]\ntargets = [{ want = ["url:1"] }]\n'
        "settings = { languages = true }\n",
        EXPERIMENT.replace("NAME", '"a"').replace("seed = 1 }", "seed = -1 }"),
        EXPERIMENT.replace("NAME", '"a"').replace("generated", "sources = []\n#"),
        'kind = "shards"\n[settings]\nshards = true\n[short]\nsettings = { shards = [1] }\n',
        'kind = "tasks"\nwebs = [{ generated = { pages = 20 } }]\npolicies = [{ policy = "random" }]\n'
        'settings = { tasks = inf, topics = [{ name = "a", words = "b" }] }\n',
        *(
            'kind = "tasks"\nwebs = [{ generated = { pages = 20 } }]\n'
            f'policies = [{{ policy = "random" }}]\nsettings = {{ topics = [{{ {topic} }}] }}\n'
            for topic in (
                'name = "a", words = 3',
                'name = "a", words = "b", params = 3',
                'name = "a", words = "b", params = { random = [1] }',
                'name = "a", words = "b", titles = [{}]',
            )
        ),
        *(
            'kind = "judges"\nwebs = [{ name = "w", generated = { pages = 20 } }]\n'
            f'targets = [{{ want = ["url:1"] }}]\nsettings = {{ within = {{ w = {within} }} }}\n'
            for within in ("nan", "[]")
        ),
    ],
)
@pytest.mark.parametrize("short", [[], ["--short"]])
def test_a_value_in_an_experiment_is_told_in_one_line(
    text: str, short: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = _lab(tmp_path)
    (tmp_path / "exp.toml").write_text(text)
    assert run([*command, *short]) == 2
    assert len(capsys.readouterr().err.strip().split("\n")) == 1


def test_programs_of_rivals_lie_in_no_folder_of_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "benchmarks" / "duel"
    here.mkdir(parents=True)
    (here / rivals.SHARED).write_text("raise SystemExit('it ran')")
    monkeypatch.delenv(rivals.PLACE, raising=False)
    monkeypatch.chdir(tmp_path)
    assert rivals.home() != here.resolve()
    for name in ("../evil", str(tmp_path / "evil"), "adapter"):
        (tmp_path / "benchmarks" / "evil.py").write_text("")
        with pytest.raises(InputError, match="no rival is called"):
            rivals.installed(name, here)
    (here / "one.py").write_text("")
    with pytest.raises(InputError, match="it ran"):
        rivals.installed("one", here)
    assert not (tmp_path / "lab-out").exists()


def test_a_task_has_a_name_that_is_no_path(tmp_path: Path) -> None:
    (tmp_path / "tasks.toml").write_text(
        'format = 1\n[site.s]\nbase = "http://a.example/"\nfolder = "s"\n'
        '[[task]]\nsite = "s"\nname = "/../../x"\nwish = "kilns"\n'
    )
    with pytest.raises(InputError, match="small letters"):
        dataset.read(tmp_path, truths=False)


@pytest.mark.parametrize("name", ["qrels.txt", "log"])
def test_a_pipe_is_not_waited_for(name: str, tmp_path: Path) -> None:
    (tmp_path / "tasks.toml").write_text("format = 1\n")
    (tmp_path / "log").write_text("http://a.example/\n")
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)
    assert run(["lab", "score", str(tmp_path / "log"), str(tmp_path)]) == 2
