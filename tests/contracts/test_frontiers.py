"""Every registered frontier keeps the laws; none escapes."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spoor import frontier as stores
from spoor import registry
from spoor.errors import CallerError
from spoor.frontier.memory import MemoryFrontier
from spoor.frontier.sqlite import SqliteFrontier
from spoor.protocols import Frontier, Offer
from spoor.testing import check_frontier, check_live_frontier
from spoor.testing.frontiers import CALLS, SETTINGS, Call, Make, check_calls
from spoor.types import NO_PARENT, InLinks, Link, LinkId, State

FRONTIERS = sorted(registry.BUILT_IN["frontiers"])
ON_DISK = {"sqlite"}
"""Made with a file of theirs, and with a buffer that is full after a few links."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("frontiers")


def maker(name: str, folder: Path) -> Make:
    """Makes a frontier that knows nothing, of the settings that all frontiers have."""
    factory = registry.find("frontiers", name)
    file, made = folder / f"{name}.db", deque[SqliteFrontier]()

    def make(*, delay: float, per_host: int) -> Frontier:
        if name not in ON_DISK:
            frontier: Frontier = factory(delay=delay, per_host=per_host)
            return frontier
        # The one before still is, while what it saved is loaded.
        while len(made) > 1:
            made.popleft().close()
        made.append(factory(file, delay=delay, per_host=per_host, buffer=5))
        return made[-1]

    return make


@pytest.mark.parametrize("name", FRONTIERS)
def test_frontier_keeps_the_laws(name: str, folder: Path) -> None:
    # Each save waits for the disk.
    check_frontier(maker(name, folder), walks=18 if name in ON_DISK else 60)
    check_live_frontier(maker(name, folder), walks=2 if name in ON_DISK else 6)


def test_a_frontier_that_a_live_crawl_cannot_configure_is_found() -> None:
    class Stubborn(MemoryFrontier):
        def configure(self, *, delay: float, per_host: int) -> None: ...

    class Miscounting(MemoryFrontier):
        def hosts(self) -> list[tuple[str, int, int, float]]:
            return [(name, count + 1, busy, free) for name, count, busy, free in super().hosts()]

    for broken in (Stubborn, Miscounting):
        with pytest.raises(AssertionError):
            check_live_frontier(broken)


calls = st.lists(
    st.tuples(st.sampled_from(CALLS), st.integers(0, 300), st.integers(0, 300)), max_size=80
)


@pytest.mark.parametrize("name", FRONTIERS)
@settings(max_examples=100)
@given(calls=calls, how=st.sampled_from(SETTINGS))
def test_frontier_answers_as_the_model(
    name: str, calls: list[Call], how: tuple[float, int], folder: Path
) -> None:
    delay, per_host = how
    check_calls(maker(name, folder), calls, delay=delay, per_host=per_host)


@pytest.mark.parametrize("name", FRONTIERS)
def test_a_dropped_link_is_gone_and_its_host_not_disturbed(name: str, folder: Path) -> None:
    make = maker(name, folder)
    frontier = make(delay=5.0, per_host=1)
    frontier.add([Link(f"http://a.example/{at}") for at in range(3)], NO_PARENT, 0.0, 0)
    frontier.drop(1)
    assert frontier.open_count == len(frontier.offer(0.0)) == 2
    assert 1 not in frontier.offer(0.0)
    assert not frontier.in_links(1)
    assert not len(frontier.add([Link("http://a.example/1")], 0, 0.0, 1))
    again = make(delay=5.0, per_host=1)
    again.load(frontier.save())
    assert list(again.open()) == [0, 2]
    for link in (1, again.take(2, 0.0) and 2):
        with pytest.raises(CallerError):
            again.drop(link)


def test_every_class_that_offers_is_registered() -> None:
    assert stores.__file__
    files = {path.stem for path in Path(stores.__file__).parent.glob("*.py")} - {"__init__"}
    registered = set(registry.BUILT_IN["frontiers"].values())
    found = set()
    for file in files:
        module = import_module(f"spoor.frontier.{file}")
        found |= {
            f"{module.__name__}:{name}"
            for name, made in inspect.getmembers(module, inspect.isclass)
            if made.__module__ == module.__name__ and {"offer", "take"} <= set(dir(made))
        }
    assert found == registered
    assert {where.partition(":")[0].rpartition(".")[2] for where in registered} <= files


# ---------------------------------------------------------------- the checks can fail


class Impatient(MemoryFrontier):
    """Forgets that a host is to be left alone after a request."""

    def take(self, link: LinkId, now: float) -> tuple[str, str]:
        return super().take(link, now - 1.0)


class Unheld(MemoryFrontier):
    def hold(self, host: str, until: float) -> None:
        pass


class Unpaced(MemoryFrontier):
    def load(self, state: State) -> None:
        super().load(state)
        for host in self._hosts.values():
            host.delay = self._delay


class LosesRetries(MemoryFrontier):
    def settle(self, link: LinkId, now: float, retry_at: float | None = None) -> None:
        super().settle(link, now, None)


class Oversleeps(MemoryFrontier):
    def next_ready(self, now: float) -> float | None:
        told = super().next_ready(now)
        return None if told is None or told == now else told + 0.25


class Repeats(MemoryFrontier):
    def add(
        self, found: Sequence[Link], parent: LinkId, parent_score: float, depth: int
    ) -> InLinks:
        seen = super().add(found, parent, parent_score, depth)
        seen.first = [True] * len(seen)
        return seen


class Follows(MemoryFrontier):
    """Takes a redirect to a page that is taken for news."""

    def redirect(self, link: LinkId, url: str, now: float, *, stranger: bool = False) -> bool:
        super().redirect(link, url, now, stranger=stranger)
        return True


class LetsStrangersGoFirst(MemoryFrontier):
    def redirect(self, link: LinkId, url: str, now: float, *, stranger: bool = False) -> bool:
        return super().redirect(link, url, now)


class Lopsided(MemoryFrontier):
    def offer(self, now: float) -> Any:
        return FirstOnes(super().offer(now))


class FirstOnes:
    """Draws the first links twice as often."""

    def __init__(self, offer: Offer) -> None:
        self._offer = offer

    def __len__(self) -> int:
        return len(self._offer)

    def __contains__(self, link: object) -> bool:
        return link in self._offer

    def hosts(self) -> Any:
        return self._offer.hosts()

    def draw(self, rng: np.random.Generator, k: int) -> Sequence[LinkId]:
        one, two = self._offer.draw(rng, k), self._offer.draw(rng, k)
        return min(one, two, key=lambda links: sorted(links))


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (Impatient, "the offer holds|nothing is due"),
        (Unheld, "the offer holds"),
        (Unpaced, "another|delay"),
        (LosesRetries, "retry_at|due"),
        (Oversleeps, "there is work"),
        (Repeats, "add shows"),
        (Follows, "returns True, not False"),
        (LetsStrangersGoFirst, "nothing is due|returns True, not False"),
        (Lopsided, "a uniform one"),
    ],
)
def test_a_broken_frontier_is_found(broken: Make, told: str) -> None:
    walks = 0 if broken is Lopsided else 60  # draws are looked at after the walks
    with pytest.raises(AssertionError, match=told):
        check_frontier(broken, walks=walks)


def test_a_failure_is_told_with_few_calls() -> None:
    with pytest.raises(AssertionError) as caught:
        check_frontier(Unheld)
    lines = str(caught.value).splitlines()
    assert lines[1].startswith("with delay=")
    assert len(lines) <= 6, "\n".join(lines)
