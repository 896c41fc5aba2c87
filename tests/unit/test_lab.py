"""The lab's figures by hand and by law; its cells, kept and found again; its tables, pooled."""

from __future__ import annotations

import csv
import json
import math
import pickle
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import spoor
from spoor.errors import InputError, PluginError
from spoor.lab.cells import Failure, file_of, run_cells
from spoor.lab.digests import data_digest, topic_digests
from spoor.lab.experiment import find, packaged, read
from spoor.lab.kinds import harvest
from spoor.lab.kinds.harvest import KIND, check_policies, plan
from spoor.lab.pages import Grid
from spoor.lab.reports.harvest import blocks, gap_interval, mean_curves, overall, pooled_gap, rows
from spoor.lab.results import Results, write_csv, write_parquet
from spoor.registry import parse_params
from spoor.simulation.crawls import CrawlSetup, prepare, simulate_crawl
from spoor.simulation.metrics import (
    POINTS,
    area,
    breadth_first_order,
    curve,
    gap_closed,
    requests_to,
)
from spoor.simulation.training import known_webs
from spoor.types import WebGraph
from spoor.worlds.generated import GeneratedSettings, GeneratedWorld
from spoor.worlds.graph import depths

FOUND = st.lists(st.booleans(), max_size=60)


# ---------------------------------------------------------------- figures


def test_the_area_by_hand() -> None:
    # Four pages, two targets, the second and the fourth: shares 0, 0, ½, ½, 1 after 0 … 4 fetches.
    assert area([False, True, False, True], 2, 4) == pytest.approx(2 / 5)
    # A crawl that stops after two keeps its ½ to the end: 0, 0, ½, ½, ½.
    assert area([False, True], 2, 4) == pytest.approx(1.5 / 5)
    assert area([True, True], 2, 2) == pytest.approx(1.5 / 3)
    assert area([], 2, 4) == 0.0
    assert area([True], 0, 4) is None


def test_requests_by_hand() -> None:
    found = [False, True, False, True, True, False, True, False, False, False]
    # Four targets: 5 and 25 % are the first of them, 50 % the second, 75 % the third, 90 % all.
    told = {"5": 0.2, "25": 0.2, "50": 0.4, "75": 0.5, "90": 0.7}
    assert requests_to(found, 4, 10) == told
    assert requests_to(found, 8, 10) == {**told, "25": 0.4, "50": 0.7, "75": None, "90": None}
    assert set(requests_to(found, 0, 10).values()) == {None}


def test_the_gap_by_hand() -> None:
    assert gap_closed(0.7, 0.5, 0.9) == pytest.approx(0.5)
    assert gap_closed(0.5, 0.5, 0.9) == 0.0
    assert gap_closed(0.4, 0.5, 0.9) == pytest.approx(-0.25)
    assert gap_closed(0.9, 0.5, 0.9) == 1.0
    assert gap_closed(0.5, 0.5, 0.5) is None
    assert gap_closed(0.5, 0.5, None) is None
    assert gap_closed(None, 0.5, 0.9) is None


@given(FOUND, st.integers(0, 20), st.integers(0, 20))
def test_an_area_is_a_share(found: list[bool], missed: int, unfetched: int) -> None:
    targets, reachable = sum(found) + missed, len(found) + unfetched
    own = area(found, targets, reachable)
    if not targets:
        assert own is None
        return
    assert own is not None
    assert 0.0 <= own < 1.0
    first = area(sorted(found, reverse=True), targets, reachable)
    last = area(sorted(found), targets, reachable)
    assert first is not None
    assert last is not None
    assert last <= own <= first, "targets first is best, last is worst"
    # The mean of the shares itself.
    shares = [sum(found[:at]) / targets for at in range(reachable + 1)]
    assert own == pytest.approx(sum(shares) / (reachable + 1))


@given(FOUND, st.data())
def test_to_find_a_target_sooner_never_lowers_the_area(
    found: list[bool], data: st.DataObject
) -> None:
    places = [at for at in range(1, len(found)) if found[at] and not found[at - 1]]
    if not places:
        return
    at = data.draw(st.sampled_from(places))
    sooner = [*found[: at - 1], True, False, *found[at + 1 :]]
    before, after = area(found, sum(found), len(found)), area(sooner, sum(found), len(found))
    assert before is not None
    assert after is not None
    assert after > before
    for share, value in requests_to(found, sum(found), len(found)).items():
        earlier = requests_to(sooner, sum(found), len(found))[share]
        assert value is not None
        assert earlier is not None
        assert earlier <= value


