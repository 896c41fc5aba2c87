"""Names of files that nobody wants: a few of them are asked for."""

from __future__ import annotations

import numpy as np
import pytest

from spoor.crawl import Crawl
from spoor.documents.kinds import Types
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.keywords import Keywords
from spoor.learn.state import pack, unpack
from spoor.link_filter.link_filter import CrawlFilter
from spoor.link_filter.scope import Scope
from spoor.link_filter.unwanted_names import TRIED, UnwantedNames
from spoor.policies.breadth_first import BreadthFirst
from spoor.simulation.replay import Replay
from spoor.testing.small_worlds import SmallWorld
from spoor.types import NO_PARENT, Anchor, HeldLink, Link, Page, Task

HOME = "http://a.example/"
PHOTOS = [f"{HOME}up/{at}.jpg" for at in range(9)]


def _crawled(types: Types, *, texts: str = "", seeds: tuple[str, ...] = (HOME,)) -> CrawlFilter:
    """The filter of a whole crawl of a page with nine photos, or pages about them with `texts`."""
    links = [Link(url, Anchor("Kiln", position=at)) for at, url in enumerate(PHOTOS)]
    flags = frozenset[str]() if texts else frozenset(("not-html",))
    pages = [Page(url, text=texts, flags=flags) for url in PHOTOS]
    world = SmallWorld([Page(HOME, text="photos", links=links), *pages])
    guard = CrawlFilter(Scope.of(list(seeds), "host"), unwanted=types.leaves_out)
    policy = BreadthFirst(Task(np.random.default_rng(0)))
    crawl = Crawl(policy, Keywords(["kiln"]), MemoryFrontier(), link_filter=guard)
    crawl.seed(seeds)
    list(Replay(crawl, world))
    return guard


def _left_out(guard: CrawlFilter) -> int:
    return guard.left_out().rules.get("--types", 0)


def test_few_photos_are_asked_for_and_the_others_are_told_as_left_out() -> None:
    guard = _crawled(Types())
    assert _left_out(guard) == len(PHOTOS) - TRIED
    assert guard.explained(PHOTOS[-1]).startswith("--types: ")
    again = CrawlFilter(Scope.of([HOME], "host"), unwanted=Types().leaves_out)
    again.load(unpack(pack(guard.save())))
    assert again.left_out() == guard.left_out()


@pytest.mark.parametrize(
    ("types", "texts", "seeds"),
    [
        (Types(("html", "image")), "", (HOME,)),
        (Types(("html", "image/*")), "", (HOME,)),
        (Types(), "a page about a photo, as a wiki has it", (HOME,)),
        (Types(), "", (HOME, *PHOTOS)),
    ],
)
def test_what_is_wanted_is_asked_for(types: Types, texts: str, seeds: tuple[str, ...]) -> None:
    assert _left_out(_crawled(types, texts=texts, seeds=seeds)) == 0


def test_a_page_lets_in_what_waits_and_a_failure_is_no_try() -> None:
    names = UnwantedNames(Types().leaves_out)
    assert not any(names.holder(at, PHOTOS[at]) for at in range(TRIED))
    assert not names.holder(0, PHOTOS[0]), "a hop of a redirect is the same request"
    held = HeldLink(Link(PHOTOS[8]), NO_PARENT, 0.0, 1, True)
    names.hold(names.holder(8, PHOTOS[8]), held)
    names.ended(0, None)
    assert names.release() == [held]
    assert not names.holder(8, PHOTOS[8])
    names.hold(names.holder(7, PHOTOS[7]), held)
    names.ended(1, Page(PHOTOS[1], text="its page"))
    assert names.release() == [held]
    assert not any(names.holder(at, url) for at, url in enumerate(PHOTOS, 20))


def test_of_names_that_say_nothing_all_are_asked_for() -> None:
    names = UnwantedNames(Types().leaves_out)
    for end in (
        "",
        "up/kiln",
        "up/kiln.html",
        "up/kiln.pdf",
        "up/?file=kiln.jpg",
        "v1.2",
        "a.zip/",
    ):
        assert not any(names.holder(at, f"{HOME}{end}") for at in range(9))
