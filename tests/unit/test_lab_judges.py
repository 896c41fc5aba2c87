"""The experiment with judges: what is judged of a focused crawl, and how it is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from spoor.errors import InputError
from spoor.lab.experiment import read
from spoor.lab.kinds.judges import fetched_by_crawl, plan, run
from spoor.lab.pages import Grid
from spoor.lab.reports.judges import by_share, means, with_and_without_added

EXPERIMENT = """
kind = "judges"
pages = 60

[[webs]]
name = "pots"
generated = { pages = 160, seed = 3 }

[settings]
crawls = CRAWLS

[[targets]]
topic = "sailing"
want = ["label:sailing"]
"""


def written(folder: Path, crawls: str) -> Path:
    file = folder / "pots.toml"
    file.write_text(EXPERIMENT.replace("CRAWLS", crawls))
    return file


def test_pages_of_a_focused_crawl_are_judged_too(tmp_path: Path) -> None:
    (cell,) = plan(read(written(tmp_path, "[30, 50, 1000, 2000]"), "pots"), tmp_path)
    fetched = fetched_by_crawl(cell)
    (rows,) = run([cell], tmp_path)
    crawled = [row for row in rows if row["crawl"]]
    # Half of the web at most; 2,000 pages would be the same ones once more.
    sizes = {row["crawl"]: row["pages"] for row in crawled}
    assert sizes == {30: 30, 50: 50, 1000: len(fetched)}
    assert 50 < len(fetched) <= 80
    share = {row["crawl"]: row["wanted"] / row["pages"] for row in rows}
    assert share[30] > share[0]  # it is focused
    assert {row["when"] for row in crawled} == {"arrival", "end"}
    assert {row["contender"] for row in crawled} == {"relevance"}
    grids = [block for block in by_share(rows) if isinstance(block, Grid)]
    assert sum(int(line[2]) for line in grids[-1].rows) == 1 + len(sizes)
    assert not list(by_share([row for row in rows if not row["crawl"]]))


@pytest.mark.parametrize("crawls", ["3", '["300"]', "[0]", "[true]"])
def test_numbers_of_pages_are_checked(tmp_path: Path, crawls: str) -> None:
    with pytest.raises(InputError, match="crawls is a list of numbers of pages"):
        plan(read(written(tmp_path, crawls), "pots"), tmp_path)


def test_each_task_of_a_number_is_tried_in_all_forms(tmp_path: Path) -> None:
    file = written(tmp_path, "[]")
    for given, forms in (("", [True, False]), ("forms_of = 1", [True, True])):
        second = f'[[webs]]\nname = "two"\ngenerated = {{ pages = 160, seed = 3 }}\n[settings]\n{given}\n'
        file.write_text(EXPERIMENT.replace("CRAWLS", "[]").replace("[settings]\n", second))
        assert [cell.all_forms for cell in plan(read(file, "pots"), tmp_path)] == forms
    file.write_text(file.read_text().replace("forms_of = 1", "forms_of = 0"))
    with pytest.raises(InputError, match="forms_of is a number from 1 on"):
        plan(read(file, "pots"), tmp_path)


def test_tasks_that_were_added_later_are_told_apart(tmp_path: Path) -> None:
    file = written(tmp_path, "[]")
    second = '[[webs]]\nname = "more pots"\ngenerated = { pages = 160, seed = 3 }\n\n[settings]\n'
    file.write_text(file.read_text().replace("[settings]\n", f'{second}added = ["more pots"]\n'))
    cells = plan(read(file, "pots"), tmp_path)
    assert [(cell.web, cell.added) for cell in cells] == [("pots", False), ("more pots", True)]
    rows = [row for some in run(cells, tmp_path) for row in some if row["form"] == "as typed"]
    every, first = [
        block for block in with_and_without_added(rows, means) if isinstance(block, Grid)
    ]
    assert {line[2] for line in every.rows} == {"2"}
    assert {line[2] for line in first.rows} == {"1"}
    old = [row for row in rows if not row["added"]]
    assert list(with_and_without_added(old, means)) == [means(old)]


@pytest.mark.parametrize("added", ["3", '["plates"]', "[1]"])
def test_webs_that_were_added_are_named(tmp_path: Path, added: str) -> None:
    file = written(tmp_path, "[]")
    file.write_text(file.read_text().replace("[settings]\n", f"[settings]\nadded = {added}\n"))
    with pytest.raises(InputError, match="added is a list of names of its webs"):
        plan(read(file, "pots"), tmp_path)
