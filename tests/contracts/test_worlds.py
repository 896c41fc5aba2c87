"""Every world whose pages are known keeps the laws; and the checks can fail."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from spoor.cli.main import main
from spoor.judges.facts import Label
from spoor.protocols import Judge
from spoor.testing import check_world
from spoor.types import Failed, Fetch, Page, Reply, WebGraph
from spoor.worlds.generated import GeneratedSettings, GeneratedWorld
from spoor.worlds.recorded import RecordedWorld

SETTINGS = GeneratedSettings(pages=80, hosts=3, seed=5)


def test_generated_worlds_keep_the_laws() -> None:
    check_world(GeneratedWorld, SETTINGS)


def test_recorded_worlds_keep_the_laws(tmp_path: Path) -> None:
    world = GeneratedWorld(SETTINGS)
    lines = tmp_path / "pages.jsonl"
    rows = (json.dumps({"url": page.url, "text": page.title}) for page in world.pages())
    lines.write_text("\n".join(rows) + "\n", "utf-8")
    with pytest.raises(SystemExit) as ended:
        main(["web", "import", str(lines), str(tmp_path / "web")])
    assert not ended.value.code
    check_world(RecordedWorld, tmp_path / "web")


def test_each_has_a_marker_of_its_own() -> None:
    assert GeneratedWorld.marker != RecordedWorld.marker


# ---------------------------------------------------------------- the checks can fail


class Rootless(GeneratedWorld):
    def roots(self) -> list[str]:
        return []


class Short(GeneratedWorld):
    def pages(self) -> Iterator[Page]:
        yield from list(super().pages())[1:]


class OneTicket(GeneratedWorld):
    def answer(self, fetch: Fetch) -> Reply:
        return replace(super().answer(fetch), ticket=3)


class Forgetful(GeneratedWorld):
    """Fails for every second fetch."""

    fetches = 0

    def answer(self, fetch: Fetch) -> Reply:
        self.fetches += 1
        return super().answer(fetch) if self.fetches % 2 else Failed(fetch.ticket, "timeout")


class Aimless(GeneratedWorld):
    def graph(self, targets: Judge | None = None) -> WebGraph:
        return super().graph(None)


class Unlinked(GeneratedWorld):
    def graph(self, targets: Judge | None = None) -> WebGraph:
        graph = super().graph(targets)
        return replace(graph, indptr=graph.indptr * 0, indices=graph.indices[:0])


class Raising(GeneratedWorld):
    def answer(self, fetch: Fetch) -> Reply:
        self.page(fetch.url)
        return super().answer(fetch)


@pytest.mark.parametrize(
    ("broken", "law"),
    [
        (Rootless, "no page where a crawl may begin"),
        (Short, "pages"),
        (OneTicket, "another ticket"),
        (Forgetful, "second fetch"),
        (Aimless, "targets are other pages"),
        (Unlinked, "no link from"),
        (Raising, "Raising"),
    ],
)
def test_a_broken_world_is_found(broken: Callable[..., GeneratedWorld], law: str) -> None:
    assert GeneratedWorld(SETTINGS).graph(Label("x")).indices.size
    with pytest.raises(AssertionError, match=law):
        check_world(broken, SETTINGS)
