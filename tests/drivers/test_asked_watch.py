"""A watch is read as a crawl is, says why it told of a page or did not, and is corrected."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kills import KilledError
from rolling import FRONT, lines_of, open_watch, rolling, served
from spoor.cli.main import run
from spoor.errors import InputError
from spoor.live.watch import Watch
from spoor.runs.labels import write_label
from spoor.runs.reader import Run
from spoor.views.watch_page import WatchPage

NOTHING = ("match:no page says this",)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with served(rolling(600.0, 0.1)) as at:
        yield at


@pytest.fixture(scope="module")
def silent(port: int, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a watch that told nothing, and a story that came while it watched."""
    path = tmp_path_factory.mktemp("silent") / "run"
    known = watched(path, port, NOTHING, 0.7).fleet.known
    assert not lines_of(path)
    urls = enumerate(known.urls)
    return path, next(url for at, url in urls if known.came(at) and known.digests[at])


def watched(path: Path, port: int, want: tuple[str, ...], seconds: float) -> Watch:
    """A watch that ended after so many seconds; where it wants something, once it told of it."""
    watch = open_watch(path, port, want=want)
    if want != NOTHING:
        watch.on_line = lambda line: watch._driver.stop("told") if watch._driver else None
    try:
        watch.run(seconds)
    finally:
        watch.folder.close()
    return watch


def test_what_it_told_is_read_as_what_a_crawl_found(
    port: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    watch = watched(out, port, ("match:story of",), 60.0)
    told = {line["url"] for line in lines_of(out)}
    assert told
    opened = Run(out)
    assert {one.url for one in opened.documents()} == told
    assert {one.url for one in opened.search("story", limit=1_000)} == told
    rows, everything = tmp_path / "rows.jsonl", tmp_path / "all.jsonl"
    assert opened.export(rows, text=True) == len(told)
    exported = [json.loads(line) for line in rows.read_text("utf-8").splitlines()]
    assert all("The story of" in row["text"] for row in exported)
    assert all(row["path"][0] == FRONT and row["path"][-1] == row["url"] for row in exported)
    assert opened.export(everything, everything=True) > len(told)
    numbers = [row.number for row in opened.pages()]
    assert len({row.url for row in opened.pages()}) == len(numbers), "a row for each page"
    assert max(numbers) > len(numbers), "though the front page came again and again"
    old = next(row.url for row in opened.pages() if row.url not in told and row.url != FRONT)
    capsys.readouterr()
    for url, said in (
        (min(told), "told as new at"),
        (old, "not told: it stood there at the first look"),
        (FRONT, "not told: it is not relevant"),
    ):
        assert run(["explain", str(out), url]) == 0
        shown = capsys.readouterr().out
        assert said in shown
        assert "\n  next look " in shown
    named = old.replace("http://", "www.") + "/?utm_source=mail"
    for name, said in (("explain", f"{old}\n"), ("show", "The story of")):
        assert run([name, str(out), named]) == 0
        assert said in capsys.readouterr().out
    assert run(["explain", str(out), FRONT, "--json"]) == 0
    next_look = json.loads(capsys.readouterr().out)["next"]
    assert "a start, feed or sitemap: of " in next_look["why"]
    assert run(["show", str(out)]) == 0
    shown = capsys.readouterr().out
    assert f"told {watch.lines:,}, by " in shown
    assert "\nlooks next at\n" in shown
    assert run(["show", str(out), "--json"]) == 0
    ahead = json.loads(capsys.readouterr().out)["next"]
    assert [one["place"] for one in ahead] == list(range(10))
    assert [one["at"] for one in ahead] == sorted(one["at"] for one in ahead)
    assert run(["show", str(out), min(told)]) == 0
    assert "The story of" in capsys.readouterr().out
    for command, wrong in (
        (["explain", str(out), f"{FRONT}nix"], "no page that it looked at links to it"),
        (["explain", str(out), "http://other.example/"], "links to it are not followed"),
        (["explain", str(out)], "name a URL"),
        (["label", str(out), f"{FRONT}nix", "no"], "has no page"),
        (["export", str(out), str(rows), "--requests"], "no row for each seed or request"),
    ):
        assert run(command) == 2
        assert wrong in capsys.readouterr().err


def test_a_label_of_a_watch_that_stands_still_is_taken_in_once(
    port: int, silent: tuple[Path, str], tmp_path: Path
) -> None:
    """Told is what the label makes new; what was told is not taken back by the next."""
    out, url = tmp_path / "run", silent[1]
    shutil.copytree(silent[0], out)
    label = Run(out).label(url, True)
    assert (label.running, label.learned, label.was) == (False, False, False)
    row = Run(out).page(url)
    assert row is not None
    assert row.relevant
    assert row.why[0][0] == "a person said so"
    for _ in range(2):
        watched(out, port, NOTHING, 0.05)
        assert [line["url"] for line in lines_of(out) if line["kind"] == "new"] == [url]
    Run(out).label(url, False)
    before = lines_of(out)
    watched(out, port, NOTHING, 0.05)
    assert lines_of(out) == before
    (document,) = Run(out).documents()
    assert (document.url, document.relevant) == (url, False)


def test_what_was_told_is_labelled_on_its_page(port: int, tmp_path: Path) -> None:
    out = tmp_path / "run"
    watched(out, port, ("match:story of",), 60.0)
    page, line = WatchPage(out, "token"), lines_of(out)[-1]
    assert page.page("nonce").count('<form class="label"') == len(lines_of(out))
    for relevant, word, title in ((False, "not wanted", "No"), (True, "wanted", "Yes")):
        said = page.label(line["id"], relevant)
        assert said == f"Noted as {word}: no other page is judged by it; what was told stays told."
        pressed = f'aria-pressed="true" aria-label="{title}: {line["title"]}"'
        same = [one for one in lines_of(out) if one["url"] == line["url"]]
        assert page.page("nonce").count(pressed) == len(same)
        assert Run(out).labels() == {line["url"]: relevant}
    with pytest.raises(InputError, match="told that long ago"):
        page.label("", True)


@pytest.mark.parametrize("point", ["", "commit begun", "rows written", "committed", "news written"])
def test_a_label_is_taken_in_once_wherever_the_watch_dies(
    point: str, port: int, silent: tuple[Path, str], tmp_path: Path
) -> None:
    """Without a point: while it runs, within a second or two."""
    out, url, armed = tmp_path / "run", silent[1], False
    shutil.copytree(silent[0], out)

    def at(reached: str, fleet: object) -> None:
        if armed and reached == point:
            raise KilledError

    watch = open_watch(out, port, at, want=NOTHING)
    try:
        write_label(out, url, True, time.time())
        if point:
            watch._commit()
            armed = True
            with pytest.raises(KilledError):
                watch.take_labels()
        else:
            watch.on_line = lambda line: watch._driver.stop("told") if watch._driver else None
            assert watch.run(60.0) == "told"
    finally:
        watch.folder.close()
    watched(out, port, NOTHING, 0.05)
    assert [line["url"] for line in lines_of(out) if line["kind"] == "new"] == [url]
    row = Run(out).page(url)
    assert row is not None
    assert row.relevant
    assert "told" in row.flags
