"""A watch that ends at any named step goes on as if nothing had happened.

As in `test_durable.py` no process is killed: the folder is copied as it lies on the disk then.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from kills import STANDS_STILL, KilledError
from rolling import FRONT, lines_of, open_watch, rolling, served
from spoor.foragers.crew import Abreast
from spoor.foragers.fleet import Fleet
from spoor.learn.state import pack
from spoor.live import watch as watch_module
from spoor.runs import renders
from spoor.runs.rows import RenderRow
from spoor.runs.writer import RunWriter
from spoor.settings import Settings
from spoor.types import Choice, Fetch, Sleep
from spoor.watching import compaction, compactions
from spoor.web.exchange import Exchange

POINTS = (
    "exchange recorded",
    "reply received",
    "commit begun",
    "warc synced",
    "rows written",
    "committed",
    "sending",
    "news written",
    "state packed",
    "state written",
    "state committed",
    "log emptied",
)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with served(rolling(600.0, 0.1)) as at:
        yield at


def digest(fleet: Fleet) -> str:
    return hashlib.sha256(pack(fleet.save())).hexdigest()


Left = tuple[Path, str, int]
"""A folder as the death at a point left it, and of its last commit the digest of the fleet and the
number of requests in flight."""


def killed(
    port: int,
    path: Path,
    point: str,
    times: int,
    fleet: str,
    counts: Callable[[Fleet], bool] = lambda fleet: True,
    delay: float = 0.0,
) -> Left:
    """Where it came to a point so many times. Of these those where it `counts` count."""
    return died_at(port, path, {point: times}, fleet, counts, delay)[point]


def died_at(
    port: int,
    path: Path,
    points: Mapping[str, int],
    fleet: str,
    counts: Callable[[Fleet], bool] = lambda fleet: True,
    delay: float = 0.0,
) -> dict[str, Left]:
    """The same of several points, as one watch comes to them."""
    left, told, found = Counter(points), ("", 0), dict[str, Left]()

    def at(reached: str, making: Fleet) -> None:
        nonlocal told
        if reached == "committed":
            told = digest(making), len(making.save()["flights"])
        left[reached] -= reached in points and counts(making)
        if reached in points and reached not in found and not left[reached]:
            copy = path.with_name(f"{path.name}-{reached}")
            found[reached] = shutil.copytree(path, copy), *told
            if len(found) == len(points):
                raise KilledError

    watch = open_watch(path, port, at, fleet=fleet, delay=delay)
    try:
        with pytest.raises(KilledError):
            watch.run(STANDS_STILL)
    finally:
        watch.folder.close()
    return found


OFTEN = {point: 4 for point in POINTS if point.startswith(("state", "log"))}
"""Points of a checkpoint, and how many times a watch comes there before it dies."""
SELDOM = {point: 25 for point in POINTS if point not in OFTEN} | {"news written": 5}


def checkpoints(patch: pytest.MonkeyPatch, *, often: bool) -> None:
    patch.setattr(watch_module, "CHECKPOINT_SECONDS", 0.0 if often else 1e9)
    patch.setattr(watch_module, "CHECKPOINT_SHARE", 1e9)


@pytest.fixture(scope="module")
def deaths(port: int, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Left]:
    """What was left at each point, by point and fleet."""
    found = dict[tuple[str, str], Left]()
    whole, some = "change-rate", {"sending": SELDOM["sending"]}
    for points, fleet in ((SELDOM, whole), (OFTEN, whole), (some, "WLRL")):
        path = tmp_path_factory.mktemp("deaths") / "run"
        with pytest.MonkeyPatch.context() as patch:
            checkpoints(patch, often=points is OFTEN)
            left = died_at(port, path, points, fleet)
        found |= {(point, fleet): one for point, one in left.items()}
    return found


@pytest.mark.parametrize(
    ("point", "fleet"), [*((point, "change-rate") for point in POINTS), ("sending", "WLRL")]
)
def test_nothing_is_lost_nor_told_twice(
    point: str,
    fleet: str,
    port: int,
    deaths: dict[tuple[str, str], Left],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checkpoints(monkeypatch, often=point in OFTEN)
    copy, last, flying = deaths[point, fleet]
    before = (copy / "news.jsonl").read_bytes()
    seen: list[str] = []

    def at(reached: str, making: Fleet) -> None:
        if reached == "gone through":
            seen.append(digest(making))
            assert len(making.save()["flights"]) == flying

    watch = open_watch(copy, port, at, fleet=fleet)
    told: list[str] = []
    watch.on_line = lambda line: told.append(line["url"])
    try:
        watch.run(0.25)
    finally:
        watch.folder.close()
    assert seen == [last], "the fleet is not what it was"
    after = (copy / "news.jsonl").read_bytes()
    assert after.startswith(before)
    lines = lines_of(copy)
    assert len(told) == len(lines) - before.count(b"\n")
    paid = [line["url"] for line in lines if line["forager"] is not None]
    assert len(paid) == len(set(paid)) == watch.fleet.agent.counts.relevant > 0


@pytest.mark.parametrize("point", ["reply received", "sending", "state committed"])
def test_a_compaction_ends_at_any_point_too(
    point: str, port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each slice of it is part of a call that the journal has, so that it comes again where it
    did. The process ends in the middle of one."""
    monkeypatch.setattr(compaction, "MOST_LEFT", 1)
    monkeypatch.setattr(compaction, "MOST_LINKS", 5)
    monkeypatch.setattr(compactions, "SLICED", 0.01)
    monkeypatch.setattr(compactions, "COMPACTED", 0.1)
    monkeypatch.setattr(compactions, "KEPT_FOR", 1.0)  # shorter, and it takes itself to have slept
    often = point.startswith("state")
    monkeypatch.setattr(watch_module, "CHECKPOINT_SECONDS", 0.0 if often else 1e9)
    monkeypatch.setattr(watch_module, "CHECKPOINT_SHARE", 1e9)
    times = 3 if often else 20
    copy, last, _ = killed(
        port,
        tmp_path / "run",
        point,
        times,
        "change-rate",
        lambda fleet: len(fleet.known.left) > 0 and fleet.known.compacts,
        delay=0.02,
    )
    before = lines_of(copy)
    seen: list[tuple[str, int]] = []

    def at(reached: str, making: Fleet) -> None:
        if reached == "gone through":
            seen.append((digest(making), len(making.known.left)))

    watch = open_watch(copy, port, at, delay=0.02)
    try:
        watch.run(0.25)
    finally:
        watch.folder.close()
    ((again, left),) = seen
    assert again == last, "the fleet is not what it was"
    assert left > 0
    lines = lines_of(copy)
    assert lines[: len(before)] == before
    news = [line["url"] for line in lines if line["kind"] == "new"]
    assert len(news) == len(set(news)) > 3


