"""A run that ends at any named step goes on as if nothing had happened.

The process is not killed here (`tests/e2e/test_kill.py` does that): the folder is copied as it lies
on the disk at that moment, which is what a killed process leaves.
"""

from __future__ import annotations

import shutil
import sqlite3
import time
import zlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from kills import CountedWeb, KilledError, after_cut, check_run, cut, digest, open_run, served
from spoor import registry
from spoor.crawl import Crawl
from spoor.errors import InputError
from spoor.frontier.memory import MemoryFrontier
from spoor.frontier.sqlite import POINTS as FRONTIER_POINTS
from spoor.frontier.sqlite import SqliteFrontier
from spoor.judges.advice import Advisor
from spoor.live import checkpoint_times, frontier_store
from spoor.live import live_crawl as run_module
from spoor.runs import topic_advice
from spoor.runs.database import reading
from spoor.runs.schema import FORMAT
from spoor.runs.writer import POINTS
from spoor.settings import Settings
from spoor.types import Sleep

PAGES = 30
POLICY = "host-bandit"
"""It learns and draws, and its state is small; the others are tried at one point."""
STATE_POINTS = ("state packed", "state written", "state committed", "log emptied")


@pytest.fixture(scope="module")
def web() -> Iterator[CountedWeb]:
    with served(PAGES, hosts=3) as counted:
        yield counted


