"""The duel's data set and its scores, by hand."""

from __future__ import annotations

import gzip
import json
import lzma
import time
from pathlib import Path
from typing import Any

import pytest

from spoor.cli.main import run
from spoor.errors import InputError
from spoor.lab.cells import file_of
from spoor.lab.duel import score as duel_score
from spoor.lab.duel.arena import with_said
from spoor.lab.duel.dataset import page_key, read
from spoor.lab.duel.score import Request, request_of, score_file
from spoor.lab.experiment import find
from spoor.lab.kinds.duel import KIND, Cell
from spoor.lab.pages import Grid, markdown
from spoor.lab.reports.duel import MAIN, against, at_budgets, beside, losses, means, tries
from spoor.lab.reports.report import page_of_results
from spoor.lab.results import Results

Row = dict[str, Any]
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
                row("/glaze/index.html?DbPAR=1#top", bytes=10, relevant=True),  # 2: right
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
    assert (got.targets, got.pages, got.requests) == (4, 13, 16)
    assert (got.robots, got.sitemaps, got.redirects) == (1, 0, 1)
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


def test_a_line_without_a_task_is_of_the_task_that_is_named_and_of_the_only_one(
    folder: Path,
) -> None:
    log = folder / "log"
    log.write_text(row("/d.pdf", task="kilns.glaze") + "\n" + row("/glaze/") + "\n")
    for task in ("", "kilns.glaze"):
        (got,) = score_file(log, read(folder), task)
        assert got.found == 2
    more = TASKS + TASKS[TASKS.index("[[task]]") :].replace("glaze", "ash")
    (folder / "tasks.toml").write_text(more)
    with (folder / "qrels.txt").open("a") as file:
        file.write("kilns.ash 0 http://kilns.example/ash 1\n")
    both = score_file(log, read(folder), "kilns.ash")
    assert {got.task: got.found for got in both} == {"kilns.glaze": 1, "kilns.ash": 0}
    with pytest.raises(InputError, match="name it with --task"):
        score_file(log, read(folder))


@pytest.mark.parametrize("name", ["log.gz", "log.xz"])
def test_a_packed_log_of_another_system(folder: Path, name: str) -> None:
    content = b"http://kilns.example/glaze/\r\nhttp://[/glaze/a.html\r\n"
    packed = [
        gzip.compress(text) if name == "log.gz" else lzma.compress(text)
        for text in (b"\xef\xbb\xbf" + content, content)
    ]
    (folder / name).write_bytes(packed[0])
    (got,) = score_file(folder / name, read(folder))
    assert (got.pages, got.found) == (2, 1)
    (folder / name).write_bytes(packed[1][:-9])
    with pytest.raises(InputError, match="cannot read"):
        score_file(folder / name, read(folder))


def test_a_log_of_sites_under_other_names_is_refused(folder: Path) -> None:
    (folder / "log").write_text("http://localhost:8000/glaze/\n")
    with pytest.raises(InputError, match="serve the sites under their own"):
        score_file(folder / "log", read(folder))


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


# ---------------------------------------------------------------- crawls


def test_a_line_of_the_server_is_read_and_gets_what_the_rival_says() -> None:
    line = (
        '{"url":"http://kilns.example.org/a%20b.html","method":"GET","status":200,"bytes":77,'
        '"type":"text/html; charset=utf-8","at":1795380171.710,"agent":"x \\"y\\" 1"}'
    )
    request = request_of(line, "log")
    assert request == Request("http://kilns.example.org/a%20b.html", bytes=77)
    log = [request, Request("http://kilns.example.org/c")]
    assert with_said(log, [{"url": "http://kilns.example.org/c", "markdown": 3}]) == log
    said = with_said(log, [{"url": "http://kilns.example.org/a b.html#x", "relevant": True}])
    assert [one.relevant for one in said] == [True, False]


@pytest.mark.parametrize(
    ("url", "status", "kind"),
    [
        ("http://a.example/robots.txt", 404, "robots"),
        ("http://a.example/wp-sitemap.xml", 404, "sitemap"),
        ("http://a.example/sitemap_index.xml.gz", 200, "sitemap"),
        ("http://a.example/docs", 302, "redirect"),
        ("http://a.example/logo.SVG?v=2", 200, "asset"),
        ("http://a.example/missing.html", 404, "page"),
        ("http://a.example/paper.pdf", 200, "page"),
        ("http://a.example/robots.txt.html", 200, "page"),
    ],
)
def test_the_kind_of_a_request(url: str, status: int, kind: str) -> None:
    assert Request(url, status=status).kind == kind


