"""Answers in an archive of mails, whose thread is about something else, are asked for last."""

from __future__ import annotations

import numpy as np
import pytest

from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.keywords import Keywords
from spoor.learn.state import pack, unpack
from spoor.link_filter.link_filter import CrawlFilter
from spoor.link_filter.scope import Scope
from spoor.link_filter.thread_replies import Answers
from spoor.link_filter.traps import Traps
from spoor.policies.breadth_first import BreadthFirst
from spoor.simulation.replay import Replay
from spoor.testing.small_worlds import SmallWorld
from spoor.types import NO_PARENT, Anchor, HeldLink, Link, Page, Task

HOME = "http://lists.example/"
SUBJECTS = ("Kiln", "Boats", "Trains")


def _archive() -> SmallWorld:
    """An index of three threads of four messages each, one thread about kilns."""
    pages, links = list[Page](), list[Link]()
    for thread, subject in enumerate(SUBJECTS):
        for at in range(4):
            url, title = f"{HOME}{thread}{at}.html", f"{'Re: ' * bool(at)}{subject}"
            text = f"{subject} {subject} message number {thread}{at} of somebody"
            pages.append(Page(url, title=title, text=text))
            links.append(Link(url, Anchor(title, position=len(links))))
    return SmallWorld([Page(HOME, title="Threads", text="all threads", links=links), *pages])


def _asked(pages: int) -> list[str]:
    world = _archive()
    guard = CrawlFilter(Scope.of([HOME], "host"), traps=Traps())
    policy = BreadthFirst(Task(np.random.default_rng(0)))
    crawl = Crawl(policy, Keywords(["kiln"]), MemoryFrontier(), pages=pages, link_filter=guard)
    crawl.seed([HOME])
    list(Replay(crawl, world))
    return [url.removeprefix(HOME).removesuffix(".html") for url in world.asked]


def test_of_a_thread_about_something_else_one_message_is_asked_for() -> None:
    assert _asked(7) == ["", "00", "01", "02", "03", "10", "20"]


def test_a_whole_crawl_asks_for_all_of_them_in_the_end() -> None:
    assert len({*_asked(100)}) == 1 + 3 * 4


def _from(text: str, page: str = f"{HOME}threads") -> list[tuple[str, str]]:
    return [(page, text)]


@pytest.mark.parametrize(
    ("title", "text", "waits"),
    [
        ("Boats", "Re: Boats", True),
        ("Boats - Ann - sea@lists.example", "Aw: boats", True),
        ("[sea] Boats", "RE: [sea] Re: Boats", True),
        ("Boats", "Boats", False),
        ("Boats", "Re: Boats and kilns", False),
        ("Re: Boats", "Re: Boats", False),  # one that says thanks
    ],
)
def test_what_answers_a_page_is_told_by_its_subject(title: str, text: str, waits: bool) -> None:
    answers = Answers()
    answers.ended(Page(f"{HOME}1", title=title), 0.1)
    assert bool(answers.holder(f"{HOME}2", lambda url: _from(text))) == waits
    assert not answers.holder(f"{HOME}2", lambda url: _from(text, "http://other.example/"))


def test_answers_are_let_in_once_a_page_of_the_thread_may_be_relevant() -> None:
    answers = Answers()
    for at in (1, 2):
        answers.ended(Page(f"{HOME}{at}", title="Re: Boats"), 0.1)
    name = answers.holder(f"{HOME}3", lambda url: _from("Re: Boats"))
    held = HeldLink(Link(f"{HOME}3", Anchor("Re: Boats")), NO_PARENT, 0.0, 1, True)
    answers.hold(name, held)
    again = Answers()
    again.load(unpack(pack(answers.save())))
    for one in (answers, again):
        assert one.held_groups() == [
            ("answers on lists.example", 1, "what they answer is not relevant")
        ]
        assert not one.release(over=False)
        one.judged_anew(f"{HOME}1", relevant=True)
        assert one.release(over=False) == [held]
        assert not one.holder(f"{HOME}3", lambda url: _from("Re: Boats"))
