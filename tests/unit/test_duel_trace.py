"""What a crawl's requests were spent on, by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from spoor.lab.duel.dataset import Site, Task
from spoor.lab.duel.files import Files
from spoor.lab.duel.score import Request
from spoor.lab.duel.trace import trace

BASE = "http://kilns.example/"
RIGHT = frozenset(f"{BASE}glaze/{name}.html" for name in ("ash", "salt", "tin", "lead"))
TASK = Task("kilns.glaze", ("kilns",), "glazes", BASE, targets=RIGHT)
LINKS = {
    "index.html": ["clay/", "glaze/ash.html", "http://elsewhere.example/glaze/tin.html"],
    "clay/index.html": ["../glaze/ash.html#top", "/glaze/salt.html", "http://[", "kaolin.html"],
    "clay/kaolin.html": [],
    "glaze/ash.html": ["tin.html?q=1"],
    "glaze/salt.html": [],
    "glaze/tin.html": [],
    "glaze/lead.html": [],
}


@pytest.fixture
def files(tmp_path: Path) -> Files:
    for path, links in LINKS.items():
        file = tmp_path / path
        file.parent.mkdir(exist_ok=True)
        file.write_text("".join(f'<a href="{link}">x</a>' for link in links))
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "a b.txt").write_text('<a href="/glaze/tin.html">')
    return Files({Site("kilns", BASE, "kilns"): tmp_path})


def test_which_page_links_to_which(files: Files) -> None:
    assert set(files.links(f"{BASE}clay/")) == {
        f"{BASE}glaze/ash.html",
        f"{BASE}glaze/salt.html",
        f"{BASE}clay/kaolin.html",
    }
    assert files.links(f"{BASE}raw/") == (f"{BASE}raw/a%20b.txt",)
    assert files.links(f"{BASE}raw/a%20b.txt") == files.links(f"{BASE}missing.html") == ()
    assert files.links(f"{BASE}../{BASE}") == files.links("http://elsewhere.example/") == ()


def test_a_trace_by_hand(files: Files) -> None:
    log = [
        Request(f"{BASE}robots.txt", status=404),
        Request(BASE, relevant=False),  # 1: links to ash
        Request(f"{BASE}style.css"),
        Request(f"{BASE}glaze/salt.html", method="HEAD"),  # 2: brings nothing
        Request(f"{BASE}clay/", relevant=True),  # 3: links to ash and salt: half of all
        Request(f"{BASE}clay/index.html?a=1", relevant=True),  # 4: again
        Request(f"{BASE}clay/kaolin.html", relevant=False),  # 5
        Request(f"{BASE}glaze/lead.html", status=404),  # 6: a failure
        Request(f"{BASE}glaze/ash.html", relevant=False),  # 7: right; links to tin
        Request(f"{BASE}glaze/salt.html", relevant=True),  # 8: right, beyond the budget
    ]
    got = trace(TASK, log, files, 7)
    assert (got.pages, got.failures, got.again) == (7, 1, 1)
    assert (got.found, got.linked, got.half_linked) == (1, 3, 3)
    assert (got.list_url, got.list_links, got.list_at) == (f"{BASE}clay/", 2, 3)
    assert got.spent == [(f"{BASE}clay/", 3, 0), (f"{BASE}glaze/", 3, 1)]
    assert (got.told, got.told_right, got.denied) == (1, 0, 1)
    assert got.mistaken == [f"{BASE}clay/"]
    assert trace(TASK, log, files, 8).told_right == 1
    early = trace(TASK, log, files, 1)
    assert (early.half_linked, early.spent, early.list_links) == (None, [], 1)


def test_a_crawler_that_says_nothing_denies_nothing(files: Files) -> None:
    log = [Request(f"{BASE}glaze/ash.html"), Request(f"{BASE}glaze/tin.html")]
    got = trace(TASK, log, files, 100)
    assert (got.found, got.linked, got.told, got.denied) == (2, 2, 0, 0)
