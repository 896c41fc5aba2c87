"""The experiment with judges: what is judged of a focused crawl, and how it is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from spoor.errors import InputError
from spoor.lab.experiment import read
from spoor.lab.kinds.judges import fetched_by_crawl, plan, run
from spoor.lab.pages import Grid
from spoor.lab.reports.judges import by_share

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
