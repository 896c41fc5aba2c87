"""Shards simulated in one process."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from spoor.cli.main import run as spoor
from spoor.errors import CallerError, InputError
from spoor.frontier.memory import MemoryFrontier
from spoor.frontier.sqlite import SqliteFrontier
from spoor.lab import results
from spoor.lab.cells import run_cells
from spoor.lab.experiment import find, read
from spoor.lab.kinds.shards import KIND, plan
from spoor.lab.reports.shards import harvest
from spoor.sharding.coordinator import MERGE_PAGES
from spoor.simulation.crawls import CrawlSetup, simulate_crawl
from spoor.simulation.shards import division, simulate_shards
from spoor.types import NO_PARENT, Anchor, Link, Topic
from spoor.web.urls import shard_of
from spoor.worlds.generated import GeneratedSettings, GeneratedWorld

TARGET = ("label:pottery",)


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("web")
    GeneratedWorld(GeneratedSettings(pages=400, hosts=16, topics=4)).save(folder)
    return str(folder)


def cell(web: str, policy: str) -> CrawlSetup:
    return CrawlSetup(web, TARGET, policy, topic=Topic("pottery", "kiln glaze clay"), pages=150)


def test_one_shard_is_the_plain_crawl(web: str) -> None:
    alone = simulate_shards(cell(web, "best-first"), 1)
    plain = simulate_crawl(cell(web, "best-first"), compare=False)
    assert (alone["fetched"], alone["found"]) == (plain["fetched"], plain["found"])
    assert alone["links_per_page"] == 0


def test_shards_that_can_learn_together_do(web: str) -> None:
    told = simulate_shards(cell(web, "trail"), 4, merge_pages=20)
    assert told["fetched"] == 150
    assert told["mergeable"]
    assert told["merges"] >= 1
    assert told["model_bytes_per_page"] > 0
    assert told["links_per_page"] > 0
    assert 0.25 <= told["busiest"] < 0.5


def test_shards_that_cannot_learn_together_say_so(web: str) -> None:
    told = simulate_shards(cell(web, "best-first"), 4, merge_pages=20)
    assert told["fetched"] == 150
    assert not told["mergeable"]
    assert told["merges"] == 0


def test_divisions_are_draws_of_equal_worth() -> None:
    names = [f"www{at}.{name}.example" for name in ("a", "b", "c", "d") for at in range(50)]
    assert [division()(name, 5) for name in names] == [shard_of(name, 5) for name in names]
    assert len({division("domain", 3)(name, 5) for name in names if ".a." in name}) == 1
    by_host = [Counter(division("host", draw)(name, 4) for name in names) for draw in range(4)]
    assert all(min(counts.values()) > 25 and len(counts) == 4 for counts in by_host)
    assert len({tuple(sorted(counts.items())) for counts in by_host}) > 1


SMALL = """
kind = "shards"
title = "Small"
seeds = 2
pages = 60
[settings]
shards = [4]
merge = 10
[[webs]]
name = "here"
path = "web"
[[webs]]
name = "generated"
generated = { pages = 120, hosts = 8 }
[[targets]]
want = ["label:pottery"]
topic = "pottery, kiln, glaze, clay"
[[policies]]
policy = "trail"
seeds = 1
[[policies]]
policy = "best-first"
seeds = 1
"""


def experiment_file(folder: Path, web: str, text: str = SMALL) -> Path:
    file = folder / "small.toml"
    file.write_text(text.replace('"web"', json.dumps(web)), encoding="utf-8")
    return file


@pytest.mark.long
def test_an_experiment_with_shards_is_run_once_and_written(
    web: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = experiment_file(tmp_path, web), tmp_path / "out"
    assert spoor(["lab", "run", str(file), "--out", str(out), "--jobs", "1", "--json"]) == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    ours = [(cell["web"], cell["contender"], cell["seed"]) for cell in cells]
    assert len(set(ours)) == len(ours) == 2 * (1 + 2 * 2 + 1 + 2)
    assert ours[:4] == [
        ("here", "trail, 1 shard", 0),
        ("here", "trail, 4 shards", 0),
        ("here", "trail, 4 shards, together", 0),
        ("here", "trail, 4 shards", 1),
    ]
    one = {(cell["web"], cell["name"]): cell for cell in cells if cell["shards"] == 1}
    alone = simulate_shards(
        CrawlSetup(web, TARGET, "best-first", topic=Topic("pottery, kiln, glaze, clay"), pages=60),
        1,
    )
    assert one["here", "best-first"]["found"] == alone["found"]
    assert {cell["fetched"] for cell in cells} == {60}
    assert any(cell["merges"] for cell in cells if cell["together"])
    assert not any(cell["merges"] for cell in cells if not cell["together"])
    kept = {path.name: path.stat().st_mtime_ns for path in (out / "cells").iterdir()}
    lost = sorted(kept)[::3]
    for name in lost:
        (out / "cells" / name).unlink()
    (out / "cells" / sorted(kept)[1]).write_text("{", encoding="utf-8")
    done: list[int] = []
    again = run_cells(KIND, plan(read(file, "small"), out), out, progress=done.append)
    assert [timeless(cell) for cell in again] == [timeless(cell) for cell in cells]
    assert (done[0], done[-1]) == (len(cells) - len(lost) - 1, len(cells))
    new = {
        path.name
        for path in (out / "cells").iterdir()
        if path.stat().st_mtime_ns not in kept.values()
    }
    assert new == {*lost, sorted(kept)[1]}
    page = (out / "small" / "report.md").read_text("utf-8")
    assert "| here | trail | 4 | 15 |" in page
    assert {path.name for path in (out / "small").glob("*.svg")} == {"here.svg", "generated.svg"}
    assert spoor(["lab", "compare", str(out / "small")]) == 0
    assert "trail, 4 shards, together" in capsys.readouterr().out
    assert results.read(out / "small").kind == "shards"


def timeless(cell: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value for key, value in cell.items() if key not in ("cpu_seconds", "merge_ms_per_page")
    }


def test_the_harvest_by_hand() -> None:
    def row(shards: int, together: bool, seed: int, found: int) -> dict[str, Any]:
        where = {"web": "w", "name": "p", "target": "t", "shards": shards, "seed": seed}
        return {**where, "together": together, "merges": 1, "found": found, "fetched": 100}

    rows = [row(1, False, 0, 50)]
    rows += [row(2, False, seed, found) for seed, found in enumerate((40, 44))]
    rows += [row(2, True, seed, found) for seed, found in enumerate((46, 50))]
    one, two = harvest(rows).rows
    assert one == ["w", "p", "1", "100", "50.0 %", "–", "–", "–", "–"]
    # t of one degree of freedom: 12.706 · 2.828 / √2
    assert two[4:] == [
        "42.0 %",
        "-8.0 (-33.4 … +17.4)",
        "48.0 %",
        "-2.0 (-27.4 … +23.4)",
        "+6.0 (+6.0 … +6.0)",
    ]
    # The pages ended before anybody told anything: there is nothing to compare.
    rows = [{**row, "merges": 0} for row in rows]
    assert harvest(rows).rows[1][6:] == ["–", "–", "–"]


def test_the_packaged_experiment_has_its_webs_and_numbers() -> None:
    experiment, longer = find("shards")
    assert {web.name for web in experiment.webs} >= {"generated", "webkb", "company-sites"}
    assert experiment.settings["shards"]["other"] == [1, 2, 4, 8, 16, 32, 64]
    assert (longer.pages or 0) >= 2 * MERGE_PAGES * max(longer.settings["shards"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SMALL.replace("merge = 10", "merg = 10"), "unknown setting 'merg' .did you mean 'merge'"),
        (
            SMALL.replace("shards = [4]", "shards = [0]"),
            "shards is a whole number from 1 on, not 0",
        ),
        (SMALL.replace("shards = [4]", ""), "settings name shards, as in"),
        (SMALL.replace("merge = 10", 'by = "page"'), "by is domain or host, not 'page'"),
        (SMALL.replace('policy = "trail"', 'policy = "trial"'), "unknown policy 'trial'"),
        (SMALL.partition("[[targets]]")[0], "name webs, targets and policies"),
    ],
)
def test_bad_experiments_with_shards(web: str, tmp_path: Path, text: str, said: str) -> None:
    experiment = read(experiment_file(tmp_path, web, text), "small")
    with pytest.raises(InputError, match=said):
        plan(experiment, tmp_path)


@pytest.mark.parametrize("store", ["memory", "disk"])
def test_a_link_that_left_may_come_back(store: str, tmp_path: Path) -> None:
    frontier = MemoryFrontier() if store == "memory" else SqliteFrontier(tmp_path / "frontier.db")
    links = [Link("http://a.example/1", Anchor("first")), Link("http://b.example/2")]
    frontier.add(links, NO_PARENT, 0.0, 0)
    frontier.drop(0)
    assert list(frontier.done()) == ["http://a.example/1"]
    frontier.reopen(0)
    assert frontier.open_count == 2
    assert 0 in frontier.offer(0.0)
    assert not list(frontier.done())
    seen = frontier.add([Link("http://a.example/1", Anchor("again"))], NO_PARENT, 0.0, 0)
    assert seen.first == [False]
    assert [one.anchor.text for one in frontier.in_links(0)] == ["again"]
    frontier.take(0, 1.0)
    frontier.settle(0, 2.0)
    assert list(frontier.done()) == ["http://a.example/1"]
    with pytest.raises(CallerError):
        frontier.reopen(1)