def test_a_hostile_log_costs_little(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = time.process_time()
    assert Request("http://a.example/" + "sitemap" * 14_000).kind == "page"
    assert Request("http://a.example/" + "sitemap" * 14_000 + ".xml").kind == "sitemap"
    assert time.process_time() - began < 0.5
    monkeypatch.setattr(duel_score, "MOST_KEPT", 100_000)
    log = tmp_path / "log"
    log.write_text("http://a.example/x\n" * 5_000)
    with pytest.raises(InputError, match=r"line [0-9]+: the URLs of a log take at most"):
        list(duel_score.read_log(log))


def test_a_cell_stands_for_its_rival_and_not_for_our_code(tmp_path: Path) -> None:
    cell = Cell("minet", "kilns.glaze", 300, 60.0, 0, "1", "2")
    other = Cell("minet", "kilns.glaze", 300, 60.0, 0, "1", "3")
    assert KIND.names_code
    assert file_of(KIND, cell, tmp_path) != file_of(KIND, other, tmp_path)
    assert find("duel")[0].kind == "duel"


# ---------------------------------------------------------------- the report


TRACE: Row = {
    "pages": 100,
    "failures": 0,
    "again": 0,
    "found": 1,
    "linked": 3,
    "half_linked": 5,
    "list_url": "http://kilns.example/glaze/",
    "list_links": 2,
    "list_at": 5,
    "spent": [],
    "told": 2,
    "told_right": 1,
    "denied": 0,
    "mistaken": ["http://kilns.example/clay.html"],
}


def crawl(rival: str, task: str, recall: tuple[float, float, float, float], **more: object) -> Row:
    """A row as a cell leaves it: recall within 12, 30, 100 and 300."""
    row = {
        "contender": rival.title(),
        "rival": rival,
        "version": "1",
        "settings": "all",
        "how_told": "",
        "half": "reported",
        "kind": "ordinary",
        "wish": f"the {task}",
        "task": task,
        "budget": 300,
        "seed": 0,
        "targets": 4,
        "found": round(4 * recall[3]),
        "recall": dict(zip(("12", "30", "100", "300"), recall, strict=True)),
        "requests_to_half": 20,
        "told": None,
        "precision": None,
        "said_recall": None,
        "pages": 300,
        "failures": 1,
        "robots": 1,
        "sitemaps": 2,
        "redirects": 0,
        "probe": None,
        "bytes": 10,
        "markdown": None,
        "ended": "by itself",
        "cpu_seconds": 1.0,
        "peak_mb": 9,
        "hosts": 1,
        "traces": {"100": TRACE, "300": TRACE},
    }
    return {**row, **more}


def test_the_report_by_hand() -> None:
    told = {"told": 4, "precision": 0.5, "said_recall": 0.75}
    rows = [
        crawl("spoor", "a", (0.0, 0.25, 0.5, 0.5), **told),
        crawl("spoor", "b", (0.25, 0.5, 1.0, 1.0), requests_to_half=None, **told),
        crawl("rival", "a", (0.25, 0.25, 0.25, 1.0)),
        crawl("rival", "b", (0.0, 0.0, 0.5, 1.0)),
    ]
    ((*line, why),) = losses(rows)
    assert line == ["a", "the a", "300", "Rival", "1.000", "0.500"]
    assert why.startswith(
        "**It had the links, and others came first.** Right pages: 1 sent, 2 only"
    )
    assert list(against(rows, MAIN)) == []
    lines = list(against(rows, MAIN, least=2))
    assert [line[0] for line in lines] == ["12", "30", "100", "300"]
    assert [line[2] for line in lines] == ["+0.000", "+0.250", "+0.375", "-0.250"]
    assert [line[4] for line in lines] == ["1 : 0 : 1", "1 : 1 : 0", "2 : 0 : 0", "0 : 1 : 1"]
    grid = means(rows)
    ours = dict(zip(grid.head, grid.rows[0], strict=True))
    assert (ours["recall at 100"], ours["sitemaps"], ours["redirects"]) == ("0.750", "2.0", "0.0")
    assert ours["requests to half, median"] == "not reached"
    assert (ours["told: precision"], ours["requests a right page"]) == ("0.500", "100.0")
    gold = [
        crawl("spoor", name, (0, share, 1, 1), kind="gold") for name, share in (("c", 1), ("d", 0))
    ]
    assert at_budgets(gold, (12, 30, 100)).rows == [["Spoor", "2", "0.000", "0.500", "1.000"]]

    settings = {"settings": {"absent": {"Ache": "no jar"}}}
    made = {"spoor": "1", "code": "2"}
    page = page_of_results(Results("duel", "duel", "The duel", "", [*rows, *gold], made, settings))
    headings = [line for line in markdown(page).split("\n") if line.startswith("#")]
    assert headings[:3] == ["# The duel", "## Sites that nobody tuned on", "### Where Spoor loses"]
    assert any(
        isinstance(block, Grid) and ["Ache", "no jar"] in block.rows for block in page.blocks
    )


SPENT = (("/clay/", 60, 1), ("/", 30, 0), ("/kiln/", 10, 0))


def test_every_lost_task_is_listed() -> None:
    shares = {"spoor": (0.0, 0.0, 0.0, 0.5), "rival": (0.0, 0.0, 0.0, 1.0)}
    rows = [
        crawl(rival, f"t{number}", share) for rival, share in shares.items() for number in range(40)
    ]
    assert {line[0] for line in losses(rows)} == {f"t{number}" for number in range(40)}


def test_why_a_task_was_lost_is_read_from_two_traces() -> None:
    theirs = {
        **TRACE,
        "found": 4,
        "linked": 4,
        "list_url": "http://kilns.example/all.html",
        "list_links": 4,
        "list_at": 2,
    }

    def why(**ours: object) -> str:
        rows = [
            crawl(
                "spoor", "a", (0, 0, 0.25, 0.25), traces={"100": TRACE, "300": {**TRACE, **ours}}
            ),
            crawl("rival", "a", (0, 0, 0.25, 1.0), traces={"100": TRACE, "300": theirs}),
        ]
        (line,) = losses(rows)
        return line[-1]

    late = why(
        spent=[(f"http://kilns.example{path}", *more) for path, *more in SPENT],
        failures=20,
        again=11,
    )
    assert late == (
        "**It came late, or not, to where the links to them are.** Right pages: 1 sent, 2 only on links "
        "that it had, 1 on no page that it had (Rival: 4, 0, 0). The page with most links to "
        "them: `/glaze/`, 2, request 5 (Rival: `/all.html`, 4, request 2). Of 100 requests 60 went "
        "to `/clay/`, 1 of them right. 20 requests failed. 11 requests were for pages that it had. "
        "Pages that its verdicts praise: 2, 1 of them right (not right: `/clay.html`)."
    )
    denying = why(linked=4, denied=1, list_url="http://kilns.example/all.html")
    assert denying.startswith("**Its verdicts deny most")
    assert "(Rival: request 2)" in denying
    assert denying.endswith("; right ones that they deny: 1.")
    assert why(linked=4, told_right=0).startswith("**Most pages that its verdicts praise")
    assert "links to them: none (Rival: `/all.html`" in why(list_url="")


def test_of_more_than_one_try_the_median_and_the_range_are_shown() -> None:
    shares = (0.0, 0.5, 0.25)
    rows = [
        crawl("rival", "a", (0, 0, 0, share), seed=seed, failures=9 * seed)
        for seed, share in enumerate(shares)
    ]
    (line,) = tries([*rows, crawl("rival", "b", (0, 0, 0, 1.0))]).rows
    assert line == ["Rival", "a", "3", *["0.00 (0.00 … 0.00)"] * 3, "0.25 (0.00 … 0.50)"]
    assert at_budgets(rows, (300,)).rows == [["Rival", "1", "0.250"]]
    (of_means,) = means(rows).rows
    assert dict(zip(means(rows).head, of_means, strict=True))["failures"] == "0.0"


def test_the_report_of_probes_by_hand() -> None:
    shown = {
        "asked_robots": True,
        "forbidden": 2,
        "fetched": 61,
        "before": 20,
        "again": 3,
        "reasons": 0.5,
        "scores": 1.0,
        "markdown": 0.0,
    }
    rows = [
        crawl("a", "probe", (1, 1, 1, 1), probe=shown),
        crawl("b", "probe", (1, 1, 1, 1), probe={**shown, "before": None, "again": None}),
    ]
    assert beside(rows).rows == [
        ["A", "yes", "2", "3 of 20", "61 of 61", "100%", "50%", "–"],
        ["B", "yes", "2", "it had ended", "61 of 61", "100%", "50%", "–"],
    ]
