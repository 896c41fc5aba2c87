"""A watch asks its judge once more when it ends, and tells what is relevant only by that."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from loopback import MISSING, Asked, Loopback, beside, reply
from rolling import lines_of
from spoor.foragers.fleet import Fleet
from spoor.learn.state import pack
from spoor.live.watch import Watch
from spoor.runs.assemble_fleet import make_fleet
from spoor.runs.writer import RunWriter
from spoor.settings import Settings

SITES = [f"town{chr(97 + number)}" for number in range(12)]
SEEDS = tuple(f"http://{name}.county.example/" for name in SITES)
OLD = "The council of {0} met in the hall. It spoke for an hour about {1}. Nobody agreed on {1}."
KILN = "A wood-fired kiln was lit in {0}. Potters fire their kilns there. The kiln of {0} is hot."
BRIDGE = (
    "The harbour of {0} has a bridge. Ships pass under it. The bridge of {0} was painted green."
)


class Papers:
    """Twelve sites of one domain, three old articles each; from the second day on each has one
    more. Of many domains the judge would tell all of them as they come."""

    def __init__(self) -> None:
        self.day = 1

    def __call__(self, asked: Asked) -> bytes:
        name, path = asked.host.removesuffix(".county.example"), asked.path[1:]
        links = ["road", "hall", "vote", *(["new"] if self.day > 1 else [])]
        if not path:
            items = "".join(f'<li><a href="/{link}">Read {link}</a></li>' for link in links)
            return reply(f"<title>The paper of {name}</title><ul>{items}</ul>")
        if path not in links:
            return MISSING
        kiln = SITES.index(name) % 4 == 0
        text = OLD if path != "new" else KILN if kiln else BRIDGE
        body = "".join(f"<p>{one}.</p>" for one in text.format(name, path).rstrip(".").split(". "))
        title = f"{path} of {name}"
        return reply(
            f"<title>{title}</title><main><article><h1>{title}</h1>{body}</article></main>"
        )


def pass_of(
    path: Path, port: int, at: Callable[[str, Fleet], None] = lambda point, fleet: None
) -> list[str]:
    """Run a pass; URLs of the lines that it wrote."""
    settings = Settings(
        command="watch",
        seeds=SEEDS,
        topic="kilns, bridges",
        delay=0.0,
        once=True,
        connect_to=f"127.0.0.1:{port}",
    )
    fleet, told = make_fleet(settings, list(SEEDS)), list[str]()
    folder = RunWriter(path, settings, failpoint=lambda point: at(point, fleet))
    try:
        watch = Watch(folder, fleet, title="t")
        watch.on_line = lambda line: told.append(line["url"])
        watch.run(None)
    finally:
        folder.close()
    return told


@pytest.fixture(scope="module")
def first_day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, int]]:
    """A watch that has seen the sites on the first day, and their port on the second."""
    papers, path = Papers(), tmp_path_factory.mktemp("first") / "run"
    site = Loopback(papers)
    with beside(site.serving):
        pass_of(path, site.port)
        papers.day = 2
        yield path, site.port


@contextmanager
def asked_at_the_end(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Documents that were told when the judge was asked at the end, and after."""
    counts, revise = list[int](), Fleet.revise

    def counted(self: Fleet, now: float) -> bool:
        counts.append(len(self.agent.discoveries))
        asked = revise(self, now)
        counts.append(len(self.agent.discoveries))
        return asked

    with monkeypatch.context() as patched:
        patched.setattr(Fleet, "revise", counted)
        yield counts


POINTS = ("commit begun", "rows written", "committed", "sending", "news written", "state packed")
ENDS = (None, *POINTS, "state written", "state committed")
"""Points of a pass that ends at which a process may die, and None: it does not."""

Ends = dict[str | None, tuple[Path, bytes]]
"""What lay in the folder of a watch at such a point, and its fleet at the last commit."""


@pytest.fixture(scope="module")
def second_day(
    first_day: tuple[Path, int], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Ends, int]:
    """The pass of the second day, once, as it would be left by whoever died at each point after the
    judge was asked at its end; and the port of the sites."""
    before, port = first_day
    folder, ends, fleets = tmp_path_factory.mktemp("second"), Ends(), list[bytes]()
    path = shutil.copytree(before, folder / "run")
    with pytest.MonkeyPatch.context() as patch, asked_at_the_end(patch) as counts:

        def at(reached: str, fleet: Fleet) -> None:
            if reached == "committed":
                fleets.append(pack(fleet.save()))
            if reached in ENDS and counts and reached not in ends:
                ends[reached] = shutil.copytree(path, folder / reached), fleets[-1]

        pass_of(path, port, at)
    assert counts[0] < counts[1] == len(SITES), "nothing was told at the end only"
    ends[None] = path, fleets[-1]
    return ends, port


@pytest.mark.parametrize("point", ENDS)
def test_what_counts_only_at_the_end_of_a_pass_is_told_once(
    point: str | None, second_day: tuple[Ends, int]
) -> None:
    ends, port = second_day
    path, last = ends[point]
    resumed: list[bytes] = []

    def again(reached: str, fleet: Fleet) -> None:
        if reached == "gone through":
            resumed.append(pack(fleet.save()))

    pass_of(path, port, again)  # it goes on where it ended, and looks at no new page
    assert resumed == [last], "the fleet is not what it was"
    lines = lines_of(path)
    assert [line["kind"] for line in lines] == ["new"] * len(SITES)
    assert {line["url"] for line in lines} == {f"{seed}new" for seed in SEEDS}
    topics = {json.dumps([line["url"], line["topic"]]) for line in lines}
    kilns = {json.dumps([f"{seed}new", "kilns"]) for seed in SEEDS[::4]}
    assert kilns <= topics