@given(FOUND, st.integers(0, 20))
def test_requests_grow_with_the_share(found: list[bool], missed: int) -> None:
    told = requests_to(found, sum(found) + missed, max(1, len(found)))
    known = [value for value in told.values() if value is not None]
    assert known == sorted(known)
    assert list(told.values())[len(known) :] == [None] * (5 - len(known))
    assert all(0 < value <= 1 for value in known)


@given(st.lists(st.booleans(), max_size=3 * POINTS))
def test_a_curve_keeps_its_ends_and_rises(found: list[bool]) -> None:
    points = curve(found)
    assert points[0] == [0, 0]
    assert points[-1] == [len(found), sum(found)]
    assert len(points) <= max(POINTS, 1)
    for (x, y), (further, more) in pairwise(points):
        assert further > x
        assert 0 <= more - y <= further - x
        assert more == sum(found[:further])


def graph(links: dict[int, list[int]], pages: int) -> WebGraph:
    indptr = np.cumsum([0, *(len(links.get(page, [])) for page in range(pages))])
    indices = np.array([to for page in range(pages) for to in links.get(page, [])], dtype=np.int32)
    urls = [f"http://a.example/{page}" for page in range(pages)]
    return WebGraph(urls, indptr, indices, np.zeros(pages, dtype=bool))


def test_breadth_first_by_hand() -> None:
    told = graph({0: [2, 1, 0], 2: [3, 1], 1: [4], 3: [0], 5: [0]}, 6)
    assert breadth_first_order(told, 0) == [0, 2, 1, 3, 4], "5 is linked by nobody"
    deep = depths(told.indptr, told.indices, 0)
    assert np.bincount(deep[deep >= 0]).tolist() == [1, 2, 2]
    assert breadth_first_order(told, 5) == [5, 0, 2, 1, 3, 4]


# ---------------------------------------------------------------- cells


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("webs") / "small"
    GeneratedWorld(GeneratedSettings(pages=180, hosts=3, seed=2, target_share=0.3)).save(folder)
    return folder


def test_under_a_budget_the_others_have_the_same_one(web: Path) -> None:
    plain, best = (
        simulate_crawl(CrawlSetup(str(web), ("label:pottery",), policy, pages=45))
        for policy in ("breadth-first", "oracle")
    )
    assert plain["fetched"] == best["fetched"] == 45
    assert plain["gap_closed"] == 0.0
    assert best["gap_closed"] == 1.0
    assert plain["auc_oracle"] == best["auc"]
    assert 0.0 < plain["auc"] < best["auc"]


def test_a_host_is_left_once_so_many_were_found_there(web: Path) -> None:
    setup = CrawlSetup(str(web), ("label:pottery",), "breadth-first", scope="web")
    whole = simulate_crawl(setup, compare=False)
    few = simulate_crawl(replace(setup, found_per_host=2), compare=False)
    assert whole["found"] > 9
    assert few["found"] == 6, "of three hosts"
    assert few["requests"] < whole["requests"]


@pytest.mark.parametrize(
    "policy", ["breadth-first", "depth-first", "random", "best-first", "oracle"]
)
@pytest.mark.long
def test_the_figures_of_a_cell_fit_together(web: Path, policy: str) -> None:
    told = simulate_crawl(CrawlSetup(str(web), ("label:pottery",), policy))
    assert told["fetched"] == told["reachable"] == 180
    assert told["found"] == told["targets"] == told["targets_reachable"] > 5
    assert told["curve"][-1] == [180, told["found"]]
    assert 0 < told["auc"] < 1
    assert told["gap_closed"] == pytest.approx(
        (told["auc"] - told["auc_breadth_first"]) / (told["auc_oracle"] - told["auc_breadth_first"])
    )
    if policy == "breadth-first":
        assert told["auc"] == told["auc_breadth_first"], "the policy is what it is measured against"
    if policy == "oracle":
        assert told["gap_closed"] == 1.0
    json.dumps(told)


def test_a_cell_is_the_same_every_time(web: Path) -> None:
    def one(seed: int) -> list[list[int]]:
        figures = simulate_crawl(
            CrawlSetup(str(web), ("label:pottery",), "random", seed=seed), compare=False
        )
        line: list[list[int]] = figures["curve"]
        return line

    assert one(3) == one(3) != one(4)


