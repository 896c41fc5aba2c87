"""A person's word on a page: kept once, learned from once, whenever the process dies."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kills import CountedWeb, KilledError, check_run, digest, open_run, served
from spoor.crawl import Crawl
from spoor.errors import InputError
from spoor.live import labels_and_stops
from spoor.policies.trail.policy import Trail
from spoor.runs import files
from spoor.runs.database import reading
from spoor.runs.reader import Run
from spoor.runs.saved_files import saved_name
from spoor.runs.writer import RunWriter
from spoor.wrappers.fallback import Fallback
from spoor.wrappers.lists_first import SearchesFirst

PAGES = 150


@pytest.fixture(scope="module")
def web() -> Iterator[CountedWeb]:
    with served(PAGES, hosts=3) as counted:
        yield counted


def begun(web: CountedWeb, path: Path, pages: int = 40) -> Path:
    run = open_run(path, web.root, web.port, pages=pages, save_files=True)
    run.run()
    run.folder.close()
    return path


def pages_of(path: Path) -> dict[str, tuple[float, bool, list[list[object]]]]:
    with reading(path) as db:
        rows = db.execute("SELECT url, score, relevant, why FROM pages ORDER BY seq").fetchall()
    return {row[0]: (row[1], bool(row[2]), json.loads(row[3])) for row in rows}


def found_in(path: Path) -> list[str]:
    lines = (path / "relevant.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["url"] for line in lines]


def test_a_stopped_run_follows_at_once_and_learns_when_it_goes_on(
    web: CountedWeb, tmp_path: Path
) -> None:
    path = begun(web, tmp_path / "run")
    yes = [url for url, (_, relevant, _) in pages_of(path).items() if relevant]
    no = [url for url, (_, relevant, _) in pages_of(path).items() if not relevant]
    told = Run(path).label(no[1], True)
    assert not told.running
    assert not told.was
    assert not Run(path).label(yes[0], False).running
    score, relevant, why = pages_of(path)[no[1]]
    assert (score, relevant) == (1.0, True)
    assert why[0][0] == "a person said so"
    assert sorted(found_in(path)) == sorted([*yes[1:], no[1]])
    assert path.joinpath(files.SAVED, *saved_name(no[1], "text/html")).is_file()
    assert not path.joinpath(files.SAVED, *saved_name(yes[0], "text/html")).is_file()
    assert path.joinpath(files.SAVED, *saved_name(yes[1], "text/html")).is_file()

    weights: list[list[float]] = []

    def at(reached: str, crawl: Crawl) -> None:
        if reached in ("state read", "gone through"):
            weights.append([crawl.counts.relevant, *_weights(crawl)])

    run = open_run(path, web.root, web.port, at=at)
    run.folder.close()
    assert weights[-1][0] == len(yes), "one more and one less"
    assert run.crawl.counts.reward == len(yes)
    plain = open_run(begun(web, tmp_path / "plain"), web.root, web.port)
    plain.folder.close()
    assert _weights(run.crawl) != _weights(plain.crawl)
    assert check_run(path) == set(pages_of(path))


def _weights(crawl: Crawl) -> list[float]:
    # What was judged anew is learned once something is asked of it.
    assert isinstance(crawl.policy, SearchesFirst)
    safe = crawl.policy.policy
    assert isinstance(safe, Fallback)
    trail = safe.policy
    assert isinstance(trail, Trail)
    trail._settle()
    return [float(number) for number in trail.save()["model"]["a"]]


def test_of_two_who_label_at_the_same_moment_each_is_heard(
    web: CountedWeb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one finds the folder held, by no crawl."""
    path = begun(web, tmp_path / "run", pages=6)
    first, second = [url for url, (_, relevant, _) in pages_of(path).items() if not relevant][:2]
    commit = RunWriter.commit

    def while_it_is_held(writer: RunWriter, events: bytes) -> None:
        monkeypatch.undo()
        assert Run(path).label(second, True).running
        commit(writer, events)

    monkeypatch.setattr(RunWriter, "commit", while_it_is_held)
    Run(path).label(first, True)
    assert {first, second} <= set(found_in(path))