@pytest.fixture(scope="module")
def whole(web: CountedWeb, tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The pages of a run that nothing disturbs."""
    path = tmp_path_factory.mktemp("whole") / "run"
    run = open_run(path, web.root, web.port, policy="breadth-first")
    assert run.run() == "no open link left"
    run.folder.close()
    urls = check_run(path)
    assert len(urls) > PAGES / 2
    return urls


def killed(
    web: CountedWeb,
    path: Path,
    point: str,
    times: int,
    policy: str = "trail",
    frontier: str = "memory",
) -> tuple[Path | None, str]:
    """Where the folder lies as the death at a point left it (None if the run came to its end before
    that), and the digest of the crawl at its last commit."""
    left, last, copy = times, "", path.with_name(path.name + "-killed")
    looking = False

    def at(reached: str, crawl: Crawl) -> None:
        nonlocal left, last, looking
        if looking:  # taking a digest saves the frontier
            return
        if reached == "committed":
            looking = True
            last = digest(crawl)
            looking = False
        left -= reached == point
        if not left and reached == point:
            if path.exists():
                shutil.copytree(path, copy)
            raise KilledError

    run = None
    try:
        run = open_run(path, web.root, web.port, at=at, policy=policy, frontier=frontier)
        run.run()
    except KilledError:
        return copy, last
    finally:
        if run is not None:
            run.folder.close()
    return None, last


@pytest.mark.parametrize(
    ("point", "frontier"),
    [
        *((point, "memory") for point in POINTS),
        *((point, "disk") for point in FRONTIER_POINTS),
        *((point, "disk") for point in ("state read", "gone through", "state written", "sending")),
    ],
)
def test_nothing_is_lost_at_any_point(
    point: str,
    frontier: str,
    web: CountedWeb,
    whole: set[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Points of a checkpoint are reached at each commit, however fast the machine; and a digest saves
    # the frontier too: only a checkpoint at each commit has something left to save.
    seconds = 0.0 if point in (*FRONTIER_POINTS, *STATE_POINTS) else 0.05
    monkeypatch.setattr(run_module, "CHECKPOINT_SECONDS", seconds)
    monkeypatch.setattr(run_module, "CHECKPOINT_SHARE", 1e9)
    path, deaths, again = tmp_path / "run", 0, ""
    web.asked.clear()
    recovering = point in POINTS[: POINTS.index("exchange recorded")]
    if recovering and point not in ("opened", "created"):
        # Recovery is what ends: there must be something to recover.
        path, again = _first(killed(web, path, "sending", 4, POLICY, frontier))
        deaths += 1
    times = 1 if recovering else 2 + zlib.crc32(point.encode()) % 3 if point in POINTS else 2
    copy, last = killed(web, path, point, times, POLICY, frontier)
    assert copy is not None, f"the run never came to {point!r} {times} times"
    deaths += 1

    def at(reached: str, crawl: Crawl) -> None:
        if reached == "gone through" and (last or again):
            assert digest(crawl) == (last or again), "the crawl is not what it was"

    run = open_run(copy, web.root, web.port, at=at, policy=POLICY, frontier=frontier)
    assert run.run() == "no open link left"
    run.folder.close()
    assert isinstance(run.crawl.frontier, SqliteFrontier) is (frontier == "disk")
    assert check_run(copy) == whole
    assert web.again <= deaths * run.folder.settings.in_flight


def _first(found: tuple[Path | None, str]) -> tuple[Path, str]:
    path, last = found
    assert path is not None
    return path, last


POLICIES = sorted({*registry.BUILT_IN["policies"]} - registry.LAB_ONLY)


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_is_bit_equal_after_a_crash(
    policy: str, web: CountedWeb, tmp_path: Path
) -> None:
    try:
        copy, last = _first(killed(web, tmp_path / "run", "committed", 9, policy))
    except InputError as error:
        pytest.skip(str(error))  # it crawls with a trained model only
    seen = []

    def at(reached: str, crawl: Crawl) -> None:
        if reached == "gone through":
            seen.append(digest(crawl))

    run = open_run(copy, web.root, web.port, at=at, policy=policy)
    run.folder.close()
    assert seen == [last]


@pytest.mark.parametrize("frontier", ["memory", "disk"])
def test_cuts_are_mended_or_told(
    frontier: str, web: CountedWeb, whole: set[str], tmp_path: Path
) -> None:
    """A few of the 200 cuts of `benchmarks/kill.py --cuts`."""
    copy, _ = _first(killed(web, tmp_path / "run", "committed", 12, "breadth-first", frontier))
    rng = np.random.default_rng(3)
    results = []
    for number in range(12):
        path = tmp_path / f"cut{number}"
        shutil.copytree(copy, path)
        done = cut(path, rng)
        try:
            again = after_cut(path, web, whole, policy="breadth-first", frontier=frontier)
            results.append(again)
        except AssertionError as error:
            raise AssertionError(f"{done}: {error}") from error
    assert {"recovered", "refused"} == set(results)


@pytest.mark.parametrize("seconds", [0.0, 1e9])
def test_a_checkpoint_is_made_where_a_replay_would_take_long(
    seconds: float, web: CountedWeb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "CHECKPOINT_SECONDS", 1e9)
    monkeypatch.setattr(run_module, "CHECKPOINT_SHARE", 1e-9)
    monkeypatch.setattr(checkpoint_times, "REPLAY_SECONDS", seconds)
    monkeypatch.setattr(checkpoint_times, "REPLAY_SHARE", 1e9)
    monkeypatch.setattr(checkpoint_times, "WAIT_SHARE", 1e9)
    made = []

    def at(reached: str, crawl: Crawl) -> None:
        if reached == "state committed":
            made.append(crawl.counts.pages)

    path = tmp_path / "run"
    run = open_run(path, web.root, web.port, at=at, policy=POLICY, in_flight=1)
    assert run.run() == "no open link left"
    run.folder.close()
    if seconds:
        assert made == [0, run.crawl.counts.pages]
    else:
        assert max(after - before for before, after in pairwise(made)) <= 2


def test_a_frontier_moves_to_disk_when_it_is_large_and_the_crawl_is_the_same(
    web: CountedWeb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(run_module, "CHECKPOINT_SHARE", 1e9)
    orders = []
    for frontier in ("memory", "auto", "disk"):
        monkeypatch.setattr(frontier_store, "IN_MEMORY", 20)
        run = open_run(
            tmp_path / frontier, web.root, web.port, frontier=frontier, in_flight=1, policy="random"
        )
        kinds = {type(run.crawl.frontier)}
        run.on_step = lambda fetch, step: kinds.add(type(run.crawl.frontier))  # noqa: B023
        assert run.run() == "no open link left"
        run.folder.close()
        assert (
            kinds
            == {
                "memory": {MemoryFrontier},
                "auto": {MemoryFrontier, SqliteFrontier},
                "disk": {SqliteFrontier},
            }[frontier]
        )
        with sqlite3.connect(tmp_path / frontier / "state.db") as db:
            orders.append([url for (url,) in db.execute("SELECT url FROM pages ORDER BY seq")])
        db.close()
    assert orders[0] == orders[1] == orders[2]


def test_a_frontier_that_lost_its_newest_state_gives_way_to_the_one_before(
    web: CountedWeb, whole: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(run_module, "CHECKPOINT_SHARE", 1e9)
    copy, last = _first(killed(web, tmp_path / "run", "log emptied", 4, frontier="disk"))
    with sqlite3.connect(copy / "frontier.db") as db:
        newest = "(SELECT max(generation) FROM generations)"
        db.execute(f"DELETE FROM generations WHERE generation = {newest}")
    db.close()
    seen = []

    def at(reached: str, crawl: Crawl) -> None:
        if reached == "gone through":
            seen.append(digest(crawl))

    broken = tmp_path / "broken"
    shutil.copytree(copy, broken)
    run = open_run(copy, web.root, web.port, at=at)
    run.run()
    run.folder.close()
    assert seen == [last]
    assert check_run(copy) == whole
    for spoil, told in (
        ("DELETE FROM generations", "does not hold the frontier of the last checkpoint"),
        ("UPDATE chunks SET data = zeroblob(length(data))", "does not fit its digest"),
        ("DELETE FROM links", "table links does not hold"),
    ):
        path = tmp_path / told.replace(" ", "-")
        shutil.copytree(broken, path)
        with sqlite3.connect(path / "frontier.db") as db:
            db.execute(spoil)
        db.close()
        with pytest.raises(InputError, match=rf"frontier\.db is damaged .*{told}"):
            open_run(path, web.root, web.port)


def test_a_chunk_of_a_state_that_is_lost_or_changed_is_told(
    web: CountedWeb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(run_module, "CHECKPOINT_SHARE", 1e9)
    copy, _ = _first(killed(web, tmp_path / "run", "state committed", 3))
    for number, (damage, told) in enumerate(
        (
            ("DELETE FROM chunks", r": damaged \("),
            ("UPDATE chunks SET data = substr(data, 2)", r": damaged \("),
            ("DROP TABLE chunks", r" cannot be used .*no such table: chunks\); it is damaged"),
        )
    ):
        path = tmp_path / str(number)
        shutil.copytree(copy, path)
        with sqlite3.connect(path / "state.db") as db:
            assert db.execute("SELECT count(*) FROM chunks").fetchone()[0]
            db.execute(damage)
        db.close()
        with pytest.raises(InputError, match=rf"state\.db{told}"):
            open_run(path, web.root, web.port)


def test_a_damaged_state_gives_way_to_the_one_before(
    web: CountedWeb, whole: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(run_module, "CHECKPOINT_SHARE", 1e9)
    copy, last = _first(killed(web, tmp_path / "run", "state committed", 3))
    with sqlite3.connect(copy / "state.db") as db:
        (newest,) = db.execute("SELECT max(generation) FROM checkpoints").fetchone()
        spoil = "UPDATE checkpoints SET state = substr(state, 1, 500) WHERE generation"
        db.execute(f"{spoil} = ?", (newest,))
    db.close()
    seen = []

    def at(reached: str, crawl: Crawl) -> None:
        if reached == "gone through":
            seen.append(digest(crawl))

    run = open_run(copy, web.root, web.port, at=at)
    run.run()
    run.folder.close()
    assert seen == [last]
    assert check_run(copy) == whole
    with sqlite3.connect(copy / "state.db") as db:
        db.execute(f"{spoil} > 0")
    db.close()
    with pytest.raises(InputError, match=r"state\.db: damaged"):
        open_run(copy, web.root, web.port)


def test_a_run_is_refused_where_it_cannot_go_on(web: CountedWeb, tmp_path: Path) -> None:
    path = tmp_path / "run"
    run = open_run(path, web.root, web.port)
    with pytest.raises(InputError, match="in use by another process"):
        open_run(path, web.root, web.port)
    run.folder.close()
    with pytest.raises(InputError, match="was begun with seed = 0, not 1"):
        open_run(path, web.root, web.port, seed=1)
    for version in (FORMAT - 1, FORMAT + 1):
        with sqlite3.connect(path / "state.db") as db:
            db.execute(f"PRAGMA user_version={version}")
        db.close()
        with pytest.raises(InputError, match=f"is of run format {version}; this Spoor writes"):
            open_run(path, web.root, web.port)
        if version < FORMAT:
            with reading(path) as db:
                assert not db.execute("SELECT * FROM pages").fetchall()
        else:
            with pytest.raises(InputError, match="run format"), reading(path):
                pass


def test_a_run_is_refused_with_another_topic_in_the_same_file(
    web: CountedWeb, tmp_path: Path
) -> None:
    file = tmp_path / "topic.toml"
    file.write_text('keywords = ["pottery"]')
    open_run(tmp_path / "run", web.root, web.port, topic="", topic_file=str(file)).folder.close()
    open_run(tmp_path / "run", web.root, web.port, topic="", topic_file=str(file)).folder.close()
    file.write_text('keywords = ["chess"]')
    with pytest.raises(InputError, match=r"topic\.toml changed since .*run was begun"):
        open_run(tmp_path / "run", web.root, web.port, topic="", topic_file=str(file))


def test_a_whole_delay_passes_before_the_first_request(web: CountedWeb, tmp_path: Path) -> None:
    copy, _ = _first(killed(web, tmp_path / "run", "committed", 6))
    before = time.time()
    run = open_run(copy, web.root, web.port, delay=50.0)
    try:
        answer = run.journal.next(time.time())
        assert isinstance(answer, Sleep)
        assert answer.until >= before + 50.0
    finally:
        run.folder.close()


def test_what_advises_reads_the_earlier_pages_once_a_page_has_come(
    web: CountedWeb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"
    run = open_run(path, web.root, web.port, pages=25)
    run.run()
    before = run.summary("")["advice"]
    run.folder.close()
    asked = list[int]()
    advisor = topic_advice.advisor_of

    def noted(path: Path, settings: Settings) -> Advisor:
        asked.append(web.asked.total())
        return advisor(path, settings)

    monkeypatch.setattr(run_module, "advisor_of", noted)
    run = open_run(path, web.root, web.port, pages=25 + 5)
    assert asked == []
    begun = web.asked.total()
    run.run()
    after = run.summary("")["advice"]
    run.folder.close()
    assert len(asked) == 1
    assert asked[0] > begun, "the first reply is there"
    assert set(before["known"]) <= set(after["known"])


def test_the_clock_of_a_crawl_never_goes_back(
    web: CountedWeb, whole: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy, _ = _first(killed(web, tmp_path / "run", "committed", 6))
    now = time.time
    monkeypatch.setattr("spoor.live.live_crawl.time.time", lambda: now() - 86_400.0)
    run = open_run(copy, web.root, web.port)
    run.run()
    run.folder.close()
    assert check_run(copy) == whole
