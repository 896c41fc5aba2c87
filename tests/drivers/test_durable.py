"""A run that ends at any named step goes on as if nothing had happened.

The process is not killed here (`tests/e2e/test_kill.py` does that): the folder is copied as it lies
on the disk at that moment, which is what a killed process leaves.
"""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from spoor import registry
from spoor.crawl import Crawl
from spoor.drivers.http import run as run_module
from spoor.drivers.http.folder import POINTS
from spoor.errors import InputError
from spoor.testing.kills import CountedWeb, check_run, digest, open_run, served

PAGES = 30


class KilledError(BaseException):
    pass


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
    web: CountedWeb, path: Path, point: str, times: int, policy: str = "trail"
) -> tuple[Path | None, str]:
    """Where the folder lies as the death at a point left it (None if the run came to its end before
    that), and the digest of the crawl at its last commit."""
    left, last, copy = times, "", path.with_name(path.name + "-killed")

    def at(reached: str, crawl: Crawl) -> None:
        nonlocal left, last
        if reached == "committed":
            last = digest(crawl)
        left -= reached == point
        if not left and reached == point:
            if path.exists():
                shutil.copytree(path, copy)
            raise KilledError

    run = None
    try:
        run = open_run(path, web.root, web.port, at=at, policy=policy)
        run.run()
    except KilledError:
        return copy, last
    finally:
        if run is not None:
            run.folder.close()
    return None, last


@pytest.mark.parametrize("point", POINTS)
def test_nothing_is_lost_at_any_point(
    point: str, web: CountedWeb, whole: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "CHECKPOINT_SECONDS", 0.05)
    path, deaths, again = tmp_path / "run", 0, ""
    web.asked.clear()
    recovering = POINTS.index(point) < POINTS.index("exchange recorded")
    if recovering and point not in ("opened", "created"):
        # Recovery is what ends: there must be something to recover.
        path, again = _first(killed(web, path, "sending", 4))
        deaths += 1
    times = 1 if recovering else 2 + zlib.crc32(point.encode()) % 3
    copy, last = killed(web, path, point, times)
    assert copy is not None, f"the run never came to {point!r} {times} times"
    deaths += 1

    def at(reached: str, crawl: Crawl) -> None:
        if reached == "gone through" and (last or again):
            assert digest(crawl) == (last or again), "the crawl is not what it was"

    run = open_run(copy, web.root, web.port, at=at, policy="trail")
    assert run.run() == "no open link left"
    run.folder.close()
    assert check_run(copy) == whole
    assert sum(web.asked.values()) - len(web.asked) <= deaths * run.http.in_flight


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
