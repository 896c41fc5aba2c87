"""Crawls of the duel that are kept, and the probe, by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spoor.errors import InputError
from spoor.lab.cells import run_cells
from spoor.lab.duel import arena, kept, probe, rivals
from spoor.lab.duel.arena import Crawl
from spoor.lab.duel.rivals import Rival
from spoor.lab.duel.score import Request, counted
from spoor.lab.experiment import Experiment, find
from spoor.lab.kinds import duel
from spoor.lab.kinds.duel import KIND, plan

ROOT = Path(__file__).parents[2]
DUEL = ROOT / "benchmarks" / "duel"
FACTS = dict.fromkeys(kept.FACTS, "")


def row(**facts: object) -> dict[str, Any]:
    return {**FACTS, **facts}


def test_requests_that_are_kept_come_back(tmp_path: Path) -> None:
    glaze = [
        Request("http://kilns.example/robots.txt", "glaze", 404, bytes=7, relevant=False),
        Request("http://kilns.example/ä b", "glaze", bytes=9, relevant=True),
    ]
    ash = [Request("http://kilns.example/ash", "ash", method="HEAD")]
    key = kept.Key("minet", 300, 0, "glaze")
    other = kept.Key("minet", 300, 0, "ash")
    kept.write(tmp_path, [(key, row(version="1"), glaze)])
    kept.write(tmp_path, [(other, row(version="2"), ash)])
    found = kept.read(tmp_path)
    assert {key: facts["version"] for key, facts in found.rows.items()} == {key: "1", other: "2"}
    assert (found.log(key), found.log(other)) == (glaze, ash)
    with pytest.raises(InputError, match="no request of the task 'salt'"):
        found.log(kept.Key("minet", 300, 0, "salt"))
    before = found.digest(key)
    kept.write(tmp_path, [(key, row(version="1"), glaze[:1])])
    assert kept.read(tmp_path).log(key) == glaze[:1]
    assert kept.read(tmp_path).digest(key) != before


def test_what_is_damaged_is_named(tmp_path: Path) -> None:
    assert kept.read(tmp_path).rows == {}
    file = tmp_path / kept.FILE
    file.write_text('{"rival": "minet"}\n')
    with pytest.raises(InputError, match="line 1 is no crawl"):
        kept.read(tmp_path)
    key = kept.Key("minet", 300, 0, "glaze")
    file.unlink()
    kept.write(tmp_path, [(key, row(), [Request("http://kilns.example/", "glaze")])])
    packed = tmp_path / key.file
    for content in (b"no xz", packed.read_bytes()[:-20]):
        packed.write_bytes(content)
        with pytest.raises(InputError, match="cannot read"):
            kept.read(tmp_path).log(key)


def test_what_a_score_does_not_read_is_not_kept() -> None:
    urls = ["/robots.txt", "/1", "/a.css", "/2", "/sitemap.xml", "/3", "/b.css"]
    log = [Request(f"http://kilns.example{url}") for url in urls]
    assert list(counted(log, 2)) == log[:5]


# ---------------------------------------------------------------- those that are committed


def experiment(**settings: object) -> Experiment:
    return replace(find("duel")[0], settings=settings)


def test_cells_of_crawls_that_are_kept_need_no_rival(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    globs = ["gimp.*", "mpich.*"]
    named = experiment(rivals=["pagesift"], kept=["pagesift"], pages={"300": globs})
    cells = plan(named, tmp_path)
    assert {cell.task for cell in cells} >= {"gimp.blur", "gimp.red-eye", "mpich.files"}
    assert all(cell.task.startswith(("gimp.", "mpich.", probe.NAME)) for cell in cells)
    rows = run_cells(KIND, cells, tmp_path)
    of_task = {row["task"]: row for row in rows}
    assert of_task["gimp.blur"]["contender"] == "PageSift"
    assert of_task["gimp.blur"]["recall"]["100"] > of_task["gimp.blur"]["recall"]["12"]
    assert of_task["gimp.red-eye"]["budget"] == 100
    assert all(row["kept"] for row in rows)
    with pytest.raises(InputError, match="no crawl of 'minos' is in"):
        plan(experiment(rivals=["minos"], kept=["minos"]), tmp_path)
    with pytest.raises(InputError, match="pages are some of 12, 30"):
        plan(experiment(rivals=["pagesift"], kept=["pagesift"], pages={"30": 1, "31": 1}), tmp_path)


def test_the_links_that_first_tries_had_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report says of first tries alone why a task was lost."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(arena, "check", lambda: None)
    monkeypatch.setattr(duel, "site_folder", lambda *_: tmp_path)
    script = DUEL / "spoor.py"
    monkeypatch.setattr(
        rivals, "installed", lambda name, *_: Rival(name, script, tmp_path, {"tries": 2})
    )
    settings = {"rivals": ["spoor", "bytecrawl"], "kept": ["bytecrawl"]}
    cells = plan(experiment(**settings, pages={"300": ["gimp.blur"]}), tmp_path)
    assert {cell.rival for cell in cells if cell.seed} == {"spoor", "bytecrawl"}
    assert all(cell.traced == (cell.seed == 0) for cell in cells)


# ---------------------------------------------------------------- the probe


def page(path: str, status: int = 200) -> Request:
    return Request(f"{probe.BASE}{path}", status=status)


def test_the_probe_by_hand() -> None:
    first = [
        page("robots.txt"),
        page(""),
        page("a.html"),
        page("b.html", 404),
        page("closed/1.html"),
    ]
    second = [page("a.html"), page("b.html"), page("closed/1.html"), page("c.html")]
    said = [
        {"url": probe.BASE, "relevant": True, "why": "its title", "score": 0.5, "markdown": 9},
        {"url": probe.BASE + "a.html", "score": 0, "markdown": 0},
    ]
    got = probe.measured(Crawl([*first, *second], {"before_kill": len(first)}, said))
    assert got == probe.Probe(True, 2, 4, 2, 1, reasons=0.5, scores=1.0, markdown=0.5)
    whole = probe.measured(Crawl(second, {}, []))
    assert whole == probe.Probe(False, 1, 3, None, None, 0.0, 0.0, 0.0)


def test_the_site_of_the_probe_has_what_is_said_of_it(tmp_path: Path) -> None:
    site = probe.site(tmp_path / "site")
    files = {str(file.relative_to(site.folder)) for file in Path(site.folder).rglob("*.html")}
    closed = {file for file in files if f"/{file}".startswith(probe.FORBIDDEN)}
    assert (len(files - closed), len(closed)) == (probe.PAGES, probe.HUBS)
    text = "".join((tmp_path / "site" / file).read_text() for file in files)
    assert text.count('href="/closed/') == 2 * probe.HUBS
    assert all(f'href="/{file}"' in text for file in files - {"index.html"})
