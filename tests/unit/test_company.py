"""Generated company sites have exactly the pages, links and relevant pages that they are to have."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spoor.errors import InputError
from spoor.judges.facts import Label
from spoor.learn.temporal_difference import walkable
from spoor.types import Fetched, WebGraph
from spoor.worlds.company import (
    DIRECTORY,
    LABEL,
    SIXTY,
    TABLE_1,
    TABLE_2,
    CompanySite,
    recordings,
    write,
)
from spoor.worlds.recorded import RecordedWorld


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("company") / "web"
    write(folder, (*TABLE_1, *TABLE_2), 0)
    return folder


@pytest.mark.parametrize("site", [*TABLE_1, *TABLE_2], ids=lambda site: site.name)
@pytest.mark.long
def test_the_sites_of_the_tables_to_the_page(web: Path, site: CompanySite) -> None:
    world = RecordedWorld(web, site=site.name)
    graph = world.graph(Label(LABEL))
    assert len(graph.urls) == site.pages
    assert len(graph.indices) == site.links
    assert int(graph.targets.sum()) == site.relevant
    [root] = world.roots()
    assert root == f"http://www.{site.name}.example/"
    assert _pages_reached(graph, graph.index()[root]) == site.pages


def _pages_reached(graph: WebGraph, root: int) -> int:
    return len(walkable(replace(graph, targets=np.zeros(len(graph.urls), dtype=bool)), root))


@given(data=st.data(), pages=st.integers(5, 40), seed=st.integers(0, 99))
@settings(max_examples=40)
def test_any_size_that_can_be(data: st.DataObject, pages: int, seed: int) -> None:
    links = data.draw(st.integers(pages - 1, pages * (pages - 1)))
    relevant = data.draw(st.integers(1, pages - 3))
    site = CompanySite("any", pages, links, relevant)
    found = [r.reply.page for r in recordings([site], seed) if isinstance(r.reply, Fetched)]
    urls = {page.url for page in found}
    assert len(urls) == pages
    assert sum(len({link.url for link in page.links} & urls) for page in found) == links
    assert sum(LABEL in page.labels for page in found) == relevant


def test_a_site_does_not_depend_on_its_neighbours() -> None:
    alone = list(recordings(TABLE_1[4:], 3))
    assert list(recordings(TABLE_1, 3))[-len(alone) :] == alone
    assert list(recordings(TABLE_1[4:], 4)) != alone


@pytest.mark.parametrize("size", [(10, 8, 1), (10, 91, 1), (10, 50, 0), (10, 50, 8)])
def test_a_size_that_cannot_be(size: tuple[int, int, int]) -> None:
    with pytest.raises(InputError, match="no site 'x' can have 10 pages"):
        list(recordings([CompanySite("x", *size)], 0))


def test_sixty_sites_hang_together_by_a_directory(tmp_path: Path) -> None:
    write(tmp_path / "web", SIXTY[:9], 1, with_directory=True)
    world = RecordedWorld(tmp_path / "web")
    assert world.roots()[0] == DIRECTORY
    graph = world.graph(Label(LABEL))
    assert int(graph.targets.sum()) == 9
    assert _pages_reached(graph, graph.index()[DIRECTORY]) == 1 + sum(s.pages for s in SIXTY[:9])
