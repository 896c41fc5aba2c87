"""Shards simulated in one process."""

from __future__ import annotations

from pathlib import Path

import pytest

from spoor.errors import CallerError
from spoor.lab.cell import Cell, replay_cell
from spoor.lab.shards import simulate
from spoor.stores.memory import MemoryFrontier
from spoor.stores.sqlite import SqliteFrontier
from spoor.types import NO_PARENT, Anchor, Link, Topic
from spoor.worlds.generated import GeneratedSettings, GeneratedWorld

TARGET = ("label:pottery",)


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("web")
    GeneratedWorld(GeneratedSettings(pages=400, hosts=16, topics=4)).save(folder)
    return str(folder)


def cell(web: str, policy: str) -> Cell:
    return Cell(web, TARGET, policy, topic=Topic("pottery", "kiln glaze clay"), pages=150)


def test_one_shard_is_the_plain_crawl(web: str) -> None:
    alone = simulate(cell(web, "best-first"), 1)
    plain = replay_cell(cell(web, "best-first"), compare=False)
    assert (alone["fetched"], alone["found"]) == (plain["fetched"], plain["found"])
    assert alone["links_per_page"] == 0


def test_shards_that_can_learn_together_do(web: str) -> None:
    told = simulate(cell(web, "trail"), 4, merge_pages=20)
    assert told["fetched"] == 150
    assert told["mergeable"]
    assert told["merged"] >= 1
    assert told["model_bytes_per_page"] > 0
    assert told["links_per_page"] > 0
    assert 0.25 <= told["busiest"] < 0.5


def test_shards_that_cannot_learn_together_say_so(web: str) -> None:
    told = simulate(cell(web, "best-first"), 4, merge_pages=20)
    assert told["fetched"] == 150
    assert not told["mergeable"]
    assert told["merged"] == 0


@pytest.mark.parametrize("store", ["memory", "disk"])
def test_a_link_that_left_may_come_back(store: str, tmp_path: Path) -> None:
    frontier = MemoryFrontier() if store == "memory" else SqliteFrontier(tmp_path / "frontier.db")
    links = [Link("http://a.example/1", Anchor("first")), Link("http://b.example/2")]
    frontier.add(links, NO_PARENT, 0.0, 0)
    frontier.drop(0)
    assert list(frontier.done()) == ["http://a.example/1"]
    frontier.reopen(0)
    assert frontier.open_count == 2
    assert 0 in frontier.offer(0.0)
    assert not list(frontier.done())
    seen = frontier.add([Link("http://a.example/1", Anchor("again"))], NO_PARENT, 0.0, 0)
    assert seen.first == [False]
    assert [one.anchor.text for one in frontier.sightings(0)] == ["again"]
    frontier.take(0, 1.0)
    frontier.settle(0, 2.0)
    assert list(frontier.done()) == ["http://a.example/1"]
    with pytest.raises(CallerError):
        frontier.reopen(1)
