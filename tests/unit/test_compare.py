"""Who beats whom: pairs, intervals and corrections by hand and by law; pages of papers."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spoor.cli.main import run as spoor
from spoor.errors import InputError
from spoor.lab import compare, experiment, intervals, pages, papers, results
from spoor.lab.experiment import packaged
from spoor.lab.reports.report import page_of_results
from spoor.lab.results import Results
from spoor.worlds.generated import GeneratedSettings, GeneratedWorld


def cell(contender: str, site: str, seed: int, auc: float, **more: Any) -> dict[str, Any]:
    told = {
        "web": "w",
        "site": site,
        "root": f"http://{site}.example/",
        "target": "t",
        "contender": contender,
        "policy": contender,
        "seed": seed,
        "params": {},
        "auc": auc,
        "auc_breadth_first": 0.4,
        "auc_oracle": 0.9,
        "gap_closed": (auc - 0.4) / 0.5,
        "found": 3,
        "fetched": 10,
        "targets_reachable": 4,
        "reachable": 10,
        "cpu_seconds": 0.02,
        "curve": [[0, 0], [10, 3]],
        "requests_to": {"5": 0.1, "25": 0.1, "50": 0.4, "75": 0.9, "90": None},
    }
    return {**told, **more}


def made(rows: list[dict[str, Any]], name: str = "mine", kind: str = "harvest") -> Results:
    return Results(name, kind, "A title", "About <it>.", rows, {"spoor": "1", "code": "abc"})


def keep(folder: Path, told: Results) -> Path:
    folder.mkdir(parents=True)
    names = ("name", "kind", "title", "about", "rows", "made", "settings")
    file = folder / results.FILE
    file.write_text(json.dumps({name: getattr(told, name) for name in names}))
    return folder


SITES = [f"s{at}" for at in range(12)]
RNG = np.random.default_rng(3)
PLAIN = {site: float(RNG.uniform(0.4, 0.6)) for site in SITES}
ROWS = [
    *(cell("plain", site, 0, PLAIN[site]) for site in SITES),
    *(
        cell("good", site, seed, PLAIN[site] + 0.1 + 0.02 * ((at + seed) % 5))
        for at, site in enumerate(SITES)
        for seed in range(3)
    ),
    *(
        cell("same", site, 0, PLAIN[site] + (0.01 if at % 2 else -0.01))
        for at, site in enumerate(SITES)
    ),
]


# ---------------------------------------------------------------- by hand


def test_holm_by_hand() -> None:
    # Sorted 0.01, 0.02, 0.04 times 3, 2, 1: 0.03, 0.04, 0.04.
    assert compare.holm([0.04, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert compare.holm([0.5, 0.4]) == pytest.approx([0.8, 0.8])
    assert compare.holm([]) == []


def test_a_sign_test_is_exact_where_it_can_be() -> None:
    # Six of six: 2 of the 64 ways to set the signs are as far out.
    assert compare.sign_test(np.full(6, 0.1)) == pytest.approx(2 / 64)
    told = np.array([0.5, 0.4, 0.3, 0.2, 0.1, -0.05])
    assert compare.sign_test(told) == pytest.approx(4 / 64)
    assert compare.sign_test(np.zeros(6)) == 1.0


def test_seeds_are_averaged_before_they_are_paired() -> None:
    pairs = compare.units([made(ROWS)], "auc")
    assert len(pairs) == len(SITES)
    mean = PLAIN["s0"] + 0.1 + 0.02 * np.mean([0, 1, 2])
    assert pairs["w", "s0", "t"]["good"] == pytest.approx(mean)
    by_seed = compare.units([made(ROWS)], "auc", "seed")
    assert len(by_seed) == 3 * len(SITES)
    assert by_seed["w", "s0", "t", "2"]["plain"] == PLAIN["s0"], "nothing random in it"
    one_site = compare.units([made([row for row in ROWS if row["site"] == "s1"])], "auc")
    assert len(one_site) == 1, "seeds of one crawl are no pairs"


def test_a_difference_is_claimed_and_a_tie_is_not() -> None:
    good, same = (
        compare.contenders([made(ROWS)], name, "plain", correct="none")[0]
        for name in ("good", "same")
    )
    assert (good.verdict, good.wins, good.losses, good.pairs) == ("win", 12, 0, 12)
    assert good.low is not None
    assert good.low > 0.1
    assert (same.verdict, same.wins, same.losses) == ("tie", 6, 6)
    assert good.swapped.verdict == "loss"
    assert good.swapped.swapped == good
    (less,) = compare.contenders([made(ROWS)], "good", "plain", measure="requests_to_50")
    assert less.difference == 0.0


def test_one_pair_claims_nothing() -> None:
    told = compare.paired("a", "b", [(0.9, 0.1)])
    assert (told.low, told.p, told.verdict) == (None, None, "tie")
    assert compare.line(told)[-1] == "one pair: no claim"
    few = compare.paired("a", "b", [(0.9, 0.1)] * 5)
    assert few.p == pytest.approx(2 / 32)
    assert few.verdict == "tie", "five pairs can show nothing"


def test_a_claim_has_one_of_three_answers() -> None:
    """Limits are told from each side, over at least six pairs; half the pairs one way tell nothing."""
    twice = [(2.0 * x, x) for x in (1.0, 1.5, 2.0, 2.5, 3.0, 3.5)]
    assert compare.answer(twice, 1.0, None) == compare.HOLDS
    assert compare.answer(twice, None, 1.0) == compare.FAILS
    assert compare.answer(twice, 1.9, 2.1) == compare.HOLDS
    assert compare.answer(twice, 2.5, 3.0) == compare.FAILS
    assert compare.answer(twice[:5], 1.0, None) == compare.UNTOLD, "five pairs can show nothing"
    split = [(x * (2.0 if at % 2 else 0.6), x) for at, (_, x) in enumerate(twice)]
    assert compare.answer(split, 1.0, None) == compare.answer(split, 0.9, 1.1) == compare.UNTOLD
    assert compare.answer([(0.0, 0.0)] * 8, 1.0, None) == compare.UNTOLD


@given(st.integers(2, 14), st.integers(0, 10**6), st.sampled_from([0.5, 1.0, 1.3, 2.0]))
@settings(max_examples=40, deadline=None)
def test_a_claim_and_its_opposite_never_hold_together(size: int, seed: int, limit: float) -> None:
    """And the interval beside a ratio never contradicts the answer."""
    rng = np.random.default_rng(seed)
    theirs = rng.uniform(0.5, 1.5, size)
    pairs = list(zip((theirs * rng.normal(1.3, 0.4, size)).tolist(), theirs.tolist(), strict=True))
    above, below = compare.answer(pairs, limit, None), compare.answer(pairs, None, limit)
    assert {above, below} in (
        {compare.HOLDS, compare.FAILS},
        {compare.UNTOLD},
    ), "each is the other's opposite"
    _, low, high = intervals.ratio_interval(*zip(*pairs, strict=True))
    if above == compare.HOLDS:
        assert low is None or low > limit - 1e-6
    if above == compare.FAILS:
        assert high is None or high < limit + 1e-6


def test_the_interval_of_a_ratio_is_fiellers() -> None:
    ours, theirs = [3.0, 5.0, 4.0, 6.5, 5.0, 7.5], [1.0, 2.0, 2.0, 3.0, 3.0, 4.0]
    ratio, low, high = intervals.ratio_interval(ours, theirs)
    assert ratio == pytest.approx(31 / 15)
    assert low is not None
    assert high is not None
    for end in (low, high):  # at its ends 0 is the end of the interval of the difference
        ends = intervals.interval([a - end * b for a, b in zip(ours, theirs, strict=True)])
        assert min(abs(value or 0.0) for value in ends) == pytest.approx(0.0, abs=1e-9)
    assert intervals.ratio_interval([1.0], [2.0]) == (0.5, None, None)
    assert intervals.ratio_interval([1.0, 2.0], [0.0, 0.0])[1:] == (None, None)


def test_a_matrix_is_corrected_as_a_whole() -> None:
    table = compare.matrix([made(ROWS)])
    assert len(table) == 6
    p = sorted(told.p or 0 for (a, b), told in table.items() if a < b)
    adjusted = sorted(told.adjusted or 0 for (a, b), told in table.items() if a < b)
    assert adjusted == pytest.approx(sorted(compare.holm(p)))
    assert compare.never_losing(table) == ["good"]
    for (a, b), told in table.items():
        assert table[b, a] == told.swapped


def test_two_folders_are_compared_by_contender() -> None:
    better = [{**row, "auc": row["auc"] + 0.05} for row in ROWS if row["contender"] != "same"]
    found = compare.folders([made(better)], [made(ROWS)])
    assert [told.one for told in found] == ["plain", "good"]
    assert all(told.difference == pytest.approx(0.05) for told in found)
    assert all(told.verdict == "win" for told in found)
    with pytest.raises(InputError, match="in common"):
        compare.folders([made([cell("x", "s0", 0, 0.5)])], [made(ROWS)])


def test_a_web_without_targets_in_reach_has_a_page_all_the_same(tmp_path: Path) -> None:
    empty = {"auc": None, "auc_oracle": None, "gap_closed": None, "targets_reachable": 0}
    page = page_of_results(made([{**row, **empty} for row in ROWS]))
    assert not any(isinstance(block, pages.Picture) for block in page.blocks)
    assert "Who beats whom" not in pages.markdown(page)


# ---------------------------------------------------------------- laws

DIFFERENCES = st.lists(st.integers(-20, 20).map(lambda x: x / 20), min_size=2, max_size=14)


@settings(max_examples=30)
@given(DIFFERENCES)
def test_to_swap_the_sides_turns_the_signs(found: list[float]) -> None:
    one = compare.paired("a", "b", [(value, 0.0) for value in found])
    other = compare.paired("b", "a", [(0.0, value) for value in found])
    less = compare.paired("a", "b", [(-value, 0.0) for value in found], less=True)
    assert (one.wins, one.ties, one.losses) == (other.losses, other.ties, other.wins)
    assert one.difference == pytest.approx(-other.difference)
    assert one.p == pytest.approx(other.p)
    assert less == one
    assert one.low is not None
    assert one.high is not None
    assert one.low - 1e-9 <= one.difference <= one.high + 1e-9
    if one.verdict != "tie":
        assert {one.verdict, other.verdict} == {"win", "loss"}


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_never_helps(p: list[float]) -> None:
    adjusted = compare.holm(p)
    assert all(0 <= a <= 1 and a >= b - 1e-12 for a, b in zip(adjusted, p, strict=True))
    order = np.argsort(p, kind="stable")
    assert np.all(np.diff(np.array(adjusted)[order]) >= 0)


def test_the_test_and_wilcoxons_agree_on_real_spreads() -> None:
    from scipy.stats import wilcoxon

    rng = np.random.default_rng(0)
    for shift in (0.0, 0.3, 1.0):
        told = rng.normal(shift, 1, 30)
        ours, theirs = compare.sign_test(told), float(wilcoxon(told).pvalue)
        assert (ours < 0.05) == (theirs < 0.05)


@pytest.mark.long
def test_false_claims_are_as_rare_as_promised() -> None:
    """Where nothing differs, at most about 5 % of single tests and of whole corrected tables say
    that something does."""
    rng = np.random.default_rng(1)
    single = whole = 0
    for _ in range(60):
        found = [
            compare.paired("a", "b", [(x, 0.0) for x in rng.normal(0, 1, 11)]) for _ in range(5)
        ]
        single += sum(told.uncorrected != "tie" for told in found)
        whole += any(told.verdict != "tie" for told in compare.corrected(found))
    assert single <= 25, "of 300"
    assert whole <= 8, "of 60"


# ---------------------------------------------------------------- on the command line


def test_compare_and_report_from_a_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = keep(tmp_path / "mine", made(ROWS))
    assert spoor(["lab", "compare", "good", "plain", "--in", str(folder), "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert (told["verdict"], told["pairs"]) == ("win", 12)
    assert spoor(["lab", "compare", str(folder)]) == 0
    assert "win" in capsys.readouterr().out
    assert spoor(["lab", "report", str(folder)]) == 0
    html = (folder / "report.html").read_text("utf-8")
    assert "<script" not in html
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", html), "nothing from elsewhere"
    assert "About &lt;it&gt;." in html
    text = (folder / "report.md").read_text("utf-8")
    assert "| 2 good | W (+0.138) |" in text
    tables = (folder / "tables.tex").read_text("utf-8")
    assert "2 good & W (+0.138) & " in tables
    assert tables.count(r"\begin{tabular}{l") == tables.count(r"\end{tabular}") > 2
    assert "even without the correction: `good`" in text
    assert (folder / "w-t.svg").exists()


def test_no_name_is_a_command_of_latex() -> None:
    grid = pages.Grid(("a_b", "n"), [[r"\input{x} 50 % & **more** `b_2`", "-1.5"]])
    row = r"\textbackslash{}input\{x\} 50 \% \& \textbf{more} \texttt{b\_2} & $-$1.5 \\"
    lines = pages.latex(pages.Page("T\nx", "", [pages.Heading("H"), grid])).splitlines()
    assert lines[:3] == ["% T x", "", "% H"]
    assert lines[4:] == [
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"a\_b & n \\",
        r"\midrule",
        row,
        r"\bottomrule",
        r"\end{tabular}",
    ]


BAD: dict[str, tuple[list[str], str]] = {
    "no folder": (["compare", "good", "plain"], "--in lab-out/NAME"),
    "an unknown name": (["compare", "god", "plain", "--in", "mine"], "did you mean 'good'"),
    "an unknown measure": (
        ["compare", "good", "plain", "--in", "mine", "--measure", "acu"],
        "did you mean 'auc'",
    ),
    "an unknown pairing": (["compare", "mine", "--pairs", "host"], "--pairs is crawl, site or"),
    "no results": (["report", "empty"], "holds no results of an experiment"),
    "damaged results": (["report", "damaged"], "cannot be used"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    keep(tmp_path / "mine", made(ROWS))
    (tmp_path / "empty").mkdir()
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "results.json").write_text("{")
    arguments, message = BAD[case]
    assert spoor(["lab", *arguments]) == 2
    errors = capsys.readouterr().err
    assert message in errors
    assert errors.count("\n") == 1


# ---------------------------------------------------------------- pages of papers

PAPERS = ("grigoriadis2004", "han2018", "palotai2005", "rennie1999")
DOCS = Path(__file__).parents[2] / "docs" / "papers"

PAPER = """
title = "A paper, beside ours"
source = "Somebody (1999)."
[[claims]]
says = "good is better"
experiment = "mine"
measure = "auc"
one = "good"
other = "plain"
[[claims]]
says = "plain is better"
experiment = "mine"
measure = "auc"
one = "plain"
other = "good"
why = "Because it is not."
[[claims]]
says = "they are about the same"
experiment = "mine"
measure = "auc"
one = "same"
other = "plain"
expects = "same"
[[claims]]
says = "good is 1.2 to 1.4 times plain"
experiment = ["elsewhere", "mine"]
measure = "auc"
one = "good"
other = "plain"
expects = "ratio"
band = [1.2, 1.4]
[[claims]]
says = "good is 3 times plain"
experiment = "mine"
measure = "auc"
one = "good"
other = "plain"
expects = "ratio"
band = [2.9, 3.1]
[[claims]]
says = "of another experiment"
experiment = "other"
measure = "auc"
one = "good"
other = "plain"
[[values]]
table = "Table 1"
experiment = "mine"
rows = [
  { name = "in", ours = "plain", measure = "auc", published = 0.5 },
  { name = "out", ours = "plain", measure = "auc", published = 0.9 },
]
[[figures]]
caption = "As Fig. 1"
experiment = "mine"
contenders = ["good", "plain"]
published = { published = [[50, 75]] }
"""


def test_a_papers_page_says_what_the_intervals_say(tmp_path: Path) -> None:
    keep(tmp_path / "paper" / "mine", made(ROWS))
    (tmp_path / "paper" / "page.toml").write_text(PAPER)
    page = papers.page_of(tmp_path / "paper")
    grids = [block for block in page.blocks if isinstance(block, pages.Grid)]
    assert [row[-1] for row in grids[0].rows] == [
        "**holds**",
        "**does not hold**",
        "**holds**",
        "**holds**",
        "**does not hold**",
        "**not run**",
    ]
    assert [row[-1] for row in grids[1].rows] == ["yes", "no"]
    text = pages.markdown(page, "paper-")
    assert "Because it is not." in text
    assert "3 hold, 2 do not hold, 1 not run" in " ".join(text.split())
    target = pages.write_docs(page, tmp_path / "docs", "paper")
    assert sorted(path.name for path in target.parent.iterdir()) == [
        "paper-mine-as-fig-1.svg",
        "paper.md",
    ]
    assert "published" in (target.parent / "paper-mine-as-fig-1.svg").read_text("utf-8")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("says =", "say =", "claims have no 'say'"),
        ('measure = "auc"\none', "one", "claims need 'measure'"),
        ('expects = "same"', 'expects = "sane"', "did you mean 'same'"),
        ("band = [1.2, 1.4]", "band = [1.2]", "a ratio needs band"),
        ('ours = "plain", ', "", "a row has name, ours and measure"),
        ("[[claims]]", "[claims", "cannot be used"),
    ],
)
def test_a_wrong_page_is_told(tmp_path: Path, old: str, new: str, said: str) -> None:
    keep(tmp_path / "paper" / "mine", made(ROWS))
    (tmp_path / "paper" / "page.toml").write_text(PAPER.replace(old, new, 1))
    with pytest.raises(InputError, match=said):
        papers.page_of(tmp_path / "paper")


def test_measures_of_graphs_stand_beside_published_ones(tmp_path: Path) -> None:
    graphs = [{"distances": {"mean": mean}} for mean in (3.0, 4.0)]
    told = replace(made(ROWS), more={"drawn": {"w": graphs}})
    row = {"name": "path", "web": "w", "graph": "distances.mean", "published": 7.29}
    data = {
        "title": "T",
        "source": "S.",
        "values": [{"table": "T1", "experiment": "mine", "rows": [row, {**row, "web": "v"}]}],
    }
    page = papers.page(data, [told])
    grid = next(block for block in page.blocks if isinstance(block, pages.Grid))
    assert [[*row[:3], row[4]] for row in grid.rows] == [
        ["path", "7.290", "3.500", "2"],
        ["path", "7.290", "–", "0"],
    ]


def test_the_pages_of_the_papers_fit_their_experiments() -> None:
    """Every claim names contenders, webs and targets that an experiment of its paper has."""
    from spoor.lab.experiment import read

    for paper in ("rennie1999", "grigoriadis2004", "palotai2005"):
        known = {
            name.rpartition("/")[2]: read(path, name)
            for name, path in packaged().items()
            if name.startswith(f"{paper}/")
        }
        data = papers.read(Path(paper))
        assert data is not None
        items = [*data["claims"], *data["figures"], *data["values"]]
        for item in items:
            named = item["experiment"]
            for name in [named] if isinstance(named, str) else named:
                told = known[name]
                fleets = [
                    {"fleet": fleet} if isinstance(fleet, str) else fleet
                    for fleet in told.settings.get("fleets", ())
                ]
                names = {policy.name for policy in told.policies}
                names |= {results.contender_of({**fleet, "params": fleet}) for fleet in fleets}
                if told.kind == "bins":
                    names |= {f"{name}, class {it}" for name in names for it in range(1, 5)}
                if item.get("measure", "").startswith(papers.GRAPH):
                    names = {name for name, it in known.items() if it.settings.get("graphs")}
                asked = [item[key] for key in ("one", "other") if isinstance(item.get(key), str)]
                asked += item.get("contenders", [])
                asked += [row["ours"] for row in item.get("rows", ()) if "ours" in row]
                if len([named] if isinstance(named, str) else named) == 1:
                    assert set(asked) <= names, f"{paper}/{name}: {set(asked) - names}"
                if "target" in item:
                    assert item["target"] in [target.name for target in told.targets]


def test_a_papers_page_says_which_form_was_run_which_verdicts_changed_and_no_time(
    tmp_path: Path,
) -> None:
    """Columns of CPU time stay out of it, so that a second run gives the same page."""
    was = 'was = "holds"\nbecause = "Another web."\n'
    text = PAPER.replace('why = "Because', f'{was}why = "Because')
    text = text.replace("plain is better", "… than bad")
    short = replace(made(ROWS), settings={"shortened": ["seeds: 1 instead of 3"]})
    keep(tmp_path / "paper" / "mine", short)
    (tmp_path / "paper" / "page.toml").write_text(text)
    told = pages.markdown(papers.page_of(tmp_path / "paper"))
    assert "`mine` (seeds: 1 instead of 3) are short forms" in " ".join(told.split())
    assert "| good is better … than bad | holds | does not hold | Another web. |" in told
    assert "CPU" not in told
    (tmp_path / "paper" / "page.toml").write_text(f"timed = true\n{text.strip()}\n")
    assert "CPU ms a page" in pages.markdown(papers.page_of(tmp_path / "paper"))
    keep(tmp_path / "again" / "mine", made(ROWS))
    (tmp_path / "again" / "page.toml").write_text(PAPER)
    assert "run in full" in pages.markdown(papers.page_of(tmp_path / "again"))


def test_a_claim_may_be_of_some_sites() -> None:
    rows = [{**row, "site": f"s{number % 2}"} for number, row in enumerate(ROWS)]
    claim = {"says": "S", "experiment": "mine", "measure": "auc", "one": "good", "other": "good"}
    told = {"mine": made(rows)}
    every = papers.verdict(claim, told)[1]
    some = papers.verdict({**claim, "sites": ["s0"]}, told)[1]
    assert 0 < some <= every
    assert papers.verdict({**claim, "sites": ["elsewhere"]}, told)[1:] == (0, papers.NOT_RUN)


def test_fleets_with_other_settings_are_other_contenders() -> None:
    row = {"fleet": "mixed", "params": {"settings": {"first": "WL"}, "weights": 1}}
    assert results.contender_of(row) == "mixed first=WL weights=1"
    assert results.contender_of({"fleet": "WL", "params": {}}) == "WL"


def test_measures_that_are_made_from_lists_by_hand() -> None:
    windows = [[0, 10, 9, 1, 0], [1, 10, 9, 3, 0]]
    assert compare.value({"windows": windows}, "unevenness") == pytest.approx(0.5)
    assert compare.value({"windows": [[0, 10, 0, 0, 0]]}, "unevenness") is None
    assert compare.value({"intervals": list(range(10))}, "relevance_2_5") == 2 + 3 + 4 + 5
    days = [[0, 10, 0, relevant] for relevant in (9, 4, 6, 3) for _ in range(8)]
    assert compare.value({"windows": days}, "later_efficiency") == pytest.approx(0.3 / 0.4)
    assert compare.value({"windows": days[:20]}, "later_efficiency") is None, "no third day"
    task = {"curve": [[0, 0], [5, 3], [10, 4]], "targets_reachable": 12}
    assert compare.value(task, "found_by_half") == 3 / 12


def test_a_claim_may_be_about_a_number_and_about_graphs() -> None:
    """Of links: over the webs that two experiments drew; and nothing where none was measured."""

    def told(name: str, *values: float) -> results.Results:
        graphs = [{"distances": {"mean": value}} for value in values]
        return results.Results(name, "fleets", "", "", [{}], more={"drawn": {"w": graphs}})

    by_name = {"a": told("a", *[3.0 + it / 10 for it in range(6)]), "b": told("b", *[7.0] * 6)}
    claim = {"experiment": "a", "web": "w", "measure": "graph distances.mean", "one": "a"}
    assert papers.verdict({**claim, "other": "b"}, by_name)[1:] == (6, compare.FAILS)
    assert papers.verdict({**claim, "other": "b", "expects": "worse"}, by_name)[2] == compare.HOLDS
    near = {**claim, "other": 3.0, "expects": "not worse"}
    assert papers.verdict(near, by_name)[2] == compare.HOLDS
    assert papers.verdict({**near, "other": 4.0}, by_name)[2] == compare.FAILS
    assert papers.verdict({**claim, "other": "c"}, by_name)[1:] == (0, papers.NOT_RUN)
    number = {"says": "S", "experiment": "mine", "measure": "auc", "one": "good", "other": 0.0}
    assert papers.verdict(number, {"mine": made(ROWS)})[2] == compare.HOLDS


@pytest.mark.parametrize("paper", PAPERS)
def test_a_page_and_the_code_do_not_contradict_each_other(paper: str) -> None:
    """A page of docs/ has a row for each claim of its paper, decided by the rule that the code has
    now, and neither a time nor a digest, which no second run would give."""
    data = papers.read(Path(paper))
    assert data is not None
    text = " ".join((DOCS / f"{paper}.md").read_text("utf-8").split())
    assert papers.RULE in text
    assert "CPU ms" not in text
    assert not re.search(r"\(code [0-9a-f]{12}\)", text)
    claims = {claim["says"] for claim in data["claims"]}
    rows = re.findall(r"\| ([^|]+) \| [^|]* \| [^|]* \| ([^|]+) \| \*\*([^|]+)\*\* \|", text)
    assert {says for says, _, _ in rows} == claims
    for says, pairs, state in rows:
        assert state in compare.ANSWERS, f"{says}: the short form leaves no claim out"
        if int(pairs) < 6:
            assert state == compare.UNTOLD, f"{says}: {pairs} pairs tell nothing"


@pytest.mark.long
def test_a_paper_that_is_run_ends_in_its_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    GeneratedWorld(GeneratedSettings(pages=150, hosts=1, seed=2, target_share=0.3)).save(
        tmp_path / "web"
    )
    file = tmp_path / "words.toml"
    text = 'seeds = 6\n[[webs]]\npath = "web"\n[[targets]]\nwant = ["label:pottery"]\n'
    file.write_text(f'{text}[[policies]]\npolicy = "best-first"\n[[policies]]\npolicy = "random"\n')
    monkeypatch.setattr(experiment, "packaged", lambda: {"paper/words": file})
    out = tmp_path / "out"
    (out / "paper").mkdir(parents=True)
    claim = 'says = "words pay"\nexperiment = "words"\nmeasure = "auc"\n'
    (out / "paper" / "page.toml").write_text(
        f'title = "P"\nsource = "S."\n[[claims]]\n{claim}one = "best-first"\nother = "random"\n'
    )
    assert spoor(["lab", "run", "paper", "--out", str(out), "--jobs", "1"]) == 0
    assert "All of paper on one page" in capsys.readouterr().out
    page = (out / "paper" / "report.md").read_text("utf-8")
    assert "| words pay |" in page
    assert f"| 1 | **{compare.UNTOLD}** |" in page, "seeds of one crawl are no pairs"
    assert (out / "paper" / "words" / "report.html").exists()
    assert spoor(["lab", "report", str(out / "paper"), "--docs", str(tmp_path / "docs")]) == 0
    assert (tmp_path / "docs" / "paper.md").read_text("utf-8") == page
