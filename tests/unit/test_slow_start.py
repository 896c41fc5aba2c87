"""Few links are requested at once while a crawl knows little."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopback import ADDRESS, MISSING, Asked, Loopback, beside, page
from spoor.cli.main import run
from spoor.live import checkpoint_times, frontier_store
from spoor.live.driver import AT_ONCE, HttpDriver
from spoor.live.slow_start import ANSWERS, LATE, SlowStart
from spoor.runs.assemble import make_crawl
from spoor.settings import Settings
from spoor.types import LinkId

CHOICE = LinkId(7)


def start(limit: int = 16, ended: int = 0) -> SlowStart:
    return SlowStart(limit, lambda link: int(link == CHOICE), ended)


def crawl(server: Loopback, out: Path, *, pages: int) -> None:
    command = ["crawl", "http://portal.example/", "--topic", "kilns", "--scope", "anywhere"]
    command += ["--connect-to", f"{ADDRESS}:{server.port}", "--delay", "0", "--pages", str(pages)]
    assert run([*command, "--out", str(out), "--json"]) == 0


def test_one_request_and_one_more_for_each_few_that_ended() -> None:
    slow = start()
    assert slow.free(0.0) == 1
    slow.begin(0, 0.0)
    assert slow.free(0.1) == 0
    slow.end(0)
    assert slow.free(0.2) == 1
    for ticket in range(1, ANSWERS):
        slow.end(ticket)
    assert slow.free(0.3) == 2


def test_a_host_that_does_not_answer_is_not_waited_for() -> None:
    slow = start()
    slow.begin(0, 0.0)
    assert slow.next_change() == LATE
    assert slow.free(LATE) == 2, "it counts no more, and one more is allowed"
    slow.begin(1, LATE)
    slow.begin(2, LATE)
    assert slow.free(2 * LATE) == 4


def test_seeds_are_no_choices() -> None:
    assert start().concerns(CHOICE)
    assert not start().concerns(LinkId(0))


def test_seeds_begin_together_and_choices_one_by_one() -> None:
    """Each turn began one request, seeds too: beside 3,000 mute seeds, 300 in flight, no good host
    was asked within half a minute."""
    settings = Settings(seeds=tuple(f"http://{n}.example/" for n in range(50)), topic="kilns")
    crawl = make_crawl(settings)
    crawl.seed(settings.seeds)

    def driver(depth: int) -> HttpDriver:
        return HttpDriver(crawl, settings, slow_start=SlowStart(300, lambda link: depth))

    chosen, _ = driver(0)._turn(AT_ONCE, 1)
    assert len(chosen) == AT_ONCE
    chosen, _ = driver(1)._turn(AT_ONCE, 2)
    assert len(chosen) == 2


def test_a_crawl_that_goes_on_does_not_begin_again() -> None:
    slow = start(limit=4, ended=3 * ANSWERS)
    assert slow.over
    assert slow.free(0.0) == slow.next_change() == math.inf
    assert not slow.concerns(CHOICE)


@given(st.lists(st.tuples(st.sampled_from(["begin", "end"]), st.floats(0.0, 3.0)), max_size=200))
def test_never_more_at_once_than_what_is_known_allows(steps: list[tuple[str, float]]) -> None:
    slow, now = start(), 0.0
    flying: dict[int, float] = {}
    ended = late = 0
    for ticket, (step, wait) in enumerate(steps):
        now += wait
        late += sum(now - since >= LATE for since in flying.values())
        flying = {one: since for one, since in flying.items() if now - since < LATE}
        allowed = 1 + ended // ANSWERS + late
        free = slow.free(now)
        assert free == (math.inf if allowed >= 16 else max(0, allowed - len(flying)))
        if step == "begin" and free > 0:
            if slow.concerns(CHOICE):
                slow.begin(ticket, now)
                flying[ticket] = now
        elif flying:
            one = min(flying)
            del flying[one]
            slow.end(one)
            ended += 1


@pytest.mark.server
def test_links_to_many_hosts_are_not_requested_all_at_once(tmp_path: Path) -> None:
    """One page links to twelve hosts. The first is about kilns, and its pages come before most of
    the other hosts."""
    hosts = [f"http://h{number}.example/" for number in range(12)]

    def answer(asked: Asked) -> bytes:
        if asked.host == "portal.example":
            return page(*hosts)
        if asked.host == "h0.example" and not asked.path.startswith("/robots"):
            links = [f"/kiln-{number}" for number in range(12)] if asked.path == "/" else []
            return page(*links, text="<h1>Kilns</h1>" + "All about kilns. " * 30)
        return page(text="<h1>Weather</h1>" + "It rains. " * 30) if asked.path == "/" else MISSING

    server = Loopback(answer)
    with beside(server.serving):
        crawl(server, tmp_path / "run", pages=12)
    asked = [one.host for one in server.asked if one.path != "/robots.txt"][1:11]
    assert asked.count("h0.example") >= 8, asked


@pytest.mark.server
def test_it_goes_on_where_the_frontier_moves_to_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The links of the first pages are more than the frontier keeps in memory."""
    monkeypatch.setattr(frontier_store, "IN_MEMORY", 20)
    monkeypatch.setattr(checkpoint_times, "REPLAY_SECONDS", 0.0)
    monkeypatch.setattr(checkpoint_times, "REPLAY_SHARE", 1e9)
    monkeypatch.setattr(checkpoint_times, "WAIT_SHARE", 1e9)

    def answer(asked: Asked) -> bytes:
        host = asked.host.partition(".")[0]
        if asked.path == "/robots.txt":
            return MISSING
        return page(
            *(f"http://{host}{n % 9}.example/{host}/{n}" for n in range(100)), text="Kilns."
        )

    server = Loopback(answer)
    with beside(server.serving):
        crawl(server, tmp_path / "run", pages=30)