def test_a_whole_delay_passes_before_the_first_request(port: int, tmp_path: Path) -> None:
    copy, _, flying = killed(port, tmp_path / "run", "sending", 10, "change-rate")
    assert flying  # nobody knows whether they were sent
    began = time.time()
    watch = open_watch(copy, port, delay=50.0)
    try:
        answer = watch.journal.next(time.time())
        assert isinstance(answer, Sleep)
        assert answer.until >= began + 50.0
    finally:
        watch.folder.close()


def test_politeness_may_change_after_a_crash(port: int, tmp_path: Path) -> None:
    """What was done under the old ones is gone through under these."""
    copy, last, _ = killed(port, tmp_path / "run", "committed", 12, "change-rate")
    seen: list[str] = []

    def at(reached: str, making: Fleet) -> None:
        if reached == "gone through":
            seen.append(digest(making))

    watch = open_watch(copy, port, at, delay=0.01, in_flight=3)
    try:
        watch.run(0.5)
        assert isinstance(watch.fleet.crew, Abreast)
        assert watch.fleet.crew.abreast == 3
    finally:
        watch.folder.close()
    assert seen == [last]


def test_a_last_line_that_was_cut_is_written_again(port: int, tmp_path: Path) -> None:
    copy, _, _ = killed(port, tmp_path / "run", "news written", 5, "change-rate")
    news = copy / "news.jsonl"
    whole = news.read_bytes()
    news.write_bytes(whole[:-20])
    watch = open_watch(copy, port)
    watch.run(0.2)
    watch.folder.close()
    assert news.read_bytes().startswith(whole)
    assert all(json.loads(line) for line in news.read_text("utf-8").splitlines())


def test_nothing_is_kept_in_the_folder_of_what_a_watch_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(renders, "MOST_RENDERS", 3)
    with closing(
        RunWriter(tmp_path / "watch", Settings(command="watch", seeds=(FRONT,)))
    ) as folder:
        for name in ("left", "kept"):
            fetch = Fetch(0, f"{FRONT}{name}", "front.example", Choice(0), 1)
            headers = CIMultiDictProxy(CIMultiDict({"ETag": '"1"', "Cache-Control": "max-age=9"}))
            exchange = Exchange(fetch.url, 200, "", (), headers, b"a", b"a", 1.0, 0.1)
            folder.record(fetch, exchange)
            folder.keep_validators(exchange)
            folder.note_rendered(fetch.url)
        for ticket in range(5):
            folder.note_render(
                RenderRow(
                    *(ticket, "front.example", "/", "text", "", 1, 9, True, True),
                    *(0.5, 1.0, 2, 100, 0, ""),
                )
            )
        folder.commit(b"")
        assert [row.ticket for row in renders.all_renders(folder.path)] == [2, 3, 4]
        folder.note_rendered(f"{FRONT}late")
        folder.forget_urls([f"{FRONT}left", f"{FRONT}late"])
        folder.commit(b"")
        assert folder.rendered() == [f"{FRONT}kept"]
        assert folder.validators(f"{FRONT}left") is None
        assert folder.validators(f"{FRONT}kept") is not None
