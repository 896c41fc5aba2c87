"""Only the order: links in, URLs out, and what came of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import spoor
from spoor.judges.facts import Label
from spoor.orderer import AT_ONCE, Feedback, Orderer, Parts
from spoor.protocols import Offer
from spoor.types import (
    Choice,
    Deferred,
    Fetched,
    InLinks,
    Judgement,
    LinkId,
    Outcome,
    Page,
    State,
)

YES = Judgement(1.0, True, 1.0)


class Web:
    """A site whose pages on kilns are linked as such: 1 start, 20 sections, 5 pages each."""

    def __init__(self) -> None:
        self.fetched: list[str] = []

    def html(self, url: str) -> str:
        self.fetched.append(url)
        name = url.removeprefix("http://a.example/")
        if not name:
            return "".join(
                f'<a href="/{"kilns" if n % 5 == 0 else "roads"}-{n}/">{n}</a>' for n in range(20)
            )
        text = "<p>Kilns are fired with wood.</p>" if "kiln" in name else "<p>Tarmac.</p>"
        return text + "".join(f'<a href="p{n}.html">more</a>' for n in range(5) if name[-1] == "/")

    @property
    def found(self) -> int:
        return sum("kiln" in url for url in self.fetched)


def crawl(orderer: Orderer, web: Web, many: int, k: int = 2) -> None:
    while len(web.fetched) < many and (urls := orderer.next(k)):
        for url in urls:
            orderer.feedback(url, web.html(url))


def test_it_finds_what_is_wanted_first_and_goes_on_from_a_file(tmp_path: Path) -> None:
    web, whole = Web(), Web()
    orderer = spoor.Orderer("kilns", clock=lambda: 0.0)
    assert orderer.add(["http://a.example/", "mailto:me@a.example", "javascript:void(0)"]) == 1
    crawl(orderer, web, 20)
    blind = Orderer("kilns", policy="breadth-first", clock=lambda: 0.0)
    blind.add(["http://a.example/"])
    crawl(blind, whole, 20)
    assert web.found > 1.5 * whole.found

    out = orderer.next(3)
    assert orderer.out == out
    assert orderer.why(out[0])
    orderer.save(tmp_path / "order")
    again = Orderer.load(tmp_path / "order", clock=lambda: 0.0)
    assert sorted(again.next(3)) == sorted(out), "what was out is given again"
    for one in (orderer, again):
        for url in out:
            one.feedback(url, "<p>Kilns.")
    rest = [[], []]  # type: list[list[str]]
    for one, urls in zip((orderer, again), rest, strict=True):
        while found := one.next():
            urls += found
            one.feedback(found[0], None)
    assert rest[0] == rest[1]
    assert not again.has_next()


def test_scores_alone_teach_it() -> None:
    orderer = Orderer(clock=lambda: 0.0)
    orderer.add([("http://a.example/", "start")])
    (start,) = orderer.next()
    links = [(f"/{kind}/{n}", kind) for n in range(20) for kind in ("good", "bad")]
    assert orderer.add(links, found_on=start) == 40
    assert orderer.waiting == 0, "they wait for their page"
    orderer.feedback(start, 0.2)
    asked = []
    for _ in range(20):
        (url,) = orderer.next()
        asked.append("good" in url)
        judgement = orderer.feedback(url, "good" in url)
        assert judgement is not None
        assert judgement.relevant == ("good" in url)
    assert sum(asked[10:]) > 7
    orderer.next()
    with pytest.raises(spoor.InputError, match="needs a judge"):
        orderer.feedback(orderer.out[0], "<p>a page")


@pytest.mark.parametrize(
    ("came", "says"), [(1.5, "score 1.5 is not"), (float("nan"), "score nan is not")]
)
def test_what_is_wrong_is_said_in_one_line(came: Feedback, says: str, tmp_path: Path) -> None:
    orderer = Orderer("kilns", clock=lambda: 0.0)
    orderer.add(["http://a.example/"])
    with pytest.raises(spoor.InputError, match="is not out"):
        orderer.feedback("http://a.example/", 1.0)
    orderer.next()
    with pytest.raises(spoor.InputError, match=says):
        orderer.feedback("http://a.example/", came)
    orderer.feedback("http://a.example/", True)
    with pytest.raises(spoor.InputError, match="unknown policy"):
        Orderer("kilns", policy="nearst")
    (tmp_path / "none").write_text("x")
    with pytest.raises(spoor.InputError):
        Orderer.load(tmp_path / "none")
    with pytest.raises(spoor.InputError, match="made of parts"):
        Orderer.of(spoor.orderer.Parts(orderer.crawl.policy, orderer.crawl.judge)).save("x")


def test_the_machines_clock_stops_no_orderer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Set back while it waits, or ahead when it was saved."""
    wall, real = [1e9], [50.0]
    monkeypatch.setattr(time, "time", lambda: wall[0])
    monkeypatch.setattr(time, "clock_gettime", lambda clock: real[0])
    orderer = Orderer("kilns", delay=2.0)
    orderer.add([f"http://a.example/{n}" for n in range(5)])
    for step in (-3600.0, 86_400.0, -86_400.0):
        for url in orderer.next():
            orderer.feedback(url, "<p>kiln")
        wall[0] += step
        real[0] += 2.0
        assert orderer.has_next()
    wall[0] += 86_400.0
    ahead = Orderer("kilns", delay=2.0)
    ahead.add([f"http://a.example/{n}" for n in range(5)])
    (first,) = ahead.next()
    ahead.feedback(first, "<p>kiln")
    ahead.save(tmp_path / "order")
    wall[0] -= 86_400.0
    again = Orderer.load(tmp_path / "order", delay=2.0)
    real[0] += 2.0
    (url,) = again.next()
    dates, receive = list[float | None](), again.crawl.receive

    def receive_dated(reply: Fetched, now: float) -> Outcome | Deferred:
        dates.append(reply.page.fetched_at)
        return receive(reply, now)

    monkeypatch.setattr(again.crawl, "receive", receive_dated)
    again.feedback(url, "<p>kiln")
    assert dates == wall, "pages are dated by the machine's clock"