def test_the_same_said_twice_changes_nothing_more(web: CountedWeb, tmp_path: Path) -> None:
    path = begun(web, tmp_path / "run")
    url = next(url for url, (_, relevant, _) in pages_of(path).items() if not relevant)
    digests = []
    for _ in range(2):
        Run(path).label(url, True)
        run = open_run(path, web.root, web.port, pages=40)
        digests.append((run.crawl.counts.relevant, _weights(run.crawl)))
        run.folder.close()
    assert digests[0] == digests[1]
    assert pages_of(path)[url][2][0][0] == "a person said so"


@pytest.mark.parametrize("point", ["commit begun", "rows written", "committed"])
def test_a_death_while_a_label_is_taken_in(point: str, web: CountedWeb, tmp_path: Path) -> None:
    path = begun(web, tmp_path / "run")
    url = next(url for url, (_, relevant, _) in pages_of(path).items() if not relevant)
    before = len(found_in(path))

    armed, last = False, ""

    def at(reached: str, crawl: Crawl) -> None:
        nonlocal last
        if armed and reached == point:
            last = digest(crawl) if point == "committed" else ""
            raise KilledError

    run = open_run(path, web.root, web.port, at=at, pages=40)
    run.journal.commit()  # that it was taken over
    line = json.dumps({"url": url, "relevant": True}) + "\n"
    (path / "labels.jsonl").write_text(line + '{"url": "half a li', encoding="utf-8")
    armed = True
    with pytest.raises(KilledError):
        run.take_labels()
    run.folder.close()

    again: list[str] = []

    def look(reached: str, crawl: Crawl) -> None:
        if reached == "gone through":
            again.append(digest(crawl))

    run = open_run(path, web.root, web.port, at=look, pages=40)
    run.journal.commit()
    assert not last or again == [last]
    run.take_labels()
    run.take_labels()
    assert run.crawl.counts.relevant == before + 1
    run.folder.close()
    assert len(found_in(path)) == before + 1
    assert url in found_in(path)


def test_a_running_crawl_takes_it_in(
    web: CountedWeb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(labels_and_stops, "LISTEN_SECONDS", 0.02)
    path, run = tmp_path / "run", open_run(tmp_path / "run", web.root, web.port)
    said: list[tuple[str, bool]] = []
    taken = threading.Event()

    def step(fetch: object, step: object) -> None:
        # The web is held back after some pages, until what was said has come in.
        if run.crawl.counts.pages >= 8 and not said:
            url = next(iter(pages_of(path)))
            told = Run(path).label(url, not pages_of(path)[url][1])
            assert told.running
            said.append((url, told.relevant))
            web.going.clear()
            threading.Thread(target=release).start()

    def release() -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            url, relevant = said[0]
            if pages_of(path)[url][1] == relevant:
                taken.set()
                break
            taken.wait(0.02)
        web.going.set()

    run.on_step = step
    try:
        assert run.run() == "no open link left"
    finally:
        web.going.set()
        run.folder.close()
    assert taken.is_set()
    url, relevant = said[0]
    assert (url in found_in(path)) is relevant
    assert run.crawl.counts.relevant == len(found_in(path))
    last = digest(run.crawl)
    again = open_run(path, web.root, web.port, pages=10_000)
    again.folder.close()
    assert again.crawl.counts.relevant == len(found_in(path))
    assert last
    check_run(path)


def test_bad_labels(web: CountedWeb, tmp_path: Path) -> None:
    path = begun(web, tmp_path / "run")
    with pytest.raises(InputError, match="has no page"):
        Run(path).label("http://nowhere.example/", True)
    with pytest.raises(InputError, match="no run"):
        Run(tmp_path / "nothing").label(web.root, True)
    assert not (path / "labels.jsonl").exists()
    (path / "labels.jsonl").write_text('no line\n{"url": 3}\n[]\n', encoding="utf-8")
    before = pages_of(path)
    Run(path).label(web.root, not before[web.root][1])
    assert pages_of(path)[web.root][1] is not before[web.root][1]
