"""The arena of the duel: a crawler of ours in a network of its own, killed and started again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from spoor.errors import InputError
from spoor.lab.cells import run_cells
from spoor.lab.duel import arena, probe
from spoor.lab.kinds.duel import KIND, Cell

pytestmark = pytest.mark.server

ADAPTER = Path(__file__).parents[2] / "benchmarks" / "duel" / "adapter.py"
WALKER = """
import re, urllib.request
from urllib.parse import urljoin
from benchmarks.duel.adapter import Crawl

def describe(environment):
    return {"title": "Walker", "version": "1", "settings": "none", "told": "its title"}

def install(environment):
    pass

def crawl(it):
    kept, part = it.work / "kept", it.work / "part"
    done = kept.read_text().split() if it.durable and kept.exists() else []
    waiting, seen = [it.start, *done], {it.start, *done}
    for url in waiting:
        if url in done:
            page = (it.work / str(done.index(url))).read_text()
        else:
            page = urllib.request.urlopen(url).read().decode()
            (it.work / str(len(done))).write_text(page)
            done.append(url)
            part.write_text("\\n".join(done))
            part.replace(kept)
            it.say(url, relevant=True, why="a walk")
        for link in re.findall('href="(.*?)"', page):
            found = urljoin(url, link)
            if found not in seen:
                seen.add(found)
                waiting.append(found)
"""


def test_a_crawler_is_killed_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        arena.check()
    except InputError as error:
        pytest.skip(str(error))
    home = tmp_path / "benchmarks" / "duel"
    (home / "dataset").mkdir(parents=True)
    (home / "dataset" / "tasks.toml").write_text("format = 1\n")
    shutil.copy(ADAPTER, home)
    (home / "walker.py").write_text(WALKER)
    monkeypatch.setenv("SPOOR_DUEL", str(home))
    monkeypatch.setattr(probe, "RATE", 60)
    cell = Cell("walker", probe.NAME, probe.BUDGET, 60.0, 0, "", "")
    try:
        (row,) = run_cells(KIND, [cell], tmp_path / "out")
    except InputError as error:
        if "arena failed" in str(error):  # this machine lends no namespaces
            pytest.skip(str(error))
        raise
    got = row["probe"]
    assert (got["asked_robots"], got["fetched"]) == (False, probe.PAGES)
    # What was under way when it was killed is asked for again: one page, allowed or not.
    assert got["forbidden"] - probe.HUBS + got["again"] <= 1
    assert got["before"] >= 8
    assert (got["reasons"], got["scores"]) == (1.0, 0.0)
    assert (row["ended"], row["exit"], row["version"]) == ("by itself", 0, "1")
    assert row["pages"] - row["failures"] <= probe.PAGES + probe.HUBS + 1