def test_a_delay_is_kept() -> None:
    now = [0.0]
    orderer = Orderer("kilns", delay=2.0, clock=lambda: now[0])
    orderer.add(["http://a.example/1", "http://a.example/2", "http://b.example/"])
    first = orderer.next(3)
    assert len(first) == 2
    assert not orderer.has_next()
    for url in first:
        orderer.feedback(url, None)
    now[0] = 1.9
    assert not orderer.has_next()
    now[0] = 2.0
    assert orderer.has_next()
    assert len(orderer.next(3)) == 1


def test_of_thousands_of_followed_links_some_enter_at_once() -> None:
    """The others by turns, of one page after the other."""
    orderer = Orderer("kiwi", policy="breadth-first")
    orderer.add(["http://a.test/", "http://b.test/"])
    first, second = orderer.next(2)
    many = 2 * AT_ONCE + 1
    for url in (first, second):
        followed = {f"{url}p{number}": "kiwi " * 999 for number in range(many)}
        orderer.feedback(url, Page(url), judgement=YES, followed=followed)
    assert orderer.waiting == 2 * AT_ONCE
    given = orderer.next(1)
    known = []
    while orderer.has_more:
        assert orderer.enter_some()
        known.append(orderer.waiting)
    assert known[-1] == 2 * many - len(given)
    assert max(later - before for before, later in pairwise(known)) == AT_ONCE
    assert not orderer.enter_some()
    link = orderer.crawl.frontier.find(f"{first}p{many - 1}")
    assert link is not None
    (seen,) = orderer.crawl.frontier.in_links(link)
    assert orderer.crawl.frontier.url(seen.parent) == first
    assert (seen.parent_score, seen.depth) == (1.0, 1)
    assert len(seen.anchor.text) == 500
    orderer.add_later(f"http://c.test/{number}" for number in range(AT_ONCE + 1))
    assert orderer.enter_some()
    assert orderer.waiting == known[-1] + AT_ONCE


def test_links_of_a_page_that_waits_to_be_expanded_enter_after_it() -> None:
    orderer = Orderer.of(Parts(LooksAhead(), Label("x")))
    orderer.add(["http://a.test/"])
    (url,) = orderer.next()
    followed = {f"{url}p{number}": "kiwi" for number in range(2 * AT_ONCE + 1)}
    orderer.feedback(url, Page(url), judgement=YES, followed=followed)
    assert orderer.has_more
    assert not orderer.enter_some(), "its page is not expanded"
    assert orderer.waiting == 0
    assert orderer.next()
    assert orderer.waiting == AT_ONCE - 1
    while orderer.enter_some():
        pass
    assert orderer.waiting == len(followed) - 1


class LooksAhead:
    """Expands what it fetched first, once nothing else is open."""

    look_ahead = True

    def observe(self, seen: InLinks) -> None:
        pass

    def choose(self, offer: Offer) -> Choice:
        return Choice(offer.draw(np.random.default_rng(0), 1)[0])

    def learn(self, outcome: Outcome) -> None:
        pass

    def expand(self, fetched: Sequence[LinkId]) -> LinkId:
        return fetched[0]

    def save(self) -> State:
        return {}

    def load(self, state: State) -> None:
        pass
