"""Experiments of tasks, on a MediaWiki dump made here."""

from __future__ import annotations

import bz2
from pathlib import Path

import numpy as np
import pytest

from spoor.cli.main import run as spoor
from spoor.errors import InputError
from spoor.lab import pages, papers, results
from spoor.lab.cells import run_cells
from spoor.lab.experiment import packaged, read
from spoor.lab.kinds.tasks import KIND, completed, plan
from spoor.lab.pages import Grid
from spoor.lab.reports.tasks import table
from spoor.worlds.import_web import record

HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" xml:lang="en">
<siteinfo><base>https://wiki.example/wiki/Main</base><case>first-letter</case><namespaces>
<namespace key="14">Category</namespace></namespaces></siteinfo>
"""
EXPERIMENT = """
kind = "tasks"
title = "Poetry in a small wiki"
seeds = 2
share = 0.5

[[webs]]
path = "web"

[settings]
tasks = 3

[[settings.topics]]
name = "Poetry"
words = "poetry"
titles = ["Poetry of all ages", "Poetry"]
categories = { Arts = "arts painting" }
params = { sarsa = { alpha = 0.01 } }

[[policies]]
name = "no learning"
policy = "best-first"
seeds = 1

[[policies]]
policy = "sarsa"
params = { update = "synchronous" }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wiki of 40 articles, of which a quarter speak of poetry and mostly link to one another."""
    folder = tmp_path_factory.mktemp("wiki")
    rng = np.random.default_rng(0)
    titles = ["Poetry", *(f"Poem {at}" for at in range(9)), *(f"Town {at}" for at in range(30))]
    with bz2.open(folder / "dump.xml.bz2", "wt", encoding="utf-8") as file:
        file.write(HEAD)
        for at, title in enumerate(titles):
            own = titles[:10] if at < 10 else titles[10:]
            linked = [*rng.choice(own, 4), *rng.choice(titles, 3), titles[(at + 1) % 40]]
            word = "poetry and arts" if at < 10 else "streets and markets"
            text = f"{title} is about {word}. " + " ".join(f"See [[{to}]]." for to in linked)
            file.write(
                f"<page><title>{title}</title><ns>0</ns><revision>"
                f"<timestamp>2024-01-01T00:00:00Z</timestamp><text>{text}</text></revision></page>"
            )
        file.write("</mediawiki>")
    record([folder / "dump.xml.bz2"], folder / "web")
    (folder / "poetry.toml").write_text(EXPERIMENT, encoding="utf-8")
    return folder


def test_a_topic_that_the_word_vectors_do_not_know_costs_its_cells_only(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    vectors = "poetry 1 0\narts 1 1\nstreets 0 1\n"
    (tmp_path / "few.txt").write_text(vectors, encoding="utf-8")
    head, topics = EXPERIMENT.replace("seeds = 2", "seeds = 1").split("[settings]")
    geology = '[[settings.topics]]\nname = "Rocks"\nwords = "geology"\ntitles = ["Town 1"]\n\n'
    own = tmp_path / "two.toml"
    web = f'path = "{folder / "web"}"\nvectors = "few.txt"'
    policies = "[[policies]]".join(topics.split("[[policies]]")[:2])
    text = f"{head}[settings]{policies}{geology}".replace('path = "web"', web)
    own.write_text(text, encoding="utf-8")
    monkeypatch.setenv("SPOOR_DATA", str(tmp_path))
    out = tmp_path / "out"
    assert spoor(["lab", "run", str(own), "--out", str(out), "--jobs", "1"]) == 1
    why = "none of the topic's words is in the word vectors: 'geology'"
    said = capsys.readouterr()
    assert said.err.splitlines()[-1] == f"spoor: not run: web, Rocks, no learning, seed 0: {why}"
    told = results.read(out / "two")
    assert {row["topic"] for row in told.rows} == {"Poetry"}
    assert told.more["failed"] == [{"cell": "web, Rocks, no learning, seed 0", "error": why}]
    assert "Rocks, no learning" in (out / "two" / "report.md").read_text("utf-8")
    # What was finished is kept; without the other topic all is well.
    own.write_text(text.replace(geology, ""), encoding="utf-8")
    assert spoor(["lab", "run", str(own), "--out", str(out), "--jobs", "1", "--json"]) == 0
    # Where no cell can be run, nothing is left to report.
    own.write_text(text.replace('"poetry"', '"chess"'), encoding="utf-8")
    assert spoor(["lab", "run", str(own), "--out", str(out), "--jobs", "1"]) == 2


def test_tasks_on_a_dump_of_ones_own(folder: Path) -> None:
    experiment = read(folder / "poetry.toml", "poetry")
    out = folder / "out"
    trials = plan(experiment, out)
    names = [(trial.contender.name, trial.seed) for trial in trials]
    assert names[0] == ("no learning", 0)
    assert len(names) == 3
    told: list[int] = []
    rows = run_cells(KIND, trials, out, progress=told.append)
    assert list(dict.fromkeys(told)) == [0, 1, 2, 3]
    # Best-first learns nothing, and crawls once.
    assert [row["task"] for row in rows] == [1, 1, 2, 3, 1, 2, 3]
    for row in rows:
        assert row["root"].endswith("/Poetry")
        assert row["fetched"] == round(row["reachable"] / 2)
        assert row["curve"][-1] == [row["fetched"], row["found"]]
        assert row["targets_reachable"] >= 10, "a town that links to Poetry names it, too"
        assert 0 < row["found"] <= row["targets_reachable"]
    again = run_cells(KIND, trials, out)
    assert again == rows, "kept trials are read back"
    assert table(rows).rows[0][:2] == ["Poetry", "no learning"]
    results.write(out / "poetry", experiment, rows)
    page = pages.write(papers.page_of(out / "poetry"), out / "poetry")
    assert page.with_suffix(".md").read_text("utf-8").count(".svg") == 3
    assert len(list(page.parent.glob("fig?-poetry.svg"))) == 3


def test_the_paper_experiments_are_read() -> None:
    for name, path in packaged().items():
        if name.startswith("han2018"):
            experiment = completed(read(path, name))
            assert experiment.kind == "tasks"
            topics = len(experiment.settings["topics"])
            assert topics == {"han2018/mdn": 10, "han2018/glove": 5}.get(name, 6)
            assert {"best-first", "sarsa"} == {policy.policy for policy in experiment.policies}


def test_figures_of_the_same_tasks_share_their_trials(folder: Path) -> None:
    out = folder / "shared"
    told = {"fig1": 4, "fig2": 10, "fig3": 3, "cost": 3}
    shown: dict[str, Grid] = {}
    for figure, columns in told.items():
        file = folder / f"{figure}.toml"
        of = f'[settings]\nfigure = "{figure}"'
        file.write_text(EXPERIMENT.replace("[settings]", of), encoding="utf-8")
        trials = plan(read(file, figure), out)
        done: list[int] = []
        shown[figure] = table(run_cells(KIND, trials, out, progress=done.append))
        ready = {"fig1": 0, "fig2": 3, "fig3": 3, "cost": 0}  # what is timed is run anew
        assert done[0] == ready[figure]
        lines = [shown[figure].head, *shown[figure].rows]
        assert [len(line) for line in lines] == [columns + 2] * 3
    found = [line[-1] for line in shown["fig3"].rows]
    rows = run_cells(KIND, plan(read(folder / "fig3.toml", "fig3"), out), out)
    assert found[0] == str(rows[0]["found"]), (
        "best-first learns nothing: its last task is its first"
    )


def test_topics_are_of_the_web_that_they_name(folder: Path) -> None:
    file = folder / "webs.toml"
    text = EXPERIMENT.replace('path = "web"', 'path = "web"\n\n[[webs]]\nname = "b"\npath = "web"')
    text = text.replace("tasks = 3", "tasks = { web = 1, b = 2 }")
    file.write_text(text.replace('words = "p', 'web = "b"\nwords = "p'), encoding="utf-8")
    trials = plan(read(file, "webs"), folder / "out")
    assert {(trial.subject.web, trial.tasks) for trial in trials} == {("b", 2)}
    file.write_text(text.replace('words = "p', 'web = "c"\nwords = "p'), encoding="utf-8")
    with pytest.raises(InputError, match="topic 'Poetry' is of web 'c'"):
        plan(read(file, "webs"), folder / "out")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("tasks = 3", "task = 3", "did you mean 'tasks'"),
        ('titles = ["Poetry of', 'title = ["Poetry of', "did you mean 'titles'"),
        ('words = "poetry"', 'words = ""', "has a name and words"),
        ("tasks = 3", 'figure = "fig4"', "figure is one of fig1"),
        ("tasks = 3", 'same_as = "han2018/fig9"', "did you mean 'han2018/fig"),
    ],
)
def test_bad_settings_are_said_in_one_line(
    folder: Path, tmp_path: Path, old: str, new: str, says: str
) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(EXPERIMENT.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=says) as error:
        plan(read(file, "bad"), tmp_path)
    assert "\n" not in str(error.value)
