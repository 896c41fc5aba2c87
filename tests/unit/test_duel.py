"""The duel's data set and its scores, by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spoor.cli.main import run
from spoor.errors import InputError
from spoor.lab.duel.dataset import page_key, read
from spoor.lab.duel.score import score_file

COMMITTED = Path(__file__).parents[2] / "benchmarks" / "duel" / "dataset"
TASKS = """
format = 1
version = "by hand"
[site.kilns]
base = "http://kilns.example/"
folder = "kilns"
[[task]]
site = "kilns"
name = "glaze"
wish = "glazes"
start = "index.html"
rule = { url = "glaze" }
"""
RIGHT = ["/glaze/", "/glaze/a.html", "/glaze/b%20c.html", "/d.pdf"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tasks.toml").write_text(TASKS)
    lines = [f"kilns.glaze 0 http://kilns.example{path} 1\n" for path in RIGHT]
    (tmp_path / "qrels.txt").write_text("".join(lines))
    return tmp_path


def row(path: str, **more: object) -> str:
    return json.dumps({"url": f"http://kilns.example{path}", **more})


def test_a_log_by_hand(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = folder / "log"
    log.write_text(
        "\n".join(
            [
                row("/robots.txt", status=404, bytes=1),  # a helper: costs nothing
                row("/", bytes=10, relevant=True),  # 1, not right, said to be
                row("/glaze", status=301),  # a helper
                row("/glaze/index.html#top", bytes=10, relevant=True),  # 2: right
                row("/style.css"),  # an asset
                row("/glaze/a.html", method="HEAD"),  # 3: a HEAD finds nothing
                row("/glaze/a.html", status=404),  # 4: a failure finds nothing
                row("/glaze/"),  # 5: twice
                row("/glaze/a.html", relevant=False),  # 6: right, said not to be
                row("/glaze/b c.html", relevant=True),  # 7: right
                *(row(f"/{number}.html") for number in range(5)),  # 8 to 12
                row("/d.pdf"),  # 13: right
            ]
        )
    )
    (got,) = score_file(log, read(folder))
    assert (got.targets, got.pages, got.helpers, got.requests) == (4, 13, 2, 16)
    assert (got.failures, got.bytes, got.found) == (1, 21, 4)
    assert got.recall == {12: 0.75, 30: 1.0, 100: 1.0, 300: 1.0, 1000: 1.0}
    assert got.half == 6
    assert (got.told, got.precision, got.said_recall) == (3, 2 / 3, 0.5)

    capsys.readouterr()
    assert run(["lab", "score", str(log), str(folder), "--json"]) == 0
    (printed,) = json.loads(capsys.readouterr().out)["scores"]
    assert (printed["task"], printed["recall"]["12"]) == ("kilns.glaze", 0.75)
    assert run(["lab", "score", str(log), str(folder)]) == 0
    assert "0.750" in capsys.readouterr().out


def test_what_comes_after_the_largest_budget_is_not_read(folder: Path) -> None:
    log = folder / "urls"
    urls = [f"http://kilns.example/{number}" for number in range(1000)]
    log.write_text("\n".join([*urls, "http://kilns.example/glaze/"]))
    (got,) = score_file(log, read(folder))
    assert (got.pages, got.found, got.half) == (1000, 0, None)
    assert (got.told, got.precision, got.said_recall) == (None, None, None)


WRONG = {
    "not a url": "no URL and no JSON object",
    "{": "is no JSON",
    '{"task": "kilns.glaze"}': "has no url",
    '{"url": "http://a.example/", "status": -1}': "status is a whole number",
    '{"url": "http://a.example/", "relevant": "yes"}': "relevant true or false",
    '{"url": "http://a.example/", "task": "kilns.glase"}': "did you mean 'kilns.glaze'",
    "": "has no request",
    "x" * 100_001: "at most",
}


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_line_is_named(folder: Path, line: str) -> None:
    log = folder / "log"
    log.write_text(line)
    with pytest.raises(InputError, match=WRONG[line]):
        score_file(log, read(folder))


def test_a_wrong_data_set_is_named(folder: Path) -> None:
    for old, new, message in (
        ("format = 1", "format = 2", "format is 1"),
        ('site = "kilns"', 'site = "kiln"', "site is one of"),
        ('name = "glaze"', 'name = "glas"', "no right page"),
        ('wish = "glazes"', "wish = 3", "wish is a string"),
        ('wish = "glazes"', 'kind = "golden"\nwish = "w"', "kind is"),
        ('folder = "kilns"', 'packages = "kilns"', "did you mean 'package'"),
    ):
        (folder / "tasks.toml").write_text(TASKS.replace(old, new))
        with pytest.raises(InputError, match=message):
            read(folder)
    (folder / "tasks.toml").write_text(TASKS)
    (folder / "qrels.txt").write_text("kilns.glaze http://kilns.example/ 1\n")
    with pytest.raises(InputError, match="line 1: a line is TASK 0 URL 1"):
        read(folder)


def test_the_committed_data_set_can_be_read() -> None:
    dataset = read(COMMITTED)
    for task in dataset.tasks:
        bases = tuple(dataset.sites[name].base for name in task.sites)
        assert task.start.startswith(bases), task.name
        assert all(url.startswith(bases) for url in task.targets), task.name
        assert task.kind != "gold" or len(task.targets) == 1, task.name
        assert page_key(task.start) == task.start
    reported = {name for task in dataset.tasks if task.half == "reported" for name in task.sites}
    tuned = {name for task in dataset.tasks if task.half == "development" for name in task.sites}
    assert not reported & tuned