def test_a_budget_cuts_a_cell(web: Path) -> None:
    told = simulate_crawl(CrawlSetup(str(web), ("label:pottery",), "breadth-first", pages=20))
    whole = simulate_crawl(CrawlSetup(str(web), ("label:pottery",), "breadth-first"))
    assert told["fetched"] == 20
    assert told["reachable"] == 180, "the budget is no part of what there is to find"
    assert told["curve"] == whole["curve"][:21]
    assert told["auc"] < whole["auc"]


def test_a_root_that_is_not_there(web: Path) -> None:
    with pytest.raises(InputError):
        prepare(CrawlSetup(str(web), ("label:pottery",), "random", root="http://nobody.example/"))


def test_parameters_are_read_as_toml_writes_them() -> None:
    given_ = ["a=1", "b=0.5", "c=true", "d=word", 'e="1"', "f=[1, 2]", " g =x=y"]
    assert parse_params(given_) == {
        "a": 1,
        "b": 0.5,
        "c": True,
        "d": "word",
        "e": "1",
        "f": [1, 2],
        "g": "x=y",
    }
    for bad in ("a", "=1", ""):
        with pytest.raises(InputError, match="name=value"):
            parse_params([bad])


def test_a_notebook_replays_and_plots(web: Path, tmp_path: Path) -> None:
    results = [
        spoor.replay(web, "label:pottery", policy=name, pages=30)
        for name in ("random", "best-first")
    ]
    assert [result.fetched for result in results] == [30, 30]
    spoor.plot(*results).save(tmp_path / "chart.svg")
    drawn = ElementTree.parse(tmp_path / "chart.svg").getroot()
    texts = [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[-2:] == ["random", "best-first"]


# ---------------------------------------------------------------- sweeps


EXPERIMENT = """
title = "Small"
seeds = 2
share = 0.5
[[webs]]
path = "small"
[[targets]]
want = ["label:pottery"]
[[targets]]
want = "label:chess"
name = "board"
[[policies]]
policy = "random"
[[policies]]
policy = "shark-search"
params = { delta = 0.3 }
seeds = 1
"""


def write(folder: Path, text: str) -> Path:
    file = folder / "e.toml"
    file.write_text(text)
    return file


def test_an_experiment_is_read(web: Path) -> None:
    told = read(write(web.parent, EXPERIMENT), "mine")
    assert (told.name, told.title, told.seeds, told.share) == ("mine", "Small", 2, 0.5)
    assert [target.name for target in told.targets] == ["pottery", "board"]
    assert [policy.name for policy in told.policies] == ["random", "shark-search delta=0.3"]
    assert told.webs[0].path == str(web)


def test_a_short_form_is_smaller_and_says_how(web: Path) -> None:
    short = '[short]\nseeds = 1\npolicies = ["random"]\n'
    (told,) = find(str(write(web.parent, EXPERIMENT + short)), short=True)
    assert (told.seeds, [policy.name for policy in told.policies]) == (1, ["random"])
    assert told.shortened == ("seeds: 1 instead of 2", "policies: 1 instead of 2")
    assert find(str(write(web.parent, EXPERIMENT + short)))[0].shortened == ()
    more = EXPERIMENT.replace('policy = "random"', 'policy = "random"\nseeds = 5')
    (fewer,) = find(str(write(web.parent, more + "[short]\nseeds = 2\n")), short=True)
    assert [policy.seeds for policy in fewer.policies] == [2, 1], "no more than the form has"
    assert fewer.shortened == ("random: seeds: 2 instead of 5",)
    odd = "[[settings.topics]]\nname = 5\n[short]\ntopics = ['y']\n"
    with pytest.raises(InputError, match="short topics have no 'y'"):
        find(str(write(web.parent, EXPERIMENT + odd)), short=True)
    (some,) = find(str(write(web.parent, EXPERIMENT + '[short]\nsites = ["a"]\n')), short=True)
    assert [it.sites for it in some.webs] == [("a",)]
    assert some.shortened == ("sites: the first 1",)
    topics = "[settings]\ntopics = [{ name = 'x', words = 'x' }, { name = 'y', words = 'y' }]\n"
    few = f'{EXPERIMENT}{topics}[short]\nsettings = {{ tasks = 2 }}\ntopics = ["y"]\n'
    (told,) = find(str(write(web.parent, few)), short=True)
    assert told.settings == {"tasks": 2, "topics": [{"name": "y", "words": "y"}]}
    assert told.shortened == ("tasks: 2", "topics: 1 instead of 2")
    (only,) = find(str(write(web.parent, EXPERIMENT)), short=True)
    assert (only.seeds, only.shortened) == (2, ())


@pytest.mark.parametrize(
    ("short", "said"),
    [
        ("leave_out = true", "has no short form"),
        ("seed = 1", "unknown key 'seed'.*did you mean 'seeds'"),
        ("seeds = 0", "short seeds is a whole number"),
        ('topics = ["x"]', "short topics have no 'x'"),
        ('policies = ["randm"]', "short policies have no 'randm'.*did you mean 'random'"),
    ],
)
def test_a_wrong_short_form_is_told(web: Path, short: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        find(str(write(web.parent, f"{EXPERIMENT}[short]\n{short}\n")), short=True)


def test_parameters_of_a_training_are_checked_before_any_cell_runs(
    web: Path, tmp_path: Path
) -> None:
    trained = 'policy = "sarsa"\ntrain = "leave-one-out"\ntraining = { halving = 5 }'
    experiment = read(write(web.parent, EXPERIMENT.replace('policy = "random"', trained)), "mine")
    with pytest.raises(InputError, match="'sarsa' has no parameter 'halving'"):
        plan(experiment, tmp_path)


def test_every_packaged_experiment_is_read() -> None:
    known = packaged()
    assert known
    for experiment in (find(name)[0] for name in known):
        if experiment.kind == "harvest":
            check_policies(experiment)
    for name in known:
        assert find(name)[0].name == name


@pytest.mark.long
def test_a_sweep_runs_each_cell_once(
    web: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = read(write(web.parent, EXPERIMENT), "mine")
    cells = plan(experiment, tmp_path)
    assert len(cells) == 2 * (2 + 1)
    done: list[int] = []
    figures = run_cells(KIND, cells, tmp_path, progress=done.append)
    assert done[0] == 0
    assert done[-1] == len(cells) == len(figures)
    assert [(row["target"], row["contender"], row["seed"]) for row in figures] == [
        (target, contender, seed)
        for target in ("pottery", "board")
        for contender, seed in (("random", 0), ("random", 1), ("shark-search delta=0.3", 0))
    ]
    assert all(row["fetched"] == 90 for row in figures)

    def never(*_: object, **__: object) -> dict[str, Any]:
        raise AssertionError("a finished cell is not run again")

    with monkeypatch.context() as patch:
        patch.setattr(harvest, "simulate_crawl", never)
        assert run_cells(KIND, plan(experiment, tmp_path), tmp_path) == figures

    # A run that was cut: one cell is missing, one is half written. Both run again, the rest stays.
    missing, damaged = (file_of(KIND, cell, tmp_path) for cell in cells[1:3])
    missing.unlink()
    damaged.write_text(damaged.read_text()[:50])
    ran: list[str] = []
    real = simulate_crawl

    def counted(setup: CrawlSetup, **more: Any) -> dict[str, Any]:
        ran.append(setup.policy)
        return real(setup, **more)

    monkeypatch.setattr(harvest, "simulate_crawl", counted)
    again = run_cells(KIND, cells, tmp_path)
    assert ran == ["random", "shark-search"]
    same = ("auc", "auc_oracle", "gap_closed", "curve", "found", "contender")
    assert [[row[key] for key in same] for row in again] == [
        [row[key] for key in same] for row in figures
    ]


def test_a_change_of_web_or_cell_is_another_cell(web: Path, tmp_path: Path) -> None:
    experiment = read(write(web.parent, EXPERIMENT), "mine")
    cells = plan(experiment, tmp_path)
    assert len({file_of(KIND, cell, tmp_path) for cell in cells}) == len(cells)
    other = tmp_path / "small"
    GeneratedWorld(GeneratedSettings(pages=180, hosts=3, seed=3, target_share=0.3)).save(other)
    changed = plan(read(write(tmp_path, EXPERIMENT), "mine"), tmp_path)
    assert not {file_of(KIND, cell, tmp_path) for cell in cells} & {
        file_of(KIND, cell, tmp_path) for cell in changed
    }


def test_a_cell_that_fails_costs_no_other_of_its_group(
    web: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = read(write(web.parent, EXPERIMENT.replace("seeds = 2", "seeds = 3")), "mine")
    cells = plan(replace(experiment, targets=experiment.targets[:1]), tmp_path)
    assert [cell.name.rpartition("/, ")[2] for cell in cells] == [
        "pottery, random, seed 0",
        "pottery, random, seed 1",
        "pottery, random, seed 2",
        "pottery, shark-search delta=0.3, seed 0",
    ]

    def simulate(setup: CrawlSetup, **more: Any) -> dict[str, Any]:
        if setup.seed == 1 or setup.policy == "shark-search":
            raise InputError(f"no {setup.policy}")
        return simulate_crawl(setup, **more)

    failed: list[Failure] = []
    with monkeypatch.context() as patch:
        patch.setattr(harvest, "simulate_crawl", simulate)
        told = run_cells(KIND, cells, tmp_path, failed=failed.append)
        with pytest.raises(InputError, match="no random"):
            run_cells(KIND, cells, tmp_path)
    assert failed == [
        Failure(cells[1].name, "no random"),
        Failure(cells[3].name, "no shark-search"),
    ]
    assert [row["seed"] for row in told] == [0, 2]
    # Another time all of them run.
    assert len(run_cells(KIND, cells, tmp_path)) == 4


@pytest.mark.long
def test_the_webs_of_a_training_are_read_once_a_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = """
seeds = 2
[[webs]]
name = "english"
company = { table = "english", seed = 0 }
sites = ["rowan", "apcinc"]
[[targets]]
want = ["label:job-advert"]
[[policies]]
policy = "naive-bayes"
train = "leave-one-out"
[[policies]]
policy = "naive-bayes"
name = "two bins"
train = "leave-one-out"
training = { mode = "immediate" }
"""
    read_for: list[str] = []

    def counted(paths: Any, want: Any, **more: Any) -> Any:
        read_for.extend(more["without"])
        return known_webs(paths, want, **more)

    monkeypatch.setattr(harvest, "known_webs", counted)
    figures = run_cells(KIND, plan(read(write(tmp_path, text), "mine"), tmp_path), tmp_path)
    assert len(figures) == 2 * 2 * 2
    assert sorted(read_for) == ["apcinc", "rowan"], "once for each site, not for each model"


def test_what_goes_wrong_in_another_process_comes_back() -> None:
    for error in (PluginError("trail", "choose", "returned 7"), InputError("no")):
        back = pickle.loads(pickle.dumps(error))
        assert (type(back), str(back)) == (type(error), str(error))
    assert pickle.loads(pickle.dumps(PluginError("trail", "choose", "x"))).call == "choose"


# ---------------------------------------------------------------- tables


def cell(auc: float, plain: float, best: float, **more: Any) -> dict[str, Any]:
    told = {
        "web": "w",
        "target": "t",
        "contender": "c",
        "root": "r",
        "found": 3,
        "fetched": 10,
        "targets_reachable": 4,
        "reachable": 10,
        "cpu_seconds": 0.02,
        "curve": [[0, 0], [10, 3]],
        "requests_to": {"5": 0.1, "25": 0.1, "50": 0.4, "75": 0.9, "90": None},
    }
    gap = gap_closed(auc, plain, best)
    return {
        **told,
        "auc": auc,
        "auc_breadth_first": plain,
        "auc_oracle": best,
        "gap_closed": gap,
        **more,
    }


def test_gaps_are_pooled_by_hand() -> None:
    # Means 0.6, 0.5, 0.9: a quarter of the way. The mean of the two gaps would be ½ · (⅓ + 0).
    cells = [cell(0.7, 0.5, 1.1, root="a"), cell(0.5, 0.5, 0.7, root="b")]
    assert pooled_gap(cells) == pytest.approx(0.1 / 0.4)
    (row,) = rows(cells)
    assert row.gap == pytest.approx(0.25)
    assert row.worst == 0.0
    assert row.auc == pytest.approx(0.6)
    assert (row.half, row.nine_tenths) == (0.4, None)
    assert row.recall == 0.75
    assert row.milliseconds == pytest.approx(2.0)
    low, high = gap_interval(cells)
    assert low is not None
    assert high is not None
    assert low <= 0.25 <= high
    assert (row.low, row.high) == (low, high)


def test_one_cell_has_no_interval() -> None:
    assert gap_interval([cell(0.7, 0.5, 0.9)]) == (None, None)
    assert pooled_gap([cell(0.5, 0.5, 0.5)]) is None
    assert pooled_gap([]) is None


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(st.floats(0.1, 0.9), st.floats(0.1, 0.4), st.floats(0.6, 0.9)),
        min_size=2,
        max_size=5,
    )
)
@example([(0.35, 0.1, 0.8663740145275917)] * 2)
def test_an_interval_holds_between_its_worst_and_best_cell(
    areas: list[tuple[float, float, float]],
) -> None:
    cells = [cell(*row) for row in areas]
    low, high = gap_interval(cells)
    gap = pooled_gap(cells)
    assert gap is not None
    gaps = [row["gap_closed"] for row in cells]
    assert min(gaps) - 1e-9 <= gap <= max(gaps) + 1e-9
    if low is not None and high is not None:
        assert min(gaps) - 1e-9 <= low <= high <= max(gaps) + 1e-9


def test_sites_without_targets_count_for_nothing() -> None:
    empty = {**cell(0.0, 0.0, 0.0, targets_reachable=0), "auc": None}
    assert rows([empty]) == []
    assert rows([empty, cell(0.7, 0.5, 0.9)])[0].cells == 1


def test_the_ranking_is_of_those_that_ran_everywhere() -> None:
    cells = [
        *(cell(0.7, 0.5, 0.9, contender="a", web=name) for name in ("w", "v")),
        *(cell(auc, 0.5, 0.9, contender="b", web=name) for name, auc in (("w", 0.9), ("v", 0.6))),
        cell(0.9, 0.5, 0.9, contender="only here"),
    ]
    ranked = overall(rows(cells))
    assert [(name, count) for name, _, _, count in ranked] == [("b", 2), ("a", 2)]
    assert [mean for _, mean, _, _ in ranked] == [pytest.approx(0.625), pytest.approx(0.5)]
    assert ranked[0][2] == pytest.approx(0.25)


def test_mean_curves_by_hand() -> None:
    cells = [
        cell(0.7, 0.5, 0.9, curve=[[0, 0], [5, 4], [10, 4]]),
        cell(0.7, 0.5, 0.9, curve=[[0, 0], [10, 2]]),
    ]
    line = mean_curves(cells, points=3)["c"]
    assert line == [[0.0, 0.0], [50.0, pytest.approx((100 + 25) / 2)], [100.0, pytest.approx(75.0)]]
    # Over links: 10 of 20 followed at the end of the first crawl, 10 of 40 at that of the second.
    cells = [
        {**cell, "links_reachable": links} for cell, links in zip(cells, (20, 40), strict=True)
    ]
    line = mean_curves(cells, points=3, of="links_reachable")["c"]
    assert line == [[0.0, 0.0], [25.0, pytest.approx((100 + 50) / 2)], [50.0, pytest.approx(75.0)]]


def test_a_table_and_a_csv_say_the_same(tmp_path: Path) -> None:
    cells = [cell(0.7, 0.5, 0.9, params={"a": 1}), cell(0.6, 0.5, 0.9, seconds=3)]
    told = Results("e", "harvest", "E", "", cells, {"spoor": "1", "code": "c"})
    table = next(block for block in blocks(told) if isinstance(block, Grid))
    assert table.rows[0][:4] == ["w", "t", "c", "0.375"]
    assert {len(row) for row in table.rows} == {len(table.head)}
    write_csv(tmp_path / "cells.csv", cells)
    with (tmp_path / "cells.csv").open(encoding="utf-8", newline="") as file:
        read_back = list(csv.DictReader(file))
    assert [float(row["auc"]) for row in read_back] == [0.7, 0.6]
    assert read_back[0]["requests_to_50"] == "0.4"
    assert json.loads(read_back[0]["params"]) == {"a": 1}
    assert "curve" not in read_back[0]
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra parquet")
    write_parquet(tmp_path / "cells.parquet", cells)
    columns = parquet.read_table(tmp_path / "cells.parquet").to_pydict()
    assert columns["auc"] == [0.7, 0.6]
    assert list(columns) == list(read_back[0])
    assert not math.isnan(float(read_back[1]["gap_closed"]))


def test_a_topic_that_changed_makes_other_cells(tmp_path: Path) -> None:
    topic = tmp_path / "t.topic"
    topic.write_text('name = "kiln"')
    first = topic_digests([f"topic:{topic}"], "")
    assert topic_digests(["label:x"], "kiln, glaze") == []
    assert topic_digests([], str(topic)) == first
    topic.write_text('name = "glaze"')
    assert topic_digests([f"topic:{topic}"], "") != first


def test_a_web_is_known_by_what_it_holds_wherever_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = set()
    for name in "ab":
        (tmp_path / name / "web").mkdir(parents=True)
        (tmp_path / name / "web" / "web.toml").write_text(name)
        monkeypatch.chdir(tmp_path / name)
        found.add(data_digest("web"))
    assert len(found) == 2
